"""Sort tasks with dependencies into layers that can run concurrently (Kahn's algorithm)."""

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


class DependencyError(ValueError):
    """Dependencies that no order satisfies; the message is for the user who wrote them."""


class DependencyCycleError(DependencyError):
    """Tasks that depend on each other."""

    def __init__(self, cycle: tuple[object, ...]) -> None:
        """Create the error from a cycle whose first member is repeated at the end."""
        path = " → ".join(str(node) for node in cycle)
        super().__init__(f"the dependencies form a cycle: {path} (an arrow means “needs”); remove one of them")
        self.cycle = cycle


class UnknownDependencyError(DependencyError):
    """Dependency on a task that does not exist."""

    def __init__(self, node: object, needs: object, known: Collection[object]) -> None:
        """Create the error from the task, the missing dependency and the known tasks."""
        names = ", ".join(str(name) for name in known)
        super().__init__(f"{node} depends on {needs}, which does not exist; known are {names}")
        self.node, self.needs = node, needs


def sort_into_layers(needs: Mapping[N, Collection[N]]) -> tuple[tuple[N, ...], ...]:
    """Return the keys in layers; each key depends only on keys of earlier layers.

    Args:
        needs: all keys with the keys that each of them depends on.

    Returns:
        The layers; within a layer the order of `needs` is preserved.

    Raises:
        UnknownDependencyError: a dependency is not a key.
        DependencyCycleError: a key depends on itself, directly or indirectly.
    """
    for node, wanted in needs.items():
        for other in wanted:
            if other not in needs:
                raise UnknownDependencyError(node, other, tuple(needs))
    found: list[tuple[N, ...]] = []
    done: set[N] = set()
    while len(done) < len(needs):
        layer = tuple(node for node, wanted in needs.items() if node not in done and done.issuperset(wanted))
        if not layer:
            raise DependencyCycleError(
                _find_cycle({node: wanted for node, wanted in needs.items() if node not in done}, done)
            )
        found.append(layer)
        done.update(layer)
    return tuple(found)


def _find_cycle(waiting: Mapping[N, Collection[N]], done: Collection[N]) -> tuple[N, ...]:
    """Return one cycle among keys that all wait for another waiting key."""
    path = [next(iter(waiting))]
    while True:
        node = next(other for other in waiting[path[-1]] if other not in done)
        if node in path:
            return (*path[path.index(node) :], node)
        path.append(node)
