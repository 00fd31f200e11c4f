"""Compute the vectors that a corpus lacks, while runs already search it.

The workflow id is derived from the corpus: runs that read the same corpus share one workflow. It outlives the run
that started it, can be paused and resumed, and continues after an interruption with the chunks that are left.
"""

from collections.abc import Sequence
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, WorkflowAlreadyStartedError, is_cancelled_exception
from temporalio.workflow import ParentClosePolicy

from workflows.runtime.activity_options import ACTIVITY_OPTIONS

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.evidence.corpora import EmbedReport, EmbedRequest


@workflow.defn
class EmbedWorkflow:
    """Workflow that embeds the chunks of a corpus that were stored without a vector."""

    def __init__(self) -> None:
        """Start unpaused."""
        self._paused = self._interrupted = False
        self._activity: workflow.ActivityHandle[EmbedReport] | None = None

    @workflow.run
    async def run(self, request: EmbedRequest) -> EmbedReport:
        """Embed until nothing is left; a pause cancels the activity, which continues after the resume."""
        while True:
            await workflow.wait_condition(lambda: not self._paused)
            self._interrupted = False
            options = ACTIVITY_OPTIONS["embed_corpus"].copy()
            options["summary"] = f"embed corpus {request.corpus}"
            self._activity = workflow.start_activity_method(KnowledgeActivities.embed_corpus, request, **options)
            try:
                return await self._activity
            except ActivityError as error:
                if not (self._interrupted and is_cancelled_exception(error)):
                    raise

    @workflow.signal(description="Pause the embedding; computed vectors are kept.")
    def pause(self, *ignored: Any) -> None:
        """Pause the embedding."""
        self._paused = self._interrupted = True
        if self._activity is not None:
            self._activity.cancel()

    @workflow.signal(description="Resume a paused embedding.")
    def resume(self, *ignored: Any) -> None:
        """Resume the embedding."""
        self._paused = False


async def embed_in_background(corpora: Sequence[str]) -> None:
    """Start a workflow for each corpus that outlives this one, unless one is running already."""
    for corpus in corpora:
        try:
            await workflow.start_child_workflow(
                EmbedWorkflow.run,
                EmbedRequest(corpus=corpus),
                id=f"embed-{corpus}",
                parent_close_policy=ParentClosePolicy.ABANDON,
                static_summary=f"compute the vectors of {corpus}",
            )
        except WorkflowAlreadyStartedError:
            workflow.logger.info("corpus %s is being embedded already", corpus)
