"""Test resets of runs on a real server: `temporal workflow reset` to a workflow task in the middle."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import TerminatedError

from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Feedback
from tests.conftest import Serving, open_archive
from tests.support.tiers import slow
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    Held,
    MemoryKnowledge,
    ScriptedChat,
    build_report,
    in_turn,
    plans,
    story,
)
from tests.workflows.run.test_agent import REQUEST, until
from workflows.run.agent import AgentWorkflow

Moment = Callable[[HistoryEvent], bool]


def starts(workflow: str) -> Moment:
    """Return the moment at which a run starts a child of a type."""
    return lambda event: (
        event.child_workflow_execution_started_event_attributes.workflow_type.name == workflow
        or event.start_child_workflow_execution_initiated_event_attributes.workflow_type.name == workflow
    )


async def find_task(client: Client, run: str, moment: Moment, *, before: bool = False) -> int:
    """Return the first workflow task that was completed after a moment, or the last one before it."""
    last, passed = 0, False
    async for event in client.get_workflow_handle(run).fetch_history_events():
        passed = passed or moment(event)
        if passed and before:
            return last
        if event.HasField("workflow_task_completed_event_attributes"):
            last = event.event_id
            if passed:
                return last
    raise AssertionError("the history has no such task")


async def reset(client: Client, run: str, task: int) -> WorkflowHandle[AgentWorkflow, Result]:
    """Reset a run to a workflow task, as `temporal workflow reset` does, and return the new execution."""
    request = ResetWorkflowExecutionRequest(
        namespace=client.namespace,
        workflow_execution=WorkflowExecution(workflow_id=run),
        reason="a test",
        workflow_task_finish_event_id=task,
        request_id=uuid4().hex,
    )
    execution = (await client.workflow_service.reset_workflow_execution(request)).run_id
    return client.get_workflow_handle_for(AgentWorkflow.run, run, run_id=execution)


async def test_a_reset_during_the_research_repeats_it(serving: Serving, tmp_path: Path) -> None:
    """A run that is reset to its first model call starts a new child; its report and budget count only what it uses.

    The former child ends, and a person's feedback is applied again.
    """
    held = Held(build_report({"Bread": "All about it [1]."}))
    chat = ScriptedChat(story(report_writer=held))
    limits = REQUEST.limits.model_copy(update={"max_calls": 14})
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST.model_copy(update={"limits": limits}))
        await held.reached.wait()
        await run.signal("feedback", Feedback(text="More on rye."))
        await until(run, lambda progress: progress.phase == "write" and progress.feedback)
        earlier = len(chat.asked)
        former = await stage.client.get_workflow_handle(f"{run.id}/research").describe()
        task = await find_task(stage.client, run.id, starts("ResearchWorkflow"), before=True)
        latest = await reset(stage.client, run.id, task)
        with pytest.raises(WorkflowFailureError) as end:
            await stage.client.get_workflow_handle(former.id, run_id=former.run_id).result()
        assert isinstance(end.value.cause, TerminatedError)
        held.released.set()
        result = await latest.result()
    archived = open_archive(tmp_path).find_run(run.id)

    assert result.status == "done" and result.sections
    assert result.usage.model_calls == 1 + len(chat.asked) - earlier
    assert not [note for note in result.notes if "was used or reserved in phase research" in note]
    assert [one.text for one in result.feedback] == ["More on rye."]
    assert archived is not None and archived.description.execution == latest.run_id


@slow
@pytest.mark.parametrize(
    ("workflow", "before", "repeated"),
    [("ResearchWorkflow", True, 5), ("ResearchWorkflow", False, 0), ("ArchiveWorkflow", False, 0)],
    ids=["before the research", "during the research", "at the end"],
)
async def test_a_finished_run_is_reset(serving: Serving, workflow: str, before: bool, repeated: int) -> None:
    """A reset of a finished run ends in the same report; children that it had started then are not repeated."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST)
        first = await run.result()
        earlier = len(chat.asked)
        task = await find_task(stage.client, run.id, starts(workflow), before=before)
        result = await (await reset(stage.client, run.id, task)).result()

    assert len(chat.asked) - earlier == repeated
    assert result.sections == first.sections
    assert (result.status, result.usage.model_calls) == ("done", first.usage.model_calls)


@slow
async def test_a_question_from_before_a_reset_is_not_asked(serving: Serving) -> None:
    """After a reset to its first model call a run does not wait for the answer that a former child has requested."""
    question = {"action": "ASK_HUMAN", "query": "Which cheese?", "expected_output": "any cheese"}
    chat = ScriptedChat(story(planner=in_turn(plans(question), FINISH)))
    limits = REQUEST.limits.model_copy(update={"interactive": True})
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST.model_copy(update={"limits": limits}))
        await until(run, lambda progress: progress.input_request)
        task = await find_task(stage.client, run.id, starts("ResearchWorkflow"), before=True)
        latest = await reset(stage.client, run.id, task)
        result = await latest.result()

    assert result.status == "done"
    assert not [note for note in result.notes if "Which cheese?" in note]
