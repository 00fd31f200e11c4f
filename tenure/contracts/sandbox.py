"""What goes into the sandbox and what comes out: programs, trials of a candidate, and outcomes.

Text of a few kilobytes travels in these models; a file that a person named travels as its path and is copied in
by the supervisor. Nothing that comes out is trusted by its form: output is bounded text, artifacts are files that
the supervisor wrote, and a verdict is the supervisor's own judgement.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from tenure.contracts.base import Contract

Language = Literal["python", "node", "shell"]
"""What can be run; a host has Python always, the others where they are installed."""

Verdict = Literal["passed", "failed", "error", "timeout", "limit", "forged"]
"""How it ended: `error` is the sandbox's or the tests' own fault, `forged` a report that contradicts the facts."""

Proof = Literal["none", "exit_code", "tests", "cases"]
"""What a verdict rests on."""

LONGEST_TEXT = 200_000
"""Characters of a file that travels as text; longer ones travel as a path."""


LONGEST_NAME = 400
"""Bytes of a file's name with its folders."""


def _inner_name(name: str) -> str:
    """Accept a relative path that stays inside the working folder."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if (
        not parts
        or name.startswith("/")
        or ".." in parts
        or not name.isprintable()
        or len(name.encode()) > LONGEST_NAME
    ):
        raise ValueError(f"{name!r} is not a relative path inside the working folder")
    return "/".join(parts)


InnerName = Annotated[str, AfterValidator(_inner_name)]
"""A relative path inside the working folder."""


class SandboxLimits(Contract):
    """What a program may use; whatever is more ends it."""

    wall_seconds: float = Field(default=10.0, gt=0, le=3600)
    """Time by the clock for the whole run."""
    cpu_seconds: int = Field(default=10, ge=1, le=3600)
    """CPU time of each process."""
    memory_mib: int = Field(default=512, ge=64)
    """Memory of all processes together, with what they wrote to their scratch space."""
    processes: int = Field(default=64, ge=4, le=1024)
    """Processes and threads at one time."""
    open_files: int = Field(default=256, ge=32)
    """Open files of each process."""
    file_mib: int = Field(default=64, ge=1)
    """Size of one file."""
    scratch_mib: int = Field(default=128, ge=1)
    """Size of the working folder with its temporary files."""
    output_kib: int = Field(default=64, ge=1, le=1024)
    """What is kept of standard output and of standard error, each."""
    artifacts: int = Field(default=32, ge=0, le=1000)
    """Files that are taken out."""
    artifact_mib: int = Field(default=32, ge=0, le=1024)
    """Their size in total."""


class GivenFile(Contract):
    """A file that is put into the working folder: its text, or the path of a file of the host to copy."""

    name: InnerName
    """Where it lies in the working folder."""
    text: str | None = Field(default=None, max_length=LONGEST_TEXT)
    """Its content."""
    path: str | None = None
    """A file of the host that a person named; it is copied in, never mounted."""
    read_only: bool = False
    """Whether a changed version of it is left out of the artifacts."""

    @model_validator(mode="after")
    def _one_content(self) -> "GivenFile":
        """Refuse a file with two contents, or with none."""
        if (self.text is None) == (self.path is None):
            raise ValueError(f"{self.name}: give either a text or a path")
        return self


class Program(Contract):
    """A program to run once."""

    files: tuple[GivenFile, ...]
    """Its files and what it reads."""
    entry: InnerName
    """The file to run."""
    language: Language = "python"
    """What runs it."""
    args: tuple[str, ...] = ()
    """Its arguments."""
    stdin: str = Field(default="", max_length=LONGEST_TEXT)
    """Its standard input."""
    limits: SandboxLimits = SandboxLimits()
    """What it may use."""


class Case(Contract):
    """A call whose value is compared outside the sandbox; the expected value never goes in."""

    function: str
    """Name of the function."""
    args: tuple[JsonValue, ...] = ()
    """Its arguments."""
    expected: JsonValue = None
    """The value it has to give; a tuple counts as a list, a generator as the list of what it yields."""
    module: str = ""
    """Module of the function; empty: the first Python file of the candidate."""
    tolerance: float = Field(default=0.0, ge=0)
    """How far a number may be from the expected one."""


class Batch(Contract):
    """Several candidates against the same tests, one after the other in one start of the sandbox."""

    candidates: tuple[tuple[GivenFile, ...], ...] = Field(min_length=1)
    """The files of each candidate."""
    tests: tuple[GivenFile, ...] = ()
    """Files of pytest, and what they read; a candidate sees none of their Python files."""
    cases: tuple[Case, ...] = ()
    """Calls to compare, where there are no files of pytest."""
    files: tuple[GivenFile, ...] = ()
    """Files that lie beside every candidate."""
    limits: SandboxLimits = SandboxLimits()
    """What the whole batch may use; `wall_seconds` is for all candidates together."""
    seconds_each: float | None = Field(default=None, gt=0)
    """Time by the clock for one candidate; None: what the batch has left."""
    trace: bool = False
    """Whether to tell which lines of the candidate each test ran."""
    stop_at_green: bool = False
    """Whether the candidates after the first that passes are left out."""


class Trial(Contract):
    """One candidate under test."""

    files: tuple[GivenFile, ...]
    """The candidate's files, and what they read."""
    tests: tuple[GivenFile, ...] = ()
    """Files of pytest, and what they read; the candidate sees none of their Python files."""
    cases: tuple[Case, ...] = ()
    """Calls to compare, where there are no files of pytest."""
    limits: SandboxLimits = SandboxLimits()
    """What it may use."""
    trace: bool = False
    """Whether to tell which lines of the candidate each test ran."""

    @property
    def batch(self) -> Batch:
        """The same as a batch of one."""
        return Batch(candidates=(self.files,), tests=self.tests, cases=self.cases, limits=self.limits, trace=self.trace)


