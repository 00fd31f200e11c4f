"""Commands `corpus relate` and `corpus graph`: extract relations with a model, and look up an entity."""

import asyncio
from argparse import Namespace
from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from tenure.cli.follow import follow_with_reports
from tenure.cli.progress.display import ProgressDisplay, choose_display
from tenure.cli.terminal import make_stderr_console, print_json, print_line, print_note
from tenure.contracts.knowledge.graph import (
    CO_OCCURRENCE,
    EntityRelation,
    RelatedReply,
    RelatedRequest,
    RelateReport,
    RelateRequest,
)
from tenure.contracts.run.run import RunLimits
from tenure.runs.errors import TenureError
from tenure.runs.formatting import format_count, truncate_bytes, truncate_line
from tenure.runs.session.connection import GRAPH_WORKFLOW, RELATE_WORKFLOW, explain_refusals, open_session
from tenure.runs.session.run_query import RunQuery
from tenure.runs.session.server_target import ServerTarget
from workflows.runtime.task_queues import TENURE_QUEUE

ANSWER_TIMEOUT = timedelta(minutes=6)
"""Time for a lookup, including the start of a worker."""
_LOOK_SECONDS = 2.0
_MAX_SENTENCE_CHARS = 160
_ENDINGS = {
    "complete": "all passages are read",
    "no model": "there is no chat model: OPENAI_API_KEY or OPENAI_BASE_URL names one",
    "stopped": "stopped; the same command continues",
}


async def relate(arguments: Namespace, place: ServerTarget) -> int:
    """Start the extraction of relations from a corpus, follow it and print its report."""
    client = await open_session(place)
    corpus = arguments.name
    bounds = {name: getattr(arguments, name) for name in ("max_tokens", "max_cost_usd", "max_calls")}
    request = RelateRequest(corpus=corpus, limits=RunLimits(**{k: v for k, v in bounds.items() if v is not None}))
    workflow_id = f"relate-{corpus}"
    try:
        with explain_refusals(workflow_id):
            handle: WorkflowHandle[object, RelateReport] = await client.start_workflow(
                RELATE_WORKFLOW,
                request,
                id=workflow_id,
                task_queue=TENURE_QUEUE,
                result_type=RelateReport,
                static_summary=truncate_bytes(f"extract relations from {corpus}"),
            )
    except WorkflowAlreadyStartedError as error:
        raise TenureError(
            f"relations are already being extracted from {corpus}: {workflow_id} in the web UI"
        ) from error
    with choose_display(make_stderr_console(), arguments.verbosity) as display:
        report = await follow_with_reports(client, place, handle, display, _report_progress(handle, display))
    if arguments.json:
        print_json(report.model_dump(mode="json"))
    else:
        ending = _ENDINGS.get(report.stop_reason, f"the budget of {report.stop_reason} is used up")
        print_line(f"{_line(report)}; {ending}")
    return 0


async def _report_progress(handle: WorkflowHandle[object, RelateReport], display: ProgressDisplay) -> None:
    """Print the progress of the extraction periodically."""
    said, query = "", RunQuery("reading", RelateReport)
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        # The caller that follows the workflow reports a missing worker.
        with suppress(RPCError):
            report = await query.read(handle, await handle.describe())
            if report and report.total and _line(report) != said:
                said = _line(report)
                display.report(said)


def _line(report: RelateReport) -> str:
    cost = "" if report.usage.cost_usd is None else f", {report.usage.cost_usd:.4f} USD"
    return (
        f"corpus {report.corpus}: {report.total - report.unread:,} of "
        f"{format_count(report.total, 'passage')} read; this time "
        f"{format_count(report.relations, 'relation')} kept, {report.refused:,} refused, "
        f"{format_count(report.usage.model_calls, 'answer')} of the model, "
        f"{report.usage.tokens_in + report.usage.tokens_out:,} tokens{cost}"
    )


async def show_graph(arguments: Namespace, place: ServerTarget) -> int:
    """Look up an entity and print its relations."""
    reply = await _related(await open_session(place), arguments)
    if arguments.json:
        print_json(reply.model_dump(mode="json"))
    elif reply.relations:
        _print(reply)
    else:
        alike = f"; known are {', '.join(reply.similar_entities)}" if reply.similar_entities else ""
        print_note(f"the graph of {arguments.name} has no relation of {arguments.entity!r}{alike}")
    return 0


async def _related(client: Client, arguments: Namespace) -> RelatedReply:
    request = RelatedRequest(entity=arguments.entity, corpora=(arguments.name,), limit=arguments.most or 20)
    workflow_id = f"graph-{uuid4().hex[:8]}"
    with explain_refusals(workflow_id):
        reply: RelatedReply = await client.execute_workflow(
            GRAPH_WORKFLOW,
            request,
            id=workflow_id,
            task_queue=TENURE_QUEUE,
            result_type=RelatedReply,
            static_summary=truncate_bytes(f"{arguments.name}: {arguments.entity}"),
            execution_timeout=ANSWER_TIMEOUT,
        )
    return reply


def _print(reply: RelatedReply) -> None:
    """Print relations, each with a supporting sentence."""
    kind = f" ({reply.kind})" if reply.kind else ""
    print_line(f"{reply.entity}{kind}: in {format_count(reply.passages, 'passage')}")
    for relation in reply.relations:
        where = f"{format_count(relation.count, 'sentence')}, {format_count(relation.passages, 'passage')}"
        print_line(f"\n{_statement(relation)}  [{where}]")
        for proof in relation.evidence[:1]:
            print_line(f"    “{truncate_line(proof.sentence, _MAX_SENTENCE_CHARS)}” {proof.title}")
    if reply.read_passages < reply.total_passages:
        print_note(
            f"a model has read {reply.read_passages:,} of {format_count(reply.total_passages, 'passage')}: "
            "`corpus relate` reads the rest"
        )


def _statement(relation: EntityRelation) -> str:
    if relation.predicate == CO_OCCURRENCE:
        return f"beside {relation.object}"
    return f"{relation.subject} {relation.predicate} {relation.object}"
