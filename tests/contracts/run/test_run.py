"""What bounds a run."""

from typing import Any

import pytest

from tenure.contracts.run.run import Limits


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
def test_calls_draw_from_budgets_of_the_model(limits: dict[str, Any], expected: bool) -> None:
    """Tokens, money and calls are metered; searches and time are other accounts."""
    assert Limits(**limits).meters_calls is expected
