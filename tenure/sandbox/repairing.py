"""Repair a program in the sandbox by search: try small edits until one passes all tests.

The original is run first with a line trace, so that the search starts at the lines of the failing tests
(spectrum-based fault localization). Candidates are then screened, many per start of the sandbox, which is fast and
proves nothing. A promising candidate is tested like any other program, and only that verdict counts.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

from tenure.algorithms.coding.programs import hash_program
from tenure.algorithms.coding.repair import LineCoverage, ProgramCandidate, compute_ochiai, generate_candidates
from tenure.contracts.result.programs import RepairProgress, RepairReply, RepairRequest, SourceFile
from tenure.contracts.sandbox import CandidateBatch, InputFile, Program, SandboxOutcome
from tenure.sandbox.base import Sandbox

MAX_BATCH_CANDIDATES = 400
"""Maximum number of candidates per start of the sandbox."""

SCREENING_SECONDS = 12.0
"""Time of one start of the sandbox; half of it again for slow candidates."""

TRACE_TIMEOUT_SECONDS = 6.0
"""Time for the original; without a trace of an endless program all lines are equally suspicious."""

EACH_CASES, EACH_PYTEST = 0.1, 0.6
"""Processor seconds of a candidate for cases, and for pytest with its start."""

MAX_JOB_CHARS = 180_000
"""Maximum length of a job."""

MAX_EDIT_CHARS = 4_000
"""Maximum length of a candidate's edits."""

MAX_PARTIAL = 3
"""Number of candidates that pass some of the tests and are verified if no other one passes."""
_INSIDE = Path(__file__).parent / "inside"


class ScreeningResult(NamedTuple):
    """Result of a screening."""

    promising: list[int]
    """Numbers of the candidates to test, in order."""
    seen: int
    """Number of candidates that were tried."""
    partial: tuple[int, ...] = ()
    """Numbers of the candidates that pass only some of the tests that failed."""


class CandidateTester(Protocol):
    """Tests of the candidates of a search."""

    async def screen(self, waiting: list[ProgramCandidate], seconds: float) -> ScreeningResult:
        """Try candidates in one start of the sandbox, which proves nothing."""

    async def verify(self, promising: list[ProgramCandidate], seconds: float) -> ProgramCandidate | None:
        """Test promising candidates, and return the first that passes."""


class SearchEnd(NamedTuple):
    """End of a search."""

    candidate: ProgramCandidate | None
    """Candidate that passes; None if there is none."""
    progress: RepairProgress
    exhausted: bool = False
    """Whether all candidates were tried."""


async def search_repair(
    sandbox: Sandbox,
    request: RepairRequest,
    progress: RepairProgress,
    report_progress: Callable[[RepairProgress], None],
    keep: Path,
) -> RepairReply:
    """Search for a small edit with which a program passes all its tests, after an earlier search for it."""
    began = time.monotonic()
    original = await _trace_original(sandbox, request)
    tester = _ProgramTester(sandbox, request, original, keep)
    candidates = _iterate_candidates(request, original)
    spent = time.monotonic() - began
    progress = progress.model_copy(update={"seconds": progress.seconds + spent})
    candidate, progress, exhausted = await search_candidates(
        candidates, tester, request.seconds, progress, report_progress
    )
    files = (SourceFile(path=candidate.path, text=candidate.source),) if candidate else ()
    return RepairReply(
        files=files,
        changes=candidate.changes if candidate else (),
        tried=progress.tried,
        exhausted=exhausted,
        seconds=progress.seconds,
    )


async def search_candidates(
    candidates: Iterator[ProgramCandidate],
    tester: CandidateTester,
    seconds: float,
    progress: RepairProgress,
    report_progress: Callable[[RepairProgress], None],
) -> SearchEnd:
    """Screen candidates in their order and verify the promising ones, after an earlier search for them.

    A candidate that passes only some of the tests is verified at the end, if no other one passes.
    """
    clock = time.monotonic() - progress.seconds
    # Those that a repetition of the search may verify at its end are kept; the others need no memory.
    partial: dict[int, ProgramCandidate] = {}

    def take(count: int, first: int) -> list[ProgramCandidate]:
        taken = list(islice(candidates, count))
        partial.update({n: one for n, one in enumerate(taken, first) if n in progress.partial})
        return taken

    skipped = len(await asyncio.to_thread(take, progress.tried, 0))
    progress = progress.model_copy(update={"tried": skipped})
    waiting: list[ProgramCandidate] = []
    exhausted = False
    while (left := seconds - (time.monotonic() - clock)) > 0:
        taken = progress.tried + len(waiting)
        waiting += await asyncio.to_thread(take, MAX_BATCH_CANDIDATES - len(waiting), taken)
        if not waiting:
            exhausted = True
            break
        screened = await tester.screen(waiting, min(left, SCREENING_SECONDS))
        green = await tester.verify([waiting[n] for n in screened.promising], left)
        partial |= {progress.tried + n: waiting[n] for n in screened.partial}
        progress = RepairProgress(
            tried=progress.tried + screened.seen,
            seconds=time.monotonic() - clock,
            trace=progress.trace,
            partial=tuple(partial)[:MAX_PARTIAL],
        )
        waiting = waiting[screened.seen :]
        report_progress(progress)
        if green is not None:
            return SearchEnd(green, progress)
    best = [partial[n] for n in progress.partial]
    green = await tester.verify(best, seconds) if best else None
    seconds_spent = time.monotonic() - clock
    return SearchEnd(green, progress.model_copy(update={"seconds": seconds_spent}), exhausted)


