"""Test the messages with which child workflows report their progress."""

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import ExitStack

from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.research.progress import ProgressUpdate
from tenure.contracts.run.budget import BudgetAmounts
from tenure.contracts.run.run import WorkflowUsage
from tests.histories.recorder import wait_for_event
from tests.support.workers import PatientWorker
from workflows.plugin import create_workflow_runner
from workflows.runtime.progress import ProgressReporter


@workflow.defn(sandboxed=False)
class Reporting:
    """Reports to the run of its request as each line of it says, and returns the last news."""

    def __init__(self) -> None:
        self.is_heard = False

    @workflow.signal
    def proceed(self) -> None:
        self.is_heard = True

    @workflow.run
    async def run(self, run: str, lines: list[str]) -> ProgressUpdate | None:
        reporter, step = ProgressReporter(run, WorkflowUsage), ExitStack()
        for line in lines:
            if line == "sleep":
                await workflow.sleep(2.5)
            elif line == "wait":
                await workflow.wait_condition(lambda: self.is_heard)
            elif line == "send":
                await reporter.send()
            elif line == "begin":
                step.enter_context(reporter.track_long_step())
                await asyncio.sleep(0)
            elif line == "end":
                step.close()
            elif line == "expect":
                reporter.expected = BudgetAmounts(calls=1)
            elif line == "fail":
                await reporter.fail(last="failed")
                return None
            else:
                reporter.report(last=line)
                await asyncio.sleep(0)
        step.close()
        last = await reporter.finish(cycle=7)
        if last is not None and not reporter.is_received:
            return last.model_copy(update={"last": "not received"})
        return last


@workflow.defn(sandboxed=False)
class Listening:
    """Collects the news until it has a number of messages."""

    def __init__(self) -> None:
        self.heard: list[ProgressUpdate] = []

    @workflow.signal
    def report_progress(self, update: ProgressUpdate) -> None:
        self.heard.append(update)

    @workflow.run
    async def run(self, count: int) -> list[ProgressUpdate]:
        await workflow.wait_condition(lambda: len(self.heard) >= count)
        return self.heard


async def play(
    server: WorkflowEnvironment, lines: Sequence[str], messages: int
) -> tuple[list[ProgressUpdate], ProgressUpdate | None, WorkflowHistory]:
    """Return the messages that a run receives, the rest that the result delivers, and the history of the child."""
    name = f"progress-{uuid.uuid4().hex[:8]}"
    async with PatientWorker(
        server.client,
        task_queue=name,
        workflows=[Reporting, Listening],
        workflow_runner=create_workflow_runner(),
    ):
        run = await server.client.start_workflow(Listening.run, messages, id=name, task_queue=name)
        child = await server.client.start_workflow(
            Reporting.run, args=[name, list(lines)], id=f"{name}/child", task_queue=name
        )
        heard = await run.result()
        if "wait" in lines:
            await child.signal(Reporting.proceed)
        return heard, await child.result(), await child.fetch_history()


def has_sent(history: WorkflowHistory) -> bool:
    """Return whether a child has sent a message."""
    return any(
        event.HasField("signal_external_workflow_execution_initiated_event_attributes") for event in history.events
    )


def count_timers(history: WorkflowHistory) -> int:
    """Return the number of timers that a child has started."""
    return sum(event.HasField("timer_started_event_attributes") for event in history.events)


async def test_news_of_a_short_child_are_part_of_its_result(server: WorkflowEnvironment) -> None:
    """A child that ends soon sends no message: its result has the newest of what it has reported."""
    heard, last, history = await play(server, ["reading", "writing"], 0)

    assert heard == []
    assert last is not None
    assert (last.last, last.cycle, last.ended, last.usage) == ("writing", 7, True, WorkflowUsage())
    assert not has_sent(history)


async def test_news_wait_for_two_seconds_during_a_long_step(server: WorkflowEnvironment) -> None:
    """All news of two seconds make one message, and the next ones wait again."""
    heard, last, _ = await play(server, ["begin", "reading", "writing", "wait", "checking"], 1)

    assert [update.last for update in heard] == ["writing"]
    assert last is not None and last.last == "checking"


