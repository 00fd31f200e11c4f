"""Adapt Pydantic's JSON schemas to servers: strict for `response_format`, or written into the prompt."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tenure.contracts.messages import Message

_UNSUPPORTED = frozenset({"default", "uniqueItems", "discriminator", "title"})
"""Keywords that strict servers reject or that do not help a model; our own validation still applies them."""

SchemaNode = dict[str, Any]


def build_strict_schema(schema: Mapping[str, Any]) -> SchemaNode:
    """Return a copy in the subset that strict servers support.

    Every object is closed and requires all of its properties, `oneOf` becomes `anyOf`, and a reference with sibling
    keywords is replaced by its target.
    """
    defs: Mapping[str, Any] = schema.get("$defs", {})
    root = _make_strict({key: value for key, value in schema.items() if key != "$defs"}, defs, ())
    if defs:
        root["$defs"] = {name: _make_strict(body, defs, (f"#/$defs/{name}",)) for name, body in defs.items()}
    return root


def _make_strict(node: Mapping[str, Any], defs: Mapping[str, Any], trail: tuple[str, ...]) -> SchemaNode:
    if "$ref" in node and len(node) > 1:
        return _inline_reference(node, defs, trail)
    strict = {("anyOf" if key == "oneOf" else key): value for key, value in node.items() if key not in _UNSUPPORTED}
    for key in strict.keys() & {"items", "additionalProperties"}:
        strict[key] = _make_strict(strict[key], defs, trail) if isinstance(strict[key], Mapping) else strict[key]
    for key in strict.keys() & {"anyOf", "allOf", "prefixItems"}:
        strict[key] = [_make_strict(part, defs, trail) for part in strict[key]]
    if "properties" in strict:
        strict["properties"] = {name: _make_strict(part, defs, trail) for name, part in strict["properties"].items()}
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict


def _inline_reference(node: Mapping[str, Any], defs: Mapping[str, Any], trail: tuple[str, ...]) -> SchemaNode:
    """Merge a reference with its siblings; a recursive reference stays bare."""
    ref = node["$ref"]
    if ref in trail:
        return {"$ref": ref}
    target = defs[ref.removeprefix("#/$defs/")]
    siblings = {key: value for key, value in node.items() if key != "$ref"}
    return _make_strict({**target, **siblings}, defs, (*trail, ref))


def with_schema(messages: Sequence[Message], name: str, schema: Mapping[str, Any]) -> list[Message]:
    """Add the schema to the end of the prompt, for servers that cannot enforce it.

    Roles with different answers share the beginning of a prompt, which prompt caches depend on, so the schema follows
    everything that they share. It ends the last message, since some chat templates accept no second message of a
    person.
    """
    order = (
        "Answer with one JSON object and nothing else: no explanation, no code fence. "
        f"It must follow the JSON schema `{name}`:\n{json.dumps(schema, ensure_ascii=False, separators=(',', ':'))}"
    )
    *others, last = messages
    return [*others, last.model_copy(update={"content": f"{last.content}\n\n{order}"})]
