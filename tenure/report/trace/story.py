"""Build the trace of a run from its histories.

The module is pure, so a recorded history always gives the same trace. Only the needed fields of recorded arguments and
results are read; fields that an older worker did not write are treated as missing.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise, takewhile
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tenure.algorithms.coding import programs
from tenure.algorithms.research.planning import STEP_KINDS
from tenure.algorithms.research.research_state import describe_positions
from tenure.algorithms.writing.manuscript import describe_search
from tenure.contracts.evidence.reasoning import Reasoning
from tenure.contracts.knowledge.memory import RememberRequest
from tenure.contracts.research.learning import Experience
from tenure.contracts.research.progress import ProgressUpdate
from tenure.contracts.research.report import Critique, ReportReview, ReportText
from tenure.contracts.research.spiral import (
    AnalysisReply,
    AnalysisRequest,
    CompletedSearch,
    Finding,
    PlannedAction,
    Rejection,
    SpiralRequest,
    SpiralResult,
    SubagentRequest,
    SubagentResult,
)
from tenure.contracts.research.trace import (
    ControlRecord,
    RecordedEvent,
    RecordedHistory,
    Trace,
    TracedCycle,
    TracedDecision,
    TracedMemory,
    TracedPlan,
    TracedProgram,
    TracedQuery,
    TracedReflection,
    TracedReview,
    TracedSection,
    TracedTask,
    TracedThought,
)
from tenure.contracts.result.programs import Attempt, CodingRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Feedback, FeedbackRecord, RunRequest, StepProgress
from tenure.contracts.sandbox import SandboxOutcome
from tenure.report.trace.calls import list_calls, split_search_batches
from tenure.roles.coding.analyst import AnalystInput, AnalystOutput
from tenure.roles.plan_entries import PlannerOutput
from tenure.roles.research.planner import PlannerInput
from tenure.roles.research.router import RouterOutput
from tenure.roles.research.topic_namer import TopicNamerOutput
from tenure.roles.writing.report_reviewer import ReportReviewerInput

M = TypeVar("M", bound=BaseModel)

COMMANDS = ("outline", "budget", "approve", "answer", "pause", "resume", "finish", "cancel")
"""Steering commands other than feedback."""


_NO_PROGRAM = AnalystOutput(shows="", inputs=(), code="")
"""Program of an analyst that has not answered."""


def build_trace(histories: Sequence[RecordedHistory]) -> Trace:
    """Build the trace of a run.

    Args:
        histories: the run's history first, then those of the workflows it started.
    """
    histories = [split_search_batches(history) for history in histories]
    run, *others = histories
    by_type = {history.type: history for history in others}
    coding = by_type.get("CodingWorkflow")
    research, spiral = by_type.get("ResearchWorkflow"), by_type.get("SpiralWorkflow")
    result = Result.model_validate(run.result) if run.result else None
    gathered = SpiralResult.model_validate(spiral.result) if spiral and spiral.result else SpiralResult(topics=())
    asked = SpiralRequest.model_validate(spiral.input) if spiral else None
    router = _find_last_call(run.recorded_events, "router")
    routed = _read_output(router, RouterOutput) if router else None
    return Trace(
        id=run.workflow,
        question=RunRequest.model_validate(run.input).question,
        started_at=run.started_at,
        ended_at=run.ended_at,
        status=result.status if result else run.status,
        failure=run.failure,
        mode=result.mode if result else routed.mode if routed else "UNDEFINED",
        complexity=routed.complexity if routed else None,
        effort=asked.effort if asked else None,
        programs=tuple(_programs(run.recorded_events)),
        outline=tuple(topic.heading for topic in asked.outline) if asked else (),
        memory=_memory(run.recorded_events, asked.experience if asked else _read_program_experience(coding)),
        initial_findings=_count_initial_passages(spiral.recorded_events) if spiral else (),
        cycles=tuple(_cycles(spiral.recorded_events, gathered.information_gains)) if spiral else (),
        thoughts=tuple(_thoughts(research.recorded_events)) if research else (),
        sections=tuple(_sections(research.recorded_events)) if research else (),
        reflections=tuple(_reflections(research.recorded_events)) if research else (),
        attempts=_attempts(coding) if coding else (),
        web=result.web if result else None,
        feedback=result.feedback if result else _read_feedback(run.recorded_events),
        commands=tuple(
            ControlRecord(at=h.at, signal=h.name)
            for h in run.recorded_events
            if h.kind == "signal_received" and h.name in COMMANDS
        ),
        decisions=result.decisions if result else gathered.decisions,
        notes=result.notes if result else gathered.notes,
        calls=list_calls(histories),
    )


def _read_input(event: RecordedEvent, contract: type[M]) -> M:
    """Return the input of a role."""
    return contract.model_validate(event.input["input"])


def _read_output(event: RecordedEvent, contract: type[M]) -> M:
    """Return the output of a role that has answered."""
    return contract.model_validate(event.result["output"])


def _read_plan(event: RecordedEvent) -> PlannerOutput:
    """Return the plan of a planner; an empty one if it has not answered."""
    return _read_output(event, PlannerOutput) if event.result else PlannerOutput()


def _calls(recorded_events: Sequence[RecordedEvent], name: str) -> list[RecordedEvent]:
    return [event for event in recorded_events if event.kind == "call" and event.name == name]


def _find_last_call(recorded_events: Sequence[RecordedEvent], name: str) -> RecordedEvent | None:
    """Return the last completed call of an activity."""
    return next((call for call in reversed(_calls(recorded_events, name)) if call.result), None)


def _read_feedback(recorded_events: Sequence[RecordedEvent]) -> tuple[FeedbackRecord, ...]:
    """Return the feedback of a run that has no result yet."""
    signals = [h for h in recorded_events if h.kind == "signal_received" and h.name == "feedback"]
    words = [(_feedback(h.input), h.at) for h in signals]
    return tuple(FeedbackRecord(text=said.text, topic=said.topic, at=at) for said, at in words if said)


def _feedback(given: Any) -> Feedback | None:
    """Return a piece of feedback, or None if the signal contains none."""
    try:
        return Feedback.model_validate({"text": given} if isinstance(given, str) else given)
    except ValidationError:
        return None


def _programs(recorded_events: Sequence[RecordedEvent]) -> Iterator[TracedProgram]:
    """Yield the programs for computations from tables; the reason of a failure is in the next request."""
    starts = [n for n, h in enumerate(recorded_events) if h.kind == "call" and h.name == "analyst"]
    parts = [recorded_events[start:end] for start, end in pairwise([*starts, len(recorded_events)])]
    asked = [_read_input(part[0], AnalystInput) for part in parts]
    for part, then, after in zip(parts, asked, [*asked[1:], None], strict=False):
        written = (
            _read_output(part[0], AnalystOutput) if part[0].result else AnalystOutput(shows="", inputs=(), code="")
        )
        ran = _find_last_call(part, "run_program")
        outcome = SandboxOutcome.model_validate(ran.result) if ran else None
        reported = after.failed_programs[-1].problem if after and after.failed_programs else ""
        failures = programs.collect_failures(outcome) if outcome else ()
        yield TracedProgram(
            wanted=then.computation,
            shows=written.shows,
            inputs=written.inputs,
            code=written.code,
            output=programs.truncate_middle(outcome.stdout) if outcome else "",
            artifacts=tuple(made.name for made in outcome.artifacts) if outcome else (),
            problem=failures[0].error if failures else reported,
        )


def _read_program_experience(coding: RecordedHistory | None) -> Experience:
    """Return the memories that a coding run has recalled, lessons as advice; none for another run."""
    if coding is None:
        return Experience()
    request = CodingRequest.model_validate(coding.input)
    return Experience(advice=request.lessons, preferences=request.preferences)


def _memory(recorded_events: Sequence[RecordedEvent], left: Experience) -> TracedMemory | None:
    """Return the recalled and the kept memories, or None if there are none."""
    keeping = _find_last_call(recorded_events, "store_memories")
    kept = RememberRequest.model_validate(keeping.input).memories if keeping else ()
    found = TracedMemory(
        related=left.related,
        passages=left.passages,
        queries=left.queries,
        advice=left.advice,
        facts=left.facts,
        personal=tuple(one.text for one in left.personal),
        preferences=left.preferences,
        kept=tuple(impression.text for impression in kept),
    )
    return None if found == TracedMemory() else found


def _count_initial_passages(recorded_events: Sequence[RecordedEvent]) -> tuple[Finding, ...]:
    """Return the number of passages accepted before the first plan."""
    before = takewhile(lambda h: not (h.kind == "call" and h.name == "planner"), recorded_events)
    analysis = _find_last_call(tuple(before), "analyze_candidates")
    return AnalysisReply.model_validate(analysis.result).accepted if analysis and analysis.result else ()


def _cycles(recorded_events: Sequence[RecordedEvent], gains: Sequence[float]) -> Iterator[TracedCycle]:
    """Yield the cycles; each begins with the first call of its planner, which judges the cycle before.

    A plan that only ends the research is the decision of that cycle, and no cycle of its own.
    """
    starts = [n for n, h in enumerate(recorded_events) if h.kind == "call" and h.name == "planner"]
    parts = [recorded_events[start:end] for start, end in pairwise([*starts, len(recorded_events)])]
    asked = [_read_input(part[0], PlannerInput) for part in parts]
    later = [*asked[1:], None]
    for number, group in groupby(range(len(parts)), key=lambda n: asked[n].cycle):
        members = list(group)
        within = [event for n in members for event in parts[n]]
        analysis = _find_last_call(within, "analyze_candidates")
        judged = AnalysisReply.model_validate(analysis.result) if analysis else None
        plans = [_plan(parts[n], asked[n], later[n], judged) for n in members]
        if number > 1 and _ends_research(parts[members[0]]):
            continue
        following = later[members[-1]]
        then = parts[members[-1] + 1] if following else ()
        known = gains[number - 1] if len(gains) >= number else following.gain if following else None
        yield _cycle(number, within, plans, judged, known, _read_decision(then))


def _ends_research(part: Sequence[RecordedEvent]) -> bool:
    """Return whether a plan has ended the research without another search."""
    finishes = any(action.action == "FINISH" for action in _read_plan(part[0]).plan)
    return finishes and _find_last_call(part, "analyze_candidates") is None


def _read_decision(part: Sequence[RecordedEvent]) -> TracedDecision | None:
    """Return the judgement with which a plan begins; None if there is none."""
    if not part or not part[0].result:
        return None
    said = _read_plan(part[0])
    return TracedDecision(
        continues=all(action.action != "FINISH" for action in said.plan),
        reasoning=said.critique,
        situation=said.situation,
        complication=said.complication,
        missing=said.missing,
    )


def _cycle(
    number: int,
    recorded_events: Sequence[RecordedEvent],
    plans: Sequence[TracedPlan],
    judged: AnalysisReply | None,
    gain: float | None,
    decision: TracedDecision | None,
) -> TracedCycle:
    namer = _find_last_call(recorded_events, "topic_namer")
    return TracedCycle(
        number=number,
        plans=tuple(plans),
        accepted=judged.accepted if judged else (),
        coverage=_coverage(recorded_events),
        gain=gain,
        latent_topics=tuple(topic.heading for topic in _read_output(namer, TopicNamerOutput).topics) if namer else (),
        decision=decision,
        failures=tuple(f"{h.name}: {h.failure}" for h in recorded_events if h.kind == "call" and h.failure),
    )


def _coverage(recorded_events: Sequence[RecordedEvent]) -> dict[str, float]:
    """Return the coverage reported after a cycle's findings were judged."""
    analyzed = False
    coverage: dict[str, float] = {}
    for event in recorded_events:
        analyzed = analyzed or event.name == "analyze_candidates"
        for update in _updates([event]) if analyzed else ():
            coverage = {topic.topic: topic.coverage for topic in update.topics} or coverage
    return coverage


