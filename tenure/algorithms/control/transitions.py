"""State transition function T(S) of the reflective agent (Shinn et al. 2023, "Reflexion").

Workflows call it to choose the next node; it alone defines the order: retrieve → route → generate → reflect or test →
generate or end.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tenure.algorithms.text.sentences import normalize_sentence
from tenure.contracts.run.run import TaskMode

Node = Literal["retrieve", "route", "generate_report", "reflect_on_report", "generate_code", "test_code", "end"]


@dataclass(frozen=True)
class AgentState:
    """Fields of the agent state that decide transitions."""

    mode: TaskMode = "UNDEFINED"
    critiques: Sequence[object] = ()
    error: str | None = None
    """Error of the latest program; None if it passed its tests."""
    revisions: int = 0
    """Number of drafts generated so far."""


def choose_next_node(node: Node | None, state: AgentState, max_revisions: int) -> Node:
    """Return the node after `node`; `state` is the state after `node` has run, and None returns the first node.

    Raises:
        ValueError: the mode is needed and undefined, or `node` has no successor.
    """
    match node:
        case None:
            return "retrieve"
        case "retrieve":
            return "route"
        case "route" if state.mode == "RESEARCH":
            return "generate_report"
        case "route" if state.mode == "CODE":
            return "generate_code"
        case "route":
            raise ValueError("the router left the mode undefined")
        case "generate_report":
            return "reflect_on_report"
        case "reflect_on_report":
            return "generate_report" if state.critiques and state.revisions < max_revisions else "end"
        case "generate_code":
            return "test_code"
        case "test_code":
            return "generate_code" if state.error is not None and state.revisions < max_revisions else "end"
        case _:
            raise ValueError(f"no node follows {node!r}")


def compute_max_revisions(limit: int, revisions: int, *, has_new_feedback: bool, is_finishing: bool) -> int:
    """Return the maximum number of drafts; feedback that the latest revision does not consider allows another one."""
    return 0 if is_finishing else max(limit, revisions + 1 if has_new_feedback else 0)


def is_repeated_critique(critique: str, previous: Iterable[str]) -> bool:
    """Return whether a critique repeats an earlier one, so that another revision has no effect."""
    normalized = normalize_sentence(critique)
    return any(normalized == normalize_sentence(earlier) for earlier in previous)
