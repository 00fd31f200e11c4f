"""Tests of the reranker's fallback and its prompt."""

from tenure.roles.base import Evidence
from tenure.roles.retrieval.reranker import RerankerInput, fallback, render
from tests.support.passages import passage

FOUND = (passage("Bread is made of flour."), passage("Cheese ripens.", "cheese"))


def test_the_fallback_keeps_the_order_of_the_search() -> None:
    """The order is unchanged; without passages it is empty."""
    assert fallback(RerankerInput(query="bread"), Evidence(FOUND)).order == (1, 2)
    assert fallback(RerankerInput(query="bread"), Evidence()).order == ()


def test_the_prompt_shows_passages_and_query() -> None:
    """The prompt contains numbered passages and the query."""
    user = render(RerankerInput(query="Who bakes?"), Evidence(FOUND))[1].content

    assert '<passage n="2"' in user
    assert "<question>\nWho bakes?\n</question>" in user