def _updates(recorded_events: Sequence[RecordedEvent]) -> Iterator[ProgressUpdate]:
    """Yield the progress that a workflow has sent to its run, alone or with the checkpoint of a cycle."""
    for event in recorded_events:
        if event.kind == "signal_sent" and event.name == "report_progress":
            yield ProgressUpdate.model_validate(event.input)
        elif event.kind == "signal_sent" and event.name == "record_cycle" and event.input.get("progress"):
            yield ProgressUpdate.model_validate(event.input["progress"])


def _plan(
    part: Sequence[RecordedEvent], asked: PlannerInput, then: PlannerInput | None, judged: AnalysisReply | None
) -> TracedPlan:
    """Return the planner's output and its outcome; `then` is the input of the next planner call."""
    planner = part[0]
    said = _read_plan(planner)
    before = [topic.heading for topic in asked.outline]
    after = _outline_after(part, then)
    tasks = _list_tasks(part, judged)
    return TracedPlan(
        at=planner.at,
        feedback=asked.feedback,
        critique=said.critique if asked.cycle == 1 else "",
        actions=said.plan,
        refused=then.not_executed if then else (),
        unassigned=_list_unplanned_queries(said.plan, tasks) if after is not None else (),
        added=tuple(heading for heading in after or () if heading not in before),
        dropped=tuple(heading for heading in before if after is not None and heading not in after),
        steps=_steps(part),
        tasks=tasks,
        failure=planner.failure,
    )


