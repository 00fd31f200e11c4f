"""Bound what an owner uses on the server of a team: runs at the same time, and the cost of a day."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, TypeVar

from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
)
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.result.ask import AskReply
from tenure.contracts.result.result import Result
from tenure.contracts.run.control import BudgetBounds
from tenure.runs.errors import QuotaReached
from tenure.runs.messages import AskBody, ForkBody, RepeatBody, StartRequest
from tenure.runs.session.connection import AGENT_WORKFLOW, ASK_WORKFLOW, Session, explain_refusals
from tenure.runs.session.monitor import build_progress_query, read_snapshot

B = TypeVar("B", StartRequest, ForkBody, RepeatBody, AskBody)


@dataclass
class Quota:
    """Limits of one owner; one object serves all requests, since a start has to wait for the one before it."""

    max_runs: int
    """Runs and answers at the same time."""
    max_cost_usd: float | None
    """Cost of the runs and answers that are under way on one day in UTC; None for any."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _unlisted: set[str] = field(default_factory=set)
    """Workflows that were started, until the list of the server has them."""
    _costs: dict[str, float] = field(default_factory=dict)
    """Costs of ended executions of the day, by their ids; also of those that were deleted since."""
    _day: date = date.min
    """Day of these costs."""

    @asynccontextmanager
    async def open_start(self, session: Session, body: B) -> AsyncIterator[B]:
        """Yield a request for a start in the `with` block, with no more money than is left of the day.

        Raises:
            QuotaReached: the owner has no further run, or no money left for today.
        """
        async with self._turn:
            await self._check_runs(session)
            left = await self._compute_rest(session)
            if left is not None:
                asked: object = body
                keeps_limit = isinstance(asked, ForkBody | RepeatBody) and "max_cost_usd" not in body.model_fields_set
                given = body.max_cost_usd or (None if keeps_limit else session.settings.max_cost_usd) or left
                body = body.model_copy(update={"max_cost_usd": min(given, left)})
                if keeps_limit:  # the limit of the earlier run applies if it is lower
                    body.model_fields_set.discard("max_cost_usd")
            yield body

    async def check_budget(self, session: Session, budget: BudgetBounds) -> None:
        """Check that a new limit of a run is within what is left of the day.

        Raises:
            QuotaReached: it is above that.
        """
        if budget.max_cost_usd is None:
            return
        async with self._turn:
            left = await self._compute_rest(session)
        if left is not None and budget.max_cost_usd > left:
            raise QuotaReached(f"{left:.2f} USD of today are left for your runs: set a limit up to that")

    def record_start(self, workflow_id: str) -> None:
        """Remember a workflow that was started in an admission."""
        self._unlisted.add(workflow_id)

    async def record_costs(self, session: Session) -> None:
        """Remember the costs of the day before executions are deleted."""
        if self.max_cost_usd is not None and session.settings.has_model:
            async with self._turn:
                await self._sum_costs(session)

    async def _compute_rest(self, session: Session) -> float | None:
        """Return the money that is left of the day; None if it has no limit.

        Raises:
            QuotaReached: nothing is left.
        """
        if self.max_cost_usd is None or not session.settings.has_model:
            return None
        left = self.max_cost_usd - await self._sum_costs(session)
        if left <= 0:
            raise QuotaReached(
                f"your runs of today have used the {self.max_cost_usd:g} USD of a day: "
                "ask again after midnight (UTC), or ask an administrator for more"
            )
        return left

    async def _check_runs(self, session: Session) -> None:
        client = await session.connect()
        query = f"WorkflowType IN ('{AGENT_WORKFLOW}', '{ASK_WORKFLOW}') AND ExecutionStatus = 'Running'"
        with explain_refusals("list"):
            running = {found.id async for found in client.list_workflows(query, limit=self.max_runs)}
            self._unlisted -= running
            for name in tuple(self._unlisted):
                if not await _is_running(client, name):
                    self._unlisted.discard(name)
        if len(running | self._unlisted) >= self.max_runs:
            raise QuotaReached(
                f"{self.max_runs} of your runs are under way, which is the maximum: finish or cancel one of them first"
            )

    async def _sum_costs(self, session: Session) -> float:
        """Return the cost of what was under way today, as far as it has been billed."""
        client, today = await session.connect(), datetime.now(UTC).date()
        if today != self._day:
            self._costs, self._day = {}, today
        kinds = f"WorkflowType IN ('{AGENT_WORKFLOW}', '{ASK_WORKFLOW}')"
        query = f"{kinds} AND (ExecutionStatus = 'Running' OR CloseTime >= '{today}T00:00:00Z')"
        total = 0.0
        progress = build_progress_query()
        with explain_refusals("list"):
            async for found in client.list_workflows(query):
                if found.run_id in self._costs:
                    continue
                if found.status == WorkflowExecutionStatus.RUNNING:
                    handle = client.get_workflow_handle(found.id)
                    snapshot = await read_snapshot(client, handle, progress)
                    total += (snapshot.progress.usage.cost_usd or 0.0) if snapshot.progress else 0.0
                elif found.status != WorkflowExecutionStatus.CONTINUED_AS_NEW:  # the next one counts on
                    self._costs[found.run_id] = await _read_cost(client, found)
        return total + sum(self._costs.values())


async def _is_running(client: Client, workflow_id: str) -> bool:
    try:
        return (await client.get_workflow_handle(workflow_id).describe()).status == WorkflowExecutionStatus.RUNNING
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:  # it was deleted
            raise
        return False


async def _read_cost(client: Client, found: WorkflowExecution) -> float:
    """Return the cost of an ended execution; a failed execution has no account of it and counts as nothing."""
    kind = Result if found.workflow_type == AGENT_WORKFLOW else AskReply
    handle: WorkflowHandle[Any, Result | AskReply]
    handle = client.get_workflow_handle(found.id, run_id=found.run_id, result_type=kind)
    try:
        return (await handle.result(follow_runs=False)).usage.cost_usd or 0.0
    except WorkflowFailureError:
        return 0.0
