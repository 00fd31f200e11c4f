"""Let the chat model read a corpus for its relations, within a budget, concurrently with runs.

The workflow id is derived from the corpus, so that a corpus is read once at a time. Passages that were read are
skipped, so an interrupted reading, or one whose budget was exhausted, is continued by starting another.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow

with workflow.unsafe.imports_passed_through():
    from activities.graph import GraphActivities
    from tenure.algorithms.control.budget import BudgetAccount
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.knowledge.graph import RelateReport, RelateRequest, RelationsKept, UnreadReply, UnreadRequest
    from tenure.contracts.run.budget import BudgetGrant, BudgetRequest
    from tenure.contracts.run.run import WorkflowUsage
    from tenure.roles.retrieval import relation_extractor
    from tenure.roles.retrieval.relation_extractor import RelationExtractorInput

MAX_PARALLEL_CALLS = 4
"""Model calls that run concurrently."""


@workflow.defn
class RelateWorkflow(ControllableWorkflow):
    """Workflow that reads the relations of a corpus."""

    @workflow.init
    def __init__(self, request: RelateRequest) -> None:
        """Start, or continue where an earlier history ended."""
        super().__init__(request.control)
        self.request = request
        self.report = request.report or RelateReport(corpus=request.corpus)
        account = BudgetAccount(limits=request.limits)
        self.account = account.settle(workflow.info().workflow_id, self.report.usage)
        self.clients = ActivityClients(self, request.limits, self._grant_budget)
        self.clients.record.usage = WorkflowUsage(**dict(self.report.usage))

    @workflow.run
    async def run(self, request: RelateRequest) -> RelateReport:
        """Read until everything is read, a budget is exhausted, or a person stops it."""
        after = request.after
        while True:
            await self.wait_while_paused()
            unread = await self._list_unread(after)
            self._update_report(unread=unread.remaining, total=unread.total)
            if not unread.passages:
                self._update_report(stop_reason="complete")
                break
            await self._read(unread.passages)
            after = unread.passages[-1].chunk
            if self.report.stop_reason:
                break
            if self._is_history_long():
                await workflow.wait_condition(workflow.all_handlers_finished)
                self._continue_as_new(after)
        if self.report.passages:
            await execute_activity(
                GraphActivities.refresh_relations, self.request.corpus, summary="update the graph that searches walk"
            )
        return self.report

    @workflow.query(description="Progress of the reading.")
    def reading(self) -> RelateReport:
        """Return the progress of the reading."""
        return self.report

    async def _list_unread(self, after: str) -> UnreadReply:
        limit = MAX_PARALLEL_CALLS * self.request.passages_per_call
        request = UnreadRequest(corpus=self.request.corpus, after=after, limit=limit)
        return await execute_activity(
            GraphActivities.list_unread_passages, request, summary=f"unread passages of {self.request.corpus}"
        )

    async def _read(self, passages: Sequence[PassageRef]) -> None:
        """Let the model read some passages, in a few concurrent calls."""
        stored = await asyncio.gather(*(self._extract(batch) for batch in self._split(passages)))
        usage = self.clients.record.usage
        stopped = "stopped" if self.is_finishing else "" if usage.model_calls else "no model"
        read = sum(batch.passages for batch in stored)
        self._update_report(
            passages=self.report.passages + read,
            relations=self.report.relations + sum(batch.relations for batch in stored),
            refused=self.report.refused + sum(batch.refused for batch in stored),
            unread=self.report.unread - read,
            usage=usage,
            stop_reason=self.control.exhausted or stopped,
        )

    async def _extract(self, batch: Sequence[PassageRef]) -> RelationsKept:
        return await self.clients.models.ask(
            relation_extractor.ROLE,
            RelationExtractorInput(),
            batch,
            summary=f"{len(batch)} passages of {self.request.corpus}",
            for_writing=True,  # no report follows for which a part of the budget would be held back
        )

    def _split(self, passages: Sequence[PassageRef]) -> Iterator[Sequence[PassageRef]]:
        size = self.request.passages_per_call
        return (passages[start : start + size] for start in range(0, len(passages), size))

    async def _grant_budget(self, request: BudgetRequest) -> BudgetGrant:
        self.account, grant = self.account.grant(request)
        return grant

    def _update_report(self, **changes: Any) -> None:
        """Change the report and the status page."""
        self.report = report = self.report.model_copy(update=changes)
        workflow.set_current_details(
            f"{report.total - report.unread:,} of {report.total:,} passages of {report.corpus} read, "
            f"{report.relations:,} relations kept, {report.refused:,} refused, "
            f"{report.usage.model_calls:,} answers of the model"
        )

    def _is_history_long(self) -> bool:
        info = workflow.info()
        is_long = info.get_current_history_length() > self.request.limits.max_history_events
        return is_long or info.is_continue_as_new_suggested()

    def _continue_as_new(self, after: str) -> None:
        changes = {"control": self.control, "after": after, "report": self.report}
        # A corpus may take days: the rest of it may use the current version of the code.
        workflow.continue_as_new(
            self.request.model_copy(update=changes),
            initial_versioning_behavior=workflow.ContinueAsNewVersioningBehavior.AUTO_UPGRADE,
        )