async def test_a_long_step_begins_with_the_news(server: WorkflowEnvironment) -> None:
    """All news are sent without a timer when a call begins, and later ones wait for the next."""
    heard, last, history = await play(server, ["reading", "writing", "begin", "wait", "end", "checking"], 1)

    assert [update.last for update in heard] == ["writing"]
    assert last is not None and last.last == "checking"
    assert count_timers(history) == 0


async def test_news_between_long_steps_start_no_timer(server: WorkflowEnvironment) -> None:
    """Short steps such as searches send nothing, however many of them follow each other."""
    heard, last, history = await play(server, ["reading", "sleep", "writing"], 0)

    assert heard == [] and last is not None and last.last == "writing"
    assert count_timers(history) == 1 and not has_sent(history)  # that of the sleep


async def test_a_short_step_soon_after_a_message_sends_nothing(server: WorkflowEnvironment) -> None:
    """The news of a call that begins and ends within two seconds of the last message are part of the result."""
    heard, last, _ = await play(server, ["reading", "send", "writing", "begin", "end"], 1)

    assert [update.last for update in heard] == ["reading"]
    assert last is not None and last.last == "writing"


async def test_news_that_the_run_has_are_not_sent_again(server: WorkflowEnvironment) -> None:
    """A step that reports what the last message said begins without a message."""
    heard, last, _ = await play(server, ["reading", "send", "sleep", "reading", "begin", "end"], 1)

    assert [update.last for update in heard] == ["reading"]
    assert last is not None and last.last == ""


async def test_news_wait_longer_if_workers_are_late(server: WorkflowEnvironment) -> None:
    """A worker that continues a second after the two seconds sends no message of a child that ends soon after."""
    name = f"progress-{uuid.uuid4().hex[:8]}"

    def serve() -> PatientWorker:
        return PatientWorker(
            server.client, task_queue=name, workflows=[Reporting], workflow_runner=create_workflow_runner()
        )

    async with serve():
        child = await server.client.start_workflow(
            Reporting.run, args=["nobody", ["begin", "reading", "sleep"]], id=name, task_queue=name
        )
        await wait_for_event(child, lambda event: event.HasField("timer_started_event_attributes"))
    await wait_for_event(child, lambda event: event.HasField("timer_fired_event_attributes"))
    await asyncio.sleep(1)  # the delay that the child measures
    async with serve():
        last = await child.result()

    assert last is not None and last.last == "reading"
    assert not has_sent(await child.fetch_history())


async def test_messages_name_what_is_expected_when_they_are_sent(server: WorkflowEnvironment) -> None:
    """A call that has ended meanwhile is not announced any more, and an ended child expects nothing."""
    heard, last, _ = await play(server, ["reading", "expect", "send"], 1)

    assert [update.expected for update in heard] == [BudgetAmounts(calls=1)]
    assert last is not None and last.expected is None


async def test_news_for_people_who_are_asked_do_not_wait(server: WorkflowEnvironment) -> None:
    """An immediate message has everything before it, and nothing is sent twice."""
    heard, last, _ = await play(server, ["reading", "send", "send"], 1)

    assert [update.last for update in heard] == ["reading"]
    assert last is not None and last.last == ""


async def test_a_failed_child_reports_its_usage(server: WorkflowEnvironment) -> None:
    """A child without a result sends its last news, so that its run knows what it has cost."""
    heard, last, _ = await play(server, ["reading", "fail"], 1)

    assert last is None
    assert [(update.last, update.ended, update.usage) for update in heard] == [("failed", True, WorkflowUsage())]


async def test_a_run_that_receives_nothing_is_noticed(server: WorkflowEnvironment) -> None:
    """A child continues without its run, and knows that messages were lost."""
    name = f"progress-{uuid.uuid4().hex[:8]}"
    async with PatientWorker(
        server.client, task_queue=name, workflows=[Reporting], workflow_runner=create_workflow_runner()
    ):
        last = await server.client.execute_workflow(
            Reporting.run, args=["no-such-run", ["reading", "send"]], id=name, task_queue=name
        )

    assert last is not None and last.last == "not received"
