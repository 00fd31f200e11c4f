"""Test the Markdown of a trace."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.cycle import Finding, PlannedAction, ResearchEffort
from tenure.contracts.research.learning import InheritedPassage, KnownFact, RelatedRun
from tenure.contracts.research.trace import (
    ControlRecord,
    Trace,
    TracedAction,
    TracedAnswer,
    TracedCycle,
    TracedDecision,
    TracedMemory,
    TracedPlan,
    TracedQuery,
    TracedReflection,
    TracedReview,
    TracedSection,
    TracedTask,
    TracedTestRun,
    TracedVerification,
)
from tenure.contracts.run.run import FeedbackRecord, StepProgress
from tenure.report.trace.markdown import render_trace

FINDING = Finding(
    topic="Causes",
    query="why",
    passage=PassageRef(chunk=ChunkId("c"), source=SourceId("s"), score=1, relevance=0.5),
    novelty=1,
)
SEARCH = PlannedAction(
    id="s1",
    action="SEARCH",
    query="why",
    target_outline_topic="Causes",
    passage=0,
    depends_on=("s0",),
    expected_output="a cause",
)
TASKS = (
    TracedTask(
        cycle=1,
        plan=1,
        step="a",
        topic="Causes",
        strategy="multi_hop",
        status="completed",
        queries=(
            TracedQuery(query="why", found=5, judged=True, accepted=1, irrelevant=2, known=1, elsewhere=1),
            TracedQuery(query="who", found=2),
        ),
    ),
    TracedTask(
        cycle=1,
        plan=1,
        step="a",
        topic="Causes",
        strategy="direct",
        is_reading=True,
        queries=(TracedQuery(query="more"),),
    ),
    TracedTask(
        cycle=1,
        plan=1,
        step="a",
        topic="Causes",
        strategy="direct",
        status="failed",
        note="nothing was found",
        queries=(TracedQuery(query="x"),),
    ),
)
CYCLE = TracedCycle(
    number=1,
    plans=(
        TracedPlan(
            number=1,
            cycle=1,
            at="t1",
            feedback=("Look at costs",),
            critique="Too little.",
            actions=(SEARCH,),
            refused=("“old” was not searched: it was searched before",),
            tasks=TASKS,
        ),
        TracedPlan(number=2, cycle=1, at="t2"),
    ),
    accepted=(FINDING,),
    coverage={"Causes": 0.5},
    gain=0.25,
    latent_topics=("Effects",),
    decision=TracedDecision(
        cycle=1,
        continues=True,
        reasoning="Causes are missing.",
        situation="It is so.",
        complication="It was not.",
        missing=("Causes: open – the first one",),
    ),
)
TRACE = Trace(
    id="r",
    question="Why? <b>",
    started_at="t0",
    status="failed",
    failure="no credit",
    mode="RESEARCH",
    complexity="simple",
    effort=ResearchEffort(cycles=1, subagents=2, hops=1, sections=2),
    outline=("Causes",),
    cycles=(CYCLE,),
    sections=(
        TracedSection(topic="Causes", generation=1, reviews=(TracedReview(action="SEARCH", critique="Thin."),)),
        TracedSection(topic="Causes", generation=2, claims=2, sources=1),
    ),
    reflections=(TracedReflection(generation=1, critiques=("Thin.", "Gap.")),),
    feedback=(FeedbackRecord(text="Look at costs", topic="Causes", at="t3"),),
    commands=(ControlRecord(at="t2", signal="pause"),),
)
TEXT = render_trace(TRACE)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "Routed to RESEARCH as simple."),
        ({"complexity": None}, "Mode RESEARCH, without a call of the router."),
        ({"complexity": None, "mode": "UNDEFINED"}, ""),
    ],
)
def test_the_opening_tells_who_chose_the_mode(changes: dict[str, Any], line: str) -> None:
    """A run that no router has read has its mode by a rule, by request, or from the run that it continues."""
    opening = render_trace(TRACE.model_copy(update=changes)).split("\n\n## ")[0]

    assert [part for part in opening.split("\n\n") if "RESEARCH" in part] == ([line] if line else [])


def test_a_cycle_reads_from_the_plan_to_the_decision() -> None:
    """The parts of a cycle are in the order in which they happened."""
    parts = [
        "Feedback",
        "Critique",
        "Plan",
        "Not executed",
        "Tasks",
        "Coverage",
        "Information gain",
        "Offered in addition to the outline",
        "Situation",
        "Complication",
        "Missing",
        "Decision",
    ]

    places = [TEXT.index(f"**{part}**") for part in parts]
    assert places == sorted(places)


def test_tasks_count_their_passages() -> None:
    """Accepted and rejected passages are counted with the reason; unassessed and failed ones are named."""
    assert (
        "- “why” for “Causes” (from hop to hop): 5 found, 1 accepted, 2 irrelevant, 1 already known, 1 found twice\n"
        in TEXT
    )
    assert "  - then “who”: 2 found, not assessed\n" in TEXT
    assert "- “more” for “Causes” (continued reading of one source): 0 found, not assessed\n" in TEXT
    assert "- “x” for “Causes”: failed, nothing was found" in TEXT


def test_figures_are_english() -> None:
    """One of a thing is singular, shares are in per cent."""
    assert "at most 1 cycle, with at most 2 tasks each" in TEXT
    assert "1 passage of 1 source accepted" in TEXT
    assert "“Causes” 50%" in TEXT


def test_generations_alternate_with_their_criticism() -> None:
    """The critique of a generation is between it and the next one."""
    places = [
        TEXT.index(f"## {h}") for h in ("Sections, generation 1", "Criticism of generation 1", "Sections, generation 2")
    ]

    assert places == sorted(places)
    assert "- “Causes”: 0 sentences, 0 sources\n  - review SEARCH: Thin." in TEXT
    assert "- “Causes”: 2 sentences, 1 source" in TEXT
    assert "- Thin.\n- Gap." in TEXT


def test_words_of_people_stand_in_order() -> None:
    """Feedback and what they asked for are one list by time."""
    assert "- t2 pause\n- t3 “Look at costs” on “Causes”: received" in TEXT


def test_foreign_text_does_nothing() -> None:
    """A question or a finding cannot set Markdown."""
    assert "Why? \\<b>" in TEXT


def test_a_run_without_research_has_no_empty_parts() -> None:
    """Phases that a run has not reached are left out."""
    short = render_trace(Trace(id="r", question="Why?", started_at="t0", status="running"))

    assert short == "# Trace of r\n\nWhy?\n\nStatus running, started t0.\n"


def test_recalled_memory_precedes_the_cycles() -> None:
    """Recalled runs are listed with the inherited passages, and a task with the reason for its strategy."""
    earlier = RelatedRun(
        run=RunId("old"), question="Why <then>?", ended_at=datetime(2026, 1, 1, tzinfo=UTC), relevance=0.813
    )
    memory = TracedMemory(
        related=(earlier,),
        passages=tuple(
            InheritedPassage(passage=FINDING.passage, query="why", run=RunId(run)) for run in ("old", "other")
        ),
        queries=("why then",),
        advice=("ask for causes",),
        facts=(KnownFact(text="Rye <is> sour.", run=RunId("other"), relevance=0.7, support=2),),
        kept=("It went well.",),
    )
    task = TracedTask(
        cycle=1,
        plan=1,
        step="a",
        topic="Causes",
        strategy="iterative",
        strategy_reason="it went well",
        queries=(TracedQuery(query="why"),),
    )
    cycle = TracedCycle(number=1, plans=(TracedPlan(number=1, cycle=1, at="t1", tasks=(task,)),))
    text = render_trace(
        Trace(id="r", question="Why?", started_at="t0", status="done", memory=memory, cycles=(cycle,), notes=("End.",))
    )

    parts = [text.index(f"## {heading}") for heading in ("Remembered", "Cycle 1", "Kept for later runs", "Notes")]
    assert parts == sorted(parts)
    assert "`old`, asked “Why \\<then>?” (relevance 0.81): 1 passage taken over." in text
    assert "**Queries already made**\n\n- why then" in text
    assert "**Advice**\n\n- ask for causes" in text
    assert "`other`, related by its findings: 1 passage taken over." in text
    assert "- Rye \\<is> sour. (`other`, from the web, relevance 0.70, 2 sources)" in text
    assert "(in several wordings; it went well)" in text


def test_a_contrastive_task_names_both_sides() -> None:
    """The number of passages for and against follows the queries of the task."""
    task = TracedTask(
        cycle=1,
        plan=1,
        step="a",
        topic="Causes",
        strategy="contrastive",
        queries=(TracedQuery(query="why"),),
        positions=("“Is *it*?”: 1 for, 2 against, 0 neutral",),
    )
    cycle = TracedCycle(number=1, plans=(TracedPlan(number=1, cycle=1, at="t1", tasks=(task,)),))
    text = render_trace(Trace(id="r", question="Why?", started_at="t0", status="done", cycles=(cycle,)))

    assert "  - passages for and against “Is \\*it\\*?”: 1 for, 2 against, 0 neutral" in text


def test_a_plan_shows_its_steps() -> None:
    """Steps have kind, dependencies and inserted names; tasks with a tool say so, and skipped ones have a reason."""
    steps = (
        StepProgress(id="a", query="Who?", status="completed"),
        StepProgress(id="b", kind="compare", query="price", depends_on=("a",), status="failed", note="one <document>"),
    )
    tasks = (
        TracedTask(
            cycle=1,
            plan=1,
            step="a",
            topic="Causes",
            kind="compare",
            strategy="direct",
            status="failed",
            note="one document",
            queries=(TracedQuery(query="price"),),
        ),
        TracedTask(
            cycle=1,
            plan=1,
            step="a",
            topic="Causes",
            strategy="direct",
            status="skipped",
            note="known",
            queries=(TracedQuery(query="when"),),
        ),
    )
    cycle = TracedCycle(number=1, plans=(TracedPlan(number=1, cycle=1, at="t1", steps=steps, tasks=tasks),))
    text = render_trace(Trace(id="r", question="Why?", started_at="t0", status="done", cycles=(cycle,)))

    assert "**Steps**\n\n- a search “Who?”: completed\n- b compare “price”, after a: failed (one \\<document>)" in text
    assert "- “price” for “Causes” (two documents were compared): failed, one document" in text
    assert "- “when” for “Causes”: skipped, known" in text


def test_the_work_in_a_repository_is_told_in_order() -> None:
    """Answers with actions, costs and the change so far; test runs with counts; verdicts."""
    at = "2026-01-01T10:00:05.000+00:00"
    answer = TracedAnswer(
        number=2,
        at=at,
        phase="change",
        thought="It is *wrong*.",
        actions=(
            TracedAction(action="edit src/a.py", outcome="lines 2-3, +2 -1"),
            TracedAction(action="run false", outcome="exit code 1", failed=True),
        ),
        tokens=1234,
        cost_usd=0.0125,
        files=("src/a.py",),
        added=2,
        removed=1,
    )
    tests = TracedTestRun(at=at, state="all tests, with the change", outcome="3 passed in 1 s")
    verdict = TracedVerification(number=1, at=at, outcome="proved: 1 fixed, 2 kept")
    trace = Trace(id="r", question="q", started_at=at, status="running", work=(answer, tests, verdict))
    text = render_trace(trace)
    assert (
        "**Answer 2** 2026-01-01T10:00:05+00:00 change, 1,234 tokens, 0.0125 USD\n\nIt is \\*wrong\\*.\n\n"
        "- `edit src/a.py`: lines 2-3, +2 -1\n- `run false` failed: exit code 1\n"
        "- the change so far: `src/a.py`, +2 -1\n\n"
        "**Tests** 2026-01-01T10:00:05+00:00 all tests, with the change: 3 passed in 1 s\n\n"
        "**Verification 1** 2026-01-01T10:00:05+00:00 proved: 1 fixed, 2 kept"
    ) in text
