"""Runs with a model do what their effort is worth: no turn that rules make as well, and no wait without a need."""

import asyncio
import re
from collections import Counter
from typing import Any

import pytest

from tenure.contracts.result.result import Result
from tenure.contracts.run.limits import EFFORT_COSTS
from tenure.contracts.run.run import RunLimits, RunMode, RunRequest
from tenure.models.usage import TokenUsage
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import (
    ENOUGH,
    FINISH,
    KITCHEN,
    Held,
    Line,
    MemoryKnowledge,
    Reply,
    Reticent,
    ScriptedChat,
    Source,
    in_turn,
    plans,
    says,
    search,
    sentences,
    story,
    synthesis,
)
from tests.workflows.run.test_agent import until
from workflows.research.section import MAX_NEW_PASSAGES

pytestmark = [slow, pytest.mark.timeout(120)]

QUESTION = "How are bread and cheese made?"
PATIENCE = 100
PASSAGE = re.compile(r'<passage n="(\d+)"[^>]*>\n(.*?)\n</passage>', re.DOTALL)
RESEARCH = (
    "router",
    "decomposer",
    "question_rewriter",
    "outliner",
    "hypothetical_document",
    "planner",
    "query_refiner",
    "topic_namer",
    "synthesizer",
    "decider",
    "reasoner",
    "report_reflector",
    "self_evaluator",
)
MORE = {**ENOUGH, "needs_more_research": True, "reasoning": "The oven is missing.", "key_factors": ["ovens"]}


def build_request(**limits: Any) -> RunRequest:
    bounds = RunLimits(min_relevance=0.05, max_section_revisions=0, has_model=True)
    return RunRequest(question=QUESTION, corpora=("kitchen",), limits=bounds.model_copy(update=limits))


async def run_to_end(serving: Serving, chat: ScriptedChat, request: RunRequest) -> Result:
    async with serving(chat, Reticent(KITCHEN, whole=QUESTION)) as stage:
        run = await stage.start(request)
        return await asyncio.wait_for(run.result(), PATIENCE)


def count_research_calls(chat: ScriptedChat) -> dict[str, int]:
    """Return the number of calls of every role that does not write or check text."""
    return dict(Counter(role for role, _ in chat.asked if role in RESEARCH))


async def test_a_simple_question_is_answered_directly(serving: Serving) -> None:
    """No model is asked before the text is written; the question is the only section and title."""
    chat = ScriptedChat(story())
    result = await run_to_end(serving, chat, build_request(effort="simple"))

    assert result.status == "done"
    assert count_research_calls(chat) == {}
    assert chat.count("title_writer") == 0 and len(result.sections) == 1
    assert 0 < result.usage.critical_path <= result.usage.model_calls
    assert result.fallbacks == ()


@pytest.mark.parametrize(
    ("question", "mode", "calls"),
    [("Bread and cheese, please", "auto", 1), ("Bread and cheese, please", "research", 0), (QUESTION, "auto", 0)],
)
async def test_a_direct_answer_is_routed_by_a_model_if_it_may_be_a_program(
    serving: Serving, question: str, mode: RunMode, calls: int
) -> None:
    """A request that is no plain question may ask for a program, which a person has not excluded."""
    chat = ScriptedChat(story())
    request = build_request(effort="simple").model_copy(update={"question": question, "mode": mode})
    result = await run_to_end(serving, chat, request)

    assert result.mode == "RESEARCH" and chat.count("router") == calls


@pytest.mark.parametrize(("passages", "is_repeated"), [(13, False), (40, True)])
async def test_a_direct_answer_repeats_no_search(serving: Serving, passages: int, is_repeated: bool) -> None:
    """Its section searches for the question again only if it may have more passages than the run has retrieved."""
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(ScriptedChat(story()), knowledge) as stage:
        request = build_request(effort="simple", passages_per_section=passages)
        await (await stage.start(request)).result()

    assert any(search.k == passages for search in knowledge.searches) is is_repeated


