"""Tests of the answerer's fallback and of the conversation in its prompt."""

from dataclasses import replace

from tenure.roles.base import Evidence
from tenure.roles.prompting import WrittenText
from tenure.roles.writing.answerer import AnswererInput, fallback, render
from tests.roles.cases import CASES, EVIDENCE, MADE, QUESTION, RIPENS


def test_an_answer_consists_of_relevant_sentences() -> None:
    """Relevant sentences are used verbatim, each with its passage; others are omitted."""
    text = fallback(AnswererInput(topic=QUESTION, question="What is bread made from?"), EVIDENCE)
    said = [sentence.text for block in text.blocks for sentence in block.sentences]

    assert MADE in said
    assert RIPENS not in said


def test_a_question_without_evidence_has_no_answer() -> None:
    """Without relevant passages the answer has no blocks."""
    silent = tuple(replace(p, relevance=0.0) for p in EVIDENCE.passages)
    asked = AnswererInput(topic=QUESTION, question="Who mines gold?")

    assert fallback(asked, replace(EVIDENCE, passages=silent)) == WrittenText(blocks=())
    assert fallback(asked, Evidence()) == WrittenText(blocks=())


def test_a_first_question_has_no_conversation() -> None:
    """The prompt contains earlier exchanges only if there are any, an empty answer as such."""
    alone = render(AnswererInput(topic=QUESTION, question="What is bread made from?"), EVIDENCE)[1].content
    case = CASES["answerer"]
    later = render(case.input, case.evidence)[1].content  # type: ignore[arg-type]

    assert "conversation" not in alone
    assert "Asked: Who sells it?\nAnswered: nothing was found" in later
