"""Compute the vectors that a corpus lacks, while runs already search it.

The workflow id is derived from the corpus: runs that read the same corpus share one workflow. It outlives the run
that started it, can be paused and resumed, and continues after an interruption with the chunks that are left.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, WorkflowAlreadyStartedError, is_cancelled_exception
from temporalio.workflow import ParentClosePolicy

from workflows.runtime.activity_options import ACTIVITY_OPTIONS, execute_activity
from workflows.runtime.optional_step import run_optional_step

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.evidence.corpora import EmbedReport, IngestReport, QuestionEmbedRequest

_FIRST_SEARCH_WAIT = timedelta(seconds=30)
"""Time for which the first search waits for vectors; an embedding that hangs costs twice the time."""


@workflow.defn
class EmbedWorkflow:
    """Workflow that embeds the chunks of a corpus that were stored without a vector."""

    def __init__(self) -> None:
        self._paused = self._interrupted = False
        self._activity: workflow.ActivityHandle[EmbedReport] | None = None

    @workflow.run
    async def run(self, corpus: str) -> EmbedReport:
        """Embed until nothing is left; a pause cancels the activity, which continues after the resume."""
        while True:
            await workflow.wait_condition(lambda: not self._paused)
            self._interrupted = False
            options = ACTIVITY_OPTIONS["embed_corpus"].copy()
            options["summary"] = f"embed corpus {corpus}"
            self._activity = workflow.start_activity_method(KnowledgeActivities.embed_corpus, corpus, **options)
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
                corpus,
                id=f"embed-{corpus}",
                parent_close_policy=ParentClosePolicy.ABANDON,
                static_summary=f"compute the vectors of {corpus}",
            )
        except WorkflowAlreadyStartedError:
            workflow.logger.info("corpus %s is being embedded already", corpus)


async def embed_for_question(
    reports: Sequence[IngestReport], question: str, show: Callable[[str], object], add_note: Callable[[str], object]
) -> None:
    """Wait for the vectors that a question needs first, and for all others if they are soon computed."""
    corpora = dict.fromkeys(report.corpus for report in reports if report.pending)
    for corpus in corpora:
        show("waiting for vectors of passages, those that the question needs first")
        seconds = _FIRST_SEARCH_WAIT.total_seconds() / len(corpora)
        embedding = execute_activity(
            KnowledgeActivities.embed_for_question,
            QuestionEmbedRequest(corpus=corpus, question=question, seconds=seconds),
            summary=f"embed what the question needs of {corpus}",
        )
        failure = f"Not all passages of “{corpus}” that the question needs have vectors"
        report = await run_optional_step(embedding, None, failure, add_note, 2 * _FIRST_SEARCH_WAIT)
        if report is not None and report.pending:
            show(f"continuing without the vectors of {report.pending:,} passages, which take longer")
