"""Test the estimated speed of ingestions."""

import pytest

from tenure.cli.progress.speed import WINDOW_SECONDS, SpeedMeter, format_speed
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.runs.session.snapshot import RunSnapshot


def read(done: int, seconds: float, total: int = 100) -> RunSnapshot:
    return RunSnapshot(None, IngestProgress(stage="reading", files_done=done, files_total=total), seconds)


def test_speed_and_remaining_time_are_those_of_the_latest_seconds() -> None:
    """Files read long ago do not count for the speed."""
    meter = SpeedMeter()
    words = [meter.describe(read(done, at)) for done, at in ((0, 0), (1, 1), (10, 5), (20, 10))]
    later = meter.describe(read(21, 10 + WINDOW_SECONDS + 10))

    assert words == ["", "", "2.0 files/s, 0:45 left", "2.0 files/s, 0:40 left"]
    assert later == "0.03 files/s, 52:40 left"


def test_nothing_is_estimated_without_progress() -> None:
    """While no file is finished, the remaining time is unknown rather than endless."""
    meter = SpeedMeter()

    assert [meter.describe(read(3, at)) for at in (0.0, 5.0, 50.0)] == ["", "", ""]


def test_every_stage_has_its_own_speed() -> None:
    """The embedding is measured in chunks from its own beginning, and a repeated attempt begins again."""
    meter = SpeedMeter()
    meter.describe(read(0, 0))
    meter.describe(read(100, 10))
    embedding = [
        RunSnapshot(None, IngestProgress(stage="embedding", embedded=done, to_embed=500), at)
        for done, at in ((0, 11.0), (100, 21.0), (10, 22.0))
    ]

    assert [meter.describe(one) for one in embedding] == ["", "10 chunks/s, 0:40 left", ""]
    assert meter.describe(RunSnapshot()) == ""


@pytest.mark.parametrize(("speed", "words"), [(1234.4, "1,234"), (9.96, "10.0"), (1.26, "1.3"), (0.123, "0.12")])
def test_a_speed_has_few_digits(speed: float, words: str) -> None:
    """Large speeds have no decimals, small ones two."""
    assert format_speed(speed) == words
