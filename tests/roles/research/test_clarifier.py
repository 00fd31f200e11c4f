"""Tests of the clarifier's prompt and of the validation of its output."""

import pytest
from pydantic import ValidationError

from tenure.roles.base import Evidence
from tenure.roles.research.clarifier import ClarifierInput, ClarifierOutput, render
from tests.support.passages import passage

EVIDENCE = Evidence((passage("The dough rises."),))


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
