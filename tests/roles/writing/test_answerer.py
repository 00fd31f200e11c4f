"""The answerer's twin, and what a model is told of the conversation."""

from dataclasses import replace

from tenure.roles.base import Evidence
from tenure.roles.prompting import WrittenText
from tenure.roles.writing.answerer import AnswererInput, offline, render
from tests.roles.cases import CASES, EVIDENCE, MADE, QUESTION, RIPENS


def test_an_answer_is_made_of_what_is_on_the_question() -> None:
    """Sentences that answer are taken to the letter, each with its passage; the rest is left."""
    text = offline(AnswererInput(topic=QUESTION, question="What is bread made from?"), EVIDENCE)
    said = [sentence.text for block in text.blocks for sentence in block.sentences]

    assert MADE in said
    assert RIPENS not in said


def test_a_question_the_evidence_does_not_know_has_no_answer() -> None:
    """No blocks are better than text about something else."""
    silent = tuple(replace(p, relevance=0.0) for p in EVIDENCE.passages)
    asked = AnswererInput(topic=QUESTION, question="Who mines gold?")

    assert offline(asked, replace(EVIDENCE, passages=silent)) == WrittenText(blocks=())
    assert offline(asked, Evidence()) == WrittenText(blocks=())


def test_a_first_question_has_no_conversation() -> None:
    """What was said before stands in the prompt only where something was, an empty answer as such."""
    alone = render(AnswererInput(topic=QUESTION, question="What is bread made from?"), EVIDENCE)[1].content
    case = CASES["answerer"]
    later = render(case.input, case.evidence)[1].content  # type: ignore[arg-type]

    assert "conversation" not in alone
    assert "Asked: Who sells it?\nAnswered: nothing was found" in later
