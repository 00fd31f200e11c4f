"""BatchWorkflow: many questions, so many at a time, each in a run of its own.

The runs are ordinary ones: they can be watched, steered and read by their ids, and they outlive the batch. One that
fails is an entry of the summary and stops nothing. Reports end up in the history of the batch as well, which is why
it goes on in a new history when the server suggests that; the runs under way are waited for first, since only the
history that began a child hears of its end.
"""

import asyncio
from collections import Counter
from typing import Any

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows.runtime.calls import ingest
from workflows.runtime.control import send
from workflows.runtime.failures import cause
from workflows.upkeep.notify import Telling

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.base import RunId
    from tenure.contracts.result.batch import BatchItem, BatchOutcome, BatchReport, BatchRequest, ItemStatus
    from tenure.contracts.result.result import Result
    from tenure.contracts.run.run import RunRequest
    from workflows.run.agent import AgentWorkflow

_QUESTION = 200
"""Characters of a question that the summary repeats."""
_BUDGETS = ("max_tokens", "max_cost_usd", "max_calls", "max_searches", "max_seconds")


@workflow.defn
class BatchWorkflow:
    """Answers many questions."""

    @workflow.init
    def __init__(self, request: BatchRequest) -> None:
        """Take up the questions of which nothing is known yet."""
        self.request = request
        self.ended = {outcome.key: outcome for outcome in request.known}
        self.left = [item for item in request.items if item.key not in self.ended]
        self.children: dict[str, workflow.ChildWorkflowHandle[Any, Result]] = {}
        self.cancelled = False
        self.telling = Telling(request.shared.notices, f"A batch of {len(request.items)} questions")

    @workflow.run
    async def run(self, request: BatchRequest) -> BatchReport:
        """Read the documents once, then ask the questions; ends in the summary."""
        for wanted in request.shared.ingest if self.left else ():
            await ingest(wanted)
        self._show()
        await asyncio.gather(*(self._lane() for _ in range(request.parallel)))
        await workflow.wait_condition(workflow.all_handlers_finished)
        if self.left and not self.cancelled:
            shared = request.shared.model_copy(update={"ingest": ()})
            known = tuple(self.ended.values())
            workflow.continue_as_new(request.model_copy(update={"shared": shared, "known": known}))
        report = self.progress()
        self.telling.see("cancelled" if self.cancelled else "done")
        await self.telling.all_begun()
        return report

    @workflow.signal(description="Ask nothing more, and stop what is being answered.")
    async def cancel(self, *beside: Any) -> None:
        """Stop; the runs under way deliver what is written."""
        self.cancelled = True
        for child in list(self.children.values()):
            await send(child, "cancel")

    @workflow.query(description="How the questions stand.")
    def progress(self) -> BatchReport:
        """Tell how the questions stand."""
        outcomes = tuple(self.ended.get(item.key) or self._open(item) for item in self.request.items)
        return BatchReport(outcomes=outcomes, cancelled=self.cancelled)

    async def _lane(self) -> None:
        """Ask one question after the other while there are any."""
        while self.left and not self.cancelled and not workflow.info().is_continue_as_new_suggested():
            item = self.left.pop(0)
            self.ended[item.key] = await self._answered(item)
            self._show()

    async def _answered(self, item: BatchItem) -> BatchOutcome:
        """Have a question answered, whatever comes of it."""
        try:
            child = await workflow.start_child_workflow(
                AgentWorkflow.run,
                self._asked(item),
                id=self._run(item),
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                memo={"question": item.question[:500]},
                static_summary=item.question[: _QUESTION // 4],
            )
            self.children[item.key] = child
            self._show()
            if self.cancelled:
                await send(child, "cancel")
            return _outcome(self._open(item), await child)
        except FailureError as error:
            if workflow.cancellation_reason() is not None:
                raise
            return self._open(item).model_copy(update={"status": "failed", "note": cause(error)[:300]})
        finally:
            self.children.pop(item.key, None)

    def _asked(self, item: BatchItem) -> RunRequest:
        """Return the request of a question's run."""
        own = {name: getattr(item, name) for name in _BUDGETS if getattr(item, name) is not None}
        limits = self.request.shared.limits.model_copy(update=own)
        return self.request.shared.model_copy(update={"question": item.question, "ingest": (), "limits": limits})

    def _open(self, item: BatchItem) -> BatchOutcome:
        """Describe a question that has no outcome yet."""
        status: ItemStatus = "running" if item.key in self.children else "waiting"
        return BatchOutcome(key=item.key, run=self._run(item), question=item.question[:_QUESTION], status=status)

    def _run(self, item: BatchItem) -> RunId:
        return RunId(f"{workflow.info().workflow_id}-{item.key}")

    def _show(self) -> None:
        """Write the live status page: how many stand how, and the runs under way."""
        outcomes = self.progress().outcomes
        counts = Counter(outcome.status for outcome in outcomes)
        lines = [f"- {number} {status.replace('_', ' ')}" for status, number in counts.items()]
        lines += ["", *(f"- `{one.run}` is at work" for one in outcomes if one.status == "running")]
        workflow.set_current_details("\n".join(lines))


def _outcome(asked: BatchOutcome, result: Result) -> BatchOutcome:
    """Sum a report up in a line of the summary."""
    usage = result.usage
    return asked.model_copy(
        update={
            "status": result.status,
            "title": result.title[:_QUESTION],
            "note": result.decisions[-1][:300] if result.status == "failed" and result.decisions else "",
            "tokens": usage.tokens_in + usage.tokens_out,
            "cost_usd": usage.cost_usd,
            "seconds": usage.seconds,
        }
    )
