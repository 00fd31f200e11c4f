"""SectionWorkflow: one section, written and then reviewed, which checks and edits it in one call.

write → review → (search → review)* → verify. A review answers with verdicts and edits by sentence; after its search it
reads the new passages in the same conversation. The reviews end when nothing that matters is left, at their limit, with
a critique that repeats an earlier one, with edits that lose most of the sources, and when a person asks to finish.
Evidence that a search adds stays with the section, and the run gives it to the other sections and to the whole report.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from temporalio import workflow

from workflows.research.verification import verify_drafts
from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.model_client import Conversation
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.claims.verification import describe_removal
    from tenure.algorithms.control.reflexion import compute_max_revisions, is_repeated_critique
    from tenure.algorithms.research.coverage import compute_coverage
    from tenure.algorithms.writing import manuscript
    from tenure.algorithms.writing.manuscript import add_sided_passages, is_regression, order_section_evidence
    from tenure.contracts.evidence.passages import Draft, PassageRef, SearchRequest
    from tenure.contracts.research.report import SectionRequest, SectionResult, SectionReview
    from tenure.contracts.run.limits import MAX_RETRIEVED_PASSAGES
    from tenure.contracts.run.role_calls import ConversationTurn
    from tenure.contracts.run.run import SectionPhase, TopicProgress
    from tenure.roles.research import hypothetical_document
    from tenure.roles.research.hypothetical_document import HypotheticalDocumentInput, ImaginedTopic
    from tenure.roles.writing import section_reviewer, section_writer
    from tenure.roles.writing.section_reviewer import SectionReviewerInput
    from tenure.roles.writing.section_writer import SectionWriterInput

MAX_NEW_PASSAGES = 6
"""Maximum number of new passages of a search that a review has asked a model for; the conversation keeps them all."""
MAX_SEARCHES = {"simple": 0, "moderate": 1, "complex": 2}
"""Maximum number of searches that the reviews of a section may ask a model for, by the complexity of the question."""


@workflow.defn
class SectionWorkflow(ControllableWorkflow):
    """Workflow that writes one section of a report."""

    @workflow.init
    def __init__(self, request: SectionRequest) -> None:
        """Start from a topic, or from a draft with critiques."""
        super().__init__(request.control)
        self.request = request
        self.clients = ActivityClients(self, request.limits, question=request.question, run=request.run)
        self.draft = request.draft or Draft()
        self.evidence: tuple[PassageRef, ...] = request.evidence if request.draft else request.query_results
        self.found: tuple[PassageRef, ...] = ()
        self.used_feedback = [critique.critique for critique in request.critiques if critique.origin == "person"]
        self.reviews: list[str] = []
        name = workflow.info().workflow_id
        self.conversation = Conversation(request.turn or ConversationTurn(run=request.run, name=name, number=0))
        self.shown_passages = request.shown_passages
        self.rounds = 0
        self.searches = 0
        self.last_query = ""
        self.phase: SectionPhase = "waiting"
        self.note = ""
        self.removed: tuple[str, ...] = ()

    @workflow.run
    async def run(self, request: SectionRequest) -> SectionResult:
        """Write the section, or improve the draft of the request."""
        try:
            await self._write()
        except (Exception, asyncio.CancelledError):
            await self.clients.progress.fail(**self._describe_progress("failed"))
            raise
        progress = await self.clients.progress.finish(
            **self._describe_progress("done" if self.draft.claims else "no_evidence")
        )
        return self._result().model_copy(update={"progress": progress})

    async def _write(self) -> None:
        if self.request.draft is None:
            await self._write_first_draft()
        else:
            self._add_evidence(self.request.shared_evidence)
        notes: list[str] = []
        failure = f"“{self.request.topic.heading}” was not improved further"
        await run_optional_step(self._review_and_edit(), None, failure, notes.append, MODEL_STEP_LIMIT)
        self.note = " ".join(notes) or self.note
        await self._verify()

    async def _review_and_edit(self) -> None:
        """Review the section until nothing that matters is left; feedback that arrives meanwhile comes first."""
        is_unfinished = True
        if self.request.draft is not None:
            critiques = self.request.critiques
            is_unfinished = await self._meet_requests([c.critique for c in critiques], [c.query for c in critiques])
        while self.draft.claims:
            new = [feedback.text for feedback in self.feedback_items if feedback.text not in self.used_feedback]
            if new:
                self._take_feedback()
                is_unfinished = await self._meet_requests(new, new)
            elif is_unfinished and self._may_review():
                is_unfinished = await self._review()
            else:
                return

    async def _verify(self) -> None:
        """Check claims that no review has judged, and remove those that their sources do not support."""
        verification = await verify_drafts(
            self.clients,
            self.request.question,
            [self.draft],
            self.evidence,
            self.request.topic.heading,
            is_reviewed=self.rounds > 0,
            written_by_model=self.request.limits.has_model,
        )
        self.draft, self.removed = verification.drafts[0], (*self.removed, *verification.notes)

    async def _write_first_draft(self) -> None:
        topic, gathered = self.request.topic, self.request.research_evidence
        self._report_progress("retrieving")
        whole = self.request.evidence if topic.question == self.request.question else ()
        imagined = self.request.hypothetical_answer
        limits = self.request.limits
        # The run has searched for the whole question: a smaller search with the same words finds nothing else.
        is_smaller = limits.passages_per_section <= MAX_RETRIEVED_PASSAGES
        is_searched = whole and is_smaller and not imagined and limits.has_model
        if not is_searched and not (gathered and self.is_finishing):
            if not imagined and not limits.has_model:
                imagined = await self._imagine_answer()
            self._add_evidence(await self._search(topic.question, imagined))
        # Results of queries come on top, since they would take the places of the reasons.
        limit = self.request.limits.passages_per_section + len(self.request.query_results)
        self.evidence = order_section_evidence(
            self.request.query_results, whole or self.evidence, gathered, self.evidence, self.request.cited_evidence
        )[:limit]
        self._add_evidence(self.request.shared_evidence)
        self.evidence = add_sided_passages(self.evidence, self.request.positions)
        for text in self._take_feedback():
            await self._search_for_more(text)
        if not self.evidence:
            return
        self._report_progress("drafting")
        written = await self.clients.models.ask(
            section_writer.ROLE,
            self._build_writer_input(),
            self.evidence,
            summary=topic.heading,
            conversation=self.conversation,
        )
        self.shown_passages = len(self.evidence)
        self.draft = written

    async def _imagine_answer(self) -> str:
        topic = ImaginedTopic(heading=self.request.topic.heading, question=self.request.topic.question)
        output = await self.clients.models.ask(
            hypothetical_document.ROLE,
            HypotheticalDocumentInput(question=self.request.question, topics=(topic,)),
            self.request.evidence[:8],
            summary=topic.heading,
        )
        return output.texts[0] if output.texts else ""

    def _may_review(self) -> bool:
        """Return whether another review may follow; a review of the results of a search may exceed the limit."""
        limit = compute_max_revisions(
            self.request.limits.max_section_revisions,
            self.rounds,
            has_new_feedback=False,
            is_finishing=self.is_finishing,
        )
        return self.rounds < limit + bool(self.last_query and limit)

    async def _meet_requests(self, requests: list[str], queries: list[str]) -> bool:
        """Search for what critiques or feedback ask for, and edit the section; return whether it is unfinished."""
        wanted = list(dict.fromkeys(query.strip() for query in queries if query.strip()))
        for query in wanted:
            await self._search_for_more(query)
        if not self.evidence:
            return False
        self.last_query = "; ".join(wanted)
        return await self._review(requests)

    async def _review(self, requests: Sequence[str] = ()) -> bool:
        """Review and edit the section once, and search for what it lacks; return whether it is unfinished."""
        self._report_progress("rewriting" if requests else "reviewing")
        heading, before = self.request.topic.heading, self.draft
        review = await self.clients.models.ask(
            section_reviewer.ROLE,
            self._build_reviewer_input(requests),
            self.evidence,
            summary=f"{heading}: {requests[0]}" if requests else f"{heading}, round {self.rounds + 1}",
            conversation=self.conversation,
        )
        self.rounds += 1
        self.last_query, self.shown_passages = "", len(self.evidence)
        self._take_edits(before, review, is_requested=bool(requests))
        if is_repeated_critique(review.critique, self.reviews):
            return False
        self.reviews += [review.critique] if review.critique else []
        if await self._search_for_review(review):
            return True
        return review.is_unfinished and self.request.complexity == "complex"

    def _take_edits(self, before: Draft, review: SectionReview, *, is_requested: bool) -> None:
        """Use the edited text of a review, unless it loses most sources without a reason."""
        heading = self.request.topic.heading
        if is_requested and not review.draft.claims:
            return
        if not is_requested and is_regression(before, review.draft, review.condemned):
            self.note = f"“{heading}” keeps an earlier draft, since the edits of a review made it worse."
            return
        self.draft = review.draft
        self.removed = (*self.removed, *(describe_removal(claim, heading) for claim in review.removed))
        if review.refused_edits:
            self.note = f"“{heading}”: edits that named no sentence or no passage were not made."

    async def _search_for_review(self, review: SectionReview) -> bool:
        """Search for what a review lacks, if its results can be read; return whether another review is worth it."""
        allowed = self.searches < MAX_SEARCHES[self.request.complexity] or review.searches_freely
        if not review.query or not allowed or self.rounds > self.request.limits.max_section_revisions:
            return False
        if self.is_finishing:
            return False
        self.searches += 1
        known = len(self.evidence)
        await self._search_for_more(review.query)
        if len(self.evidence) > known:
            self.last_query = review.query
            return True
        return review.searches_freely

    async def _search_for_more(self, query: str) -> None:
        """Search for what the draft lacks; the passages are evidence for the whole report."""
        found = await self._search(query)
        self._add_evidence(found, MAX_NEW_PASSAGES if self.request.limits.has_model else None)
        self.found = manuscript.add_new_passages(self.found, found)

    def _add_evidence(self, passages: Sequence[PassageRef], limit: int | None = None) -> None:
        """Append new passages, at most `limit`, to the evidence of the section; known ones keep their places."""
        known = len(self.evidence)
        merged = manuscript.add_new_passages(self.evidence, passages)
        self.evidence = merged if limit is None else merged[: known + limit]

    async def _search(self, query: str, hypothetical_answer: str = "") -> tuple[PassageRef, ...]:
        """Search for passages of the section."""
        limits = self.request.limits
        return await self.clients.knowledge.search(
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
            line=self.request.line,
            synthesis=self.request.synthesis,
            preferences=self.request.preferences,
            positions=self.request.positions,
            length=self.request.limits.length,
        )

    def _build_reviewer_input(self, requests: Sequence[str]) -> SectionReviewerInput:
        may_search = self.searches < MAX_SEARCHES[self.request.complexity]
        return SectionReviewerInput(
            **self._build_writer_input().model_dump(),
            draft=self.draft,
            requests=tuple(requests),
            query=self.last_query,
            earlier_critiques=tuple(self.reviews),
            other_sections=() if self.rounds else self.request.other_sections,
            shown_passages=self.shown_passages,
            may_search=may_search and self.rounds < self.request.limits.max_section_revisions,
        )

    def _report_progress(self, phase: SectionPhase) -> None:
        """Report the progress of the section to the run."""
        self.clients.progress.report(**self._describe_progress(phase))

    def _describe_progress(self, phase: SectionPhase) -> dict[str, Any]:
        """Begin a phase, and return the news."""
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
        run_phase = "refine" if self.request.draft else "write"
        return {"phase": run_phase, "topics": (progress,), "last": self._describe_phase(len(sources))}

    def _describe_phase(self, sources: int) -> str:
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
            turn=self.conversation.turn,
            shown_passages=self.shown_passages,
        )

    def _explain_missing_text(self) -> str:
        name = self.request.topic.heading
        if self.removed:
            return f"No sentence that was written on “{name}” was confirmed by its passages."
        return f"No passage was found that could be quoted on “{name}”."
