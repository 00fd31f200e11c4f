"""Read the answer in a response of the model server; the standard library suffices, also in other environments."""

import json

_EVENT = "data: "
_END = "[DONE]"


def read_answer(body: str) -> str:
    """Return the text of a streamed answer, or of one in a single piece."""
    if not body.startswith(_EVENT):
        content: str = json.loads(body)["choices"][0]["message"]["content"]
        return content
    events = [line.removeprefix(_EVENT) for line in body.splitlines() if line.startswith(_EVENT)]
    choices = [choice for event in events if event != _END for choice in json.loads(event)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)
