"""Plan a drill by a seed, run its worlds some at a time, and compare each with an undisturbed run of its kind."""

import asyncio
import math
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from temporalio.client import WorkflowFailureError

from benchmarks.support.drill import accounting, disk
from benchmarks.support.drill.accounting import Prompt, RowDifferences, Rows, RunHistory, find_difference
from benchmarks.support.drill.faults import DrillFault, NotStruck, Struck, list_faults
from benchmarks.support.drill.world import RUN_ID, RunKind, World, build_clock_library, write_documents
from tests.model_server import Gate

RUN_SECONDS: Final = 600.0
"""Time after which a run counts as not finished."""

_KINDS: Final[tuple[RunKind, ...]] = ("research", "research", "research", "code")
"""Kinds of runs in turn."""
_SETTLE_SECONDS: Final = 0.1
"""Time between a fault and the answer to the model call during which it strikes."""
_RECOVERY_SHARE: Final = 0.75
"""Share of the faults that wait until the run has continued; the others may strike a call that is being repeated."""
_FULL_RUN: Final = 7
"""Number of faults of a long run; runs with fewer model calls get fewer."""
_POLL_SECONDS: Final = 0.01
_MAX_DELAY_SECONDS: Final = 0.3
"""Longest time between an answer and a fault that strikes after it."""


class PlannedFault(NamedTuple):
    """Fault of a run and its moment."""

    fault: DrillFault
    requests: int
    """Number of model calls after which it strikes."""
    delay: float | None
    """Seconds after the answer to that call; None to strike before the answer."""
    awaits_recovery: bool
    """Whether it waits until the run has continued after the fault before."""
    seed: int


@dataclass
class Reference:
    """Undisturbed run of one kind."""

    prompts: "Counter[Prompt]"
    rows: Rows
    knowledge: Path
    seconds: float


@dataclass
class Outcome:
    """Result of one run."""

    number: int
    kind: RunKind
    finished: bool = False
    problem: str = ""
    """Reason why it did not finish, or what it did not withstand."""
    seconds: float = 0.0
    repeated: int = 0
    other_prompts: list[str] = field(default_factory=list)
    """Roles of model calls that the undisturbed run does not make, with the first difference."""
    rows: RowDifferences = field(default_factory=RowDifferences)
    struck: list[tuple[str, float | None]] = field(default_factory=list)
    """Faults with the seconds until the next completed step."""
    missed: list[str] = field(default_factory=list)
    """Faults that found nothing to strike, with the reason."""
    ends: list[str] = field(default_factory=list)
    """Exits of processes that no fault has caused."""


def select_faults(name: str, kind: RunKind | None, *, has_clock: bool) -> tuple[DrillFault, ...]:
    """Return the faults that this machine can produce and whose name contains a text, for runs of one kind or of all.

    Raises:
        ValueError: none exists.
    """
    chosen = tuple(
        replace(fault, kinds=(kind,)) if kind else fault
        for fault in list_faults()
        if name in fault.name and kind in (None, *fault.kinds)
    )
    possible = tuple(
        fault
        for fault in chosen
        if (disk.can_mount() or not fault.needs_mounts) and (has_clock or not fault.needs_clock)
    )
    if not possible:
        known = ", ".join(fault.name for fault in list_faults())
        raise ValueError(f"this machine can produce no fault {name!r}; there are: {known}")
    return possible


def plan_runs(
    seed: int, runs: int, faults: int, chosen: Sequence[DrillFault], calls: dict[RunKind, int]
) -> list[tuple[RunKind, list[PlannedFault]]]:
    """Distribute faults over runs.

    Every fault comes once before any comes again; the rest is drawn by weight.

    Args:
        seed: seed of everything.
        runs: number of runs.
        faults: number of faults.
        chosen: faults to choose from.
        calls: number of model calls of an undisturbed run of each kind, at least two.
    """
    chance = Random(seed)
    kinds = [kind for kind in _KINDS if any(kind in fault.kinds for fault in chosen)]
    plans: list[tuple[RunKind, list[PlannedFault]]] = [(kinds[number % len(kinds)], []) for number in range(runs)]
    drawn = chance.sample(list(chosen), min(len(chosen), faults))
    drawn += chance.choices(chosen, [fault.weight for fault in chosen], k=faults - len(drawn))
    for fault in drawn:
        # A run reads documents once, so at most one fault strikes that: runs without one come first.
        fitting = [(kind, plan) for kind, plan in plans if kind in fault.kinds]
        _, plan = min(
            fitting,
            key=lambda p: (_count_rivals(fault, p[1]), len(p[1]) / min(_FULL_RUN, calls[p[0]] - 1), chance.random()),
        )
        plan.append(PlannedFault(fault, 0, None, chance.random() < _RECOVERY_SHARE, chance.randrange(2**32)))
    order = {"start": 0, "ingest": 1, "reader": 1, "sandbox": 2, "call": 3}
    for kind, plan in plans:
        plan.sort(key=lambda planned: order[planned.fault.moment])
        moments = sorted(_draw_moments(chance, len(plan), max(1, calls[kind] - 2)))
        for at, requests in enumerate(moments):
            delay = chance.uniform(0, _MAX_DELAY_SECONDS) if chance.random() < 0.5 else None
            plan[at] = plan[at]._replace(requests=requests, delay=delay)
    return plans


