"""Tests of the parser of outlines."""

import pytest

from tenure.roles.outline_entries import (
    MAX_HEADING_CHARACTERS,
    MAX_QUERIES,
    MAX_TOPICS,
    OutlinerOutput,
    PlannedTopic,
    parse_outline,
)
from tests.support.report_answers import render_outline

WHOLE = """Here is the outline:

TOPIC: Making bread
QUESTION: How is rye bread made
at home?
ANSWER: Dough rests for two hours.

It is a guess.
KNOWN: 3, [12] and 3 (rye 1.5)
The others are 4 and 5.
SEARCH: rye bread, time of rest
- **SEARCH**: gluten of rye flour
SEARCH: rye bread, time of rest

**TOPIC 2:** Cheese: blue and white
ANSWER: none
SEARCH: **none**
Topics are in order.
"""


def test_a_whole_answer_is_read() -> None:
    """Each topic has its question, its answer and its searches once; a topic without a question asks its heading."""
    bread, cheese = parse_outline(WHOLE).topics

    assert bread == PlannedTopic(
        heading="Making bread",
        question="How is rye bread made at home?",
        answer="Dough rests for two hours.",
        known=(3, 12),
        queries=("rye bread, time of rest", "gluten of rye flour"),
    )
    assert (cheese.heading, cheese.question) == ("Cheese: blue and white",) * 2
    assert (cheese.answer, cheese.queries) == ("", ())


@pytest.mark.parametrize("text", ["", "I would rather not.", "SEARCH: rye", "TOPIC:", "The TOPIC is rye."])
def test_a_text_without_a_topic_is_rejected(text: str) -> None:
    """The message for the model names the form of a topic."""
    with pytest.raises(ValueError, match="TOPIC: heading"):
        parse_outline(text)


def test_an_outline_is_bounded() -> None:
    """Topics, searches and their lengths have maxima."""
    topic = "TOPIC: " + "rye " * 100 + "\n" + "\n".join(f"SEARCH: rye {n} " + "flour " * 90 for n in range(20)) + "\n"
    topics = parse_outline(topic * 20).topics

    assert (len(topics), len(topics[0].queries)) == (MAX_TOPICS, MAX_QUERIES)
    assert len(topics[0].heading) <= MAX_HEADING_CHARACTERS and all(len(query) <= 300 for query in topics[0].queries)


def test_written_outlines_are_read_again() -> None:
    """An outline as the test server writes it is read without a change."""
    topics = [
        {
            "heading": "Bread",
            "question": "How is bread made?",
            "answer": "So.",
            "known": (2, 1),
            "queries": ("rye", "wheat"),
        }
    ]

    assert parse_outline(render_outline({"topics": topics})) == OutlinerOutput.model_validate({"topics": topics})
