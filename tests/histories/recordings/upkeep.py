"""Record the workflows that keep the knowledge base: documents, vectors, relations, tables, memories, maintenance."""

from datetime import UTC, datetime
from typing import Any

from tenure.contracts.evidence.corpora import CorpusRequest, IngestRequest
from tenure.contracts.evidence.tables import SqlRequest
from tenure.contracts.knowledge.graph import RelatedRequest
from tenure.contracts.knowledge.memory import (
    ForgetRequest,
    MemoriesRequest,
    MemoryRequest,
    MemorySearchRequest,
    NewMemory,
    RememberRequest,
    WriteMemoryRequest,
)
from tenure.knowledge.base import KnowledgeBase
from tests.histories.recorder import SHORT, Recorder, wait_for_event
from tests.knowledge.word_vectors import WordVectors
from tests.support.worlds import KITCHEN, MemoryKnowledge
from tests.workflows.upkeep.test_embed import ColdKnowledge
from workflows.run.agent import AgentWorkflow
from workflows.upkeep.archive import ArchiveSweepWorkflow
from workflows.upkeep.embed import EmbedWorkflow
from workflows.upkeep.knowledge import CorpusWorkflow, GraphWorkflow, IngestWorkflow, MemoryWorkflow, SqlWorkflow
from workflows.upkeep.maintenance import ConsolidationWorkflow, MaintenanceWorkflow

INGEST = IngestRequest(corpus="kitchen", paths=("/kitchen",))
NOW = datetime(2030, 1, 1, tzinfo=UTC)


async def archive(recorder: Recorder) -> None:
    """Record a run that archives itself at its end, and a search for ended runs that did not."""
    async with recorder.serve(None, MemoryKnowledge(dict(KITCHEN))):
        run = await recorder.start(AgentWorkflow.run, SHORT.model_copy(update={"ingest": ()}))
        await run.result()
        await recorder.start(ArchiveSweepWorkflow.run, suffix="-sweep")
        await recorder.wait_for_end()


async def ingest(recorder: Recorder) -> None:
    """Record an ingestion that leaves no vector to compute."""
    await _run_alone(recorder, MemoryKnowledge(dict(KITCHEN)), IngestWorkflow.run, INGEST)


async def ingest_and_embed(recorder: Recorder) -> None:
    """Record an ingestion whose vectors are computed afterwards."""
    knowledge = ColdKnowledge()
    knowledge.released.set()
    await _run_alone(recorder, knowledge, IngestWorkflow.run, INGEST)


async def embed(recorder: Recorder) -> None:
    """Record an embedding that is paused, resumed, and cancelled at last."""
    knowledge = ColdKnowledge()
    async with recorder.serve(None, knowledge):
        handle = await recorder.start(EmbedWorkflow.run, "kitchen")
        await knowledge.embedding()
        await handle.signal(EmbedWorkflow.pause)
        await wait_for_event(handle, lambda event: event.HasField("activity_task_canceled_event_attributes"))
        await handle.signal(EmbedWorkflow.resume)
        await knowledge.embedding()
        await handle.cancel()
        await recorder.wait_for_end()


async def embed_in_background(recorder: Recorder) -> None:
    """Record two runs on a corpus without vectors, of which only the first starts an embedding."""
    knowledge = ColdKnowledge()
    async with recorder.serve(None, knowledge):
        for suffix in ("", "-second"):
            run = await recorder.start(AgentWorkflow.run, SHORT, suffix=suffix)
            await run.result()
        knowledge.released.set()
        await recorder.wait_for_end()


async def graph(recorder: Recorder) -> None:
    """Record the lookup of an entity."""
    request = RelatedRequest(entity="Ghent", corpora=("towns",))
    await _run_alone(recorder, _build_towns(recorder), GraphWorkflow.run, request)


async def corpus(recorder: Recorder) -> None:
    """Record the list of the corpora."""
    await _run_alone(recorder, MemoryKnowledge(dict(KITCHEN)), CorpusWorkflow.run, CorpusRequest(action="list"))


async def sql(recorder: Recorder) -> None:
    """Record a query of a person, with documents that are read before."""
    request = SqlRequest(sql="SELECT 1", ingest=(INGEST,), corpora=("kitchen",))
    await _run_alone(recorder, MemoryKnowledge(dict(KITCHEN)), SqlWorkflow.run, request)


async def maintenance(recorder: Recorder) -> None:
    """Record a maintenance of the tables."""
    await _run_alone(recorder, MemoryKnowledge({}), MaintenanceWorkflow.run)


async def consolidation(recorder: Recorder) -> None:
    """Record a consolidation of memories."""
    await _run_alone(recorder, _build_memories(recorder), ConsolidationWorkflow.run)


async def memories(recorder: Recorder) -> None:
    """Record that memories are forgotten, searched and listed."""
    request = MemoryRequest(
        forget=ForgetRequest(owner="ann", all_memories=True),
        search=MemorySearchRequest(query="bees dance", now=NOW),
        page=MemoriesRequest(),
    )
    await _run_alone(recorder, _build_memories(recorder), MemoryWorkflow.run, request)


async def memory_written(recorder: Recorder) -> None:
    """Record that a person writes a memory, which is then listed."""
    write = WriteMemoryRequest(text="We use metric units.", kind="preference", owner="ann", now=NOW)
    request = MemoryRequest(write=write, page=MemoriesRequest(owner="ann"))
    await _run_alone(recorder, _build_memories(recorder), MemoryWorkflow.run, request)


async def _run_alone(recorder: Recorder, knowledge: Any, run: Any, *request: Any) -> None:
    """Record one workflow without commands."""
    async with recorder.serve(None, knowledge):
        await recorder.start(run, *request)
        await recorder.wait_for_end()


def _build_memories(recorder: Recorder) -> KnowledgeBase:
    knowledge = KnowledgeBase(str(recorder.folder / "knowledge"), WordVectors())
    said = tuple(NewMemory(text=text, kind="long_term") for text in ("Bees dance.", "bees dance", "Bread bakes."))
    knowledge.memories.remember(RememberRequest(memories=said[:1], owner="ann", now=NOW))
    knowledge.memories.remember(RememberRequest(memories=said, now=NOW))
    return knowledge


def _build_towns(recorder: Recorder) -> Any:
    """Return a knowledge base with a corpus of a dozen passages."""
    towns = recorder.folder / "towns"
    towns.mkdir()
    for name in (f"{letter}stad" for letter in "ABCDEFGHIJKL"):
        (towns / f"{name}.md").write_text(f"# {name}\n\n{name} lies near Ghent.\n", encoding="utf-8")
    knowledge = KnowledgeBase(str(recorder.folder / "knowledge"), WordVectors())
    request = IngestRequest(corpus="towns", paths=(str(towns),))
    knowledge.corpora.ingest(request, lambda progress: None)
    return knowledge
