"""Disputes between sources: one search for a primary or newer source, its outcome in the report, and both sides."""

from dataclasses import replace
from typing import Any

from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.report.render.html import render_html
from tenure.report.render.markdown import render_markdown
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, Line, MemoryKnowledge, Reply, ScriptedChat, Source, says, story, writes

LIMITS = RunLimits(min_relevance=0.05, max_report_revisions=1)
REQUEST = RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=LIMITS)
OLD = Source(
    uri="kitchen/old.md",
    title="Old handbook",
    text="The baker lets the dough of the bread rise for 2 hours before the oven is hot.",
    published="2016",
)
NEW = Source(
    uri="kitchen/new.md",
    title="New handbook",
    text="The baker lets the dough of the bread rise for 9 hours before the oven is hot.",
    published="2024-05-01",
)


def build_kitchen(old: Source = OLD, new: Source = NEW, **others: Source) -> MemoryKnowledge:
    """Return a knowledge base of two documents that contradict each other."""
    documents = {**KITCHEN, "bread": old, "rival": new, **others}
    return MemoryKnowledge(documents)


async def run(
    serving: Serving, knowledge: MemoryKnowledge, request: RunRequest = REQUEST, chat: ScriptedChat | None = None
) -> Result:
    async with serving(chat, knowledge) as stage:
        return await (await stage.start(request)).result()


async def test_a_dated_contradiction_is_resolved_by_one_search(serving: Serving) -> None:
    """The newer source is reported with both dates, also in the decisions, after one search."""
    knowledge = build_kitchen()
    result = await run(serving, knowledge)

    (found,) = result.contradictions
    assert found.outcome is not None
    winner = found.a if found.outcome.side == "a" else found.b
    assert (found.outcome.status, winner.quote) == ("resolved", NEW.text)
    assert "“New handbook” (2024-05-01) is later than “Old handbook” (2016)" in found.outcome.reason
    assert [search.query for search in knowledge.searches].count(found.outcome.query) == 1
    assert any(line.startswith("Sources disagree on “") and "Resolved" in line for line in result.decisions)
    told = render_markdown(result)
    assert "Old handbook (2016): “" in told and "Resolved: The newer side is taken:" in told
    page = render_html(result)
    assert "Resolved: The newer side is taken:" in page and "(2024-05-01)" in page


@slow
async def test_a_third_source_decides_and_is_cited(serving: Serving) -> None:
    """A newer source that the search finds is quoted with its side, and its reference names the part."""
    third = Source(
        uri="kitchen/guild.md",
        title="Guild letter",
        text="The baker lets the dough of the bread rise for 9 hours, says the guild, before the oven is hot.",
        published="2025-03",
    )
    undated = replace(NEW, published="2016")
    result = await run(serving, build_kitchen(new=undated, guild=third))

    outcomes = [found.outcome for found in result.contradictions]
    assert outcomes and all(outcome is not None and outcome.status == "resolved" for outcome in outcomes)
    told = render_markdown(result)
    assert "“Guild letter” (2025-03) is later than “Old handbook” (2016)" in told
    numbers = {source.n for source in result.sources}
    shown = {one.citation.source for outcome in outcomes if outcome for one in outcome.sources}
    assert shown <= numbers


@slow
async def test_undated_sources_stay_disputed(serving: Serving) -> None:
    """Without a date and without a primary source the report shows both quotes and decides nothing."""
    result = await run(serving, build_kitchen(replace(OLD, published=""), replace(NEW, published="")))

    (found,) = result.contradictions
    assert found.outcome is not None and (found.outcome.status, found.outcome.side) == ("disputed", None)
    told = render_markdown(result)
    assert OLD.text in told and NEW.text in told and "esolved" not in told and "disputed" not in told