def _steps(part: Sequence[RecordedEvent]) -> tuple[StepProgress, ...]:
    """Return the last reported state of the steps of a plan."""
    reported = [update.steps for update in _updates(part)]
    return next((steps for steps in reversed(reported) if steps), ())


def _list_unplanned_queries(actions: Sequence[PlannedAction], tasks: Sequence[TracedTask]) -> tuple[str, ...]:
    """Return the queries of a plan that no task has; long queries were shortened for their tasks."""
    made = [(task.planned_query or task.queries[0].query).rstrip("…") for task in tasks]
    wanted = [" ".join(action.query.split()) for action in actions if action.action in STEP_KINDS]
    return tuple(query for query in wanted if not any(query.startswith(known) for known in made))


def _outline_after(part: Sequence[RecordedEvent], then: PlannerInput | None) -> list[str] | None:
    """Return the outline with which the research continued, or None if it has not continued yet."""
    analyses = _calls(part, "analyze_candidates")
    if analyses:
        return [aim.topic.heading for aim in AnalysisRequest.model_validate(analyses[0].input).topics]
    return [topic.heading for topic in then.outline] if then else None


def _list_tasks(part: Sequence[RecordedEvent], judged: AnalysisReply | None) -> tuple[TracedTask, ...]:
    """Return the tasks of a plan in its order: those of subagents, and those that the research loop did itself.

    The latter are known once their cycle has ended.
    """
    order = {step.id: number for number, step in enumerate(_steps(part))}
    tasks: list[tuple[str, TracedTask]] = []
    for event in part:
        if event.kind == "child" and event.name == "SubagentWorkflow":
            request = SubagentRequest.model_validate(event.input)
            result = SubagentResult.model_validate(event.result) if event.result else None
            task = _task(request, result, judged, ended=event.ended, failure=event.failure)
            tasks.append((request.step.id, task))
        elif event.kind == "signal_sent" and event.name == "record_cycle":
            for search in map(CompletedSearch.model_validate, event.input.get("searches", ())):
                task = _task(search.request, search.result, judged, ended=True, failure=search.failure)
                tasks.append((search.request.step.id, task))
    return tuple(task for _, task in sorted(tasks, key=lambda one: order.get(one[0], len(order))))


