"""The transition function T(S) of the reflective agent, as a pure function.

Source: document 000, §2.1 (state) and §2.3 (edges). Workflows ask it what comes next and do that;
nothing else decides the order of the nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tenure.contracts.run.run import TaskMode

Node = Literal["retrieve", "route", "generate_report", "reflect_on_report", "generate_code", "test_code", "end"]


@dataclass(frozen=True)
class AgentState:
    """The part of S = (P, D, M, T_m, K, E, R_n) that the edges look at."""

    mode: TaskMode = "UNDEFINED"
    """M."""
    critiques: Sequence[object] = ()
    """K."""
    error: str | None = None
    """E."""
    revisions: int = 0
    """R_n: generations of T_m so far."""


def next_node(node: Node | None, state: AgentState, r_max: int) -> Node:
    """Return the node after `node`, where `state` is the state after `node` has run; None enters.

    Raises:
        ValueError: if a mode is needed and undefined, or if `node` has no successor.
    """
    match node:
        case None:
            return "retrieve"
        case "retrieve":
            return "route"
        case "route":
            return _first_draft(state.mode)
        case "generate_report":
            return "reflect_on_report"
        case "reflect_on_report":
            return "generate_report" if state.critiques and state.revisions < r_max else "end"
        case "generate_code":
            return "test_code"
        case "test_code":
            return "generate_code" if state.error is not None and state.revisions < r_max else "end"
        case _:
            raise ValueError(f"no node follows {node!r}")


def _first_draft(mode: TaskMode) -> Node:
    if mode == "RESEARCH":
        return "generate_report"
    if mode == "CODE":
        return "generate_code"
    raise ValueError("the router left the mode undefined")
