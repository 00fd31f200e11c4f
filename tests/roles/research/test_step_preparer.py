"""Tests of the step preparer: names that passages have, and queries that stay as planned."""

import pytest

from tenure.contracts.research.spiral import InsertedName, StepPreparation
from tenure.roles.base import Evidence
from tenure.roles.research.step_preparer import (
    EarlierStep,
    StepPreparerInput,
    StepPreparerOutput,
    check_names,
    describe_earlier_steps,
    fallback,
)
from tests.support.passages import passage

PLANNED = "Where was he born?"


def prepare(said: StepPreparerOutput | None = None) -> StepPreparation:
    """Return the planned query as a model, or nothing, prepares it."""
    evidence = Evidence((passage("Frank Herbert wrote Dune after years of reading.", title="Dune"),))
    asked = StepPreparerInput(
        question=PLANNED, query=PLANNED, earlier=(EarlierStep(query="Who wrote Dune?", passages=1),)
    )
    return check_names(asked, said or fallback(asked, evidence), evidence)


def said(query: str, *names: str, answered_by: int = 0) -> StepPreparerOutput:
    return StepPreparerOutput(query=query, names=names, answered_by=answered_by)


def test_a_name_is_inserted_with_its_source() -> None:
    """A name that a passage has becomes part of the query; without a model the query stays as planned."""
    assert prepare(said("Where was Frank Herbert born?", "Frank Herbert")) == StepPreparation(
        query="Where was Frank Herbert born?", names=(InsertedName(name="Frank Herbert", title="Dune"),)
    )
    assert prepare() == StepPreparation(query=PLANNED)


@pytest.mark.parametrize(
    "answer",
    [
        said("Where was Brian Herbert born?", "Brian Herbert"),
        said("Where was Frank Herbert born?"),
        said("Where was he born in Oslo?", "Frank Herbert"),
        said("Where was Frank Herbert of Oslo born?", "Frank Herbert"),
        said("Where was he born?", "he", ""),
    ],
)
def test_a_query_of_a_model_needs_names_of_passages(answer: StepPreparerOutput) -> None:
    """A query with a name that no passage has, or without a new name, is replaced by the planned one."""
    assert prepare(answer) == StepPreparation(query=PLANNED)


def test_a_passage_that_does_not_exist_answers_nothing() -> None:
    """A number without a passage is ignored."""
    found = prepare(said("Where was Frank Herbert born?", "Frank Herbert", answered_by=7))

    assert (found.query, found.answered_by) == ("Where was Frank Herbert born?", 0)


def test_earlier_steps_are_described_with_their_passages() -> None:
    """The passages of the steps follow each other."""
    steps = (EarlierStep(query="a", passages=2), EarlierStep(query="b", passages=0), EarlierStep(query="c", passages=1))

    assert describe_earlier_steps(steps) == ["a (passages 1 to 2)", "b (none)", "c (passage 3)"]
