"""Tests of the limits of a run."""

from typing import Any

import pytest

from tenure.contracts.run.run import RunLimits


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, False),
        ({"max_searches": 3}, False),
        ({"max_tokens": 9}, True),
        ({"max_cost_usd": 0.1}, True),
        ({"max_calls": 1}, True),
    ],
)
def test_model_budgets_are_tokens_cost_and_calls(limits: dict[str, Any], expected: bool) -> None:
    """Limits of tokens, cost and calls are model budgets; those of searches and time are not."""
    assert RunLimits(**limits).has_model_budget is expected
