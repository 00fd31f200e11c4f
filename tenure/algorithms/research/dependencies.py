"""Dependencies: which things can be done side by side, and which have to wait for others.

Document 003 orders sub-questions by a topological sort of what they need; Kahn's algorithm by layers
keeps, beside the order, what may run at the same time.
"""

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


class DependencyError(ValueError):
    """Dependencies that no order can meet; the message is written for whoever stated them."""


class DependencyCycle(DependencyError):
    """Things that wait for each other."""

    def __init__(self, cycle: tuple[object, ...]) -> None:
        """Name the cycle, its first member again at the end."""
        way = " → ".join(str(node) for node in cycle)
        super().__init__(f"the dependencies go in a circle: {way}; each arrow reads “needs”. Remove one of them")
        self.cycle = cycle


class UnknownDependency(DependencyError):
    """Something waits for what is not there."""

    def __init__(self, node: object, needs: object, known: Collection[object]) -> None:
        """Name both, and what there is."""
        there = ", ".join(str(name) for name in known)
        super().__init__(f"{node} depends on {needs}, which is not there; there are {there}")
        self.node, self.needs = node, needs


def layers(needs: Mapping[N, Collection[N]]) -> tuple[tuple[N, ...], ...]:
    """Return the keys in layers: each needs only what stands in the layers before its own.

    Args:
        needs: everything there is, with what each of it needs.

    Returns:
        The layers; within one the order of `needs` is kept.

    Raises:
        UnknownDependency: something needs what is not a key.
        DependencyCycle: some of it waits for itself, directly or by way of others.
    """
    for node, wanted in needs.items():
        for other in wanted:
            if other not in needs:
                raise UnknownDependency(node, other, tuple(needs))
    found: list[tuple[N, ...]] = []
    done: set[N] = set()
    while len(done) < len(needs):
        layer = tuple(node for node, wanted in needs.items() if node not in done and done.issuperset(wanted))
        if not layer:
            raise DependencyCycle(_cycle({node: wanted for node, wanted in needs.items() if node not in done}, done))
        found.append(layer)
        done.update(layer)
    return tuple(found)


def _cycle(waiting: Mapping[N, Collection[N]], done: Collection[N]) -> tuple[N, ...]:
    """Return one circle among nodes that all wait for each other: whoever follows needs comes back."""
    way = [next(iter(waiting))]
    while True:
        node = next(other for other in waiting[way[-1]] if other not in done)
        if node in way:
            return (*way[way.index(node) :], node)
        way.append(node)
