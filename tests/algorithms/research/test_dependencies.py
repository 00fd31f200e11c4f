"""Tests of the sorting of dependencies into layers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.research.dependencies import DependencyCycleError, UnknownDependencyError, sort_into_layers


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ({}, ()),
        ({"a": (), "b": ()}, (("a", "b"),)),
        ({"a": (), "b": ("a",), "c": ("a", "b")}, (("a",), ("b",), ("c",))),
        ({"c": ("a", "b"), "b": (), "a": ()}, (("b", "a"), ("c",))),
        ({1: (), 2: (1, 1)}, ((1,), (2,))),
    ],
)
def test_layers_depend_only_on_earlier_layers(needs: dict[object, tuple[object, ...]], expected: object) -> None:
    """Independent keys share a layer, in their original order."""
    assert sort_into_layers(needs) == expected


@pytest.mark.parametrize(
    ("needs", "cycle"),
    [
        ({"a": ("a",)}, ("a", "a")),
        ({"a": (), "b": ("a", "d"), "c": ("b",), "d": ("c",)}, ("b", "d", "c", "b")),
        ({"x": ("a",), "a": ("b",), "b": ("a",)}, ("a", "b", "a")),
    ],
)
def test_cycle_is_reported(needs: dict[str, tuple[str, ...]], cycle: tuple[str, ...]) -> None:
    """The error shows the cycle without keys that only lead to it."""
    with pytest.raises(DependencyCycleError, match=" → ".join(cycle)) as refused:
        sort_into_layers(needs)

    assert refused.value.cycle == cycle


def test_unknown_dependency_is_reported() -> None:
    """The error names the key, its dependency and the known keys."""
    with pytest.raises(UnknownDependencyError, match="b depends on z, which does not exist; known are a, b"):
        sort_into_layers({"a": (), "b": ("z",)})


@given(st.integers(0, 12).flatmap(lambda n: st.tuples(*(st.sets(st.integers(0, max(i - 1, 0))) for i in range(n)))))
def test_existing_order_is_found(needs: tuple[set[int], ...]) -> None:
    """Dependencies on smaller numbers can always be sorted, each number once."""
    found = sort_into_layers(
        {number: {need for need in wanted if need < number} for number, wanted in enumerate(needs)}
    )
    place = {number: depth for depth, layer in enumerate(found) for number in layer}

    assert sorted(place) == list(range(len(needs)))
    assert all(place[need] < place[number] for number, wanted in enumerate(needs) for need in wanted if need < number)
