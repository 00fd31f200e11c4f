"""Tests of scaling a report to a length."""

from typing import get_args

import pytest

from tenure.algorithms.control.length import scale_excerpts, scale_sections
from tenure.contracts.choices import ReportLength


def test_lengths_are_ordered() -> None:
    """A short report has fewer sections and excerpts than a standard one, and a long one more."""
    lengths: tuple[ReportLength, ...] = get_args(ReportLength)

    assert [scale_sections(4, length) for length in lengths] == [2, 4, 6]
    assert [scale_excerpts(5, length) for length in lengths] == [2, 5, 8]


@pytest.mark.parametrize("sections", [1, 2])
def test_a_report_has_at_least_one_section(sections: int) -> None:
    """Also a short report has a section."""
    assert scale_sections(sections, "short") == 1
