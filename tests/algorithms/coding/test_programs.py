"""Programs in the making: objections, digests, failures, the best attempt, and what may travel."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tenure.algorithms.coding import programs
from tenure.contracts.result.programs import Attempt, AttemptFailure, SourceFile
from tenure.contracts.run.run import RunLimits
from tenure.contracts.sandbox import Artifact, CallCase, InputFile, SandboxOutcome, TestResult


def source(path: str = "solution.py", text: str = "x = 1\n") -> SourceFile:
    return SourceFile(path=path, text=text)


def attempt(n: int, passed: int = 0, *, failing: bool = True, text: str = "x = 1\n") -> Attempt:
    failures = (AttemptFailure(test="t", error="no", trace="long"),) if failing else ()
    return Attempt(n=n, generation=n, passed=passed, total=9, failures=failures, files=(source(text=text),), stdout="o")


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([source("../up.py")], "is not a valid file name in"),
        ([source("/etc/passwd")], "is not a valid file name in"),
        ([source("test_it.py")], "belongs to the tests"),
        ([source("pkg/conftest.py")], "would change how the tests are run"),
        ([source("tool.js")], "needs node, which is not installed"),
        ([source(), source()], "two files have the same name"),
        ([source(text="#" * 60_001)], "is longer than 60,000"),
        ([source("data.csv")], "no file that can be run"),
        ([source(), source("pkg/__init__.py"), source("pkg/a-b.txt")], ""),
    ],
)
def test_what_is_no_program_is_named_before_it_runs(files: list[SourceFile], why: str) -> None:
    """Names outside the folder, tests and their hooks, missing languages and too much text are refused."""
    said = programs.find_program_fault(files, ["test_it.py"], ["python", "shell"])

    assert why in said and bool(said) == bool(why)


@pytest.mark.parametrize(
    ("path", "why"),
    [("test_a.py", ""), ("a_test.py", ""), ("conftest.py", "no name"), ("../t.py", "no name"), ("a.py", "test_*.py")],
)
def test_files_that_are_no_tests_are_not_taken_for_them(path: str, why: str) -> None:
    """Written tests need a name that pytest collects, and no hook of it."""
    assert why in programs.find_tests_fault([source(path)])
    assert programs.find_tests_fault([]) == ""


def test_programs_are_the_same_but_for_layout() -> None:
    """Comments and order of files make no other program; another way to run it does, and so does other text."""
    one, other = source(), source("b.txt", "some words")

    assert programs.hash_program([one, other]) == programs.hash_program(
        [source("b.txt", "some  words"), source(text="x  =  1 # y")]
    )
    assert programs.hash_program([one]) != programs.hash_program([one], ("solution.py",))
    assert programs.hash_program([one]) != programs.hash_program([source(text="x = 2")])


def test_cases_come_from_json_unless_there_is_pytest() -> None:
    """A JSON file beside files of pytest is something they read."""
    case = InputFile(name="cases.json", text='[{"function": "f", "args": [1], "expected": 2}]')

    assert programs.collect_cases([case]) == (CallCase(function="f", args=(1,), expected=2),)
    assert programs.collect_cases([case, InputFile(name="test_f.py", text="")]) == ()
    with pytest.raises(ValidationError):
        programs.collect_cases([InputFile(name="cases.json", text='{"function": "f"}')])


def test_the_main_file_is_run_where_nobody_says_which() -> None:
    """A file called main comes before the others, which come in order."""
    assert programs.choose_entry_point([source("notes.txt"), source("b.py"), source("a.py")]) == "b.py"
    assert programs.choose_entry_point([source("b.py"), source("pkg/main.py")]) == "pkg/main.py"


def test_given_files_are_shown_replaced_and_recognised() -> None:
    """Data that does not travel is shown by its name; a program's files come in the place of given ones."""
    given = (InputFile(name="a.py", text="x = 1\n"), InputFile(name="big.csv", path="/data/big.csv"))

    assert programs.convert_given_files(given)[1].text.startswith("(a data file")
    together = programs.merge_files(given, [source("a.py", "x = 2\n"), source("b.py")])
    assert [(file.name, file.text) for file in together] == [
        ("a.py", "x = 2\n"),
        ("big.csv", None),
        ("b.py", "x = 1\n"),
    ]
    assert programs.select_changed_files(given, [source("a.py"), source("b.py")]) == (source("b.py"),)


def test_what_a_program_may_use_is_what_the_run_allows() -> None:
    """Time by the clock bounds the time to compute, which is never less than a second."""
    allowed = programs.build_sandbox_limits(RunLimits(program_seconds=0.4, program_memory_mib=128))

    assert (allowed.wall_seconds, allowed.cpu_seconds, allowed.memory_mib) == (0.4, 1, 128)


