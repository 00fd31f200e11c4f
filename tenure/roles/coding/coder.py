"""Write a program, and its next version after a failed attempt."""

from typing import Annotated

from pydantic import Field, ValidationError

from tenure.algorithms.coding.programs import hash_file
from tenure.algorithms.text.code_blocks import (
    collect_imports,
    extract_function_names,
    extract_python_blocks,
    list_definitions,
    rank_code,
)
from tenure.contracts.messages import Message
from tenure.contracts.result.programs import Attempt, CodingTask, SourceFile, parse_cases
from tenure.contracts.sandbox import CallCase
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import Evidence, Role, RoleOutput, mark_passages, wrap_in_tag
from tenure.roles.code_prompting import (
    DATA_RULE,
    MAX_FILE_CHARACTERS,
    CodingContext,
    WrittenFile,
    render_attempt,
    render_context,
    render_failures,
)
from tenure.roles.prompting import join_parts

SYSTEM = f"""You write programs that are run and tested in a sandbox, and you repair them until their tests pass.

You are given what a person asks for, a specification, tests, files the person gave, passages from documents, which may
be about something else, and, once there are any, your earlier attempts with what failed and what was learned from it.
You decide:
- approach: what this version does, and what it does differently from failed ones; one or two sentences.
- files: every file of the program that is new or changed, whole. Files that were given and stay as they are need not
  be repeated. Names must be those that the tests import; otherwise solution.py, solution.js or solution.sh.
- entry: the file to be run when the tests have passed, for a script or a data analysis; empty for a library.
- args, stdin: what to run it with, so that a person sees what it does.

Rules:
- Work from the cause of the failure, not from the expected values: no special cases for the inputs of the tests.
- Never write the same program again, and never go around the tests: changing, skipping or patching them, or their
  test runner, counts as failed.
- If the task is to write tests, the files are pytest files named test_*.py that pass on the given code and would
  fail on a wrong version of it.
- Plots and tables are saved as files in the program's folder (plot.png, result.csv); numbers that matter are printed.
- Complete, typed and readable code with docstrings; only the packages that are listed.

{DATA_RULE}"""


class CoderInput(CodingContext):
    """The task and the earlier attempts."""

    specification: str = ""
    """Specification of the program."""
    task: CodingTask = "program"
    """Kind of result."""
    candidate: int = 1
    """Number of this program among those written concurrently."""
    candidates: int = 1
    """Number of programs written concurrently."""
    attempts: tuple[Attempt, ...] = ()
    """Earlier attempts in order; the files of the best one are shown."""
    best_attempt: int | None = None
    """Number of the best attempt."""
    failed_digests: tuple[str, ...] = ()
    """Digests of the files of failed programs."""
    is_repeated: bool = False
    """Whether the last answer was a program that had failed before."""


class CoderOutput(RoleOutput):
    """A program."""

    approach: str = Field(max_length=1000)
    """Approach of this version."""
    files: tuple[WrittenFile, ...] = Field(max_length=12)
    """New or changed files; none if there is no program."""
    entry: str = Field(max_length=120)
    """The file to run once the tests have passed; empty for a library."""
    args: tuple[Annotated[str, SchemaLimit(1000)], ...] = Field(max_length=20)
    """Arguments of that run."""
    stdin: str = Field(max_length=4000)
    """Standard input of that run."""


def render(input: CoderInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    best = next((attempt for attempt in input.attempts if attempt.n == input.best_attempt), None)
    user = join_parts(
        mark_passages(evidence.passages),
        *render_context(input),
        wrap_in_tag("specification", input.specification) if input.specification else "",
        "The task is to write tests for the given code." if input.task == "tests" else "",
        *(render_attempt(attempt, include_files=attempt.n == input.best_attempt) for attempt in input.attempts),
        *(render_failures(best.failures) if best else ()),
        f"This is candidate {input.candidate} of {input.candidates}: take another way than the others would."
        if input.candidates > 1
        else "",
        "Your last answer was a program that has failed before: write another one." if input.is_repeated else "",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


_NO_PROGRAM = CoderOutput(approach="", files=(), entry="", args=(), stdin="")


def fallback(input: CoderInput, evidence: Evidence) -> CoderOutput:
    """Return existing code in the files that the tests import; write no code and return none that has failed.

    Given files come first, then code of the passages, ranked by the names it defines and the words it shares with the
    request. If all of it has failed, the result is empty, and program repair continues.
    """
    given = _select_given_programs(input)
    if input.task == "tests" or (given and _has_failed(input, given)):
        return _NO_PROGRAM
    if given:
        return _build_output("The given program as it is.", given)
    offered = [
        code
        for passage in evidence.passages
        for code in extract_python_blocks(passage.text)
        if len(code) <= MAX_FILE_CHARACTERS
    ]
    for path, wanted in _list_required_files(input).items():
        found = [code for code in offered if not _has_failed(input, [SourceFile(path=path, text=code)])]
        fits = rank_code(wanted, input.question, found)
        if len(fits) >= input.candidate:
            return _build_output(
                "Code of a document that fits.", [SourceFile(path=path, text=fits[input.candidate - 1])]
            )
    return _NO_PROGRAM


def _has_failed(input: CoderInput, files: list[SourceFile]) -> bool:
    return any(hash_file(file.path, file.text) in input.failed_digests for file in files)


def _select_given_programs(input: CoderInput) -> list[SourceFile]:
    """Return the given Python files that define a name and are not tests."""
    return [file for file in input.given_files if file.path.endswith(".py") and list_definitions(file.text)]


def _list_required_files(input: CoderInput) -> dict[str, tuple[str, ...]]:
    """Return the required files, each with the names it has to define."""
    modules = collect_imports(file.text for file in input.tests)
    files = {f"{module.replace('.', '/')}.py": names for module, names in modules.items() if names}
    called = tuple(dict.fromkeys(case.function for file in input.tests for case in _read_cases(file)))
    return files or {"solution.py": called or extract_function_names(input.question)}


def _read_cases(file: SourceFile) -> tuple[CallCase, ...]:
    """Return the function calls that a test file describes; empty if the file has another format."""
    try:
        return parse_cases(file.text) if file.path.endswith(".json") else ()
    except ValidationError:
        return ()


def _build_output(approach: str, files: list[SourceFile]) -> CoderOutput:
    written = tuple(
        WrittenFile(path=file.path, content=file.text) for file in files if len(file.text) <= MAX_FILE_CHARACTERS
    )
    return CoderOutput(approach=approach, files=written[:12], entry="", args=(), stdin="")


ROLE = Role("coder", "main", CoderInput, CoderOutput, render, fallback, streamed=True)
