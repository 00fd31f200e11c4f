"""Tests of the step preparer: names that passages have, and queries that stay as planned."""

from collections.abc import Sequence

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

DUNE = ("Dune", "Frank Herbert wrote Dune after years of reading.")
HERBERT = ("Herbert", "Frank Herbert was born in Tacoma near the sea.")
COLLEGIAN = ("The Collegian", "The Collegian is the student paper of Houston Baptist University in Houston.")


def prepared(
    query: str, *texts: tuple[str, str], earlier: str = "Who wrote Dune?", said: StepPreparerOutput | None = None
) -> StepPreparation:
    """Return a query as the fallback, or the answer of a model, prepares it."""
    evidence = Evidence(tuple(passage(text, title=title, start=1000 * n) for n, (title, text) in enumerate(texts)))
    asked = StepPreparerInput(question=query, query=query, earlier=(EarlierStep(query=earlier, passages=len(texts)),))
    return check_names(asked, said or fallback(asked, evidence), evidence)


def said(query: str, *names: str, answered_by: int = 0) -> StepPreparerOutput:
    return StepPreparerOutput(query=query, names=names, answered_by=answered_by)


def test_a_reference_is_replaced_by_the_answer_with_its_source() -> None:
    """The name that answers the earlier query replaces the reference, and its document is named."""
    assert prepared("Where was he born?", DUNE) == StepPreparation(
        query="Where was Frank Herbert born?", names=(InsertedName(name="Frank Herbert", title="Dune"),)
    )


def test_a_passage_that_answers_the_query_is_named() -> None:
    """A sentence with all content words of the new query and a new name answers it."""
    found = prepared("Where was he born?", DUNE, HERBERT)

    assert (found.query, found.answered_by, found.title) == ("Where was Frank Herbert born?", 2, "Herbert")


def test_a_query_without_a_reference_gets_a_name_that_occurs_with_its_own() -> None:
    """The bridge occurs in a sentence on a name of the query; the query keeps its open words."""
    query = "When was the institute that owned The Collegian founded?"
    found = prepared(query, COLLEGIAN, earlier=query)

    assert found.query == "Houston Baptist University institute founded"
    assert [name.name for name in found.names] == ["Houston Baptist University"]


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("Where was he born?", ()),
        ("Where was he born?", (("Cheese", "Cheese ripens in a cool cellar."),)),
        ("Which oven does the baker use?", (("Bread", "Bread is made in Rome by John Miller."),)),
        ("When was The Collegian founded?", (("Cheese", "Cheese ripens in Rome and in Paris."),)),
    ],
)
def test_without_evidence_the_query_stays_as_planned(query: str, texts: Sequence[tuple[str, str]]) -> None:
    """A name without a link to the query is not inserted."""
    assert prepared(query, *texts) == StepPreparation(query=query)


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
    assert prepared("Where was he born?", DUNE, said=answer) == StepPreparation(query="Where was he born?")


def test_a_passage_that_does_not_exist_answers_nothing() -> None:
    """A number without a passage is ignored."""
    found = prepared(
        "Where was he born?", DUNE, said=said("Where was Frank Herbert born?", "Frank Herbert", answered_by=7)
    )

    assert (found.query, found.answered_by) == ("Where was Frank Herbert born?", 0)


def test_earlier_steps_are_described_with_their_passages() -> None:
    """The passages of the steps follow each other."""
    steps = (EarlierStep(query="a", passages=2), EarlierStep(query="b", passages=0), EarlierStep(query="c", passages=1))

    assert describe_earlier_steps(steps) == ["a (passages 1 to 2)", "b (none)", "c (passage 3)"]
