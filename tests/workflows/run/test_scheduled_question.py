"""A scheduled question on a real schedule: its next report starts with the changes in the documents."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleHandle,
    ScheduleSpec,
    ScheduleState,
)

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.knowledge.base import KnowledgeBase
from tests.conftest import Serving
from tests.knowledge.word_vectors import WordVectors
from tests.support.schedules import wait_for_action
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

SOURDOUGH = "Sourdough bread is baked for forty minutes in the oven."
LONGER = "Sourdough bread is baked for fifty minutes in the oven."


async def report(client: Client, handle: ScheduleHandle, number: int) -> Result:
    """Trigger the question and return its report as soon as the schedule knows that it has ended."""
    await handle.trigger()
    run: Any = client.get_workflow_handle(await wait_for_action(handle, number), result_type=Result)
    result: Result = await run.result()
    return result


@slow
async def test_report_starts_with_the_changes(serving: Serving, tmp_path: Path) -> None:
    """Only the changed file is read again; the report compares its new words with the removed ones."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bread.md").write_text(f"# Bread\n\n{SOURDOUGH}\n", encoding="utf-8")
    (docs / "rye.md").write_text("# Rye\n\nRye bread is baked for two hours in the oven.\n", encoding="utf-8")
    corpus, name = f"c{uuid4().hex[:8]}", f"test-question-{uuid4().hex[:8]}"
    request = RunRequest(
        question="How long is bread baked in the oven?",
        mode="research",
        ingest=(IngestRequest(corpus=corpus, paths=(str(docs),)),),
        corpora=(corpus,),
        limits=RunLimits(min_relevance=0.01, max_sections=1, max_cycles=1, max_report_revisions=0),
        scheduled=True,
    )
    action = ScheduleActionStartWorkflow(AgentWorkflow.run, request, id=name, task_queue=TENURE_QUEUE)
    wanted = Schedule(action, spec=ScheduleSpec(cron_expressions=["0 8 * * 1"]), state=ScheduleState(paused=True))
    knowledge: Any = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    async with serving(None, knowledge) as stage:
        handle = await stage.client.create_schedule(name, wanted)
        try:
            first = await report(stage.client, handle, 1)
            assert first.changes is not None
            # A file that is read within the second of the last report is not distinguished from it.
            reported_at = first.changes.at
            await wait_until("the next second", lambda: datetime.now(UTC).isoformat(timespec="seconds") > reported_at)
            (docs / "bread.md").write_text(f"# Bread\n\n{LONGER}\n", encoding="utf-8")
            second = await report(stage.client, handle, 2)
            third = await report(stage.client, handle, 3)
        finally:
            await handle.delete()

    assert not first.changes.since
    written = [*first.abstract_claims, *(claim for section in first.sections for claim in section.claims)]
    assert any(SOURDOUGH in claim.text for claim in written)
    assert f"Files of corpus “{corpus}”: 2 (0 new, 1 changed, 0 removed)." in second.notes
    assert second.changes is not None and second.changes.since == first.id
    assert [(one.before.text, one.after.text) for one in second.changes.changed] == [(SOURDOUGH, LONGER)]
    assert second.changes.unchanged >= 1
    assert third.changes is not None and third.changes.since == second.id
    assert (third.changes.new, third.changes.changed, third.changes.withdrawn) == ((), (), ())
