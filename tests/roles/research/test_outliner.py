"""The outliner's twin."""

from dataclasses import replace

from tenure.roles.research.outliner import OutlinerInput, offline
from tests.passages import passage
from tests.roles.cases import EVIDENCE, QUESTION

UNDER_HEADINGS = replace(
    EVIDENCE,
    passages=(
        passage("x", headings=("Rye bread",), relevance=0.9),
        passage("x", "oven", headings=("Bread ovens",), relevance=0.6),
        passage("x", "wine", headings=("Wine cellars",), relevance=0.6),
    ),
)


def headings(*sub_questions: str, max_topics: int = 4, question: str = "How is bread made?") -> list[str]:
    asked = OutlinerInput(question=question, sub_questions=sub_questions, max_topics=max_topics)
    return [topic.heading for topic in offline(asked, UNDER_HEADINGS).topics]


def test_the_parts_of_a_question_are_its_topics() -> None:
    """Every part has its section, in order, whatever the evidence is about."""
    assert headings("How do I bake rye bread?", "What is an oven?") == ["How to bake rye bread", "Oven"]


def test_an_undivided_question_has_the_headings_near_to_it() -> None:
    """The evidence's own headings are the topics where the question has no parts; noise is none of them."""
    assert headings("How is bread made?") == ["Rye bread", "Bread ovens"]


def test_without_a_heading_near_the_question_is_the_topic() -> None:
    """Where no heading helps there is one section, on the question itself."""
    assert headings("What is gold?", question="What is gold?") == ["Gold"]


def test_there_are_at_most_as_many_topics_as_asked_for() -> None:
    """The limit holds for parts and for headings."""
    assert len(headings("What is an oven?", "What is rye?", "What is flour?", max_topics=2)) == 2
    assert len(headings("How is bread made?", max_topics=1)) == 1


def test_a_very_long_question_still_has_an_outline() -> None:
    """A question longer than a topic's question may be is cut, not refused."""
    long = "How is bread made " + "and kept " * 400
    asked = OutlinerInput(question=long, sub_questions=(long,), max_topics=3)

    assert all(len(topic.question) <= 1000 for topic in offline(asked, UNDER_HEADINGS).topics)
    assert len(offline(asked, EVIDENCE).topics) >= 1
    assert len(offline(asked.model_copy(update={"question": QUESTION}), replace(EVIDENCE, passages=())).topics) == 1
