"""The sandbox itself: makes a job of a program or a trial, has it supervised, and judges what was seen.

What makes the isolation is a back-end; all else is the same for every one of them.
"""

import asyncio
import json
import marshal
import secrets
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from tenure.contracts.sandbox import (
    Batch,
    GivenFile,
    Isolation,
    Language,
    Outcome,
    Program,
    SandboxLimits,
    SelfTest,
    Trial,
)
from tenure.sandbox import selftest, verdict
from tenure.sandbox.base import SetupFailed
from tenure.sandbox.memory import ControlGroup
from tenure.sandbox.runtime import Runtime
from tenure.sandbox.supervisor import Observed, Started, Supervision, Unit

T = TypeVar("T")

AT_ONCE: Final = 16
"""Sandboxes of one process at the same time."""

NOT_BOUNDED: Final[tuple[Language, ...]] = ("node",)
"""Languages whose interpreter reserves far more addresses than it uses: only their memory in use is bounded."""

LARGEST_INPUT: Final = 512 << 20
"""Bytes of all files that go in."""


class Backend(Protocol):
    """What makes the isolation."""

    isolation: Isolation
    """What it promises."""

    def control(self, limits: SandboxLimits) -> ControlGroup | None:
        """Make the control group of a run, where the back-end has one made."""
        ...

    def start(self, limits: SandboxLimits, needs_packages: bool, control: ControlGroup | None) -> Started:
        """Start a sandbox whose driver waits for its job."""
        ...


class ContainedSandbox:
    """Runs and tests programs behind the isolation of a back-end."""

    def __init__(self, backend: Backend, runtime: Runtime) -> None:
        self._backend = backend
        self.runtime = runtime
        self._pool = ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="sandbox")

    async def run(self, program: Program, keep: Path) -> Outcome:
        """Run a program and store what it made in a folder."""
        try:
            argv = self.runtime.command(program.language, program.entry, program.args)
        except LookupError as error:
            return Outcome(verdict="error", reason=str(error))
        job: dict[str, Any] = {"kind": "program", "artifacts": True}

        def unit() -> list[dict[str, Any]]:
            return [{"files": contents(program.files), "argv": argv, "stdin": program.stdin.encode()}]

        bounded = program.language not in NOT_BOUNDED
        seen = await self._observe(job, unit, program.limits, keep, lambda _: False, bounded)
        return verdict.of_program(seen).model_copy(update={"isolation": self._backend.isolation})

    async def test(self, trial: Trial, keep: Path) -> Outcome:
        """Test a candidate and store what it made in a folder."""
        return (await self._test(trial.batch, keep))[0]

    async def test_all(self, batch: Batch) -> tuple[Outcome, ...]:
        """Test candidates one after the other; those that were left out have no outcome."""
        return await self._test(batch, None)

    async def check(self) -> SelfTest:
        """Try the isolation itself."""
        return await selftest.check(self.run, self._backend.isolation, self.runtime)

    async def _test(self, batch: Batch, keep: Path | None) -> tuple[Outcome, ...]:
        """Test candidates, and keep what the last one made."""
        nonce = secrets.token_hex(16)
        try:
            judge, job = self._judge(batch, nonce)
        except (SyntaxError, ValueError) as error:
            return tuple(Outcome(verdict="error", reason=str(error)) for _ in batch.candidates)
        job |= {"artifacts": keep is not None, "nonce": nonce, "trace": batch.trace, "roots": modules(batch)}

        def units() -> list[dict[str, Any]]:
            beside = contents(batch.files)
            each = batch.seconds_each or 0.0
            return [{"files": [*beside, *contents(files)], "seconds": each} for files in batch.candidates]

        def goes_on(unit: Unit) -> bool:
            return not batch.stop_at_green or judge(Observed(finished=True), unit).verdict != "passed"

        seen = await self._observe(job, units, batch.limits, keep, goes_on, True)
        return tuple(
            outcome.model_copy(update={"isolation": self._backend.isolation}) for outcome in judged(seen, judge)
        )

    def _judge(self, batch: Batch, nonce: str) -> tuple[Callable[[Observed, Unit], Outcome], dict[str, Any]]:
        """Return how a candidate is judged, and what of the job belongs to that.

        Raises:
            SyntaxError: a file of the tests is no Python.
            ValueError: there is nothing to test with.
        """
        if batch.cases:
            first = next((name for name in _python(batch.candidates[0])), "")
            calls = [(case.module or first, case.function, json.dumps(case.args)) for case in batch.cases]
            return (
                lambda seen, unit: verdict.of_cases(seen, unit, batch.cases, nonce),
                {"kind": "cases", "cases": calls},
            )
        tests = contents(batch.tests)
        required = verdict.required_tests({name: text.decode() for name, text in tests if name.endswith(".py")})
        if not required:
            raise ValueError("the tests have no test: pytest looks for functions whose names begin with test")
        if not self.runtime.has_pytest:
            raise ValueError("the sandbox's Python has no pytest")
        return lambda seen, unit: verdict.of_tests(seen, unit, required, nonce), {"kind": "tests", "tests": tests}

    async def _observe(
        self,
        job: dict[str, Any],
        units: Callable[[], list[dict[str, Any]]],
        limits: SandboxLimits,
        keep: Path | None,
        goes_on: Callable[[Unit], bool],
        bounded: bool,
    ) -> Observed:
        """Have a job done and return what was seen; ended with this coroutine.

        Raises:
            SetupFailed: there was no sandbox.
        """
        bounds = {**limits.model_dump(), "address_mib": limits.memory_mib if bounded else 0}
        running: list[Supervision] = []

        def work() -> Observed:
            block = marshal.dumps({**job, "units": units(), "limits": bounds, "home": self.runtime.home}, 2)
            control = self._backend.control(limits)
            supervision = Supervision(limits, block, keep, goes_on, control)
            running.append(supervision)
            return supervision.run(lambda: self._backend.start(limits, job["kind"] != "program", control))

        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            for supervision in running:
                supervision.stop()
            # Gone is gone only when nothing is left of it.
            await asyncio.gather(future, return_exceptions=True)
            raise


