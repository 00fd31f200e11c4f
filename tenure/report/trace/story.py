"""The trace of a run told from its histories: pure, so that any recorded history tells its story again.

Only what a story needs is read of a recorded argument or result, and what an older worker has not
written counts as not said.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise, takewhile
from typing import Any, TypeVar

from pydantic import ValidationError

from tenure.algorithms.coding import programs
from tenure.contracts.base import Contract
from tenure.contracts.evidence.passages import SynthesisDraft
from tenure.contracts.evidence.reasoning import Hop, Reasoning, Thoughts
from tenure.contracts.knowledge.memory import RememberRequest
from tenure.contracts.research.learning import Experience
from tenure.contracts.research.report import Critique, ProgressUpdate, SectionRequest, SectionResult
from tenure.contracts.research.spiral import (
    Analysis,
    AnalysisRequest,
    Finding,
    PlannedAction,
    Reflection,
    Rejection,
    SpiralRequest,
    SpiralResult,
    SubagentRequest,
    SubagentResult,
)
from tenure.contracts.research.trace import (
    Happening,
    History,
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
    Word,
)
from tenure.contracts.result.programs import Attempt
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Complexity, Feedback, Handled, RunRequest, TaskMode
from tenure.contracts.sandbox import Outcome

C = TypeVar("C", bound=Contract)

WORDS = ("outline", "budget", "approve", "answer", "pause", "resume", "finish", "cancel")
"""What people say beside feedback."""


class _Heading(Contract):
    heading: str = ""


class _PlannerAsked(Contract):
    cycle: int = 0
    outline: tuple[_Heading, ...] = ()
    gain: float | None = None
    refused: tuple[str, ...] = ()
    feedback: tuple[str, ...] = ()


class _Planned(Contract):
    critique: str = ""
    thought: str = ""
    plan: tuple[PlannedAction, ...] = ()


class _SynthesizerAsked(Contract):
    resolve: bool = False


class _DeciderAsked(Contract):
    gains: tuple[float, ...] = ()


class _Decided(Contract):
    needs_more_research: bool = False
    reasoning: str = ""
    key_factors: tuple[str, ...] = ()


class _Named(Contract):
    topics: tuple[_Heading, ...] = ()


class _Routed(Contract):
    mode: TaskMode = "UNDEFINED"
    complexity: Complexity | None = None


class _Judged(Contract):
    score: float = 0.0


class _Scores(Contract):
    scores: tuple[_Judged, ...] = ()


class _Failed(Contract):
    problem: str = ""


class _AnalystAsked(Contract):
    wanted: str = ""
    failed: tuple[_Failed, ...] = ()


class _Programmed(Contract):
    shows: str = ""
    inputs: tuple[str, ...] = ()
    code: str = ""


class _Reviewed(Contract):
    critique: str = ""
    action: str = ""
    query: str = ""


class _ReportCritique(Contract):
    topic: str = ""
    critique: str = ""
    query: str = ""


class _ReportSeen(Contract):
    critiques: tuple[_ReportCritique, ...] = ()
    further_considerations: tuple[str, ...] = ()


def story(histories: Sequence[History]) -> Trace:
    """Tell the story of a run.

    Args:
        histories: of the run, which comes first, and of the workflows it has started.
    """
    run, *others = histories
    by_type = {history.type: history for history in others}
    reviews = {history.workflow: _reviews(history) for history in others if history.type == "SectionWorkflow"}
    coding = by_type.get("CodingWorkflow")
    research, spiral = by_type.get("ResearchWorkflow"), by_type.get("SpiralWorkflow")
    result = Result.model_validate(run.came) if run.came else None
    gathered = SpiralResult.model_validate(spiral.came) if spiral and spiral.came else SpiralResult(aims=())
    asked = SpiralRequest.model_validate(spiral.given) if spiral else None
    routed = _output(_last(run.happenings, "router"), _Routed)
    return Trace(
        id=run.workflow,
        question=RunRequest.model_validate(run.given).question,
        started=run.began,
        ended=run.ended,
        status=result.status if result else run.ending,
        failure=run.failure,
        mode=result.mode if result else routed.mode,
        complexity=routed.complexity,
        effort=asked.effort if asked else None,
        programs=tuple(_programs(run.happenings)),
        outline=tuple(topic.heading for topic in asked.outline) if asked else (),
        memory=_memory(run.happenings, asked),
        at_hand=_at_hand(spiral.happenings) if spiral else (),
        cycles=tuple(_cycles(spiral.happenings, gathered.gains)) if spiral else (),
        resolution=gathered.synthesis.resolution.text,
        thoughts=tuple(_thoughts(research.happenings)) if research else (),
        sections=tuple(_sections(research.happenings, reviews)) if research else (),
        reflections=tuple(_reflections(research.happenings)) if research else (),
        attempts=_attempts(coding.happenings) if coding else (),
        web=result.web if result else None,
        feedback=result.feedback if result else _said(run.happenings),
        words=tuple(Word(at=h.at, signal=h.name) for h in run.happenings if h.kind == "heard" and h.name in WORDS),
        decisions=result.decisions if result else gathered.decisions,
        notes=result.notes if result else gathered.notes,
    )


def _input(happening: Happening, contract: type[C]) -> C:
    """Return what a role was asked."""
    return contract.model_validate(happening.given["input"])


def _output(happening: Happening | None, contract: type[C]) -> C:
    """Return what a role answered; what it says by default while it has not."""
    return contract.model_validate(happening.came["output"] if happening and happening.came else {})


def _calls(happenings: Sequence[Happening], name: str) -> list[Happening]:
    return [happening for happening in happenings if happening.kind == "call" and happening.name == name]


def _last(happenings: Sequence[Happening], name: str) -> Happening | None:
    """Return the last call of an activity that has ended well."""
    return next((call for call in reversed(_calls(happenings, name)) if call.came), None)


def _said(happenings: Sequence[Happening]) -> tuple[Handled, ...]:
    """Return the feedback of a run that has no result yet."""
    heard = [h for h in happenings if h.kind == "heard" and h.name == "feedback"]
    words = [(_feedback(h.given), h.at) for h in heard]
    return tuple(Handled(text=said.text, topic=said.topic, at=at) for said, at in words if said)


def _feedback(given: Any) -> Feedback | None:
    """Return what a person said; None where it was nothing that a run takes in."""
    try:
        return Feedback.model_validate({"text": given} if isinstance(given, str) else given)
    except ValidationError:
        return None


def _programs(happenings: Sequence[Happening]) -> Iterator[TracedProgram]:
    """Yield the programs that were to compute from tables; why one failed its writer was told the next time."""
    starts = [n for n, h in enumerate(happenings) if h.kind == "call" and h.name == "analyst"]
    parts = [happenings[start:end] for start, end in pairwise([*starts, len(happenings)])]
    asked = [_input(part[0], _AnalystAsked) for part in parts]
    for part, then, after in zip(parts, asked, [*asked[1:], None], strict=False):
        written = _output(part[0], _Programmed)
        ran = _last(part, "run_program")
        outcome = Outcome.model_validate(ran.came) if ran else None
        told = after.failed[-1].problem if after and after.failed else ""
        failures = programs.failures(outcome) if outcome else ()
        yield TracedProgram(
            wanted=then.wanted,
            shows=written.shows,
            inputs=written.inputs,
            code=written.code,
            printed=programs.shortened(outcome.stdout) if outcome else "",
            artifacts=tuple(made.name for made in outcome.artifacts) if outcome else (),
            problem=failures[0].error if failures else told,
        )


def _memory(happenings: Sequence[Happening], asked: SpiralRequest | None) -> TracedMemory | None:
    """Return what the run was reminded of and what it left; None where that is nothing."""
    left = asked.experience if asked else Experience()
    keeping = _last(happenings, "remember")
    kept = RememberRequest.model_validate(keeping.given).impressions if keeping else ()
    found = TracedMemory(
        related=left.related,
        passages=left.passages,
        queries=left.queries,
        advice=left.advice,
        facts=left.facts,
        kept=tuple(impression.text for impression in kept),
    )
    return None if found == TracedMemory() else found


def _at_hand(happenings: Sequence[Happening]) -> tuple[Finding, ...]:
    """Return what was accepted before the first question to the planner."""
    before = takewhile(lambda h: not (h.kind == "call" and h.name == "planner"), happenings)
    analysis = _last(tuple(before), "analyze")
    return Analysis.model_validate(analysis.came).accepted if analysis and analysis.came else ()


def _cycles(happenings: Sequence[Happening], gains: Sequence[float]) -> Iterator[TracedCycle]:
    """Yield the cycles; each begins with the first question to its planner."""
    starts = [n for n, h in enumerate(happenings) if h.kind == "call" and h.name == "planner"]
    parts = [happenings[start:end] for start, end in pairwise([*starts, len(happenings)])]
    asked = [_input(part[0], _PlannerAsked) for part in parts]
    later = [*asked[1:], None]
    for number, group in groupby(range(len(parts)), key=lambda n: asked[n].cycle):
        members = list(group)
        within = [happening for n in members for happening in parts[n]]
        analysis = _last(within, "analyze")
        judged = Analysis.model_validate(analysis.came) if analysis else None
        plans = [_plan(parts[n], asked[n], later[n], judged) for n in members]
        following = later[members[-1]]
        known = gains[number - 1] if len(gains) >= number else following.gain if following else None
        yield _cycle(number, within, plans, judged, known)


def _cycle(
    number: int,
    happenings: Sequence[Happening],
    plans: Sequence[TracedPlan],
    judged: Analysis | None,
    gain: float | None,
) -> TracedCycle:
    written = [h for h in happenings if h.name != "synthesizer" or not _input(h, _SynthesizerAsked).resolve]
    synthesis = _output(_last(written, "synthesizer"), SynthesisDraft)
    reflected, decider = _last(written, "synthesis_reflector"), _last(written, "decider")
    gains = _input(decider, _DeciderAsked).gains if decider else ()
    decided = _output(decider, _Decided)
    decision = TracedDecision(
        goes_on=decided.needs_more_research, reasoning=decided.reasoning, key_factors=decided.key_factors
    )
    return TracedCycle(
        number=number,
        plans=tuple(plans),
        accepted=judged.accepted if judged else (),
        coverage=_coverage(happenings),
        gain=gain if gain is not None else gains[-1] if gains else None,
        offered=tuple(topic.heading for topic in _output(_last(written, "topic_namer"), _Named).topics),
        situation=synthesis.situation.text,
        complication=synthesis.complication.text,
        reflection=_output(reflected, Reflection) if reflected else None,
        decision=decision if decider else None,
        failures=tuple(f"{h.name}: {h.failure}" for h in happenings if h.kind == "call" and h.failure),
    )


def _coverage(happenings: Sequence[Happening]) -> dict[str, float]:
    """Return what was reported of the topics after a cycle's findings were judged."""
    analyzed = False
    coverage: dict[str, float] = {}
    for happening in happenings:
        analyzed = analyzed or happening.name == "analyze"
        if analyzed and happening.kind == "told" and happening.name == "progressed":
            update = ProgressUpdate.model_validate(happening.given)
            coverage = {topic.topic: topic.coverage for topic in update.topics} or coverage
    return coverage


