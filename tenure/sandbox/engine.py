"""Run and test programs in a sandbox: build the job, supervise it, and judge the observations.

A back-end provides the isolation; everything else is the same for all back-ends.
"""

import asyncio
import json
import marshal
import os
import secrets
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from tenure.contracts.sandbox import (
    CandidateBatch,
    InputFile,
    Isolation,
    Language,
    Program,
    SandboxLimits,
    SandboxOutcome,
    SandboxSelfTest,
    TestRun,
)
from tenure.files.opening import FileRefused, open_file
from tenure.sandbox import selftest, verdict
from tenure.sandbox.base import (
    ENVIRONMENT,
    WORKSPACE,
    CommandOutcome,
    FolderCommand,
    Mounts,
    SetupFailed,
)
from tenure.sandbox.code_scan import find_suspicious_code
from tenure.sandbox.folders import FolderFacts, clean_folder
from tenure.sandbox.groups import RunGroup
from tenure.sandbox.inside import driver, relay
from tenure.sandbox.network import open_proxy
from tenure.sandbox.runtime import Runtime
from tenure.sandbox.supervisor import Observed, StartedSandbox, Supervision, UnitResult

T = TypeVar("T")

MAX_CONCURRENT_SANDBOXES: Final = 16
"""Maximum number of concurrent sandboxes of one process."""

UNBOUNDED_ADDRESS_SPACE: Final[tuple[Language, ...]] = ("node",)
"""Languages whose interpreter reserves far more addresses than it uses: only their resident memory is limited."""

PROGRAM_SUFFIXES: Final = (".py", ".js", ".mjs", ".cjs", ".sh")
"""Endings of the names of programs, whose source is scanned."""

MAX_INPUT_BYTES: Final = 512 << 20
"""Maximum size of all input files."""


_STOP_SECONDS = 0.2
"""Interval in which a cancelled run is asked to stop."""


class Backend(Protocol):
    """Interface of isolation back-ends."""

    isolation: Isolation
    """Description of the isolation."""
    late_filter: bytes
    """System call filter that the driver adds to programs; empty if the sandbox starts with it."""

    def make_control_group(self, limits: SandboxLimits) -> RunGroup | None:
        """Create the control group of a run, or return None."""

    @property
    def owner(self) -> int | None:
        """Owner of the folders of a command; None if they stay the worker's."""

    def start(
        self, limits: SandboxLimits, needs_packages: bool, control: RunGroup | None, mounts: Mounts | None = None
    ) -> StartedSandbox:
        """Start a sandbox whose driver waits for its job."""