def _draw_moments(chance: Random, count: int, last: int) -> list[int]:
    """Return numbers of model calls up to `last`, each once as far as there are enough."""
    repeated, rest = divmod(count, last)
    return [*range(1, last + 1)] * repeated + chance.sample(range(1, last + 1), rest)


def _count_rivals(fault: DrillFault, plan: Sequence[PlannedFault]) -> int:
    """Return the number of planned faults that need the same moment, of which a run has only one."""
    if fault.moment == "call":
        return 0
    same = ("ingest", "reader") if fault.moment in ("ingest", "reader") else (fault.moment,)
    return sum(planned.fault.moment in same for planned in plan)


class Drill:
    """A drill in a folder.

    Args:
        folder: folder of all worlds.
        report: called with one line after each run.
        worlds: number of runs at the same time.
        minutes: time after which no further run is started; None for no limit.
    """

    def __init__(
        self, folder: Path, report: Callable[[str], None], worlds: int = 3, minutes: float | None = None
    ) -> None:
        self._deadline = math.inf if minutes is None else time.monotonic() + 60 * minutes
        self._folder, self._report = folder, report
        self._documents = write_documents(folder / "documents")
        self.clock_library = build_clock_library(folder)
        self._slots = asyncio.Semaphore(worlds)
        self._references: dict[RunKind, Reference] = {}

    async def run(self, seed: int, runs: int, faults: int, chosen: Sequence[DrillFault]) -> list[Outcome]:
        """Run everything and return the outcomes of the started runs in their order."""
        kinds: set[RunKind] = {kind for fault in chosen for kind in fault.kinds}
        for kind in sorted(kinds):
            self._references[kind] = await self._run_undisturbed(kind)
        calls = {kind: reference.prompts.total() for kind, reference in self._references.items()}
        plans = plan_runs(seed, runs, faults, chosen, calls)
        outcomes = await asyncio.gather(
            *(self._run_one(number, kind, plan) for number, (kind, plan) in enumerate(plans, 1))
        )
        return [outcome for outcome in outcomes if outcome is not None]

    async def _run_undisturbed(self, kind: RunKind) -> Reference:
        began, folder = time.monotonic(), self._folder / f"undisturbed-{kind}"
        async with World(kind, folder, self._documents, self.clock_library).open() as world:
            await asyncio.wait_for(asyncio.shield(world.run), RUN_SECONDS)
            prompts = Counter(call.prompt for call in accounting.list_asked(world.model.requests))
            rows = await asyncio.to_thread(accounting.load_rows, str(world.knowledge))
            copy = shutil.copytree(world.knowledge, self._folder / f"knowledge-{kind}")
        reference = Reference(prompts, rows, copy, time.monotonic() - began)
        self._report(
            f"undisturbed {kind} run: {prompts.total()} model calls, {len(rows)} rows, {reference.seconds:.0f} s"
        )
        return reference

    async def _run_one(self, number: int, kind: RunKind, plan: Sequence[PlannedFault]) -> Outcome | None:
        async with self._slots:
            if time.monotonic() > self._deadline:
                return None
            outcome = await DisturbedRun(number, kind, plan, self._references[kind]).run(
                self._folder / f"run-{number}", self._documents, self.clock_library
            )
        self._report(describe_outcome(outcome))
        return outcome


