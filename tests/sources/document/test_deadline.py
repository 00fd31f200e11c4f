"""Tests of the time for the pages of a file."""

import math

from tenure.sources.document import deadline


def test_a_recognized_page_sets_the_limits_anew() -> None:
    """After it, pages are parsed although the time of the file was used up."""
    deadline.start_file(0, 0)
    try:
        assert deadline.is_reached(0)
        deadline.start_scan()
        assert not deadline.is_reached(0)
    finally:
        deadline.start_file(math.inf, math.inf)
