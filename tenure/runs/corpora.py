"""List, measure, drop, read, search and fill corpora, by workflows that run where the knowledge base is."""

from datetime import timedelta
from typing import Literal
from uuid import uuid4

from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import WorkflowAlreadyStartedError

from tenure.contracts.evidence.corpora import CorpusReply, CorpusRequest, IngestReport, IngestRequest, StoredPassage
from tenure.contracts.evidence.passages import DEFAULT_SEARCH_MODE, SearchRequest
from tenure.runs.errors import TenureError
from tenure.runs.filter_conditions import parse_filters
from tenure.runs.formatting import truncate_bytes
from tenure.runs.messages import SearchBody
from tenure.runs.run_ids import check_corpus
from tenure.runs.session.connection import CORPUS_WORKFLOW, INGEST_WORKFLOW, explain_refusals
from tenure.settings import ClientSettings
from workflows.runtime.task_queues import TENURE_QUEUE

ANSWER_TIMEOUT = timedelta(seconds=120)
"""Time for an answer about corpora, including the start of a worker."""


async def search_passages(request: SearchBody, settings: ClientSettings, client: Client) -> tuple[StoredPassage, ...]:
    """Return the passages that match words, best first.

    Raises:
        TenureError: the search failed, or a corpus does not exist.
    """
    named = tuple(dict.fromkeys(check_corpus(name, made=True) for name in request.corpora))
    corpora = named or tuple(one.corpus for one in (await ask_corpora(client, "list")).corpora)
    if not corpora:
        return ()
    search = SearchRequest(
        query=request.words,
        corpora=corpora,
        k=request.limit,
        mode=request.search_mode or settings.search_mode or DEFAULT_SEARCH_MODE,
        filters=parse_filters(request.filters),
    )
    return (await run_corpus_workflow(client, CorpusRequest(action="search", search=search))).passages


async def ask_corpora(client: Client, action: Literal["list", "stats", "drop"], name: str | None = None) -> CorpusReply:
    """List corpora, return statistics, or drop a corpus.

    Raises:
        Unreachable: no worker answers.
        TenureError: it failed.
    """
    return await run_corpus_workflow(client, CorpusRequest(action=action, corpus=name))


async def run_corpus_workflow(client: Client, request: CorpusRequest) -> CorpusReply:
    """Run the workflow of corpora where the knowledge base is.

    Raises:
        Unreachable: no worker answers.
        TenureError: it failed.
    """
    action = request.action
    subject = "passages" if action in ("read", "search") else request.corpus or "all corpora"
    with explain_refusals(f"corpus {action}"):
        reply: CorpusReply = await client.execute_workflow(
            CORPUS_WORKFLOW,
            request,
            id=f"corpus-{action}-{uuid4().hex[:8]}",
            task_queue=TENURE_QUEUE,
            result_type=CorpusReply,
            static_summary=f"{action} {subject}",
            execution_timeout=ANSWER_TIMEOUT,
        )
    return reply


def make_ingestion_id(corpus: str) -> str:
    """Return the workflow id of the ingestion of a corpus."""
    return f"ingest-{corpus}"


async def start_ingestion(client: Client, request: IngestRequest) -> WorkflowHandle[object, IngestReport]:
    """Start an ingestion.

    Raises:
        TenureError: the corpus is being ingested.
    """
    workflow_id = make_ingestion_id(request.corpus)
    try:
        with explain_refusals(workflow_id):
            return await client.start_workflow(
                INGEST_WORKFLOW,
                request,
                id=workflow_id,
                task_queue=TENURE_QUEUE,
                result_type=IngestReport,
                static_summary=truncate_bytes(f"{request.corpus}: {', '.join(request.paths)}"),
            )
    except WorkflowAlreadyStartedError as error:
        raise TenureError(f"corpus {request.corpus} is being ingested: try again when that is finished") from error
