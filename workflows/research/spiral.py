"""SpiralWorkflow: Plan & Critique → Act → Analyze → Synthesize → Decide, cycle by cycle (001 §3; 004).

Each cycle's decision flows back to the next plan and the next synthesis. What the cycles learn is the
research state; each phase makes the next one of it by a pure function, and a history that becomes long
is begun anew with it. A plan is criticism and proposal only: what is carried out is decided by
`algorithms/plan.py`, and when to stop by guards that no model can talk its way past.
"""

import asyncio
from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError, is_cancelled_exception

from workflows.research.plan_and_execute import execute
from workflows.runtime.budget import by_signal
from workflows.runtime.calls import Calls, Talk
from workflows.runtime.control import Steered
from workflows.runtime.failures import cause
from workflows.runtime.input_requests import ask
from workflows.runtime.progress import report

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.control.budget import named
    from tenure.algorithms.memory.experience import Sent, found_most, practised, taken_over, way
    from tenure.algorithms.research import research_state
    from tenure.algorithms.research.information_gain import trend
    from tenure.algorithms.research.outline_edits import dropped_in_words, edited
    from tenure.algorithms.research.planning import ASSUMED, Admitted, admitted, why_replan
    from tenure.algorithms.research.research_state import PLANNER, SYNTHESIZER, told
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.research.fork import CycleEnd
    from tenure.contracts.research.report import ProgressUpdate
    from tenure.contracts.research.spiral import (
        AnalysisRequest,
        Candidate,
        Executed,
        LatentTopic,
        Reflection,
        SpiralRequest,
        SpiralResult,
        SpiralState,
        Step,
        SubagentRequest,
        SubagentResult,
    )
    from tenure.contracts.run.control import Outline, Question
    from tenure.contracts.run.run import Feedback, SectionPhase
    from tenure.roles.research.decider import DeciderInput
    from tenure.roles.research.hypothetical_document import HypotheticalDocumentInput
    from tenure.roles.research.planner import PlannerInput, Standing
    from tenure.roles.research.synthesis_reflector import SynthesisReflectorInput
    from tenure.roles.research.synthesizer import SynthesizerInput
    from tenure.roles.research.topic_namer import TopicNamerInput
    from workflows.research.subagent import SubagentWorkflow

LEAST_HOPS = 2
"""Hops of a task that somebody wants to go from hop to hop, whatever the effort."""
SHOWN_GAINS = 6
"""Gains of the last cycles that the decider sees."""


