"""SectionWorkflow: one section, drafted and improved until its reviewer is content (document 002, chapter 6).

draft → (review → search → rewrite)* → verify, bounded by the number of rounds, by a critique that returns, by a rewrite
that is worse than what it was made from, and by a person who asks to finish. Evidence that a search adds stays with the
section for all later rounds.
"""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.research.verification import verified
from workflows.runtime.budget import by_signal
from workflows.runtime.calls import Calls
from workflows.runtime.control import Steered
from workflows.runtime.failures import cause
from workflows.runtime.progress import report

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.claims.verification import carried
    from tenure.algorithms.control.reflexion import most_made, repeats
    from tenure.algorithms.research.coverage import coverage
    from tenure.algorithms.writing.manuscript import poorer, together
    from tenure.contracts.evidence.passages import Draft, PassageRef, SearchRequest
    from tenure.contracts.research.report import ProgressUpdate, SectionRequest, SectionResult
    from tenure.contracts.run.run import SectionPhase, TopicProgress
    from tenure.roles.research.hypothetical_document import HypotheticalDocumentInput
    from tenure.roles.writing.section_reviewer import SectionReviewerInput, SectionReviewerOutput
    from tenure.roles.writing.section_rewriter import SectionRewriterInput
    from tenure.roles.writing.section_writer import SectionWriterInput