def _task(
    request: SubagentRequest,
    given: SubagentResult | None,
    judged: AnalysisReply | None,
    *,
    ended: bool,
    failure: str = "",
) -> TracedTask:
    """Return one task with what it has found; without a result it has failed, or has not ended."""
    result = given or SubagentResult(step=request.step.id)
    step = result.prepared or request.step
    found = Counter(candidate.query for candidate in result.candidates)
    skipped = step.status == "skipped"
    lost = bool(failure) or (ended and not skipped and (step.status == "failed" or not result.candidates))
    return TracedTask(
        topic=request.step.topic,
        kind=step.kind,
        planned_query=step.planned_query if step.query != step.planned_query else "",
        strategy=request.strategy,
        strategy_reason=request.strategy_reason,
        search_mode=request.limits.search_mode or request.step.search_mode,
        expected_output=request.step.expected_output,
        is_reading=request.step.read_passage is not None,
        status="skipped" if skipped else "failed" if lost else "completed" if ended else "in_progress",
        note=failure or (step.note or "nothing was found" if lost or skipped else ""),
        queries=tuple(_query(query, found[query], judged) for query in dict.fromkeys((step.query, *result.queries))),
        steps=result.steps,
        answer=result.answer,
        positions=describe_positions(result.positions),
    )