@workflow.defn
class SpiralWorkflow(Steered):
    """Gathers what a report needs, and draws together what follows from it."""

    @workflow.init
    def __init__(self, request: SpiralRequest) -> None:
        """Start from an outline, or go on from what earlier cycles left."""
        super().__init__(request.stance)
        self.request = request
        self.state = request.state or research_state.begun(request.run, request.outline, request.outlined)
        self.wishes = list(request.feedback)
        self.calls = Calls(self, request.limits, by_signal(self, request.run))
        self.calls.go_on(self.state.usage, self.state.left, self.state.draws)
        self.talks = {role: Talk(turn) for role, turn in self.state.turns.items()}
        self.sent: list[Sent] = []
        self.ended = ""
        self.failure = ""

    @workflow.run
    async def run(self, request: SpiralRequest) -> SpiralResult:
        """Go through cycles until enough is known, nothing new comes, a budget ends, or a person says stop."""
        try:
            await self._gather()
        except (Exception, asyncio.CancelledError) as error:
            if is_cancelled_exception(error) or not isinstance(error, ActivityError) or not self.state.gains:
                await self._tell("", ended=True)
                raise
            self.failure = cause(error)
            self._decided(f"Ended in cycle {self.state.cycle}: a step failed for good: {self.failure}")
        await self._tell(self.state.decisions[-1] if self.state.decisions else "", ended=True)
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._result()

    async def _gather(self) -> None:
        if not self.state.cycle and self.request.evidence and not self.finishing:
            await self._analyze(self._at_hand())
        while not (why := self._why_end()):
            self.state = self.state.model_copy(update={"cycle": self.state.cycle + 1})
            self._reoutline()
            await self._cycle()
            await self._remember()
            if self._is_long() and not self._why_end():
                await self._begin_anew()
        self._reoutline()
        self._decided(why)
        await self._synthesize(resolve=True)

    @property
    def _outline(self) -> Outline | None:
        """The outline that a person has set and that does not hold yet."""
        wanted = self.stance.outline
        return wanted if wanted and wanted.number > self.state.outlined else None

    def _reoutline(self) -> None:
        """Let the outline of a person hold, between two cycles."""
        outline = self._outline
        if outline is None:
            return
        wanted = edited([aim.topic for aim in self.state.aims], outline)
        self.state = research_state.reoutlined(self.state, wanted, outline.number)
        self.ended = ""
        for line in dropped_in_words(wanted):
            self._noted(line)

    def _why_end(self) -> str:
        """Return why there is no further cycle; people who wait to be heard outweigh a gain that has become small."""
        if self.finishing:
            spent = self.stance.spent
            why = (
                f"{named(self.bounds(self.request.limits), spent)} was used up" if spent else "a person asked to finish"
            )
            return f"Gathering ended after {self.state.cycle} cycle(s): {why}."
        if (self.ended and not self._outline) or not self.state.cycle:
            return self.ended
        waiting = len(self.wishes) > self.state.planned or self._outline is not None
        why = research_state.why_end(self.state, self.request.effort)
        return "" if waiting and self.state.cycle < self.request.effort.cycles else why

    def _is_long(self) -> bool:
        info = workflow.info()
        return (
            info.is_continue_as_new_suggested() or info.get_current_history_length() > self.request.limits.long_history
        )

    async def _begin_anew(self) -> None:
        """Continue as new with the state; nothing is under way between two cycles."""
        await workflow.wait_condition(workflow.all_handlers_finished)
        spent = {"usage": self.calls.usage, "left": self.calls.purse.left, "draws": self.calls.purse.draws}
        carried = self._learned().model_copy(update=spent)
        following = {"state": carried, "feedback": tuple(self.wishes), "stance": self.stance}
        workflow.continue_as_new(self.request.model_copy(update=following))

    def _learned(self) -> SpiralState:
        """Return what the cycles so far leave to those that follow, here or in a fork, without what they cost."""
        blank = SpiralState()
        return self.state.model_copy(
            update={
                "turns": {role: talk.turn for role, talk in self.talks.items()},
                "degraded": research_state.stood_in((*self.state.degraded, *self.calls.degraded)),
                "usage": blank.usage,
                "left": blank.left,
                "draws": blank.draws,
            }
        )

    async def _remember(self) -> None:
        """Leave what this cycle has learned in the history of the run, where a fork finds it."""
        end = CycleEnd(state=self._learned(), feedback=tuple(self.wishes), outline=self.stance.outline)
        await workflow.get_external_workflow_handle(self.request.run).signal("cycle_ended", end)

    async def _cycle(self) -> None:
        plan = await self._plan()
        candidates = await self._act(plan)
        if self._wants_another(plan):
            plan = await self._plan()
            candidates += await self._act(plan)
        if (plan.finish or plan.empty) and not candidates:
            self.ended = f"Ended in cycle {self.state.cycle}: the planner sees nothing more to look for."
        await self._analyze(candidates)
        await self._synthesize()
        await self._decide()

    def _at_hand(self) -> list[Candidate]:
        """Return what was found for the question as a whole, and what earlier runs have accepted on it.

        Judging finds the topic each belongs to.
        """
        topic, question = self.state.aims[0].topic.heading, self.request.question
        remembered, executed = taken_over(self.request.experience, topic)
        self.state = research_state.asked(self.state, executed)
        found = [Candidate(topic=topic, query=question, passage=passage) for passage in self.request.evidence]
        return [*found, *remembered]

    async def _plan(self) -> Admitted:
        """Let the planner criticise and propose; return what of it is carried out."""
        await self._tell("planning what to look for")
        state, heard = self.state, len(self.wishes)
        talk = self._talk(PLANNER)
        planned = await self.calls.role(
            RoleActivities.planner,
            PlannerInput(
                question=self.request.question,
                cycle=state.cycle,
                max_cycles=self.request.effort.cycles,
                max_searches=self.request.effort.subagents,
                max_topics=self.request.limits.max_sections,
                outline=self._standings(),
                trend=trend(state.gains),
                gain=state.gains[-1] if state.gains else None,
                latent=state.latent,
                executed=state.executed,
                refused=state.refused,
                critique=state.critique,
                reasoning=state.reasoning,
                key_factors=state.key_factors,
                feedback=research_state.heard_since(self.wishes, state.planned),
                advice=self.request.experience.advice,
                facts=tuple(fact.text for fact in self.request.experience.facts),
                scarce=self.stance.scarce,
            ),
            state.fresh,
            summary=f"cycle {state.cycle}",
            talk=talk,
        )
        plan = admitted(planned.plan, state, self.request.effort, self.request.limits.max_sections, state.fresh)
        new = self.wishes[state.planned : heard]
        self.state = research_state.planned(state, plan, planned.critique, heard)
        self.state = research_state.taken_up(self.state, new, plan.steps)
        return await self._plan() if await self._clarified(plan.asked) else plan

    async def _clarified(self, asked: Sequence[str]) -> bool:
        """Wait for what people answer to questions, where they are waited for; tell whether anybody did."""
        if not asked or self.finishing or not self.request.limits.interactive:
            return False
        number = len(self.state.asked)
        texts, _, assumptions = zip(*(question.partition(ASSUMED) for question in asked), strict=True)
        question = Question(
            reporter=workflow.info().workflow_id,
            number=number,
            kind="clarification",
            text=" ".join(texts),
            assumed=" ".join(assumptions),
        )
        await ask(self.request.run, question)
        await workflow.wait_condition(lambda: number in self.answers)
        answer = self.answers.pop(number)
        if answer.wish:
            await self.heard(Feedback(text=answer.wish))
            self.state = research_state.clarified(self.state, asked)
        return bool(answer.wish)

    async def _act(self, plan: Admitted) -> list[Candidate]:
        """Carry a plan out, steps that need nothing from each other at the same time; return what they found."""
        await self._imagine(plan.steps)

        async def tell(begin: Sequence[Step]) -> None:
            await self._tell(f"looking for {', '.join(f'“{step.query[:80]}”' for step in begin)}")

        done = await execute(plan.steps, self._task, tell, lambda: self.finishing)
        if done.deadlocked:
            self._noted("Steps of the plan waited for each other and were given up.")
        plan.steps = list(done.steps)
        return [candidate for result in done.brought for candidate in result.candidates]

    def _wants_another(self, plan: Admitted) -> bool:
        """Tell whether a plan is to be made anew within the cycle, which happens once."""
        why = why_replan(plan, plan.steps)
        if not why or self.finishing:
            return False
        failed = [f"“{step.query[:80]}”: {step.note}" for step in plan.steps if step.note]
        self.state = self.state.model_copy(update={"refused": (*self.state.refused, *failed)[:8]})
        self._noted(f"The plan of cycle {self.state.cycle} was made anew: {why}.")
        return True

    async def _imagine(self, steps: Sequence[Step]) -> None:
        """Give every topic that is searched for the first time its imagined passage."""
        served = {step.topic for step in steps}
        topics = [a.topic for a in self.state.aims if a.topic.heading in served and not a.hypothetical]
        imagined = await asyncio.gather(
            *(
                self.calls.role(
                    RoleActivities.hypothetical_document,
                    HypotheticalDocumentInput(question=self.request.question, topic=topic.heading),
                    self.request.evidence[:8],
                    summary=topic.heading,
                )
                for topic in topics
            )
        )
        texts = {topic.heading: output.text for topic, output in zip(topics, imagined, strict=True)}
        self.state = research_state.imagined(self.state, texts)

    async def _task(self, step: Step) -> tuple[Step, SubagentResult | None]:
        """Send a subagent; one that fails costs its own task and nothing of the others'."""
        await self.ready()
        number = len(self.state.executed) + 1
        self._ask(step.query, step.topic)
        request = self._task_request(step)
        child_id = f"{workflow.info().workflow_id}/{self.state.cycle}-{number}"
        try:
            child = await self.begin(child_id, SubagentWorkflow.run, request, child_id, step.query)
            result = await child
        except ChildWorkflowError as error:
            if is_cancelled_exception(error):
                raise
            self._noted(f"“{step.query[:120]}” could not be looked for: {cause(error)}")
            return step.model_copy(update={"status": "failed", "note": cause(error)[:200]}), None
        finally:
            self.children.pop(child_id, None)
        self.calls.degraded.extend(result.degraded)
        self._found(request, result)
        if not result.candidates:
            lost = {"status": "failed", "note": f"nothing was found ({request.strategy})"}
            return step.model_copy(update=lost), result
        return step.model_copy(update={"status": "completed"}), result

    def _task_request(self, step: Step) -> SubagentRequest:
        hypothetical = {aim.topic.heading: aim.hypothetical for aim in self.state.aims}
        request, number = self.request, len(self.state.executed)
        how = way(step, request.effort.hops, request.limits.strategy, request.experience, request.run, number)
        return SubagentRequest(
            run=self.request.run,
            question=self.request.question,
            step=step,
            strategy=how.strategy,
            why=how.why,
            hypothetical=hypothetical.get(step.topic, ""),
            hops=max(LEAST_HOPS, self.request.effort.hops),
            corpora=self.request.corpora,
            databases=self.request.databases,
            limits=self.request.limits.in_cycle(self.state.cycle),
            stance=self.stance,
        )

    def _ask(self, query: str, topic: str) -> None:
        executed = Executed(query=query, topic=topic, cycle=self.state.cycle)
        self.state = research_state.asked(self.state, [executed])

    def _found(self, request: SubagentRequest, result: SubagentResult) -> None:
        """Note what a task's queries have found, and how it searched."""
        for query in result.queries:
            self._ask(query, request.step.topic)
        self.state = research_state.counted(self.state, result)
        if not request.step.reads:
            self.sent.append(Sent(request.step.query, request.strategy, result.queries))

    async def _analyze(self, candidates: Sequence[Candidate]) -> None:
        state = self.state
        analysis = await self.calls.analyze(
            AnalysisRequest(
                run=self.request.run,
                cycle=state.cycle,
                question=self.request.question,
                corpora=self.request.corpora,
                aims=state.aims,
                candidates=tuple(candidates),
                min_relevance=research_state.least_relevance(self.request.limits),
                min_novelty=self.request.limits.min_novelty,
            ),
            summary=f"cycle {state.cycle}: {len(candidates)} passages" if state.cycle else "what is at hand",
        )
        self.state = research_state.learned(state, analysis)
        self.state = self.state.model_copy(update={"practised": practised(state.practised, self.sent, analysis)})
        self.sent = []
        if analysis.latent and self.state.cycle and not self.finishing:
            await self._offer(analysis.latent)
        await self._tell(research_state.in_words(self.state))

    async def _offer(self, latent: Sequence[Sequence[PassageRef]]) -> None:
        """Name what the sources offer beside the outline."""
        named = await self.calls.role(
            RoleActivities.topic_namer,
            TopicNamerInput(
                question=self.request.question,
                outline=tuple(aim.topic.heading for aim in self.state.aims),
                sizes=tuple(len(group) for group in latent),
            ),
            [passage for group in latent for passage in group],
            summary=f"cycle {self.state.cycle}: {len(latent)} groups",
        )
        topics = [
            LatentTopic(
                heading=topic.heading[:160],
                question=topic.question[:1000],
                passages=len(latent[topic.group - 1]),
                cycle=self.state.cycle,
            )
            for topic in named.topics
            if 1 <= topic.group <= len(latent)
        ]
        self.state = research_state.offered(self.state, topics)

    async def _synthesize(self, *, resolve: bool = False) -> None:
        """Work new findings into the synthesis, look back at it, and refine it once where it is weak."""
        talk = self._talk(SYNTHESIZER)
        self.state, known = research_state.before_synthesis(self.state)
        if not self.state.numbered or (len(self.state.numbered) == known and not resolve):
            return
        await self._write(talk, known, resolve=resolve)
        if resolve or self.stance.scarce or self.finishing or self.request.effort.cycles == 1:
            return
        reflection = await self._reflect()
        if reflection.overall_quality in ("moderate", "shallow") and reflection.missing_core_insights:
            await self._write(talk, len(self.state.numbered), resolve=False)

    async def _write(self, talk: Talk, known: int, *, resolve: bool) -> None:
        await self._tell("concluding what follows" if resolve else "drawing together what was found")
        heard = len(self.wishes)
        synthesis = await self.calls.role(
            RoleActivities.synthesizer,
            SynthesizerInput(
                question=self.request.question,
                known=known,
                so_far=self.state.synthesis,
                reasoning=self.state.reasoning,
                key_factors=self.state.key_factors,
                reflection=self.state.reflection,
                feedback=research_state.heard_since(self.wishes, self.state.synthesized),
                resolve=resolve,
            ),
            self.state.numbered,
            summary="resolution" if resolve else f"cycle {self.state.cycle}",
            talk=talk,
        )
        kept = synthesis if synthesis.situation.claims else self.state.synthesis
        self.state = self.state.model_copy(
            update={"synthesis": kept, "synthesized": heard, "turns": {**self.state.turns, SYNTHESIZER: talk.turn}}
        )

    async def _reflect(self) -> Reflection:
        seen = await self.calls.role(
            RoleActivities.synthesis_reflector,
            SynthesisReflectorInput(
                question=self.request.question,
                topics=tuple(aim.topic.heading for aim in self.state.aims),
                synthesis=self.state.synthesis,
            ),
            summary=f"cycle {self.state.cycle}",
        )
        reflection = research_state.brief(Reflection(**seen.model_dump()))
        self.state = self.state.model_copy(update={"reflection": reflection})
        return reflection

    async def _decide(self) -> None:
        """Decide on the partial synthesis; guards come first, and no decision is asked for where they end it."""
        if self._why_end():
            return
        state = self.state
        decision = await self.calls.role(
            RoleActivities.decider,
            DeciderInput(
                question=self.request.question,
                cycle=state.cycle,
                max_cycles=self.request.effort.cycles,
                outline=self._standings(),
                gains=state.gains[-SHOWN_GAINS:],
                trend=trend(state.gains),
                synthesis=state.synthesis,
                reflection=state.reflection,
                latent=tuple(topic.heading for topic in state.latent),
                feedback=research_state.heard_since(self.wishes, state.planned),
                scarce=self.stance.scarce,
            ),
            summary=f"cycle {state.cycle}",
        )
        if decision.needs_more_research:
            self._decided(f"Cycle {state.cycle}: went on. {decision.reasoning}")
        else:
            self.ended = f"Ended after cycle {state.cycle}: {decision.reasoning}"
        self.state = research_state.decided(self.state, decision.reasoning, decision.key_factors)

    def _talk(self, role: str) -> Talk:
        """Return a role's conversation, a new one where the present one has become long."""
        talk = self.talks[role]
        self.state = self.state.model_copy(update={"turns": {**self.state.turns, role: talk.turn}})
        talk.turn = research_state.next_turn(self.state, role)
        self.state = self.state.model_copy(update={"turns": {**self.state.turns, role: talk.turn}})
        return talk

    def _standings(self) -> tuple[Standing, ...]:
        return tuple(
            Standing(
                heading=aim.topic.heading,
                question=aim.topic.question,
                coverage=aim.coverage,
                passages=len(aim.passages),
            )
            for aim in self.state.aims
        )

    def _decided(self, line: str) -> None:
        self.state = self.state.model_copy(update={"decisions": told(self.state.decisions, line)})

    def _noted(self, line: str) -> None:
        self.state = self.state.model_copy(update={"notes": told(self.state.notes, line)})

    async def _tell(self, last: str, *, ended: bool = False) -> None:
        """Report to the run how far the research is."""
        phase: SectionPhase = "waiting" if ended else "retrieving"
        await report(
            self.request.run,
            ProgressUpdate(
                reporter=workflow.info().workflow_id,
                phase="research",
                cycle=self.state.cycle,
                topics=tuple(research_state.gathered(aim, phase) for aim in self.state.aims),
                outline=True,
                usage=self.calls.usage,
                last=last,
                ended=ended,
            ),
        )

    def _result(self) -> SpiralResult:
        state = self.state
        return SpiralResult(
            aims=state.aims,
            synthesis=state.synthesis,
            gains=state.gains,
            practised=state.practised,
            queries=found_most(state.executed),
            decisions=state.decisions,
            notes=(*state.notes, *research_state.left_open(state)),
            taken=state.taken,
            outlined=state.outlined,
            failure=self.failure,
            degraded=(*state.degraded, *self.calls.degraded),
        )
