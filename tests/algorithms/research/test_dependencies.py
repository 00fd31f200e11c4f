"""Layers of dependencies."""

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
def test_each_layer_needs_only_earlier_ones(needs: dict[object, tuple[object, ...]], expected: object) -> None:
    """What can be done at once shares a layer, in the order in which it was named."""
    assert sort_into_layers(needs) == expected


@pytest.mark.parametrize(
    ("needs", "cycle"),
    [
        ({"a": ("a",)}, ("a", "a")),
        ({"a": (), "b": ("a", "d"), "c": ("b",), "d": ("c",)}, ("b", "d", "c", "b")),
        ({"x": ("a",), "a": ("b",), "b": ("a",)}, ("a", "b", "a")),
    ],
)
def test_a_circle_is_named(needs: dict[str, tuple[str, ...]], cycle: tuple[str, ...]) -> None:
    """The error shows the way around, without what only leads there."""
    with pytest.raises(DependencyCycleError, match=" → ".join(cycle)) as refused:
        sort_into_layers(needs)

    assert refused.value.cycle == cycle


def test_an_unknown_dependency_is_named() -> None:
    """The error says who needs what, and what there is."""
    with pytest.raises(UnknownDependencyError, match="b depends on z, which does not exist; known are a, b"):
        sort_into_layers({"a": (), "b": ("z",)})


@given(st.integers(0, 12).flatmap(lambda n: st.tuples(*(st.sets(st.integers(0, max(i - 1, 0))) for i in range(n)))))
def test_an_order_that_exists_is_found(needs: tuple[set[int], ...]) -> None:
    """Whatever needs only smaller numbers can be laid in layers that hold each number once."""
    found = sort_into_layers(
        {number: {need for need in wanted if need < number} for number, wanted in enumerate(needs)}
    )
    place = {number: depth for depth, layer in enumerate(found) for number in layer}

    assert sorted(place) == list(range(len(needs)))
    assert all(place[need] < place[number] for number, wanted in enumerate(needs) for need in wanted if need < number)
