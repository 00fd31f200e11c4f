"""Evidence found while a section is written joins what the whole report is written from."""

from typing import Any

import pytest

from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.worlds import (
    KITCHEN,
    NO_CRITIQUE,
    MemoryKnowledge,
    Reply,
    ScriptedChat,
    Source,
    edit_if_asked,
    story,
)

pytestmark = pytest.mark.timeout(120)

FOUND = "Rennet comes from calves."
WORLD = {**KITCHEN, "rennet": Source(uri="rennet.md", title="Rennet", text=FOUND)}
QUERY = "Where rennet comes from: calves?"
REQUEST = RunRequest(
    question="How are bread and cheese made?",
    corpora=("kitchen",),
    limits=RunLimits(
        min_relevance=0.2, max_section_revisions=1, max_report_revisions=2, parallel_sections=1, max_cycles=1
    ),
)


def search_in(topic: str) -> Any:
    """Return a reviewer that asks for a search in one section and has no critique of the others."""

    async def review(prompt: str) -> Reply:
        if f"<topic>\n{topic}\n" not in prompt or "<queries>" in prompt:
            return await edit_if_asked(prompt)
        return {**NO_CRITIQUE, "critique": "Where is it from?", "query": QUERY}

    return review


async def run(serving: Serving, topic: str) -> list[tuple[str, str]]:
    """Run with a search in the review of one section; return roles with their prompts."""
    chat, knowledge = ScriptedChat(story(section_reviewer=search_in(topic))), MemoryKnowledge(WORLD)
    async with serving(chat, knowledge) as stage:
        await (await stage.start(REQUEST)).result()
    assert QUERY in [search.query for search in knowledge.searches]
    return chat.asked


async def test_later_sections_and_the_whole_report_read_what_a_section_found(serving: Serving) -> None:
    """A passage that a review of the first section found is shown to its reviewer and to the second one.

    The criticism of the report sees its title, and the abstract reads the sections only.
    """
    asked = await run(serving, "Bread")

    shown = {role for role, prompt in asked if FOUND in prompt}
    writers = [prompt for role, prompt in asked if role == "section_writer"]
    assert "section_reviewer" in shown and "abstract_writer" not in shown
    assert any("- Rennet" in prompt for role, prompt in asked if role == "report_reflector")
    assert [FOUND in prompt for prompt in writers] == [False, True]


async def test_sections_written_before_do_not_know_it(serving: Serving) -> None:
    """A passage that the last section found reaches the report, and the first one only with its next version."""
    asked = await run(serving, "Cheese")

    assert not any(FOUND in prompt for role, prompt in asked if role == "section_writer")
    assert any("- Rennet" in prompt for role, prompt in asked if role == "report_reflector")


async def test_sections_are_written_with_the_synthesis(serving: Serving) -> None:
    """Each writer of a section reads what the synthesis concluded."""
    asked = await run(serving, "Bread")

    writers = [prompt for role, prompt in asked if role == "section_writer"]
    expected = "<synthesis>\nSituation: Bread rises.\nComplication: But slowly.\nResolution: So wait.\n</synthesis>"
    assert len(writers) == 2 and all(expected in prompt for prompt in writers)
