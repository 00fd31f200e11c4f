"""Answer a follow-up question from the corpora of a run, or from its change of a repository, with verified citations.

The workflow reads the corpora of the run but does not contact the run itself, which may be running or have ended. Texts
on the change of a coding run come with the question and become sources of their own.
"""

import asyncio

from temporalio import workflow

from workflows.research.verification import verify_drafts
from workflows.run.question_tools import QuestionTools, build_question_task
from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow
from workflows.upkeep.archive import start_archiving

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from activities.report import ReportActivities
    from tenure.algorithms.calculator.questions import extract_calculable, is_pure_calculation
    from tenure.algorithms.control.budget import BudgetAccount
    from tenure.algorithms.research.planning import is_same_query
    from tenure.algorithms.text.questions import shorten
    from tenure.algorithms.writing.manuscript import add_new_passages
    from tenure.contracts.base import RunId
    from tenure.contracts.evidence.passages import Draft, PassageRef, SearchRequest
    from tenure.contracts.evidence.retrieval import QueryPurpose
    from tenure.contracts.research.report import ReportDraft, SectionDraft
    from tenure.contracts.result.ask import (
        MAX_THREAD_EXCHANGES,
        AskReply,
        AskRequest,
        Exchange,
        ResultTextsRequest,
        Thread,
        get_change_corpus,
    )
    from tenure.contracts.result.result import Result
    from tenure.contracts.run.budget import BudgetGrant, BudgetRequest
    from tenure.roles.research import query_refiner, question_rewriter
    from tenure.roles.research.query_refiner import QueryRefinerInput
    from tenure.roles.research.question_rewriter import QuestionRewriterInput
    from tenure.roles.writing import answerer
    from tenure.roles.writing.answerer import AnswererInput, ConversationExchange

PASSAGES_PER_SEARCH = 12
"""Passages of one search."""
MAX_REFINEMENT_PASSAGES = 8
"""Passages that the next query is based on."""
MAX_REMEMBERED_ANSWER_LENGTH = 1_500
"""Characters of an answer that are kept in the thread."""
MAX_REMEMBERED_PASSAGES = 4
"""Passages of an answer that are kept in the thread."""


