"""Unsupported claims do not reach the report, whatever the model does."""

import json
from typing import Any

import pytest

from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.report.render.markdown import render_markdown
from tenure.roles.writing.abstract_writer import MAX_SENTENCES
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import (
    GOOD_REPORT,
    KITCHEN,
    ROUTE,
    MemoryKnowledge,
    Reply,
    ScriptedChat,
    Source,
    in_turn,
    says,
    story,
    text,
)

LIMITS = RunLimits(min_relevance=0.05, max_section_revisions=0, max_report_revisions=1)
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
    """Return a writer's answer: one honest sentence among inventions."""
    return {"blocks": [{"kind": "paragraph", **await lie_briefly(prompt)}]}


async def lie_briefly(prompt: str) -> dict[str, Any]:
    """Return the same sentences as the answer of a writer of abstracts, as many as it may write."""
    sentences = [{"text": said, "passages": [99 if name == "made_up" else 1]} for name, said in LIES.items()]
    return {"sentences": [{"text": TRUE, "passages": list(range(1, 4))}, *sentences][:MAX_SENTENCES]}


async def run(
    serving: Serving, chat: ScriptedChat | None, knowledge: MemoryKnowledge, limits: RunLimits = LIMITS
) -> Result:
    async with serving(chat, knowledge) as stage:
        return await (await stage.start(REQUEST.model_copy(update={"limits": limits}))).result()


@slow
async def test_inventions_of_a_model_do_not_survive(serving: Serving) -> None:
    """Invented sources, numbers, names, links and quotes are removed with notes.

    The checker of the same model vouches for all of them.
    """
    script = story(section_writer=lie, abstract_writer=lie_briefly)
    result = await run(serving, ScriptedChat(script), MemoryKnowledge(KITCHEN))

    told = json.dumps([result.abstract, *(section.markdown for section in result.sections)])
    for name in ("number", "name", "link", "quote"):
        assert LIES[name] not in told
    assert "seven" not in told and "Apicius" not in told and "dead.example" not in told and "never made" not in told
    assert TRUE in told
    claims = [claim for section in result.sections for claim in section.claims]
    assert all(claim.citations for claim in claims if claim.status == "supported")
    assert sum("a claim was removed" in note for note in result.notes) >= 4


@slow
async def test_a_refuted_claim_is_corrected_in_the_same_call(serving: Serving) -> None:
    """A claim that the checker refutes is replaced by its correction, which no model judges again."""
    anew = {"claim": 1, "problem": "the passage names flour", "text": "Bread is made from flour.", "passages": [1]}
    refuted = {"verdicts": [{"claim": 1, "verdict": "refuted", "confidence": 0.9}], "corrections": [anew]}
    script = story(
        outliner=says({"topics": [{"heading": "Bread", "question": "How is bread made?"}]}),
        section_writer=says(text(("Bread needs no flour.", 1))),
        claim_checker=in_turn(refuted, {"verdicts": []}),
    )
    chat = ScriptedChat(script)
    result = await run(serving, chat, MemoryKnowledge(KITCHEN))

    claims = [(claim.text, claim.status) for claim in result.sections[0].claims]
    assert claims == [("Bread is made from flour.", "supported")]
    assert sum("Bread needs no flour." in prompt for role, prompt in chat.asked if role == "claim_checker") == 1


@slow
async def test_quotes_need_no_check(serving: Serving) -> None:
    """Without a model every claim is a quote: no claim is checked, and the report has no verdict."""
    result = await run(serving, None, MemoryKnowledge(KITCHEN))

    assert "claim_checker" not in result.usage.by_role
    assert result.evaluation is None and "self_evaluator" not in result.usage.by_role
    assert all(claim.status == "supported" for section in result.sections for claim in section.claims)


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


COMPLEX = says({**ROUTE, "complexity": "complex"})
ONE_CYCLE = LIMITS.model_copy(update={"max_cycles": 1})


QUESTION = "How long does bread rise?"
NOTHING_ANSWERED = {
    "contradictions": [],
    "components": [{"component": QUESTION, "addressed": "no"}],
    "issues": [],
}
REVISABLE = ONE_CYCLE.model_copy(update={"max_report_revisions": 2})


@slow
async def test_an_unanswered_part_is_searched_for_once(serving: Serving) -> None:
    """The report is revised once for the parts without an answer; the verdict of the model on the revision stays."""
    chat = ScriptedChat(story(router=COMPLEX, self_evaluator=says(NOTHING_ANSWERED)))
    knowledge = MemoryKnowledge(KITCHEN)
    result = await run(serving, chat, knowledge, REVISABLE)

    assert chat.count("self_evaluator") == 2 and chat.count("section_reviewer") == 1
    assert QUESTION in [search.query for search in knowledge.searches]
    assert [record.critique for record in result.critiques] == [f"Nothing answers “{QUESTION}”."]
    assert result.evaluation is not None and result.evaluation.missing == (QUESTION,)
    assert not result.evaluation.before_revision
    assert "By the verdict of the model, this report does not answer its question." in render_markdown(result)


@slow
@pytest.mark.parametrize(
    ("second", "missing", "before_revision"),
    [(GOOD_REPORT, (), False), ({"contradictions": [], "components": [], "issues": []}, (QUESTION,), True)],
)
async def test_a_no_of_the_model_ends_with_a_yes_of_the_model_only(
    serving: Serving, second: dict[str, Any], missing: tuple[str, ...], before_revision: bool
) -> None:
    """After a revision a new verdict replaces the first one; without one, the first one is marked as the older."""
    chat = ScriptedChat(story(router=COMPLEX, self_evaluator=in_turn(NOTHING_ANSWERED, second)))
    result = await run(serving, chat, MemoryKnowledge(KITCHEN), REVISABLE)

    assert result.evaluation is not None
    assert (result.evaluation.missing, result.evaluation.before_revision) == (missing, before_revision)
    told = "By the verdict of the model on the version before the last revision, this report does not answer"
    assert (told in render_markdown(result)) is before_revision


@slow
async def test_the_last_allowed_version_is_not_revised(serving: Serving) -> None:
    """A report that has reached the maximum number of versions keeps its verdict."""
    chat = ScriptedChat(story(router=COMPLEX, self_evaluator=says(NOTHING_ANSWERED)))
    result = await run(serving, chat, MemoryKnowledge(KITCHEN), ONE_CYCLE)

    assert chat.count("self_evaluator") == 1 and chat.count("section_reviewer") == 0
    assert result.critiques == () and result.evaluation is not None and result.evaluation.missing == (QUESTION,)


@slow
@pytest.mark.parametrize(("complexity", "calls"), [("simple", 0), ("moderate", 0), ("complex", 1)])
async def test_only_reports_that_are_worth_it_are_read_again(serving: Serving, complexity: str, calls: int) -> None:
    """Only a complex report is reflected on and evaluated, by a model; no other has a verdict."""
    chat = ScriptedChat(story(router=says({**ROUTE, "complexity": complexity})))
    limits = ONE_CYCLE.model_copy(update={"has_model": True})
    result = await run(serving, chat, MemoryKnowledge(KITCHEN), limits)

    assert (chat.count("report_reflector"), chat.count("self_evaluator")) == (calls, calls)
    assert (result.evaluation is not None) is bool(calls)
