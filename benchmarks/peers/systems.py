"""The compared systems: packages, starters, and their ways to continue a killed run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class System:
    """One system."""

    name: str
    starter: str
    """Module that answers one question."""
    packages: Sequence[str] = ()
    """Pinned requirements of its environment; empty for the environment of this process."""
    resume: str = "none: a new process starts over"
    """Way in which its documentation continues a killed run."""
    can_resume: bool = False
    """Whether the starter continues."""


_STARTERS: Final = "benchmarks.peers.starters"
SYSTEMS: Final = (
    System(
        "Tenure",
        f"{_STARTERS}.run_tenure",
        resume="`up` and `watch`",
        can_resume=True,
    ),
    System(
        "LangGraph",
        f"{_STARTERS}.run_langgraph",
        ("langgraph==1.2.22", "langgraph-checkpoint-sqlite==3.1.2", "langchain-openai==1.7.3"),
        resume="the graph is invoked without input on the same thread",
        can_resume=True,
    ),
    System(
        "gpt-researcher",
        f"{_STARTERS}.run_gpt_researcher",
        ("gpt-researcher==0.16.1",),
    ),
    System(
        "open-deep-research",
        f"{_STARTERS}.run_open_deep_research",
        ("open-deep-research==0.0.16",),
    ),
    System(
        "local-deep-research",
        f"{_STARTERS}.run_local_deep_research",
        ("local-deep-research==1.10.7",),
    ),
    System(
        "knowledge-storm",
        f"{_STARTERS}.run_knowledge_storm",
        ("knowledge-storm==1.1.1",),
        resume="finished stages from files, answers from a disk cache",
        can_resume=True,
    ),
)
"""All systems, in the order of the tables."""


def find_system(name: str) -> System:
    """Return the system of a name.

    Raises:
        KeyError: no system has this name.
    """
    return {system.name.lower(): system for system in SYSTEMS}[name.lower()]
