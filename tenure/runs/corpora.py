"""Fill, list, measure, drop and search corpora, by workflows that run where the knowledge base is."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError

from tenure.contracts.evidence.corpora import CorpusReply, CorpusRequest, IngestReport, IngestRequest, StoredPassage
from tenure.contracts.evidence.passages import DEFAULT_SEARCH_MODE, SearchRequest
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest
from tenure.runs.filter_conditions import parse_filters
from tenure.runs.formatting import truncate_line
from tenure.runs.messages import EntityBody, SearchBody
from tenure.runs.paths import allow_reading, end_reading
from tenure.runs.run_ids import check_corpus
from tenure.runs.session.connection import (
    CORPUS_WORKFLOW,
    GRAPH_WORKFLOW,
    INGEST_WORKFLOW,
    Session,
    explain_refusals,
    run_workflow,
    start_unique_workflow,
)
from tenure.temporal import schedules
from tenure.temporal.schedules import WatchedCorpus

ANSWER_TIMEOUT = timedelta(seconds=120)
"""Time for an answer about corpora, including the start of a worker."""

GRAPH_TIMEOUT = timedelta(minutes=6)
"""Time for the relations of an entity, including the start of a worker."""

MIN_WATCH_SECONDS = 60.0
"""Minimum interval between two readings of a watched corpus: even an unchanged folder is scanned each time."""


async def search_passages(session: Session, request: SearchBody) -> tuple[StoredPassage, ...]:
    """Return the passages that match words, best first.

    Raises:
        TenureError: the search failed, or a corpus does not exist.
    """
    requested = tuple(dict.fromkeys(check_corpus(name, is_existing=True) for name in request.corpora))
    corpora = requested or tuple(stats.corpus for stats in (await ask_corpora(session, "list")).corpora)
    if not corpora:
        return ()
    search = SearchRequest(
        query=request.words,
        corpora=corpora,
        k=request.limit,
        mode=request.search_mode or session.settings.search_mode or DEFAULT_SEARCH_MODE,
        filters=parse_filters(request.filters),
    )
    return (await run_corpus_workflow(session, CorpusRequest(action="search", search=search))).passages


async def ask_corpora(
    session: Session, action: Literal["list", "stats", "drop"], name: str | None = None
) -> CorpusReply:
    """List corpora, return statistics, or drop a corpus.

    Raises:
        InvalidRequest: there is no such corpus.
        TenureError: it failed.
    """
    reply = await run_corpus_workflow(session, CorpusRequest(action=action, corpus=name))
    if name is not None and not (reply.dropped if action == "drop" else reply.corpora):
        raise InvalidRequest(f"there is no corpus {name!r}: `{PROGRAM} corpus list` shows them")
    return reply


async def run_corpus_workflow(session: Session, request: CorpusRequest) -> CorpusReply:
    """Run the workflow of corpora.

    Raises:
        Unreachable: no worker answers.
        TenureError: it failed.
    """
    action = request.action
    subject = "passages" if action in ("read", "search") else request.corpus or "all corpora"
    return await run_workflow(
        session,
        CORPUS_WORKFLOW,
        request,
        CorpusReply,
        action=f"corpus-{action}",
        summary=f"{action} {subject}",
        limit=ANSWER_TIMEOUT,
    )


def make_ingestion_id(corpus: str) -> str:
    """Return the workflow id of the ingestion of a corpus."""
    return f"ingest-{corpus}"


async def start_ingestion(session: Session, request: IngestRequest) -> WorkflowHandle[object, IngestReport]:
    """Start an ingestion, whose documents the worker may read from now on.

    Raises:
        TenureError: the corpus is being ingested.
    """
    allow_reading(session.settings, [request])
    return await start_unique_workflow(
        session,
        INGEST_WORKFLOW,
        request,
        IngestReport,
        id=make_ingestion_id(request.corpus),
        summary=f"{request.corpus}: {', '.join(request.paths)}",
        busy=f"corpus {request.corpus} is being ingested: try again when that is finished",
    )


@dataclass(frozen=True)
class DroppedCorpus:
    """Corpus that was dropped."""

    reply: CorpusReply
    """Reply of the knowledge base."""
    notes: tuple[str, ...]
    """Notes for the person, about the watching of the corpus."""


async def drop_corpus(session: Session, name: str) -> DroppedCorpus:
    """Drop a corpus, end its watching, which would create it again, and close its documents to the worker.

    Raises:
        InvalidRequest: there is no such corpus.
    """
    notes: tuple[str, ...] = ()
    try:
        if await schedules.unwatch_corpus(await session.connect(), name):
            notes = (f"corpus {name} is no longer watched",)
    except RPCError as error:
        notes = (f"cannot find out whether {name} is watched: {truncate_line(error.message, 150)}",)
    reply = await ask_corpora(session, "drop", name)
    end_reading(session.settings, name)
    return DroppedCorpus(reply, notes)


async def read_relations(session: Session, body: EntityBody) -> RelatedReply:
    """Return the relations of an entity.

    Raises:
        TenureError: the graph cannot be read.
    """
    corpus = check_corpus(body.corpus, is_existing=True)
    request = RelatedRequest(entity=body.entity, corpora=(corpus,), limit=body.limit)
    return await run_workflow(
        session,
        GRAPH_WORKFLOW,
        request,
        RelatedReply,
        action="graph",
        summary=f"{corpus}: {body.entity}",
        limit=GRAPH_TIMEOUT,
    )


async def watch_corpus(session: Session, request: IngestRequest, every: timedelta) -> None:
    """Read the documents of a corpus again at an interval.

    Raises:
        TenureError: the server refuses the schedule.
    """
    with explain_refusals(f"watch-{request.corpus}"):
        await schedules.watch_corpus(await session.connect(), request, every)


async def list_watched_corpora(session: Session) -> list[WatchedCorpus]:
    """Return the watched corpora by name.

    Raises:
        TenureError: the server refuses.
    """
    client = await session.connect()
    with explain_refusals("corpus watched"):
        watched = [corpus async for corpus in schedules.list_watched_corpora(client)]
    return sorted(watched, key=lambda corpus: corpus.corpus)


async def unwatch_corpus(session: Session, name: str) -> None:
    """End the watching of a corpus.

    Raises:
        InvalidRequest: it is not watched.
    """
    with explain_refusals(f"watch-{name}"):
        if not await schedules.unwatch_corpus(await session.connect(), name):
            raise InvalidRequest(f"corpus {name!r} is not watched: `{PROGRAM} corpus watched` lists the watched ones")
