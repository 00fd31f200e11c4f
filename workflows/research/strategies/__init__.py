"""Retrieval strategies: how one task searches.

Each module of this package defines one strategy as `STRATEGY` and is named as the strategy;
`workflows.research.strategy_registry` finds them. A new strategy needs no other change.
"""

import pkgutil


def list_strategy_names() -> tuple[str, ...]:
    """Return the names of all strategies in alphabetical order, without importing them: the command line is fast."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))
