"""AgentWorkflow: a run from question to result document (document 000; DESIGN §2).

ingest → retrieve → route → research or code → assemble. It is the run people see: its id names the run, its
queries answer at any time, its signals reach every part, and its details in the web UI are the
live status page.
"""

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError, is_cancelled_exception

from workflows.research.table_questions import Tables
from workflows.run.clarification import clarified
from workflows.run.interactive import Led
from workflows.run.run_memory import Remembering
from workflows.run.standing_question import compared
from workflows.runtime import search_attributes
from workflows.runtime.calls import MODEL_BUDGETS, Calls
from workflows.runtime.control import send
from workflows.runtime.failures import cause
from workflows.runtime.stopwatch import Stopwatch
from workflows.upkeep.embed import embed_beside
from workflows.upkeep.notify import Telling

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.coding.programs import best, slimmed
    from tenure.algorithms.control.budget import SCARCE, Account, ceilings, in_words, named, shares
    from tenure.algorithms.control.run_notes import embedded, ingested
    from tenure.algorithms.control.status_page import status_page
    from tenure.algorithms.control.steering import Situation, relieved, together, within
    from tenure.algorithms.control.transitions import AgentState, next_node
    from tenure.algorithms.control.usage import merged
    from tenure.algorithms.research.effort import going_on
    from tenure.algorithms.research.research_state import gathered
    from tenure.algorithms.retrieval.query_type import settled
    from tenure.contracts.base import RunId
    from tenure.contracts.evidence.corpora import SkippedFile
    from tenure.contracts.evidence.passages import PassageRef, SearchRequest
    from tenure.contracts.evidence.react import SteppedTask
    from tenure.contracts.research.fork import CycleEnd, ForkedResearch, ForkedRun, ForkRequest, Origin
    from tenure.contracts.research.learning import Experience
    from tenure.contracts.research.report import ProgressUpdate, ReportDraft, ResearchRequest, RunState
    from tenure.contracts.research.spiral import SpiralState
    from tenure.contracts.result.programs import Attempt, CodingRequest, StoredArtifact
    from tenure.contracts.result.result import Result, ResultStatus
    from tenure.contracts.run.budget import Draw, Grant, Resource
    from tenure.contracts.run.control import Allotment, Budget
    from tenure.contracts.run.run import (
        Complexity,
        Feedback,
        Handled,
        Phase,
        Progress,
        QueryType,
        RunRequest,
        Status,
        TaskMode,
        Usage,
    )
    from tenure.roles.research.router import RouterInput
    from workflows.coding.coding import CodingWorkflow
    from workflows.research.research import ResearchWorkflow

_DISCARDED = "Cancelled by a person, who wanted nothing of it to be delivered."

SHOWN_TASKS = 6
"""Tasks that went step by step whose steps are kept to be seen."""

DOCUMENTS = 24
"""Passages retrieved for the question as a whole (D)."""


