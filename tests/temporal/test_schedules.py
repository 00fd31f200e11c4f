"""Folders that are watched, as schedules."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from temporalio.testing import WorkflowEnvironment

from tenure.contracts.evidence.corpora import IngestReport, IngestRequest
from tenure.temporal.schedules import list_watched_corpora, unwatch_corpus, watch_corpus
from tests.conftest import Serving
from tests.support.schedules import wait_for_action
from tests.support.waiting import wait_until
from tests.support.worlds import MemoryKnowledge


def request(*paths: str) -> IngestRequest:
    """Return a request for a corpus that no other test has."""
    return IngestRequest(corpus=f"c{uuid4().hex[:8]}", paths=paths)


async def test_a_watched_corpus_is_listed_until_it_is_not_watched(server: WorkflowEnvironment) -> None:
    """One schedule a corpus: watching it again replaces interval and paths, and ending it twice does no harm."""
    client, wanted = server.client, request("/a")
    await watch_corpus(client, wanted, timedelta(minutes=10))
    await watch_corpus(client, wanted.model_copy(update={"paths": ("/a", "/b")}), timedelta(hours=2))

    async def find() -> list[Any]:
        return [one async for one in list_watched_corpora(client) if one.corpus == wanted.corpus]

    found = await wait_until("the new schedule in the list", find)
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
        run_id = await wait_for_action(handle)
        report = await stage.client.get_workflow_handle(run_id, result_type=IngestReport).result()
        await handle.delete()

    assert run_id.startswith(f"ingest-{wanted.corpus}-")
    assert report.corpus == wanted.corpus
