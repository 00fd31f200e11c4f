"""Test the verdict on a change, by examples and against a simple model of tests with known behaviour."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tenure.algorithms.coding.proof import (
    MAX_REPEATED,
    TestEvidence,
    compare_checks,
    judge_evidence,
    list_repetitions,
)
from tenure.contracts.coding.repositories import (
    CheckReport,
    ProjectCheck,
    ProjectTest,
    ProjectTestReport,
    Proof,
    TestOutcome,
)


def report(outcomes: Mapping[str, str], earlier: Iterable[str] = (), error: str = "") -> ProjectTestReport:
    """Return the report of a run, compared with the tests that passed in an earlier one."""
    tests = {name: ProjectTest(id=name, outcome=outcome) for name, outcome in outcomes.items()}  # type: ignore[arg-type]
    lost = [
        tests.get(name) or ProjectTest(id=name, outcome="error", message="it was not run")
        for name in earlier
        if name not in tests or tests[name].outcome in ("failed", "error")
    ]
    kept = sum(1 for name in earlier if name in tests and tests[name].outcome == "passed")
    return ProjectTestReport(
        tests=tuple(tests.values()),
        lost=tuple(lost),
        lost_count=len(lost),
        kept=kept,
        error=error,
        proof="none" if error else "tests_in_same_process",
    )


def passed(found: ProjectTestReport) -> list[str]:
    """Return the tests that passed."""
    return [test.id for test in found.tests if test.outcome == "passed"]


def names(tests: Iterable[ProjectTest]) -> list[str]:
    """Return the names of tests."""
    return [test.id for test in tests]


def judge(
    before: ProjectTestReport,
    after: ProjectTestReport,
    reproduced: ProjectTestReport | None = None,
    original: ProjectTestReport | None = None,
    changed_tests: tuple[str, ...] = (),
) -> Proof:
    """Return the verdict by one run of each kind."""
    evidence = TestEvidence((before,), (after,), changed_tests=changed_tests)
    runs = {"reproduced": reproduced, "original": original}
    given: dict[str, Any] = {name: (run,) for name, run in runs.items() if run is not None}
    return judge_evidence(replace(evidence, **given))


BEFORE = report({"bug": "failed", "other": "passed", "old": "failed"})


def test_a_fixed_test_proves_a_change() -> None:
    """A test of the commit that failed and passes now, with nothing broken, is a proof; others that fail are named."""
    after = report({"bug": "passed", "other": "passed", "old": "failed"}, passed(BEFORE))

    proof = judge(BEFORE, after)

    assert (proof.verdict, proof.kept) == ("proved", 1)
    assert (names(proof.fixed), names(proof.failing), names(proof.broken)) == (["bug"], ["old"], [])
    assert any("1 tests failed before and still fail" in note for note in proof.notes)


def test_limits_of_the_test_runs_are_limits_of_the_proof() -> None:
    """A note is shown also if it applies to the tests before the change, such as on tests that need a network."""
    note = "1 tests look for a network, which tests do not have; the first is net"
    before = report({"bug": "failed", "net": "failed"}).model_copy(update={"notes": (note,)})
    after = report({"bug": "passed", "net": "failed"}).model_copy(update={"notes": (note,)})

    assert judge(before, after).notes.count(note) == 1


@pytest.mark.parametrize(
    "outcomes",
    [{"bug": "passed", "other": "failed"}, {"bug": "passed", "other": "error"}, {"bug": "passed"}],
    ids=["fails", "has an error", "is gone"],
)
def test_a_broken_test_is_a_regression(outcomes: dict[str, str]) -> None:
    """A test that passed before and fails, or no longer runs, outweighs every fixed one."""
    proof = judge(BEFORE, report(outcomes, passed(BEFORE)))

    assert (proof.verdict, names(proof.broken)) == ("regressed", ["other"])


def test_a_skipped_test_shows_nothing() -> None:
    """A test that is skipped now is neither fixed nor broken."""
    proof = judge(BEFORE, report({"bug": "skipped", "other": "skipped"}, passed(BEFORE)))

    assert (proof.verdict, proof.fixed, proof.broken) == ("unproved", (), ())


def test_a_reproduction_must_fail_before() -> None:
    """A new test proves a change if it fails on the old code and passes on the new, and else shows nothing."""
    before = report({"other": "passed"})
    after = report({"other": "passed", "new": "passed"}, passed(before))

    shown = judge(before, after, report({"new": "failed"}), changed_tests=("tests/test_new.py",))
    silent = judge(before, after, report({"new": "passed"}), changed_tests=("tests/test_new.py",))

    assert (shown.verdict, shown.reproduction) == ("proved", "new")
    assert (silent.verdict, silent.reproduction) == ("unproved", "")
    assert any("do not show the fault" in note for note in silent.notes)


def test_a_new_test_that_fails_is_a_failure() -> None:
    """A test of the patch that does not pass with the patch says that the fault is still there."""
    before = report({"other": "passed"})

    proof = judge(before, report({"other": "passed", "new": "failed"}, passed(before)), report({"new": "failed"}))

    assert (proof.verdict, names(proof.failing)) == ("failed", ["new"])


def test_a_test_made_easier_proves_nothing() -> None:
    """A test that the patch rewrites has to pass in the version of the commit."""
    after = report({"bug": "passed", "other": "passed"}, passed(BEFORE))
    original = report({"bug": "failed", "other": "passed"}, passed(BEFORE))

    proof = judge(BEFORE, after, report({"bug": "passed"}), original, ("tests/test_a.py",))

    assert proof.verdict == "unproved"
    assert "bug" in names(proof.failing)


def test_a_deleted_test_is_run_in_its_version_of_the_commit() -> None:
    """A test that the patch removes is no regression if the one of the commit passes, and one if it fails."""
    after = report({"bug": "passed"}, passed(BEFORE))

    kept = judge(BEFORE, after, None, report({"bug": "passed", "other": "passed"}, passed(BEFORE)), ("t.py",))
    broken = judge(BEFORE, after, None, report({"bug": "passed", "other": "failed"}, passed(BEFORE)), ("t.py",))

    assert (kept.verdict, broken.verdict) == ("proved", "regressed")


@pytest.mark.parametrize(
    ("old", "new"),
    [("other", "other"), ("test_f[1-a]", "test_f[1-b]")],
    ids=["same name", "other parameter"],
)
def test_a_former_version_that_fails_is_no_regression_and_no_proof(old: str, new: str) -> None:
    """If only the version of the commit of a rewritten test fails, the verdict is open and the test is named."""
    before = report({"bug": "failed", old: "passed"})
    after = report({"bug": "passed", new: "passed"}, [old])
    original = report({"bug": "passed", old: "failed"}, [old])

    proof = judge(before, after, report({"bug": "passed", new: "failed"}), original, ("tests/test_a.py",))

    assert (proof.verdict, names(proof.rewritten), proof.broken) == ("unproved", [old], ())
    assert any("former text of 1 rewritten tests" in note for note in proof.notes)


def test_a_deleted_test_needs_no_place_in_a_list_of_passed_ones() -> None:
    """A test that the patch deletes passes in the version of the commit if the cut report does not name it as lost."""
    after = report({"bug": "passed"}, passed(BEFORE))
    original = report({"bug": "passed"})
    evidence = TestEvidence((BEFORE,), (after,), original=(original,), changed_tests=("t.py",))

    assert judge_evidence(evidence).verdict == "proved"
    assert "other" not in list_repetitions(evidence)
    unknown = replace(evidence, original=(original.model_copy(update={"lost_count": 1}),))
    assert judge_evidence(unknown).verdict == "regressed"
    assert "other" not in list_repetitions(unknown), "it could not be selected"


def test_tests_that_stop_running_fail_the_change() -> None:
    """A suite that can no longer be run says that the change fails; a suite that never could says nothing."""
    ended = report({}, error="the tests ended before they were all run")

    assert judge(BEFORE, ended).verdict == "failed"
    assert judge(ended, report({"a": "passed"})).verdict == "unproved"


def test_named_targets_decide() -> None:
    """If the task names tests, other fixed tests prove nothing, and a target that fails refutes."""
    after = report({"bug": "passed", "other": "passed", "old": "failed"}, passed(BEFORE))

    verdicts = [
        judge_evidence(TestEvidence((BEFORE,), (after,), targets=targets)).verdict
        for targets in (("bug",), ("old",), ("bug", "old"))
    ]

    assert verdicts == ["proved", "failed", "failed"]


def test_a_flaky_test_is_neither_fixed_nor_broken() -> None:
    """Repetitions on one state that differ take a test out of the verdict."""
    after = report({"bug": "passed", "other": "failed"}, passed(BEFORE))
    again = report({"other": "passed"})

    proof = judge_evidence(TestEvidence((BEFORE,), (after, again)))

    assert (proof.verdict, names(proof.flaky), proof.broken) == ("proved", ["other"], ())
    lucky = judge_evidence(TestEvidence((BEFORE, report({"bug": "passed"})), (after, again)))
    assert (lucky.verdict, sorted(names(lucky.flaky))) == ("unproved", ["bug", "other"])


def test_what_decides_is_repeated_and_no_more() -> None:
    """Broken and fixed tests are repeated, the broken ones first, and a landslide is not."""
    many = report({f"t{n:02}": "passed" for n in range(50)} | {"bug": "failed"})
    after = report({f"t{n:02}": "failed" for n in range(2)} | {"bug": "passed"}, ["t00", "t01"])

    assert list_repetitions(TestEvidence((many,), (after,))) == ("t00", "t01", "bug")
    landslide = report({f"t{n:02}": "failed" for n in range(50)}, passed(many))
    assert len(list_repetitions(TestEvidence((many,), (landslide,)))) == MAX_REPEATED


def test_only_new_complaints_of_checks_count() -> None:
    """Complaints that were there before, in whatever number, are not the change's; a check without result is named."""
    before = CheckReport(
        checks=(
            ProjectCheck(command="ruff check", exit_code=1, complaints=("a.py: E501 long", "a.py: F401 x", "Found 2")),
            ProjectCheck(command="mypy .", exit_code=0),
        )
    )
    after = CheckReport(
        checks=(
            ProjectCheck(
                command="ruff check",
                exit_code=1,
                complaints=("a.py: F401 x", "a.py: F401 x", "a.py: E501 long", "Found 3 errors"),
            ),
            ProjectCheck(command="mypy .", exit_code=127, error="not installed"),
        )
    )

    lines, complaints = compare_checks(before, after)

    assert lines == ["ruff check: 1 new complaints", "mypy .: not run (not installed)"]
    assert complaints == ["new complaint of ruff: a.py: F401 x"]


