"""Tests of the section writer's fallback and of the brief that it shares with the rewriter."""

from dataclasses import replace

from tenure.algorithms.writing.composition import ComposedBlock, ComposedSentence
from tenure.roles.base import Evidence
from tenure.roles.prompting import WrittenText
from tenure.roles.writing.section_writer import (
    SectionWriterInput,
    add_missing_sides,
    fallback,
    render_brief,
    render_positions,
)
from tests.roles.cases import EVIDENCE, MADE, QUESTION, RIPENS
from tests.support.passages import held, passage

ON_BREAD = SectionWriterInput(question=QUESTION, topic="Making bread", topic_question="How is bread made?")


def said(text: WrittenText) -> list[str]:
    return [sentence.text for block in text.blocks for sentence in block.sentences]


def test_a_section_consists_of_relevant_sentences() -> None:
    """Sentences on the topic are used verbatim, each with its passage; others are omitted."""
    text = fallback(ON_BREAD, EVIDENCE)

    assert MADE in said(text)
    assert RIPENS not in said(text)
    assert all(
        sentence.text in EVIDENCE.passages[number - 1].text
        for block in text.blocks
        for sentence in block.sentences
        for number in sentence.passages
    )


def test_a_topic_without_evidence_has_no_text() -> None:
    """Without relevant passages the section has no blocks."""
    silent = tuple(replace(p, relevance=0.0) for p in EVIDENCE.passages)
    asked = SectionWriterInput(question="What is gold?", topic="Gold", topic_question="What is gold?")

    assert fallback(asked, replace(EVIDENCE, passages=silent)) == WrittenText(blocks=())
    assert fallback(asked, Evidence()) == WrittenText(blocks=())


def test_a_brief_contains_topic_and_limits() -> None:
    """It contains question, topic, other sections and feedback, if there are any."""
    said = ON_BREAD.model_copy(update={"other_topics": ("Cheese",), "feedback": ("Say more on rye",)})
    full, bare = render_brief(said, EVIDENCE.passages), render_brief(ON_BREAD, EVIDENCE.passages)

    assert "<topic>\nMaking bread\nHow is bread made?\n</topic>" in full
    assert "- Cheese" in full and "- Say more on rye" in full
    assert "feedback" not in bare and "Other sections" not in bare


def test_a_section_on_the_whole_question_does_not_repeat_it() -> None:
    """A report of one section has its question once in the prompt."""
    asked = ON_BREAD.model_copy(update={"topic": "Bread?", "topic_question": ON_BREAD.question})
    whole = render_brief(asked, EVIDENCE.passages)

    assert whole.count(ON_BREAD.question) == 1 and "<topic>\nThe whole question, in a single section.\n" in whole


DISPUTE = held("Does bread need salt?", [passage("Bread needs salt.", "a")], [passage("Bread needs no salt.", "b")])


def test_a_model_reads_which_passages_are_for_and_against() -> None:
    """The numbers of both sides are in the prompt; a side without a passage is left out."""
    passages = (
        passage("Glaciers are cold.", "ice"),
        passage("Bread needs no salt.", "b"),
        passage("Bread needs salt.", "a"),
    )

    assert "For it: passages 3. Against it: passages 2." in render_positions((DISPUTE,), passages)
    assert render_positions((DISPUTE,), passages[:2]) == "" and render_positions((), passages) == ""


def test_a_composed_section_has_both_sides() -> None:
    """The side that the composed text lacks is appended as a quote; text without sentences stays empty."""
    passages = (passage("Bread needs salt.", "a"), passage("Bread needs no salt.", "b"))
    blocks = [ComposedBlock("paragraph", (ComposedSentence("Bread needs salt.", 1),))]

    whole = add_missing_sides(blocks, (DISPUTE,), passages)

    assert [s.text for block in whole for s in block.sentences] == ["Bread needs salt.", "Bread needs no salt."]
    assert whole[1].sentences[0].passage == 2
    assert add_missing_sides([], (DISPUTE,), passages) == []
    assert add_missing_sides(blocks, (DISPUTE.model_copy(update={"supporting": ()}),), passages) == blocks
