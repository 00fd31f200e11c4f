"""The type of a question."""

import pytest

from tenure.algorithms.retrieval.query_type import classify, settled
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
    ],
)
def test_the_type_with_most_patterns_wins(question: str, kind: QueryType) -> None:
    """Each of the document's types is known by its patterns; without any a question is factual."""
    assert classify(question).primary == kind


def test_ties_go_to_the_later_type_and_others_are_secondary() -> None:
    """A more special type wins over a general one with as many hits."""
    found = classify("What is better than rye?")

    assert (found.primary, found.hits, found.secondary) == ("comparative", 1, ("factual",))


def test_without_a_pattern_there_are_no_hits() -> None:
    """No hit is reported as none, so that a model can be asked."""
    assert classify("bread, please") == ("factual", 0, ())


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
def test_two_hits_settle_the_type(question: str, kind: QueryType) -> None:
    """From two patterns on the patterns decide, whatever was judged by reading."""
    found = classify(question)

    assert (found.primary, found.conclusive) == (kind, True)
    assert settled(question, "factual" if kind != "factual" else "causal") == kind


def test_one_hit_leaves_the_type_to_judgement() -> None:
    """Below two patterns the judgement of whoever read the question counts."""
    assert not classify("Compare rye and wheat").conclusive
    assert settled("Compare rye and wheat", "evaluative") == "evaluative"


def test_confidence_is_hits_by_types() -> None:
    """The document's measure: two of eight types' worth of patterns is a quarter."""
    assert classify("Should we, and is it worth it?").confidence == 0.25
    assert classify("bread").confidence == 0.0


def test_what_stands_far_behind_does_not_count() -> None:
    """A long document pasted behind a question does not change its type."""
    assert classify("Bread " * 1000 + "should we assess it?").hits == 0