class TestResult(Contract):
    """What one test or one case found."""

    __test__ = False
    """pytest collects no contract."""

    name: str
    """Its name: file and function of a test, the call of a case."""
    passed: bool
    """Whether it held."""
    error: str = ""
    """First line of what went wrong."""
    trace: str = ""
    """What pytest said, bounded."""
    lines: tuple[tuple[str, int], ...] = ()
    """Files and line numbers of the candidate in the traceback, outermost first."""
    seconds: float = 0.0
    """How long it took."""
    covered: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """Lines of each file of the candidate that ran, where asked for."""


class Artifact(Contract):
    """A file that was taken out of the sandbox."""

    name: str
    """Where it lay in the working folder, unprintable characters shown as escapes."""
    bytes: int
    """Its size."""
    sha256: str
    """Hash of its content."""
    path: str
    """Where the supervisor stored it, under a name of its own."""


class Isolation(Contract):
    """What held the program."""

    backend: Literal["bubblewrap", "docker"]
    """What made the sandbox."""
    version: str = ""
    """Its version."""
    memory: Literal["enforced", "best-effort"] = "best-effort"
    """Whether the kernel holds the memory of all processes together, or a watchdog does."""
    uid_drop: bool = False
    """Whether a supervisor with the powers of root gave them up first."""


class Outcome(Contract):
    """What came of a program or of one candidate."""

    verdict: Verdict
    """The supervisor's judgement; for a program without tests, `passed` is exit code 0."""
    proof: Proof = "none"
    """What the verdict rests on."""
    reason: str = ""
    """One line that says why, where it is not plain."""
    exit_code: int | None = None
    """Exit code of the program, where it ended by itself."""
    signal: str | None = None
    """Name of the signal that ended it."""
    limits_hit: tuple[str, ...] = ()
    """Limits that were reached: wall, cpu, memory, file, output, artifacts."""
    stdout: str = ""
    """Beginning and end of standard output, unprintable characters shown as escapes."""
    stderr: str = ""
    """The same of standard error."""
    stdout_truncated: bool = False
    """Whether the middle of it was left out."""
    stderr_truncated: bool = False
    """The same of standard error."""
    seconds: float = 0.0
    """Time by the clock."""
    peak_memory_mib: float | None = None
    """Most memory that was seen in use."""
    tests: tuple[TestResult, ...] = ()
    """What each test found."""
    artifacts: tuple[Artifact, ...] = ()
    """Files that were made or changed."""
    isolation: Isolation | None = None
    """What held the program; None where it never began."""

    @property
    def tests_passed(self) -> int:
        """How many tests held."""
        return sum(test.passed for test in self.tests)


class SelfTest(Contract):
    """What a sandbox found out about itself before its first program."""

    usable: bool
    """Whether programs may be run."""
    message: str
    """One line: what is used, or what is missing and what to do."""
    isolation: Isolation | None = None
    """What holds programs here."""
    languages: tuple[Language, ...] = ("python",)
    """What can be run."""
    packages: tuple[str, ...] = ()
    """What a Python program can import besides the standard library, with versions."""
    findings: tuple[str, ...] = ()
    """Boundaries that did not hold."""