def _plan(
    part: Sequence[Happening], asked: _PlannerAsked, then: _PlannerAsked | None, judged: Analysis | None
) -> TracedPlan:
    """Tell what the planner said, and what was made of it; `then` is what it was told the next time."""
    planner = part[0]
    said = _output(planner, _Planned)
    before = [topic.heading for topic in asked.outline]
    after = _outline_after(part, then)
    tasks = tuple(_task(h, judged) for h in part if h.kind == "child" and h.name == "SubagentWorkflow")
    return TracedPlan(
        at=planner.at,
        heard=asked.feedback,
        critique=said.critique,
        thought=said.thought,
        actions=said.plan,
        refused=then.refused if then else (),
        left=_left(said.plan, tasks) if after is not None else (),
        added=tuple(heading for heading in after or () if heading not in before),
        dropped=tuple(heading for heading in before if after is not None and heading not in after),
        tasks=tasks,
        failure=planner.failure,
    )


def _left(actions: Sequence[PlannedAction], tasks: Sequence[TracedTask]) -> tuple[str, ...]:
    """Return the queries of a plan that no task has; a long one was shortened for its task."""
    made = [task.queries[0].query.rstrip("…") for task in tasks]
    wanted = [" ".join(action.query.split()) for action in actions if action.action in ("SEARCH", "READ")]
    return tuple(query for query in wanted if not any(query.startswith(known) for known in made))