def _query(query: str, found: int, judged: AnalysisReply | None) -> TracedQuery:
    if judged is None:
        return TracedQuery(query=query, found=found)
    accepted = sum(finding.query == query for finding in judged.accepted)
    no = next((rejection for rejection in judged.rejected if rejection.query == query), Rejection(query=query))
    return TracedQuery(
        query=query,
        found=found,
        judged=True,
        accepted=accepted,
        irrelevant=no.irrelevant,
        known=no.known,
        elsewhere=max(0, found - accepted - no.irrelevant - no.known),
    )


def _sections(recorded_events: Sequence[RecordedEvent]) -> Iterator[TracedSection]:
    """Yield the sections of every version of the report: the written ones, and then those after each review."""
    for generation, call in enumerate(_list_versions(recorded_events), 1):
        review = _read_output(call, ReportReview) if call.name == "report_reviewer" else None
        text = review.text if review else _read_output(call, ReportText)
        requests = _read_input(call, ReportReviewerInput).requests if review else ()
        for heading, draft in text.sections.items():
            yield TracedSection(
                topic=heading,
                generation=generation,
                critiques=requests,
                reviews=tuple(_read_verdicts(review, heading)) if review else (),
                claims=len(draft.claims),
                sources=len({citation.source for claim in draft.claims for citation in claim.citations}),
            )


def _read_verdicts(review: ReportReview, heading: str) -> Iterator[TracedReview]:
    for verdict in review.verdicts:
        if verdict.heading.casefold() == heading.casefold():
            yield TracedReview(action=verdict.action, critique=verdict.critique)


def _list_versions(recorded_events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    """Return the calls that wrote or reviewed the report."""
    roles = ("report_writer", "report_reviewer")
    return [call for call in recorded_events if call.kind == "call" and call.name in roles and call.result]


def _thoughts(recorded_events: Sequence[RecordedEvent]) -> Iterator[TracedThought]:
    """Yield the outcome of every call of the reasoner."""
    for call in recorded_events:
        if call.kind == "call" and call.result and call.name == "reasoner":
            yield TracedThought(role=call.name, summary=_line(call.result["output"]))


def _line(output: Any) -> str:
    line = Reasoning.model_validate(output)
    steps = len(line.steps) + bool(line.conclusion)
    answer = f"; answer “{line.answer}”" if line.answer else ""
    how = line.strategy.replace("_", " ")
    rejected = "".join(f"; not followed “{one.text}” ({one.score:.2f})" for one in line.rejected)
    searches = f"; searches {', '.join(f'“{query}”' for query in line.queries)}" if line.queries else ""
    return f"{how}: {f'{steps} steps{answer}' if steps else 'nothing to say'}{rejected}{searches}"


def _attempts(coding: RecordedHistory) -> tuple[Attempt, ...]:
    """Return the programs that were tested, each with the lessons learned from it."""
    reported = list(_updates(coding.recorded_events))
    if coding.result and coding.result.get("progress"):
        reported.append(ProgressUpdate.model_validate(coding.result["progress"]))
    return tuple({update.attempt.n: update.attempt for update in reported if update.attempt}.values())


def _reflections(recorded_events: Sequence[RecordedEvent]) -> Iterator[TracedReflection]:
    """Yield the searches, the considerations and the verdict of each review."""
    for generation, call in enumerate(_calls(recorded_events, "report_reviewer"), 1):
        review = _read_output(call, ReportReview) if call.result else None
        if review is None:
            continue
        searches = (Critique(critique=describe_search(query), query=query) for query in review.queries)
        yield TracedReflection(
            generation=generation,
            critiques=tuple(searches),
            further_considerations=review.considerations,
            evaluation=review.evaluation,
            contradictions=tuple(f"“{one.a.quote}” – “{one.b.quote}”" for one in review.contradictions),
        )
