"""Pictures of documents in a run: shown to the model once each, read as sources, within the budget."""

import asyncio
from typing import Any

import pytest

from tenure.contracts.base import SourceId
from tenure.contracts.research.pictures import PictureRef
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.errors import NO_IMAGES, TransportError, UnusableAnswer
from tests.conftest import Serving
from tests.support.worlds import KITCHEN, MemoryKnowledge, Reply, ScriptedChat, says, story

PATIENCE = 100
PICTURES = tuple(
    PictureRef(source=SourceId("bread"), number=n, title="Bread", label=f"Figure {n + 1}", page=3) for n in range(4)
)
NOTE = "Pictures that may matter and were not read by a model: "


def describe(number: int, check: str = "") -> dict[str, Any]:
    """Return the answer of a model that sees a picture."""
    return {
        "check": check or f"{1000 + number}",
        "kind": "plot",
        "description": f"Plot {number} shows that dough doubles in {number + 2} hours.",
        "values": [{"label": "time", "value": f"{number + 2}", "unit": "h"}],
    }


async def run(
    serving: Serving,
    pictures: tuple[PictureRef, ...],
    line: Any,
    damaged: frozenset[int] = frozenset(),
    **limits: Any,
) -> tuple[Result, Any, Any]:
    """Run a research to its end; return its result, the model and the knowledge base."""
    chat = ScriptedChat(story(picture_reader=line))
    knowledge = MemoryKnowledge(dict(KITCHEN), known_pictures=pictures, damaged_pictures=damaged)
    request = RunRequest(
        question="How are bread and cheese made?",
        corpora=("kitchen",),
        limits=RunLimits(
            **{"min_relevance": 0.05, "max_sections": 1, "max_cycles": 1, "max_report_revisions": 0, "has_model": True}
            | limits
        ),
    )
    async with serving(chat, knowledge) as stage:
        started = await stage.start(request)
        return await asyncio.wait_for(started.result(), PATIENCE), chat, knowledge


async def test_each_picture_is_shown_once_and_becomes_a_source(serving: Serving) -> None:
    """The model sees each picture once, and the writer reads its descriptions as marked passages."""

    async def line(prompt: str) -> Reply:
        return describe(shown.pop(0))

    shown = [0, 1]
    result, chat, knowledge = await run(serving, PICTURES[:2], line)

    assert chat.count("picture_reader") == 2
    assert {"picture:bread#1", "picture:bread#2"} <= knowledge.documents.keys()
    (prompt,) = [prompt for role, prompt in chat.asked if role == "report_writer"][:1]
    assert 'read="from a picture by a model"' in prompt and "Plot 1 shows that dough doubles" in prompt
    assert not [note for note in result.notes if note.startswith(NOTE)]


async def test_a_call_that_fails_on_the_way_is_repeated_and_counted_once(serving: Serving) -> None:
    """An outage in the middle of a call leads to one answer and one source."""
    outages = [TransportError("the server is away")]

    async def line(prompt: str) -> Reply:
        if outages:
            raise outages.pop()
        return describe(0)

    result, chat, knowledge = await run(serving, PICTURES[:1], line)

    assert chat.count("picture_reader") == 2
    assert "picture:bread#1" in knowledge.documents
    assert result.usage.by_role["picture_reader"].model_calls == 1


@pytest.mark.parametrize("line", [NO_IMAGES, "guess"])
async def test_a_model_that_sees_nothing_is_shown_one_picture(serving: Serving, line: str) -> None:
    """After a refusal, or an answer without the number in the picture, no other is shown, and a note names them."""

    async def refuse(prompt: str) -> Reply:
        raise UnusableAnswer(NO_IMAGES)

    result, chat, knowledge = await run(
        serving, PICTURES, refuse if line == NO_IMAGES else says(describe(0, check="none"))
    )

    assert chat.count("picture_reader") == 1
    assert not [uri for uri in knowledge.documents if uri.startswith("picture:")]
    assert [note for note in result.notes if note.startswith(NOTE)] == [
        f"{NOTE}Figure 1 of Bread, page 3; Figure 2 of Bread, page 3; Figure 3 of Bread, page 3 (+1)."
    ]
    assert "picture_reader" not in {record.role for record in result.fallbacks}
    assert result.status == "done"


async def test_a_damaged_picture_does_not_stop_the_others(serving: Serving) -> None:
    """If the most relevant picture cannot be drawn, the next ones are shown, and a note names the damaged one."""

    async def line(prompt: str) -> Reply:
        return describe(shown.pop(0))

    shown = [1, 2]
    result, chat, knowledge = await run(serving, PICTURES[:3], line, damaged=frozenset((0,)))

    assert chat.count("picture_reader") == 2
    assert {uri for uri in knowledge.documents if uri.startswith("picture:")} == {"picture:bread#2", "picture:bread#3"}
    assert [note for note in result.notes if note.startswith(NOTE)] == [f"{NOTE}Figure 1 of Bread, page 3."]


async def test_without_budget_no_picture_is_shown(serving: Serving) -> None:
    """A budget that the run has used up shows no picture; the report ends as before, and a note names them."""
    result, chat, _ = await run(serving, PICTURES[:1], says(describe(0)), max_calls=4)

    assert chat.count("picture_reader") == 0
    assert result.sections
    assert [note for note in result.notes if note.startswith(NOTE)] == [f"{NOTE}Figure 1 of Bread, page 3."]


async def test_documents_without_pictures_cost_nothing(serving: Serving) -> None:
    """Without pictures near its passages, a run asks no role for them."""
    _, chat, _ = await run(serving, (), says(describe(0)))

    assert chat.count("picture_reader") == 0
