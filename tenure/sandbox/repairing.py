"""Repair a program in the sandbox by search: try small edits until one passes all tests.

The original is run first with a line trace, so that the search starts at the lines of the failing tests
(spectrum-based fault localization). Candidates are then screened, many per start of the sandbox, which is fast and
proves nothing. A promising candidate is tested like any other program, and only that verdict counts.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

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
_SCREENING = Path(__file__).parent / "inside" / "screening.py"


class ScreeningResult(NamedTuple):
    """Result of a screening."""

    promising: list[int]
    """Numbers of the candidates to test, in order."""
    seen: int
    """Number of candidates that were tried."""


RepairCandidate = tuple[str, ProgramCandidate]
"""Candidate with the file that it changes."""


async def search_repair(
    sandbox: Sandbox,
    request: RepairRequest,
    progress: RepairProgress,
    report_progress: Callable[[RepairProgress], None],
    keep: Path,
) -> RepairReply:
    """Search for a small edit with which a program passes all its tests, after an earlier search for it."""
    clock = time.monotonic() - progress.seconds
    original = await _trace_original(sandbox, request)
    found = _iterate_candidates(request, original)
    tried = len(await asyncio.to_thread(list, islice(found, progress.tried)))
    waiting: list[RepairCandidate] = []
    while (left := request.seconds - (time.monotonic() - clock)) > 0:
        waiting += await asyncio.to_thread(list, islice(found, MAX_BATCH_CANDIDATES - len(waiting)))
        if not waiting:
            return RepairReply(tried=tried, exhausted=True, seconds=time.monotonic() - clock)
        screened = await _screen(sandbox, request, waiting, original, min(left, SCREENING_SECONDS), keep)
        green = await _verify(sandbox, request, [waiting[n] for n in screened.promising], left)
        tried += screened.seen
        waiting = waiting[screened.seen :]
        report_progress(RepairProgress(tried=tried, seconds=time.monotonic() - clock))
        if green is not None:
            name, candidate = green
            changed = (SourceFile(path=name, text=candidate.source),)
            seconds = time.monotonic() - clock
            return RepairReply(files=changed, changes=candidate.changes, tried=tried, seconds=seconds)
    return RepairReply(tried=tried, seconds=time.monotonic() - clock)


async def _trace_original(sandbox: Sandbox, request: RepairRequest) -> SandboxOutcome:
    """Run the original once, and record the lines that each test runs."""
    wall = min(TRACE_TIMEOUT_SECONDS, request.limits.wall_seconds)
    limits = request.limits.model_copy(update={"wall_seconds": wall})
    batch = CandidateBatch(
        candidates=(request.files,), tests=request.tests, cases=request.cases, limits=limits, trace=True
    )
    return (await sandbox.test_all(batch))[0]


def _iterate_candidates(request: RepairRequest, original: SandboxOutcome) -> Iterator[RepairCandidate]:
    """Yield changed files by name, the most suspicious file first, without candidates that failed before."""
    texts = {file.name: file.text or "" for file in request.files}
    suspicion = {name: _suspicion(name, original) for name in request.editable}
    kept = [SourceFile(path=name, text=texts[name]) for name in request.editable]
    for name in sorted(request.editable, key=lambda one: -max(suspicion[one].values(), default=0.0)):
        others = [file for file in kept if file.path != name]
        for candidate in generate_candidates(texts[name], suspicion[name]):
            if hash_program([*others, SourceFile(path=name, text=candidate.source)]) not in request.tried_digests:
                yield name, candidate


def _suspicion(name: str, outcome: SandboxOutcome) -> Mapping[int, float]:
    return compute_ochiai([LineCoverage(frozenset(test.covered.get(name, ())), test.passed) for test in outcome.tests])


async def _screen(
    sandbox: Sandbox,
    request: RepairRequest,
    waiting: list[RepairCandidate],
    original: SandboxOutcome,
    seconds: float,
    keep: Path,
) -> ScreeningResult:
    """Run the tests on candidates, those first that failed the original."""
    program = Program(
        files=(
            InputFile(name="screening.py", text=_SCREENING.read_text(encoding="utf-8")),
            InputFile(name="screening.json", text=_build_job(request, waiting, original, seconds)),
            *request.files,
            *request.tests,
        ),
        entry="screening.py",
        limits=request.limits.model_copy(
            update={"wall_seconds": 2 * seconds + 5, "cpu_seconds": 2 * round(seconds) + 5, "artifacts": 0}
        ),
    )
    outcome = await sandbox.run(program, keep)
    words_by_line = [line.split() for line in outcome.stdout.splitlines()]
    numbers = [(words[0], int(words[1])) for words in words_by_line if len(words) == 2 and words[1].isdigit()]
    green = [number for word, number in numbers if word == "green" and number < len(waiting)]
    seen = max((number for word, number in numbers if word == "seen"), default=0)
    # A screening that was killed counts as having tried at least one candidate, or the search would never end.
    return ScreeningResult(green, min(len(waiting), max(seen, 1)))


def _build_job(request: RepairRequest, waiting: list[RepairCandidate], original: SandboxOutcome, seconds: float) -> str:
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
    for name, candidate in waiting:
        entry = [name, [(edit.start, edit.end, edit.text) for edit in candidate.edits]]
        # A candidate with longer edits is not a small edit; the original in its place keeps the numbering.
        entry = entry if len(json.dumps(entry)) <= MAX_EDIT_CHARS else [name, []]
        room -= len(json.dumps(entry)) + 2
        if room < 0 and listed:
            break
        listed.append(entry)
    return json.dumps({**job, "candidates": listed})


async def _verify(
    sandbox: Sandbox, request: RepairRequest, promising: list[RepairCandidate], left: float
) -> RepairCandidate | None:
    """Test the promising candidates, and return the first that passes."""
    if not promising:
        return None
    wall = request.limits.wall_seconds
    kept = [file for file in request.files if file.name in request.editable]
    batch = CandidateBatch(
        candidates=tuple(
            tuple(InputFile(name=f.name, text=one.source) if f.name == name else f for f in kept)
            for name, one in promising
        ),
        tests=request.tests,
        cases=request.cases,
        files=tuple(file for file in request.files if file.name not in request.editable),
        limits=request.limits.model_copy(update={"wall_seconds": max(wall, min(left, wall * len(promising)))}),
        seconds_each=wall,
        stop_at_first_pass=True,
    )
    outcomes = await sandbox.test_all(batch)
    return next((one for one, outcome in zip(promising, outcomes, strict=False) if outcome.verdict == "passed"), None)