def _outline_after(part: Sequence[Happening], then: _PlannerAsked | None) -> list[str] | None:
    """Return the outline with which the research went on; None where it has not yet."""
    analyses = _calls(part, "analyze")
    if analyses:
        return [aim.topic.heading for aim in AnalysisRequest.model_validate(analyses[0].given).aims]
    return [topic.heading for topic in then.outline] if then else None


def _task(child: Happening, judged: Analysis | None) -> TracedTask:
    request = SubagentRequest.model_validate(child.given)
    result = SubagentResult.model_validate(child.came) if child.came else SubagentResult(step=request.step.id)
    found = Counter(candidate.query for candidate in result.candidates)
    lost = bool(child.failure) or (child.over and not result.candidates)
    return TracedTask(
        topic=request.step.topic,
        strategy=request.strategy,
        why=request.why,
        expected=request.step.expected,
        reading=request.step.reads is not None,
        status="failed" if lost else "completed" if child.over else "in_progress",
        note=child.failure or ("nothing was found" if lost else ""),
        queries=tuple(
            _query(query, found[query], judged) for query in dict.fromkeys((request.step.query, *result.queries))
        ),
        steps=result.steps,
        answer=result.answer,
    )


def _query(query: str, found: int, judged: Analysis | None) -> TracedQuery:
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


