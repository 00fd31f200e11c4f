"""Hold that no wrong program passes unnoticed: it fails, is refused, or its verdict has a note on what it does."""

from collections.abc import Mapping, Sequence

import pytest

from tenure.contracts.sandbox import CallCase, CandidateBatch, InputFile
from tenure.sandbox.base import Sandbox
from tests.sandbox.forgeries.corpus import (
    GROUPS,
    Cheat,
    list_own_notes,
    list_passed_kinds,
    read_group,
    read_honest,
    read_kinds,
    read_programs,
    read_wrong,
    run_candidates,
    run_cheat,
)
from tests.support.tiers import exhaustive, slow

REPRESENTATIVE = (
    "lengths that change",
    "equal to everything",
    "difference of zero",
    "ends an iteration early",
    "swallows the errors of a block",
    "replaces the assertions of a mock",
    "reads the globals of a callback",
)
"""One forgery of each class, for a fast test."""

REPRESENTATIVE_CHEATS = (
    "reads the traceback of a callback",
    "empty array under approx",
    "name of the test in the environment of a child",
    "a module in the place of a package",
    "a golden file is read by its place",
    "the given data is overwritten",
    "the assertion never runs",
    "infinity in a relative tolerance",
    "swallows an assertion of unittest",
    "swallows an assertion of NumPy in a callback",
    "finds the secret of the report",
)
"""One cheat of each class, for a fast test."""

CERTAIN = (
    "swallows ",
    "replaces approx",
    "is equal to everything",
    "is one of several values",
    "names another class",
    "is a member of an enumeration",
    "answers for missing names",
    "searches all objects",
    "finds the secret of the report",
)
"""Beginnings of the names of cheats that are certain enough for a verdict against them."""

FAST_KINDS = ("lengths and items", "plain asserts", "mocks alone", "early ends", "one context", "callbacks")
SECONDS_EACH = 30.0
"""Time of one program; a forgery that hangs costs it."""


def read_representative_forgeries() -> dict[str, str]:
    """Return one forgery of each class."""
    return {name: text for group in GROUPS for name, text in read_group(group).items() if name in REPRESENTATIVE}


async def find_deceived(
    box: Sandbox, forgeries: Mapping[str, str], kinds: Mapping[str, InputFile]
) -> list[tuple[str, str]]:
    """Return the pairs of a forgery and a kind of test with the verdict `passed` and no note on the forgery.

    All kinds are run together at first. A kind whose tests all passed there is run alone, since the verdict of a run
    counts for all of its tests.
    """
    found = []
    outcomes = await run_candidates(box, list(forgeries.values()), list(kinds.values()), SECONDS_EACH)
    for (name, text), outcome in zip(forgeries.items(), outcomes, strict=True):
        for kind in list_passed_kinds(outcome, kinds):
            (alone,) = await run_candidates(box, [text], [kinds[kind]], SECONDS_EACH)
            if alone.verdict == "passed" and not list_own_notes(alone):
                found.append((name, kind))
    return found


async def find_unnoticed(box: Sandbox, cheats: Mapping[str, Cheat]) -> list[str]:
    """Return the cheats that pass without a note."""
    outcomes = {name: await run_cheat(box, cheat) for name, cheat in cheats.items()}
    return [name for name, outcome in outcomes.items() if outcome.verdict == "passed" and not outcome.notes]


async def find_refused(box: Sandbox, kinds: Sequence[InputFile]) -> list[tuple[str, str]]:
    """Return name and error of the tests that the right program does not pass."""
    (outcome,) = await run_candidates(box, [read_honest()], kinds, 10 * SECONDS_EACH)
    return [(test.name, test.error) for test in outcome.tests if not test.passed] or (
        [] if outcome.verdict == "passed" else [("verdict", f"{outcome.verdict}: {outcome.reason}")]
    )


def test_the_corpus_is_complete() -> None:
    """Every forgery and every cheat is a program of its own, and every kind of test has one."""
    forgeries = {name: text for group in GROUPS for name, text in read_group(group).items()}
    cheats, kinds = read_programs("cheats"), read_kinds()

    for name, text in forgeries.items():
        compile(text, name, "exec")
    assert len(set(forgeries.values())) == len(forgeries) >= 120
    assert len(cheats) >= 100
    assert len(kinds) >= 30
    assert set(REPRESENTATIVE) <= forgeries.keys() and set(FAST_KINDS) <= kinds.keys()
    assert set(REPRESENTATIVE_CHEATS) <= cheats.keys()


