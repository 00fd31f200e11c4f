"""Work in a repository: its state, the actions on it, the environment of its commands, and the proof of a change.

The state of the work is a commit and a patch (`Workspace`). Every action receives a state and returns the next one, so
that an action which is repeated after a crash, or on another machine, starts from the same files and loses no edit.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tenure.contracts.base import Contract, RunId
from tenure.contracts.repository_task import RepositorySource as RepositorySource
from tenure.contracts.sandbox import InnerName, ProofLevel, SandboxLimits

CommitId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
"""Full hash of a commit: SHA-1, or SHA-256 in repositories of that format."""

MAX_OBSERVATION_CHARS = 12_000
"""Maximum length of what an action shows: about 3,000 tokens, or 250 lines of code."""


class Workspace(Contract):
    """State of the work in a repository: a commit and a patch."""

    run: RunId
    candidate: int = Field(default=1, ge=1)
    """Number of the attempt among those that work concurrently; each has its own files."""
    repository: str
    """Key of the worker's private copy of the repository."""
    commit: CommitId
    packed: str = ""
    """Location of the packed commit in the object store, from which another machine makes its private copy."""
    patch: str = ""
    """SHA-256 hash of the stored patch; empty for the commit itself."""


class ActionResult(Contract):
    """Result of an action, as the model and people read it."""

    text: str
    """Bounded text; says what was left out."""
    summary: str
    """One line for people: the action and its outcome."""
    failed: bool = False
    """Whether the action was refused, or had no effect."""


class OpenRequest(Contract):
    """A repository to be copied to a private place."""

    run: RunId
    source: RepositorySource
    web: bool = False
    """Whether the run may fetch it from a server."""


class OpenedRepository(Contract):
    """A repository whose commit can be worked on."""

    workspace: Workspace
    subject: str = ""
    """First line of the commit's message."""
    files: int = 0
    bytes: int = 0
    """Size of the files of the commit."""
    languages: tuple[str, ...] = ()
    """Languages by number of lines, the most frequent first."""
    notes: tuple[str, ...] = ()
    """Limits of reading and changing: large and binary files, links, changes that are not committed."""


class CopyStateRequest(Contract):
    """A state of another run, from which a run continues."""

    workspace: Workspace
    run: RunId
    """Run that continues."""


class ReadRequest(Contract):
    """Lines of a file to be shown with their numbers."""

    workspace: Workspace
    path: InnerName
    first: int = Field(default=1, ge=1)
    last: int | None = Field(default=None, ge=1)
    """Last line; None for as many as fit."""


class ListRequest(Contract):
    """Files to be listed."""

    workspace: Workspace
    pattern: str = Field(default="", max_length=400)
    """Folder or glob pattern, such as `src/**/*.py`; empty for the top folder."""


class Replacement(Contract):
    """Lines of a file to be replaced: `search` must occur exactly once."""

    search: str
    replace: str


class FileEdit(Contract):
    """A change of one file."""

    path: InnerName
    replacements: tuple[Replacement, ...] = ()
    """Replacements in the existing file, in order."""
    content: str | None = None
    """Whole content of the new file, or of one that is replaced as a whole; None with replacements."""
    delete: bool = False


class EditRequest(Contract):
    """Changes of files, all of which are made or none."""

    workspace: Workspace
    edits: tuple[FileEdit, ...] = Field(min_length=1, max_length=60)


class ChangedFile(Contract):
    """A file of a patch."""

    path: str
    """Path in the repository."""
    status: Literal["added", "changed", "deleted"]
    """Kind of the change."""
    added: int = 0
    """Number of added lines; zero for a binary file."""
    removed: int = 0
    """Number of removed lines; zero for a binary file."""
    is_test: bool = False
    """Whether it is a file of tests or of their data."""


MAX_DIFF_CHARS = 30_000
"""Length of a change that the page shows while the work continues: about 600 lines."""


