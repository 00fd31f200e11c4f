"""Tests of the answerer's fallback and of the conversation in its prompt."""

import pytest

from tenure.algorithms.writing.brief import NOT_CERTAIN
from tenure.roles.base import Evidence
from tenure.roles.prompting import WrittenText
from tenure.roles.writing.answerer import AnswererInput, fallback, parse_answer, render
from tests.roles.cases import CASES, EVIDENCE, MADE, QUESTION, RIPENS

TABLE = "| | Time |\n|---|---|\n| Bread | two hours [1] |"


def test_an_answer_consists_of_relevant_excerpts() -> None:
    """The passage that answers is shown; others are omitted."""
    text = fallback(AnswererInput(topic=QUESTION, question="What is bread made from?"), EVIDENCE)
    said = [claim.text for block in text.brief for claim in block.claims]

    assert MADE in said
    assert RIPENS not in said


def test_an_uncertain_answer_says_so() -> None:
    """Passages that do not answer are shown as the nearest ones; without passages there is no answer."""
    asked = AnswererInput(topic=QUESTION, question="Who mines gold for the bread of Rome?")

    assert fallback(asked, EVIDENCE).brief[0].claims[0].text == NOT_CERTAIN
    assert fallback(asked, Evidence()) == WrittenText()


def test_a_first_question_has_no_conversation() -> None:
    """The prompt contains earlier exchanges only if there are any, an empty answer as such."""
    alone = render(AnswererInput(topic=QUESTION, question="What is bread made from?"), EVIDENCE)[1].content
    case = CASES["answerer"]
    later = render(case.input, case.evidence)[1].content  # type: ignore[arg-type]

    assert "conversation" not in alone
    assert "Asked: Who sells it?\nAnswered: nothing was found" in later


def test_an_answer_is_markdown_in_its_order() -> None:
    """Sentences have the numbers of their marks, "Answer:" is no short answer, and a table keeps its position."""
    blocks = parse_answer(f"Answer: It rises for two hours [1].\n\n{TABLE}\n\n- Rye is older [3].").blocks

    assert [block.kind for block in blocks] == ["paragraph", "table", "bullets"]
    assert (blocks[0].sentences[0].text, blocks[0].sentences[0].passages) == ("Answer: It rises for two hours.", (1,))
    assert blocks[1].rows[0].cells[0].passages == (1,)


@pytest.mark.parametrize("text", ["NOTHING", "**NOTHING**.\n"])
def test_a_model_may_say_that_nothing_answers(text: str) -> None:
    """The word alone is an answer without blocks, for which the reader is informed."""
    assert parse_answer(text) == WrittenText()


def test_an_empty_answer_is_refused_with_what_to_write() -> None:
    """An empty answer is corrected, since it may be a fault of the model."""
    with pytest.raises(ValueError, match="or NOTHING"):
        parse_answer(" \n")
