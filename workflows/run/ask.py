"""AskWorkflow: a follow-up question on a run's knowledge base, answered with verified citations (DESIGN §8, `ask`).

rewrite → search (→ refine → search) → answer → verify → assemble. It reads what the run reads and has an execution of
its own, so that the run is neither asked nor changed, whether it is at work or over.
"""

from temporalio import workflow

from workflows.research.verification import verified
from workflows.runtime.calls import Calls
from workflows.runtime.control import Steered

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.control.budget import Account
    from tenure.algorithms.research.planning import same
    from tenure.algorithms.text.questions import shorten
    from tenure.contracts.base import RunId, SourceId
    from tenure.contracts.evidence.passages import Draft, PassageRef, SearchRequest
    from tenure.contracts.evidence.retrieval import Purpose
    from tenure.contracts.research.report import ReportDraft, SectionDraft
    from tenure.contracts.result.ask import REMEMBERED, Answer, AskRequest, Exchange, Thread
    from tenure.contracts.result.result import Result
    from tenure.contracts.run.budget import Draw, Grant
    from tenure.roles.research.query_refiner import QueryRefinerInput
    from tenure.roles.research.question_rewriter import QuestionRewriterInput
    from tenure.roles.writing.answerer import AnswererInput, Said

PASSAGES = 12
"""Passages of one search."""
SHOWN = 8
"""Passages that decide what to search for next."""
REMEMBERED_TEXT = 1_500
"""Characters of an answer that are remembered."""
REMEMBERED_PASSAGES = 4
"""Passages of an answer that are remembered."""


@workflow.defn
class AskWorkflow(Steered):
    """Answers one follow-up question."""

    @workflow.init
    def __init__(self, request: AskRequest) -> None:
        """Start from the question and what was said before it."""
        super().__init__()
        self.request = request
        self.account = Account(limits=request.limits)
        self.calls = Calls(self, request.limits, self._drawn)
        self.asked = request.question
        self.notes: tuple[str, ...] = ()

    @workflow.run
    async def run(self, request: AskRequest) -> Answer:
        """Answer the question, or say that nothing was found."""
        await self.calls.open_web()
        await self._stand_alone()
        evidence = await self._gather()
        draft = await self._answered(evidence) if evidence else Draft()
        result = await self.calls.assemble(self._document(draft))
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._answer(draft, evidence, result)

    async def _stand_alone(self) -> None:
        """Ask the question so that it means the same without the conversation."""
        exchanges = self.request.thread.exchanges
        rewritten = await self.calls.role(
            RoleActivities.question_rewriter,
            QuestionRewriterInput(
                question=self.request.topic,
                part=self.request.question,
                earlier=(self.request.topic, *(exchange.asked for exchange in exchanges)),
            ),
            [passage for exchange in reversed(exchanges) for passage in exchange.passages][:PASSAGES],
            summary=self.request.question,
        )
        self.asked = rewritten.question.strip() or self.request.question

    async def _gather(self) -> tuple[PassageRef, ...]:
        """Search for the question, and once more for what is missing, where that is allowed."""
        found = await self._search(self.asked)
        if not self.request.search or self.finishing:
            return found
        purpose: Purpose = "next_hop" if found else "reword"
        refined = await self.calls.role(
            RoleActivities.query_refiner,
            QueryRefinerInput(question=self.request.topic, task=self.asked, made=(self.asked,), purpose=purpose),
            found[:SHOWN],
            summary=self.asked,
        )
        query = refined.query.strip()
        if refined.complete or not query or same(query, self.asked):
            return found
        more = {passage.chunk: passage for passage in await self._search(query)}
        return tuple(({passage.chunk: passage for passage in found} | more).values())

    async def _search(self, query: str) -> tuple[PassageRef, ...]:
        limits = self.request.limits
        request = SearchRequest(
            query=query, corpora=self.request.corpora, k=PASSAGES, max_per_source=limits.max_per_source
        )
        return await self.calls.search(request, limits.min_relevance, summary=query)

    async def _answered(self, evidence: tuple[PassageRef, ...]) -> Draft:
        """Write the answer, and let nothing of it stand that its sources do not bear out."""
        said = tuple(Said(question=one.question, answer=one.answer) for one in self.request.thread.exchanges)
        draft = await self.calls.role(
            RoleActivities.answerer,
            AnswererInput(topic=self.request.topic, question=self.asked, earlier=said),
            evidence,
            summary=self.asked,
            closing=True,
        )
        settled = await verified(self.calls, self.asked, [draft], evidence, "Answer", closing=True)
        self.notes = settled.notes
        return settled.drafts[0]

    def _document(self, draft: Draft) -> ReportDraft:
        """Return the answer as a document whose sources can be numbered and whose quotes can be checked."""
        return ReportDraft(
            id=RunId(workflow.info().workflow_id),
            mode="RESEARCH",
            question=self.asked,
            sections=(SectionDraft(topic=self.asked, draft=draft),) if draft.claims else (),
            numbered=self.request.thread.sources,
            notes=self.notes,
        )

    def _answer(self, draft: Draft, evidence: tuple[PassageRef, ...], result: Result) -> Answer:
        section = result.sections[0] if result.sections else None
        return Answer(
            run=self.request.run,
            question=self.request.question,
            asked=self.asked,
            status="answered" if result.sources else "no_evidence",
            markdown=section.markdown if section else "",
            claims=section.claims if section else (),
            sources=result.sources,
            usage=self.calls.usage,
            degraded=tuple(self.calls.degraded),
            notes=result.notes if result.sources else self.notes,
            thread=self._remembered(draft, evidence, result),
        )

    def _remembered(self, draft: Draft, evidence: tuple[PassageRef, ...], result: Result) -> Thread:
        """Return the thread with this exchange, and without those that are too old for it."""
        before, limits = self.request.thread, self.request.limits
        cited = {citation.chunk for claim in draft.claims for citation in claim.citations}
        exchange = Exchange(
            question=self.request.question,
            asked=self.asked,
            answer=shorten(draft.text, REMEMBERED_TEXT) if draft.claims else "",
            passages=tuple(passage for passage in evidence if passage.chunk in cited)[:REMEMBERED_PASSAGES],
        )
        return Thread(
            exchanges=(*before.exchanges, exchange)[-REMEMBERED:],
            sources=tuple(dict.fromkeys((*before.sources, *(SourceId(source.id) for source in result.sources)))),
            read_web=before.read_web or limits.web is not None,
        )

    async def _drawn(self, draw: Draw) -> Grant:
        """Answer a draw from what the answer may use."""
        self.account, grant = self.account.grant(draw)
        return grant
