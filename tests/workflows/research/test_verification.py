"""Unsupported claims do not reach the report, whatever the model does."""

import json

import pytest

from tenure.algorithms.writing.manuscript import describe_search
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.report.render.markdown import render_markdown
from tests.conftest import Serving
from tests.support.report_answers import list_headings
from tests.support.tiers import slow
from tests.support.worlds import (
    GOOD_REPORT,
    KITCHEN,
    ROUTE,
    MemoryKnowledge,
    Reply,
    ScriptedChat,
    Source,
    build_report,
    in_turn,
    says,
    story,
    writes,
)

LIMITS = RunLimits(min_relevance=0.05, max_report_revisions=1)
REQUEST = RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=LIMITS)

LIES = {
    "made_up": "Bakers have always said so.",
    "number": "The baker lets the dough of the bread rise for seven hours.",
    "name": "The baker Apicius lets the dough of the bread rise for two hours.",
    "link": "The dough rises, as https://dead.example/page shows.",
    "quote": "“Bread was never made from flour”, says the book.",
}
TRUE = "Bread is made from flour and water."


async def lie(prompt: str) -> Reply:
    """Return a writer's report: in the answer and in each section one honest sentence among inventions."""
    cited = {TRUE: "1-3", **{said: "99" if name == "made_up" else "1" for name, said in LIES.items()}}
    text = " ".join(f"{said.rstrip('.')} [{numbers}]." for said, numbers in cited.items())
    return build_report(dict.fromkeys(list_headings(prompt), text), text)


async def run(
    serving: Serving, chat: ScriptedChat | None, knowledge: MemoryKnowledge, limits: RunLimits = LIMITS
) -> Result:
    async with serving(chat, knowledge) as stage:
        return await (await stage.start(REQUEST.model_copy(update={"limits": limits}))).result()


@slow
@pytest.mark.parametrize("has_model", [False, True])
async def test_inventions_of_a_model_do_not_survive(serving: Serving, has_model: bool) -> None:
    """Invented sources, numbers, names, links and quotes are removed with notes.

    The checker or the reviewer of the same model vouches for all of them.
    """
    chat = ScriptedChat(story(report_writer=lie))
    limits = LIMITS.model_copy(update={"has_model": has_model})
    result = await run(serving, chat, MemoryKnowledge(KITCHEN), limits)

    assert chat.count("report_reviewer") == has_model
    told = json.dumps([result.abstract, *(section.markdown for section in result.sections)])
    for name in ("number", "name", "link", "quote"):
        assert LIES[name] not in told
    assert "seven" not in told and "Apicius" not in told and "dead.example" not in told and "never made" not in told
    assert TRUE in told
    claims = [claim for section in result.sections for claim in section.claims]
    assert all(claim.citations for claim in claims if claim.status == "supported")
    assert sum("a claim was removed" in line for line in result.decisions) >= 4


@slow
async def test_a_refuted_claim_is_corrected_in_the_same_call(serving: Serving) -> None:
    """A claim that the checker refutes is replaced by its correction, which no model judges again."""
    anew = {"claim": 1, "problem": "the passage names flour", "text": "Bread is made from flour.", "passages": [1]}
    refuted = {"verdicts": [{"claim": 1, "verdict": "refuted", "confidence": 0.9}], "corrections": [anew]}
    script = story(
        outliner=says({"topics": [{"heading": "Bread", "question": "How is bread made?"}]}),
        report_writer=writes(("Bread needs no flour.", 1), answer=""),
        claim_checker=in_turn(refuted, {"verdicts": []}),
    )
    chat = ScriptedChat(script)
    result = await run(serving, chat, MemoryKnowledge(KITCHEN))

    claims = [(claim.text, claim.status) for claim in result.sections[0].claims]
    assert claims == [("Bread is made from flour.", "supported")]
    assert sum("Bread needs no flour." in prompt for role, prompt in chat.asked if role == "claim_checker") == 1


@slow
async def test_quotes_need_no_check(serving: Serving) -> None:
    """Without a model every claim but gaps is a quote: no claim is checked, and the report has no verdict."""
    result = await run(serving, None, MemoryKnowledge(KITCHEN))

    assert "claim_checker" not in result.usage.by_role
    assert result.evaluation is None
    claims = [claim for section in result.sections for claim in section.claims if claim.kind != "gap"]
    assert claims and all(claim.status == "supported" for claim in claims)


