"""Finished runs are copied into the archive and read there when the server has deleted them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import Client, ScheduleHandle, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.base import RunId
from tenure.contracts.knowledge.archive import ArchiveReport, ArchiveRequest
from tenure.contracts.result.ask import AskRequest
from tenure.contracts.result.batch import BatchItem, BatchRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.runs.fork import read_origin
from tenure.runs.reading import trace_record
from tenure.runs.session.run_records import open_on_server
from tenure.settings import Settings
from tenure.temporal.archive import container
from tenure.temporal.archive.archiver import RunArchiver, collect_run
from tenure.temporal.archive.container import ArchivedDocument, ArchivedRunSource, decode_run
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.schedules import make_upkeep_id, schedule_upkeep
from tests.conftest import Serving, open_archive
from tests.report.traces import trace_run
from tests.support.histories import delete_histories, wait_until_archived
from tests.support.schedules import wait_for_action
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.support.worlds import KITCHEN, MemoryKnowledge
from tests.workflows.run.test_agent import until
from workflows.run.agent import AgentWorkflow
from workflows.run.batch import BatchWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE
from workflows.upkeep.archive import ArchiveSweepWorkflow, choose_since

LIMITS = RunLimits(min_relevance=0.05, max_sections=1, max_cycles=1, max_report_revisions=0)
REQUEST = RunRequest(question="How is bread made?", corpora=("kitchen",), limits=LIMITS)
NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
NOTHING = REQUEST.model_copy(update={"question": "Quantum chromodynamics?"})


def read_archived(folder: Path, run_id: str) -> ArchivedDocument:
    """Return the content of the archive for the only archived run with an id."""
    runs = open_archive(folder)
    [described] = runs.describe_runs(run_id)
    run = runs.load_run(described.execution)
    assert run is not None
    return decode_run(run.archive)


async def test_an_ended_run_is_archived(serving: Serving, tmp_path: Path) -> None:
    """Without any command the archive has the run once, with status and result, when it has ended."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(NOTHING)
        result = await run.result()
        await wait_until_archived(stage.client)
        execution = (await run.describe()).run_id
    [described] = open_archive(tmp_path).describe_runs(run.id)
    end = await ArchivedRunSource(read_archived(tmp_path, run.id), DATA_CONVERTER).fetch_end()
    assert end.result

    assert (described.execution, described.type, described.status) == (execution, "AgentWorkflow", "no_evidence")
    assert (described.phase, described.mode) == ("done", "RESEARCH")
    assert described.started_at < described.closed_at
    assert await DATA_CONVERTER.decode([end.result], [Result]) == [result]


@slow
async def test_a_deleted_run_has_its_whole_trace(serving: Serving, tmp_path: Path) -> None:
    """The archive has the story and the checkpoints of a run, also when the server has no history any more."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST)
        await run.result()
        await wait_until_archived(stage.client)
        record = await open_on_server(stage.client, run.id)
        before = await trace_record(record), await read_origin(record, 1)
        await stage.replay()
        stage.forget()
        await delete_histories(stage.client, run.id)
    kept = replace(record, source=ArchivedRunSource(read_archived(tmp_path, run.id), DATA_CONVERTER))
    after = await trace_record(kept), await read_origin(kept, 1)

    assert before[0].cycles and before[0].sections and before[0].calls
    assert after == before


@slow
async def test_a_run_without_a_result_is_archived_with_its_story(serving: Serving, tmp_path: Path) -> None:
    """A terminated run reports its records until then; it is archived without them if no worker answers."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST.model_copy(update={"limits": LIMITS.model_copy(update={"approve_plan": True})}))
        await until(run, lambda progress: progress.input_request)
        await run.terminate(reason="by hand")
        described = await run.describe()
        told = await trace_run(stage.client, run.id)
        document = await collect_run(stage.client, run.id, described.run_id)
        record = await open_on_server(stage.client, run.id)
    kept = replace(record, source=ArchivedRunSource(document, DATA_CONVERTER))
    silent = replace(record, source=ArchivedRunSource(document.model_copy(update={"story": None}), DATA_CONVERTER))

    assert (told.status, document.reason) == ("terminated", "by hand")
    assert {call.kind for call in told.calls} >= {"model", "search"} and told == await trace_record(kept)
    assert "were not kept" in (await trace_record(silent)).notes[0]


