"""The coding path: programs, what testing them showed, and what was learned from it (document 000, code path)."""

from typing import Literal

from pydantic import Field, TypeAdapter

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.run.run import Feedback, Limits, Stance
from tenure.contracts.sandbox import Case, GivenFile, Program, SandboxLimits, Trial

Author = Literal["person", "test_writer", "coder", "nobody"]
"""Whose tests proved a program; `coder` where the tests themselves were what was asked for."""

Maker = Literal["coder", "repair"]
"""What made an attempt: the role, or the search for a small edit that makes the tests pass."""

Task = Literal["program", "tests"]
"""What is delivered: a program, or tests of a program that is there already."""


_CASES = TypeAdapter(tuple[Case, ...])


def read_cases(text: str) -> tuple[Case, ...]:
    """Return the calls that a JSON text lists as objects with `function`, `args` and `expected`.

    Raises:
        ValidationError: it is no such list.
    """
    return _CASES.validate_json(text)


class SourceFile(Contract):
    """A text file of a program, or of its tests."""

    path: str
    """Its name, relative to the program's folder."""
    text: str
    """What stands in it."""


class Failure(Contract):
    """A test that failed, or another reason why a program is not accepted."""

    test: str
    """The test; empty where it is none."""
    error: str
    """The first line of what went wrong."""
    trace: str = ""
    """More of it."""


class Lesson(Contract):
    """What was learned from an attempt that failed (document 003, Reflexion)."""

    failed: str
    """What failed."""
    cause: str
    """Why."""
    change: str
    """What to change."""


class StoredArtifact(Contract):
    """A file that a program made and that was kept."""

    name: str
    """Its name in the program's folder."""
    bytes: int = Field(ge=0)
    """Its size."""
    sha256: str
    """Its hash."""
    path: str
    """Where it is kept, on the machine of the worker."""


class Attempt(Contract):
    """One program and what testing it showed."""

    n: int = Field(ge=1)
    """Its number in the run."""
    generation: int = Field(ge=1)
    """R_n: the generation it belongs to; candidates of one generation are made side by side."""
    maker: Maker = "coder"
    """What made it."""
    approach: str = ""
    """What it tries, in a sentence or two."""
    files: tuple[SourceFile, ...] = ()
    """The program, without files that were given and are unchanged."""
    entry: str = ""
    """The file that is run; empty for a program that is only imported."""
    passed: int = Field(default=0, ge=0)
    """Tests passed."""
    total: int = Field(default=0, ge=0)
    """Tests there are."""
    failures: tuple[Failure, ...] = ()
    """What went wrong; nothing where the program is accepted (E = ∅)."""
    stdout: str = ""
    """What it printed, shortened."""
    stderr: str = ""
    """What it complained of, shortened."""
    seconds: float = 0.0
    """Time in the sandbox."""
    artifacts: tuple[StoredArtifact, ...] = ()
    """Files it made."""
    reflection: Lesson | None = None
    """What was learned from it."""

    @property
    def error(self) -> str | None:
        """E: why it is not accepted, in one line; None where it is."""
        if not self.failures:
            return None
        first = self.failures[0]
        return f"{first.test}: {first.error}" if first.test else first.error


class CodingRequest(Contract):
    """Start of the coding path: the routed request and the documents D retrieved for it."""

    run: RunId
    """Workflow id of the run; progress is reported there."""
    question: str
    """What was asked."""
    limits: Limits
    """Bounds of the run."""
    evidence: tuple[PassageRef, ...] = ()
    """D: passages for the request as a whole, best first."""
    files: tuple[GivenFile, ...] = ()
    """Files the person gave."""
    tests: tuple[GivenFile, ...] = ()
    """Tests the person gave: pytest files with what they read, or cases as JSON."""
    feedback: tuple[Feedback, ...] = ()
    """What people said before."""
    stance: Stance = Stance()
    """What people asked of the run before."""


class TrialRequest(Contract):
    """A candidate to be tested."""

    run: RunId
    """The run."""
    attempt: int
    """Number of the attempt; names the folder of what it leaves."""
    trial: Trial
    """The candidate and its tests."""


class ProgramRequest(Contract):
    """A program to be run."""

    run: RunId
    """The run."""
    attempt: int
    """Number of the attempt; names the folder of what it leaves."""
    program: Program
    """The program."""


class RepairRequest(Contract):
    """A program to be repaired by a search for a small edit."""

    files: tuple[GivenFile, ...]
    """The failing program and what lies beside it."""
    mended: tuple[str, ...]
    """Names of the Python files that may be changed."""
    tests: tuple[GivenFile, ...] = ()
    """Files of pytest."""
    cases: tuple[Case, ...] = ()
    """Calls to compare, where there are no files of pytest."""
    limits: SandboxLimits = SandboxLimits()
    """What one candidate may use."""
    seconds: float = Field(default=60.0, gt=0)
    """How long the search may take."""
    tried: tuple[str, ...] = ()
    """Digests of programs that have failed."""


class RepairProgress(Contract):
    """How far a search is, in the details of its heartbeats; a later attempt goes on from there."""

    tried: int = 0
    """Candidates tried."""
    seconds: float = 0.0
    """Time it took so far."""


class RepairReply(Contract):
    """What a search has found."""

    files: tuple[SourceFile, ...] = ()
    """The changed files of a program that passes all tests; none where none was found."""
    changes: tuple[str, ...] = ()
    """What was changed, in words."""
    tried: int = 0
    """Candidates tried."""
    exhausted: bool = False
    """Whether every candidate there is was tried."""
    seconds: float = 0.0
    """How long it took."""


class Proof(Contract):
    """What speaks for a program."""

    by: Author = "nobody"
    """Whose tests they are; `nobody` for a program that was only run."""
    passed: int = 0
    """Tests passed."""
    total: int = 0
    """Tests there are."""
    failing: tuple[Failure, ...] = ()
    """What fails."""


class CodeDraft(Contract):
    """What the coding path delivers."""

    specification: str = ""
    """What the program has to do."""
    task: Task = "program"
    """What is delivered."""
    files: tuple[SourceFile, ...] = ()
    """The program: files that are new or changed."""
    entry: str = ""
    """The file that is run; empty for a library."""
    tests: tuple[SourceFile, ...] = ()
    """The tests that prove it."""
    proof: Proof = Proof()
    """What speaks for it."""
    attempts: tuple[Attempt, ...] = ()
    """Everything that was tried, in order."""
    delivered: int | None = None
    """Number of the attempt that is delivered; None where there is none."""
    artifacts: tuple[StoredArtifact, ...] = ()
    """Files that the program made."""
