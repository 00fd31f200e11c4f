"""Compute the size of the longest answer that a JSON schema allows, so that each answer has a limit in tokens."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final

MAX_ANSWER_TOKENS: Final = 16_384
"""Largest limit: schemas of whole texts allow more than any answer needs, and many models accept no larger one."""

MIN_ANSWER_TOKENS: Final = 256
"""Smallest limit: even a word may be introduced by white space or a code fence."""

_CHARACTERS_PER_TOKEN = 3
_MARGIN = 1.25  # escapes, and languages with shorter tokens
_INDENTATION = 8  # white space of a value on a line of its own
_NUMBER_CHARACTERS = 12  # "-1234567.89" and a comma; "false" is shorter.
_PUNCTUATION = 4  # quotes, colon and comma

AnswerSchema = Mapping[str, Any]


def compute_answer_limit(schema: AnswerSchema) -> int:
    """Return the limit in tokens of an answer that fits a schema, which may be unbounded."""
    characters = _count_characters(schema, schema.get("$defs", {}), ())
    tokens = min(characters / _CHARACTERS_PER_TOKEN * _MARGIN, MAX_ANSWER_TOKENS)
    return max(math.ceil(tokens), MIN_ANSWER_TOKENS)


def _count_characters(node: AnswerSchema, defs: AnswerSchema, trail: tuple[str, ...]) -> float:
    """Return the length of the longest instance of a schema as JSON; infinite if nothing bounds it."""
    if "$ref" in node:
        reference = node["$ref"]
        if reference in trail:
            return math.inf
        return _count_characters(defs[reference.removeprefix("#/$defs/")], defs, (*trail, reference))
    if constants := node.get("enum", [node["const"]] if "const" in node else []):
        return max(len(json.dumps(constant)) for constant in constants) + _PUNCTUATION
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in node:
            return max(_count_characters(variant, defs, trail) for variant in node[keyword])
    match node.get("type"):
        case "object":
            return _count_object(node, defs, trail)
        case "array" if "prefixItems" in node:
            parts = (_count_characters(part, defs, trail) for part in node["prefixItems"])
            return _PUNCTUATION + sum(_INDENTATION + size for size in parts)
        case "array" if node.get("maxItems") == 0:
            return _PUNCTUATION
        case "array":
            item = _count_characters(node.get("items", {}), defs, trail)
            return _PUNCTUATION + float(node.get("maxItems", math.inf)) * (_INDENTATION + item)
        case "string":
            return float(node.get("maxLength", math.inf)) + _PUNCTUATION
        case "integer" | "number" | "boolean" | "null":
            return _NUMBER_CHARACTERS
    return math.inf


def _count_object(node: AnswerSchema, defs: AnswerSchema, trail: tuple[str, ...]) -> float:
    """Return the length of an object with all of its properties; infinite if it may have others."""
    if node.get("additionalProperties", "properties" not in node):
        return math.inf
    properties: AnswerSchema = node.get("properties", {})
    return _PUNCTUATION + sum(
        len(name) + _PUNCTUATION + _INDENTATION + _count_characters(part, defs, trail)
        for name, part in properties.items()
    )
