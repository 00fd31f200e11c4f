"""Run and test programs in a sandbox: build the job, supervise it, and judge the observations.

A back-end provides the isolation; everything else is the same for all back-ends.
"""

import asyncio
import json
import marshal
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from tenure.sandbox.base import SetupFailed
from tenure.sandbox.code_scan import find_suspicious_code
from tenure.sandbox.groups import RunGroup
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

    def start(self, limits: SandboxLimits, needs_packages: bool, control: RunGroup | None) -> StartedSandbox:
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

    async def check(self) -> SandboxSelfTest:
        """Test the isolation itself."""
        return await selftest.check(self._run, self._backend.isolation, self.runtime)

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
    ) -> Observed:
        """Run a job and return the observations; cancelling this coroutine ends the sandbox.

        A sandbox that ended for no reason of its own is run a second time: the machine may have been short of memory.

        Raises:
            SetupFailed: the sandbox could not be set up.
        """
        bounds = {**limits.model_dump(), "address_mib": limits.memory_mib if bounded else 0}
        running: list[Supervision] = []

        def work() -> Observed:
            fixed = {"limits": bounds, "home": self.runtime.home, "filter": self._backend.late_filter}
            block = marshal.dumps({**job, "units": units(), **fixed}, 2)
            seen = supervise(block)
            return supervise(block) if seen.interrupted else seen

        def supervise(block: bytes) -> Observed:
            control = self._backend.make_control_group(limits)
            supervision = Supervision(limits, block, keep, goes_on, control)
            running.append(supervision)
            return supervision.run(lambda: self._backend.start(limits, job["kind"] != "program", control))

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