@slow
async def test_contradicting_sources_are_quoted(serving: Serving) -> None:
    """Two documents with different figures for the same thing are both quoted."""
    knowledge = MemoryKnowledge(dict(KITCHEN))
    knowledge.documents["bread"] = Source(
        uri="kitchen/bread.md",
        title="Bread",
        text="The baker lets the dough of the bread rise for 2 hours before the oven is hot.",
    )
    knowledge.documents["rival"] = Source(
        uri="kitchen/rival.md",
        title="Rival",
        text="The baker lets the dough of the bread rise for 9 hours before the oven is hot.",
    )
    result = await run(serving, None, knowledge)

    (found,) = result.contradictions
    assert {found.a.quote, found.b.quote} == {knowledge.documents[name].text for name in ("bread", "rival")}
    assert {found.a.source, found.b.source} <= {source.n for source in result.sources}


ONE_CYCLE = LIMITS.model_copy(update={"max_cycles": 1, "has_model": True})
QUESTION = "How long does a croissant laminate?"
CROISSANT = Source(uri="kitchen/croissant.md", title="Croissant", text="A croissant laminates overnight.")
NOTHING_ANSWERED = f"ANSWERED no: {QUESTION}\nDONE"
REVISABLE = ONE_CYCLE.model_copy(update={"max_report_revisions": 2})


@slow
@pytest.mark.parametrize(
    ("second", "missing"), [(NOTHING_ANSWERED, (QUESTION,)), (GOOD_REPORT, ()), ("DONE", (QUESTION,))]
)
async def test_an_unanswered_part_is_searched_for_once(serving: Serving, second: str, missing: tuple[str, ...]) -> None:
    """A part that a review finds unanswered leads to one search and one more review, whose verdict on it stays."""
    chat = ScriptedChat(story(report_reviewer=in_turn(NOTHING_ANSWERED, second)))
    knowledge = MemoryKnowledge({**KITCHEN, "croissant": CROISSANT})
    result = await run(serving, chat, knowledge, REVISABLE)

    first, again = [prompt for role, prompt in chat.asked if role == "report_reviewer"]
    assert CROISSANT.text in again and CROISSANT.text not in first and f"“{QUESTION}” found" in again
    assert [search.query for search in knowledge.searches].count(QUESTION) == 1
    assert [record.critique for record in result.critiques] == [describe_search(QUESTION)]
    assert result.evaluation is not None and result.evaluation.missing == missing
    told = "By the verdict of the model, this report does not answer its question."
    assert (told in render_markdown(result)) is bool(missing)


@slow
async def test_the_last_allowed_version_is_not_revised(serving: Serving) -> None:
    """A report that has reached the maximum number of versions keeps its verdict."""
    chat = ScriptedChat(story(report_reviewer=says(NOTHING_ANSWERED)))
    result = await run(serving, chat, MemoryKnowledge(KITCHEN), ONE_CYCLE)

    assert chat.count("report_reviewer") == 1
    assert result.critiques == () and result.evaluation is not None and result.evaluation.missing == (QUESTION,)


@slow
async def test_a_review_names_conflicts_of_passages(serving: Serving) -> None:
    """A conflict that no rule finds is reported with both quotes; its words may be inexact."""
    bread, cheese = (KITCHEN[name].text.split("\n")[0] for name in ("bread", "cheese"))

    async def review(prompt: str) -> Reply:
        beginnings = (prompt.rpartition(f"\n{text}")[0] for text in (bread, cheese))
        numbers = [beginning.rpartition('<passage n="')[2].split('"')[0] for beginning in beginnings]
        subject = "the raw material – “made from flour, water” / “made from milk”"
        return f"CONFLICT [{', '.join(numbers)}] high: {subject}\nDONE"

    result = await run(serving, ScriptedChat(story(report_reviewer=review)), MemoryKnowledge(KITCHEN), ONE_CYCLE)

    (found,) = result.contradictions
    assert (found.a.quote, found.b.quote) == (bread, cheese)
    assert (found.severity, found.about) == ("high", "the raw material")
    assert found.outcome is not None and found.outcome.query


@slow
@pytest.mark.parametrize(("complexity", "reviews"), [("simple", 0), ("moderate", 1), ("complex", 1)])
async def test_only_reports_that_are_worth_it_are_read_again(serving: Serving, complexity: str, reviews: int) -> None:
    """A direct answer is neither reviewed nor judged; any other report has one review with a verdict."""
    chat = ScriptedChat(story(router=says({**ROUTE, "complexity": complexity})))
    result = await run(serving, chat, MemoryKnowledge(KITCHEN), ONE_CYCLE)

    assert chat.count("report_reviewer") == reviews
    assert (result.evaluation is not None) is bool(reviews)
