"""Coder: the program, and its next version where the last one failed (document 000 §2.2, f_generate_code)."""

from pydantic import Field, ValidationError

from tenure.algorithms.coding.programs import file_digest
from tenure.algorithms.text.code_blocks import blocks, defined, fitting, imported, named
from tenure.contracts.result.programs import Attempt, SourceFile, Task, read_cases
from tenure.contracts.sandbox import Case
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleOutput, mark_passages, tagged
from tenure.roles.coding.prompting import (
    DATA_RULE,
    MOST_CODE,
    Workshop,
    WrittenFile,
    marked_attempt,
    marked_failures,
    surroundings,
)
from tenure.roles.prompting import joined

SYSTEM = f"""You write programs that are run and tested in a sandbox, and you repair them until their tests pass.

You are given what a person asks for, a specification, tests, files the person gave, passages from documents, and,
once there are any, your earlier attempts with what failed and what was learned from it. You decide:
- approach: what this version does, and what it does differently from failed ones; one or two sentences.
- files: every file of the program that is new or changed, whole. Files that were given and stay as they are need not
  be repeated. Names must be those that the tests import; otherwise solution.py, solution.js or solution.sh.
- entry: the file to be run when the tests have passed, for a script or a data analysis; empty for a library.
- args, stdin: what to run it with, so that a person sees what it does.

Rules:
- Work from the cause of the failure, not from the expected values: no special cases for the inputs of the tests.
- Never write the same program again, and never go around the tests: changing, skipping or patching them, or what they
  are run by, counts as failed.
- If the task is to write tests, the files are pytest files named test_*.py that pass on the given code and would
  fail on a wrong version of it.
- Plots and tables are saved as files in the program's folder (plot.png, result.csv); numbers that matter are printed.
- Complete, typed and readable code with doc strings; only packages you were told of.

{DATA_RULE}
{EVIDENCE_RULE}"""


class CoderInput(Workshop):
    """The task, and what was tried."""

    specification: str = ""
    """What the program has to do."""
    task: Task = "program"
    """What is delivered."""
    candidate: int = 1
    """Which of the programs made side by side this is."""
    candidates: int = 1
    """How many are made side by side."""
    attempts: tuple[Attempt, ...] = ()
    """Earlier attempts in order; the best one is shown whole."""
    best: int | None = None
    """Number of the best attempt."""
    tried: tuple[str, ...] = ()
    """Digests of files that are part of a program that has failed."""
    repeated: bool = False
    """Whether the last answer was a program that had failed before."""


class CoderOutput(RoleOutput):
    """A program."""

    approach: str = Field(max_length=1000)
    """What this version does."""
    files: tuple[WrittenFile, ...] = Field(max_length=12)
    """Files that are new or changed; none if there is nothing to offer."""
    entry: str = Field(max_length=120)
    """The file to run once the tests have passed; empty for a library."""
    args: tuple[str, ...] = Field(max_length=20)
    """Arguments of that run."""
    stdin: str = Field(max_length=4000)
    """Standard input of that run."""


def render(input: CoderInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    best = next((attempt for attempt in input.attempts if attempt.n == input.best), None)
    user = joined(
        mark_passages(evidence.passages),
        *surroundings(input),
        tagged("draft", input.specification) if input.specification else "",
        "The task is to write tests for the given code." if input.task == "tests" else "",
        *(marked_attempt(attempt, whole=attempt.n == input.best) for attempt in input.attempts),
        *(marked_failures(best.failures) if best else ()),
        f"This is candidate {input.candidate} of {input.candidates}: take another way than the others would."
        if input.candidates > 1
        else "",
        "Your last answer was a program that has failed before: write another one." if input.repeated else "",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


_NOTHING = CoderOutput(approach="", files=(), entry="", args=(), stdin="")


def offline(input: CoderInput, evidence: Evidence) -> CoderOutput:
    """Offer code that somebody has written, in files as the tests import it; none that has failed, and none of its own.

    The given files come first, then code of the passages by the names it defines and the words it shares with the
    request. Once all of that has failed there is nothing to offer, and repair has its turn.
    """
    given = _given(input)
    if input.task == "tests" or (given and _tried(input, given)):
        return _NOTHING
    if given:
        return _answer("The given program as it is.", given)
    offered = [code for passage in evidence.passages for code in blocks(passage.text) if len(code) <= MOST_CODE]
    for path, wanted in _wanted(input).items():
        found = [code for code in offered if not _tried(input, [SourceFile(path=path, text=code)])]
        fits = fitting(wanted, input.question, found)
        if len(fits) >= input.candidate:
            return _answer("Code of a document that fits.", [SourceFile(path=path, text=fits[input.candidate - 1])])
    return _NOTHING


def _tried(input: CoderInput, files: list[SourceFile]) -> bool:
    return any(file_digest(file.path, file.text) in input.tried for file in files)


def _given(input: CoderInput) -> list[SourceFile]:
    """Return the given Python files that define something and are no tests."""
    return [file for file in input.given if file.path.endswith(".py") and defined(file.text)]


def _wanted(input: CoderInput) -> dict[str, tuple[str, ...]]:
    """Return the files that are wanted, each with the names it has to define."""
    modules = imported(file.text for file in input.tests)
    files = {f"{module.replace('.', '/')}.py": names for module, names in modules.items() if names}
    called = tuple(dict.fromkeys(case.function for file in input.tests for case in _cases(file)))
    return files or {"solution.py": called or named(input.question)}


def _cases(file: SourceFile) -> tuple[Case, ...]:
    """Return the calls that a file of tests describes; none where it is something else."""
    try:
        return read_cases(file.text) if file.path.endswith(".json") else ()
    except ValidationError:
        return ()


def _answer(approach: str, files: list[SourceFile]) -> CoderOutput:
    written = tuple(WrittenFile(path=file.path, content=file.text) for file in files if len(file.text) <= MOST_CODE)
    return CoderOutput(approach=approach, files=written[:12], entry="", args=(), stdin="")


ROLE = Role("coder", "main", CoderOutput, render, offline, streamed=True)