def _reviews(section: History) -> tuple[TracedReview, ...]:
    reviewed = [_output(call, _Reviewed) for call in _calls(section.happenings, "section_reviewer") if call.came]
    return tuple(TracedReview(action=r.action, critique=r.critique, query=r.query) for r in reviewed)


def _sections(
    happenings: Sequence[Happening], reviews: Mapping[str, tuple[TracedReview, ...]]
) -> Iterator[TracedSection]:
    """Yield every section that was begun; a generation begins where the research reports its number."""
    generation = 1
    for happening in happenings:
        if happening.kind == "told" and happening.name == "progressed":
            generation = ProgressUpdate.model_validate(happening.given).revision or generation
        elif happening.kind == "child" and happening.name == "SectionWorkflow":
            yield _section(happening, generation, reviews.get(happening.workflow, ()))


def _section(child: Happening, generation: int, reviews: tuple[TracedReview, ...]) -> TracedSection:
    request = SectionRequest.model_validate(child.given)
    begun = TracedSection(
        topic=request.topic.heading,
        generation=generation,
        critiques=tuple(critique.critique for critique in request.critiques),
        reviews=reviews,
    )
    if not child.came:
        lost = {"status": "failed", "note": child.failure} if child.over else {}
        return begun.model_copy(update=lost)
    result = SectionResult.model_validate(child.came)
    cited = {citation.source for claim in result.draft.claims for citation in claim.citations}
    return begun.model_copy(
        update={
            "status": result.phase,
            "claims": len(result.draft.claims),
            "sources": len(cited),
            "coverage": result.coverage,
            "note": result.note,
        }
    )


def _thoughts(happenings: Sequence[Happening]) -> Iterator[TracedThought]:
    """Yield what came of every call that thought about what was found."""
    for call in happenings:
        if call.kind == "call" and call.came and call.name in THINKERS:
            yield TracedThought(role=call.name, said=THINKERS[call.name](call.came["output"]))


def _line(output: Any) -> str:
    line = Reasoning.model_validate(output)
    steps = len(line.steps) + bool(line.conclusion)
    answer = f"; answer “{line.answer}”" if line.answer else ""
    how = line.strategy.replace("_", " ")
    return f"{how}: {steps} steps, confidence {line.confidence:.0%}{answer}" if steps else f"{how}: nothing to say"


def _hop(output: Any) -> str:
    hop = Hop.model_validate(output)
    fact = f"found “{hop.fact.text}”" if hop.fact else "found nothing"
    return f"{fact}; next “{hop.next_question}”" if hop.next_question and not hop.complete else fact


def _proposed(output: Any) -> str:
    texts = [f"“{one.claim.text}”" for one in Thoughts.model_validate(output).thoughts]
    return f"proposed {'; '.join(texts)}" if texts else "proposed nothing"


def _scored(output: Any) -> str:
    return "scores " + ", ".join(f"{one.score:.2f}" for one in _Scores.model_validate(output).scores)


THINKERS: Mapping[str, Callable[[Any], str]] = {
    "reasoner": _line,
    "hop_reasoner": _hop,
    "thought_proposer": _proposed,
    "thought_evaluator": _scored,
}
"""How the answers of the roles that think about what was found are told."""


def _attempts(happenings: Sequence[Happening]) -> tuple[Attempt, ...]:
    """Return the programs that were tried, each as it was told of last: with what was learned from it."""
    told = [ProgressUpdate.model_validate(h.given) for h in happenings if h.kind == "told" and h.name == "progressed"]
    return tuple({update.attempt.n: update.attempt for update in told if update.attempt}.values())


def _reflections(happenings: Sequence[Happening]) -> Iterator[TracedReflection]:
    for generation, call in enumerate(_calls(happenings, "report_reflector"), 1):
        seen = _output(call, _ReportSeen)
        yield TracedReflection(
            generation=generation,
            critiques=tuple(
                Critique(topic=c.topic or None, critique=c.critique, query=c.query) for c in seen.critiques
            ),
            further_considerations=seen.further_considerations,
        )
