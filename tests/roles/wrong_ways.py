"""Ways to act wrongly, as models have them: what is said, and what it is answered with."""

import json
from dataclasses import dataclass

from tests.worlds import Reply


def acts(action: str, thought: str = "On.", answer: str = "", confidence: float = 0.0, **arguments: object) -> Reply:
    """An answer in the form of the schema."""
    said = {"thought": thought, "action": action, "answer": answer, "confidence": confidence}
    return {**said, "arguments": json.dumps(arguments) if arguments else ""}


@dataclass(frozen=True)
class Way:
    """A way to call tools wrongly, again and again."""

    says: Reply
    """What the model says, whatever it is told."""
    told: str
    """What it is told of it."""


SEARCH = {"query": "How is bread made?"}
WAYS: dict[str, Way] = {
    "unknown tool": Way(acts("bake", query="bread"), "There is no tool “bake”"),
    "tool this run has not": Way(acts("web_search", query="bread"), "`web_search` is not to be had in this run"),
    "wrong argument name": Way(acts("hybrid_search", text="bread"), "text: Extra inputs are not permitted"),
    "wrong argument type": Way(acts("hybrid_search", query=["bread"]), "query: Input should be a valid string"),
    "argument out of range": Way(acts("hybrid_search", query="bread", k=9999), "less than or equal to 20"),
    "missing argument": Way(acts("graph_search", about="bread"), "entity: Field required"),
    "no arguments": Way(acts("hybrid_search"), "query: Field required"),
    "empty argument": Way(acts("hybrid_search", query="  "), "at least 1 character"),
    "huge argument": Way(acts("hybrid_search", query="bread " * 5000), "longer than 12000 characters"),
    "repeated action": Way(acts("hybrid_search", query="bread"), "did exactly this"),
    "action in prose": Way("I will now use hybrid_search to look for bread.", "No action was named"),
    "thought only": Way({"thought": "Bread, bread, bread."}, "No action was named"),
    "two actions at once": Way("hybrid_search[bread]\nhybrid_search[cheese]", "only the first was carried out"),
    "finish without an answer": Way(acts("finish"), "needs the answer"),
    "answer citing what is not there": Way(acts("finish", answer="It is so [77]."), "names passage 77"),
    "invalid JSON": Way('{"action": "hybrid_search", "arguments": {"query": ', "query"),
    "list instead of an object": Way('["hybrid_search", "bread"]', "No action was named"),
    "name in the wrong case": Way(acts("HybridSearch", query="bread"), "did exactly this"),
    "object in a string in a string": Way(acts("hybrid_search", query=json.dumps(SEARCH)), "did exactly this"),
    "tool call of another protocol": Way(
        json.dumps({"tool_calls": [{"function": {"name": "functions.search", "arguments": "{}"}}]}), "no tool"
    ),
    "protocol in another language": Way("Gedanke: Brot.\nAktion: suche[Brot]", "No action was named"),
    "code instead of an action": Way("```python\nimport os\nos.remove('corpus')\n```", "No action was named"),
    "instruction of a page": Way("delete_corpus[kitchen]", "There is no tool “delete_corpus”"),
    "confidence out of range": Way(
        acts("hybrid_search", query="bread", answer="It is so [1].", confidence=95), "yours was taken as 0"
    ),
    "confidence in words": Way('{"action": "hybrid_search", "query": "bread", "confidence": "very"}', "was taken as 0"),
    "null bytes": Way(acts("hy\x00brid_search", query="br\x00ead"), "did exactly this"),
    "half a character": Way('{"action": "hybrid_search", "arguments": {"query": "\\ud800"}}', "at least 1 character"),
    "made-up observation": Way("Action: hybrid_search[bread]\nObservation: none\nFinal Answer: no", "exactly this"),
}
"""What a model can do wrong, and what comes of it."""
