"""Tests of the answerer's fallback and of the conversation in its prompt."""

from tenure.algorithms.writing.brief import NOT_CERTAIN
from tenure.roles.base import Evidence
from tenure.roles.prompting import WrittenText
from tenure.roles.writing.answerer import AnswererInput, fallback, render
from tests.roles.cases import CASES, EVIDENCE, MADE, QUESTION, RIPENS


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
