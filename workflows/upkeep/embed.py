"""EmbedWorkflow: make the vectors that a corpus lacks, beside the runs that search it already.

Its id is made from the corpus: runs that read the same corpus share one. It outlives the run that began
it, can be held and let go on, and takes up what is left wherever another one was interrupted.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ActivityError, WorkflowAlreadyStartedError, is_cancelled_exception
from temporalio.workflow import ActivityCancellationType, ParentClosePolicy

from workflows.runtime.activity_options import PATIENCE, SILENCE
from workflows.runtime.task_queues import EMBED_QUEUE

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.evidence.corpora import EmbedReport, EmbedRequest

LATER = Priority(priority_key=5)
"""Searches go first where both wait for a worker."""


@workflow.defn
class EmbedWorkflow:
    """Embeds what was stored without vectors."""

    def __init__(self) -> None:
        """Begin at once."""
        self._paused = self._held = False
        self._work: workflow.ActivityHandle[EmbedReport] | None = None

    @workflow.run
    async def run(self, request: EmbedRequest) -> EmbedReport:
        """Embed until nothing is left, except while held."""
        while True:
            await workflow.wait_condition(lambda: not self._paused)
            self._held = False
            self._work = embedding(request)
            try:
                return await self._work
            except ActivityError as error:
                if not (self._held and is_cancelled_exception(error)):
                    raise

    @workflow.signal(description="Hold the embedding; what is made stays.")
    def pause(self, *beside: Any) -> None:
        """Hold the embedding."""
        self._paused = self._held = True
        if self._work is not None:
            self._work.cancel()

    @workflow.signal(description="Let a held embedding go on.")
    def resume(self, *beside: Any) -> None:
        """Let it go on."""
        self._paused = False


def embedding(request: EmbedRequest) -> workflow.ActivityHandle[EmbedReport]:
    """Start to embed; an interrupted attempt is gone on with."""
    return workflow.start_activity_method(
        KnowledgeActivities.embed,
        request,
        task_queue=EMBED_QUEUE,
        start_to_close_timeout=timedelta(days=7),
        heartbeat_timeout=SILENCE,
        retry_policy=PATIENCE,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        priority=LATER,
        summary=f"embed corpus {request.corpus}",
    )


async def embed_beside(corpora: Sequence[str]) -> None:
    """Have the rest of corpora embedded by workflows that outlive this one, unless somebody does so already."""
    for corpus in corpora:
        try:
            await workflow.start_child_workflow(
                EmbedWorkflow.run,
                EmbedRequest(corpus=corpus),
                id=f"embed-{corpus}",
                parent_close_policy=ParentClosePolicy.ABANDON,
                static_summary=f"make the vectors of {corpus}",
            )
        except WorkflowAlreadyStartedError:
            workflow.logger.info("corpus %s is being embedded already", corpus)