async def test_a_simple_report_says_its_answer_once(serving: Serving) -> None:
    """The opening of the only section is the abstract, without a call, and no rule judges what is answered."""
    said = ("Bread and cheese both take time.", "Both are old.")
    block = {"kind": "paragraph", "sentences": [{"text": text, "passages": [1]} for text in said]}
    chat = ScriptedChat(story(section_writer=says({"blocks": [block]})))
    result = await run_to_end(serving, chat, build_request(effort="simple"))
    (section,) = result.sections

    assert chat.count("abstract_writer") == 0
    assert result.abstract_claims and result.abstract_claims[0].text not in section.markdown
    assert result.evaluation is None


async def test_a_gap_that_a_section_answers_is_left_out(serving: Serving) -> None:
    """The synthesis is older than the sections; the writer of the abstract names the gaps that they close."""
    gaps = [{"text": f"How {name} ages is open.", "passages": [], "kind": "gap"} for name in ("bread", "cheese")]
    abstract = {**sentences(("Both take time.", 1)), "closed_points": [1]}
    told = story(synthesizer=says({**synthesis("Bread rises."), "gaps": gaps}), abstract_writer=says(abstract))
    chat = ScriptedChat(told)
    result = await run_to_end(serving, chat, build_request(effort="moderate"))

    prompt = next(prompt for role, prompt in chat.asked if role == "abstract_writer")
    assert "1. How bread ages is open.\n2. How cheese ages is open." in prompt
    assert result.synthesis is not None
    assert "How cheese ages is open." in result.synthesis.gaps and "bread ages" not in result.synthesis.gaps


async def test_a_gap_is_searched_for_before_it_is_printed(serving: Serving) -> None:
    """The writer of the abstract sees what a search for each gap has found, and answers gaps and empty cells."""
    gap = {"text": "The findings do not say whether patience matters.", "passages": [], "kind": "gap"}
    cell = {"text": "–", "passages": [], "kind": "gap"}
    closing = {
        "gaps": [gap],
        "gap_queries": ["how long the dough of bread rises"],
        "columns": ["Oven"],
        "rows": [{"label": "Bread", "cells": [cell]}],
    }
    rising = "The baker lets the dough of the bread rise for two hours before the oven is hot."
    told = story(synthesizer=says({**synthesis("Bread rises."), **closing}), abstract_writer=answer_points(rising))
    chat = ScriptedChat(told)
    result = await run_to_end(serving, chat, build_request(effort="moderate"))

    prompt = next(prompt for role, prompt in chat.asked if role == "abstract_writer")
    assert rising in prompt and "2. Empty cell: Bread – Oven" in prompt
    assert result.synthesis is not None
    assert result.synthesis.gaps == "" and "hot" in result.synthesis.comparison
    assert rising in result.sections[0].markdown


def answer_points(gap: str) -> Line:
    """Write an abstract that answers a gap and an empty cell from the passages that say so."""

    async def write(prompt: str) -> Reply:
        passage = next(int(number) for number, text in PASSAGE.findall(prompt) if gap in text)
        answers = [
            {"point": 1, "section": 1, "text": gap, "passages": [passage]},
            {"point": 2, "section": 0, "text": "hot", "passages": [passage]},
        ]
        return {**sentences(("Both take time.", 1)), "answers": answers}

    return write


