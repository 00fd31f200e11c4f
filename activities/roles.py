"""Role activities: one per role, named for it, so that the web UI reads like the story (DESIGN §3).

Each loads the passages its call refers to, lets the role answer on the configured model or by its
twin, and turns what writers name into verbatim citations.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel
from temporalio import activity

from activities.calling import calling
from activities.errors import translated
from activities.passages import still_there
from tenure.contracts.evidence.passages import Claims, Disagreements, Draft, SynthesisDraft
from tenure.contracts.evidence.reasoning import Hop, Reasoning, Thoughts
from tenure.contracts.knowledge.graph import RelationsKept
from tenure.contracts.research.report import Assessment
from tenure.contracts.research.tools import Comparison
from tenure.contracts.run.role_calls import RoleCall, RoleReply, Turn, role_reply
from tenure.models.chat import OFFLINE, Answer, ChatModel, InFlight
from tenure.models.structured import answer
from tenure.roles.base import Evidence, I, Message, O, Role
from tenure.roles.claims import claim_checker, claim_rewriter, contradiction_finder, document_comparer, fact_extractor
from tenure.roles.coding import analyst, code_reflector, coder, test_writer
from tenure.roles.prompting import WrittenText, drafted
from tenure.roles.reasoning import hop_reasoner, react, reasoner, thought_evaluator, thought_proposer
from tenure.roles.research import (
    clarifier,
    decider,
    decomposer,
    hypothetical_document,
    outliner,
    planner,
    query_refiner,
    question_rewriter,
    router,
    synthesis_reflector,
    synthesizer,
    topic_namer,
)
from tenure.roles.retrieval import relation_extractor, reranker, sql_writer, stance_judge
from tenure.roles.writing import (
    abstract_writer,
    answerer,
    report_reflector,
    section_reviewer,
    section_rewriter,
    section_writer,
    self_evaluator,
    title_writer,
)

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase

P = TypeVar("P", bound=BaseModel)
"""What a reply carries: the role's own output, or the draft made of it."""


