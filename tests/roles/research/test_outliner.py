"""Tests of the outliner's fallback."""

from dataclasses import replace

from tenure.roles.research.outliner import OutlinerInput, fallback
from tests.roles.cases import EVIDENCE, QUESTION
from tests.support.passages import passage

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
    return [topic.heading for topic in fallback(asked, UNDER_HEADINGS).topics]


def test_the_parts_of_a_question_are_its_topics() -> None:
    """Every sub-question has its topic, in order, independent of the evidence."""
    assert headings("How do I bake rye bread?", "What is an oven?") == ["How to bake rye bread", "Oven"]


def test_a_question_with_one_part_is_the_topic() -> None:
    """The only section is on the question as a whole, whatever headings the documents have."""
    assert headings("How is bread made?") == ["How is bread made?"]
    assert headings("What is gold?", question="What is gold?") == ["Gold"]


def test_the_number_of_topics_is_limited() -> None:
    """At most the allowed number of parts become topics."""
    assert len(headings("What is an oven?", "What is rye?", "What is flour?", max_topics=2)) == 2


def test_a_long_question_is_shortened() -> None:
    """A question beyond the maximum length of a topic's question is shortened, not rejected."""
    long = "How is bread made " + "and kept " * 400
    asked = OutlinerInput(question=long, sub_questions=(long,), max_topics=3)

    assert all(len(topic.question) <= 1000 for topic in fallback(asked, UNDER_HEADINGS).topics)
    assert len(fallback(asked, EVIDENCE).topics) >= 1
    assert len(fallback(asked.model_copy(update={"question": QUESTION}), replace(EVIDENCE, passages=())).topics) == 1
