"""Reasoning in a run: strategies, verification, and what writers and the report get of it."""

import asyncio
from typing import Any

from tenure.contracts.evidence.reasoning import ReasoningChoice
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.errors import RequestRejected
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import (
    KITCHEN,
    ROUTE,
    Line,
    MemoryKnowledge,
    Reply,
    ScriptedChat,
    all_hold,
    in_turn,
    says,
    story,
)

PATIENCE = 100
MADE = "Bread is made from flour, water, salt and yeast."


def build_request(reasoning: ReasoningChoice | None) -> RunRequest:
    """Return a short run with a reasoning strategy; None for what its question suggests."""
    return RunRequest(
        question="How are bread and cheese made?",
        corpora=("kitchen",),
        limits=RunLimits(
            min_relevance=0.05,
            max_sections=1,
            max_cycles=1,
            max_report_revisions=0,
            reasoning=reasoning,
            has_model=True,
            effort="complex",
        ),
    )


def build_step(
    text: str, *passages: int, kind: str = "premise", follows: tuple[int, ...] = (), link: str = ""
) -> dict[str, Any]:
    """Return a step as a model writes it."""
    return {"kind": kind, "text": text, "passages": list(passages), "follows": list(follows), "link": link}


def build_reasoning(*steps: dict[str, Any], answer: str = "", confidence: float = 0.9) -> dict[str, Any]:
    """Return a line of thought whose last step is the conclusion."""
    return {"steps": list(steps), "conclusion": len(steps), "answer": answer, "confidence": confidence}


async def run_research(
    serving: Serving, reasoning: ReasoningChoice | None, knowledge: MemoryKnowledge | None = None, **lines: Line
) -> tuple[Result, ScriptedChat]:
    """Run a research to its end."""
    chat = ScriptedChat(story(**lines))
    async with serving(chat, knowledge or MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(build_request(reasoning))
        return await asyncio.wait_for(run.result(), PATIENCE), chat


@slow
async def test_a_tree_of_thoughts_is_pruned_into_a_line(serving: Serving) -> None:
    """Thoughts with low scores are listed as rejected, and the writer reads the line that remains."""

    async def proposer(prompt: str) -> Reply:
        later = "<previous>" in prompt
        texts = ["Dough has to rest."] if later else [MADE, "Bread is dear.", "Bread is old."]
        return {"thoughts": [{"kind": "point", "text": text, "passages": [1]} for text in texts]}

    def scored(*scores: float) -> dict[str, Any]:
        return {"scores": [{"thought": n, "score": s, "why": "So it is."} for n, s in enumerate(scores, 1)]}

    line = build_reasoning(
        build_step(MADE, 1, kind="for"), build_step("So bread takes its time.", kind="inference", follows=(1,))
    )
    result, chat = await run_research(
        serving,
        "tree",
        thought_proposer=proposer,
        thought_evaluator=in_turn(scored(0.9, 0.1, 0.8), scored(0.7)),
        reasoner=says(line),
    )

    assert result.reasoning is not None and result.reasoning.conclusion is not None
    assert [one.text for one in result.reasoning.rejected] == ["Bread is dear."]
    assert result.reasoning.conclusion.claim.citations
    assert (chat.count("thought_proposer"), chat.count("thought_evaluator")) == (3, 2)
    told = next(prompt for role, prompt in chat.asked if role == "reasoner")
    assert f"1. (point) {MADE} [1]\n2. (point) Dough has to rest." in told
    assert any("<reasoning>" in prompt for role, prompt in chat.asked if role == "report_writer")


@slow
async def test_independent_lines_of_thought_vote(serving: Serving) -> None:
    """Each sample has sources of its own, and the majority's answer is given."""

    async def reasoner(prompt: str) -> Reply:
        text = "It takes hours." if 'source="Bread"' in prompt else "It takes some hours."
        return build_reasoning(build_step(MADE, 1), build_step(text, 1, follows=(1,)), answer="hours")

    result, chat = await run_research(serving, "self_consistency", reasoner=reasoner)

    prompts = [prompt for role, prompt in chat.asked if role == "reasoner"]
    assert len(prompts) == 2
    assert not any('source="Bread"' in prompt and 'source="Cheese"' in prompt for prompt in prompts)
    assert result.reasoning is not None
    assert result.reasoning.answer == "hours"


@slow
async def test_hops_search_for_the_name_before_and_are_verified(serving: Serving) -> None:
    """The next hop searches for the name that the last one found; a step that its source refutes is removed."""
    first = {
        "fact": MADE,
        "passages": [1],
        "link": "sourdough",
        "next_question": "What is sourdough?",
        "complete": False,
    }
    second = {"fact": "Rye bread has a sourdough.", "passages": [1], "link": "", "next_question": "", "complete": True}

    async def checker(prompt: str) -> Reply:
        reply = await all_hold(prompt)
        assert isinstance(reply, dict)
        for n, line in enumerate(line for line in prompt.splitlines() if "(cites " in line):
            if "Yeast is a metal" in line:
                reply["verdicts"][n]["verdict"] = "refuted"
        return reply

    line = build_reasoning(
        build_step(MADE, 1, kind="hop"),
        build_step("Yeast is a metal.", 1, kind="hop"),
        build_step("Bread needs sourdough.", 1, kind="inference", follows=(1,), link="sourdough"),
    )
    knowledge = MemoryKnowledge(KITCHEN)
    result, chat = await run_research(
        serving,
        "multi_hop",
        knowledge,
        hop_reasoner=in_turn(first, second),
        reasoner=says(line),
        claim_checker=checker,
    )

    assert "What is sourdough?" in [search.query for search in knowledge.searches]
    assert chat.count("hop_reasoner") == 2
    assert result.reasoning is not None and result.reasoning.conclusion is not None
    assert [one.claim.text for one in result.reasoning.steps] == [MADE]
    assert result.reasoning.conclusion.follows == (1,)
    assert any("Yeast is a metal" in note for note in result.notes)


@slow
async def test_failed_reasoning_does_not_stop_the_report(serving: Serving) -> None:
    """The report is written without the part, and a note says why if a person asked for reasoning."""

    async def refused(prompt: str) -> Reply:
        raise RequestRejected("the server does not want to think")

    failed, _ = await run_research(serving, "causal", reasoner=refused)
    empty, _ = await run_research(serving, "analogical")
    unasked, chat = await run_research(serving, None, router=says({**ROUTE, "query_type": "analytical"}))

    assert failed.status == empty.status == "done"
    assert failed.reasoning is None and failed.sections
    assert any(note.startswith("Reasoning (causal) failed: ") for note in failed.notes)
    assert empty.reasoning is None and empty.sections
    assert any("led to no line of thought" in note for note in empty.notes)
    assert unasked.reasoning is None and unasked.sections and chat.count("reasoner") == 1
    assert not any("Reasoning" in note for note in unasked.notes)
