"""Tests of the options of the second stage."""

from datetime import date

import pytest

from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions


def test_the_second_stage_is_disabled_by_default() -> None:
    """The number of candidates enables no step; each other option does."""
    steps: list[RerankOptions] = [
        RerankOptions(endpoint=0.1),
        RerankOptions(recency=RecencyOptions()),
        RerankOptions(authority={".md": 2.0}),
        RerankOptions(diversity=0.1),
    ]

    assert not RerankOptions(candidates=9).is_enabled
    assert all(one.is_enabled for one in steps)


@pytest.mark.parametrize(
    "rerank",
    [
        {"candidates": 0},
        {"endpoint": 1.5},
        {"recency": {"half_life_days": 0}},
        {"recency": {"as_of": "yesterday"}},
        {"authority": {".md": -1}},
        {"authority": {"": 2}},
        {"diversity": 1},
    ],
)
def test_values_out_of_range_are_rejected(rerank: dict[str, object]) -> None:
    """A value outside its range raises an error when the options are created."""
    with pytest.raises(ValueError, match="validation error"):
        RerankOptions.model_validate(rerank)


def test_a_date_survives_json() -> None:
    """Options with a date can be written to JSON and read back."""
    request = SearchRequest(
        query="q", corpora=("c",), rerank=RerankOptions(recency=RecencyOptions(as_of=date(2024, 6, 1)))
    )

    assert SearchRequest.model_validate_json(request.model_dump_json()) == request
