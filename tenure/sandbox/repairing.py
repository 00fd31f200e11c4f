"""Classical program repair in the sandbox: candidates by the batch, until one passes every test.

The original is run first, with its lines traced, so that the search begins where the failing tests have
been. Every verdict is the sandbox's own, so that a candidate is green here only as any program is.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from tenure.algorithms.programs import digest
from tenure.algorithms.repair import Candidate, Covered, candidates, ochiai
from tenure.contracts.coding import RepairProgress, RepairReply, RepairRequest, SourceFile
from tenure.contracts.sandbox import Batch, GivenFile, Outcome
from tenure.sandbox.base import Sandbox

BATCH = 60
"""Candidates of one start of the sandbox."""

LEAST_EACH, MARGIN = 1.0, 4.0
"""Seconds a candidate gets at the least, and how many times the original's time."""


async def search(
    sandbox: Sandbox, request: RepairRequest, begun: RepairProgress, told: Callable[[RepairProgress], None]
) -> RepairReply:
    """Search for a small edit with which a program passes all its tests.

    Args:
        sandbox: where candidates are tried.
        request: the program and its tests.
        begun: how far an earlier search for the same came.
        told: hears how far this one is.
    """
    clock = time.monotonic() - begun.seconds
    original = await _traced(sandbox, request)
    found = _candidates(request, original)
    tried = len(list(islice(found, begun.tried)))
    each = max(LEAST_EACH, MARGIN * original.seconds if original.verdict != "timeout" else LEAST_EACH)
    while (left := request.seconds - (time.monotonic() - clock)) > 0:
        batch = list(islice(found, BATCH))
        if not batch:
            return RepairReply(tried=tried, exhausted=True, seconds=time.monotonic() - clock)
        outcomes = await sandbox.test_all(_batch(request, batch, min(each, request.limits.wall_seconds), left))
        green = next((n for n, outcome in enumerate(outcomes) if outcome.verdict == "passed"), None)
        tried += len(outcomes) if green is None else green + 1
        seconds = time.monotonic() - clock
        told(RepairProgress(tried=tried, seconds=seconds))
        if green is not None:
            name, candidate = batch[green]
            changed = (SourceFile(path=name, text=candidate.source),)
            return RepairReply(files=changed, changes=candidate.changes, tried=tried, seconds=seconds)
    return RepairReply(tried=tried, seconds=time.monotonic() - clock)


async def _traced(sandbox: Sandbox, request: RepairRequest) -> Outcome:
    """Run the original once, and see which of its lines each test runs."""
    batch = Batch(
        candidates=(request.files,), tests=request.tests, cases=request.cases, limits=request.limits, trace=True
    )
    return (await sandbox.test_all(batch))[0]


def _candidates(request: RepairRequest, original: Outcome) -> Iterator[tuple[str, Candidate]]:
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


def _batch(request: RepairRequest, batch: list[tuple[str, Candidate]], each: float, left: float) -> Batch:
    """Return candidates with what lies beside them."""
    changed = [
        tuple(GivenFile(name=f.name, text=candidate.source) if f.name == name else f for f in _mended(request))
        for name, candidate in batch
    ]
    return Batch(
        candidates=tuple(changed),
        tests=request.tests,
        cases=request.cases,
        files=tuple(file for file in request.files if file.name not in request.mended),
        limits=request.limits.model_copy(update={"wall_seconds": max(each, min(left, each * len(batch)))}),
        seconds_each=each,
        stop_at_green=True,
    )


def _mended(request: RepairRequest) -> list[GivenFile]:
    return [file for file in request.files if file.name in request.mended]
