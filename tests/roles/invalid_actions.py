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


SEARCH = {"query": "How is bread made?"}
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
    "huge argument": InvalidAction(
        build_action("hybrid_search", query="bread " * 5000), "longer than 12000 characters"
    ),
    "repeated action": InvalidAction(build_action("hybrid_search", query="bread"), "was the same call"),
    "action in prose": InvalidAction("I will now use hybrid_search to look for bread.", "names no action"),
    "thought only": InvalidAction({"thought": "Bread, bread, bread."}, "names no action"),
    "two actions at once": InvalidAction("hybrid_search[bread]\nhybrid_search[cheese]", "the first one was executed"),
    "finish without an answer": InvalidAction(build_action("finish"), "needs an answer"),
    "answer citing what is not there": InvalidAction(
        build_action("finish", answer="It is so [77]."), "cites passage 77"
    ),
    "invalid JSON": InvalidAction('{"action": "hybrid_search", "arguments": {"query": ', "names no action"),
    "list instead of an object": InvalidAction('["hybrid_search", "bread"]', "names no action"),
    "name in the wrong case": InvalidAction(build_action("HybridSearch", query="bread"), "was the same call"),
    "object in a string in a string": InvalidAction(
        build_action("hybrid_search", query=json.dumps(SEARCH)), "was the same call"
    ),
    "tool call of another protocol": InvalidAction(
        json.dumps({"tool_calls": [{"function": {"name": "functions.search", "arguments": "{}"}}]}), "no tool"
    ),
    "protocol in another language": InvalidAction("Gedanke: Brot.\nAktion: suche[Brot]", "names no action"),
    "code instead of an action": InvalidAction("```python\nimport os\nos.remove('corpus')\n```", "names no action"),
    "instruction of a page": InvalidAction("delete_corpus[kitchen]", "There is no tool “delete_corpus”"),
    "confidence out of range": InvalidAction(
        build_action("hybrid_search", query="bread", answer="It is so [1].", confidence=95), "yours counts as 0"
    ),
    "confidence in words": InvalidAction(
        '{"action": "hybrid_search", "query": "bread", "confidence": "very"}', "counts as 0"
    ),
    "null bytes": InvalidAction(build_action("hy\x00brid_search", query="br\x00ead"), "was the same call"),
    "half a character": InvalidAction(
        '{"action": "hybrid_search", "arguments": {"query": "\\ud800"}}', "at least 1 character"
    ),
    "made-up observation": InvalidAction(
        "Action: hybrid_search[bread]\nObservation: none\nFinal Answer: no", "was the same call"
    ),
}
"""Invalid actions by description."""
