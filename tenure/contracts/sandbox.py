"""Requests and results of the sandbox: programs, tests of candidates, and outcomes.

These models transport texts of a few kilobytes; a larger file is given as a path and copied in by the supervisor. The
sandbox's output is not trusted: text is bounded, artifacts are files written by the supervisor, and the verdict is the
supervisor's own.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from tenure.contracts.base import Contract

Language = Literal["python", "node", "shell"]
"""Language of a program; Python is always available, others if they are installed on the host."""

SandboxVerdict = Literal["passed", "failed", "error", "timeout", "limit", "forged"]
"""Outcome of a test run: `error` is a fault of the sandbox or of the tests, `forged` a report that contradicts the
facts."""

ProofLevel = Literal["none", "exit_code", "tests_in_same_process", "tests_in_other_process", "values_compared_outside"]
"""Level of proof of a verdict, from the lowest to the highest.

Return values that are compared outside of the sandbox cannot be forged. Tests in another process see only what the
program writes. Tests in the same process could be influenced by the program, so its verdict has notes.
"""

MAX_TEXT_CHARS = 200_000
"""Maximum length of a file given as text; longer ones are given as a path."""


MAX_NAME_BYTES = 400
"""Maximum length of a file's relative path in bytes."""


def _validate_inner_name(name: str) -> str:
    """Accept a relative path that stays inside the working folder."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if (
        not parts
        or name.startswith("/")
        or ".." in parts
        or not name.isprintable()
        or len(name.encode()) > MAX_NAME_BYTES
    ):
        raise ValueError(f"{name!r} is not a relative path inside the working folder")
    return "/".join(parts)


InnerName = Annotated[str, AfterValidator(_validate_inner_name)]
"""Relative path inside the working folder."""


class SandboxLimits(Contract):
    """Resource limits of a program; exceeding one ends it."""

    wall_seconds: float = Field(default=10.0, gt=0, le=3600)
    """Wall time of the whole run."""
    cpu_seconds: int = Field(default=10, ge=1, le=3600)
    """CPU time of each process."""
    memory_mib: int = Field(default=512, ge=64)
    """Memory of all processes together, including files in the scratch space."""
    processes: int = Field(default=64, ge=4, le=1024)
    """Number of concurrent processes and threads."""
    open_files: int = Field(default=256, ge=32)
    """Number of open files per process."""
    file_mib: int = Field(default=64, ge=1)
    """Size of one file."""
    scratch_mib: int = Field(default=128, ge=1)
    """Size of the working folder, temporary files included."""
    growth_mib: int = Field(default=1024, ge=1)
    """Growth of a folder of the host in which a command works, and of an environment that it installs."""
    growth_files: int = Field(default=50_000, ge=1)
    """Number of new files in such a folder."""
    output_kib: int = Field(default=64, ge=1, le=1024)
    """Size of the captured standard output, and of standard error."""
    artifacts: int = Field(default=32, ge=0, le=1000)
    """Number of files copied out."""
    artifact_mib: int = Field(default=32, ge=0, le=1024)
    """Total size of the files copied out."""


class InputFile(Contract):
    """A file placed in the working folder: its text, or the path of a host file to copy."""

    name: InnerName
    """Relative path in the working folder."""
    text: str | None = Field(default=None, max_length=MAX_TEXT_CHARS)
    path: str | None = None
    """Path of a host file given by a person; it is copied, never mounted."""
    origin: str = ""
    """Path from which a person's machine read the text; empty for a file that no person gave."""

    @model_validator(mode="after")
    def _check_content(self) -> "InputFile":
        """Reject a file with both contents or with none."""
        if (self.text is None) == (self.path is None):
            raise ValueError(f"{self.name}: give either a text or a path")
        return self


class Program(Contract):
    """A program to run once."""

    files: tuple[InputFile, ...]
    entry: InnerName
    language: Language = "python"
    args: tuple[str, ...] = ()
    stdin: str = Field(default="", max_length=MAX_TEXT_CHARS)
    limits: SandboxLimits = SandboxLimits()


