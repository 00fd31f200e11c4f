"""The small worlds of the workflow tests are what they pretend to be."""

import asyncio

import numpy as np
import pytest

from tenure.contracts.evidence.corpora import IngestProgress, IngestReport, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.messages import Message
from tenure.models.chat import ChatRequest, ModelCall
from tests.roles.cases import CASES
from tests.support.worlds import KITCHEN, Held, MemoryKnowledge, ScriptedChat, encode, in_turn, says, story

ASKED = (Message(role="system", content="You are."), Message(role="user", content="<topic>\nBread\n</topic>"))


async def complete(chat: ScriptedChat, role: str) -> str:
    return (await chat.complete(ChatRequest(role, "main", ASKED, {}), ModelCall())).text


def test_vectors_are_unit_and_equal_for_equal_words() -> None:
    """Every text, an empty one too, has a unit vector that depends on its words alone."""
    vectors = encode(["Bread is made.", "the BREAD", "cheese", ""])

    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert vectors[0] @ vectors[1] == pytest.approx(1)
    assert vectors[0] @ vectors[2] == pytest.approx(0)


def test_passages_stand_verbatim_in_their_sources() -> None:
    """Each paragraph is a passage with true offsets."""
    knowledge = MemoryKnowledge(dict(KITCHEN))
    found = knowledge.retrieval.search(SearchRequest(query="bread", corpora=(), k=200)).passages

    passages = knowledge.corpora.load_passages(found)

    assert len(passages) == 6
    assert all(KITCHEN[p.source].text[p.start : p.end] == p.text for p in passages)
    assert knowledge.corpora.load_sources([passages[0].source]) == {"bread": KITCHEN["bread"]}


def test_a_search_is_ranked_bounded_and_remembered() -> None:
    """The nearest passages come first, no more than asked for, the same ones each time."""
    knowledge = MemoryKnowledge(dict(KITCHEN))
    request = SearchRequest(query="How is rye bread made?", corpora=("kitchen",), k=3)

    found = knowledge.retrieval.search(request)

    assert [passage.dense_rank for passage in found.passages] == [1, 2, 3]
    assert list(found.passages) == sorted(found.passages, key=lambda p: -p.relevance)
    assert found == knowledge.retrieval.search(request)
    assert knowledge.searches == [request, request]


def test_an_empty_knowledge_base_finds_nothing() -> None:
    """No documents, no passages; nothing to list and nothing to drop."""
    knowledge = MemoryKnowledge({})

    assert knowledge.retrieval.search(SearchRequest(query="bread", corpora=())).passages == ()
    assert (knowledge.corpora.load_stats(), knowledge.corpora.drop("kitchen")) == ((), False)


def test_an_ingestion_reports_and_is_done() -> None:
    """Progress is reported once, and every document counts as known."""
    told: list[IngestProgress] = []
    request = IngestRequest(corpus="kitchen", paths=("/kitchen",))

    report = MemoryKnowledge(dict(KITCHEN)).ingest(request, told.append, lambda: False)

    assert report == IngestReport(corpus="kitchen", files=2, unchanged=2)
    assert [progress.stage for progress in told] == ["done"]


async def test_a_scripted_model_says_its_lines_and_counts() -> None:
    """Lines come in turn, the last one stays; every question is written down."""
    chat = ScriptedChat({"router": in_turn("one", {"two": 2})})

    assert [await complete(chat, "router") for _ in range(3)] == ["one", '{"two": 2}', '{"two": 2}']
    assert (chat.count("router"), chat.count("outliner")) == (3, 0)
    assert chat.asked[0] == ("router", ASKED[-1].content)


async def test_a_role_without_lines_is_a_mistake_of_the_test() -> None:
    """An unexpected question raises an error."""
    with pytest.raises(KeyError, match="router"):
        await complete(ScriptedChat({}), "router")


async def test_a_held_line_waits_for_the_test() -> None:
    """The answer comes when the test lets go, not before."""
    held = Held("now")
    asked = asyncio.create_task(complete(ScriptedChat({"router": held}), "router"))

    await held.reached.wait()
    assert not asked.done()
    held.released.set()

    assert await asked == "now"


async def test_the_story_has_a_fitting_line_for_every_role() -> None:
    """Each role can parse the script's answer."""
    chat = ScriptedChat(story())

    assert chat.lines.keys() == CASES.keys()
    for name, case in CASES.items():
        said = await complete(chat, name)
        assert case.role.parse_text(said) if case.role.parse_text else case.role.output.model_validate_json(said)


def test_a_story_can_be_changed_in_parts() -> None:
    """A line that is given replaces the story's own."""
    mine = says("Mine [1].")

    assert story(report_writer=mine)["report_writer"] is mine