async def _trace_original(sandbox: Sandbox, request: RepairRequest) -> SandboxOutcome:
    """Run the original once, and record the lines that each test runs."""
    wall = min(TRACE_TIMEOUT_SECONDS, request.limits.wall_seconds)
    limits = request.limits.model_copy(update={"wall_seconds": wall})
    batch = CandidateBatch(
        candidates=(request.files,), tests=request.tests, cases=request.cases, limits=limits, trace=True
    )
    return (await sandbox.test_all(batch))[0]


def _iterate_candidates(request: RepairRequest, original: SandboxOutcome) -> Iterator[ProgramCandidate]:
    """Yield candidates without those that failed before."""
    texts = {file.name: file.text or "" for file in request.files if file.name in request.editable}
    suspicion = {name: _compute_suspicion(name, original) for name in texts}
    files = [SourceFile(path=name, text=text) for name, text in texts.items()]
    for candidate in generate_candidates(texts, {name: lines for name, lines in suspicion.items() if lines}):
        others = [file for file in files if file.path != candidate.path]
        digest = hash_program([*others, SourceFile(path=candidate.path, text=candidate.source)])
        if digest not in request.tried_digests:
            yield candidate


def _compute_suspicion(name: str, outcome: SandboxOutcome) -> Mapping[int, float]:
    return compute_ochiai([LineCoverage(frozenset(test.covered.get(name, ())), test.passed) for test in outcome.tests])


class _ProgramTester:
    """Tests of the candidates of a program, those first that failed the original."""

    def __init__(self, sandbox: Sandbox, request: RepairRequest, original: SandboxOutcome, keep: Path) -> None:
        self._sandbox, self._request, self._original, self._keep = sandbox, request, original, keep

    async def screen(self, waiting: list[ProgramCandidate], seconds: float) -> ScreeningResult:
        """Run the tests on candidates."""
        request = self._request
        program = Program(
            files=(
                *(
                    InputFile(name=name, text=(_INSIDE / name).read_text(encoding="utf-8"))
                    for name in ("screening.py", "screening_forks.py")
                ),
                InputFile(name="screening.json", text=_build_job(request, waiting, self._original, seconds)),
                *request.files,
                *request.tests,
            ),
            entry="screening.py",
            limits=request.limits.model_copy(
                update={"wall_seconds": 2 * seconds + 5, "cpu_seconds": 2 * round(seconds) + 5, "artifacts": 0}
            ),
        )
        outcome = await self._sandbox.run(program, self._keep)
        words_by_line = [line.split() for line in outcome.stdout.splitlines()]
        numbers = [(words[0], int(words[1])) for words in words_by_line if len(words) == 2 and words[1].isdigit()]
        return read_screening(numbers, len(waiting))

    async def verify(self, promising: list[ProgramCandidate], seconds: float) -> ProgramCandidate | None:
        """Test the promising candidates, and return the first that passes."""
        if not promising:
            return None
        request = self._request
        wall = request.limits.wall_seconds
        editable = [file for file in request.files if file.name in request.editable]
        batch = CandidateBatch(
            candidates=tuple(
                tuple(InputFile(name=f.name, text=one.source) if f.name == one.path else f for f in editable)
                for one in promising
            ),
            tests=request.tests,
            cases=request.cases,
            files=tuple(file for file in request.files if file.name not in request.editable),
            limits=request.limits.model_copy(update={"wall_seconds": max(wall, min(seconds, wall * len(promising)))}),
            seconds_each=wall,
            stop_at_first_pass=True,
        )
        outcomes = await self._sandbox.test_all(batch)
        passed = (one for one, outcome in zip(promising, outcomes, strict=False) if outcome.verdict == "passed")
        return next(passed, None)


def read_screening(lines: Sequence[tuple[str, int]], count: int) -> ScreeningResult:
    """Return the result of a screening of some candidates by its lines, which may lie."""
    green = [number for word, number in lines if word == "green" and number < count]
    partial = [number for word, number in lines if word == "partial" and number < count]
    seen = max((number for word, number in lines if word == "seen"), default=0)
    # A screening that was killed counts as having tried at least one candidate, or the search would never end.
    return ScreeningResult(green, min(count, max(seen, 1)), tuple(partial))


def _build_job(
    request: RepairRequest, waiting: list[ProgramCandidate], original: SandboxOutcome, seconds: float
) -> str:
    """Return the job of a screening, with as many candidates as it may contain."""
    texts = {file.name: file.text for file in request.files}
    failed = [not test.passed for test in original.tests]
    order = sorted(range(len(request.cases)), key=lambda n: not (n < len(failed) and failed[n]))
    first = next((name for name in request.editable), "").removesuffix(".py").replace("/", ".")
    job = {
        "sources": {name: texts[name] for name in request.editable},
        "cases": [
            {**request.cases[n].model_dump(mode="json"), "module": request.cases[n].module or first} for n in order
        ],
        "tests": [file.name for file in request.tests if file.name.endswith(".py")],
        "seconds": seconds,
        "each": EACH_CASES if request.cases else EACH_PYTEST,
        "candidates": [],
    }
    room = MAX_JOB_CHARS - len(json.dumps(job))
    listed: list[object] = []
    for candidate in waiting:
        entry = [candidate.path, [(edit.start, edit.end, edit.text) for edit in candidate.edits]]
        # A candidate with longer edits is not a small edit; the original in its place keeps the numbering.
        entry = entry if len(json.dumps(entry)) <= MAX_EDIT_CHARS else [candidate.path, []]
        room -= len(json.dumps(entry)) + 2
        if room < 0 and listed:
            break
        listed.append(entry)
    return json.dumps({**job, "candidates": listed})
