"""The registry of retrieval strategies: finds every module of `workflows.research.strategies` and runs one."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from temporalio.exceptions import ApplicationError

from workflows.research import strategies
from workflows.research.search_session import SearchSession
from workflows.research.strategy import Strategy


def load_strategies() -> dict[str, Strategy]:
    """Import every module of the package and return the strategies by name, in alphabetical order."""
    names = strategies.list_strategy_names()
    return {name: import_module(f"{strategies.__name__}.{name}").STRATEGY for name in names}


STRATEGIES: Final[Mapping[str, Strategy]] = load_strategies()
"""Every strategy by its name."""


async def retrieve(session: SearchSession) -> None:
    """Search with the strategy of the task.

    Raises:
        ApplicationError: there is no such strategy.
    """
    name = session.task.strategy
    if name not in STRATEGIES:
        raise ApplicationError(
            f"there is no strategy {name!r}; there are {', '.join(STRATEGIES)}", type="UnknownStrategy"
        )
    await STRATEGIES[name].search(session)
