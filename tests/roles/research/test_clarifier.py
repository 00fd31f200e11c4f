"""The clarifier's twin, and what it may answer."""

import pytest
from pydantic import ValidationError

from tenure.roles.base import Evidence
from tenure.roles.research.clarifier import ClarifierInput, ClarifierOutput, offline, render
from tests.passages import passage

EVIDENCE = Evidence((passage("The dough rises."),))


def test_what_is_open_is_asked_with_an_assumption() -> None:
    """The twin asks what the words leave open, and says what it assumes meanwhile."""
    assert offline(ClarifierInput(question="How does it rise?"), EVIDENCE) == ClarifierOutput(
        question="What does ‘it’ stand for in this question?", assumption="Bread"
    )


def test_a_clear_question_is_not_asked_back() -> None:
    """Nobody is asked without need."""
    assert offline(ClarifierInput(question="How does dough rise?"), EVIDENCE) == ClarifierOutput()


def test_long_titles_are_assumed_in_short() -> None:
    """What is assumed fits the schema, whatever a source is called."""
    long = Evidence((passage("The dough rises.", title="bread " * 90),))

    assert len(offline(ClarifierInput(question="How does it rise?"), long).assumption) <= 200


@pytest.mark.parametrize(
    "given", [{"question": "Which?"}, {"assumption": "rye"}, {"question": "Which?", "assumption": " "}]
)
def test_question_and_assumption_belong_together(given: dict[str, str]) -> None:
    """A question without an answer to go on with is refused, and so is an answer to no question."""
    with pytest.raises(ValidationError, match="belong together"):
        ClarifierOutput(**given)


def test_the_prompt_holds_question_and_passages() -> None:
    """What may be meant is judged by both."""
    prompt = render(ClarifierInput(question="How does it rise?"), EVIDENCE)[1].content

    assert "How does it rise?" in prompt and "The dough rises." in prompt
