"""Test the merging of progress that was not sent yet, and the time that it waits."""

from datetime import timedelta

import pytest

from tenure.algorithms.control.progress import compute_pause, merge_updates
from tenure.contracts.evidence.react import ReactTaskRecord
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

    assert merged is not None
    assert (merged.phase, merged.cycle, merged.last, merged.ended) == ("write", 1, "planning", True)
    assert merged.usage == WorkflowUsage(calls=2)


def test_topics_are_merged_unless_the_later_outline_is_complete() -> None:
    """A topic has its latest state; a complete outline forgets all earlier topics."""
    earlier = report(topics=(topic("Rye", "drafting"), topic("Wheat", "waiting")), is_full_outline=True)

    partial = merge_updates(earlier, report(topics=(topic("Rye", "done"),)))
    complete = merge_updates(earlier, report(topics=(topic("Rye", "done"),), is_full_outline=True))

    assert partial is not None and complete is not None
    assert [(one.topic, one.phase) for one in partial.topics] == [("Rye", "done"), ("Wheat", "waiting")]
    assert partial.is_full_outline
    assert [one.topic for one in complete.topics] == ["Rye"]


def test_the_last_progress_of_each_child_is_kept() -> None:
    """Children are known by their ids, and later reports replace earlier ones."""
    ended = [report(reporter=f"run/section-{n}", last=str(n), ended=True) for n in (1, 2)]

    merged = merge_updates(report(parts=tuple(ended)), report(parts=(ended[0].model_copy(update={"last": "again"}),)))

    assert merged is not None
    assert [(part.reporter, part.last) for part in merged.parts] == [("run/section-1", "again"), ("run/section-2", "2")]


def test_a_program_is_merged_with_its_lesson_alone() -> None:
    """Two programs or two tasks need two messages, since a message has room for one."""
    first, second = (Attempt(n=n, generation=1, files=(), passed=0, total=1) for n in (1, 2))
    task = ReactTaskRecord(query="What is rye?", steps=())

    assert merge_updates(report(attempt=first), report(attempt=second)) is None
    assert merge_updates(report(task=task), report(task=task)) is None
    again = merge_updates(report(attempt=first), report(attempt=first.model_copy(update={"passed": 1})))
    assert again is not None and again.attempt is not None and again.attempt.passed == 1
    kept = merge_updates(report(attempt=first, task=task), report(last="reflecting"))
    assert kept is not None and (kept.attempt, kept.task) == (first, task)
