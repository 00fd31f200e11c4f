"""Split a completion into the chunks of a stream."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.schema_instance import Json

_PIECE = 24
"""Characters of a delta."""


def build_chunks(completion: Json, *, with_usage: bool) -> list[Json]:
    """Return the events of a streamed answer: role, deltas, finish reason, and the usage on request."""
    if "error" in completion:
        return [{"error": completion["error"]}]
    head = {name: completion[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    events = [
        head | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for choice in completion["choices"][:1]
        for delta, reason in _deltas(choice)
    ]
    return [*events, head | {"choices": [], "usage": completion["usage"]}] if with_usage else events


def format_events(events: Sequence[Json]) -> list[str]:
    """Return the events as lines, with the end marker."""
    return [f"data: {said}\n\n" for said in (*map(json.dumps, events), "[DONE]")]


def _deltas(choice: Json) -> Iterator[tuple[Json, str | None]]:
    message = choice["message"]
    yield {"role": "assistant", "content": ""}, None
    for field in ("reasoning_content", "content", "refusal"):
        for piece in _split(message.get(field)):
            yield {field: piece}, None
    for number, call in enumerate(message.get("tool_calls") or ()):
        yield {"tool_calls": [{**call, "index": number, "function": {**call["function"], "arguments": ""}}]}, None
        for piece in _split(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}, None
    yield {}, choice["finish_reason"]


def _split(text: Any) -> Iterator[str]:
    for start in range(0, len(text or ""), _PIECE):
        yield text[start : start + _PIECE]
