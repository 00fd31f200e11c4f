"""Test bursts of signals: those applied in one workflow task, those that wait, and those that are dropped."""

import asyncio
import uuid
from typing import Any

from temporalio import workflow
from temporalio.testing import WorkflowEnvironment

from tests.support.workers import PatientWorker

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.steering import MAX_TOTAL_FEEDBACK_BYTES
    from tests.conftest import Serving
    from tests.support.worlds import KITCHEN, Held, MemoryKnowledge, ScriptedChat, build_report, story
    from tests.workflows.run.test_agent import REQUEST, until
    from workflows.plugin import create_workflow_runner
    from workflows.run.signal_queue import MAX_QUEUED_BYTES, MAX_SIGNALS_PER_TASK, SignalQueue

MAX_QUEUED = 50
"""Signals that may wait in these tests: a server takes 20 ms for each."""


@workflow.defn
class QueueOwner:
    """Workflow that records the signals which its queue applies."""

    def __init__(self) -> None:
        """Start with an empty queue."""
        self.applied: list[tuple[str, Any, int]] = []
        self.queue = SignalQueue(self._record, MAX_QUEUED)

    async def _record(self, name: str, argument: Any) -> None:
        self.applied.append((name, argument, workflow.info().get_current_history_length()))

    @workflow.signal
    async def receive(self, command: tuple[str, Any]) -> None:
        """Hand a command to the queue."""
        await self.queue.handle(*command)  # type: ignore[arg-type]

    @workflow.run
    async def run(self, last: str) -> tuple[list[tuple[str, Any, int]], tuple[str, ...]]:
        """End when a signal was applied."""
        await workflow.wait_condition(lambda: any(name == last for name, _, _ in self.applied))
        return self.applied, self.queue.describe_dropped()


async def _deliver_at_once(
    server: WorkflowEnvironment, signals: list[tuple[str, Any]], last: str
) -> tuple[list[Any], list[str]]:
    """Send signals to a workflow before its worker starts, so that one workflow task receives them all."""
    queue = f"burst-{uuid.uuid4().hex[:8]}"
    handle = await server.client.start_workflow(QueueOwner.run, last, id=queue, task_queue=queue)
    for signal in signals:
        await handle.signal(QueueOwner.receive, signal)
    worker = PatientWorker(
        server.client,
        task_queue=queue,
        workflows=[QueueOwner],
        workflow_runner=create_workflow_runner(),
        max_cached_workflows=0,
    )
    async with worker:
        applied, notes = await handle.result()
    return applied, list(notes)


async def test_a_burst_is_spread_over_workflow_tasks(server: WorkflowEnvironment) -> None:
    """No workflow task applies more than its share, the order is kept, and signals beyond the queue are counted."""
    count = MAX_SIGNALS_PER_TASK + MAX_QUEUED + 30
    applied, notes = await _deliver_at_once(
        server, [("feedback", n) for n in range(count)] + [("finish", None)], "finish"
    )

    assert [argument for name, argument, _ in applied if name == "feedback"] == list(range(count - 30))
    tasks = [task for _, _, task in applied]
    assert max(map(tasks.count, tasks)) <= MAX_SIGNALS_PER_TASK
    assert notes == [f"30 signals were not read: they came too fast or too late, and {MAX_QUEUED} may wait."]


async def test_the_queue_is_bounded_in_bytes(server: WorkflowEnvironment) -> None:
    """Large inputs fill the queue before its number of signals does; commands are applied nevertheless."""
    large = "x" * (MAX_QUEUED_BYTES // 4)
    burst = [("feedback", n) for n in range(MAX_SIGNALS_PER_TASK)] + [("feedback", large)] * 10
    applied, notes = await _deliver_at_once(server, [*burst, ("cancel", {"discard": True})], "cancel")

    assert sum(argument == large for _, argument, _ in applied) == 3
    assert list(applied[-1][:2]) == ["cancel", {"discard": True}]
    assert notes[0].startswith("7 signals were not read")


async def test_waiting_commands_are_replaced_by_later_ones(server: WorkflowEnvironment) -> None:
    """Of many pauses and resumptions in a burst only the last one waits, and none is lost when the queue is full."""
    full = [("feedback", n) for n in range(MAX_SIGNALS_PER_TASK + MAX_QUEUED + 1)]
    switches = [("pause", None), ("resume", None)] * 20 + [("pause", None), ("finish", None)]
    applied, notes = await _deliver_at_once(server, [*full, *switches], "finish")

    assert [name for name, _, _ in applied if name != "feedback"] == ["pause", "finish"]
    assert notes[0].startswith("1 signals were not read")


async def test_a_replaced_command_leaves_no_bytes_behind(server: WorkflowEnvironment) -> None:
    """A large `cancel` that a later one replaces, and those never dropped, take no place from the feedback behind."""
    filler = [("feedback", n) for n in range(MAX_SIGNALS_PER_TASK)]
    large = {"discard": True, "reason": "x" * (MAX_QUEUED_BYTES // 2)}
    third = "y" * (MAX_QUEUED_BYTES // 3)
    burst = [*filler, ("cancel", large), ("cancel", None), *[("feedback", third)] * 3]
    applied, notes = await _deliver_at_once(server, [*burst, ("finish", None)], "finish")

    commands = [(name, argument) for name, argument, _ in applied if name != "feedback"]
    assert commands == [("cancel", None), ("finish", None)]
    assert sum(argument == third for _, argument, _ in applied) == 2
    assert notes[0].startswith("1 signals were not read")


async def test_a_run_ends_after_a_burst_of_feedback(serving: Serving) -> None:
    """A run that receives more feedback than it accepts keeps what its limit allows, names the limit and ends."""
    filler = "x" * (MAX_TOTAL_FEEDBACK_BYTES // 32 - 30)
    held = Held(build_report({"Bread": "All about it [1]."}))
    async with serving(ScriptedChat(story(report_writer=held)), MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        await held.reached.wait()
        await asyncio.gather(*(handle.signal("feedback", f"Say more on mould {n:02} {filler}") for n in range(40)))
        await until(handle, lambda progress: len(progress.refused_signals) > 0)
        held.released.set()
        result = await handle.result()

    assert len(result.feedback) == 32
    assert f"the limit is {MAX_TOTAL_FEEDBACK_BYTES:,}" in " ".join(result.notes)
