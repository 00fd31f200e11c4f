"""Command `corpus graph`: look up an entity."""

from argparse import Namespace
from datetime import timedelta
from uuid import uuid4

from temporalio.client import Client

from tenure.cli.terminal import print_json, print_line, print_note
from tenure.contracts.knowledge.graph import (
    CO_OCCURRENCE,
    EntityRelation,
    RelatedReply,
    RelatedRequest,
)
from tenure.runs.formatting import format_count, truncate_bytes, truncate_line
from tenure.runs.session.connection import GRAPH_WORKFLOW, explain_refusals, open_session
from tenure.runs.session.server_target import ServerTarget
from workflows.runtime.task_queues import TENURE_QUEUE

ANSWER_TIMEOUT = timedelta(minutes=6)
"""Time for a lookup, including the start of a worker."""
_MAX_SENTENCE_CHARS = 160


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


def _statement(relation: EntityRelation) -> str:
    if relation.predicate == CO_OCCURRENCE:
        return f"beside {relation.object}"
    return f"{relation.subject} {relation.predicate} {relation.object}"
