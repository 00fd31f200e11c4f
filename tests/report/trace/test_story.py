"""Test the trace of a run built from recorded histories."""

from typing import Any

import pytest
from pydantic import BaseModel

from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep, RejectedThought
from tenure.contracts.research.report import ReportPart, ReportReview, ReportText, SectionVerdict
from tenure.contracts.research.trace import RecordedEvent, RecordedHistory, Trace
from tenure.contracts.result.result import EvaluatedPart, Evaluation
from tenure.contracts.run.run import RunRequest
from tenure.report.trace.markdown import render_trace
from tenure.report.trace.story import build_trace
from tenure.roles.writing import report_reviewer
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.histories import collect_events
from tests.histories.facts import get_type
from tests.histories.recorded import PARTS, events, told
from tests.histories.storage import get_name, list_recordings, read_events, read_version
from tests.support.tiers import slow


async def cycles() -> Trace:
    """The story of the run that was recorded with two cycles of research."""
    return build_trace(await told("cycles"))


async def test_each_cycle_has_its_plan_and_tasks() -> None:
    """A plan has its rejected actions with the reasons, its outline changes and its tasks."""
    first, second = (await cycles()).cycles
    (plan,) = first.plans

    assert (plan.critique, [action.action for action in plan.actions]) == (
        "It is early.",
        ["SEARCH", "SEARCH", "SEARCH", "ADD_TO_OUTLINE"],
    )
    assert plan.refused == ("“How long does dough rise?” was not searched: it was searched before",)
    assert (plan.added, second.plans[0].dropped) == (("Wine",), ("Wine",))
    assert [task.queries[0].query for task in plan.tasks] == ["How long does the dough rise?", "Which milk curdles?"]


async def test_a_query_that_nobody_was_sent_for_has_a_reason() -> None:
    """The plan that ends the research reads what was refused in the last cycle."""
    last = (await cycles()).cycles[-1].plans[0]

    assert last.refused == ("“How long does dough rise?” was not searched: it was searched before",)
    assert last.unassigned == ("How long does dough rise?",)


async def test_each_query_counts_its_passages() -> None:
    """Every found passage is accepted, rejected with a reason, or counted for another query."""
    for cycle in (await cycles()).cycles:
        for query in [query for plan in cycle.plans for task in plan.tasks for query in task.queries]:
            assert query.judged
            assert query.found == query.accepted + query.irrelevant + query.known + query.elsewhere
        accepted = [query.accepted for plan in cycle.plans for task in plan.tasks for query in task.queries]
        assert sum(accepted) == len(cycle.accepted) > 0


async def test_what_was_at_hand_stands_before_the_first_cycle() -> None:
    """Findings for the whole question belong to no cycle."""
    trace = await cycles()

    (found,) = trace.initial_findings
    assert found.passage.chunk not in {f.passage.chunk for cycle in trace.cycles for f in cycle.accepted}


async def test_coverage_gain_and_decision_stand_with_their_cycle() -> None:
    """The figures after a cycle and the judgement of the next plan belong to it; an end is no cycle of its own."""
    first, second = (await cycles()).cycles

    assert (list(first.coverage), list(second.coverage)) == (["Bread", "Cheese", "Wine"], ["Bread", "Cheese"])
    assert first.coverage["Cheese"] == 0.0 < second.coverage["Cheese"]
    assert first.gain and second.gain
    assert first.decision and second.decision
    assert (first.decision.continues, first.decision.missing) == (True, ("Cheese: open – mould",))
    assert first.decision.reasoning == "Mould is missing."
    assert (second.decision.continues, second.decision.reasoning) == (False, "It is early.")


async def test_feedback_is_shown_with_the_next_plan() -> None:
    """Feedback has its time and outcome, and is shown with the plan that received it."""
    trace = await cycles()

    assert [cycle.plans[0].feedback for cycle in trace.cycles] == [(), ("Cheese: More on mould",)]
    (said,) = trace.feedback
    assert trace.started_at[:19] <= said.at[:19] <= trace.ended_at[:19]  # feedback has whole seconds
    assert "What does the mould of blue cheese need?" in said.outcome


