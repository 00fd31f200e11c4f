"""Tests of programs, their failures and attempts."""

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
        ([source("tool.js")], "needs node, which is not available"),
        ([source(), source()], "two files have the same name"),
        ([source(text="#" * 60_001)], "is longer than 60,000"),
        ([source("data.csv")], "no executable file"),
        ([source(), source("pkg/__init__.py"), source("pkg/a-b.txt")], ""),
    ],
)
def test_invalid_programs_are_rejected(files: list[SourceFile], why: str) -> None:
    """Names outside the folder, test files, missing languages and too much text are rejected."""
    said = programs.find_program_fault(files, ["test_it.py"], ["python", "shell"])

    assert why in said and bool(said) == bool(why)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("test_a.py", ""),
        ("a_test.py", ""),
        ("conftest.py", "not a valid"),
        ("../t.py", "not a valid"),
        ("a.py", "test_*.py"),
    ],
)
def test_invalid_test_files_are_rejected(path: str, why: str) -> None:
    """Invalid test files are rejected."""
    assert why in programs.find_tests_fault([source(path)])
    assert programs.find_tests_fault([]) == ""


def test_hash_ignores_layout() -> None:
    """The command line and other text change the hash."""
    one, other = source(), source("b.txt", "some words")

    assert programs.hash_program([one, other]) == programs.hash_program(
        [source("b.txt", "some  words"), source(text="x  =  1 # y")]
    )
    assert programs.hash_program([one]) != programs.hash_program([one], ("solution.py",))
    assert programs.hash_program([one]) != programs.hash_program([source(text="x = 2")])


def test_cases_come_from_json_without_pytest() -> None:
    """Cases come from json without pytest."""
    case = InputFile(name="cases.json", text='[{"function": "f", "args": [1], "expected": 2}]')

    assert programs.collect_cases([case]) == (CallCase(function="f", args=(1,), expected=2),)
    assert programs.collect_cases([case, InputFile(name="test_f.py", text="")]) == ()
    with pytest.raises(ValidationError):
        programs.collect_cases([InputFile(name="cases.json", text='{"function": "f"}')])


def test_main_file_is_the_entry_point() -> None:
    """Main file is the entry point."""
    assert programs.choose_entry_point([source("notes.txt"), source("b.py"), source("a.py")]) == "b.py"
    assert programs.choose_entry_point([source("b.py"), source("pkg/main.py")]) == "pkg/main.py"


def test_given_files_are_converted_and_merged() -> None:
    """Data files are represented by a note."""
    given = (InputFile(name="a.py", text="x = 1\n"), InputFile(name="big.csv", path="/data/big.csv"))

    assert programs.convert_given_files(given)[1].text.startswith("(a data file")
    together = programs.merge_files(given, [source("a.py", "x = 2\n"), source("b.py")])
    assert [(file.name, file.text) for file in together] == [
        ("a.py", "x = 2\n"),
        ("big.csv", None),
        ("b.py", "x = 1\n"),
    ]
    assert programs.select_changed_files(given, [source("a.py"), source("b.py")]) == (source("b.py"),)


def test_sandbox_limits_follow_the_run() -> None:
    """Sandbox limits follow the run."""
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
def test_ending_is_described_in_one_line(found: SandboxOutcome, error: str) -> None:
    """Ending is described in one line."""
    (failure,) = programs.collect_failures(found)

    assert (failure.test, failure.error) == ("", error)


def test_failures_of_a_test_run() -> None:
    """A program that ended early has its ending as a further failure."""
    tests = (TestResult(name="a", passed=True), TestResult(name="b", passed=False, error="no", trace="t" * 9000))
    failed, timed = (programs.collect_failures(outcome(verdict, tests=tests)) for verdict in ("failed", "timeout"))

    assert [(f.test, f.error) for f in failed] == [("b", "no")]
    assert len(failed[0].trace) < 5000 and "left out" in failed[0].trace
    assert [f.test for f in timed] == ["", "b"]
    assert programs.collect_failures(outcome("passed")) == ()


