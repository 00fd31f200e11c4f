"""Steps of a plan that use the results of earlier steps: names, tools, alternatives, and steps that are not needed."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.report.trace.markdown import render_trace
from tests.conftest import Serving
from tests.report.traces import trace_run
from tests.support.tiers import slow
from tests.support.worlds import (
    FINISH,
    Line,
    MemoryKnowledge,
    ScriptedChat,
    Source,
    in_turn,
    plans,
    says,
    search,
    story,
)
from workflows.run.agent import AgentWorkflow

PATIENCE = 100
LIBRARY = {
    "dune": Source(uri="library/dune.md", title="Dune", text="Frank Herbert wrote Dune after years of reading."),
    "herbert": Source(
        uri="library/herbert.md", title="Herbert", text="Frank Herbert was born in Tacoma near the sea in 1920."
    ),
    "tokyo": Source(
        uri="library/tokyo.md", title="Tokyo", text="Tokyo has a population of 37.4 million people in its region."
    ),
    "osaka": Source(
        uri="library/osaka.md", title="Osaka", text="Osaka has a population of 18.7 million people in its region."
    ),
}
RATIO = "How many times larger is the population of Tokyo than that of Osaka?"
AUTHOR = "Where was that author born?"


def build_request(question: str, **limits: Any) -> RunRequest:
    bounds = RunLimits(min_relevance=0.05, max_report_revisions=0, effort="complex", max_cycles=2)
    return RunRequest(question=question, corpora=("library",), limits=bounds.model_copy(update=limits))


async def run_plan(
    serving: Serving, *planned: dict[str, Any], question: str = "Who wrote Dune?", **others: Any
) -> tuple[str, MemoryKnowledge, str]:
    """Run one plan after the other; return the trace, the searches, and the steps as JSON lines."""
    knowledge, limits = MemoryKnowledge(dict(LIBRARY)), others.pop("limits", {})
    lines: dict[str, Line] = {"planner": in_turn(*planned, FINISH), **others}
    chat = ScriptedChat(story(**lines))
    async with serving(chat, knowledge) as stage:
        run = await stage.start(build_request(question, **limits))
        await asyncio.wait_for(run.result(), PATIENCE)
        progress = await run.query(AgentWorkflow.progress)
        trace = await trace_run(stage.client, run.id)
    return render_trace(trace), knowledge, "\n".join(step.model_dump_json() for step in progress.steps)


async def test_a_name_that_was_found_goes_into_the_dependent_query(serving: Serving) -> None:
    """The name is searched for instead of the words that point to it, and the step says where it comes from."""
    plan = plans(search("Who wrote Dune?", id="a"), search(AUTHOR, id="b", depends_on=["a"]))
    prepared = says({"query": "Where was Frank Herbert born?", "names": ["Frank Herbert"], "answered_by": 0})
    trace, knowledge, shown = await run_plan(serving, plan, step_preparer=prepared)

    queries = [request.query for request in knowledge.searches]
    assert queries.index("Who wrote Dune?") < queries.index("Where was Frank Herbert born?")
    assert AUTHOR not in queries
    step = json.loads(shown.splitlines()[1])
    assert (step["status"], step["depends_on"]) == ("completed", ["a"])
    assert step["inserted"] == ["Frank Herbert (from “Dune”)"]
    inserted = "after a, with Frank Herbert (from “Dune”): completed"
    assert f"- b search “Where was Frank Herbert born?”, {inserted}" in trace
    assert "**Not executed**" not in trace


@slow
@pytest.mark.parametrize("name", ["Brian Herbert", ""])
async def test_a_name_that_no_passage_has_is_not_inserted(serving: Serving, name: str) -> None:
    """The query stays as planned, and the step says so."""
    plan = plans(search("Who wrote Dune?", id="a"), search(AUTHOR, id="b", depends_on=["a"]))
    query = f"Where was {name} born?" if name else AUTHOR
    prepared = says({"query": query, "names": [name] if name else [], "answered_by": 0})
    _, knowledge, shown = await run_plan(serving, plan, step_preparer=prepared)

    assert AUTHOR in [request.query for request in knowledge.searches]
    step = json.loads(shown.splitlines()[1])
    assert step["inserted"] == [] and "no name of the results of a fits: the query stays as planned" in step["note"]


@slow
async def test_a_step_that_the_results_answer_is_skipped(serving: Serving) -> None:
    """The dependent search is not made, the steps that depend on it still run, and the reason is displayed."""
    plan = plans(
        search("Who is Frank Herbert and what is Dune?", id="a"),
        search(AUTHOR, id="b", depends_on=["a"]),
        search("What lies near that town?", id="c", depends_on=["b"]),
    )
    prepared = in_turn(
        {"query": "Where was Frank Herbert born?", "names": ["Frank Herbert"], "answered_by": 1},
        {"query": "What lies near Tacoma?", "names": ["Tacoma"], "answered_by": 0},
    )
    trace, knowledge, shown = await run_plan(serving, plan, step_preparer=prepared, question="Where was he born?")

    queries = [request.query for request in knowledge.searches]
    assert "Where was Frank Herbert born?" not in queries and "What lies near Tacoma?" in queries
    states = [json.loads(line) for line in shown.splitlines()]
    assert [step["status"] for step in states] == ["completed", "skipped", "completed"]
    assert "the results of a suffice" in states[1]["note"]
    assert "skipped, the results of a suffice" in trace and "failed" not in trace.partition("## Cycle 2")[0]


@slow
async def test_figures_of_earlier_steps_are_calculated(serving: Serving) -> None:
    """The operands come from the passages of the earlier steps, and the result names their sources."""
    plan = plans(
        search("What is the population of Tokyo?", id="a"),
        search("What is the population of Osaka?", id="b"),
        {"action": "CALCULATE", "query": RATIO, "id": "c", "depends_on": ["a", "b"]},
    )

    async def write(prompt: str) -> dict[str, Any]:
        tokyo_first = prompt.index("Tokyo has a population") < prompt.index("Osaka has a population")
        tokyo, osaka = (1, 2) if tokyo_first else (2, 1)
        operands = [
            {"label": "Tokyo", "figure": "37.4 million", "passage": tokyo},
            {"label": "Osaka", "figure": "18.7 million", "passage": osaka},
        ]
        return {"expression": "37.4 / 18.7", "operands": operands}

    trace, knowledge, shown = await run_plan(serving, plan, calculation_writer=write, question=RATIO)

    step = json.loads(shown.splitlines()[2])
    assert (step["kind"], step["status"]) == ("calculate", "completed")
    assert "(calculated from figures of earlier steps): 1 found" in trace
    stored = [source for name, source in knowledge.documents.items() if name not in LIBRARY]
    assert any("Tokyo: 37.4 million in “Tokyo”, Osaka: 18.7 million in “Osaka”" in source.text for source in stored)


@slow
@pytest.mark.parametrize(
    ("kind", "needed", "documents"), [("compare", ["a", "b"], 2), ("analyze", ["b"], 1)], ids=["compare", "analyze"]
)
async def test_documents_of_steps_are_read(serving: Serving, kind: str, needed: Sequence[str], documents: int) -> None:
    """A comparison reads the documents of two steps; an analysis asks the one that its step found."""
    plan = plans(
        search("What is Tokyo?", id="a"),
        search("What is Osaka?", id="b"),
        {"action": kind.upper(), "query": "population", "id": "c", "depends_on": needed},
    )
    _, knowledge, shown = await run_plan(serving, plan, question="Compare Tokyo and Osaka")

    inside = {request.sources for request in knowledge.searches if request.sources and request.query == "population"}
    assert len(inside) == documents
    assert [json.loads(line)["kind"] for line in shown.splitlines()] == ["search", "search", kind]


@slow
async def test_an_alternative_is_tried_once(serving: Serving) -> None:
    """A search that finds nothing is replaced by its alternative; steps that depend on it use what that finds."""
    plan = plans(
        search("Zzz qqq xxx", id="a", strategy="direct", alternative="Who wrote Dune?"),
        search(AUTHOR, id="b", depends_on=["a"]),
    )
    prepared = says({"query": "Where was Frank Herbert born?", "names": ["Frank Herbert"], "answered_by": 0})
    _, knowledge, shown = await run_plan(
        serving,
        plan,
        step_preparer=prepared,
        limits={"min_relevance": 0.2},
        question="Tell me of Frank Herbert and Dune",
    )

    queries = [request.query for request in knowledge.searches]
    assert queries.count("Who wrote Dune?") == 1 and "Where was Frank Herbert born?" in queries
    first = json.loads(shown.splitlines()[0])
    assert first["status"] == "completed" and "its alternative was searched" in first["note"]


@slow
async def test_an_unknown_strategy_is_ignored(serving: Serving) -> None:
    """A plan whose strategies do not exist is carried out as if it named none."""
    step = search("Zzz qqq xxx", id="a", strategy="guesswork", alternative="Who wrote Dune?")
    _, knowledge, shown = await run_plan(
        serving, plans(step | {"alternative_strategy": "luck"}), limits={"min_relevance": 0.2}
    )

    assert "Who wrote Dune?" in [request.query for request in knowledge.searches]
    assert json.loads(shown.splitlines()[0])["status"] == "completed"


@slow
@pytest.mark.parametrize("bound", [0, 2])
async def test_replanning_is_bounded_by_a_limit(serving: Serving, bound: int) -> None:
    """A plan without a valid step is made again as often as the limit of the run allows."""
    empty = plans(search("", id="a"))
    chat = ScriptedChat(story(planner=says(empty)))
    async with serving(chat, MemoryKnowledge(dict(LIBRARY))) as stage:
        run = await stage.start(build_request("Who wrote Dune?", max_replans=bound, max_cycles=1))
        await asyncio.wait_for(run.result(), PATIENCE)

    assert chat.count("planner") == 1 + bound
