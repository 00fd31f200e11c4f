"""Test the records of a workflow."""

import pytest

from tenure.contracts.research.trace import ControlRecord
from workflows.runtime import story_log
from workflows.runtime.story_log import StoryLog

PAUSE = ControlRecord(at="t1", signal="pause")


def test_drained_records_are_delivered_once() -> None:
    """A message takes the records since the last one."""
    log = StoryLog("run")
    log.add(PAUSE)

    assert (log.drain(), log.drain(), log.records) == ((PAUSE,), (), ())


def test_records_above_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result stays below the limit of a payload, however long the run is; drained records make room."""
    monkeypatch.setattr(story_log, "MAX_STORY_BYTES", 2 * len(PAUSE.model_dump_json()))
    log = StoryLog("run")
    log.add(PAUSE, PAUSE, PAUSE)
    before = (log.records, log.omitted)
    log.drain()
    log.add(PAUSE)

    assert (before, log.records) == (((PAUSE, PAUSE), 1), (PAUSE,))
