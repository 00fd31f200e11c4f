"""Tests of query classification."""

import pytest

from tenure.algorithms.retrieval.query_type import choose_query_type, classify_query
from tenure.contracts.run.run import QueryType


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is bread?", "factual"),
        ("Explain why bread rises", "analytical"),
        ("Compare rye and wheat", "comparative"),
        ("How to bake bread, step by step", "procedural"),
        ("Should we bake, and is it worth it?", "evaluative"),
        ("What if yeast is left out?", "hypothetical"),
        ("What happens to the dough when its yeast is killed?", "hypothetical"),
        ("What would happen without yeast?", "hypothetical"),
        ("Yeast leads to bubbles because it ferments, due to sugar", "causal"),
        ("A timeline of bread", "temporal"),
        ("Bread", "factual"),
        ("What is climate change?", "factual"),
        ("How does climate change affect global food production?", "analytical"),
        ("How does the impact of climate change differ between coastal and inland regions?", "comparative"),
        ("How much more does a heat pump cost than a gas boiler?", "comparative"),
        ("How can local governments reduce carbon emissions?", "procedural"),
        ("Is investing in renewable energy an effective way to combat climate change?", "evaluative"),
        ("If the pound falls, what happens to exports?", "hypothetical"),
        ("How did unemployment in Spain change between 2010 and 2020?", "temporal"),
        ("How has the price of lithium changed since 2015?", "temporal"),
    ],
)
def test_type_with_most_hits_wins(question: str, kind: QueryType) -> None:
    """Each type is recognised by its patterns; without any hit a question is factual."""
    assert classify_query(question).primary == kind


def test_ties_go_to_the_later_type() -> None:
    """Of equal hits the more specific type wins."""
    found = classify_query("What is better than rye?")

    assert (found.primary, found.hits) == ("comparative", 1)


def test_no_pattern_has_no_hits() -> None:
    """A question without hits is reported as such, so that a model can decide."""
    assert classify_query("bread, please") == ("factual", 0)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is climate change, and where is it felt?", "factual"),
        ("Explain how does climate change affect food", "analytical"),
        ("What is the difference between coast and inland, compared by rain?", "comparative"),
        ("Instructions and steps to lower emissions", "procedural"),
        ("Assess whether we should invest", "evaluative"),
        ("Suppose the ice melts: what would happen if it did?", "hypothetical"),
        ("It results in floods due to rain", "causal"),
        ("The history of ice in chronological order", "temporal"),
    ],
)
def test_two_hits_are_conclusive(question: str, kind: QueryType) -> None:
    """From two hits the patterns override the model."""
    found = classify_query(question)

    assert (found.primary, found.is_conclusive) == (kind, True)
    assert choose_query_type(question, "factual" if kind != "factual" else "causal") == kind


def test_one_hit_leaves_the_type_to_the_model() -> None:
    """Below two hits the model decides."""
    assert not classify_query("Compare rye and wheat").is_conclusive
    assert choose_query_type("Compare rye and wheat", "evaluative") == "evaluative"


def test_pasted_text_is_ignored() -> None:
    """A long document after a question does not change its type."""
    assert classify_query("Bread " * 1000 + "should we assess it?").hits == 0