class ContainedSandbox:
    """Sandbox that uses the isolation of a back-end.

    `prepare` creates the environment of programs at the first use, and returns what then replaces back-end and runtime.
    The self-test does not need it, so a starting worker does not wait for packages.
    """

    def __init__(
        self,
        backend: Backend,
        runtime: Runtime,
        prepare: Callable[[], tuple[Backend, Runtime] | None] | None = None,
    ) -> None:
        self._backend = backend
        self.runtime = runtime
        self._prepare = prepare
        self._preparing = asyncio.Lock()
        self._pool = ThreadPoolExecutor(max_workers=MAX_CONCURRENT_SANDBOXES, thread_name_prefix="sandbox")

    async def run(self, program: Program, keep: Path) -> SandboxOutcome:
        """Run a program and store its artifacts in a folder."""
        await self._get_ready()
        return await self._run(program, keep)

    async def _run(self, program: Program, keep: Path) -> SandboxOutcome:
        try:
            argv = self.runtime.build_command(program.language, program.entry, program.args)
        except LookupError as error:
            return SandboxOutcome(verdict="error", reason=str(error))
        job: dict[str, Any] = {"kind": "program", "artifacts": True}

        def unit() -> list[dict[str, Any]]:
            return [{"files": read_contents(program.files), "argv": argv, "stdin": program.stdin.encode()}]

        bounded = program.language not in UNBOUNDED_ADDRESS_SPACE
        seen = await self._observe(job, unit, program.limits, keep, lambda _: False, bounded)
        return verdict.judge_program(seen).model_copy(update={"isolation": self._backend.isolation})

    async def test(self, trial: TestRun, keep: Path) -> SandboxOutcome:
        """Test a candidate and store its artifacts in a folder."""
        return (await self._test(trial.batch, keep))[0]

    async def test_all(self, batch: CandidateBatch) -> tuple[SandboxOutcome, ...]:
        """Test candidates one after the other; candidates that were not reached have no outcome."""
        return await self._test(batch, None)

    async def prepare(self) -> None:
        """Create the environment of programs if it does not exist, so that `runtime` is the one that they have."""
        await self._get_ready()

    async def run_command(self, command: FolderCommand) -> CommandOutcome:
        """Run a command in a folder of the host, and make the folder safe to read afterwards."""
        await self._get_ready()
        return await self._run_command(command)

    async def _run_command(self, command: FolderCommand) -> CommandOutcome:
        folders = [command.workspace, *([command.environment] if command.is_setup and command.environment else [])]
        try:
            before = [await asyncio.to_thread(clean_folder, folder, self._backend.owner) for folder in folders]
            with tempfile.TemporaryDirectory(prefix="tenure-command-") as keep:
                async with open_proxy(command.network) as socket:
                    mounts = Mounts(
                        command.workspace, command.environment, command.is_setup, command.visible, network=socket
                    )
                    seen = await self._observe_command(command, mounts, before, Path(keep))
                kept = _read_artifacts(seen)
        except OSError as error:
            raise SetupFailed(f"the folder cannot be used: {error}") from None
        finally:
            # Also after a cancellation: the next command, or the removal of the folder, meets what is left.
            cleaned = await asyncio.shield(asyncio.to_thread(_clean_folders, folders))
        outcome = verdict.describe_command(seen)
        limits = outcome.limits_hit
        if "folder" not in limits and any(map(partial(_has_outgrown, command.limits), before, cleaned)):
            limits = (*limits, "folder")
        removed = tuple(entry for facts in cleaned for entry in facts.removed)
        return replace(outcome, limits_hit=limits, files=kept, removed=removed)

    async def _observe_command(
        self, command: FolderCommand, mounts: Mounts, before: Sequence[FolderFacts], keep: Path
    ) -> Observed:
        growth = command.limits.growth_mib << 20
        watched = [
            (path, facts.bytes + growth, facts.files + command.limits.growth_files, growth)
            for path, facts in zip((WORKSPACE, ENVIRONMENT), before, strict=False)
        ]
        job = {
            **{"kind": "program", "folder": WORKSPACE, "kept": driver.REPORTS, "artifacts": True},
            **{"folders": watched, "has_network": mounts.network is not None},
        }
        unit = {
            "files": [],
            "argv": [*self.runtime.build_shell_command(), command.command],
            "stdin": command.stdin.encode(),
            "has_report": command.has_report,
            "variables": build_variables(self.runtime, command),
        }
        return await self._observe(job, lambda: [unit], command.limits, keep, lambda _: False, False, mounts)

    async def check(self) -> SandboxSelfTest:
        """Test the isolation itself."""
        return await selftest.check(self._run, self._run_command, self._backend.isolation, self.runtime)

    async def _test(self, batch: CandidateBatch, keep: Path | None) -> tuple[SandboxOutcome, ...]:
        """Test candidates, and keep the artifacts of the last one."""
        await self._get_ready()
        nonce = secrets.token_hex(16)
        try:
            judge, job = self._judge(batch, nonce)
        except (SyntaxError, ValueError) as error:
            return tuple(SandboxOutcome(verdict="error", reason=str(error)) for _ in batch.candidates)
        job |= {
            "artifacts": keep is not None,
            "nonce": nonce,
            "trace": batch.trace,
        }

        def units() -> list[dict[str, Any]]:
            shared = read_contents(batch.files)
            each = batch.seconds_each or 0.0
            return [{"files": [*shared, *read_contents(files)], "seconds": each} for files in batch.candidates]

        def goes_on(unit: UnitResult) -> bool:
            return not batch.stop_at_first_pass or judge(Observed(finished=True), unit).verdict != "passed"

        seen = await self._observe(job, units, batch.limits, keep, goes_on, True)
        outcomes = [add_notes(outcome, batch, number) for number, outcome in enumerate(judge_candidates(seen, judge))]
        return tuple(one.model_copy(update={"isolation": self._backend.isolation}) for one in outcomes)

    async def _get_ready(self) -> None:
        if self._prepare is None:
            return
        async with self._preparing:
            if self._prepare is not None:
                replaced = await asyncio.to_thread(self._prepare)
                if replaced is not None:
                    self._backend, self.runtime = replaced
                self._prepare = None

    def _judge(
        self, batch: CandidateBatch, nonce: str
    ) -> tuple[Callable[[Observed, UnitResult], SandboxOutcome], dict[str, Any]]:
        """Return the function that judges a candidate, and the fields of the job for it.

        Raises:
            SyntaxError: a test file is not valid Python.
            ValueError: there are no tests.
        """
        if batch.cases:
            first = next((name for name in _list_modules(batch.candidates[0])), "")
            calls = [(case.module or first, case.function, json.dumps(case.args)) for case in batch.cases]
            return (
                lambda seen, unit: verdict.judge_cases(seen, unit, batch.cases, nonce),
                {"kind": "cases", "cases": calls},
            )
        tests = read_contents(batch.tests)
        required = verdict.find_required_tests({name: text.decode() for name, text in tests if name.endswith(".py")})
        if not required:
            raise ValueError("the tests have no test: pytest looks for functions whose names begin with test")
        if not self.runtime.has_pytest:
            raise ValueError("the sandbox's Python has no pytest")
        return lambda seen, unit: verdict.judge_tests(seen, unit, required, nonce), {"kind": "tests", "tests": tests}

    async def _observe(
        self,
        job: dict[str, Any],
        units: Callable[[], list[dict[str, Any]]],
        limits: SandboxLimits,
        keep: Path | None,
        goes_on: Callable[[UnitResult], bool],
        bounded: bool,
        mounts: Mounts | None = None,
    ) -> Observed:
        """Run a job and return the observations; cancelling this coroutine ends the sandbox.

        A sandbox that ended for no reason of its own is run a second time: the machine may have been short of memory.
        Not if it has changed folders of the host.

        Raises:
            SetupFailed: the sandbox could not be set up.
        """
        bounds = {**limits.model_dump(), "address_mib": limits.memory_mib if bounded else 0}
        running: list[Supervision] = []

        def work() -> Observed:
            fixed = {"limits": bounds, "home": self.runtime.home, "filter": self._backend.late_filter}
            block = marshal.dumps({**job, "units": units(), **fixed}, 2)
            seen = supervise(block)
            return supervise(block) if seen.interrupted and mounts is None else seen

        def supervise(block: bytes) -> Observed:
            control = self._backend.make_control_group(limits)
            supervision = Supervision(limits, block, keep, goes_on, control)
            running.append(supervision)
            return supervision.run(lambda: self._backend.start(limits, job["kind"] != "program", control, mounts))

        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            # The cancellation is complete only when no process is left; a second run may start meanwhile.
            while not future.done():
                for supervision in running:
                    supervision.stop()
                await asyncio.wait([future], timeout=_STOP_SECONDS)
            raise