@workflow.defn
class AskWorkflow(ControllableWorkflow):
    """Workflow that answers one follow-up question."""

    @workflow.init
    def __init__(self, request: AskRequest) -> None:
        super().__init__()
        self.request = request
        self.account = BudgetAccount(limits=request.limits)
        self.clients = ActivityClients(self, request.limits, self._grant_budget, request.question)
        self.standalone_question = request.question
        self.notes: tuple[str, ...] = ()

    @workflow.run
    async def run(self, request: AskRequest) -> AskReply:
        """Answer the question, or reply that there is no evidence."""
        try:
            reply = await self._answer()
        except (Exception, asyncio.CancelledError) as error:
            await start_archiving(workflow.logger.warning, error)
            raise
        await start_archiving(workflow.logger.warning)
        return reply

    async def _answer(self) -> AskReply:
        if self.clients.web:
            await self.clients.web.open()
        calculation = await self._rewrite_question()
        passages = await self._gather()
        task = build_question_task(
            self.standalone_question,
            self.request.run,
            self.request.corpora or (get_change_corpus(self.request.run),),
            self.request.databases,
            self.request.limits,
        )
        tools = QuestionTools(self.clients, task, lambda: self.is_finishing)
        used = await tools.use(passages, calculation=calculation, queries_tables=bool(self.request.corpora))
        evidence = add_new_passages(used.results, passages)
        if used.calculation and is_pure_calculation(self.standalone_question):
            draft = await tools.write_calculation(used)
        else:
            draft = await self._write_answer(evidence) if evidence else Draft()
        self.notes += used.notes
        result = await self.clients.execute_activity(
            ReportActivities.assemble_report,
            self._build_document(draft),
            summary="number the sources, check every quote",
        )
        return self._build_reply(draft, evidence, result)

    async def _rewrite_question(self) -> str:
        """Rewrite the question so that it means the same without the thread; return the calculation it asks for."""
        exchanges = self.request.thread.exchanges
        rewritten = await self.clients.models.ask(
            question_rewriter.ROLE,
            QuestionRewriterInput(
                question=self.request.topic,
                sub_question=self.request.question,
                earlier_questions=(self.request.topic, *(exchange.standalone_question for exchange in exchanges)),
                earlier_answers=(self.request.thread.report, *(exchange.answer for exchange in exchanges)),
            ),
            [passage for exchange in reversed(exchanges) for passage in exchange.passages][:PASSAGES_PER_SEARCH],
            summary=self.request.question,
        )
        self.standalone_question = rewritten.question.strip() or self.request.question
        return extract_calculable(self.standalone_question) or rewritten.calculation.strip()

    async def _gather(self) -> tuple[PassageRef, ...]:
        """Read the texts of the run, search for the question, and if allowed once more for what is missing."""
        passages = await self._read_texts()
        if not self.request.corpora:
            return passages
        passages = add_new_passages(passages, await self._search(self.standalone_question))
        if not self.request.search or self.is_finishing:
            return passages
        purpose: QueryPurpose = "next_hop" if passages else "reword"
        refined = await self.clients.models.ask(
            query_refiner.ROLE,
            QueryRefinerInput(
                question=self.request.topic,
                task=self.standalone_question,
                queries=(self.standalone_question,),
                purpose=purpose,
            ),
            passages[:MAX_REFINEMENT_PASSAGES],
            summary=self.standalone_question,
        )
        query = refined.query.strip()
        if refined.complete or not query or is_same_query(query, self.standalone_question):
            return passages
        more = {passage.chunk: passage for passage in await self._search(query)}
        return tuple(({passage.chunk: passage for passage in passages} | more).values())

    async def _read_texts(self) -> tuple[PassageRef, ...]:
        """Store the texts on the result of the run, and return their passages on the question."""
        texts, question = self.request.texts, self.standalone_question
        if not texts:
            return ()
        request = ResultTextsRequest(run=self.request.run, question=question, texts=texts)
        storing = self.clients.execute_activity(KnowledgeActivities.store_result_texts, request, summary=question)
        return await storing

    async def _search(self, query: str) -> tuple[PassageRef, ...]:
        limits = self.request.limits
        request = SearchRequest(
            query=query, corpora=self.request.corpora, k=PASSAGES_PER_SEARCH, max_per_source=limits.max_per_source
        )
        return await self.clients.knowledge.search(request)

    async def _write_answer(self, evidence: tuple[PassageRef, ...]) -> Draft:
        """Write the answer and remove claims that its sources do not support."""
        conversation = tuple(
            ConversationExchange(question=exchange.question, answer=exchange.answer)
            for exchange in self.request.thread.exchanges
        )
        draft = await self.clients.models.ask(
            answerer.ROLE,
            AnswererInput(
                topic=self.request.topic,
                report=self.request.thread.report,
                question=self.standalone_question,
                conversation=conversation,
            ),
            evidence,
            summary=self.standalone_question,
            for_writing=True,
        )
        verified = await verify_drafts(
            self.clients, self.standalone_question, [draft], evidence, "Answer", for_writing=True
        )
        self.notes = verified.notes
        return verified.drafts[0]

    def _build_document(self, draft: Draft) -> ReportDraft:
        """Return the answer as a document, so that its sources are numbered and its quotes checked."""
        return ReportDraft(
            id=RunId(workflow.info().workflow_id),
            mode="RESEARCH",
            question=self.standalone_question,
            sections=(SectionDraft(topic=self.standalone_question, draft=draft),) if draft.claims else (),
            numbered_sources=self.request.thread.sources,
            usage=self.clients.record.usage,
            notes=self.notes,
        )

    def _build_reply(self, draft: Draft, evidence: tuple[PassageRef, ...], result: Result) -> AskReply:
        section = result.sections[0] if result.sections else None
        return AskReply(
            run=self.request.run,
            question=self.request.question,
            standalone_question=self.standalone_question,
            status="answered" if result.sources else "no_evidence",
            has_documents=bool(self.request.corpora),
            markdown=section.markdown if section else "",
            claims=section.claims if section else (),
            sources=result.sources,
            usage=self.clients.record.usage,
            fallbacks=tuple(self.clients.record.fallbacks),
            notes=result.notes if result.sources else self.notes,
            thread=self._extend_thread(draft, evidence, result),
        )

    def _extend_thread(self, draft: Draft, evidence: tuple[PassageRef, ...], result: Result) -> Thread:
        """Return the thread with this exchange and without the oldest one if it is full.

        Later prompts contain the answer without sentences that instructions in a source may have influenced.
        """
        before, limits = self.request.thread, self.request.limits
        cited = {citation.chunk for claim in draft.claims for citation in claim.citations}
        answer = " ".join(claim.statement for claim in draft.claims if not claim.tainted)
        exchange = Exchange(
            question=self.request.question,
            standalone_question=self.standalone_question,
            answer=shorten(answer, MAX_REMEMBERED_ANSWER_LENGTH),
            passages=tuple(passage for passage in evidence if passage.chunk in cited)[:MAX_REMEMBERED_PASSAGES],
        )
        return Thread(
            report=before.report,
            exchanges=(*before.exchanges, exchange)[-MAX_THREAD_EXCHANGES:],
            sources=tuple(dict.fromkeys((*before.sources, *(source.id for source in result.sources)))),
            read_web=before.read_web or limits.web is not None,
        )

    async def _grant_budget(self, request: BudgetRequest) -> BudgetGrant:
        """Answer a budget request from the limits of the answer."""
        self.account, grant = self.account.grant(request)
        return grant