@slow
async def test_no_forgery_of_a_class_passes_unnoticed(box: Sandbox) -> None:
    """One forgery of each class does not pass without a note, while the right program passes."""
    kinds = {name: file for name, file in read_kinds().items() if name in FAST_KINDS}

    assert await find_deceived(box, read_representative_forgeries(), kinds) == []
    assert await find_refused(box, list(kinds.values())) == []


async def test_no_cheat_of_a_class_passes_unnoticed(box: Sandbox) -> None:
    """One cheat of each class does not pass without a note."""
    cheats = {name: cheat for name, cheat in read_programs("cheats").items() if name in REPRESENTATIVE_CHEATS}

    assert await find_unnoticed(box, cheats) == []


@slow
@pytest.mark.timeout(900)
async def test_no_cheat_passes_unnoticed(box: Sandbox) -> None:
    """No cheat passes without a note."""
    assert await find_unnoticed(box, read_programs("cheats")) == []


@slow
async def test_certain_cheats_are_no_pass_with_a_note(box: Sandbox) -> None:
    """Swallowed failures, replaced functions of pytest, answers equal to all and searches by `gc` fail the tests."""
    cheats = {name: cheat for name, cheat in read_programs("cheats").items() if name.startswith(CERTAIN)}
    verdicts = {name: (await run_cheat(box, cheat)).verdict for name, cheat in cheats.items()}

    assert len(verdicts) >= 20
    assert {name for name, verdict in verdicts.items() if verdict not in ("failed", "forged")} == set()


async def test_an_answer_beyond_all_floats_is_wrong(box: Sandbox) -> None:
    """Huge numbers, infinity and NaN are wrong answers within any tolerance, and end no judgement."""
    answers = ("10**400", "-10**400", "10**5000", "float('inf')", "float('nan')", "1e308 * 10", "[10**400]")
    case = CallCase(function="f", expected=0.5, tolerance=1e300)
    batch = CandidateBatch(
        candidates=tuple((InputFile(name="solution.py", text=f"def f():\n    return {one}\n"),) for one in answers),
        cases=(case,),
    )

    outcomes = await box.test_all(batch)

    assert {one.verdict for one in outcomes} == {"failed"}
    assert {one.proof for one in outcomes} == {"values_compared_outside"}
    assert len(outcomes) == len(answers)


async def find_heirs(box: Sandbox, forgeries: Mapping[str, str], kind: str) -> list[str]:
    """Return the forgeries after which a wrong program without a trick passes in the same sandbox."""
    tests = [read_kinds()[kind]]
    found = []
    for name, text in forgeries.items():
        _, heir = await run_candidates(box, [text, read_wrong()], tests, SECONDS_EACH)
        if heir.verdict == "passed":
            found.append(name)
    return found


async def test_a_forgery_leaves_nothing_for_the_next_program(box: Sandbox) -> None:
    """Files that a program plants around the tests do not decide about the next program of its batch."""
    planted = {name: text for name, text in read_group("processes").items() if name.startswith("plants packages")}

    assert len(planted) == 1
    assert await find_heirs(box, planted, "plain asserts") == []


async def test_test_files_are_never_read_from_disk(box: Sandbox) -> None:
    """A test file that extends the import path does not make the next one come from where the program can write."""
    kinds = read_kinds()
    tests = [kinds["path of the tests"], kinds["plain asserts"].model_copy(update={"name": "test_second.py"})]
    written = read_group("processes")["writes into the files of the tests"]

    wrong, right = await run_candidates(box, [written, read_honest()], tests, SECONDS_EACH)

    assert wrong.verdict != "passed" and not any(test.passed for test in wrong.tests)
    assert right.verdict == "passed", right.reason


@slow
@pytest.mark.timeout(7200)
async def test_no_forgery_leaves_anything_for_the_next_program(box: Sandbox) -> None:
    """No forgery that acts on files and processes decides about the next program of its batch."""
    assert await find_heirs(box, read_group("processes"), "plain asserts") == []


@slow
@pytest.mark.timeout(600)
async def test_the_right_program_passes_every_kind(box: Sandbox) -> None:
    """The right program passes every kind of test, so that the judge refuses not everything."""
    assert await find_refused(box, list(read_kinds().values())) == []


@exhaustive
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("group", GROUPS)
async def test_no_forgery_passes_any_kind_unnoticed(box: Sandbox, group: str) -> None:
    """No forgery of a group passes any kind of test without a note."""
    assert await find_deceived(box, read_group(group), read_kinds()) == []
