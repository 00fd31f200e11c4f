"""The reranker's twin and what it is shown."""

from tenure.roles.base import Evidence
from tenure.roles.retrieval.reranker import RerankerInput, offline, render
from tests.passages import passage

FOUND = (passage("Bread is made of flour."), passage("Cheese ripens.", "cheese"))


def test_the_twin_keeps_the_order_of_the_search() -> None:
    """Every passage keeps its place; without passages there is nothing to place."""
    assert offline(RerankerInput(query="bread"), Evidence(FOUND)).order == (1, 2)
    assert offline(RerankerInput(query="bread"), Evidence()).order == ()


def test_the_prompt_shows_passages_and_query() -> None:
    """The model sees each passage by its number, and what was searched for."""
    user = render(RerankerInput(query="Who bakes?"), Evidence(FOUND))[1].content

    assert '<passage n="2"' in user
    assert "<question>\nWho bakes?\n</question>" in user
