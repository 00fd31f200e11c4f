"""Test the merging of progress that was not sent yet, and the time that it waits."""

from datetime import timedelta

import pytest

from tenure.algorithms.control.progress import compute_pause, merge_updates
from tenure.contracts.research.progress import ProgressUpdate
from tenure.contracts.result.programs import Attempt
from tenure.contracts.run.run import TopicProgress, WorkflowUsage


def report(**news: object) -> ProgressUpdate:
    return ProgressUpdate.model_validate({"reporter": "run/section-1", **news})


def topic(name: str, phase: str) -> TopicProgress:
    return TopicProgress.model_validate({"topic": name, "phase": phase})


@pytest.mark.parametrize(("delay", "pause"), [(0, 2), (0.2, 2), (0.5, 5), (2, 20), (60, 20)])
def test_delayed_messages_become_fewer(delay: float, pause: float) -> None:
    """Messages wait two seconds, ten times their delay if that is longer, and never more than twenty seconds."""
    assert compute_pause(timedelta(seconds=delay)) == timedelta(seconds=pause)


def test_later_news_replace_earlier_ones() -> None:
    """Omitted fields keep their earlier values, and all others have the later ones."""
    merged = merge_updates(
        report(phase="research", cycle=1, last="planning", usage=WorkflowUsage(calls=1)),
        report(phase="write", usage=WorkflowUsage(calls=2), ended=True),
    )

    assert (merged.phase, merged.cycle, merged.last, merged.ended) == ("write", 1, "planning", True)
    assert merged.usage == WorkflowUsage(calls=2)


def test_topics_are_merged_unless_the_later_outline_is_complete() -> None:
    """A topic has its latest state; a complete outline forgets all earlier topics."""
    earlier = report(topics=(topic("Rye", "drafting"), topic("Wheat", "waiting")), is_full_outline=True)

    partial = merge_updates(earlier, report(topics=(topic("Rye", "done"),)))
    complete = merge_updates(earlier, report(topics=(topic("Rye", "done"),), is_full_outline=True))

    assert [(one.topic, one.phase) for one in partial.topics] == [("Rye", "done"), ("Wheat", "waiting")]
    assert partial.is_full_outline
    assert [one.topic for one in complete.topics] == ["Rye"]


def test_the_last_progress_of_each_child_is_kept() -> None:
    """Children are known by their ids, and later reports replace earlier ones."""
    ended = [report(reporter=f"run/section-{n}", last=str(n), ended=True) for n in (1, 2)]

    merged = merge_updates(report(parts=tuple(ended)), report(parts=(ended[0].model_copy(update={"last": "again"}),)))

    assert [(part.reporter, part.last) for part in merged.parts] == [("run/section-1", "again"), ("run/section-2", "2")]


def test_programs_are_merged_by_their_numbers() -> None:
    """A program with its lesson replaces the one without it."""
    first, second = (Attempt(n=n, generation=1, files=(), passed=0, total=1) for n in (1, 2))
    learned = first.model_copy(update={"passed": 1})

    merged = merge_updates(report(attempts=(first, second)), report(attempts=(learned,), last="reflecting"))

    assert merged.attempts == (learned, second)
