"""JSON schemas for servers: Pydantic's, made strict for `response_format`, or written into the prompt."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tenure.roles.base import Message

_UNSUPPORTED = frozenset({"default", "uniqueItems", "discriminator", "title"})
"""Keywords that strict servers refuse or that tell a model nothing; our own validation still holds to them."""

Node = dict[str, Any]


def strict_schema(schema: Mapping[str, Any]) -> Node:
    """Return a copy in the subset that strict servers take.

    Every object is closed and requires all of its properties, `oneOf` becomes `anyOf`, and a
    reference with words of its own beside it is replaced by what it refers to.
    """
    defs: Mapping[str, Any] = schema.get("$defs", {})
    root = _strict({key: value for key, value in schema.items() if key != "$defs"}, defs, ())
    if defs:
        root["$defs"] = {name: _strict(body, defs, (f"#/$defs/{name}",)) for name, body in defs.items()}
    return root


def _strict(node: Mapping[str, Any], defs: Mapping[str, Any], trail: tuple[str, ...]) -> Node:
    if "$ref" in node and len(node) > 1:
        return _inlined(node, defs, trail)
    kept = {("anyOf" if key == "oneOf" else key): value for key, value in node.items() if key not in _UNSUPPORTED}
    for key in kept.keys() & {"items", "additionalProperties"}:
        kept[key] = _strict(kept[key], defs, trail) if isinstance(kept[key], Mapping) else kept[key]
    for key in kept.keys() & {"anyOf", "allOf", "prefixItems"}:
        kept[key] = [_strict(part, defs, trail) for part in kept[key]]
    if "properties" in kept:
        kept["properties"] = {name: _strict(part, defs, trail) for name, part in kept["properties"].items()}
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def _inlined(node: Mapping[str, Any], defs: Mapping[str, Any], trail: tuple[str, ...]) -> Node:
    """Merge a reference with its siblings; inside itself a recursive one stays bare."""
    ref = node["$ref"]
    if ref in trail:
        return {"$ref": ref}
    target = defs[ref.removeprefix("#/$defs/")]
    siblings = {key: value for key, value in node.items() if key != "$ref"}
    return _strict({**target, **siblings}, defs, (*trail, ref))


def with_schema(messages: Sequence[Message], name: str, schema: Mapping[str, Any]) -> list[Message]:
    """Add the schema to the system message, for servers that cannot be held to it otherwise."""
    order = (
        "Answer with one JSON object and nothing else: no explanation, no code fence. "
        f"It must follow the JSON schema `{name}`:\n{json.dumps(schema, ensure_ascii=False, separators=(',', ':'))}"
    )
    return with_order(messages, order)


def with_order(messages: Sequence[Message], order: str) -> list[Message]:
    """Add what the form of the answer is to the system message.

    It joins the first system message because some chat templates take only one, and because a
    prefix that stays the same from call to call is what prompt caches live on.
    """
    if messages and messages[0].role == "system":
        first = Message(role="system", content=f"{messages[0].content}\n\n{order}")
        return [first, *messages[1:]]
    return [Message(role="system", content=order), *messages]