@workflow.defn
class SectionWorkflow(Steered):
    """Writes one section of a report."""

    @workflow.init
    def __init__(self, request: SectionRequest) -> None:
        """Start from the request: a topic, or a draft with critiques."""
        super().__init__(request.stance)
        self.request = request
        self.calls = Calls(self, request.limits, by_signal(self, request.run))
        self.draft = request.draft or Draft()
        self.evidence: tuple[PassageRef, ...] = request.evidence if request.draft else request.results
        self.taken = [critique.critique for critique in request.critiques if critique.origin == "person"]
        self.reviews: list[str] = []
        self.before: Draft | None = None
        self.rounds = 0
        self.phase: SectionPhase = "waiting"
        self.note = ""
        self.removed: tuple[str, ...] = ()

    @workflow.run
    async def run(self, request: SectionRequest) -> SectionResult:
        """Write the section, or improve the draft it was given."""
        try:
            await self._write()
        except (Exception, asyncio.CancelledError):
            await self._tell("failed")  # what its calls cost has to be known, and the rest of its budget is free again
            raise
        await self._tell("done" if self.draft.claims else "no_evidence")
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._result()

    async def _write(self) -> None:
        if self.request.draft is None:
            await self._first_draft()
        else:
            critiques = self.request.critiques
            await self._refine([c.critique for c in critiques], [c.query for c in critiques])
        try:
            while self.draft.claims and await self._improve():
                self.rounds += 1
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            self.note = f"“{self.request.topic.heading}” was not improved any further: {cause(error)}"
        await self._verify()

    async def _verify(self) -> None:
        """Let no claim stand that its sources do not bear out; what was checked before is not checked again."""
        draft = carried(self.request.draft or Draft(), self.draft)
        settled = await verified(self.calls, self.request.question, [draft], self.evidence, self.request.topic.heading)
        self.draft, self.removed = settled.drafts[0], settled.notes

    async def _first_draft(self) -> None:
        topic, gathered = self.request.topic, self.request.gathered
        await self._tell("retrieving")
        if not (gathered and self.finishing):
            await self._gather(topic.question, self.request.hypothetical or await self._imagined())
        self.evidence = together([self.evidence, gathered])[: self.request.limits.passages_per_section]
        for wish in self._taken_now():
            await self._gather(wish)
        if not self.evidence:
            return
        await self._tell("drafting")
        self.draft = await self.calls.role(
            RoleActivities.section_writer, self._brief(), self.evidence, summary=topic.heading
        )

    async def _imagined(self) -> str:
        imagined = await self.calls.role(
            RoleActivities.hypothetical_document,
            HypotheticalDocumentInput(question=self.request.question, topic=self.request.topic.heading),
            self.request.evidence[:8],
            summary=self.request.topic.heading,
        )
        return imagined.text

    async def _improve(self) -> bool:
        """Do one round of review and rewriting; tell whether there was something to do."""
        unheard = [wish.text for wish in self.wishes if wish.text not in self.taken]
        if unheard:
            self.before = None  # what a person asked for is not weighed against what stood there before
            self._taken_now()
            await self._refine(unheard, unheard)
            return True
        if self.rounds >= most_made(
            self.request.limits.max_reflexions, self.rounds, asked=False, finishing=self.finishing
        ):
            return False
        review = await self._review()
        if review.worse and self.before is not None:
            self._keep(self.before)
            return False
        if review.action == "NONE" or not review.critique or repeats(review.critique, self.reviews):
            return False
        self.reviews.append(review.critique)
        before = self.draft
        await self._refine([review.critique], [review.query])
        if poorer(before, self.draft):
            self._keep(before)
            return False
        self.before = before
        return True

    def _keep(self, before: Draft) -> None:
        """Go back to the draft before the last rewriting."""
        self.draft = before
        self.note = f"“{self.request.topic.heading}” keeps an earlier draft, since its rewriting made it worse."

    async def _review(self) -> SectionReviewerOutput:
        await self._tell("reviewing")
        topic = self.request.topic
        return await self.calls.role(
            RoleActivities.section_reviewer,
            SectionReviewerInput(
                question=self.request.question,
                topic=topic.heading,
                topic_question=topic.question,
                draft=self.draft,
                previous=self.before,
                wishes=tuple(self.taken),
                earlier=tuple(self.reviews),
            ),
            self.evidence,
            summary=f"{topic.heading}, round {self.rounds + 1}",
        )

    async def _refine(self, critiques: list[str], queries: list[str]) -> None:
        """Gather what is missing, then rewrite; an empty rewrite never replaces a draft."""
        for query in dict.fromkeys(query.strip() for query in queries if query.strip()):
            await self._gather(query)
        if not self.evidence:
            return
        await self._tell("rewriting")
        rewritten = await self.calls.role(
            RoleActivities.section_rewriter,
            SectionRewriterInput(
                **self._brief().model_dump(), draft=self.draft, critiques=tuple(critiques), said=self.request.said
            ),
            self.evidence,
            summary=f"{self.request.topic.heading}: {critiques[0] if critiques else 'again'}",
        )
        self.draft = rewritten if rewritten.claims else self.draft

    async def _gather(self, query: str, imagined: str = "") -> None:
        """Add what a search finds to the section's evidence, the known passages in front."""
        limits = self.request.limits
        found = await self.calls.search(
            SearchRequest(
                query=query,
                corpora=self.request.corpora,
                k=limits.passages_per_section,
                hypothetical=imagined,
                max_per_source=limits.max_per_source,
            ),
            limits.min_relevance,
            summary=query,
        )
        known = {passage.chunk for passage in self.evidence}
        self.evidence = (*self.evidence, *(passage for passage in found if passage.chunk not in known))

    def _taken_now(self) -> list[str]:
        """Return the wishes the section is written with from now on."""
        self.taken = list(dict.fromkeys([*self.taken, *(wish.text for wish in self.wishes)]))
        return self.taken

    def _brief(self) -> SectionWriterInput:
        return SectionWriterInput(
            question=self.request.question,
            topic=self.request.topic.heading,
            topic_question=self.request.topic.question,
            other_topics=self.request.other_topics,
            wishes=tuple(self.taken),
            reasoning=self.request.reasoning,
        )

    async def _tell(self, phase: SectionPhase) -> None:
        """Report to the run how far the section is."""
        self.phase = phase
        sources = {citation.source for claim in self.draft.claims for citation in claim.citations}
        progress = TopicProgress(
            topic=self.request.topic.heading,
            phase=phase,
            claims=len(self.draft.claims),
            sources=len(sources),
            coverage=round(coverage(self.evidence), 3),
            round=self.rounds,
        )
        await report(
            self.request.run,
            ProgressUpdate(
                reporter=workflow.info().workflow_id,
                topics=(progress,),
                usage=self.calls.usage,
                last=self._news(len(sources)),
                ended=phase in ("done", "no_evidence", "failed"),
            ),
        )

    def _news(self, sources: int) -> str:
        """Return what is worth telling beside the phase itself."""
        name = self.request.topic.heading
        if self.phase == "drafting":
            found = len(self.evidence)
            return f"{found} passage{'' if found == 1 else 's'} found on “{name}”"
        if self.phase == "done":
            return f"“{name}” rests on {sources} source{'' if sources == 1 else 's'}"
        return f"“{name}”: {self.reviews[-1]}" if self.phase == "rewriting" and self.reviews else ""

    def _result(self) -> SectionResult:
        written = bool(self.draft.claims)
        return SectionResult(
            topic=self.request.topic,
            phase="done" if written else "no_evidence",
            draft=self.draft,
            evidence=self.evidence,
            coverage=round(coverage(self.evidence), 3),
            reviews=tuple(self.reviews),
            wishes=tuple(self.taken),
            usage=self.calls.usage,
            degraded=tuple(self.calls.degraded),
            note=self.note if written else self._why_empty(),
            removed=self.removed,
        )

    def _why_empty(self) -> str:
        name = self.request.topic.heading
        if self.removed:
            return f"Nothing that was written on “{name}” held against its sources."
        return f"Nothing on “{name}” was found in the corpora."
