"""Folders that are watched, as schedules."""

import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from temporalio.client import ScheduleActionExecutionStartWorkflow
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.evidence.corpora import IngestReport, IngestRequest
from tenure.temporal.schedules import list_watched_corpora, unwatch_corpus, watch_corpus
from tests.conftest import Serving
from tests.support.worlds import MemoryKnowledge


def request(*paths: str) -> IngestRequest:
    """Return a request for a corpus that no other test has."""
    return IngestRequest(corpus=f"c{uuid4().hex[:8]}", paths=paths)


async def test_a_watched_corpus_is_listed_until_it_is_not_watched(server: WorkflowEnvironment) -> None:
    """One schedule a corpus: watching it again replaces interval and paths, and ending it twice does no harm."""
    client, wanted = server.client, request("/a")
    await watch_corpus(client, wanted, timedelta(minutes=10))
    await watch_corpus(client, wanted.model_copy(update={"paths": ("/a", "/b")}), timedelta(hours=2))
    while True:  # a list of schedules lags behind their making
        if found := [one async for one in list_watched_corpora(client) if one.corpus == wanted.corpus]:
            break
        await asyncio.sleep(0.05)
    ended = [await unwatch_corpus(client, wanted.corpus) for _ in range(2)]

    [one] = found
    assert (one.every, one.paths, one.paused, one.last) == (timedelta(hours=2), ("/a", "/b"), False, None)
    assert ended == [True, False]


async def test_a_watched_folder_is_read_by_its_schedule(serving: Serving, tmp_path: Path) -> None:
    """The schedule starts an ordinary ingestion of the corpus's paths."""
    wanted = request(str(tmp_path))
    async with serving(None, MemoryKnowledge({})) as stage:
        await watch_corpus(stage.client, wanted, timedelta(days=1))
        handle = stage.client.get_schedule_handle(f"watch-{wanted.corpus}")
        await handle.trigger()
        while True:
            if actions := (await handle.describe()).info.recent_actions:
                break
            await asyncio.sleep(0.05)
        action = actions[0].action
        assert isinstance(action, ScheduleActionExecutionStartWorkflow)
        run = stage.client.get_workflow_handle(action.workflow_id, result_type=IngestReport)
        report = await run.result()
        await handle.delete()

    assert action.workflow_id.startswith(f"ingest-{wanted.corpus}-")
    assert report.corpus == wanted.corpus