async def test_a_cancelled_run_is_archived(serving: Serving, tmp_path: Path) -> None:
    """A run that was cancelled from outside archives itself with this status."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST.model_copy(update={"limits": LIMITS.model_copy(update={"approve_plan": True})}))
        await run.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        await wait_until_archived(stage.client)

    [described] = open_archive(tmp_path).describe_runs(run.id)
    assert described.status == "cancelled"
    assert read_archived(tmp_path, run.id).story


@slow
async def test_the_sweep_archives_what_could_not_do_so_itself(serving: Serving, tmp_path: Path) -> None:
    """A terminated run is archived by the scheduled workflow, once, and runs that are archived are left alone."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        ended = await stage.start(NOTHING)
        await ended.result()
        run = await stage.start(REQUEST.model_copy(update={"limits": LIMITS.model_copy(update={"approve_plan": True})}))
        await run.query(AgentWorkflow.progress)
        await run.terminate("by hand")
        await until_listed(stage.client, run.id)
        await wait_until_archived(stage.client)
        reports = [await sweep(stage.client) for _ in range(2)]

    assert open_archive(tmp_path).describe_runs(run.id)[0].status == "terminated"
    assert len(open_archive(tmp_path).describe_runs(ended.id)) == 1
    assert reports[0].archived >= 1 and reports[1].archived == 0
    assert reports[1].known >= 2 and reports[1].failed == ()


async def until_listed(client: Client, run_id: str) -> None:
    """Wait until the server lists a run as ended."""
    query = f"WorkflowId = '{run_id}' AND ExecutionStatus = 'Terminated'"
    await wait_until("the run in the list", lambda: client.count_workflows(query), lambda found: found.count)


async def sweep(client: Client) -> ArchiveReport:
    """Run the scheduled workflow."""
    report: ArchiveReport = await client.execute_workflow(
        ArchiveSweepWorkflow.run, id=f"sweep-{uuid4().hex[:8]}", task_queue=TENURE_QUEUE
    )
    return report


@pytest.mark.parametrize(
    ("last", "since"),
    [
        (ArchiveReport(), None),
        (ArchiveReport(began=NOW - timedelta(hours=1), all_listed=NOW - timedelta(days=6)), NOW - timedelta(hours=25)),
        (ArchiveReport(began=NOW - timedelta(hours=1), all_listed=NOW - timedelta(days=7)), None),
        (ArchiveReport(began=NOW, all_listed=NOW, failed=("run: its archive is too large",)), None),
    ],
)
def test_a_sweep_begins_before_the_last_one(last: ArchiveReport, since: datetime | None) -> None:
    """All runs are listed first, after a failure and once in a week; otherwise those since a day before the last."""
    assert choose_since(last, NOW) == since


async def test_a_sweep_lists_no_run_that_ended_before_its_time(serving: Serving, tmp_path: Path) -> None:
    """A run that ended before that time is not read again, and a later run is archived."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(NOTHING)
        await run.result()
        await wait_until_archived(stage.client)
        closed = (await run.describe()).close_time
        assert closed is not None
        archiver = RunArchiver(stage.client, open_archive(tmp_path / "other"))
        after, before = (closed + timedelta(seconds=shift) for shift in (1, -1))
        none = await archiver.archive_missing(after, lambda progress: None)
        one = await archiver.archive_missing(before, lambda progress: None)

    assert (none.archived, none.known, none.all_listed) == (0, 0, None)
    assert one.archived >= 1 and open_archive(tmp_path / "other").describe_runs(run.id)


@slow
async def test_the_schedule_passes_on_when_runs_were_listed(serving: Serving, tmp_path: Path) -> None:
    """The second sweep of a schedule knows when the first one has listed all runs, and lists fewer."""
    settings = Settings(home=tmp_path, maintenance_hours=0, consolidation_hours=0, archive_hours=3)
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        schedule = stage.client.get_schedule_handle(make_upkeep_id("archive", settings.knowledge_uri))
        await schedule_upkeep(stage.client, settings)
        first = await read_sweep(stage.client, schedule, 1)
        await schedule.trigger()
        second = await read_sweep(stage.client, schedule, 2)
        await schedule.delete()

    assert first.began is not None and first.all_listed == first.began
    assert second.began is not None and second.began > first.began and second.all_listed == first.began


async def read_sweep(client: Client, schedule: ScheduleHandle, number: int) -> ArchiveReport:
    """Wait for a sweep of a schedule, and return its result."""
    name = await wait_for_action(schedule, number)
    report: ArchiveReport = await client.get_workflow_handle(name, result_type=ArchiveReport).result()
    return report


@slow
async def test_answers_and_batches_are_archived(serving: Serving, tmp_path: Path) -> None:
    """Follow-up questions and batches archive themselves; the runs of a batch have archives of their own."""
    items = (BatchItem(key="1", question="Quantum chromodynamics?"),)
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        asked = await stage.ask(
            AskRequest(run=RunId("r"), topic="Bread", question="What is rye?", corpora=("kitchen",), limits=LIMITS)
        )
        await asked.result()
        batch: WorkflowHandle[Any, Any] = await stage.client.start_workflow(
            BatchWorkflow.run,
            BatchRequest(shared=REQUEST, items=items),
            id=f"test-batch-{uuid4().hex[:8]}",
            task_queue=TENURE_QUEUE,
        )
        stage.adopt(batch)
        await batch.result()
        await wait_until_archived(stage.client)
    found = open_archive(tmp_path)

    assert found.describe_runs(asked.id)[0].type == "AskWorkflow"
    assert found.describe_runs(batch.id)[0].status == ""
    assert read_archived(tmp_path, batch.id).runs == (f"{batch.id}-1",)
    assert found.describe_runs(f"{batch.id}-1")[0].status == "no_evidence"


async def test_a_run_without_a_request_is_left_out(
    server: WorkflowEnvironment, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names an ended run that another program has started without a request; it is no failure of a sweep."""
    run = await server.client.start_workflow("AgentWorkflow", id=f"bare-{uuid4().hex[:8]}", task_queue="unserved")
    await run.terminate()
    archiver = RunArchiver(server.client, open_archive(tmp_path / "other"))
    while run.id not in caplog.text:  # the server lists an ended run a little later
        report = await archiver.archive_missing(None, lambda progress: None)

    assert not any(line.startswith(run.id) for line in report.failed)
    with pytest.raises(ApplicationError, match="has no request"):
        await archiver.archive_run(ArchiveRequest(run=RunId(run.id), execution=run.first_execution_run_id or ""))


