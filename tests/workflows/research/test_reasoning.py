"""Reasoning in a run: strategies, verification, and what writers and the report get of it."""

import asyncio
import re

from tenure.contracts.choices import ReasoningChoice
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
    Source,
    all_hold,
    in_turn,
    says,
    story,
)

PATIENCE = 100
MADE = "Bread is made from flour, water, salt and yeast."
STARTER = Source(uri="kitchen/starter.md", title="Starter", text="A levain is fed with warm spelt twice a day.")
QUERY = "How is a levain fed?"
SAMPLE = re.compile(r"Reason only from the passages (\d+)[-, \d]*\.")


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


def build_step(text: str, *passages: int, kind: str = "", follows: tuple[int, ...] = (), link: str = "") -> str:
    """Return a step as a model writes it, without its keyword."""
    head = f"{kind}{f' after {follows[0]}' if follows else ''}{f' via {link}' if link else ''}"
    return f"{head}: {text.rstrip('.')}{''.join(f' [{n}]' for n in passages)}."


def build_reasoning(*steps: str, answer: str = "") -> str:
    """Return a line of thought whose last step is the conclusion."""
    *before, last = steps
    lines = [f"STEP {n} {step}" for n, step in enumerate(before, 1)]
    return "\n".join([*lines, f"CONCLUSION {last}", *([f"ANSWER: {answer}"] if answer else []), "CONFIDENCE: 0.9"])


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
    """One answer explores the tree: thoughts that it rejects are listed, and the writer reads the line that remains."""
    line = build_reasoning(build_step(MADE, 1, kind="for"), build_step("So bread takes its time.", follows=(1,)))
    rejected = "REJECTED 0.1: Bread is dear. – It rests on little."
    result, chat = await run_research(serving, "tree", reasoner=says(f"{rejected}\n{line}"))

    assert result.reasoning is not None and result.reasoning.conclusion is not None
    assert [(one.text, one.score) for one in result.reasoning.rejected] == [("Bread is dear.", 0.1)]
    assert result.reasoning.conclusion.claim.citations and chat.count("reasoner") == 1
    assert any("<reasoning>" in prompt for role, prompt in chat.asked if role == "report_writer")


async def test_an_analogy_rests_on_the_principles_of_both_things(serving: Serving) -> None:
    """The principles of both compared things are searched for before the reasoner is asked."""
    knowledge, chat = MemoryKnowledge(KITCHEN), ScriptedChat(story())
    request = build_request("analogical").model_copy(update={"question": "How do bread and cheese differ?"})
    async with serving(chat, knowledge) as stage:
        await asyncio.wait_for((await stage.start(request)).result(), PATIENCE)

    made = {search.query for search in knowledge.searches}
    assert made >= {"bread principles and mechanisms", "cheese principles and mechanisms"}
    assert chat.count("reasoner") == 1


@slow
async def test_independent_lines_of_thought_vote(serving: Serving) -> None:
    """Each sample reads the same dossier and reasons from sources of its own, and the majority's answer is given."""

    async def reasoner(prompt: str) -> Reply:
        passage = SAMPLE.findall(prompt)[-1]
        text = "It takes hours." if passage == "1" else "It takes some hours."
        return build_reasoning(
            build_step(MADE, int(passage)), build_step(text, int(passage), follows=(1,)), answer="hours"
        )

    result, chat = await run_research(serving, "self_consistency", reasoner=reasoner)

    prompts = [prompt for role, prompt in chat.asked if role == "reasoner"]
    beginnings = {SAMPLE.sub("", prompt) for prompt in prompts}
    assert len(prompts) == 2 and len({SAMPLE.findall(prompt)[-1] for prompt in prompts}) == 2
    assert len({beginning.partition("<task ")[0] for beginning in beginnings}) == 1
    assert result.reasoning is not None
    assert result.reasoning.answer == "hours"


@slow
async def test_hops_search_for_the_name_before_and_are_verified(serving: Serving) -> None:
    """The next hop searches for the name that the last one found; a step that its source refutes is removed."""

    async def checker(prompt: str) -> Reply:
        reply = await all_hold(prompt)
        assert isinstance(reply, dict)
        for n, line in enumerate(line for line in prompt.splitlines() if "(cites " in line):
            if "Yeast is a metal" in line:
                reply["verdicts"][n]["verdict"] = "refuted"
        return reply

    first = build_step(MADE, 1, kind="hop")
    last = build_step("Bread needs sourdough.", 1, follows=(1,), link="sourdough")
    line = build_reasoning(first, build_step("Yeast is a metal.", 1, kind="hop"), last)
    knowledge = MemoryKnowledge({**KITCHEN, "starter": STARTER})
    result, chat = await run_research(
        serving,
        "multi_hop",
        knowledge,
        reasoner=in_turn(f"STEP 1 {first}\nSEARCH: {QUERY}", line),
        claim_checker=checker,
    )

    assert QUERY in [search.query for search in knowledge.searches]
    before, after = [prompt for role, prompt in chat.asked if role == "reasoner"]
    assert STARTER.text in after and STARTER.text not in before and f"1. (hop) {MADE} [1]" in after
    assert result.reasoning is not None and result.reasoning.conclusion is not None
    assert [one.claim.text for one in result.reasoning.steps] == [MADE]
    assert result.reasoning.conclusion.follows == (1,)
    assert any("Yeast is a metal" in line for line in result.decisions)


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
