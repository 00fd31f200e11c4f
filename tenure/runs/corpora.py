"""Fill, list, measure, drop and search corpora, by workflows that run where the knowledge base is."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError

from tenure.contracts.evidence.corpora import (
    CorpusReply,
    CorpusRequest,
    DocumentChoice,
    IngestReport,
    IngestRequest,
    StoredPassage,
)
from tenure.contracts.evidence.passages import DEFAULT_SEARCH_MODE, SearchRequest
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest, MissingCorpus, TenureError
from tenure.runs.filter_conditions import parse_filters
from tenure.runs.formatting import truncate_line
from tenure.runs.messages import CorpusDetails, EntityBody, SearchBody
from tenure.runs.paths import allow_reading, end_reading, list_document_paths, plan_ingestion
from tenure.runs.run_ids import check_corpus
from tenure.runs.session.connection import (
    AGENT_WORKFLOW,
    CORPUS_WORKFLOW,
    GRAPH_WORKFLOW,
    INGEST_WORKFLOW,
    Session,
    explain_refusals,
    run_workflow,
    start_unique_workflow,
)
from tenure.runs.session.run_records import find_run, open_run
from tenure.runs.uploads import delete_upload
from tenure.settings.home import HomeSettings
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


async def ask_corpora(session: Session, action: Literal["list", "stats"], name: str | None = None) -> CorpusReply:
    """List corpora, or return statistics.

    Raises:
        MissingCorpus: there is no such corpus.
        TenureError: it failed.
    """
    reply = await run_corpus_workflow(session, CorpusRequest(action=action, corpus=name))
    if name is not None and not reply.corpora:
        raise MissingCorpus(name)
    return reply


async def describe_corpus(session: Session, name: str, chosen: DocumentChoice) -> CorpusDetails:
    """Return the state of a corpus with a page of its documents.

    Raises:
        MissingCorpus: there is no such corpus, and no documents were uploaded for it.
    """
    corpus = check_corpus(name, is_existing=True)
    request = CorpusRequest(action="documents", corpus=corpus, documents=chosen)
    reply, reading, watched = await asyncio.gather(
        run_corpus_workflow(session, request),
        find_run(session, make_ingestion_id(corpus)),
        list_watched_corpora(session),
    )
    paths = list_document_paths(session.settings, corpus)
    if not reply.corpora and not paths and reading is None:
        raise MissingCorpus(corpus)
    report, failure = None, ""
    if reading is not None and not reading.is_running:
        try:
            report = await reading.read_result(IngestReport)
        except TenureError as error:
            failure = str(error)
    return CorpusDetails(
        corpus=corpus,
        stats=next(iter(reply.corpora), None),
        paths=paths,
        documents=reply.documents,
        documents_total=reply.documents_total,
        is_reading=reading is not None and reading.is_running,
        report=report,
        failure=failure,
        watch_seconds=next((one.every.total_seconds() for one in watched if one.corpus == corpus), None),
    )


def plan_rereading(settings: HomeSettings, name: str, *, include_secrets: bool = False) -> IngestRequest:
    """Return the ingestion of the files and folders that a corpus was made from.

    Raises:
        InvalidRequest: none of them are known or exist.
    """
    paths = [path for path in list_document_paths(settings, name) if Path(path).exists()]
    if not paths:
        raise InvalidRequest(f"the files of corpus {name!r} are not known or do not exist: name them again")
    return plan_ingestion(paths, name, include_secrets=include_secrets)


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
    allow_reading(session.place, [request])
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
    """Drop a corpus with its uploaded documents, end its watching, and close its documents to the worker.

    Raises:
        MissingCorpus: there is no such corpus, and no documents were uploaded for it.
        TenureError: it is being read, or a run uses it.
    """
    if user := await _find_user(session, name):
        raise TenureError(f"{user} uses corpus {name}: wait for its end, or cancel it first")
    notes: tuple[str, ...] = ()
    try:
        if await schedules.unwatch_corpus(await session.connect(), name):
            notes = (f"corpus {name} is no longer watched",)
    except RPCError as error:
        notes = (f"cannot find out whether {name} is watched: {truncate_line(error.message, 150)}",)
    reply = await run_corpus_workflow(session, CorpusRequest(action="drop", corpus=name))
    end_reading(session.settings, name)
    if not delete_upload(session.settings, name) and not reply.dropped:
        raise MissingCorpus(name)
    return DroppedCorpus(reply, notes)


async def _find_user(session: Session, name: str) -> str:
    """Return the id of a running ingestion or run that reads a corpus, or an empty text."""
    client = await session.connect()
    query = f"WorkflowType IN ('{AGENT_WORKFLOW}', '{INGEST_WORKFLOW}') AND ExecutionStatus = 'Running'"
    with explain_refusals(name):
        running = [execution async for execution in client.list_workflows(query)]
    for execution in running:
        if execution.workflow_type == INGEST_WORKFLOW:
            if execution.id == make_ingestion_id(name):
                return execution.id
        elif name in (await (await open_run(session, execution.id)).read_run_request()).corpora:
            return execution.id
    return ""


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


def check_interval(seconds: float) -> timedelta:
    """Return the interval at which a corpus is read again.

    Raises:
        InvalidRequest: it is too short.
    """
    if seconds < MIN_WATCH_SECONDS:
        raise InvalidRequest("must be at least 1m: even an unchanged folder is scanned each time", "every")
    return timedelta(seconds=seconds)


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