class CallCase(Contract):
    """A function call whose result is compared outside the sandbox; the expected value never enters it."""

    function: str
    args: tuple[JsonValue, ...] = ()
    expected: JsonValue = None
    """Expected value; a tuple is compared as a list, a generator as the list of its items."""
    module: str = ""
    """Module of the function; empty for the first Python file of the candidate."""
    tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Allowed absolute difference of a number."""


class TestSuite(Contract):
    """Tests of candidates."""

    __test__ = False  # not a pytest class

    tests: tuple[InputFile, ...] = ()
    """pytest files and their data; candidates cannot read the Python files."""
    cases: tuple[CallCase, ...] = ()
    """Calls with expected values, if there are no pytest files."""
    limits: SandboxLimits = SandboxLimits()
    """Resource limits; `wall_seconds` is for all candidates together."""
    trace: bool = False
    """Whether to record the lines of the candidate that each test executes."""


class CandidateBatch(TestSuite):
    """Several candidates tested sequentially in one sandbox."""

    candidates: tuple[tuple[InputFile, ...], ...] = Field(min_length=1)
    files: tuple[InputFile, ...] = ()
    seconds_each: float | None = Field(default=None, gt=0)
    """Wall time of one candidate; None for the remaining time of the batch."""
    stop_at_first_pass: bool = False
    """Whether to stop at the first candidate that passes."""


class TestRun(TestSuite):
    """One candidate with its tests."""

    files: tuple[InputFile, ...]

    @property
    def batch(self) -> CandidateBatch:
        """This test run as a batch of one candidate."""
        return CandidateBatch(**dict(self) | {"files": (), "candidates": (self.files,)})


class TestResult(Contract):
    """Result of one test or case."""

    __test__ = False  # not a pytest class

    name: str
    """File and function of a test, or the call of a case."""
    passed: bool
    error: str = ""
    """First line of the error."""
    trace: str = ""
    """Output of pytest, bounded."""
    lines: tuple[tuple[str, int], ...] = ()
    """File names and line numbers of the candidate in the traceback, outermost first."""
    seconds: float = 0.0
    covered: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """Executed lines of each file of the candidate, if requested."""


class Artifact(Contract):
    """A file created by a program and stored."""

    name: str
    """Relative path in the working folder, with unprintable characters escaped."""
    bytes: int = Field(ge=0)
    """Size in bytes."""
    sha256: str
    """SHA-256 hash of the content."""
    path: str
    """Path on the worker's machine, or location in the object store."""


class Isolation(Contract):
    """Isolation used for a program."""

    backend: Literal["bubblewrap", "docker"]
    version: str = ""
    memory: Literal["enforced", "best-effort"] = "best-effort"
    """Whether the kernel limits the memory of all processes together, or a watchdog does."""
    memory_note: str = ""
    """Place of the control groups, or the reason for their absence."""
    uid_drop: bool = False
    """Whether a supervisor running as root dropped its privileges first."""


class SandboxOutcome(Contract):
    """Outcome of a program or of one candidate."""

    verdict: SandboxVerdict
    """Verdict of the supervisor; for a program without tests, `passed` is exit code 0."""
    proof: ProofLevel = "none"
    """Level of proof of the verdict."""
    notes: tuple[str, ...] = ()
    """Findings: code of the program that could influence its tests, and gaps of its tests."""
    reason: str = ""
    """Reason in one line, if it is not obvious."""
    exit_code: int | None = None
    """Exit code; None if a signal ended the program."""
    signal: str | None = None
    """Name of the signal that ended it."""
    limits_hit: tuple[str, ...] = ()
    """Limits reached: wall, cpu, memory, host-memory, file, files, output, folder, artifacts."""
    stdout: str = ""
    """Beginning and end of standard output, with unprintable characters escaped."""
    stderr: str = ""
    """Beginning and end of standard error."""
    seconds: float = 0.0
    """Wall time."""
    peak_memory_mib: float | None = None
    tests: tuple[TestResult, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    """New or changed files."""
    isolation: Isolation | None = None
    """Isolation used; None if it never started."""

    @property
    def tests_passed(self) -> int:
        """Number of passed tests."""
        return sum(test.passed for test in self.tests)


class SandboxSelfTest(Contract):
    """Result of the sandbox's self-test."""

    usable: bool
    """Whether programs may be run."""
    message: str
    """One line on the isolation in use, or on the missing parts and their remedy."""
    isolation: Isolation | None = None
    languages: tuple[Language, ...] = ("python",)
    packages: tuple[str, ...] = ()
    """Python packages available besides the standard library, with versions."""
    findings: tuple[str, ...] = ()
    """Isolation checks that failed."""
