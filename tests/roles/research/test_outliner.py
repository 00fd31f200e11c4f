"""Tests of the outliner: its prompt and its fallback."""

from dataclasses import replace

from tenure.roles.outline_entries import OutlinerOutput, PlannedTopic
from tenure.roles.research.outliner import OutlinerInput, build_outline, fallback, render
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


def test_an_undivided_question_is_divided_by_rule() -> None:
    """Without sub-questions the parts of the question are the topics, each with the subject of the whole."""
    asked = OutlinerInput(question="How does Zell make bread? What has to be bought?", max_topics=4)

    assert [topic.question for topic in fallback(asked, EVIDENCE).topics] == [
        "How does Zell make bread?",
        "Zell: What has to be bought?",
    ]


def test_the_prompt_shows_documents_and_limits() -> None:
    """Passages are shown by document in their own order, and topics and searches are limited."""
    first, second = passage("Later.", "rye", start=90), passage("Earlier.", "rye", start=10)
    asked = OutlinerInput(question="How is bread made?", max_topics=4, max_queries=9)
    user = render(asked, replace(EVIDENCE, passages=(first, passage("Ovens.", "oven"), second)))[1].content

    assert user.index("Earlier.") < user.index("Later.") < user.index("Ovens.")
    assert "At most 4 topics, and at most 9 searches in all." in user
    assert "sub_questions" not in user


def test_topics_name_passages_by_the_numbers_of_the_prompt() -> None:
    """A number means the passage that the prompt shows under it; numbers that it does not show are ignored."""
    later, earlier, oven = passage("Later.", "rye", start=90), passage("Earlier.", "rye", start=10), passage("Ovens.")
    evidence = replace(EVIDENCE, passages=(later, oven, earlier))
    asked = OutlinerInput(question="How is bread made?", max_topics=4)
    output = OutlinerOutput(topics=(PlannedTopic(heading=" Rye ", question="What is rye?", known=(3, 1, 9)),))

    (topic,) = build_outline(asked, output, evidence).topics
    assert topic.heading == "Rye"
    assert [known.chunk for known in topic.passages] == [oven.chunk, earlier.chunk]
