"""Retrieval strategies: how one task searches.

Each module of this package defines one strategy as `STRATEGY` and is named as the strategy;
`workflows.research.strategy_registry` finds them. A new strategy needs no other change. Plugins add modules from their
folder `strategies`.
"""

from tenure.contracts.run.limits import TOOL_STRATEGY
from tenure.extensions import get_plugin_paths, list_extensions

__path__.extend(get_plugin_paths("strategies"))


def list_strategy_names() -> tuple[str, ...]:
    """Return the names of all strategies in alphabetical order, without importing them: the command line is fast."""
    return list_extensions(__name__)


def list_search_strategies() -> tuple[str, ...]:
    """Return the names of the strategies by which every task of a run can search."""
    return tuple(name for name in list_strategy_names() if name != TOOL_STRATEGY)