class ChangeSoFar(Contract):
    """Change of a state against its commit, as people see it while the work continues."""

    files: tuple[ChangedFile, ...] = ()
    """Files that differ from the commit."""
    diff: str = ""
    """Beginning of the patch."""
    is_cut: bool = False
    """Whether the patch is longer."""

    @property
    def added(self) -> int:
        """Number of added lines."""
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        """Number of removed lines."""
        return sum(file.removed for file in self.files)


class StepReply(Contract):
    """Result of an action that may change files."""

    workspace: Workspace
    observation: ActionResult
    edits: tuple[str, ...] = ()
    """Outcome of each edit of a request, such as `lines 10-12, +3 -1`, or its problem if they were refused; an empty
    text if only others have one."""
    change: ChangeSoFar | None = None
    """Change after the action; None if the action has changed nothing."""


class Patch(Contract):
    """The changes of a state against its commit."""

    workspace: Workspace
    text: str
    """Patch that `git apply` takes; binary changes in Git's own encoding."""
    files: tuple[ChangedFile, ...] = ()


class IndexReport(Contract):
    """Result of indexing a repository."""

    files: int = 0
    indexed: int = 0
    """Files that were parsed now; the others were unchanged."""
    symbols: int = 0
    notes: tuple[str, ...] = ()


class CodeSearchRequest(Contract):
    """A search in the files of a state."""

    workspace: Workspace
    query: str = Field(min_length=1, max_length=1_000)
    kind: Literal["meaning", "text", "regex", "symbol"] = "meaning"
    """By meaning and words; by exact text; by regular expression; or a symbol with its definition, its callers and the
    tests that name it."""
    pattern: str = Field(default="", max_length=400)
    """Glob pattern of the files to search; empty for all."""


class MapRequest(Contract):
    """A map of the repository: its files and symbols, those that concern the task first."""

    workspace: Workspace
    task: str
    max_tokens: int = Field(default=2_000, ge=100, le=20_000)


class Environment(Contract):
    """Environment of the commands of a project."""

    key: str = ""
    """Hash of setup command, lock files and sandbox, by which an installed environment is found again; empty for the
    sandbox's own programs."""
    ecosystem: Literal["python", "node", "go", "rust", "make", "other"] = "other"
    """Tools of the project."""
    setup: str = ""
    """Command that installs what the project needs; empty for none."""
    test: str = ""
    """Command that runs all tests; empty if none was found."""
    checks: tuple[str, ...] = ()
    """Commands of linters and type checkers that the project declares."""
    reason: str = ""
    """Origin of setup and test command, or the reason why none was found."""
    given_setup: str | None = None
    """Setup command of the person; None if it was found. Another machine installs the environment again with it."""
    allow_network: bool = False
    """Whether the setup may use the network, there as well."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables of its commands."""


class EnvironmentRequest(Contract):
    """An environment to be found or installed."""

    workspace: Workspace
    setup: str | None = None
    """Setup command of the person; None to find one."""
    test: str | None = None
    """Test command of the person; None to find one."""
    allow_network: bool = False
    """Whether a person has allowed the setup to use the network."""


class SetupProgress(Contract):
    """Set-up that runs, as the heartbeats of its activity describe it."""

    command: str
    max_seconds: float
    """Time after which it is stopped."""


class SetupReply(Contract):
    """Result of a setup."""

    environment: Environment
    ready: bool
    """Whether commands can be run."""
    needs_network: bool = False
    """Whether the setup waits for a person to allow the network."""
    observation: ActionResult


class CommandRequest(Contract):
    """A command to be run in the files of a state, in the sandbox and without a network."""

    workspace: Workspace
    environment: Environment
    command: str = Field(min_length=1, max_length=4_000)
    limits: SandboxLimits = SandboxLimits(
        wall_seconds=120,
        cpu_seconds=120,
        memory_mib=2048,
        processes=256,
        open_files=1024,
        file_mib=256,
        scratch_mib=512,
    )


class CommandReply(StepReply):
    """Result of a command."""

    exit_code: int | None = None
    """None if a signal or a limit ended it."""
    seconds: float = 0.0


TestOutcome = Literal["passed", "failed", "error", "skipped"]


