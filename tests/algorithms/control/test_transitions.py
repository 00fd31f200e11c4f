"""Tests of the state transition function."""

import pytest

from tenure.algorithms.control.transitions import AgentState, Node, choose_next_node

R_MAX = 2
CRITIQUES = ("The second section contradicts the first.",)

ROWS: dict[str, tuple[Node | None, AgentState, Node]] = {
    "1: entry point → f_retrieve": (None, AgentState(), "retrieve"),
    "2: T(S_retrieve) → f_route": ("retrieve", AgentState(), "route"),
    "3: M = RESEARCH → f_generate_report": ("route", AgentState(mode="RESEARCH"), "generate_report"),
    "3: M = CODE → f_generate_code": ("route", AgentState(mode="CODE"), "generate_code"),
    "4: T(S_generate_report) → f_reflect_on_report": (
        "generate_report",
        AgentState(mode="RESEARCH", revisions=1),
        "reflect_on_report",
    ),
    "4: K = ∅, R_n < R_max → END": ("reflect_on_report", AgentState(mode="RESEARCH", revisions=1), "end"),
    "4: K = ∅, R_n = R_max → END": ("reflect_on_report", AgentState(mode="RESEARCH", revisions=R_MAX), "end"),
    "4: K ≠ ∅, R_n = R_max → END": (
        "reflect_on_report",
        AgentState(mode="RESEARCH", critiques=CRITIQUES, revisions=R_MAX),
        "end",
    ),
    "4: K ≠ ∅, R_n > R_max → END": (
        "reflect_on_report",
        AgentState(mode="RESEARCH", critiques=CRITIQUES, revisions=R_MAX + 1),
        "end",
    ),
    "4: K ≠ ∅, R_n < R_max → f_generate_report": (
        "reflect_on_report",
        AgentState(mode="RESEARCH", critiques=CRITIQUES, revisions=R_MAX - 1),
        "generate_report",
    ),
    "5: T(S_generate_code) → f_test_code": ("generate_code", AgentState(mode="CODE", revisions=1), "test_code"),
    "5: E = None → END": ("test_code", AgentState(mode="CODE", revisions=1), "end"),
    "5: E ≠ None, R_n < R_max → f_generate_code": (
        "test_code",
        AgentState(mode="CODE", error="NameError", revisions=R_MAX - 1),
        "generate_code",
    ),
    "5: E ≠ None, R_n = R_max → END": ("test_code", AgentState(mode="CODE", error="NameError", revisions=R_MAX), "end"),
    "5: E ≠ None, R_n > R_max → END": (
        "test_code",
        AgentState(mode="CODE", error="NameError", revisions=R_MAX + 1),
        "end",
    ),
}


@pytest.mark.parametrize(("node", "state", "expected"), ROWS.values(), ids=ROWS)
def test_transitions(node: Node | None, state: AgentState, expected: Node) -> None:
    """Each state leads to its documented next node."""
    assert expected == choose_next_node(node, state, R_MAX)


def test_empty_error_is_an_error() -> None:
    """A program that failed without a message is repaired too."""
    assert choose_next_node("test_code", AgentState(mode="CODE", error="", revisions=0), R_MAX) == "generate_code"


def test_undefined_mode_is_rejected() -> None:
    """Undefined mode is rejected."""
    with pytest.raises(ValueError, match="undefined"):
        choose_next_node("route", AgentState(), R_MAX)


def test_end_has_no_successor() -> None:
    """End has no successor."""
    with pytest.raises(ValueError, match="'end'"):
        choose_next_node("end", AgentState(), R_MAX)


def _walk(state: AgentState, after_test: AgentState) -> list[Node]:
    """Follow the transitions from the start, with a constant state after the second node."""
    path: list[Node] = []
    node: Node | None = None
    while node != "end":
        judged = node in ("reflect_on_report", "test_code")
        generations = sum(step.startswith("generate") for step in path)
        seen = after_test if judged else state
        counted = AgentState(seen.mode, seen.critiques, seen.error, generations)
        node = choose_next_node(node, counted, R_MAX)
        path.append(node)
    return path


@pytest.mark.parametrize(
    ("mode", "generate", "judge", "failing"),
    [
        ("RESEARCH", "generate_report", "reflect_on_report", AgentState("RESEARCH", critiques=CRITIQUES)),
        ("CODE", "generate_code", "test_code", AgentState("CODE", error="NameError")),
    ],
)
def test_failing_run_ends_after_max_revisions(mode: str, generate: Node, judge: Node, failing: AgentState) -> None:
    """Failing run ends after max revisions."""
    start = AgentState(mode="CODE" if mode == "CODE" else "RESEARCH")

    assert ["retrieve", "route", *[generate, judge] * R_MAX, "end"] == _walk(start, failing)