@workflow.defn
class AgentWorkflow(Led):
    """Answers one question."""

    @workflow.init
    def __init__(self, request: RunRequest | ForkedRun) -> None:
        """Start from the request, a fork also from what an earlier run has left."""
        super().__init__()
        self.origin = origin = request.origin if isinstance(request, ForkedRun) else None
        if origin:
            self.stand(outline=origin.end.outline)
        self.cycles = 0
        self.request = request = _named(request, origin)
        self.account = Account(limits=request.limits)
        self.calls = Calls(self, request.limits, self._drawn)
        self.started = workflow.now()
        self.at_work = Stopwatch(lambda: self.paused or self.question is not None)
        self.bells = 0
        self.progress_now = Progress(id=RunId(workflow.info().workflow_id), question=request.question)
        self.accounts: dict[str, Usage] = {}
        self.main: asyncio.Task[ReportDraft] | None = None
        self.complexity: Complexity | None = None
        self.query_type: QueryType | None = None
        self.tables = Tables(self.calls, request, lambda: self.finishing)
        self.results: tuple[PassageRef, ...] = ()
        self.artifacts: tuple[StoredArtifact, ...] = ()
        self.evidence: tuple[PassageRef, ...] = ()
        self.attempts: dict[int, Attempt] = {}
        self.tasks: tuple[SteppedTask, ...] = ()
        self.draft: ReportDraft | None = None
        self.notes: list[str] = []
        self.skipped: list[SkippedFile] = []
        self.wishes = list(origin.end.feedback) if origin else []
        self.heard_at = [self.started.isoformat(timespec="seconds")] * len(self.wishes)
        self.explanations: tuple[Handled, ...] = ()
        self.telling = Telling(request.notices, request.question)
        self.remembering = Remembering(self, self.calls, request)

    @workflow.run
    async def run(self, request: RunRequest | ForkedRun) -> Result:
        """Answer the question; ends in a result document unless it fails or is cancelled from outside."""
        self._show(status=self.standing, phase="ingest")
        self.main = asyncio.create_task(self._answer())
        clock = asyncio.create_task(self._clock())
        if self.cancelled:
            self.main.cancel()
        try:
            self.draft = self._completed(await self._drafted(self.main))
            self._show(phase="assemble", last="checking every quote")
            result = await self.calls.confirm_links(await self.calls.assemble(self.draft))
            if not self.discarded:
                result = await self.remembering.keep(result, self.draft)
            if self.request.standing:
                result = await compared(result)
        except BaseException as error:
            self._fail(error)
            await self.telling.all_begun()
            raise
        finally:
            clock.cancel()
        why = result.decisions[-1] if result.status == "failed" else None
        self._show(phase="done", status=result.status, error=why, last=f"ended: {result.status}")
        await self.telling.all_begun()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return result.model_copy(update={"notes": (*result.notes, *self.refused)})

    async def stop(self) -> None:
        """End what is under way; what is written is delivered."""
        if self.children:
            for child in list(self.children.values()):
                await send(child, "cancel")
        elif self.main is not None:
            self.main.cancel()

    def situation(self) -> Situation:
        """Tell where the run is."""
        return Situation(
            phase=self._phase,
            mode=self.progress_now.mode,
            stance=self.stance,
            limits=self.request.limits,
            topics=tuple(topic.topic for topic in self.progress_now.topics),
            usage=self._usage(),
            seconds=self.at_work.seconds,
            wishes=tuple(self.wishes),
            question=self.unanswered,
            cancelled=self.cancelled,
            asked_to_finish=self.asked_to_finish,
        )

    def noted(self, line: str) -> None:
        """Write a line into the run's log and show it."""
        if line not in self.refused:
            self.notes.append(_sentence(line))
        self._show(last=line)

    async def rebudget(self, budget: Budget) -> None:
        """Let other bounds hold; what the old ones ended is taken up again, unless a person wants no more."""
        before, stance = self.request.limits, self.stance
        limits = within(before, budget)
        self.request = self.request.model_copy(update={"limits": limits})
        usages = {self.progress_now.id: self.calls.usage, **self.accounts}
        self.account = self.account.under(limits, usages)
        self.bells = 0
        allotment = Allotment(number=stance.allotment.number + 1, budget=together(stance.allotment.budget, budget))
        changed: dict[str, Any] = {"allotment": allotment, "scarce": False}
        if relieved(stance, before, budget):
            changed |= {"spent": None, "overdue": False, "finishing": self.asked_to_finish}
            self._show(last="there is more budget: what had ended for want of it goes on")
        await self.take(self.stand(**changed))
        await self._watch_budget()

    @workflow.signal
    async def progressed(self, update: ProgressUpdate) -> None:
        """Take in what a part of the run reports; not for people."""
        topics = {} if update.outline else {topic.topic: topic for topic in self.progress_now.topics}
        topics.update({topic.topic: topic for topic in update.topics})
        if update.usage is not None:
            self.accounts[update.reporter] = update.usage
        if update.ended:
            self.account = self.account.settled(update.reporter, self.accounts[update.reporter])
        if update.attempt is not None:
            self.attempts[update.attempt.n] = update.attempt
        if update.task is not None:
            self.tasks = (*self.tasks, update.task)[-SHOWN_TASKS:]
        self.artifacts += update.artifacts
        kept = best(self.attempts.values())
        self._show(
            phase=update.phase,
            cycle=update.cycle,
            revision=update.revision,
            tests_passed=kept.passed if kept else None,
            tests=kept.total if kept else None,
            topics=tuple(topics.values()),
            last=update.last or None,
        )
        await self._watch_budget()

    @workflow.signal
    def cycle_ended(self, end: CycleEnd) -> None:
        """Keep what a cycle of research leaves in this history, where a fork finds it; not for people."""
        self.cycles = end.state.cycle

    @workflow.signal
    async def draw(self, draw: Draw) -> None:
        """Answer a part of the run that asks for a part of the budget; not for people."""
        grant = await self._drawn(draw)
        await send(workflow.get_external_workflow_handle(draw.reporter), "granted", grant)

    @workflow.query(description="How far the run is.")
    def progress(self) -> Progress:
        """Tell how far the run is."""
        return self.progress_now

    @workflow.query(description="Everything there is to see, drafts included.")
    def state(self) -> RunState:
        """Tell everything there is to see."""
        return RunState(
            progress=self.progress_now,
            corpora=self.corpora,
            complexity=self.complexity,
            query_type=self.query_type,
            evidence=len(self.evidence),
            report=self.draft,
            tasks=self.tasks,
            attempts=slimmed(tuple(self.attempts.values())),
            paused=self.paused,
            finishing=self.finishing,
            cycles=self.cycles,
        )

    def steered(self) -> None:
        """Show on the status page what a person has just asked for."""
        if self._phase != "done":
            self._show(status=self.standing)

    async def heard(self, feedback: Feedback) -> None:
        """Keep feedback, pass it on and show that it has arrived."""
        if feedback in self.wishes:
            return
        await super().heard(feedback)
        self.heard_at.append(workflow.now().isoformat(timespec="seconds"))
        self._show(feedback=self._feedback(()), last=f"heard: {feedback.text}")
        for child in list(self.children.values()):
            await send(child, "feedback", feedback)

    async def explained(self, answer: Feedback) -> None:
        """Keep what a person says of the question, which is read with it."""
        at = workflow.now().isoformat(timespec="seconds")
        told = Handled(text=answer.text, topic=None, at=at, outcome="The question was read with it.")
        self.explanations = (*self.explanations, told)
        self._show(feedback=self._feedback(()), last=f"heard: {answer.text}")

    async def _answer(self) -> ReportDraft:
        """Go through the nodes of document 000: retrieve, route, then the path of the mode."""
        if self.origin is not None:
            return await self._go_on(self.origin)
        await self._ingest()
        self.notes += [f"Only passages were read whose {condition}." for condition in self.request.limits.filters]
        self._show(phase="retrieve")
        if self.corpora:
            await self.calls.open_web()
            await self._retrieve()
        found = f"{len(self.evidence)} passages found on the question"
        self._show(phase="route", last=found if self.corpora else "there are no documents to read")
        mode = await self._route()
        self._show(mode=mode)
        coding = next_node("route", AgentState(mode=mode), 0) == "generate_code"
        if self.request.limits.interactive and not coding:
            await self._clarify()
        if self.tables.wanted and not coding:
            await self._compute()
        if not (coding or self.evidence):
            return self._report("no_evidence", "No passage of the corpora is relevant to the question.")
        await self.ready()
        if self.finishing and self.stance.spent not in MODEL_BUDGETS:
            return self._report("finished_early", f"{self._why_finishing()} before anything was written.")
        return await (self._code() if coding else self._research())

    async def _go_on(self, origin: Origin) -> ReportDraft:
        """Research on from what another run has left; nothing of what that has paid for is asked again."""
        cycle, research = origin.end.state.cycle, origin.research
        self._show(
            phase="retrieve",
            mode="RESEARCH",
            cycle=cycle,
            topics=tuple(gathered(aim) for aim in origin.end.state.aims),
            last=f"taking over what {origin.run} knew after cycle {cycle}",
        )
        await self.calls.open_web()
        web = self.request.limits.web is not None
        forked = await self.calls.fork(
            ForkRequest(
                origin=origin.run,
                run=self.progress_now.id,
                state=origin.end.state,
                evidence=research.evidence,
                web=web,
            )
        )
        self.notes.append(f"This run goes on from cycle {cycle} of {origin.run}, whose usage is not counted here.")
        self.complexity, self.query_type = research.complexity, research.query_type
        self.evidence, self.results = forked.evidence, research.results
        await self.ready()
        return await self._research(forked.state)

    async def _retrieve(self) -> None:
        """Find what the corpora and databases say on the question as a whole (D)."""
        self.results = await self.tables.queried()
        found = await self.calls.search(
            SearchRequest(
                query=self.request.question,
                corpora=self.corpora,
                k=DOCUMENTS,
                max_per_source=self.request.limits.max_per_source,
            ),
            self.request.limits.min_relevance,
            summary=self.request.question,
        )
        if self.calls.usage.embedded_share < 1:
            await embed_beside(self.corpora)
        self.evidence = tuple({passage.chunk: passage for passage in (*self.results, *found)}.values())

    async def _clarify(self) -> None:
        """Let a person say what the question leaves open, and look again where it is meant otherwise."""
        meant = await clarified(self, self.calls, self.request.question, self.evidence)
        if meant == self.request.question:
            return
        self.request = self.request.model_copy(update={"question": meant})
        self.tables = Tables(self.calls, self.request, lambda: self.finishing)
        self.remembering = Remembering(self, self.calls, self.request)
        self._show(phase="retrieve", question=meant, last=f"the question is read as: {meant}")
        if self.corpora:
            await self._retrieve()
        self._show(phase="route")

    async def _compute(self) -> None:
        """Have computed what the tables hold and SQL cannot bring."""
        self._show(last=f"computing: {self.tables.wanted}")
        computed = await self.tables.computed(self.progress_now.id, self.results)
        self.artifacts = computed.artifacts
        self.notes += computed.notes
        self.results = (*self.results, *computed.passages)
        self.evidence = (*computed.passages, *self.evidence)

    @property
    def corpora(self) -> tuple[str, ...]:
        """Every corpus the run reads, that of the web's pages included."""
        web = self.request.limits.web
        return (*self.request.corpora, web.corpus) if web else self.request.corpora

    def _why_finishing(self) -> str:
        spent = self.stance.spent
        return f"{_sentence(named(self.request.limits, spent))} was used up" if spent else "A person asked to finish"

    async def _drawn(self, draw: Draw) -> Grant:
        """Answer a draw from the run's account; the first one it cannot cover ends the gathering."""
        if draw.allotment != self.stance.allotment.number:
            return Grant(number=draw.number, allotment=self.stance.allotment.number)
        self.account, grant = self.account.grant(draw)
        await self._watch_budget()
        if grant.spent is not None:
            await self._used_up(grant.spent)
        return grant

    async def _watch_budget(self) -> None:
        """Tell everybody once when most of a budget is used or reserved."""
        if self.stance.scarce:
            return
        for resource, share in shares(self.request.limits, self.account.committed, self.at_work.seconds).items():
            if share >= SCARCE:
                await self._told_of_little(resource)
                return

    async def _told_of_little(self, resource: Resource) -> None:
        self.notes.append(
            f"{SCARCE:.0%} of {named(self.request.limits, resource)} was used or reserved in phase {self._phase}."
        )
        await self.take(self.stand(scarce=True))

    async def _used_up(self, resource: Resource) -> None:
        """Stop gathering: what there is gets written up."""
        if self.stance.spent is not None:
            return
        self.notes.append(f"{_sentence(named(self.request.limits, resource))} was used up in phase {self._phase}.")
        await self.take(self.stand(finishing=True, scarce=True, spent=resource))

    @property
    def _phase(self) -> Phase:
        return self.progress_now.phase

    async def _clock(self) -> None:
        """See to the run's time at work, whose bounds people may change."""
        while True:
            await self.at_work.reach(self._next_bell, "time at work")
            self.bells += 1
            if self.bells == 1 and not self.stance.scarce:
                await self._told_of_little("time")
            elif self.bells == 2:
                await self._used_up("time")
            elif self.bells == 3:
                await self.take(self.stand(overdue=True))

    def _next_bell(self) -> float | None:
        """Return at which second of work something is to be done: most of them, all, and the grace are gone."""
        limits = self.request.limits
        if limits.max_seconds is None or self.bells > 2:
            return None
        return (limits.max_seconds * SCARCE, limits.max_seconds, limits.max_seconds + limits.grace_seconds)[self.bells]

    async def _ingest(self) -> None:
        for wanted in self.request.ingest:
            self._show(phase="ingest", last=f"reading {', '.join(wanted.paths)}")
            report = await self.calls.ingest(wanted)
            self.skipped.extend(report.skipped)
            self.notes.append(ingested(report))

    async def _route(self) -> TaskMode:
        routed = await self.calls.role(
            RoleActivities.router, RouterInput(question=self.request.question), summary=self.request.question
        )
        self.complexity = routed.complexity
        self.query_type = settled(self.request.question, routed.query_type)
        asked: dict[str, TaskMode] = {"research": "RESEARCH", "code": "CODE"}
        return asked.get(self.request.mode, routed.mode)

    async def _research(self, state: SpiralState | None = None) -> ReportDraft:
        experience = await self.remembering.recall() if state is None else Experience()
        request = ResearchRequest(
            run=self.progress_now.id,
            question=self.request.question,
            corpora=self.corpora,
            databases=self.request.databases,
            limits=self.request.limits,
            complexity=self.complexity or "moderate",
            query_type=self.query_type,
            evidence=self.evidence,
            results=self.results,
            experience=experience,
            feedback=tuple(self.wishes),
            stance=self.stance,
        )
        forked = request if state is None else ForkedResearch(**dict(request), state=state)
        return await self._path("research", ResearchWorkflow.run, forked)

    async def _code(self) -> ReportDraft:
        self._show(last="looking at what can be run here")
        if self.stance.outline:
            self.notes.append("The outline that a person has set was not followed: a program has none.")
        request = CodingRequest(
            run=self.progress_now.id,
            question=self.request.question,
            limits=self.request.limits,
            evidence=self.evidence,
            files=self.request.files,
            tests=self.request.tests,
            feedback=tuple(self.wishes),
            stance=self.stance,
        )
        return await self._path("code", CodingWorkflow.run, request)

    async def _path(self, name: str, run: Any, request: ResearchRequest | CodingRequest) -> ReportDraft:
        """Go the way of the mode in a workflow of its own."""
        child = await self.begin(name, run, request, f"{request.run}/{name}", request.question, len(request.feedback))
        try:
            if self.cancelled:
                await send(child, "cancel")
            draft: ReportDraft = await child
            return draft
        finally:
            del self.children[name]

    async def _drafted(self, main: "asyncio.Task[ReportDraft]") -> ReportDraft:
        """Wait for the draft; a run cancelled by signal before there was one still ends in a report."""
        try:
            draft = await main
            return self._report("cancelled", _DISCARDED) if self.discarded else draft
        except (asyncio.CancelledError, ActivityError, ChildWorkflowError) as error:
            # A cancelled activity that was waited for directly ends in an error of its own kind.
            if not (self.cancelled and is_cancelled_exception(error)):
                raise
            return self._report("cancelled", _DISCARDED if self.discarded else "Cancelled before anything was written.")

    def _report(self, status: ResultStatus, note: str) -> ReportDraft:
        self.notes.append(note)
        return ReportDraft(
            id=self.progress_now.id, mode=self.progress_now.mode, question=self.request.question, status=status
        )

    def _usage(self) -> Usage:
        """Return what all parts of the run have used, as far as they have told it."""
        return merged([self.calls.usage, *self.accounts.values()])

    def _completed(self, draft: ReportDraft) -> ReportDraft:
        """Add to the draft what only the run knows."""
        seconds = (workflow.now() - self.started).total_seconds()
        usage = self._usage().model_copy(update={"seconds": round(seconds, 1)})
        return draft.model_copy(
            update={
                "usage": usage,
                "limits": ceilings(self.request.limits),
                "artifacts": self.artifacts,
                "degraded": (*self.calls.degraded, *draft.degraded),
                "skipped": tuple(self.skipped),
                "web_corpus": self.request.limits.web.corpus if self.request.limits.web else "",
                "notes": (
                    *self.notes,
                    *self.remembering.notes,
                    *self._untranslated(usage),
                    *embedded(usage.embedded_share),
                    *draft.notes,
                ),
                "feedback": self._feedback(draft.feedback),
            }
        )

    def _untranslated(self, usage: Usage) -> tuple[str, ...]:
        if not self.request.limits.language or usage.model_calls:
            return ()
        return (
            f"Nothing was translated into {self.request.limits.language}: without a model a report is made of quotes, "
            "in the language of its sources.",
        )

    def _feedback(self, handled: tuple[Handled, ...]) -> tuple[Handled, ...]:
        """Return all feedback with its time, and its outcome where the research told one."""
        outcomes = {(h.text, h.topic): h.outcome for h in handled}
        other = "It came too late to change the report." if self.draft else "received"
        wishes = zip(self.wishes, self.heard_at, strict=True)
        return self.explanations + tuple(
            Handled(text=w.text, topic=w.topic, at=at, outcome=outcomes.get((w.text, w.topic), other))
            for w, at in wishes
        )

    def _fail(self, error: BaseException) -> None:
        """Show why the run ended without a result."""
        if is_cancelled_exception(error):
            self._show(status="cancelled", last="cancelled")
        else:
            self._show(status="failed", error=cause(error), last="failed")

    def _show(
        self,
        *,
        phase: Phase | None = None,
        status: Status | None = None,
        **changed: Any,
    ) -> None:
        """Change what queries, search attributes and the status page say."""
        now = self.progress_now
        told = {name: value for name, value in changed.items() if value is not None}
        usage = self._usage()
        self.progress_now = now.model_copy(
            update={
                **told,
                "phase": phase or now.phase,
                "status": status or now.status,
                "usage": usage,
                "budget": in_words(self.request.limits, usage),
                "waiting": self.question,
                "refused": self.refused,
            }
        )
        self._index(now)
        self.telling.see(self.progress_now.status, self.question.model_dump_json() if self.question else "")
        workflow.set_current_details(status_page(self.progress_now))

    def _index(self, before: Progress) -> None:
        """Write the search attributes that changed."""
        now = self.progress_now
        changed = [
            key.value_set(value)
            for key, old, value in (
                (search_attributes.MODE, before.mode, now.mode),
                (search_attributes.PHASE, before.phase, now.phase),
                (search_attributes.STATUS, before.status, now.status),
            )
            if old != value or before.last == ""
        ]
        if before.last == "" and (owner := workflow.info().priority.fairness_key):
            changed.append(search_attributes.OWNER.value_set(owner))
        if changed:
            workflow.upsert_search_attributes(changed)


def _named(request: RunRequest, origin: Origin | None) -> RunRequest:
    """Return the request of this run: it has pages of the web under its id, and as a fork a cycle to go."""
    limits, question = request.limits, request.question
    if origin:
        limits = going_on(origin.research.complexity, limits, origin.end.state.cycle)
        question = origin.research.question  # as a person has made it clear
    if limits.web:
        scope = limits.web.model_copy(update={"run": RunId(workflow.info().workflow_id)})
        limits = limits.model_copy(update={"web": scope})
    return request.model_copy(update={"limits": limits, "question": question})


def _sentence(text: str) -> str:
    """Begin a text as a sentence begins."""
    return text[:1].upper() + text[1:]
