"""Tests of the clarifier's fallback and of the validation of its output."""

import pytest
from pydantic import ValidationError

from tenure.roles.base import Evidence
from tenure.roles.research.clarifier import ClarifierInput, ClarifierOutput, fallback, render
from tests.support.passages import passage

EVIDENCE = Evidence((passage("The dough rises."),))


def test_an_ambiguous_question_is_asked_with_an_assumption() -> None:
    """The fallback asks about the ambiguity and states its assumption."""
    assert fallback(ClarifierInput(question="How does it rise?"), EVIDENCE) == ClarifierOutput(
        question="What does ‘it’ refer to in this question?", assumption="Bread"
    )


def test_a_clear_question_is_not_asked_back() -> None:
    """A clear question gives an empty output."""
    assert fallback(ClarifierInput(question="How does dough rise?"), EVIDENCE) == ClarifierOutput()


def test_assumptions_are_shortened() -> None:
    """The assumption fits the schema, also for a long title."""
    long = Evidence((passage("The dough rises.", title="bread " * 90),))

    assert len(fallback(ClarifierInput(question="How does it rise?"), long).assumption) <= 200


@pytest.mark.parametrize(
    "given", [{"question": "Which?"}, {"assumption": "rye"}, {"question": "Which?", "assumption": " "}]
)
def test_question_and_assumption_belong_together(given: dict[str, str]) -> None:
    """A question without an assumption is rejected, like an assumption without a question."""
    with pytest.raises(ValidationError, match="belong together"):
        ClarifierOutput(**given)


def test_the_prompt_contains_question_and_passages() -> None:
    """The prompt contains both."""
    prompt = render(ClarifierInput(question="How does it rise?"), EVIDENCE)[1].content

    assert "How does it rise?" in prompt and "The dough rises." in prompt
