"""Classical program repair in the sandbox: candidates by the hundred, until one passes every test.

The original is run first, with its lines traced, so that the search begins where the failing tests have
been. Candidates are then screened, many in one start of the sandbox, which is fast and proves nothing.
What looks good is tested like any other program, and only that verdict counts.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tenure.algorithms.coding.programs import digest
from tenure.algorithms.coding.repair import Candidate, Covered, candidates, ochiai
from tenure.contracts.result.programs import RepairProgress, RepairReply, RepairRequest, SourceFile
from tenure.contracts.sandbox import Batch, GivenFile, Outcome, Program
from tenure.sandbox.base import Sandbox

BATCH = 400
"""Candidates of one start of the sandbox at the most."""

STRETCH = 12.0
"""Seconds of one start of the sandbox, and half as many for candidates that are slow."""

TRACED = 6.0
"""Seconds for the original; one that runs without end is searched without a suspicion."""

EACH_CASES, EACH_PYTEST = 0.1, 0.6
"""Seconds of the processor that a candidate gets for cases, and for tests of pytest with its start."""

LONGEST_JOB = 180_000
"""Characters of a job at the most."""

LONGEST_EDIT = 4_000
"""Characters of the edits of a candidate at the most."""
_SCREENING = Path(__file__).parent / "inside" / "screening.py"


class Screened(NamedTuple):
    """What a screening has found."""

    promising: list[int]
    """Numbers of the candidates to be tested, in order."""
    seen: int
    """How many had their turn."""


Found = tuple[str, Candidate]
"""A candidate and the file it is a version of."""


async def search(
    sandbox: Sandbox, request: RepairRequest, begun: RepairProgress, told: Callable[[RepairProgress], None], keep: Path
) -> RepairReply:
    """Search for a small edit with which a program passes all its tests.

    Args:
        sandbox: where candidates are tried.
        request: the program and its tests.
        begun: how far an earlier search for the same came.
        told: hears how far this one is.
        keep: a folder for what candidates leave; nothing of it is used.
    """
    clock = time.monotonic() - begun.seconds
    original = await _traced(sandbox, request)
    found = _candidates(request, original)
    tried = len(await asyncio.to_thread(list, islice(found, begun.tried)))
    waiting: list[Found] = []
    while (left := request.seconds - (time.monotonic() - clock)) > 0:
        waiting += await asyncio.to_thread(list, islice(found, BATCH - len(waiting)))
        if not waiting:
            return RepairReply(tried=tried, exhausted=True, seconds=time.monotonic() - clock)
        screened = await _screened(sandbox, request, waiting, original, min(left, STRETCH), keep)
        green = await _proven(sandbox, request, [waiting[n] for n in screened.promising], left)
        tried += screened.seen
        waiting = waiting[screened.seen :]
        told(RepairProgress(tried=tried, seconds=time.monotonic() - clock))
        if green is not None:
            name, candidate = green
            changed = (SourceFile(path=name, text=candidate.source),)
            seconds = time.monotonic() - clock
            return RepairReply(files=changed, changes=candidate.changes, tried=tried, seconds=seconds)
    return RepairReply(tried=tried, seconds=time.monotonic() - clock)


async def _traced(sandbox: Sandbox, request: RepairRequest) -> Outcome:
    """Run the original once, and see which of its lines each test runs."""
    wall = min(TRACED, request.limits.wall_seconds)
    limits = request.limits.model_copy(update={"wall_seconds": wall})
    batch = Batch(candidates=(request.files,), tests=request.tests, cases=request.cases, limits=limits, trace=True)
    return (await sandbox.test_all(batch))[0]


def _candidates(request: RepairRequest, original: Outcome) -> Iterator[Found]:
    """Yield changed files by their names, those of the most suspicious file first; none that has failed before."""
    texts = {file.name: file.text or "" for file in request.files}
    suspicion = {name: _suspicion(name, original) for name in request.mended}
    kept = [SourceFile(path=name, text=texts[name]) for name in request.mended]
    for name in sorted(request.mended, key=lambda one: -max(suspicion[one].values(), default=0.0)):
        others = [file for file in kept if file.path != name]
        for candidate in candidates(texts[name], suspicion[name]):
            if digest([*others, SourceFile(path=name, text=candidate.source)]) not in request.tried:
                yield name, candidate


def _suspicion(name: str, outcome: Outcome) -> Mapping[int, float]:
    return ochiai([Covered(frozenset(test.covered.get(name, ())), test.passed) for test in outcome.tests])


async def _screened(
    sandbox: Sandbox, request: RepairRequest, waiting: list[Found], original: Outcome, seconds: float, keep: Path
) -> Screened:
    """Have candidates try themselves on the tests, those first that failed the original."""
    program = Program(
        files=(
            GivenFile(name="screening.py", text=_SCREENING.read_text(encoding="utf-8")),
            GivenFile(name="screening.json", text=_job(request, waiting, original, seconds)),
            *request.files,
            *request.tests,
        ),
        entry="screening.py",
        limits=request.limits.model_copy(
            update={"wall_seconds": 2 * seconds + 5, "cpu_seconds": 2 * round(seconds) + 5, "artifacts": 0}
        ),
    )
    outcome = await sandbox.run(program, keep)
    told = [line.split() for line in outcome.stdout.splitlines()]
    numbers = [(words[0], int(words[1])) for words in told if len(words) == 2 and words[1].isdigit()]
    green = [number for word, number in numbers if word == "green" and number < len(waiting)]
    seen = max((number for word, number in numbers if word == "seen"), default=0)
    # A screening that was ended from outside has still seen something, or the search would never end.
    return Screened(green, min(len(waiting), max(seen, 1)))


def _job(request: RepairRequest, waiting: list[Found], original: Outcome, seconds: float) -> str:
    """Write the job of a screening, with as many candidates as it may hold."""
    texts = {file.name: file.text for file in request.files}
    failed = [not test.passed for test in original.tests]
    order = sorted(range(len(request.cases)), key=lambda n: not (n < len(failed) and failed[n]))
    first = next((name for name in request.mended), "").removesuffix(".py").replace("/", ".")
    job = {
        "sources": {name: texts[name] for name in request.mended},
        "cases": [
            {**request.cases[n].model_dump(mode="json"), "module": request.cases[n].module or first} for n in order
        ],
        "tests": [file.name for file in request.tests if file.name.endswith(".py")],
        "seconds": seconds,
        "each": EACH_CASES if request.cases else EACH_PYTEST,
        "candidates": [],
    }
    room = LONGEST_JOB - len(json.dumps(job))
    listed: list[object] = []
    for name, candidate in waiting:
        entry = [name, [(edit.start, edit.end, edit.text) for edit in candidate.edits]]
        # One that writes so much anew is no small edit; the original in its place keeps the numbers.
        entry = entry if len(json.dumps(entry)) <= LONGEST_EDIT else [name, []]
        room -= len(json.dumps(entry)) + 2
        if room < 0 and listed:
            break
        listed.append(entry)
    return json.dumps({**job, "candidates": listed})


async def _proven(sandbox: Sandbox, request: RepairRequest, promising: list[Found], left: float) -> Found | None:
    """Test what looked good for good, and return the first that passes."""
    if not promising:
        return None
    wall = request.limits.wall_seconds
    kept = [file for file in request.files if file.name in request.mended]
    batch = Batch(
        candidates=tuple(
            tuple(GivenFile(name=f.name, text=one.source) if f.name == name else f for f in kept)
            for name, one in promising
        ),
        tests=request.tests,
        cases=request.cases,
        files=tuple(file for file in request.files if file.name not in request.mended),
        limits=request.limits.model_copy(update={"wall_seconds": max(wall, min(left, wall * len(promising)))}),
        seconds_each=wall,
        stop_at_green=True,
    )
    outcomes = await sandbox.test_all(batch)
    return next((one for one, outcome in zip(promising, outcomes, strict=False) if outcome.verdict == "passed"), None)
