"""Coding path: programs, their test results, and the lessons learned from failures (Reflexion; Shinn et al. 2023)."""

from typing import Literal

from pydantic import Field, TypeAdapter

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.run.run import Feedback, PartRequest
from tenure.contracts.sandbox import Artifact, CallCase, InputFile, Program, ProofLevel, SandboxLimits, TestRun

TestAuthor = Literal["person", "test_writer", "coder", "none"]
"""Author of the tests that a program passed; `coder` if tests were requested; `none` if there are none."""

AttemptMaker = Literal["coder", "repair"]
"""Author of an attempt: the role, or the search for a small edit that makes the tests pass."""

CodingTask = Literal["program", "tests"]
"""Deliverable: a program, or tests of an existing program."""


_CASES = TypeAdapter(tuple[CallCase, ...])


def parse_cases(text: str) -> tuple[CallCase, ...]:
    """Parse a JSON list of objects with `function`, `args` and `expected`.

    Raises:
        ValidationError: the text is no such list.
    """
    return _CASES.validate_json(text)


class SourceFile(Contract):
    """A text file of a program or of its tests."""

    path: str
    """Path relative to the program's folder."""
    text: str
    """Content."""


class OriginalFile(SourceFile):
    """A text file that a person gave, as it was when the run started."""

    origin: str
    """Its path on the person's machine."""


class AttemptFailure(Contract):
    """A failed test, or another reason why a program is not accepted."""

    test: str
    """Name of the test; empty if it is none."""
    error: str
    """First line of the error."""
    trace: str = ""
    """Details of the error."""


class Lesson(Contract):
    """Lesson learned from a failed attempt."""

    failed: str
    """Failed test or step."""
    cause: str
    """Cause of the failure."""
    change: str
    """Recommended change."""


class TestSummary(Contract):
    """Results of the tests of a program."""

    __test__ = False  # not a pytest class

    passed: int = Field(default=0, ge=0)
    """Number of passed tests."""
    total: int = Field(default=0, ge=0)
    """Number of tests."""
    failures: tuple[AttemptFailure, ...] = ()
    """Failures; none if the program is accepted."""
    proof: ProofLevel = "none"
    """Level of proof of the test results."""
    notes: tuple[str, ...] = ()
    """Findings: code of the program that could influence its tests, and gaps of its tests."""


class Attempt(TestSummary):
    """A program with its test results."""

    n: int = Field(ge=1)
    """Number in the run."""
    generation: int = Field(ge=1)
    """Generation it belongs to; candidates of one generation are written concurrently."""
    maker: AttemptMaker = "coder"
    """Author of the attempt."""
    approach: str = ""
    """Approach in a sentence or two."""
    files: tuple[SourceFile, ...] = ()
    """Files of the program, except unchanged input files."""
    entry: str = ""
    """File that is run; empty for a library."""
    command: str = ""
    """Command that ran it, with its arguments; empty if only its tests were run."""
    stdout: str = ""
    """Standard output, shortened."""
    stderr: str = ""
    """Standard error, shortened."""
    seconds: float = 0.0
    """Time in the sandbox."""
    artifacts: tuple[Artifact, ...] = ()
    """Files it created."""
    reflection: Lesson | None = None
    """Lesson learned from it."""

    @property
    def error(self) -> str | None:
        """Reason for its rejection, in one line; None if it is accepted."""
        if not self.failures:
            return None
        first = self.failures[0]
        return f"{first.test}: {first.error}" if first.test else first.error


class CodingRequest(PartRequest):
    """Start of the coding path with the routed request and the documents retrieved for it."""

    evidence: tuple[PassageRef, ...] = ()
    """Passages for the request as a whole, best first."""
    files: tuple[InputFile, ...] = ()
    tests: tuple[InputFile, ...] = ()
    """Tests given by the person: pytest files with their data, or cases as JSON."""
    feedback: tuple[Feedback, ...] = ()
    """Feedback received before the start."""
    lessons: tuple[str, ...] = ()
    """Lessons of earlier programs, most relevant first."""
    preferences: tuple[str, ...] = ()
    """Preferences of the owner of the run."""


class TestRunRequest(Contract):
    """A candidate to be tested."""

    __test__ = False  # not a pytest class

    run: RunId
    attempt: int
    """Number of the attempt, which names the folder of its artifacts."""
    test_run: TestRun


class ProgramRequest(Contract):
    """A program to be run."""

    run: RunId
    attempt: int
    """Number of the attempt, which names the folder of its artifacts."""
    program: Program


class RepairRequest(Contract):
    """A program to be repaired by a search for a small edit."""

    files: tuple[InputFile, ...]
    """The failing program and its other files."""
    editable: tuple[str, ...]
    """Names of the Python files that may be changed."""
    tests: tuple[InputFile, ...] = ()
    """pytest files."""
    cases: tuple[CallCase, ...] = ()
    """Calls with expected values, if there are no pytest files."""
    limits: SandboxLimits = SandboxLimits()
    """Limits of one candidate."""
    seconds: float = Field(default=60.0, gt=0)
    tried_digests: tuple[str, ...] = ()
    """Digests of programs that have already failed."""


class RepairProgress(Contract):
    """Progress of a repair search, sent in heartbeats; a retry continues from it."""

    tried: int = 0
    seconds: float = 0.0
    trace: str = ""
    """Digest of the stored lines that each test of a project executes, which decide the order of the candidates; empty
    for programs."""
    partial: tuple[int, ...] = ()
    """Numbers of candidates, from 0, that pass only some of the failing tests."""


class RepairReply(Contract):
    """Result of a repair search."""

    files: tuple[SourceFile, ...] = ()
    """Changed files of a program that passes all tests; none if none was found."""
    changes: tuple[str, ...] = ()
    """Descriptions of the edits."""
    tried: int = 0
    exhausted: bool = False
    """Whether all candidates were tried."""
    seconds: float = 0.0


class ProgramVerification(TestSummary):
    """Test results of a delivered program."""

    test_author: TestAuthor = "none"
    """Author of the tests; `none` for a program that was only run."""


class CodeDraft(Contract):
    """Result of the coding path."""

    specification: str = ""
    """Required behaviour of the program."""
    task: CodingTask = "program"
    files: tuple[SourceFile, ...] = ()
    """New or changed files of the program."""
    originals: tuple[OriginalFile, ...] = ()
    """The given files among those that are changed."""
    entry: str = ""
    """File that is run; empty for a library."""
    tests: tuple[SourceFile, ...] = ()
    verification: ProgramVerification = ProgramVerification()
    attempts: tuple[Attempt, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
