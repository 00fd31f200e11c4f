"""The topic namer's twin and the groups it is shown."""

from tenure.roles.base import Evidence
from tenure.roles.research.topic_namer import NamedTopic, TopicNamerInput, TopicNamerOutput, offline, render
from tests.passages import passage
from tests.worlds import encode

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
    request = TopicNamerInput(question=question, outline=outline, sizes=tuple(len(group) for group in groups))
    return offline(request, Evidence(passages, encode))  # type: ignore[arg-type]


def test_a_group_is_named_by_the_heading_its_passages_stand_under() -> None:
    """Each group that has a heading near the question is a topic, with a question of its own."""
    assert named(SOURDOUGH, PLAIN, OVENS).topics == (
        NamedTopic(group=1, heading="Bread made of sourdough", question=f"Bread made of sourdough: {QUESTION}"),
        NamedTopic(group=3, heading="Ovens for bread", question=f"Ovens for bread: {QUESTION}"),
    )


def test_what_the_outline_or_another_group_has_is_not_named() -> None:
    """A heading of the outline, and one that was just given, is no new topic."""
    assert named(SOURDOUGH, outline=("Bread made of sourdough",)).topics == ()
    assert [topic.group for topic in named(SOURDOUGH, SOURDOUGH).topics] == [1]


def test_groups_whose_passages_are_gone_have_no_name() -> None:
    """Sizes may speak of more passages than are there."""
    request = TopicNamerInput(question=QUESTION, outline=(), sizes=(2, 3))

    assert [topic.group for topic in offline(request, Evidence(SOURDOUGH, encode)).topics] == [1]
    assert offline(request, Evidence((), encode)).topics == ()


def test_a_long_question_is_cut() -> None:
    """The question of a topic keeps to its bound."""
    assert len(named(SOURDOUGH, question=f"{QUESTION} " * 600).topics[0].question) <= 1000


def test_the_prompt_says_which_passages_make_a_group() -> None:
    """Groups are ranges of passage numbers."""
    request = TopicNamerInput(question=QUESTION, outline=("Cheese",), sizes=(2, 1))
    user = render(request, Evidence((*SOURDOUGH, *OVENS)))[1].content

    assert "Group 1: passages 1 to 2\nGroup 2: passages 3 to 3" in user