async def test_the_abstract_is_written_from_the_sections(serving: Serving) -> None:
    """A model that says only what the checked sections say is shown no passage."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(dict(KITCHEN))) as stage:
        run = await stage.start(build_request(effort="moderate"))
        await asyncio.wait_for(run.result(), PATIENCE)
    shown = {role: prompt.count("<passage n=") for role, prompt in chat.asked}

    assert shown["abstract_writer"] == 0 < shown["section_writer"]


async def test_a_moderate_question_has_one_plan_and_one_synthesis(serving: Serving) -> None:
    """Rules plan the first cycle, the model the second; the synthesis is written once, at the end."""
    chat = ScriptedChat(story(planner=says(plans(search("Which mould is in blue cheese?", "Cheese")))))
    result = await run_to_end(serving, chat, build_request(effort="moderate"))
    asked = count_research_calls(chat)

    assert asked.pop("query_refiner", 0) <= 3
    assert asked == {"router": 1, "outliner": 1, "hypothetical_document": 1, "planner": 1, "synthesizer": 1}
    planner = next(prompt for role, prompt in chat.asked if role == "planner")
    assert "Plan cycle 2 of at most 2" in planner and "Found on “Bread”:" in planner
    assert "write resolution, gaps" in next(prompt for role, prompt in chat.asked if role == "synthesizer")
    assert result.decisions[-1] == "Ended after 1 generation of the report: the limit of revisions is reached."
    assert result.synthesis is not None and "So wait." in result.synthesis.resolution


async def test_a_complex_question_is_decided_between_plans_of_a_model(serving: Serving) -> None:
    """The decider is first asked after the first plan of a model, and its reflection reaches the next synthesis."""
    decided = {**MORE, "overall_quality": "shallow", "logic_issues": ["The cellar does not follow."]}
    planner = in_turn(plans(search("Which mould is in blue cheese?", "Cheese")), FINISH)
    chat = ScriptedChat(story(planner=planner, decider=says(decided)))
    await run_to_end(serving, chat, build_request(effort="complex"))
    order = [role for role, _ in chat.asked if role in ("planner", "synthesizer", "decider")]

    assert order == ["planner", "synthesizer", "decider", "planner", "synthesizer"]
    last = [prompt for role, prompt in chat.asked if role == "synthesizer"][-1]
    assert "The cellar does not follow." in last and last.count("The oven is missing.") == 1


async def test_a_question_that_stands_alone_is_not_rewritten(serving: Serving) -> None:
    """Of two sub-questions that wait for a third, only the one with a reference is rewritten."""
    parts = {
        "sub_questions": ["Who makes cheese?", "What does that person sell?", "What is made of rye?"],
        "dependencies": [{"question": 2, "needs": [1]}, {"question": 3, "needs": [1]}],
    }
    chat = ScriptedChat(story(decomposer=says(parts)))
    await run_to_end(serving, chat, build_request(has_model=False, effort="simple"))

    rewritten = [prompt for role, prompt in chat.asked if role == "question_rewriter"]
    assert len(rewritten) == 1
    assert "<sub_question>\nWhat does that person sell?\n</sub_question>" in rewritten[0]


async def test_the_first_searches_do_not_wait_for_hypothetical_answers(serving: Serving) -> None:
    """While the hypothetical answers are written, the topics are searched."""
    imagined = Held({"texts": ["Dough rises.", "Milk curdles."]})
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(ScriptedChat(story(hypothetical_document=imagined)), knowledge) as stage:
        run = await stage.start(build_request(effort="moderate"))
        await asyncio.wait_for(imagined.reached.wait(), PATIENCE)
        topics = {"How is bread made?", "How is cheese made?"}
        await until(run, lambda _: topics <= {request.query for request in knowledge.searches})
        imagined.released.set()
        assert (await asyncio.wait_for(run.result(), PATIENCE)).status == "done"


OUTLINE = [
    {"heading": name, "question": f"How is {name.lower()} made?", "answer": f"{name} is made with care."}
    for name in ("Bread", "Cheese", "Rye")
]
SHELVES = {
    f"shelf-{n}": Source(
        uri=f"shelf-{n}.md", title=f"Shelf {n}", text=f"Shelf {n} holds bread and cheese, rye number {n}."
    )
    for n in range(30)
}


async def test_a_moderate_run_keeps_its_bounds_if_every_reviewer_wants_a_search(serving: Serving) -> None:
    """No section gets more than one further review, which reads a few new passages only."""

    async def review(prompt: str) -> Reply:
        topic = prompt.partition("<topic>\n")[2].partition("\n")[0]
        return {"critique": f"What else holds {topic}?", "query": f"{topic} on which other shelf number?"}

    lines: dict[str, Any] = {
        "outliner": says({"topics": OUTLINE}),
        "planner": says(plans(search("Which mould is in blue cheese?", "Cheese"))),
        "section_reviewer": review,
    }
    chat = ScriptedChat(story(**lines))
    request = build_request(effort="moderate", max_section_revisions=2, passages_per_section=10)
    async with serving(chat, MemoryKnowledge({**KITCHEN, **SHELVES})) as stage:
        result = await asyncio.wait_for((await stage.start(request)).result(), PATIENCE)

    again = [prompt for role, prompt in chat.asked if role == "section_reviewer" and "<queries>" in prompt]
    assert chat.count("section_reviewer") == 6 and len(again) == 3
    assert all(0 < prompt.count("<passage n=") <= MAX_NEW_PASSAGES for prompt in again)
    assert result.usage.model_calls <= EFFORT_COSTS["moderate"].calls and result.fallbacks == ()


async def test_hypothetical_answers_come_with_the_outline(serving: Serving) -> None:
    """Topics with an answer need no call for one, and the answer reaches their searches."""
    knowledge, chat = MemoryKnowledge(KITCHEN), ScriptedChat(story(outliner=says({"topics": OUTLINE[:2]})))
    async with serving(chat, knowledge) as stage:
        await asyncio.wait_for((await stage.start(build_request(effort="moderate"))).result(), PATIENCE)

    assert chat.count("hypothetical_document") == 0
    imagined = {(one.query, one.hypothetical_answer) for one in knowledge.searches if one.hypothetical_answer}
    assert imagined >= {(topic["question"], topic["answer"]) for topic in OUTLINE[:2]}


@pytest.mark.parametrize(
    ("limits", "is_asked"), [({}, False), ({"strategy": "iterative"}, True), ({"max_cycles": 1}, True)]
)
async def test_a_refiner_is_asked_only_where_no_planner_reads_the_findings(
    serving: Serving, limits: dict[str, Any], is_asked: bool
) -> None:
    """Rules refine what a plan follows; a strategy of a person and a single cycle keep the refiner."""
    topics = [{"heading": "Ovens", "question": "How do I heat the oven of a Roman bakery for bread on cold days?"}]
    chat = ScriptedChat(story(outliner=says({"topics": topics})))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        await asyncio.wait_for((await stage.start(build_request(effort="moderate", **limits))).result(), PATIENCE)

    assert bool(chat.count("query_refiner")) == is_asked


async def test_an_effort_that_is_used_up_ends_the_run_well(serving: Serving) -> None:
    """A run that needs more than its effort keeps to the bounds, and ends with a report that says so."""
    chat = ScriptedChat(story(), bill=TokenUsage(tokens_in=10_300, tokens_out=100))
    result = await run_to_end(serving, chat, build_request(effort="moderate"))
    cost = EFFORT_COSTS["moderate"]

    assert result.status == "finished_early" and result.sections
    assert result.usage.model_calls <= cost.max_calls
    assert result.usage.tokens_in + result.usage.tokens_out <= cost.max_tokens
    assert result.limits == {"tokens": cost.max_tokens, "calls": cost.max_calls}
    assert "was used up" in result.decisions[-1]
    assert not any("was used or reserved" in note for note in result.notes)


async def test_limits_of_people_replace_those_of_the_effort(serving: Serving) -> None:
    """A run with a limit of its own has no other."""
    result = await run_to_end(serving, ScriptedChat(story()), build_request(effort="simple", max_calls=500))

    assert result.status == "done"
    assert result.limits == {"calls": 500}
