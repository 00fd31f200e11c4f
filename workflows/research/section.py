"""SectionWorkflow: one section, drafted and improved until its reviewer has no critique.

draft → (review → search → rewrite)* → verify. The rounds end at their limit, with a critique that repeats an earlier
one, with a rewrite that is worse than the draft before, and when a person asks to finish. Evidence that a search adds
stays with the section for all later rounds, and the run gives it to the other sections and to the whole report.
"""

import asyncio
from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.research.verification import verify_drafts
from workflows.runtime.budget import request_by_signal
from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.failures import describe_failure
from workflows.runtime.progress import send_progress

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.claims.verification import keep_verdicts
    from tenure.algorithms.control.reflexion import compute_max_revisions, is_repeated_critique
    from tenure.algorithms.research.coverage import compute_coverage
    from tenure.algorithms.writing import manuscript
    from tenure.algorithms.writing.manuscript import add_sided_passages, is_regression, order_section_evidence
    from tenure.contracts.evidence.passages import Draft, PassageRef, SearchRequest
    from tenure.contracts.research.report import ProgressUpdate, SectionRequest, SectionResult
    from tenure.contracts.run.run import SectionPhase, TopicProgress
    from tenure.roles.research import hypothetical_document
    from tenure.roles.research.hypothetical_document import HypotheticalDocumentInput, ImaginedTopic
    from tenure.roles.writing import section_reviewer, section_rewriter, section_writer
    from tenure.roles.writing.section_reviewer import SectionReviewerInput, SectionReviewerOutput
    from tenure.roles.writing.section_rewriter import SectionRewriterInput
    from tenure.roles.writing.section_writer import SectionWriterInput


