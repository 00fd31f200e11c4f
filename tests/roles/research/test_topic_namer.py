"""Tests of the topic namer's fallback and of its prompt."""

from tenure.roles.base import Evidence
from tenure.roles.research.topic_namer import TopicNamerInput, fallback, render
from tests.support.passages import passage
from tests.support.worlds import encode

QUESTION = "How is bread made?"
SOURDOUGH = tuple(
    passage(f"Sourdough is old, part {n}.", "dough", n, headings=("Bread made of sourdough",)) for n in range(2)
)
OVENS = (passage("An oven is hot.", "oven", headings=("Ovens for bread",)),)


def test_without_a_model_no_topic_is_added() -> None:
    """The sections of a report without a model are the parts of the question."""
    request = TopicNamerInput(question=QUESTION, outline=("Cheese",), group_sizes=(2, 1))

    assert fallback(request, Evidence((*SOURDOUGH, *OVENS), encode)).topics == ()


def test_the_prompt_contains_the_groups() -> None:
    """Groups are ranges of passage numbers."""
    request = TopicNamerInput(question=QUESTION, outline=("Cheese",), group_sizes=(2, 1))
    user = render(request, Evidence((*SOURDOUGH, *OVENS)))[1].content

    assert "Group 1: passages 1 to 2\nGroup 2: passages 3 to 3" in user
