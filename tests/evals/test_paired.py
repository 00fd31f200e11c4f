"""Test the comparison of two systems over the same questions."""

import pytest

from evals.paired import compare_pairs


def test_a_difference_has_the_interval_of_the_resamples() -> None:
    """The mean is that of all pairs; an equal difference has no spread, and one of chance includes 0."""
    sure = compare_pairs([1.0] * 20, [0.5] * 20)
    doubtful = compare_pairs([1.0, 0.0] * 10, [0.0, 1.0] * 10)

    assert sure == (0.5, 0.5, 0.5)
    assert doubtful.mean == 0 and doubtful.low < 0 < doubtful.high
    assert compare_pairs([1.0, 0.0] * 10, [0.0, 1.0] * 10) == doubtful


def test_few_questions_have_no_interval() -> None:
    """Four pairs could agree by chance."""
    with pytest.raises(ValueError, match="4 questions are too few"):
        compare_pairs([1.0] * 4, [0.0] * 4)
