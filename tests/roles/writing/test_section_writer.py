"""The section writer's twin, and the brief it shares with the rewriter."""

from dataclasses import replace

from tenure.roles.base import Evidence
from tenure.roles.prompting import WrittenText
from tenure.roles.writing.section_writer import SectionWriterInput, brief, offline
from tests.roles.cases import EVIDENCE, MADE, QUESTION, RIPENS

ON_BREAD = SectionWriterInput(question=QUESTION, topic="Making bread", topic_question="How is bread made?")


def said(text: WrittenText) -> list[str]:
    return [sentence.text for block in text.blocks for sentence in block.sentences]


def test_a_section_is_written_from_what_is_on_its_topic() -> None:
    """Sentences on the topic are taken to the letter, each with its passage; the rest is left."""
    text = offline(ON_BREAD, EVIDENCE)

    assert MADE in said(text)
    assert RIPENS not in said(text)
    assert all(
        sentence.text in EVIDENCE.passages[number - 1].text
        for block in text.blocks
        for sentence in block.sentences
        for number in sentence.passages
    )


def test_a_topic_the_evidence_does_not_know_has_no_text() -> None:
    """No blocks are better than text about something else."""
    silent = tuple(replace(p, relevance=0.0) for p in EVIDENCE.passages)
    asked = SectionWriterInput(question="What is gold?", topic="Gold", topic_question="What is gold?")

    assert offline(asked, replace(EVIDENCE, passages=silent)) == WrittenText(blocks=())
    assert offline(asked, Evidence()) == WrittenText(blocks=())


def test_a_brief_says_what_to_write_and_what_not() -> None:
    """Question, topic, other sections and wishes stand in it, as far as there are any."""
    full = brief(ON_BREAD.model_copy(update={"other_topics": ("Cheese",), "wishes": ("Say more on rye",)}))

    assert "<topic>\nMaking bread\nHow is bread made?\n</topic>" in full
    assert "- Cheese" in full and "- Say more on rye" in full
    assert "feedback" not in brief(ON_BREAD) and "Other sections" not in brief(ON_BREAD)
