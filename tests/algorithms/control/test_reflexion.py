"""Tests of the limit of revisions."""

import pytest

from tenure.algorithms.control.transitions import compute_max_revisions, is_repeated_critique


@pytest.mark.parametrize(
    ("limit", "made", "asked", "finishing", "most"),
    [
        (3, 1, False, False, 3),
        (3, 3, True, False, 4),
        (3, 1, True, False, 3),
        (0, 0, True, False, 1),
        (3, 1, True, True, 0),
    ],
)
def test_feedback_allows_one_more_revision(limit: int, made: int, asked: bool, finishing: bool, most: int) -> None:
    """Finishing allows no revision."""
    assert compute_max_revisions(limit, made, has_new_feedback=asked, is_finishing=finishing) == most


def test_repeated_critique_is_detected() -> None:
    """Case, punctuation and spacing do not matter; other words do."""
    assert is_repeated_critique("Say more  on mould!", ["Say more on mould."])
    assert not is_repeated_critique("Say more on rye.", ["Say more on mould."])
    assert not is_repeated_critique("Say more.", [])