def judged(seen: Observed, judge: Callable[[Observed, Unit], Outcome]) -> list[Outcome]:
    """Judge the candidates that were tested; what ended the whole batch ended the last of them."""
    if not seen.units:
        return [verdict.ended_early(seen)]
    quiet = Observed(finished=True, peak_mib=0.0)
    return [judge(seen if number == len(seen.units) else quiet, unit) for number, unit in enumerate(seen.units, 1)]


def contents(files: Sequence[GivenFile]) -> list[tuple[str, bytes]]:
    """Read the files that go in.

    Raises:
        SetupFailed: one cannot be read, or they are too large.
    """
    found = []
    for file in files:
        if file.text is not None:
            found.append((file.name, file.text.encode("utf-8", errors="surrogatepass")))
            continue
        try:
            found.append((file.name, Path(file.path or "").read_bytes()))
        except OSError as error:
            raise SetupFailed(f"{file.path} cannot be read: {error.strerror}") from None
    if sum(len(content) for _, content in found) > LARGEST_INPUT:
        raise SetupFailed(f"the files are larger than {LARGEST_INPUT >> 20} MiB together")
    return found


def _python(files: Sequence[GivenFile]) -> list[str]:
    """Return the dotted names of the modules among files."""
    return [file.name.removesuffix(".py").replace("/", ".") for file in files if file.name.endswith(".py")]


def modules(batch: Batch) -> list[str]:
    """Return the top-level modules that are the candidates' and not the tests'."""
    names = {
        file.name.split("/")[0].removesuffix(".py")
        for files in (batch.files, *batch.candidates)
        for file in files
        if file.name.endswith(".py")
    }
    return sorted(names - set(sys.stdlib_module_names))