def build_research(*calls: tuple[str, dict[str, Any], BaseModel | None]) -> Trace:
    """Return the trace of a run whose research has made these calls, each with its input and its output."""
    recorded = (
        RecordedEvent(
            kind="call",
            name=name,
            at="now",
            input={"input": given},
            result=None if output is None else {"output": output.model_dump(mode="json")},
        )
        for name, given, output in calls
    )
    given = RunRequest(question="Why?").model_dump(mode="json")
    run = RecordedHistory(workflow="r", type="AgentWorkflow", started_at="now", input=given)
    research = RecordedHistory(
        workflow="r/research", type="ResearchWorkflow", started_at="now", recorded_events=tuple(recorded)
    )
    return build_trace([run, research])


def test_sections_are_listed_by_version() -> None:
    """The sections of the writer come first, then those after each review, with its requests and its verdict."""
    claims = (Claim(text="Bread rises."), Claim(text="It is old."))
    text = ReportText(parts=(ReportPart(kind="section", heading="Bread", draft=Draft(blocks=(Block(claims=claims),))),))
    verdicts = (
        SectionVerdict(heading="bread", action="SEARCH", critique="No mould."),
        SectionVerdict(heading="X", action="NONE"),
    )
    review = ReportReview(
        text=text,
        queries=("mould",),
        verdicts=verdicts,
        considerations=("Compare ovens.",),
        evaluation=Evaluation(parts=(EvaluatedPart(part="its cost", answered="no"),), issues=("It is vague.",)),
    )
    asked = report_reviewer.ReportReviewerInput(question="Why?", parts=(), text=text, requests=("Too bold.",))
    trace = build_research(
        ("report_writer", {}, text),
        ("report_reviewer", asked.model_dump(mode="json"), review),
        ("report_reviewer", {}, None),
    )

    assert [(one.topic, one.generation, one.claims, one.critiques) for one in trace.sections] == [
        ("Bread", 1, 2, ()),
        ("Bread", 2, 2, ("Too bold.",)),
    ]
    assert [[(one.action, one.critique) for one in section.reviews] for section in trace.sections] == [
        [],
        [("SEARCH", "No mould.")],
    ]
    (seen,) = trace.reflections
    assert ([one.query for one in seen.critiques], seen.further_considerations) == (["mould"], ("Compare ovens.",))
    assert "Compare ovens." in render_trace(trace)
    assert "- its cost: no\n" in render_trace(trace) and "- It is vague.\n" in render_trace(trace)


async def test_words_of_people_are_told_with_their_time() -> None:
    """Pausing and resuming are part of the story."""
    trace = build_trace(await told("pause"))

    assert [word.signal for word in trace.commands] == ["pause", "resume"]


@pytest.mark.parametrize("way", ["cancel", "code", "cycles", "no_evidence", "offline", "revised", "unsupported"])
async def test_a_recorded_run_has_a_trace(way: str) -> None:
    """A recorded run has a trace with the status of its result, also as Markdown."""
    trace = build_trace(await told(way))

    assert trace.id == f"recorded-{way}"
    assert trace.status not in ("running", "completed")
    assert render_trace(trace).startswith(f"# Trace of recorded-{way}")


@slow
async def test_every_recorded_run_has_a_trace() -> None:
    """Every recording of a run has such a trace, whatever it contains."""
    started = {get_name(path): read_events(path)[0] for path in list_recordings(read_version())}
    runs = [name for name, run in started.items() if get_type(run) == "AgentWorkflow"]
    traces = {name: build_trace(await told(name)) for name in runs}

    assert len(traces) > 50
    assert [name for name, trace in traces.items() if trace.status in ("running", "completed")] == []
    assert all(render_trace(trace).startswith(f"# Trace of {trace.id}") for trace in traces.values())
    assert all(f"recorded-{name}" in trace.id for name, trace in traces.items())


