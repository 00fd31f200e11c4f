"""RelateWorkflow: have the chat model read a corpus for its relations, within a budget, beside whatever else goes on.

Its id is made from the corpus, so that a corpus is read once at a time. A passage that was read is not read again,
so an interrupted reading, or one whose budget was used up, is gone on with by starting another.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow

from workflows.runtime.activity_options import PATIENCE, SILENCE
from workflows.runtime.calls import Calls
from workflows.runtime.control import Steered
from workflows.runtime.task_queues import EMBED_QUEUE

with workflow.unsafe.imports_passed_through():
    from activities.graph import GraphActivities
    from activities.roles import RoleActivities
    from tenure.algorithms.control.budget import Account
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.knowledge.graph import RelateReport, RelateRequest, RelationsKept, UnreadReply, UnreadRequest
    from tenure.contracts.run.budget import Draw, Grant
    from tenure.roles.retrieval.relation_extractor import RelationExtractorInput

I = TypeVar("I")  # noqa: E741 - I in, O out
O = TypeVar("O")  # noqa: E741

ABREAST = 4
"""Calls that are under way at the same time."""


@workflow.defn
class RelateWorkflow(Steered):
    """Reads the relations of a corpus."""

    @workflow.init
    def __init__(self, request: RelateRequest) -> None:
        """Begin, or go on where an earlier history ended."""
        super().__init__(request.stance)
        self.request = request
        self.report = request.report or RelateReport(corpus=request.corpus)
        account = Account(limits=request.limits)
        self.account = account.settled(workflow.info().workflow_id, self.report.usage)
        self.calls = Calls(self, request.limits, self._drawn)
        self.calls.usage = self.report.usage

    @workflow.run
    async def run(self, request: RelateRequest) -> RelateReport:
        """Read until everything is read, a budget is used up, or a person says stop."""
        after = request.after
        while True:
            await self.ready()
            unread = await self._unread(after)
            self._told(unread=unread.left, of=unread.of)
            if not unread.passages:
                self._told(ending="complete")
                break
            await self._read(unread.passages)
            after = unread.passages[-1].chunk
            if self.report.ending:
                break
            if self._is_long():
                await workflow.wait_condition(workflow.all_handlers_finished)
                self._begin_anew(after)
        await self._refresh()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self.report

    @workflow.query(description="How far the reading is.")
    def reading(self) -> RelateReport:
        """Tell how far the reading is."""
        return self.report

    async def _unread(self, after: str) -> UnreadReply:
        most = ABREAST * self.request.passages_per_call
        return await _asked(
            GraphActivities.unread,
            UnreadRequest(corpus=self.request.corpus, after=after, most=most),
            f"what is left of {self.request.corpus}",
        )

    async def _read(self, passages: Sequence[PassageRef]) -> None:
        """Have some passages read, a few calls at the same time."""
        kept = await asyncio.gather(*(self._extract(batch) for batch in self._batches(passages)))
        usage, stance = self.calls.usage, self.stance
        ending = stance.spent or ("stopped" if self.finishing else "" if usage.model_calls else "no model")
        self._told(
            passages=self.report.passages + sum(one.passages for one in kept),
            relations=self.report.relations + sum(one.relations for one in kept),
            refused=self.report.refused + sum(one.refused for one in kept),
            unread=self.report.unread - sum(one.passages for one in kept),
            usage=usage,
            ending=ending,
        )

    async def _extract(self, batch: Sequence[PassageRef]) -> RelationsKept:
        return await self.calls.role(
            RoleActivities.relation_extractor,
            RelationExtractorInput(),
            batch,
            summary=f"{len(batch)} passages of {self.request.corpus}",
            closing=True,  # nothing is written up in the end, for which something would have to be held back
        )

    def _batches(self, passages: Sequence[PassageRef]) -> Iterator[Sequence[PassageRef]]:
        size = self.request.passages_per_call
        return (passages[at : at + size] for at in range(0, len(passages), size))

    async def _drawn(self, draw: Draw) -> Grant:
        """Answer a draw from what may be used."""
        self.account, grant = self.account.grant(draw)
        return grant

    def _told(self, **changes: Any) -> None:
        """Note how far the reading is, where people see it."""
        self.report = self.report.model_copy(update=changes)
        now = self.report
        workflow.set_current_details(
            f"{now.of - now.unread:,} of {now.of:,} passages of {now.corpus} read, {now.relations:,} relations kept, "
            f"{now.refused:,} refused, {now.usage.model_calls:,} answers of the model"
        )

    async def _refresh(self) -> None:
        """Have what was read stand in the graph that searches walk."""
        if self.report.passages:
            await _asked(GraphActivities.refresh_relations, self.request.corpus, "bring the graph up to date")

    def _is_long(self) -> bool:
        info = workflow.info()
        long = info.get_current_history_length() > self.request.limits.long_history
        return long or info.is_continue_as_new_suggested()

    def _begin_anew(self, after: str) -> None:
        going_on = {"stance": self.stance, "after": after, "report": self.report}
        workflow.continue_as_new(self.request.model_copy(update=going_on))


async def _asked(method: "Callable[[GraphActivities, I], O]", request: I, summary: str) -> O:
    """Ask the knowledge base."""
    return await workflow.execute_activity_method(
        method,
        request,
        task_queue=EMBED_QUEUE,
        start_to_close_timeout=timedelta(hours=1),
        heartbeat_timeout=SILENCE,
        retry_policy=PATIENCE,
        summary=summary,
    )
