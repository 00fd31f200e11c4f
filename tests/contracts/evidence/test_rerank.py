"""The second stage as it is asked for."""

from datetime import date

import pytest

from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.evidence.rerank import Recency, Rerank


def test_nothing_is_asked_for_unless_a_step_is_named() -> None:
    """How many candidates there would be is no step; each of the others is one."""
    steps: list[Rerank] = [
        Rerank(late_interaction=0.1),
        Rerank(endpoint=0.1),
        Rerank(recency=Recency()),
        Rerank(authority={".md": 2.0}),
        Rerank(diversity=0.1),
    ]

    assert not Rerank(candidates=9).asked
    assert all(one.asked for one in steps)


@pytest.mark.parametrize(
    "rerank",
    [
        {"candidates": 0},
        {"late_interaction": 1.5},
        {"late_interaction": 0.6, "endpoint": 0.6},
        {"recency": {"half_life_days": 0}},
        {"recency": {"as_of": "yesterday"}},
        {"authority": {".md": -1}},
        {"authority": {"": 2}},
        {"diversity": 1},
    ],
)
def test_bad_values_are_refused(rerank: dict[str, object]) -> None:
    """A value outside its range is an error where the request is made."""
    with pytest.raises(ValueError, match="validation error"):
        Rerank.model_validate(rerank)


def test_a_day_travels_as_text() -> None:
    """A request with a day survives JSON."""
    request = SearchRequest(query="q", corpora=("c",), rerank=Rerank(recency=Recency(as_of=date(2024, 6, 1))))

    assert SearchRequest.model_validate_json(request.model_dump_json()) == request