def _clean_folders(folders: Sequence[Path]) -> list[FolderFacts]:
    return [clean_folder(folder) for folder in folders]


def _read_artifacts(seen: Observed) -> dict[str, bytes]:
    return {artifact.name: Path(artifact.path).read_bytes() for artifact in seen.artifacts}


def _has_outgrown(limits: SandboxLimits, before: FolderFacts, after: FolderFacts) -> bool:
    has_files = after.files > before.files + limits.growth_files
    return has_files or after.bytes > before.bytes + (limits.growth_mib << 20)


def build_variables(runtime: Runtime, command: FolderCommand) -> dict[str, str]:
    """Return the environment variables of a command besides those of every program."""
    found = {"USER": "tenure", "LOGNAME": "tenure", "SHELL": "/bin/sh"}
    if command.environment is not None:
        own = (f"{ENVIRONMENT}/bin", f"{ENVIRONMENT}/node_modules/.bin", runtime.environment["PATH"])
        found["PATH"] = os.pathsep.join(own)
    if command.network is not None:
        address = f"http://127.0.0.1:{relay.PORT}"
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        found |= {name: address for name in names}
    return {**found, **command.variables}


def judge_candidates(seen: Observed, judge: Callable[[Observed, UnitResult], SandboxOutcome]) -> list[SandboxOutcome]:
    """Judge the tested candidates; the limit that ended the batch counts for the last of them."""
    if not seen.units:
        return [verdict.judge_setup_failure(seen)]
    quiet = Observed(finished=True, peak_mib=0.0)
    return [judge(seen if number == len(seen.units) else quiet, unit) for number, unit in enumerate(seen.units, 1)]


def add_notes(outcome: SandboxOutcome, batch: CandidateBatch, number: int) -> SandboxOutcome:
    """Add the findings in the source of a candidate, if it passed tests that it could influence."""
    if outcome.verdict != "passed" or not outcome.proof.startswith("tests"):
        return outcome.model_copy(update={"notes": ()})
    program = [one for one in (*batch.files, *batch.candidates[number]) if one.name.endswith(PROGRAM_SUFFIXES)]
    sources, tests = (
        {name: content.decode(errors="replace") for name, content in read_contents(files)}
        for files in (program, [one for one in batch.tests if one.name.endswith(".py")])
    )
    data = [one.name for one in batch.tests if one.name not in tests]
    found = find_suspicious_code(sources, tests, data, same_process=outcome.proof == "tests_in_same_process")
    return outcome.model_copy(update={"notes": (*found, *outcome.notes)})


def read_contents(files: Sequence[InputFile]) -> list[tuple[str, bytes]]:
    """Read the input files.

    Raises:
        SetupFailed: a file cannot be read, or the files are too large.
    """
    found = []
    for file in files:
        if file.text is not None:
            found.append((file.name, file.text.encode("utf-8", errors="surrogatepass")))
            continue
        try:
            with open_file(Path(file.path or "")) as opened:
                found.append((file.name, opened.read(MAX_INPUT_BYTES + 1)))
        except FileRefused as error:
            raise SetupFailed(f"{file.path} {error.reason}") from None
        except OSError as error:
            raise SetupFailed(f"{file.path} cannot be read: {error.strerror}") from None
    if sum(len(content) for _, content in found) > MAX_INPUT_BYTES:
        raise SetupFailed(f"the files are larger than {MAX_INPUT_BYTES >> 20} MiB together")
    return found


def _list_modules(files: Sequence[InputFile]) -> list[str]:
    """Return the dotted names of the modules among files."""
    return [file.name.removesuffix(".py").replace("/", ".") for file in files if file.name.endswith(".py")]