class ProjectTest(Contract):
    """Result of one test of a project."""

    id: str
    """Name by which the project's runner selects it."""
    path: str = ""
    """File, if the runner reports it."""
    outcome: TestOutcome
    """Result."""
    message: str = ""
    """First lines of the failure, at most 500 characters."""


class ProjectTestRequest(Contract):
    """Tests of a project to be run in a copy of a state that is thrown away."""

    workspace: Workspace
    environment: Environment
    ids: tuple[str, ...] = ()
    """Tests or files of tests to run; empty for all."""
    original_tests: bool = False
    """Whether files of tests are those of the commit, whatever the patch changes in them."""
    original_code: bool = False
    """Whether all files but those of tests are those of the commit, so that new tests show the fault."""
    hidden: tuple[tuple[str, str], ...] = ()
    """Paths and contents of files of tests that are added for this run only, and that the model never reads."""
    baseline: str = ""
    """`passed_digest` of an earlier run, with which this one is compared; empty for no comparison."""
    reported: tuple[str, ...] = ()
    """Tests that the report lists before others that do not fail."""
    limits: SandboxLimits = SandboxLimits(
        wall_seconds=900,
        cpu_seconds=900,
        memory_mib=4096,
        processes=512,
        open_files=1024,
        file_mib=512,
        scratch_mib=1024,
        output_kib=256,
        artifact_mib=64,
    )


class ProjectTestReport(Contract):
    """Results of the tests of a project."""

    command: str = ""
    tests: tuple[ProjectTest, ...] = ()
    """Failed tests and, as far as they were requested or there is room, the others."""
    counts: dict[TestOutcome, int] = Field(default_factory=dict)
    exit_code: int | None = None
    seconds: float = 0.0
    proof: ProofLevel = "none"
    error: str = ""
    """Reason why the tests could not be run or counted; empty if they were."""
    passed_digest: str = ""
    """Name of the stored list of all passed tests, with which another run is compared; empty without one."""
    lost: tuple[ProjectTest, ...] = ()
    """Tests of the baseline that did not pass now, bounded; a test that did not run has the outcome `error`."""
    lost_count: int = 0
    kept: int = 0
    """Number of tests of the baseline that passed again."""
    notes: tuple[str, ...] = ()
    """Findings that weaken the proof, such as replaced functions of the test framework."""
    observation: ActionResult | None = None


class ProjectRepairRequest(Contract):
    """A search for a small edit of a state that makes failing tests of the project pass."""

    workspace: Workspace
    environment: Environment
    failing: tuple[str, ...]
    """Tests that fail."""
    targets: tuple[str, ...] = ()
    """Those that have to pass; empty if at least one of the failing tests has to."""
    baseline: str
    """`passed_digest` of the tests of the state, which have to pass still."""
    seconds: float = Field(gt=0)
    limits: SandboxLimits = ProjectTestRequest.model_fields["limits"].default


class ProjectRepairReply(StepReply):
    """Result of such a search: the state with the edit, or the same state."""

    changes: tuple[str, ...] = ()
    """Descriptions of the edits; none if none was found."""
    places: tuple[str, ...] = ()
    """Most suspicious lines as `path:line function`."""
    tried: int = 0
    exhausted: bool = False
    """Whether all candidates were tried."""


class CheckRequest(Contract):
    """Linters and type checkers of a project to be run in a copy of a state that is thrown away."""

    workspace: Workspace
    environment: Environment
    limits: SandboxLimits = CommandRequest.model_fields["limits"].default


class ProjectCheck(Contract):
    """Result of a linter or type checker."""

    command: str
    exit_code: int | None = None
    complaints: tuple[str, ...] = ()
    """Lines of its output without line numbers, at most 500."""
    error: str = ""
    """Reason why it could not be run; empty if it was."""


class CheckReport(Contract):
    """Results of all linters and type checkers of a project."""

    checks: tuple[ProjectCheck, ...] = ()


