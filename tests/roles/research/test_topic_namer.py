"""Tests of the topic namer's fallback and of its groups."""

from tenure.roles.base import Evidence
from tenure.roles.research.topic_namer import NamedTopic, TopicNamerInput, TopicNamerOutput, fallback, render
from tests.support.passages import passage
from tests.support.worlds import encode

QUESTION = "How is bread made?"
SOURDOUGH = tuple(
    passage(f"Sourdough is old, part {n}.", "dough", n, headings=("Bread made of sourdough",)) for n in range(2)
)
OVENS = (passage("An oven is hot.", "oven", headings=("Ovens for bread",)),)
PLAIN = (passage("Nothing has a name here.", "plain", title="", headings=()),)


def named(
    *groups: tuple[object, ...], outline: tuple[str, ...] = ("Cheese",), question: str = QUESTION
) -> TopicNamerOutput:
    passages = tuple(p for group in groups for p in group)
    request = TopicNamerInput(question=question, outline=outline, group_sizes=tuple(len(group) for group in groups))
    return fallback(request, Evidence(passages, encode))  # type: ignore[arg-type]


def test_a_group_is_named_by_the_heading_of_its_passages() -> None:
    """Each group that has a heading near the question is a topic, with a question of its own."""
    assert named(SOURDOUGH, PLAIN, OVENS).topics == (
        NamedTopic(group=1, heading="Bread made of sourdough", question=f"Bread made of sourdough: {QUESTION}"),
        NamedTopic(group=3, heading="Ovens for bread", question=f"Ovens for bread: {QUESTION}"),
    )


def test_existing_headings_are_not_used() -> None:
    """A heading of the outline, or of an earlier group, is not a new topic."""
    assert named(SOURDOUGH, outline=("Bread made of sourdough",)).topics == ()
    assert [topic.group for topic in named(SOURDOUGH, SOURDOUGH).topics] == [1]


def test_groups_without_passages_have_no_name() -> None:
    """Group sizes may exceed the number of passages."""
    request = TopicNamerInput(question=QUESTION, outline=(), group_sizes=(2, 3))

    assert [topic.group for topic in fallback(request, Evidence(SOURDOUGH, encode)).topics] == [1]
    assert fallback(request, Evidence((), encode)).topics == ()


def test_a_long_question_is_shortened() -> None:
    """The question of a topic has a maximum length."""
    assert len(named(SOURDOUGH, question=f"{QUESTION} " * 600).topics[0].question) <= 1000


def test_the_prompt_contains_the_groups() -> None:
    """Groups are ranges of passage numbers."""
    request = TopicNamerInput(question=QUESTION, outline=("Cheese",), group_sizes=(2, 1))
    user = render(request, Evidence((*SOURDOUGH, *OVENS)))[1].content

    assert "Group 1: passages 1 to 2\nGroup 2: passages 3 to 3" in user
