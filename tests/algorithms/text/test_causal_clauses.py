"""Tests of splitting causal sentences."""

import pytest

from tenure.algorithms.text.causal_clauses import split_causal_sentence

YEAST = "Warm yeast makes much gas."
RISES = "The dough of rye bread rises quickly."


@pytest.mark.parametrize(
    "text",
    [
        "Warm yeast makes much gas, so the dough of rye bread rises quickly.",
        "Warm yeast makes much gas, so that the dough of rye bread rises quickly.",
        "Warm yeast makes much gas; therefore, the dough of rye bread rises quickly.",
        "Warm yeast makes much gas, and thus the dough of rye bread rises quickly.",
        "Warm yeast makes much gas, which is why the dough of rye bread rises quickly.",
        "Warm yeast makes much gas, which means that the dough of rye bread rises quickly.",
        "The dough of rye bread rises quickly, because warm yeast makes much gas.",
        "The dough of rye bread rises quickly because warm yeast makes much gas.",
        "The dough of rye bread rises quickly, since warm yeast makes much gas.",
    ],
)
def test_causal_sentence_is_split_into_premise_and_conclusion(text: str) -> None:
    """Both orders of the clauses are recognised, and each clause becomes a sentence of the same words."""
    assert split_causal_sentence(text) == (YEAST, RISES)


def test_alternatives_named_in_the_clause_are_no_reference() -> None:
    """A clause with "neither … nor …" does not refer to the other clause if it names both alternatives."""
    found = split_causal_sentence(
        "The ovens are kept in the yard, since neither the shop nor the kitchen has a chimney."
    )

    assert found is not None and found.premise == "Neither the shop nor the kitchen has a chimney."
    assert split_causal_sentence("The ovens are kept in the yard, since neither has a chimney on its roof.") is None


@pytest.mark.parametrize(
    "text",
    [
        "Warm yeast makes much gas and the dough of rye bread rises quickly.",
        "Bakers claim that yeast makes much gas, so the dough of rye bread rises quickly.",
        "When yeast is warm the gas is plenty, so the dough of rye bread rises quickly.",
        "Warm yeast may make much gas, so the dough of rye bread rises quickly.",
        "Warm yeast makes much gas, so it lets the dough of rye bread rise.",
        "Warm yeast makes much gas, so its dough has to rest in a bowl.",
        "Warm yeast makes much gas, so much that the dough rises quickly.",
        "Warm yeast makes much gas, so to bake the bread takes an hour.",
        "Warm yeast makes much gas, so the dough rises, because the gas has no way out.",
        "The dough does not rise quickly because the yeast makes much gas.",
        "The dough of rye bread rises, because yeast makes much gas, and is baked late.",
        "The dough of rye bread rises quickly, because yeast is warm.",
        "The dough of rye bread rises quickly because of the warm yeast in it.",
        "Warm yeast makes much gas, so make_dough lets the bread rise quickly.",
        "The dough of wheat is not touched by that, so the dough of rye bread rises quickly.",
        "Warm yeast makes gas. The guild is old, so the dough of rye bread rises quickly.",
    ],
)
def test_dependent_clauses_are_not_split(text: str) -> None:
    """Opinions, conditions, possibilities, pronouns, ambiguous negations and fragments are not split."""
    assert split_causal_sentence(text) is None