class Proof(Contract):
    """Verdict of the tests of the project on a change."""

    verdict: Literal["proved", "unproved", "failed", "regressed"]
    """Target tests failed before and pass now, and nothing broke; nothing could show it; the target still fails; or a
    test that passed before fails."""
    fixed: tuple[ProjectTest, ...] = ()
    """Tests that failed before and pass now."""
    failing: tuple[ProjectTest, ...] = ()
    """Tests that failed before and still fail."""
    broken: tuple[ProjectTest, ...] = ()
    """Tests that passed before and fail now."""
    rewritten: tuple[ProjectTest, ...] = ()
    """Tests that passed before and that the patch rewrites: only the versions of the commit fail with the change."""
    flaky: tuple[ProjectTest, ...] = ()
    """Tests whose result changed in repetitions without a change of the code."""
    kept: int = 0
    """Number of tests that passed before and still pass."""
    changed_tests: tuple[str, ...] = ()
    """Files of tests that the patch changes; the ones of the commit were run as well."""
    reproduction: str = ""
    """Test that was written for the task: it failed before and passes now; empty if there is none."""
    checks: tuple[str, ...] = ()
    """Result of each linter and type checker, in a line."""
    proof: ProofLevel = "none"
    """Level of proof of the test results."""
    notes: tuple[str, ...] = ()
    """Limits of the proof, with the reasons."""


class RepositoryStep(Contract):
    """One action of the model, as reports and the page show it."""

    n: int = Field(ge=1)
    """Number of the step."""
    phase: str
    """Phase of the work."""
    action: str
    """Action and its subject, such as `edit src/a.py`."""
    thought: str = ""
    """Thought of the model before it."""
    summary: str
    """Outcome in a line."""
    patch: str = ""
    """Stored patch after the step, if it changed."""


ChangeVerdict = Literal["proved", "unproved", "failed", "regressed", "nothing"]


class RepositoryAttempt(Contract):
    """One of several independent attempts at the same task."""

    n: int = Field(ge=1)
    """Number of the attempt."""
    is_chosen: bool = False
    """Whether its patch is the result."""
    verdict: ChangeVerdict = "nothing"
    """Verdict of the tests on its patch; `unproved` as well if they did not run, `nothing` without a patch."""
    proof: str = ""
    """Result of the tests in a line; empty if they did not run."""
    change: str = ""
    """Changes and their reasons, or its plan."""
    patch: str = ""
    """Patch that `git apply` takes; left out if it is longer than 100,000 characters."""
    files: tuple[str, ...] = ()
    """Files of the patch."""
    added: int = 0
    """Number of added lines."""
    removed: int = 0
    """Number of removed lines."""
    end: str = ""
    """Reason for which it ended."""


class RepositoryChange(Contract):
    """Result of the work in a repository."""

    source: RepositorySource
    """Repository as a person gave it."""
    commit: CommitId
    """Commit that the work started from."""
    address: str = ""
    """Address of the page that the task was read from; empty if it was given as a text."""
    cause: str = ""
    """Cause of the fault, with file and line."""
    change: str = ""
    """Changes and their reasons."""
    message: str = ""
    """Draft of a commit message."""
    lesson: str = ""
    """Advice of the model for later work in the repository."""
    patch: str = ""
    """Patch that `git apply` takes; the `model_patch` of SWE-bench."""
    files: tuple[ChangedFile, ...] = ()
    """Files of the patch."""
    places: tuple[str, ...] = ()
    """Located places, as `path:line symbol`."""
    proof: Proof | None = None
    """Verdict of the tests; null if they did not run with the patch."""
    environment: Environment = Environment()
    """Environment of its commands."""
    steps: tuple[RepositoryStep, ...] = ()
    """Actions of the model, in order."""
    attempts: tuple[RepositoryAttempt, ...] = ()
    """Independent attempts, the one whose patch this is among them; empty if there was one attempt."""

    @property
    def verdict(self) -> ChangeVerdict:
        """Verdict of the tests on the patch; `unproved` as well if they did not run, `nothing` without a patch."""
        if not self.patch:
            return "nothing"
        return self.proof.verdict if self.proof else "unproved"