@slow
@pytest.mark.parametrize("part", PARTS)
async def test_an_incomplete_history_has_a_trace(part: str) -> None:
    """A history cut after any event has a trace, and the run is running."""
    way = "code" if part == "/code" else "cycles"
    name = f"recorded-{way}{part}"
    whole = events(name)
    others = [history for history in await told(way) if history.workflow != name]
    if others[0].workflow == f"recorded-{way}":
        others[0] = others[0].model_copy(update={"result": None, "status": "running", "ended_at": ""})

    for length in range(1, len(whole)):
        cut = await collect_events(name, whole[:length], DATA_CONVERTER)
        trace = build_trace([*others[:1], cut, *others[1:]] if part else [cut, *others])
        assert trace.status == "running"
        assert render_trace(trace)


async def test_feedback_of_a_run_under_way_has_no_outcome_yet() -> None:
    """Before there is a result, what people said is read from the signals; a bare string will do."""
    run, *others = await told("cycles")
    heard = [h if h.name != "feedback" else h.model_copy(update={"input": "Mould!"}) for h in run.recorded_events]
    trace = build_trace([run.model_copy(update={"result": None, "recorded_events": tuple(heard)}), *others])

    assert [(said.text, said.outcome) for said in trace.feedback] == [("Mould!", "received")]
    assert build_trace([run.model_copy(update={"result": None})]).feedback[0].topic == "Cheese"
    garbage = [h if h.name != "feedback" else h.model_copy(update={"input": [4]}) for h in run.recorded_events]
    assert build_trace([run.model_copy(update={"result": None, "recorded_events": tuple(garbage)})]).feedback == ()


async def test_a_replanned_cycle_shares_its_judgement() -> None:
    """All plans of a cycle are listed, each with its tasks and their accepted passages; the last one ends it."""
    run, research, spiral, *sections = await told("cycles")
    judgement = next(h for h in spiral.recorded_events if h.name == "analyze_candidates")
    one_cycle = [_of_cycle_one(h) for h in spiral.recorded_events if h is not judgement]
    trace = build_trace([run, research, spiral.model_copy(update={"recorded_events": tuple(one_cycle)}), *sections])

    (cycle,) = trace.cycles
    assert [len(plan.tasks) for plan in cycle.plans] == [2, 1, 0]
    assert all(query.judged for plan in cycle.plans for task in plan.tasks for query in task.queries)
    assert "Replanned at" in render_trace(trace)


def _of_cycle_one(happening: RecordedEvent) -> RecordedEvent:
    """Return a call of the planner as one of the first cycle, and everything else as it is."""
    if happening.name != "planner":
        return happening
    asked = {**happening.input["input"], "cycle": 1}
    return happening.model_copy(update={"input": {**happening.input, "input": asked}})


async def test_attempts_have_lessons_and_changes() -> None:
    """The trace of a program has every attempt with its lesson, and the difference from the previous one."""
    trace = build_trace(await told("code"))
    text = render_trace(trace)

    assert [(attempt.n, attempt.error) for attempt in trace.attempts] == [(1, "test_right: no right"), (2, None)]
    assert trace.attempts[0].reflection and trace.attempts[0].reflection.change == "Make it right."
    assert "-NOTE = 'wrong'\n+NOTE = 'right'" in text


def test_every_reasoning_call_is_listed() -> None:
    """Lines of reasoning are listed in order, with rejected thoughts and searches; unanswered calls are not."""
    fact = Claim(text="Bread rises.")
    line = Reasoning(
        strategy="self_consistency", steps=(ReasoningStep(kind="hop", claim=fact),), answer="hours", confidence=0.5
    )
    rejected = RejectedThought(text="Bread is old.", score=0.2, reason="It is beside the point.")
    trace = build_research(
        ("reasoner", {}, line),
        ("reasoner", {}, Reasoning(strategy="multi_hop", queries=("Why?",))),
        ("reasoner", {}, Reasoning(strategy="tree", rejected=(rejected,))),
        ("reasoner", {}, None),
    )

    assert [one.summary for one in trace.thoughts] == [
        "self consistency: 1 steps; answer “hours”",
        "multi hop: nothing to say; searches “Why?”",
        "tree: nothing to say; not followed “Bread is old.” (0.20)",
    ]
    assert "## Reasoning\n\n- reasoner: self consistency: 1 steps" in render_trace(trace)