KINDS = {
    "kept": (1.0, 1.0),
    "fixed": (0.0, 1.0),
    "broken": (1.0, 0.0),
    "failing": (0.0, 0.0),
    "flaky": (0.5, 0.5),
    "new": (None, 1.0),
    "bad": (None, 0.0),
}
"""Probability to pass before and after for each kind of test; None if the test does not exist."""


@pytest.mark.parametrize("seed", range(200))
def test_verdicts_agree_with_a_model(seed: int) -> None:
    """Projects with tests of known kinds get the verdict of a simple rule, with flaky ones found by repetition."""
    rng = random.Random(seed)
    kinds = {f"t{n}": rng.choice(sorted(KINDS)) for n in range(rng.randint(1, 8))}

    def run(side: int, chosen: Iterable[str], earlier: Iterable[str] = ()) -> ProjectTestReport:
        outcomes: dict[str, TestOutcome] = {}
        for name in chosen:
            chance = KINDS[kinds[name]][side]
            if chance is not None:
                outcomes[name] = "passed" if rng.random() < chance else rng.choice(("failed", "error"))
        return report(outcomes, earlier)

    first = run(0, kinds)
    evidence = TestEvidence((first,), (run(1, kinds, passed(first)),))
    # With thirty repetitions a flaky test looks steady once in a billion times.
    evidence = TestEvidence(
        (*evidence.before, *(run(0, kinds) for _ in range(30))), (*evidence.after, *(run(1, kinds) for _ in range(30)))
    )

    proof = judge_evidence(evidence)

    present = set(kinds.values())
    expected = (
        "regressed"
        if "broken" in present
        else "failed"
        if "bad" in present
        else "proved"
        if "fixed" in present
        else "unproved"
    )
    assert proof.verdict == expected
    assert sorted(names(proof.flaky)) == sorted(name for name, kind in kinds.items() if kind == "flaky")
    assert sorted(names(proof.fixed)) == sorted(name for name, kind in kinds.items() if kind == "fixed")
    assert sorted(names(proof.broken)) == sorted(name for name, kind in kinds.items() if kind == "broken")


def test_a_reproduction_that_a_report_does_not_name_is_repeated() -> None:
    """A suite names only some of the tests that pass: a new test that failed before is repeated, and then proves."""
    after = report({"other": "passed"}, passed(BEFORE))
    evidence = TestEvidence(before=(BEFORE,), after=(after,), reproduced=(report({"new": "failed"}),))

    assert list_repetitions(evidence) == ("new",)
    assert judge_evidence(evidence).verdict == "unproved"
    repeated = replace(evidence, after=(after, report({"new": "passed"})))
    assert (judge_evidence(repeated).verdict, judge_evidence(repeated).reproduction) == ("proved", "new")
