"""Invalid actions of models, each with the error message they are answered with."""

import json
from dataclasses import dataclass

from tests.support.worlds import Reply


def build_action(
    action: str, thought: str = "On.", answer: str = "", confidence: float = 0.0, **arguments: object
) -> Reply:
    """An answer in the form of the schema."""
    said = {"thought": thought, "action": action, "answer": answer, "confidence": confidence}
    return {**said, "arguments": json.dumps(arguments) if arguments else ""}


@dataclass(frozen=True)
class InvalidAction:
    """An invalid action that is repeated."""

    answer: Reply
    """Answer of the model, whatever the observation."""
    error: str
    """Part of the error message."""


INVALID_ACTIONS: dict[str, InvalidAction] = {
    "unknown tool": InvalidAction(build_action("bake", query="bread"), "There is no tool “bake”"),
    "tool this run has not": InvalidAction(build_action("web_search", query="bread"), "There is no tool “web_search”"),
    "wrong argument name": InvalidAction(
        build_action("hybrid_search", text="bread"), "text: Extra inputs are not permitted"
    ),
    "wrong argument type": InvalidAction(
        build_action("hybrid_search", query=["bread"]), "query: Input should be a valid string"
    ),
    "argument out of range": InvalidAction(
        build_action("hybrid_search", query="bread", k=9999), "less than or equal to 20"
    ),
    "missing argument": InvalidAction(build_action("graph_search", about="bread"), "entity: Field required"),
    "no arguments": InvalidAction(build_action("hybrid_search"), "query: Field required"),
    "empty argument": InvalidAction(build_action("hybrid_search", query="  "), "at least 1 character"),
    "repeated action": InvalidAction(build_action("hybrid_search", query="bread"), "was the same call"),
    "finish without an answer": InvalidAction(build_action("finish"), "needs an answer"),
    "answer citing what is not there": InvalidAction(
        build_action("finish", answer="It is so [77]."), "cites passage 77"
    ),
    "name in the wrong case": InvalidAction(build_action("HybridSearch", query="bread"), "was the same call"),
    "no action": InvalidAction(build_action("", thought="Bread, bread, bread."), "names no action"),
    "arguments as an object": InvalidAction(
        {"thought": "On.", "action": "hybrid_search", "arguments": {"query": "bread"}}, "was the same call"
    ),
    "instruction of a page": InvalidAction(
        build_action("delete_corpus", corpus="kitchen"), "There is no tool “delete_corpus”"
    ),
}
"""Invalid actions by description."""