class RoleActivities:
    """The roles, on one chat model and one knowledge base."""

    def __init__(self, chat: ChatModel | None, knowledge: "KnowledgeBase") -> None:
        """Use `chat`, or the twins where it is None."""
        self._chat = chat
        self._knowledge = knowledge

    @activity.defn
    async def router(self, call: RoleCall[router.RouterInput]) -> RoleReply[router.RouterOutput]:
        """Decide which path the question takes."""
        return await self._decide(router.ROLE, call)

    @activity.defn
    async def decomposer(self, call: RoleCall[decomposer.DecomposerInput]) -> RoleReply[decomposer.DecomposerOutput]:
        """Find the questions inside the question."""
        return await self._decide(decomposer.ROLE, call)

    @activity.defn
    async def clarifier(self, call: RoleCall[clarifier.ClarifierInput]) -> RoleReply[clarifier.ClarifierOutput]:
        """Find out what a person has to be asked before the research begins."""
        return await self._decide(clarifier.ROLE, call)

    @activity.defn
    async def question_rewriter(
        self, call: RoleCall[question_rewriter.QuestionRewriterInput]
    ) -> RoleReply[question_rewriter.QuestionRewriterOutput]:
        """Ask a question that points to earlier answers so that it stands alone."""
        return await self._decide(question_rewriter.ROLE, call)

    @activity.defn
    async def sql_writer(self, call: RoleCall[sql_writer.SqlWriterInput]) -> RoleReply[sql_writer.SqlWriterOutput]:
        """Turn the question into queries over tables."""
        return await self._decide(sql_writer.ROLE, call)

    @activity.defn
    async def analyst(self, call: RoleCall[analyst.AnalystInput]) -> RoleReply[analyst.AnalystOutput]:
        """Write a program that computes from tables what SQL cannot."""
        return await self._decide(analyst.ROLE, call)

    @activity.defn
    async def outliner(self, call: RoleCall[outliner.OutlinerInput]) -> RoleReply[outliner.OutlinerOutput]:
        """Plan the report's topics."""
        return await self._decide(outliner.ROLE, call)

    @activity.defn
    async def hypothetical_document(
        self, call: RoleCall[hypothetical_document.HypotheticalDocumentInput]
    ) -> RoleReply[hypothetical_document.HypotheticalDocumentOutput]:
        """Imagine the passage that would answer a topic."""
        return await self._decide(hypothetical_document.ROLE, call)

    @activity.defn
    async def planner(self, call: RoleCall[planner.PlannerInput]) -> RoleReply[planner.PlannerOutput]:
        """Criticise where the research stands and plan the next cycle."""
        async with _working(planner.ROLE.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._converse(planner.ROLE, call, evidence, in_flight)
        return _reply(given.output, given)

    @activity.defn
    async def stance_judge(
        self, call: RoleCall[stance_judge.StanceJudgeInput]
    ) -> RoleReply[stance_judge.StanceJudgeOutput]:
        """Say which side of a position passages are on."""
        return await self._decide(stance_judge.ROLE, call)

    @activity.defn
    async def query_refiner(
        self, call: RoleCall[query_refiner.QueryRefinerInput]
    ) -> RoleReply[query_refiner.QueryRefinerOutput]:
        """Say what to search for next, given what was found."""
        return await self._decide(query_refiner.ROLE, call)

    @activity.defn
    async def react(self, call: RoleCall[react.ReactInput]) -> RoleReply[react.ReactOutput]:
        """Think, and name the action that follows."""
        # What is to be said of what was seen needs no model: it is asked for where one has said nothing of use.
        asked = call.model_copy(update={"spent": True}) if call.input.closing else call
        async with _working(react.ROLE.name) as in_flight:
            given = await self._answer(react.ROLE, asked, await self._evidence(call), in_flight)
        return _reply(given.output, replace(given, degraded=None) if call.input.closing else given)

    @activity.defn
    async def reranker(self, call: RoleCall[reranker.RerankerInput]) -> RoleReply[reranker.RerankerOutput]:
        """Put what a search has found into order."""
        return await self._decide(reranker.ROLE, call)

    @activity.defn
    async def relation_extractor(
        self, call: RoleCall[relation_extractor.RelationExtractorInput]
    ) -> RoleReply[RelationsKept]:
        """Read which entities passages relate, and keep what a model has read."""
        async with _working(relation_extractor.ROLE.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._answer(relation_extractor.ROLE, call, evidence, in_flight)
            by = "" if given.model == OFFLINE else given.model
            kept = await asyncio.to_thread(self._knowledge.keep_relations, by, evidence.passages, given.output)
        return _reply(kept, given)

    @activity.defn
    async def topic_namer(self, call: RoleCall[topic_namer.TopicNamerInput]) -> RoleReply[topic_namer.TopicNamerOutput]:
        """Name what the sources offer beside the outline."""
        return await self._decide(topic_namer.ROLE, call)

    @activity.defn
    async def synthesizer(self, call: RoleCall[synthesizer.SynthesizerInput]) -> RoleReply[SynthesisDraft]:
        """Bring situation and complication up to date, and at the end write the resolution."""
        async with _working(synthesizer.ROLE.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._converse(synthesizer.ROLE, call, evidence, in_flight)
            draft = await asyncio.to_thread(synthesizer.synthesized, given.output, evidence.passages)
        return _reply(draft, given)

    @activity.defn
    async def synthesis_reflector(
        self, call: RoleCall[synthesis_reflector.SynthesisReflectorInput]
    ) -> RoleReply[synthesis_reflector.SynthesisReflectorOutput]:
        """Look back at the synthesis."""
        return await self._decide(synthesis_reflector.ROLE, call)

    @activity.defn
    async def decider(self, call: RoleCall[decider.DeciderInput]) -> RoleReply[decider.DeciderOutput]:
        """Decide whether the research goes on."""
        return await self._decide(decider.ROLE, call)

    @activity.defn
    async def reasoner(self, call: RoleCall[reasoner.ReasonerInput]) -> RoleReply[Reasoning]:
        """Reason from the evidence to an answer."""
        async with _working(reasoner.ROLE.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._answer(reasoner.ROLE, call, evidence, in_flight)
            line = await asyncio.to_thread(reasoner.reasoned, call.input, given.output, evidence.passages)
        return _reply(line, given)

    @activity.defn
    async def thought_proposer(self, call: RoleCall[thought_proposer.ThoughtProposerInput]) -> RoleReply[Thoughts]:
        """Propose where a line of thought can begin or go on."""
        role = thought_proposer.ROLE
        async with _working(role.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._answer(role, call, evidence, in_flight)
            breadth = call.input.breadth
            thoughts = await asyncio.to_thread(thought_proposer.proposed, given.output, breadth, evidence.passages)
        return _reply(thoughts, given)

    @activity.defn
    async def thought_evaluator(
        self, call: RoleCall[thought_evaluator.ThoughtEvaluatorInput]
    ) -> RoleReply[thought_evaluator.ThoughtEvaluatorOutput]:
        """Judge which thoughts are worth following."""
        return await self._decide(thought_evaluator.ROLE, call)

    @activity.defn
    async def hop_reasoner(self, call: RoleCall[hop_reasoner.HopReasonerInput]) -> RoleReply[Hop]:
        """Say what the evidence for one hop brings, and where it leads."""
        async with _working(hop_reasoner.ROLE.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._answer(hop_reasoner.ROLE, call, evidence, in_flight)
            found = await asyncio.to_thread(hop_reasoner.hopped, given.output, evidence.passages)
        return _reply(found, given)

    @activity.defn
    async def section_writer(self, call: RoleCall[section_writer.SectionWriterInput]) -> RoleReply[Draft]:
        """Write the first draft of a section."""
        return await self._write(section_writer.ROLE, call)

    @activity.defn
    async def section_reviewer(
        self, call: RoleCall[section_reviewer.SectionReviewerInput]
    ) -> RoleReply[section_reviewer.SectionReviewerOutput]:
        """Review a draft."""
        return await self._decide(section_reviewer.ROLE, call)

    @activity.defn
    async def section_rewriter(self, call: RoleCall[section_rewriter.SectionRewriterInput]) -> RoleReply[Draft]:
        """Write the next draft of a section."""
        return await self._write(section_rewriter.ROLE, call)

    @activity.defn
    async def claim_checker(self, call: RoleCall[claim_checker.ClaimCheckerInput]) -> RoleReply[Claims]:
        """Hold claims against what they cite."""
        async with _working(claim_checker.ROLE.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._answer(claim_checker.ROLE, call, evidence, in_flight)
            checked = await asyncio.to_thread(claim_checker.checked, call.input.claims, given.output, evidence.passages)
        return _reply(Claims(claims=checked), given)

    @activity.defn
    async def claim_rewriter(self, call: RoleCall[claim_rewriter.ClaimRewriterInput]) -> RoleReply[Claims]:
        """Correct claims that did not hold."""
        async with _working(claim_rewriter.ROLE.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._answer(claim_rewriter.ROLE, call, evidence, in_flight)
            rewritten = await asyncio.to_thread(
                claim_rewriter.rewritten, call.input.claims, given.output, evidence.passages
            )
        return _reply(Claims(claims=rewritten), given)

    @activity.defn
    async def contradiction_finder(
        self, call: RoleCall[contradiction_finder.ContradictionFinderInput]
    ) -> RoleReply[Disagreements]:
        """Find what sources disagree in."""
        role = contradiction_finder.ROLE
        async with _working(role.name) as in_flight:
            paired = await asyncio.to_thread(contradiction_finder.paired, await self._evidence(call))
            # Where no two sources speak of the same there is nothing to ask a model.
            asked = call if paired.passages else call.model_copy(update={"spent": True})
            given = await self._answer(role, asked, paired, in_flight)
            found = contradiction_finder.disagreements(given.output, paired.passages)
        return _reply(Disagreements(found=found), given if paired.passages else replace(given, degraded=None))

    @activity.defn
    async def fact_extractor(self, call: RoleCall[fact_extractor.FactExtractorInput]) -> RoleReply[Draft]:
        """Take single facts out of passages."""
        async with _working(fact_extractor.ROLE.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._answer(fact_extractor.ROLE, call, evidence, in_flight)
            draft = await asyncio.to_thread(fact_extractor.extracted, given.output, evidence.passages)
        return _reply(draft, given)

    @activity.defn
    async def document_comparer(self, call: RoleCall[document_comparer.DocumentComparerInput]) -> RoleReply[Comparison]:
        """Compare two documents."""
        async with _working(document_comparer.ROLE.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._answer(document_comparer.ROLE, call, evidence, in_flight)
            compared = document_comparer.comparison(given.output, call.input.border, evidence.passages)
        return _reply(compared, given)

    @activity.defn
    async def self_evaluator(self, call: RoleCall[self_evaluator.SelfEvaluatorInput]) -> RoleReply[Assessment]:
        """Evaluate the report."""
        async with _working(self_evaluator.ROLE.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._answer(self_evaluator.ROLE, call, evidence, in_flight)
            assessed = await asyncio.to_thread(self_evaluator.assessed, call.input, given.output, evidence)
        return _reply(assessed, given)

    @activity.defn
    async def report_reflector(
        self, call: RoleCall[report_reflector.ReportReflectorInput]
    ) -> RoleReply[report_reflector.ReportReflectorOutput]:
        """Reflect on the report as a whole."""
        return await self._decide(report_reflector.ROLE, call)

    @activity.defn
    async def title_writer(
        self, call: RoleCall[title_writer.TitleWriterInput]
    ) -> RoleReply[title_writer.TitleWriterOutput]:
        """Name the report."""
        return await self._decide(title_writer.ROLE, call)

    @activity.defn
    async def abstract_writer(self, call: RoleCall[abstract_writer.AbstractWriterInput]) -> RoleReply[Draft]:
        """Sum the report up."""
        return await self._write(abstract_writer.ROLE, call)

    @activity.defn
    async def answerer(self, call: RoleCall[answerer.AnswererInput]) -> RoleReply[Draft]:
        """Answer a follow-up question."""
        return await self._write(answerer.ROLE, call)

    @activity.defn
    async def test_writer(self, call: RoleCall[test_writer.TestWriterInput]) -> RoleReply[test_writer.TestWriterOutput]:
        """Write the specification and the tests of a program."""
        return await self._decide(test_writer.ROLE, call)

    @activity.defn
    async def coder(self, call: RoleCall[coder.CoderInput]) -> RoleReply[coder.CoderOutput]:
        """Write a program, or its next version."""
        return await self._decide(coder.ROLE, call)

    @activity.defn
    async def code_reflector(
        self, call: RoleCall[code_reflector.CodeReflectorInput]
    ) -> RoleReply[code_reflector.CodeReflectorOutput]:
        """Say what is to be learned from a program that failed."""
        return await self._decide(code_reflector.ROLE, call)

    async def _decide(self, role: Role[I, O], call: RoleCall[I]) -> RoleReply[O]:
        async with _working(role.name) as in_flight:
            given = await self._answer(role, call, await self._evidence(call), in_flight)
        return _reply(given.output, given)

    async def _write(self, role: Role[I, WrittenText], call: RoleCall[I]) -> RoleReply[Draft]:
        async with _working(role.name) as in_flight:
            evidence = await self._evidence(call)
            given = await self._answer(role, call, evidence, in_flight)
            draft = await asyncio.to_thread(drafted, given.output, evidence.passages)
        return _reply(draft, given)

    async def _converse(
        self, role: Role[I, O], call: RoleCall[I], evidence: Evidence, in_flight: InFlight
    ) -> Answer[O]:
        """Answer within a conversation; only a model has one, the twins are told everything each time."""
        turn = call.turn
        if self._chat is None or turn is None or call.spent:
            return await self._answer(role, call, evidence, in_flight)
        # Where passages are gone the numbers have moved, and what was said before names others by them.
        whole = len(evidence.passages) == len(call.evidence)
        history = await asyncio.to_thread(self._knowledge.said, role.name, turn) if whole else ()
        given = await self._answer(role, call, replace(evidence, history=history), in_flight)
        await asyncio.to_thread(self._keep, role.name, turn, history, given)
        return given

    def _keep(self, role: str, turn: Turn, history: tuple[Message, ...], given: Answer[O]) -> None:
        """Keep what this turn has added to the conversation, or all of it where it began anew."""
        said = given.prompt[1:]
        going_on = bool(history) and said[: len(history)] == history
        added = said[len(history) :] if going_on else said
        answered = Message(role="assistant", content=given.output.model_dump_json())
        self._knowledge.keep_turn(role, turn, (*added, answered), anew=not going_on)

    async def _answer(self, role: Role[I, O], call: RoleCall[I], evidence: Evidence, in_flight: InFlight) -> Answer[O]:
        if self._chat is None or not call.spent:
            return await answer(role, call.input, evidence, self._chat, in_flight, call.allowance)
        twin = await answer(role, call.input, evidence, None)
        return replace(twin, degraded="the budget was used up")

    async def _evidence(self, call: RoleCall[I]) -> Evidence:
        passages = await asyncio.to_thread(still_there, self._knowledge, call.evidence)
        return Evidence(passages, self._knowledge.encode, self._knowledge.tokens, language=call.language)


def _reply(output: P, given: Answer[O]) -> RoleReply[P]:
    return role_reply(
        output,
        given.model,
        model_calls=given.model_calls,
        tokens_in=given.spent.tokens_in,
        tokens_out=given.spent.tokens_out,
        tokens_cached=given.spent.tokens_cached,
        cost_usd=given.cost_usd,
        first_token_seconds=given.first_token_seconds,
        degraded=given.degraded,
    )


@asynccontextmanager
async def _working(role: str) -> AsyncIterator[InFlight]:
    """Heartbeat through the whole of an activity, keep what it has paid, and tell Temporal what its errors mean."""
    # Twins encode sentences, so that errors of the embedding model come up here as well.
    with translated():
        async with calling(role) as call:
            yield call
