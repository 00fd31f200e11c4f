"""`corpus relate` and `corpus graph`: having a model read what stands between entities, and looking an entity up."""

import asyncio
from argparse import Namespace
from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

from temporalio.client import Client, WorkflowHandle, WorkflowQueryFailedError
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from tenure.cli.display import Display, display_for
from tenure.cli.errors import CommandError
from tenure.cli.formatting import counted, one_line, within_bytes
from tenure.cli.session.connection import GRAPH_WORKFLOW, RELATE_WORKFLOW, explained, open_session
from tenure.cli.session.follow import follow_telling
from tenure.cli.session.server_target import Place
from tenure.cli.terminal import print_json, say, stderr_console
from tenure.contracts.knowledge.graph import BESIDE, Related, RelatedReply, RelatedRequest, RelateReport, RelateRequest
from tenure.contracts.run.run import Limits
from workflows.runtime.task_queues import TENURE_QUEUE

ANSWER_TIMEOUT = timedelta(minutes=6)
"""How long looking something up may take, the start of a worker included."""
_LOOK_SECONDS = 2.0
_QUERY_TIMEOUT = timedelta(seconds=5)
_SHOWN_SENTENCE = 160
_ENDINGS = {
    "complete": "every passage is read",
    "no model": "there is no chat model: OPENAI_API_KEY or OPENAI_BASE_URL names one",
    "stopped": "stopped; the same command goes on",
}


async def relate(arguments: Namespace, place: Place) -> int:
    """Start the reading of a corpus, follow it, say what came of it."""
    client = await open_session(place)
    corpus = arguments.name
    bounds = {name: getattr(arguments, name) for name in ("max_tokens", "max_cost_usd", "max_calls")}
    request = RelateRequest(corpus=corpus, limits=Limits(**{k: v for k, v in bounds.items() if v is not None}))
    workflow_id = f"relate-{corpus}"
    try:
        with explained(workflow_id):
            handle: WorkflowHandle[object, RelateReport] = await client.start_workflow(
                RELATE_WORKFLOW,
                request,
                id=workflow_id,
                task_queue=TENURE_QUEUE,
                result_type=RelateReport,
                static_summary=within_bytes(f"read the relations of {corpus}"),
            )
    except WorkflowAlreadyStartedError as error:
        raise CommandError(f"the relations of {corpus} are being read already: {workflow_id} in the web UI") from error
    with display_for(stderr_console()) as display:
        report = await follow_telling(client, place, handle, display, _tell(handle, display))
    if arguments.json:
        print_json(report.model_dump(mode="json"))
    else:
        print(f"{_line(report)}; {_ENDINGS.get(report.ending, f'the budget of {report.ending} is used up')}")
    return 0


async def _tell(handle: WorkflowHandle[object, RelateReport], display: Display) -> None:
    """Say again and again how far the reading is."""
    said = ""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        # Whoever follows the workflow says what is wrong when nobody answers.
        with suppress(WorkflowQueryFailedError, RPCError):
            report = await handle.query("reading", result_type=RelateReport, rpc_timeout=_QUERY_TIMEOUT)
            if report.of and _line(report) != said:
                said = _line(report)
                display.say(said)


def _line(report: RelateReport) -> str:
    cost = "" if report.usage.cost_usd is None else f", {report.usage.cost_usd:.4f} USD"
    return (
        f"corpus {report.corpus}: {report.of - report.unread:,} of {counted(report.of, 'passage')} read; this time "
        f"{counted(report.relations, 'relation')} kept, {report.refused:,} refused, "
        f"{counted(report.usage.model_calls, 'answer')} of the model, "
        f"{report.usage.tokens_in + report.usage.tokens_out:,} tokens{cost}"
    )


async def graph(arguments: Namespace, place: Place) -> int:
    """Look an entity up, and print what it is related to."""
    reply = await _related(await open_session(place), arguments)
    if arguments.json:
        print_json(reply.model_dump(mode="json"))
    elif reply.relations:
        _print(reply)
    else:
        alike = f"; known are {', '.join(reply.alike)}" if reply.alike else ""
        say(f"nothing in {arguments.name} is related to {arguments.entity!r}{alike}")
    return 0


async def _related(client: Client, arguments: Namespace) -> RelatedReply:
    request = RelatedRequest(entity=arguments.entity, corpora=(arguments.name,), most=arguments.most or 20)
    workflow_id = f"graph-{uuid4().hex[:8]}"
    with explained(workflow_id):
        reply: RelatedReply = await client.execute_workflow(
            GRAPH_WORKFLOW,
            request,
            id=workflow_id,
            task_queue=TENURE_QUEUE,
            result_type=RelatedReply,
            static_summary=within_bytes(f"{arguments.name}: {arguments.entity}"),
            execution_timeout=ANSWER_TIMEOUT,
        )
    return reply


def _print(reply: RelatedReply) -> None:
    """Print relations, each with a sentence that proves it."""
    kind = f" ({reply.kind})" if reply.kind else ""
    print(f"{reply.entity}{kind}: in {counted(reply.passages, 'passage')}")
    for relation in reply.relations:
        where = f"{counted(relation.count, 'sentence')}, {counted(relation.passages, 'passage')}"
        print(f"\n{_statement(relation)}  [{where}]")
        for proof in relation.proofs[:1]:
            print(f"    “{one_line(proof.sentence, _SHOWN_SENTENCE)}” {proof.title}")
    if reply.read < reply.of:
        say(f"a model has read {reply.read:,} of {counted(reply.of, 'passage')}: `corpus relate` has it read the rest")


def _statement(relation: Related) -> str:
    if relation.predicate == BESIDE:
        return f"beside {relation.object}"
    return f"{relation.subject} {relation.predicate} {relation.object}"