@slow
async def test_an_exhausted_budget_makes_no_search_for_a_dispute(serving: Serving) -> None:
    """A run without searches left reports the contradiction and that nothing was searched for."""
    free = build_kitchen()
    await run(serving, free)
    knowledge = build_kitchen()
    limits = LIMITS.model_copy(update={"max_searches": len(free.searches) - 1})
    result = await run(serving, knowledge, REQUEST.model_copy(update={"limits": limits}))

    (found,) = result.contradictions
    assert len(knowledge.searches) == len(free.searches) - 1
    assert found.outcome is not None and found.outcome.status == "not_searched"
    assert "No primary or newer source was searched for: the budget allowed no further search." in render_markdown(
        result
    )


CLAIM = "Kneading makes bread better."
DENIAL = "Kneading does not make bread better."
POSITION = RunRequest(question="Does kneading make bread better?", corpora=("kitchen",), limits=LIMITS)


def build_debate() -> MemoryKnowledge:
    """Return a knowledge base with a text for and a text against a position."""
    return MemoryKnowledge(
        {
            **KITCHEN,
            "pro": Source(uri="pro.md", title="In favour", text=f"{CLAIM} Bakers knead dough.", published="2001"),
            "con": Source(uri="con.md", title="Against it", text=f"{DENIAL} Bakers fold dough.", published="2019"),
        }
    )


@slow
async def test_a_requested_strategy_is_kept(serving: Serving) -> None:
    """A run with another requested strategy makes no contrastive search."""
    knowledge = build_debate()
    limits = LIMITS.model_copy(update={"strategy": "direct"})
    result = await run(serving, knowledge, POSITION.model_copy(update={"limits": limits}))

    assert result.positions == () and not any("evidence against" in search.query for search in knowledge.searches)


@slow
async def test_both_sides_of_a_position_are_read_and_printed(serving: Serving) -> None:
    """The next plan reads the numbers of both sides, the writer their passages, and the report quotes both."""
    prompts: dict[str, list[str]] = {"planner": [], "report_writer": []}

    async def plan(prompt: str) -> Reply:
        prompts["planner"].append(prompt)
        query = "Does kneading make bread better?" if len(prompts["planner"]) == 1 else "What is folding?"
        return _plan(query)

    async def write(prompt: str) -> Reply:
        prompts["report_writer"].append(prompt)
        return await writes(("Bread is made.", 1))(prompt)

    async def judge(prompt: str) -> Reply:
        return {
            "stances": [
                {
                    "passage": n,
                    "side": "contradicting" if DENIAL in part else "supporting" if CLAIM in part else "neutral",
                }
                for n, part in enumerate(prompt.split("<passage ")[1:], 1)
            ]
        }

    lines: dict[str, Line] = {"planner": plan, "report_writer": write, "stance_judge": judge}
    outline = {"topics": [{"heading": "Kneading", "question": "Does kneading make bread better?"}]}
    script = story(**lines, outliner=says(outline))
    limits = LIMITS.model_copy(update={"effort": "moderate", "max_cycles": 2})
    result = await run(serving, build_debate(), POSITION.model_copy(update={"limits": limits}), ScriptedChat(script))

    assert "1 for, 1 against" in prompts["planner"][1]
    assert "Positions that were searched from both sides" in prompts["report_writer"][0]
    assert "Against it: passages" in prompts["report_writer"][0]
    (held,) = result.positions
    assert CLAIM in {quote.quote for quote in held.supporting}
    assert DENIAL in {quote.quote for quote in held.contradicting}
    assert held.outcome is not None and held.outcome.query
    told = render_markdown(result)
    part = told.split("## For and against\n\n")[1].split("\n## ")[0]
    assert f"*For:* In favour (2001): “{CLAIM}”" in part and f"*Against:* Against it (2019): “{DENIAL}”" in part
    assert "For and against" in told.split("## Quotes")[1]
    assert any(line.startswith("Passages for and against “Does kneading") for line in result.decisions)
    assert '<h2 id="positions" dir="auto">For and against</h2>' in render_html(result)


def _plan(query: str) -> dict[str, Any]:
    action = {
        "id": "s1",
        "action": "SEARCH",
        "query": query,
        "target_outline_topic": "Kneading",
        "passage": 0,
        "depends_on": [],
        "expected_output": "",
    }
    return {"critique": "Little is known.", "thought": "Search.", "plan": [action]}
