"""Tests of cycles of dependencies."""

import pytest

from tenure.algorithms.research.planning import find_cycle


@pytest.mark.parametrize(
    ("needs", "cycle"),
    [
        ({}, ()),
        ({"a": (), "b": ("a",), "c": ("a", "b")}, ()),
        ({"a": ("a",)}, ("a", "a")),
        ({"a": (), "b": ("a", "c"), "c": ("b",)}, ("b", "c", "b")),
    ],
)
def test_a_cycle_is_found(needs: dict[str, tuple[str, ...]], cycle: tuple[str, ...]) -> None:
    """A cycle begins and ends with the same key; dependencies that can be ordered have none."""
    found = find_cycle(needs)

    assert found[:1] == found[-1:]
    assert set(found) == set(cycle)
