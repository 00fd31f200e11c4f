"""Tests of the count of Temporal's actions."""

from collections import Counter
from pathlib import Path

from benchmarks.actions import count_actions, list_event_kinds, measure
from tests.histories.storage import find_recording, read_recording
from tests.support.tiers import exhaustive

_METRICS = """
# TYPE action counter
action{action_type="grpc_QueryWorkflow",namespace="default",operation="QueryWorkflow",service_name="frontend"} 3
action{action_type="command_StartTimer",namespace="default",operation="x",service_name="history",workflow_type="A"} 4
action{action_type="command_StartTimer",namespace="default",operation="x",service_name="history",workflow_type="B"} 1
action{action_type="grpc_StartWorkflowExecution",namespace="temporal_system",operation="x",service_name="frontend"} 2
service_requests{namespace="default",operation="QueryWorkflow",service_name="frontend"} 7
"""


def test_actions_are_counted_by_kind_in_the_namespace_of_the_runs() -> None:
    """Counters of one kind are added up; those of the server's own namespace and of other metrics are left out."""
    assert count_actions(_METRICS) == Counter(QueryWorkflow=3, StartTimer=5)


def test_events_are_counted_by_the_activity_or_signal_that_they_belong_to() -> None:
    """Every event of a recorded run has a kind, and those of an activity have its name."""
    histories = read_recording(find_recording("cycles"))
    kinds = Counter(kind for history in histories for kind in list_event_kinds(history.events))

    assert kinds.total() == sum(len(history.events) for history in histories)
    assert kinds["activity_planner"] == 3 * 3
    assert kinds["signal_record_cycle_sent"] == 2 * kinds["signal_record_cycle_received"] == 2 * 2
    assert kinds["workflow_tasks"] % 3 == 0 and kinds["child_workflows"] > 0


@exhaustive
def test_a_watched_run_is_measured(tmp_path: Path) -> None:
    """The server has counted the start of the run, its activities and its children, and LanceDB its commits."""
    figures = measure("simple", 0.1, tmp_path / "home")

    assert figures["action_StartWorkflowExecution"] == 1
    assert figures["action_ScheduleActivityTask"] > figures["calls"] > 0
    assert figures["events"] > figures["actions"] and figures["commits"] > 0
