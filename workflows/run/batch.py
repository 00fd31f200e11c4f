"""Answer many questions, a limited number concurrently, each in a run of its own.

The runs are ordinary ones: people can watch and control them by their ids, and they outlive the batch. A failed run is
an entry of the summary and does not stop the others. The results of the runs are part of the batch's history as well,
so the batch continues as new when the server suggests it; it waits for the running runs first, since only the history
that started a child receives its result.
"""

import asyncio
from collections import Counter
from typing import Any

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.control import send_signal
from workflows.runtime.failures import describe_failure
from workflows.upkeep.archive import start_archiving
from workflows.upkeep.notify import NotificationSender

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.algorithms.control.usage import add_transcription, limit_transcription
    from tenure.contracts.base import RunId
    from tenure.contracts.result.batch import BatchItem, BatchOutcome, BatchReport, BatchRequest, ItemStatus
    from tenure.contracts.result.result import Result
    from tenure.contracts.run.run import RunRequest, Usage
    from workflows.run.agent import AgentWorkflow

_MAX_TEXT_LENGTH = 200
"""Characters of a question or title in the summary."""
_ITEM_LIMITS = ("max_tokens", "max_cost_usd", "max_calls", "max_searches", "max_seconds")


@workflow.defn
class BatchWorkflow:
    """Workflow that answers many questions."""

    @workflow.init
    def __init__(self, request: BatchRequest) -> None:
        """Start with the questions that have no outcome yet."""
        self.request = request
        self.outcomes = {outcome.key: outcome for outcome in request.earlier_outcomes}
        self.remaining = [item for item in request.items if item.key not in self.outcomes]
        self.children: dict[str, workflow.ChildWorkflowHandle[Any, Result]] = {}
        self.cancelled = False
        self.notifications = NotificationSender(
            request.shared.notifications, f"A batch of {len(request.items)} questions"
        )

    @workflow.run
    async def run(self, request: BatchRequest) -> BatchReport:
        """Read the documents once, execute the runs, and return the summary."""
        try:
            await self._run_all(request)
        except (Exception, asyncio.CancelledError) as error:
            await start_archiving(workflow.logger.warning, error)
            raise
        self.notifications.update("cancelled" if self.cancelled else "done")
        await self.notifications.wait_until_started(workflow.logger.warning)
        await start_archiving(workflow.logger.warning)
        return self.progress()

    async def _run_all(self, request: BatchRequest) -> None:
        """Execute the runs, if necessary in several histories."""
        usage = Usage()
        for ingest in request.shared.ingest if self.remaining else ():
            limited = limit_transcription(ingest, request.shared.limits, usage)
            report = await execute_activity(
                KnowledgeActivities.ingest_corpus, limited, summary=f"read corpus {ingest.corpus}"
            )
            usage = add_transcription(usage, report)
        self._display_status()
        await asyncio.gather(*(self._run_items() for _ in range(request.max_parallel)))
        await workflow.wait_condition(workflow.all_handlers_finished)
        if self.remaining and not self.cancelled:
            shared = request.shared.model_copy(update={"ingest": ()})
            outcomes = tuple(self.outcomes.values())
            # No child runs now, so the rest of the questions may use the current version of the code.
            workflow.continue_as_new(
                request.model_copy(update={"shared": shared, "earlier_outcomes": outcomes}),
                initial_versioning_behavior=workflow.ContinueAsNewVersioningBehavior.AUTO_UPGRADE,
            )

    @workflow.signal(description="Start no more runs and cancel the running ones.")
    async def cancel(self, *ignored: Any) -> None:
        """Stop the batch; the running runs deliver what is written."""
        self.cancelled = True
        for child in list(self.children.values()):
            await send_signal(child, "cancel")

    @workflow.query(description="Outcomes of the questions so far.")
    def progress(self) -> BatchReport:
        """Return the outcomes so far."""
        outcomes = tuple(self.outcomes.get(item.key) or self._describe_open_item(item) for item in self.request.items)
        return BatchReport(outcomes=outcomes, cancelled=self.cancelled)

    async def _run_items(self) -> None:
        """Execute runs one after the other while there are questions."""
        while self.remaining and not self.cancelled and not workflow.info().is_continue_as_new_suggested():
            item = self.remaining.pop(0)
            self.outcomes[item.key] = await self._execute_run(item)
            self._display_status()

    async def _execute_run(self, item: BatchItem) -> BatchOutcome:
        """Execute the run of a question and return its outcome, also if it fails."""
        try:
            child = await workflow.start_child_workflow(
                AgentWorkflow.run,
                self._build_request(item),
                id=self._run_id(item),
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                memo={"question": item.question[:500]},
                static_summary=item.question[: _MAX_TEXT_LENGTH // 4],
            )
            self.children[item.key] = child
            self._display_status()
            if self.cancelled:
                await send_signal(child, "cancel")
            return _summarize_result(self._describe_open_item(item), await child)
        except FailureError as error:
            if workflow.cancellation_reason() is not None:
                raise
            return self._describe_open_item(item).model_copy(
                update={"status": "failed", "note": describe_failure(error)[:300]}
            )
        finally:
            self.children.pop(item.key, None)

    def _build_request(self, item: BatchItem) -> RunRequest:
        """Return the request of a question's run, with its own limits."""
        own = {name: getattr(item, name) for name in _ITEM_LIMITS if getattr(item, name) is not None}
        limits = self.request.shared.limits.model_copy(update=own)
        return self.request.shared.model_copy(update={"question": item.question, "ingest": (), "limits": limits})

    def _describe_open_item(self, item: BatchItem) -> BatchOutcome:
        """Return the entry of a question without an outcome."""
        status: ItemStatus = "running" if item.key in self.children else "waiting"
        return BatchOutcome(
            key=item.key, run=self._run_id(item), question=item.question[:_MAX_TEXT_LENGTH], status=status
        )

    def _run_id(self, item: BatchItem) -> RunId:
        return RunId(f"{workflow.info().workflow_id}-{item.key}")

    def _display_status(self) -> None:
        """Update the status page: the number of questions by status, and the running runs."""
        outcomes = self.progress().outcomes
        counts = Counter(outcome.status for outcome in outcomes)
        lines = [f"- {number} {status.replace('_', ' ')}" for status, number in counts.items()]
        lines += ["", *(f"- `{outcome.run}` is running" for outcome in outcomes if outcome.status == "running")]
        workflow.set_current_details("\n".join(lines))


def _summarize_result(outcome: BatchOutcome, result: Result) -> BatchOutcome:
    """Return the entry of a finished run."""
    usage = result.usage
    return outcome.model_copy(
        update={
            "status": result.status,
            "title": result.title[:_MAX_TEXT_LENGTH],
            "note": _describe_end(result),
            "tokens": usage.tokens_in + usage.tokens_out,
            "cost_usd": usage.cost_usd,
            "seconds": usage.seconds,
        }
    )


def _describe_end(result: Result) -> str:
    """Return the reason of a failure, or the verdict on a change and its files; else an empty text."""
    if result.status == "failed":
        return result.decisions[-1][:300] if result.decisions else ""
    change = result.repository
    if change is None or not change.files:
        return ""
    return f"{change.verdict}: {', '.join(f'{file.path} +{file.added} -{file.removed}' for file in change.files)}"[:300]
