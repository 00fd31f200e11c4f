"""Estimate the speed and the remaining time of an ingestion from its latest snapshots."""

import math
from collections import deque

from tenure.contracts.evidence.corpora import IngestStage
from tenure.runs.formatting import format_duration
from tenure.runs.session.snapshot import RunSnapshot, count_ingested

WINDOW_SECONDS = 30.0
"""Time over which the speed is averaged: files and batches of chunks differ in size."""

MIN_SECONDS = 2.0
"""Time that must be observed before a speed is shown."""


class SpeedMeter:
    """Observed progress of one stage of an ingestion."""

    def __init__(self) -> None:
        self._stage: IngestStage | None = None
        self._samples: deque[tuple[float, int]] = deque()

    def describe(self, snapshot: RunSnapshot) -> str:
        """Return the speed and the remaining time in words after one more snapshot; empty while they are unknown."""
        ingest = snapshot.ingest
        if ingest is None or ingest.stage not in ("reading", "embedding"):
            self._stage = None
            return ""
        done, total = count_ingested(ingest)
        if ingest.stage != self._stage or (self._samples and done < self._samples[-1][1]):
            self._stage = ingest.stage
            self._samples.clear()
        self._samples.append((snapshot.seconds, done))
        while len(self._samples) > 2 and self._samples[1][0] <= snapshot.seconds - WINDOW_SECONDS:
            self._samples.popleft()
        began, before = self._samples[0]
        seconds = snapshot.seconds - began
        if seconds < MIN_SECONDS or done == before:
            return ""
        speed = (done - before) / seconds
        unit = "chunks" if ingest.stage == "embedding" else "files"
        return f"{format_speed(speed)} {unit}/s, {format_duration(math.ceil((total - done) / speed))} left"


def format_speed(speed: float) -> str:
    """Return a speed with two significant digits, or without decimals from 10 on."""
    return f"{speed:,.0f}" if speed >= 10 else f"{speed:.1f}" if speed >= 1 else f"{speed:.2f}"
