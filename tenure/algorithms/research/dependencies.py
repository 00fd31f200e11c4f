"""Find tasks that wait for each other."""

from collections.abc import Collection, Hashable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def find_cycle(needs: Mapping[N, Collection[N]]) -> tuple[N, ...]:
    """Return a cycle of dependencies, its first member repeated at the end; empty if there is none.

    Args:
        needs: keys with the keys that each of them depends on.
    """
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()
