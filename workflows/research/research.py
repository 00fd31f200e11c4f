"""ResearchWorkflow: outline → spiral → sections → (reflect → refine)* → evaluate → title, abstract → verify.

The order of the nodes is `algorithms/transitions.py`'s (document 000 §2.3). A section that fails costs
itself alone; a person's word reaches the sections it concerns while they are written, or the next
generation of the report; finishing and cancelling both end in a report of what there is.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError, is_cancelled_exception

from workflows.research.plan_and_execute import execute
from workflows.research.reasoning import Matter, Reasoned, reasoned
from workflows.research.verification import verified
from workflows.runtime.budget import by_signal
from workflows.runtime.calls import MODEL_BUDGETS, Calls
from workflows.runtime.control import Steered, send
from workflows.runtime.failures import cause
from workflows.runtime.input_requests import ask
from workflows.runtime.progress import report

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.control.budget import named
    from tenure.algorithms.control.feedback import concerned
    from tenure.algorithms.control.reflexion import most_made
    from tenure.algorithms.control.transitions import AgentState, Node, next_node
    from tenure.algorithms.memory.experience import lessened
    from tenure.algorithms.reasoning import strategies as thinking
    from tenure.algorithms.research.effort import effort
    from tenure.algorithms.research.outline_edits import dropped_in_words, edited
    from tenure.algorithms.research.research_state import realigned
    from tenure.algorithms.text.questions import heading
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.evidence.passages import (
        Disagreement,
        Disagreements,
        Draft,
        PassageRef,
        SearchRequest,
        SynthesisDraft,
    )
    from tenure.contracts.evidence.web import WRITING
    from tenure.contracts.research.fork import ForkedResearch
    from tenure.contracts.research.report import (
        Critique,
        ProgressUpdate,
        ReportDraft,
        ResearchRequest,
        SectionRequest,
        SectionResult,
        SubQuestion,
        Topic,
    )
    from tenure.contracts.research.spiral import Aim, SpiralRequest, SpiralResult, Step
    from tenure.contracts.result.result import CritiqueRecord, Evaluation, ResultStatus
    from tenure.contracts.run.control import Outline, Question
    from tenure.contracts.run.run import Feedback, Phase, TopicProgress
    from tenure.roles.claims.contradiction_finder import ContradictionFinderInput
    from tenure.roles.research.decomposer import DecomposerInput, DecomposerOutput
    from tenure.roles.research.outliner import OutlinerInput
    from tenure.roles.research.question_rewriter import QuestionRewriterInput
    from tenure.roles.writing.abstract_writer import AbstractWriterInput
    from tenure.roles.writing.report_reflector import ReportReflectorInput
    from tenure.roles.writing.self_evaluator import SelfEvaluatorInput
    from tenure.roles.writing.title_writer import TitleWriterInput
    from workflows.research.section import SectionWorkflow
    from workflows.research.spiral import SpiralWorkflow

SPIRAL = "/spiral"
"""The spiral among the children; no heading is called so."""

OUTLINED = ("outline", "research", "write", "refine")
"""Phases at whose beginning the whole outline is told."""


@workflow.defn
class ResearchWorkflow(Steered):
    """Researches a question and writes a report."""

    @workflow.init
    def __init__(self, request: ResearchRequest | ForkedResearch) -> None:
        """Start from a routed question and the documents found for it, or from what earlier cycles have left."""
        super().__init__(request.stance)
        self.request = request
        self.state = request.state if isinstance(request, ForkedResearch) else None
        self.calls = Calls(self, request.limits, by_signal(self, request.run))
        self.cancelled = False
        self.main: asyncio.Task[None] | None = None
        self.topics: list[Topic] = []
        self.gathered = SpiralResult(aims=())
        self.writing_up = False
        self.reasoned = Reasoned()
        self.results: dict[str, SectionResult] = {}
        self.revisions = 0
        self.critiques: list[CritiqueRecord] = []
        self.considerations: tuple[str, ...] = ()
        self.contradictions: tuple[Disagreement, ...] = ()
        self.evaluation: Evaluation | None = None
        self.notes: list[str] = []
        self.wishes = list(request.feedback)
        self.offered: set[tuple[str, str]] = set()
        self.heeded: dict[str, list[str]] = {}
        self.content = False
        self.failure = ""
        self.outlined = 0
        self.gate = asyncio.Semaphore(request.limits.parallel_sections)

    @workflow.run
    async def run(self, request: ResearchRequest | ForkedResearch) -> ReportDraft:
        """Research until no critique is left, the revisions are used up, or a person says stop."""
        self.main = asyncio.create_task(self._research())
        if self.cancelled:
            self.main.cancel()
        try:
            await self.main
        except (asyncio.CancelledError, ActivityError, ChildWorkflowError) as error:
            # A cancelled activity or child that was waited for directly ends in an error of its own kind.
            if not (self.cancelled and is_cancelled_exception(error)):
                self._give_up(error)
        try:
            draft = await self._compose()
        except ActivityError as error:
            self._give_up(error)
            draft = await self._compose()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return draft

    def _give_up(self, error: BaseException) -> None:
        """Go on to what can be done without the call that failed for good: hours of work are not thrown away.

        Raises:
            BaseException: the error itself, where nothing is written yet or somebody cancels from outside.
        """
        if is_cancelled_exception(error) or not manuscript.sections(self.topics, self.results):
            raise error
        self.failure = cause(error)

    async def _research(self) -> None:
        if self.state is None:
            await self._outline()
        else:
            self.topics = [aim.topic for aim in self.state.aims]
            self.outlined = self.state.outlined
        await self._gather()
        if not self.failure:
            await self._reason()
            await self._write_up()

    async def _write_up(self) -> None:
        """Go through the report's nodes: generate, reflect, refine."""
        critiques: list[Critique] = []
        node: Node = next_node("route", AgentState(mode="RESEARCH"), 0)
        while node != "end":
            if node == "generate_report":
                await self._generate(critiques)
            else:
                critiques = await self._reflect()
                self.content = not critiques
            state = AgentState("RESEARCH", critiques, revisions=self.revisions)
            node = next_node(node, state, self._r_max(critiques))
        await self._look_back()
        await self._add_sections()

    @workflow.signal(description="Stop at once and deliver what is written.")
    async def cancel(self, *beside: Any) -> None:
        """Stop at once: sections in the making are given up, written ones are delivered."""
        self.cancelled = True
        self.stand(paused=False, finishing=True)
        if self.main is not None:
            self.main.cancel()

    async def heard(self, feedback: Feedback) -> None:
        """Pass feedback to the sections it concerns that are being written; the others get it later."""
        await super().heard(feedback)
        for topic in (SPIRAL, *concerned(feedback, [topic.heading for topic in self.topics])):
            if topic in self.children:
                await send(self.children[topic], "feedback", feedback)

    def _r_max(self, critiques: list[Critique]) -> int:
        """Return R_max."""
        asked = any(critique.origin == "person" for critique in critiques)
        return most_made(self.request.limits.max_revisions, self.revisions, asked=asked, finishing=self.finishing)

    async def _outline(self) -> None:
        """Draw up the outline, unless a person has; let a person approve it, where one wants to."""
        await self._tell("outline")
        if self.stance.outline is None:
            await self._draw_up()
        self._reoutline()
        if self.request.limits.approve_plan and not self.finishing:
            await self._approved()

    async def _approved(self) -> None:
        """Wait until a person approves the outline, who may change it before; in the end it is followed as it is."""
        number, topics = 1, len(self.topics)
        await self._tell("outline", f"{topics} topic{'' if topics == 1 else 's'} wait for approval")
        question = Question(
            reporter=workflow.info().workflow_id,
            number=number,
            kind="plan",
            text="Is this the right outline?",
            assumed="the outline is followed as it is",
        )
        await ask(self.request.run, question)
        while number not in self.answers:
            await workflow.wait_condition(lambda: number in self.answers or self._outline_waits is not None)
            if self._reoutline():
                await self._tell("outline", "the outline was changed")

    @property
    def _outline_waits(self) -> Outline | None:
        """The outline that a person has set and that does not hold yet."""
        wanted = self.stance.outline
        return wanted if wanted and wanted.number > self.outlined else None

    def _reoutline(self) -> bool:
        """Let the outline of a person hold, if there is a new one; sections that it keeps stay as they are."""
        outline = self._outline_waits
        if outline is None:
            return False
        wanted = edited(self.topics, outline)
        self.outlined, self.topics = outline.number, list(wanted.topics)
        self.results = manuscript.renamed(self.results, wanted)
        self.gathered = self.gathered.model_copy(update={"aims": realigned(self.gathered.aims, wanted)})
        self.notes += dropped_in_words(wanted)
        return True

    def steered(self) -> None:
        """Give up the sections in the making that a person has just taken out of the outline."""
        for topic in self.topics:
            if topic.heading in self.children and self._is_out(topic):
                self.children[topic.heading].cancel()

    def _is_out(self, topic: Topic) -> bool:
        """Tell whether a person has taken a topic out of the outline, which need not hold yet."""
        outline = self._outline_waits
        return outline is not None and topic.heading in edited(self.topics, outline).dropped

    async def _draw_up(self) -> None:
        request = self.request
        asked = await self.calls.role(
            RoleActivities.decomposer, DecomposerInput(question=request.question), summary=request.question
        )
        explored = await self._explore(asked)
        evidence = manuscript.together([request.evidence, *(part.evidence for part in explored)])
        planned = await self.calls.role(
            RoleActivities.outliner,
            OutlinerInput(
                question=request.question,
                sub_questions=tuple(part.question for part in explored),
                max_topics=effort(request.complexity, request.limits).sections,
                wishes=tuple(wish.text for wish in self.wishes),
            ),
            evidence[:40],
            summary=f"{len(explored)} sub-question(s), {len(evidence)} passages",
        )
        named = [Topic(heading=topic.heading.strip(), question=topic.question) for topic in planned.topics]
        self.topics = manuscript.distinct(named)[: request.limits.max_sections]

    async def _explore(self, asked: DecomposerOutput) -> list[SubQuestion]:
        """Search for the sub-questions, those of a layer side by side; later layers see what earlier ones found."""
        known: dict[str, SubQuestion] = {}

        async def look(step: Step) -> tuple[Step, None]:
            known[step.id] = await self._look_into(step.query, [known[needed] for needed in step.depends_on])
            return step.model_copy(update={"status": "completed"}), None

        steps = [
            Step(id=str(n), query=asked.sub_questions[n - 1], topic="", depends_on=tuple(map(str, needed)))
            for n, needed in asked.needs.items()
        ]
        await execute(steps, look)
        return [known[step.id] for step in steps]

    async def _look_into(self, question: str, needed: Sequence[SubQuestion]) -> SubQuestion:
        if needed:
            rewritten = await self.calls.role(
                RoleActivities.question_rewriter,
                QuestionRewriterInput(
                    question=self.request.question, part=question, earlier=tuple(part.question for part in needed)
                ),
                manuscript.together([part.evidence for part in needed])[:12],
                summary=question,
            )
            question = rewritten.question
        if question == self.request.question:
            return SubQuestion(question=question)
        return SubQuestion(question=question, evidence=await self._search(question))

    async def _gather(self) -> None:
        """Let the spiral gather what the report needs; it may change the outline."""
        await self._tell("research")
        request = SpiralRequest(
            run=self.request.run,
            question=self.request.question,
            corpora=self.request.corpora,
            databases=self.request.databases,
            limits=self.request.limits,
            effort=lessened(
                effort(self.request.complexity, self.request.limits), self.request.limits, self.request.experience
            ),
            outline=tuple(self.topics),
            evidence=self.request.evidence,
            experience=self.request.experience,
            feedback=tuple(self.wishes),
            stance=self.stance,
            outlined=self.outlined,
            state=self.state,
        )
        child = await self.begin(
            SPIRAL, SpiralWorkflow.run, request, f"{request.run}/spiral", request.question, len(request.feedback)
        )
        try:
            self.gathered = await child
        finally:
            del self.children[SPIRAL]
        self.topics = [aim.topic for aim in self.gathered.aims]
        self.outlined = self.gathered.outlined
        self.notes += self.gathered.notes
        self.failure = self.gathered.failure
        self.calls.degraded.extend(self.gathered.degraded)
        self.writing_up = self.finishing and any(aim.passages for aim in self.gathered.aims)

    async def _reason(self) -> None:
        """Reason from all that was found, where the question asks for it and there is budget left."""
        request = self.request
        complexity = request.limits.effort or request.complexity
        how = thinking.chosen(request.question, request.query_type, complexity, request.limits.reasoning)
        evidence = manuscript.together([request.evidence, *(aim.passages for aim in self.gathered.aims)])
        if how == "none" or not evidence or self.finishing or self.stance.scarce:
            return
        if not workflow.patched("reasoning"):  # a run that went by here before there was any
            return
        await self._tell("reason", how.replace("_", " "))
        limits = request.limits.in_cycle(WRITING)
        self.reasoned = await reasoned(
            Matter(self.calls, request.question, request.corpora, limits, evidence, lambda: self.finishing), how
        )
        self.notes += self.reasoned.notes

    async def _search(self, query: str) -> tuple[PassageRef, ...]:
        limits = self.request.limits
        return await self.calls.search(
            SearchRequest(query=query, corpora=self.request.corpora, k=16, max_per_source=limits.max_per_source),
            limits.min_relevance,
            summary=query,
        )

    async def _generate(self, critiques: Sequence[Critique]) -> None:
        """Write all sections, or the next version of those that critiques concern."""
        self.revisions += 1
        first = self.revisions == 1
        self._reoutline()
        self.topics += [manuscript.asked_for(critique) for critique in critiques if critique.topic is None]
        await self._tell("write" if first else "refine")
        due = [(topic, manuscript.critiques_of(topic, critiques)) for topic in self.topics]
        before = dict(self.results)
        await asyncio.gather(*(self._write(topic, concerning) for topic, concerning in due if first or concerning))
        await self._add_sections()
        self.results = manuscript.once_each(self.topics, self.results)
        self.critiques += [manuscript.record(critique, before, self.results) for critique in critiques]
        if self.results and all(result.phase == "failed" for result in self.results.values()):
            raise ApplicationError(f"no section could be written: {self.notes[-1]}", type="NoSection")

    async def _add_sections(self) -> None:
        """Write the sections that a person has added to the outline meanwhile."""
        while self._reoutline():
            await self._tell("write")
            known = {topic.heading for topic in self.topics if topic.heading in self.results}
            await asyncio.gather(*(self._write(topic, ()) for topic in self.topics if topic.heading not in known))

    async def _write(self, topic: Topic, critiques: Sequence[Critique]) -> None:
        async with self.gate:
            await self.ready()
            if self._is_out(topic):
                return
            if self.finishing and self.stance.spent not in MODEL_BUDGETS and not self.writing_up:
                await self._skip(topic)
                return
            request = self._section_request(topic, critiques)
            self.offered.update((c.critique, topic.heading) for c in request.critiques if c.origin == "person")
            number = self.topics.index(topic) + 1
            try:
                child_id = f"{request.run}/section-{number}" + (f"-r{self.revisions}" if self.revisions > 1 else "")
                child = await self.begin(topic.heading, SectionWorkflow.run, request, child_id, topic.heading)
                result = await child
            except ChildWorkflowError as error:
                result = await self._failed(topic, error)
            finally:
                self.children.pop(topic.heading, None)
            self._keep(topic, result)

    async def _skip(self, topic: Topic) -> None:
        """Note that the end came before a section's turn."""
        standing = topic.heading in self.results
        spent = self.stance.spent
        why = (
            f"{named(self.bounds(self.request.limits), spent)} was used up" if spent else "the run was asked to finish"
        )
        self.notes.append(f"“{topic.heading}” was not {'revised' if standing else 'written'}: {why}.")
        if not standing:
            await self._tell_topic(TopicProgress(topic=topic.heading, phase="skipped"))

    def _section_request(self, topic: Topic, critiques: Sequence[Critique]) -> SectionRequest:
        before = self.results.get(topic.heading)
        draft = before.draft if before and before.draft.claims else None
        known = {critique.critique for critique in critiques}
        aims = {aim.topic.heading: aim for aim in self.gathered.aims}
        aim = aims.get(topic.heading, Aim(topic=topic))
        wished = manuscript.wished_of(topic, self.wishes, self.topics, self.results)
        return SectionRequest(
            run=self.request.run,
            question=self.request.question,
            topic=topic,
            other_topics=tuple(other.heading for other in self.topics if other != topic),
            corpora=self.request.corpora,
            limits=self.request.limits.in_cycle(WRITING),
            evidence=before.evidence if before and draft else self.request.evidence,
            gathered=aim.passages,
            hypothetical=aim.hypothetical,
            results=self.request.results,
            reasoning=thinking.as_text(self.reasoned.line),
            draft=draft,
            critiques=(*critiques, *(wish for wish in wished if wish.critique not in known)),
            said=manuscript.sentences_beside(topic, self.results) if draft else (),
            stance=self.stance,
        )

    def _keep(self, topic: Topic, result: SectionResult) -> None:
        """Keep a section's newest version; one that came to nothing never replaces one that has text."""
        self.calls.degraded.extend(result.degraded)
        before = self.results.get(topic.heading)
        if before is None or result.draft != before.draft:
            for wish in result.wishes if result.draft.claims else ():
                self.heeded.setdefault(wish, []).append(topic.heading)
        if result.draft.claims or not (before and before.draft.claims):
            self.results[topic.heading] = result
        self.notes += [*([result.note] if result.note else []), *result.removed]

    async def _failed(self, topic: Topic, error: ChildWorkflowError) -> SectionResult:
        """Describe a section that was given up or failed; its siblings go on."""
        note = "it was cancelled" if is_cancelled_exception(error) else cause(error)
        if self._is_out(topic):
            note = "a person took it out of the outline"
        await self._tell_topic(TopicProgress(topic=topic.heading, phase="failed"), f"{topic.heading}: {note}")
        done = "revised" if topic.heading in self.results else "written"
        return SectionResult(topic=topic, phase="failed", note=f"“{topic.heading}” was not {done}: {note}")

    async def _reflect(self) -> list[Critique]:
        """Return K: what the reflector finds, and what people said that no section was written with."""
        sections = manuscript.sections(self.topics, self.results)
        if self.finishing or not sections:
            return []
        await self._tell("reflect")
        seen = await self.calls.role(
            RoleActivities.report_reflector,
            ReportReflectorInput(
                question=self.request.question,
                sections=sections,
                earlier=tuple(record.critique for record in self.critiques),
                scarce=self.stance.scarce,
            ),
            manuscript.shown(self.results, self.request.evidence),
            summary=f"generation {self.revisions}",
        )
        self.considerations = seen.further_considerations or self.considerations
        found, dropped = manuscript.addressed(
            [
                Critique(topic=c.topic.strip() or None, critique=c.critique, query=c.query.strip())
                for c in seen.critiques
            ],
            self.topics,
            self._most_sections,
        )
        self.notes += [f"A critique of the report was not followed: {critique.critique}" for critique in dropped]
        heard = manuscript.unheard(self.wishes, self.topics, self.results)
        return [*found, *(c for c in heard if (c.critique, c.topic) not in self.offered)]

    async def _look_back(self) -> None:
        """Evaluate the report and compare its sources; one that falls short is refined once more."""
        sections = manuscript.sections(self.topics, self.results)
        if self.finishing or not sections:
            return
        await self._tell("reflect", "the report is evaluated")
        try:
            critiques, disagreements = await asyncio.gather(self._evaluate(), self._compare())
            self.contradictions = disagreements.found
            if critiques and not self.finishing:
                await self._generate(critiques)
                await self._evaluate()
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            self.notes.append(f"The report was not evaluated to the end: {cause(error)}")

    async def _evaluate(self) -> list[Critique]:
        """Evaluate the report; return what would mend one that is below the bar, where there is budget left."""
        assessed = await self.calls.role(
            RoleActivities.self_evaluator,
            SelfEvaluatorInput(question=self.request.question, sections=manuscript.sections(self.topics, self.results)),
            summary=f"generation {self.revisions}",
        )
        self.evaluation = assessed.evaluation
        if assessed.evaluation.overall >= self.request.limits.evaluation_bar or self.stance.scarce:
            return []
        found, _ = manuscript.addressed(assessed.critiques, self.topics, self._most_sections)
        return list(found)

    @property
    def _most_sections(self) -> int:
        """How many sections there may be: no more than a person has set, where one has."""
        return 0 if self.outlined else self.request.limits.max_sections

    async def _compare(self) -> Disagreements:
        """Look for what the sources of the report disagree in."""
        return await self.calls.role(
            RoleActivities.contradiction_finder,
            ContradictionFinderInput(question=self.request.question),
            manuscript.shown(self.results, self.request.evidence),
            summary="statements of different sources",
        )

    async def _compose(self) -> ReportDraft:
        """Give the report its title and abstract; one that is cancelled or has failed gets by without."""
        sections = manuscript.sections(self.topics, self.results)
        title, abstract, synthesis = heading(self.request.question), Draft(), self.gathered.synthesis
        if sections and not self.cancelled and not self.failure:
            await self._tell("compose")
            named, abstract = await asyncio.gather(
                self.calls.role(
                    RoleActivities.title_writer,
                    TitleWriterInput(question=self.request.question, topics=tuple(s.topic for s in sections)),
                    summary="title",
                    closing=True,
                ),
                self.calls.role(
                    RoleActivities.abstract_writer,
                    AbstractWriterInput(
                        question=self.request.question,
                        sections=sections,
                        reasoning=thinking.as_text(self.reasoned.line),
                    ),
                    manuscript.shown(self.results, self.request.evidence, self.reasoned.passages),
                    summary="abstract",
                    closing=True,
                ),
            )
            title = named.title
            abstract, synthesis = await self._verified(abstract, synthesis)
        line = thinking.beside(self.reasoned.line, [abstract, *(section.draft for section in sections)])
        if self.reasoned.line and not line and self.request.limits.reasoning is not None:
            self.notes.append("The line of reasoning is not set out, since the sections say the same.")
        await self._tell("compose", "the text is written", ended=True)
        return ReportDraft(
            id=self.request.run,
            mode="RESEARCH",
            question=self.request.question,
            title=title,
            abstract=abstract,
            sections=manuscript.beside(abstract, sections),
            reasoning=line,
            synthesis=manuscript.apart(synthesis, abstract, sections),
            information_gain=self.gathered.gains,
            practised=self.gathered.practised,
            queries=self.gathered.queries,
            coverage_by_cycle={aim.topic.heading: aim.course for aim in self.gathered.aims if aim.course},
            further_considerations=self.considerations,
            contradictions=self.contradictions,
            evaluation=self.evaluation,
            critiques=tuple(self.critiques),
            decisions=(*self.gathered.decisions, self._why_ended()),
            feedback=manuscript.handled(self.wishes, self.results, self.heeded, self.gathered.taken),
            degraded=tuple(self.calls.degraded),
            notes=tuple(dict.fromkeys(self.notes)),
            status=self._status(bool(sections)),
        )

    async def _verified(self, abstract: Draft, synthesis: SynthesisDraft) -> tuple[Draft, SynthesisDraft]:
        """Check what the report says beside its sections."""
        parts = (abstract, synthesis.situation, synthesis.complication, synthesis.resolution)
        evidence = manuscript.shown(self.results, self.request.evidence)
        settled = await verified(
            self.calls, self.request.question, parts, evidence, "Abstract and synthesis", closing=True
        )
        self.notes += settled.notes
        first, *rest = settled.drafts
        return first, SynthesisDraft(situation=rest[0], complication=rest[1], resolution=rest[2])

    def _status(self, written: bool) -> ResultStatus:
        if self.cancelled:
            return "cancelled"
        if self.failure:
            return "failed"
        if self.finishing:
            return "finished_early"
        return "done" if written else "no_evidence"

    def _why_ended(self) -> str:
        if self.cancelled:
            return "Ended because a person cancelled the run."
        if self.failure:
            return f"Ended because a step failed for good: {self.failure}"
        if self.stance.spent:
            return f"Ended because {named(self.bounds(self.request.limits), self.stance.spent)} was used up."
        if self.finishing:
            return "Ended because a person asked to finish."
        return manuscript.why_ended(self.revisions, self.content)

    @property
    def _aims(self) -> tuple[Aim, ...]:
        """What was gathered for each topic, here or by the run that this one goes on from."""
        return self.gathered.aims or (self.state.aims if self.state else ())

    async def _tell(self, phase: Phase, last: str = "", *, ended: bool = False) -> None:
        await report(
            self.request.run,
            ProgressUpdate(
                reporter=workflow.info().workflow_id,
                phase=phase,
                revision=self.revisions,
                topics=manuscript.standing(self.topics, self.results, self._aims) if phase in OUTLINED else (),
                outline=phase in OUTLINED and bool(self.topics),
                usage=self.calls.usage,
                last=last,
                ended=ended,
            ),
        )

    async def _tell_topic(self, topic: TopicProgress, last: str = "") -> None:
        update = ProgressUpdate(reporter=workflow.info().workflow_id, topics=(topic,), last=last)
        await report(self.request.run, update)
