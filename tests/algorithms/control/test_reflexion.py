"""How often what was criticised is made again."""

import pytest

from tenure.algorithms.control.reflexion import compute_max_revisions, is_repeated_critique


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
def test_a_word_is_worth_one_time_more(limit: int, made: int, asked: bool, finishing: bool, most: int) -> None:
    """The limit holds but for what a person has asked for, and who finishes gets nothing made again."""
    assert compute_max_revisions(limit, made, has_new_feedback=asked, is_finishing=finishing) == most


def test_a_critique_that_returns_is_known() -> None:
    """Case, marks and spacing make no new critique; other words do."""
    assert is_repeated_critique("Say more  on mould!", ["Say more on mould."])
    assert not is_repeated_critique("Say more on rye.", ["Say more on mould."])
    assert not is_repeated_critique("Say more.", [])