def outcome(verdict: str, **others: object) -> SandboxOutcome:
    return SandboxOutcome.model_validate({"verdict": verdict, **others})


@pytest.mark.parametrize(
    ("found", "error"),
    [
        (outcome("timeout"), "it exceeded its time limit"),
        (outcome("limit", limits_hit=("memory",)), "it exceeded its limits (memory)"),
        (outcome("limit"), "it exceeded its limits (unknown)"),
        (outcome("forged"), "its reported test results contradict the observed ones"),
        (outcome("error", reason="no tests were collected"), "no tests were collected"),
        (
            outcome("failed", exit_code=2, stderr="Traceback\n\nValueError: x\n "),
            "it ended with exit code 2: ValueError: x",
        ),
        (outcome("failed", stderr="early"), "it ended early"),
    ],
)
def test_the_end_of_a_program_is_told_in_one_line(found: SandboxOutcome, error: str) -> None:
    """Where no test says what went wrong, the way it ended does, with its last words."""
    (failure,) = programs.collect_failures(found)

    assert (failure.test, failure.error) == ("", error)


def test_failing_tests_are_the_failures() -> None:
    """A failed trial tells of its tests alone, one that ended in another way of both, an accepted one of nothing."""
    tests = (TestResult(name="a", passed=True), TestResult(name="b", passed=False, error="no", trace="t" * 9000))
    failed, timed = (programs.collect_failures(outcome(verdict, tests=tests)) for verdict in ("failed", "timeout"))

    assert [(f.test, f.error) for f in failed] == [("b", "no")]
    assert len(failed[0].trace) < 5000 and "left out" in failed[0].trace
    assert [f.test for f in timed] == ["", "b"]
    assert programs.collect_failures(outcome("passed")) == ()


def test_an_end_that_a_test_tells_of_is_told_once() -> None:
    """A module that is missing is one failure, that of the file that imports it."""
    missing = "ModuleNotFoundError: No module named 'shop'"
    tests = (TestResult(name="test_cart.py", passed=False, error=missing),)
    told = programs.collect_failures(outcome("error", reason=missing, tests=tests))

    assert [(failure.test, failure.error) for failure in told] == [("test_cart.py", missing)]


def test_a_program_is_unfinished_where_its_tests_import_what_is_not_there() -> None:
    """That is not mended by a small edit; any failure besides is one that might be."""
    missing = AttemptFailure(test="test_a.py", error="ImportError: cannot import name 'f' from 'a'")
    other = AttemptFailure(test="test_b", error="assert 1 == 2")
    tried = attempt(1, 0)

    assert programs.has_only_import_errors(tried.model_copy(update={"failures": (missing,)}))
    assert not programs.has_only_import_errors(tried.model_copy(update={"failures": (missing, other)}))
    assert not programs.has_only_import_errors(tried.model_copy(update={"failures": ()}))


def test_artifacts_are_told_with_where_they_are() -> None:
    """Name, size, hash and place."""
    found = outcome("passed", artifacts=(Artifact(name="p.png", bytes=3, sha256="ab", path="/kept/0"),))

    assert [(a.name, a.bytes, a.sha256, a.path) for a in programs.build_stored_artifacts(found)] == [
        ("p.png", 3, "ab", "/kept/0")
    ]


def test_an_accepted_program_is_the_best_and_the_later_of_equals() -> None:
    """Accepted comes before passed tests, these before the number."""
    assert programs.select_best_attempt([]) is None
    tried = [attempt(1, 5), attempt(2, 7), attempt(3, 7), attempt(4, 1)]
    assert (programs.select_best_attempt(tried) or tried[0]).n == 3
    assert (programs.select_best_attempt([*tried, attempt(5, 0, failing=False)]) or tried[0]).n == 5


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60_000), st.booleans()), max_size=12))
def test_attempts_travel_with_bounded_code_and_the_best_one_whole(made: list[tuple[int, int, bool]]) -> None:
    """However much was written, the best program keeps its code and all of it stays below the bound."""
    tried = [attempt(n, passed, failing=bad, text="#" * size) for n, (passed, size, bad) in enumerate(made, 1)]
    slim = programs.trim_history(tried)
    kept = programs.select_best_attempt(tried)

    assert [one.n for one in slim] == [one.n for one in tried]
    assert sum(len(file.text) for one in slim for file in one.files) <= programs.MAX_HISTORY_LENGTH
    assert kept is None or slim[kept.n - 1] == kept


def test_later_attempts_know_the_code_of_the_best_only() -> None:
    """The others are known by what they tried and failed."""
    tried = [attempt(1, 1), attempt(2, 2)]
    first, second = programs.summarize_attempts(tried)

    assert (first.files, first.stdout, first.failures[0].trace) == ((), "", "")
    assert second == tried[1]
