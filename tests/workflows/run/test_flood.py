"""Test floods of signals to one run: it ends with its report and says what it has not read."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client

from benchmarks.durability.signals import SHORT_FEEDBACK_LENGTH, describe_outcome, flood
from tenure.algorithms.control.steering import MAX_FEEDBACK_ITEMS, MAX_FEEDBACK_LENGTH
from tests.conftest import Serving, serving_at
from tests.histories.record import serve_temporal
from tests.support.tiers import exhaustive
from tests.support.worlds import KITCHEN, Held, MemoryKnowledge, ScriptedChat, build_report, story
from tests.workflows.run.test_agent import REQUEST
from workflows.runtime.progress import UNHEARD

MAX_SIGNALS = 40
"""Signals that the server of a test accepts for one run; 10,000 by default."""


@pytest.fixture(scope="module")
async def strict_client() -> AsyncIterator[Client]:
    """Run a server that accepts few signals for one run."""
    async with serve_temporal(f"history.maximumSignalsPerExecution={MAX_SIGNALS}") as client:
        yield client


@pytest.fixture
def strict_serving(strict_client: Client, tmp_path: Path) -> Serving:
    """Serve worlds at the strict server."""
    return serving_at(strict_client, 1000, tmp_path)


@pytest.mark.parametrize("limits", [{}, {"max_calls": 90, "max_call_output": 256}], ids=["unlimited", "budget"])
async def test_a_run_ends_when_its_server_accepts_no_more_signals(
    strict_serving: Serving, limits: dict[str, int]
) -> None:
    """Signals of the parts of a run are refused as well: its report is complete and says what it does not know."""
    held = Held(build_report({"Bread": "All about it [1]."}))
    request = REQUEST.model_copy(update={"limits": REQUEST.limits.model_copy(update=limits)})
    async with strict_serving(ScriptedChat(story(report_writer=held)), MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(request)
        await held.reached.wait()
        refused = await flood(handle, 2 * MAX_SIGNALS, SHORT_FEEDBACK_LENGTH)
        held.released.set()
        result = await handle.result()
        child = stage.client.get_workflow_handle(f"{handle.id}/research")
        unheard = [
            event
            async for event in child.fetch_history_events()
            if event.HasField("signal_external_workflow_execution_failed_event_attributes")
        ]

    assert refused > MAX_SIGNALS
    assert result.status in ("done", "finished_early")
    assert result.sections and result.title == "Bread and cheese"
    # On a busy machine a part may end before its next message is due, and its result delivers the news.
    assert (UNHEARD in result.notes) == bool(unheard)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("count", "length"),
    [
        (600, SHORT_FEEDBACK_LENGTH),
        (200, MAX_FEEDBACK_LENGTH),
        pytest.param(10_000, SHORT_FEEDBACK_LENGTH, marks=exhaustive),
        pytest.param(5_000, MAX_FEEDBACK_LENGTH, marks=exhaustive),
    ],
    ids=["600-signals", "0.8-MB", "10000-signals", "20-MB"],
)
async def test_a_run_ends_after_a_flood(serving: Serving, count: int, length: int) -> None:
    """A run that receives a flood of feedback ends with its report, which names the bound of what was read."""
    held = Held(build_report({"Bread": "All about it [1]."}))
    async with serving(ScriptedChat(story(report_writer=held)), MemoryKnowledge(KITCHEN)) as stage:
        # The budget of an effort would end the run: hundreds of pieces of feedback fill its prompts.
        limits = REQUEST.limits.model_copy(update={"has_model": False})
        handle = await stage.start(REQUEST.model_copy(update={"limits": limits}))
        await held.reached.wait()
        refused = await flood(handle, count, length)
        held.released.set()
        outcome = await describe_outcome(handle, count, length, refused, (0.0, 0.0))

    assert outcome.status == "done" and outcome.failed_tasks == ()
    assert 0 < outcome.feedback <= MAX_FEEDBACK_ITEMS
    assert outcome.bounds
    assert outcome.refused_by_server < 100
    assert (UNHEARD in outcome.bounds) == (outcome.refused_by_server > 0)