def test_ending_reported_by_a_test_appears_once() -> None:
    """Ending reported by a test appears once."""
    missing = "ModuleNotFoundError: No module named 'shop'"
    tests = (TestResult(name="test_cart.py", passed=False, error=missing),)
    told = programs.collect_failures(outcome("error", reason=missing, tests=tests))

    assert [(failure.test, failure.error) for failure in told] == [("test_cart.py", missing)]


def test_only_import_errors() -> None:
    """Any other failure may be repaired by a small edit."""
    missing = AttemptFailure(test="test_a.py", error="ImportError: cannot import name 'f' from 'a'")
    other = AttemptFailure(test="test_b", error="assert 1 == 2")
    tried = attempt(1, 0)

    assert programs.has_only_import_errors(tried.model_copy(update={"failures": (missing,)}))
    assert not programs.has_only_import_errors(tried.model_copy(update={"failures": (missing, other)}))
    assert not programs.has_only_import_errors(tried.model_copy(update={"failures": ()}))


def test_artifacts_are_listed() -> None:
    """Artifacts are listed."""
    found = outcome("passed", artifacts=(Artifact(name="p.png", bytes=3, sha256="ab", path="/kept/0"),))

    assert [(a.name, a.bytes, a.sha256, a.path) for a in found.artifacts] == [("p.png", 3, "ab", "/kept/0")]


def test_best_attempt() -> None:
    """Passing first, then most passed tests, then the latest."""
    assert programs.select_best_attempt([]) is None
    tried = [attempt(1, 5), attempt(2, 7), attempt(3, 7), attempt(4, 1)]
    assert (programs.select_best_attempt(tried) or tried[0]).n == 3
    assert (programs.select_best_attempt([*tried, attempt(5, 0, failing=False)]) or tried[0]).n == 5


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60_000), st.booleans()), max_size=12))
def test_history_is_bounded(made: list[tuple[int, int, bool]]) -> None:
    """The best attempt keeps its code."""
    tried = [attempt(n, passed, failing=bad, text="#" * size) for n, (passed, size, bad) in enumerate(made, 1)]
    slim = programs.trim_history(tried)
    kept = programs.select_best_attempt(tried)

    assert [one.n for one in slim] == [one.n for one in tried]
    assert sum(len(file.text) for one in slim for file in one.files) <= programs.MAX_HISTORY_LENGTH
    assert kept is None or slim[kept.n - 1] == kept


def test_summary_keeps_the_code_of_the_best_attempt() -> None:
    """Summary keeps the code of the best attempt."""
    tried = [attempt(1, 1), attempt(2, 2)]
    first, second = programs.summarize_attempts(tried)

    assert (first.files, first.stdout, first.failures[0].trace) == ((), "", "")
    assert second == tried[1]


@pytest.mark.parametrize(
    ("entry", "arguments", "command"),
    [
        ("solution.py", (), "python solution.py"),
        ("count.py", ("a b.txt", "--top=3"), "python count.py 'a b.txt' --top=3"),
        ("run.js", (), "node run.js"),
        ("run.sh", (), "sh run.sh"),
        ("data", (), "python data"),
    ],
)
def test_the_command_of_a_run_can_be_pasted(entry: str, arguments: tuple[str, ...], command: str) -> None:
    """A command names the interpreter of the file, and its arguments are quoted."""
    assert programs.format_command(entry, arguments) == command


@pytest.mark.parametrize(
    ("request_", "title"),
    [
        ("Repair median.py", "Repair median.py"),
        ("Write a function that adds a, b and c", "Function that adds a, b and c"),
        (
            "Write closures.py: a function merge_logs(*texts) that reads logs, one range a line (with a date).",
            "closures.py: a function merge_logs(*texts) that reads logs",
        ),
        ("write word_count() that counts words", "word_count() that counts words"),
        ("", ""),
    ],
)
def test_a_title_is_the_beginning_of_the_request(request_: str, title: str) -> None:
    """Long requests end at a clause, and names of files and functions keep their case."""
    assert programs.format_title(request_) == title