async def test_a_run_that_is_too_large_is_reported(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its archiving fails with one line at the first attempt, and the sweep names it and archives the others."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(NOTHING)
        await run.result()
        await wait_until_archived(stage.client)
        execution = (await run.describe()).run_id
        archiver = RunArchiver(stage.client, open_archive(tmp_path / "other"))
        monkeypatch.setattr(container, "MAX_RUN_BYTES", 10)
        with pytest.raises(ApplicationError, match=f"run {run.id} is not archived, since its archive is too") as failed:
            await archiver.archive_run(ArchiveRequest(run=RunId(run.id), execution=execution))
        report = await archiver.archive_missing(None, lambda progress: None)

    assert failed.value.non_retryable and "\n" not in failed.value.message
    assert report.archived == 0 and any(line.startswith(f"{run.id}: its archive is too") for line in report.failed)


@slow
async def test_the_first_worker_archives_earlier_runs(serving: Serving, tmp_path: Path) -> None:
    """The schedule of the sweep starts it when it is created, and again at the interval of the settings."""
    settings = Settings(home=tmp_path, maintenance_hours=0, consolidation_hours=0, archive_hours=3)
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        schedule = stage.client.get_schedule_handle(make_upkeep_id("archive", settings.knowledge_uri))
        await schedule_upkeep(stage.client, settings)
        await wait_for_action(schedule)
        intervals = (await schedule.describe()).schedule.spec.intervals
        await schedule_upkeep(stage.client, settings)
        repeated = (await schedule.describe()).info.num_actions
        await schedule_upkeep(stage.client, settings.model_copy(update={"archive_hours": 0}))
        with pytest.raises(RPCError, match="not found"):
            await schedule.describe()

    assert [interval.every for interval in intervals] == [timedelta(hours=3)]
    assert repeated == 1


async def test_archiving_twice_leaves_one_row(serving: Serving, tmp_path: Path) -> None:
    """A repeated activity writes the same row, and a run that the server has removed changes nothing."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(NOTHING)
        await run.result()
        await wait_until_archived(stage.client)
        request = ArchiveRequest(run=RunId(run.id), execution=(await run.describe()).run_id)
        first = open_archive(tmp_path).load_run(request.execution)
        archiver = RunArchiver(stage.client, open_archive(tmp_path))
        again = await archiver.archive_run(request)
        gone = await archiver.archive_run(request.model_copy(update={"run": RunId("nowhere")}))

    assert first is not None and open_archive(tmp_path).load_run(request.execution) == first
    assert again == len(first.archive)
    assert gone == 0
    assert len(open_archive(tmp_path).list_runs("AgentWorkflow")) == 1