class DisturbedRun:
    """One run with faults."""

    def __init__(self, number: int, kind: RunKind, plan: Sequence[PlannedFault], reference: Reference) -> None:
        self._plan, self._reference = plan, reference
        self._outcome = Outcome(number, kind)
        self._struck: list[tuple[str, float, Struck]] = []
        """Faults with the times at which they began."""
        self._answers = 0
        """Number of answers at the end of the last fault."""

    async def run(self, folder: Path, documents: Path, clock_library: Path | None) -> Outcome:
        """Run it to its end."""
        outcome, began = self._outcome, time.monotonic()
        world = World(
            outcome.kind,
            folder,
            documents,
            clock_library,
            self._reference.prompts,
            self._reference.knowledge,
            self._prepare,
        )
        async with world.open():
            striking = asyncio.create_task(self._strike_all(world))
            try:
                async with asyncio.timeout(RUN_SECONDS):
                    result = await asyncio.shield(world.run)
                    await striking
                outcome.finished = result.status == "done"
                outcome.problem = outcome.problem or ("" if outcome.finished else f"ended as {result.status}")
            except TimeoutError:
                outcome.problem = f"not finished after {RUN_SECONDS:.0f} s: {await self._describe(world)}"
            except WorkflowFailureError as error:
                outcome.problem = f"failed: {error.cause}: {getattr(error.cause, 'cause', '')}"
            finally:
                striking.cancel()
                with suppress(asyncio.CancelledError):
                    await asyncio.gather(striking, return_exceptions=True)
            outcome.ends = [*world.worker.ends, *world.server.ends]
            history = await accounting.load_history(world.client, RUN_ID)
            self._count(world, history)
            outcome.rows = accounting.compare_rows(
                self._reference.rows, await asyncio.to_thread(accounting.load_rows, str(world.knowledge))
            )
        outcome.seconds = time.monotonic() - began
        return outcome

    async def _prepare(self, world: World) -> None:
        for planned in self._plan:
            if planned.fault.moment == "start":
                await self._strike(world, planned)

    async def _strike_all(self, world: World) -> None:
        """Let all faults strike in turn; the run waits before the moment of a fault until the one before it is over."""
        striking: asyncio.Task[None] | None = None
        for planned in self._plan:
            if planned.fault.moment == "start":
                continue
            if planned.fault.moment != "call":
                await self._strike(world, planned)
                continue
            await world.reach(planned.requests - 1)
            if striking is not None and planned.awaits_recovery:
                with world.model.hold():
                    await striking
                await world.reach_answers(self._answers + 1)
            with world.model.hold() as gate:
                if not await _wait_for_call(world, gate):
                    self._outcome.missed.append(f"{planned.fault.name}: the run had ended")
                    continue
                if striking is not None:
                    await striking
                striking = asyncio.create_task(self._strike(world, planned))
                await asyncio.sleep(_SETTLE_SECONDS if planned.delay is None else 0)
        if striking is not None:
            await striking

    async def _strike(self, world: World, planned: PlannedFault) -> None:
        await asyncio.sleep(planned.delay or 0)
        began = accounting.utc_now()
        try:
            struck = await planned.fault.strike(world, Random(planned.seed))
            self._struck.append((planned.fault.name, began, struck))
            self._answers = world.count_answers()
        except NotStruck as error:
            self._outcome.missed.append(f"{planned.fault.name}: {error}")
        except Exception as error:  # a fault that cannot be produced is a result of the run, not the end of the drill
            self._outcome.problem = f"{planned.fault.name}: {type(error).__name__}: {error}"

    def _count(self, world: World, history: RunHistory) -> None:
        known, outcome = self._reference.prompts, self._outcome
        asked = accounting.list_asked(world.model.requests)
        outcome.repeated = accounting.count_repeated(asked, history, known)
        others = [call.prompt for call in asked if call.prompt.find_base(known) not in known]
        outcome.other_prompts = [f"{prompt.role} {find_difference(prompt, known)}" for prompt in others]
        starts = [began for _, began, _ in self._struck[1:]]
        outcome.struck = [
            (name, struck.since and history.measure_resume(struck.since, until, struck.ended))
            for (name, _, struck), until in zip(self._struck, [*starts, math.inf], strict=True)
        ]

    async def _describe(self, world: World) -> str:
        """Return the reason for which a run waits."""
        try:
            async with asyncio.timeout(10):
                return "; ".join(await world.list_failures()) or f"{world.count_requests()} model calls"
        except Exception as error:
            return f"the server does not answer ({type(error).__name__})"


async def _wait_for_call(world: World, gate: Gate) -> bool:
    """Wait until a model call is held back; return False if the run ends before."""
    while not gate.arrived.is_set():
        if world.run.done():
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True


def describe_outcome(outcome: Outcome) -> str:
    """Return one line about a run."""
    struck = ", ".join(f"{name} {'-' if s is None else f'{s:.1f}'}" for name, s in outcome.struck)
    found = [f"run {outcome.number} ({outcome.kind}) {outcome.seconds:.0f} s [{struck}]"]
    found += [outcome.problem] if outcome.problem else []
    found += [f"{outcome.repeated} repeated"] if outcome.repeated else []
    found += [f"other prompts: {', '.join(outcome.other_prompts)}"] if outcome.other_prompts else []
    found += [str(outcome.rows)] if any(outcome.rows) else []
    found += [f"missed: {missed}" for missed in outcome.missed]
    found += [f"unexpected end: {end}" for end in outcome.ends]
    return "; ".join(found)
