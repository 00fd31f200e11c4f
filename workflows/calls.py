"""Calls from workflows to activities: queue, timeouts, retries and accounts in one place.

No call starts while a person holds the run. Every finished call is counted, and what a twin had to
answer is remembered, so that the report can say so.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows.queues import EMBED_QUEUE, MODEL_QUEUE, TENURE_QUEUE
from workflows.steering import Steered

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.knowledge import KnowledgeActivities
    from activities.report import ReportActivities
    from activities.roles import RoleActivities
    from tenure.algorithms.acceptance import evidence
    from tenure.algorithms.ledger import counted, searched
    from tenure.contracts.calls import RoleCall, RoleReply, role_call
    from tenure.contracts.corpus import IngestReport, IngestRequest
    from tenure.contracts.evidence import PassageRef, SearchReply, SearchRequest
    from tenure.contracts.research import ReportDraft
    from tenure.contracts.result import Result
    from tenure.contracts.run import Degraded, Usage

I = TypeVar("I", bound="BaseModel")  # noqa: E741 - I in, O out
O = TypeVar("O", bound="BaseModel")  # noqa: E741

PATIENCE = RetryPolicy(
    initial_interval=timedelta(seconds=1), backoff_coefficient=2.0, maximum_interval=timedelta(minutes=1)
)
"""Retries without a count: an outage of the model's server is waited out, until the call's total timeout."""

OUTAGE = timedelta(hours=12)
"""How long a call may be retried in all before the run gives it up."""


SILENCE = timedelta(seconds=10)
"""Time without a heartbeat after which a worker counts as dead and the call is given to another."""


class Calls:
    """The calls of one workflow and what they used."""

    def __init__(self, steered: Steered) -> None:
        """Wait for `steered` before every call."""
        self._steered = steered
        self.usage = Usage()
        self.degraded: list[Degraded] = []

    async def role(
        self,
        method: Callable[[RoleActivities, RoleCall[I]], Awaitable[RoleReply[O]]],
        input: I,
        evidence: Sequence[PassageRef] = (),
        *,
        summary: str,
    ) -> O:
        """Ask a role; `summary` says in the web UI what about."""
        await self._steered.ready()
        name = method.__name__
        reply = await workflow.execute_activity_method(
            method,
            role_call(input, evidence),
            task_queue=MODEL_QUEUE,
            start_to_close_timeout=timedelta(minutes=20),
            schedule_to_close_timeout=OUTAGE,
            heartbeat_timeout=SILENCE,
            retry_policy=PATIENCE,
            summary=summary[:200],
        )
        self.usage = counted(self.usage, name, reply.model, reply.tokens_in, reply.tokens_out)
        if reply.degraded:
            self.degraded.append(Degraded(role=name, reason=reply.degraded))
        return reply.output

    async def search(self, request: SearchRequest, min_relevance: float, *, summary: str) -> tuple[PassageRef, ...]:
        """Search the knowledge base and keep what is evidence; a search that finds nothing relevant finds nothing."""
        await self._steered.ready()
        reply: SearchReply = await workflow.execute_activity_method(
            KnowledgeActivities.search,
            request,
            task_queue=EMBED_QUEUE,
            start_to_close_timeout=timedelta(minutes=5),
            schedule_to_close_timeout=timedelta(hours=1),
            heartbeat_timeout=SILENCE,
            retry_policy=PATIENCE,
            summary=summary[:200],
        )
        self.usage = searched(self.usage)
        return evidence(reply.passages, min_relevance)

    async def ingest(self, request: IngestRequest) -> IngestReport:
        """Bring a corpus up to date."""
        await self._steered.ready()
        return await ingest(request)

    async def assemble(self, draft: ReportDraft) -> Result:
        """Turn the draft into the result document."""
        return await workflow.execute_activity_method(
            ReportActivities.assemble,
            draft,
            task_queue=TENURE_QUEUE,
            start_to_close_timeout=timedelta(minutes=5),
            schedule_to_close_timeout=timedelta(hours=1),
            heartbeat_timeout=SILENCE,
            retry_policy=PATIENCE,
            summary="number the sources, check every quote",
        )


async def ingest(request: IngestRequest) -> IngestReport:
    """Run the ingestion of a corpus; interrupted ones go on where they were."""
    return await workflow.execute_activity_method(
        KnowledgeActivities.ingest,
        request,
        task_queue=EMBED_QUEUE,
        start_to_close_timeout=timedelta(hours=24),
        heartbeat_timeout=SILENCE,
        retry_policy=PATIENCE,
        summary=f"read corpus {request.corpus}",
    )
