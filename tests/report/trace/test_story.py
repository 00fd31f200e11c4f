"""Test the trace of a run built from the records that it has written."""

from pathlib import Path

from tenure.contracts.research.trace import RecordedResult, RunHead, Story, TracedPlan
from tenure.contracts.run.run import FeedbackRecord
from tenure.report.trace import html, markdown, story, timeline
from tenure.report.trace.markdown import render_trace
from tenure.report.trace.story import build_trace
from tenure.roles.registry import list_role_names
from tests.report.samples import full
from tests.report.traces import EXAMPLE, HEAD, STEPS, STORY
from workflows.runtime.activity_options import ACTIVITY_OPTIONS


def test_a_plan_has_its_last_steps_and_its_tasks_in_their_order() -> None:
    """A plan that is recorded again replaces the first record, and tasks follow the steps of the plan."""
    (plan,) = EXAMPLE.cycles[0].plans

    assert (plan.critique, plan.added, plan.steps) == ("It is early.", ("Wine",), STEPS)
    assert [task.step for task in plan.tasks] == ["a", "b"]


def test_each_query_counts_its_passages() -> None:
    """Every found passage is accepted, rejected with a reason, or counted for another query."""
    first, second = [task.queries[0] for task in EXAMPLE.cycles[0].plans[0].tasks]

    assert (first.judged, first.found, first.accepted, first.elsewhere) == (True, 1, 1, 0)
    assert (second.found, second.accepted, second.irrelevant, second.known, second.elsewhere) == (4, 1, 1, 1, 1)


def test_passages_before_the_first_plan_belong_to_no_cycle() -> None:
    """Findings for the whole question come before the first cycle."""
    assert [found.query for found in EXAMPLE.initial_findings] == ["Why?"]
    assert [cycle.number for cycle in EXAMPLE.cycles] == [1, 2]


def test_the_first_plan_after_a_cycle_decides_on_it() -> None:
    """Of two plans of the next cycle, the first one judges the cycle; the last cycle has no decision yet."""
    first, second = EXAMPLE.cycles

    assert first.decision and (first.decision.continues, first.decision.reasoning) == (True, "Mould is missing.")
    assert (first.gain, first.coverage["Cheese"], first.latent_topics) == (0.25, 0.25, ("Wine",))
    assert second.decision is None and second.gain is None
    assert [plan.number for plan in second.plans] == [1, 2] and "Replanned at" in render_trace(EXAMPLE)


def test_calls_are_in_the_order_of_their_start() -> None:
    """A run receives the records of its parts later than its own."""
    assert [call.name for call in EXAMPLE.calls] == ["router", "searcher", "report_writer"]


def test_a_result_replaces_what_is_known_before() -> None:
    """Feedback with outcomes, notes and decisions of a result are those of the trace."""
    result = RecordedResult(
        **{**dict(full()), "feedback": (FeedbackRecord(text="Mould!", at="t", outcome="done"),)}, story=STORY
    )
    trace = build_trace(HEAD, result.story, result)

    assert (trace.notes, trace.decisions) == (result.notes, result.decisions)
    assert [said.outcome for said in trace.feedback] == ["done"]
    assert EXAMPLE.notes == ("It was noted.",) and EXAMPLE.feedback[0].outcome == "received"


def test_every_part_of_the_story_is_rendered() -> None:
    """The Markdown has the outline, the reasoning, the review and the failed call."""
    text = render_trace(EXAMPLE)

    assert "First outline: “Bread”, “Cheese”." in text and "## Reasoning\n\n- chain: 2 steps" in text
    assert "## Criticism of generation 1\n\n- Find more on mould." in text and "Compare ovens." in text
    assert "## Failed calls\n\n- report writer: no answer" in text
    assert "2 later records of the run are not kept." in render_trace(EXAMPLE.model_copy(update={"omitted": 2}))


def test_a_run_without_records_has_a_trace() -> None:
    """A run that has just started has an opening alone."""
    started = RunHead(id="r", question="Why?", started_at="t0", status="running")

    assert render_trace(build_trace(started, Story(), None)) == "# Trace of r\n\nWhy?\n\nStatus running, started t0.\n"


def test_records_are_read_back_as_their_types() -> None:
    """The union of records survives JSON, by the type in each record."""
    assert Story.model_validate_json(STORY.model_dump_json()) == STORY
    assert any(isinstance(record, TracedPlan) for record in Story.model_validate_json(STORY.model_dump_json()).records)


def test_the_trace_names_no_role_and_no_activity() -> None:
    """A role or an activity may be renamed without a change of the trace."""
    code = "".join(Path(module.__file__ or "").read_text() for module in (html, markdown, story, timeline))
    others = {*markdown.STRATEGY_DESCRIPTIONS, *markdown.TOOL_DESCRIPTIONS}  # `react` is a strategy, for instance
    named = {name for name in (*list_role_names(), *ACTIVITY_OPTIONS) if f'"{name}"' in code}

    assert named <= others