@workflow.defn
class SectionWorkflow(ControllableWorkflow):
    """Workflow that writes one section of a report."""

    @workflow.init
    def __init__(self, request: SectionRequest) -> None:
        """Start from a topic, or from a draft with critiques."""
        super().__init__(request.control)
        self.request = request
        self.clients = ActivityClients(self, request.limits, request_by_signal(self, request.run), request.question)
        self.draft = request.draft or Draft()
        self.evidence: tuple[PassageRef, ...] = request.evidence if request.draft else request.query_results
        self.found: tuple[PassageRef, ...] = ()
        self.used_feedback = [critique.critique for critique in request.critiques if critique.origin == "person"]
        self.reviews: list[str] = []
        self.previous_draft: Draft | None = None
        self.rounds = 0
        self.phase: SectionPhase = "waiting"
        self.note = ""
        self.removed: tuple[str, ...] = ()

    @workflow.run
    async def run(self, request: SectionRequest) -> SectionResult:
        """Write the section, or improve the draft of the request."""
        try:
            await self._write()
        except (Exception, asyncio.CancelledError):
            await self._send_progress(
                "failed"
            )  # the run must know what the calls cost, to free the rest of their budget
            raise
        await self._send_progress("done" if self.draft.claims else "no_evidence")
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._result()

    async def _write(self) -> None:
        if self.request.draft is None:
            await self._write_first_draft()
        else:
            self._add_evidence(self.request.shared_evidence)
            critiques = self.request.critiques
            await self._rewrite([c.critique for c in critiques], [c.query for c in critiques])
        try:
            while self.draft.claims and await self._run_review_round():
                self.rounds += 1
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            self.note = f"“{self.request.topic.heading}” was not improved further: {describe_failure(error)}"
        await self._verify()

    async def _verify(self) -> None:
        """Remove claims that their sources do not support; verdicts of an earlier version are reused."""
        draft = keep_verdicts(self.request.draft or Draft(), self.draft)
        verification = await verify_drafts(
            self.clients, self.request.question, [draft], self.evidence, self.request.topic.heading
        )
        self.draft, self.removed = verification.drafts[0], verification.notes

    async def _write_first_draft(self) -> None:
        topic, gathered = self.request.topic, self.request.research_evidence
        await self._send_progress("retrieving")
        if not (gathered and self.is_finishing):
            imagined = self.request.hypothetical_answer
            if not imagined and not self.request.limits.has_model:
                imagined = await self._imagine_answer()
            await self._gather(topic.question, imagined)
        whole = self.request.evidence if topic.question == self.request.question else ()
        self.evidence = order_section_evidence(
            self.request.query_results, whole or self.evidence, gathered, self.evidence
        )[: self.request.limits.passages_per_section]
        self._add_evidence(self.request.shared_evidence)
        self.evidence = add_sided_passages(self.evidence, self.request.positions)
        for text in self._take_feedback():
            await self._search_for_more(text)
        if not self.evidence:
            return
        await self._send_progress("drafting")
        self.draft = await self.clients.models.ask(
            section_writer.ROLE, self._build_writer_input(), self.evidence, summary=topic.heading
        )

    async def _imagine_answer(self) -> str:
        topic = ImaginedTopic(heading=self.request.topic.heading, question=self.request.topic.question)
        output = await self.clients.models.ask(
            hypothetical_document.ROLE,
            HypotheticalDocumentInput(question=self.request.question, topics=(topic,)),
            self.request.evidence[:8],
            summary=topic.heading,
        )
        return output.texts[0] if output.texts else ""

    async def _run_review_round(self) -> bool:
        """Review and rewrite the draft once; return whether it was rewritten."""
        new = [feedback.text for feedback in self.feedback_items if feedback.text not in self.used_feedback]
        if new:
            self.previous_draft = None  # a rewrite that a person asked for is not compared with the draft before
            self._take_feedback()
            await self._rewrite(new, new)
            return True
        if self.rounds >= compute_max_revisions(
            self.request.limits.max_section_revisions,
            self.rounds,
            has_new_feedback=False,
            is_finishing=self.is_finishing,
        ):
            return False
        review = await self._review()
        if review.worse and self.previous_draft is not None:
            self._restore_draft(self.previous_draft)
            return False
        if review.action == "NONE" or not review.critique or is_repeated_critique(review.critique, self.reviews):
            return False
        self.reviews.append(review.critique)
        before = self.draft
        await self._rewrite([review.critique], [review.query])
        if is_regression(before, self.draft):
            self._restore_draft(before)
            return False
        self.previous_draft = before
        return True

    def _restore_draft(self, before: Draft) -> None:
        """Restore the draft before the last rewrite."""
        self.draft = before
        self.note = f"“{self.request.topic.heading}” keeps an earlier draft, since the rewrite made it worse."

    async def _review(self) -> SectionReviewerOutput:
        await self._send_progress("reviewing")
        topic = self.request.topic
        return await self.clients.models.ask(
            section_reviewer.ROLE,
            SectionReviewerInput(
                question=self.request.question,
                topic=topic.heading,
                topic_question=topic.question,
                draft=self.draft,
                previous=self.previous_draft,
                feedback=tuple(self.used_feedback),
                earlier_critiques=tuple(self.reviews),
            ),
            self.evidence,
            summary=f"{topic.heading}, round {self.rounds + 1}",
        )

    async def _rewrite(self, critiques: list[str], queries: list[str]) -> None:
        """Search for what is missing, then rewrite; an empty rewrite never replaces a draft."""
        for query in dict.fromkeys(query.strip() for query in queries if query.strip()):
            await self._search_for_more(query)
        if not self.evidence:
            return
        await self._send_progress("rewriting")
        rewritten = await self.clients.models.ask(
            section_rewriter.ROLE,
            SectionRewriterInput(
                **self._build_writer_input().model_dump(),
                draft=self.draft,
                critiques=tuple(critiques),
                other_sentences=self.request.other_sentences,
            ),
            self.evidence,
            summary=f"{self.request.topic.heading}: {critiques[0] if critiques else 'again'}",
        )
        self.draft = rewritten if rewritten.claims else self.draft

    async def _search_for_more(self, query: str) -> None:
        """Search for what the draft lacks; the passages are evidence for the whole report."""
        self.found = manuscript.add_new_passages(self.found, await self._gather(query))

    def _add_evidence(self, passages: Sequence[PassageRef]) -> None:
        """Append new passages to the evidence of the section; known ones keep their places."""
        self.evidence = manuscript.add_new_passages(self.evidence, passages)

    async def _gather(self, query: str, hypothetical_answer: str = "") -> tuple[PassageRef, ...]:
        """Search, append new passages to the evidence of the section, and return all passages found."""
        limits = self.request.limits
        found = await self.clients.knowledge.search(
            SearchRequest(
                query=query,
                corpora=self.request.corpora,
                k=limits.passages_per_section,
                hypothetical_answer=hypothetical_answer,
                max_per_source=limits.max_per_source,
            ),
            limits.min_relevance,
            summary=query,
        )
        self._add_evidence(found)
        return found

    def _take_feedback(self) -> list[str]:
        """Mark all feedback as used from now on and return its texts."""
        self.used_feedback = list(
            dict.fromkeys([*self.used_feedback, *(feedback.text for feedback in self.feedback_items)])
        )
        return self.used_feedback

    def _build_writer_input(self) -> SectionWriterInput:
        return SectionWriterInput(
            question=self.request.question,
            topic=self.request.topic.heading,
            topic_question=self.request.topic.question,
            other_topics=self.request.other_topics,
            feedback=tuple(self.used_feedback),
            reasoning=self.request.reasoning,
            synthesis=self.request.synthesis,
            preferences=self.request.preferences,
            positions=self.request.positions,
        )

    async def _send_progress(self, phase: SectionPhase) -> None:
        """Report the progress of the section to the run."""
        self.phase = phase
        sources = {citation.source for claim in self.draft.claims for citation in claim.citations}
        progress = TopicProgress(
            topic=self.request.topic.heading,
            phase=phase,
            claims=len(self.draft.claims),
            sources=len(sources),
            coverage=round(compute_coverage(self.evidence), 3),
            round=self.rounds,
        )
        await send_progress(
            self.request.run,
            ProgressUpdate(
                reporter=workflow.info().workflow_id,
                topics=(progress,),
                usage=self.clients.record.usage,
                last=self._describe_progress(len(sources)),
                ended=phase in ("done", "no_evidence", "failed"),
            ),
        )

    def _describe_progress(self, sources: int) -> str:
        """Return news on the current phase, or an empty text if there is none."""
        name = self.request.topic.heading
        if self.phase == "drafting":
            found = len(self.evidence)
            return f"{found} passage{'' if found == 1 else 's'} found on “{name}”"
        if self.phase == "done":
            return f"“{name}” cites {sources} source{'' if sources == 1 else 's'}"
        return f"“{name}”: {self.reviews[-1]}" if self.phase == "rewriting" and self.reviews else ""

    def _result(self) -> SectionResult:
        has_text = bool(self.draft.claims)
        return SectionResult(
            topic=self.request.topic,
            phase="done" if has_text else "no_evidence",
            draft=self.draft,
            evidence=self.evidence,
            found=self.found,
            coverage=round(compute_coverage(self.evidence), 3),
            reviews=tuple(self.reviews),
            feedback=tuple(self.used_feedback),
            usage=self.clients.record.usage,
            fallbacks=tuple(self.clients.record.fallbacks),
            note=self.note if has_text else self._explain_missing_text(),
            removed=self.removed,
        )

    def _explain_missing_text(self) -> str:
        name = self.request.topic.heading
        if self.removed:
            return f"The sources support nothing that was written on “{name}”."
        return f"The corpora contain nothing on “{name}”."
