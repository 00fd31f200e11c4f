"""Tests of the size of the longest answer of a schema."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.control.answer_size import MAX_ANSWER_TOKENS, MIN_ANSWER_TOKENS, compute_answer_limit

LONG = {"type": "string", "maxLength": 3_000}


def wrap(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"value": schema}, "additionalProperties": False}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": LONG},
        {"anyOf": [{"type": "null"}, {"type": "string"}]},
        {"$ref": "#/$defs/Node"},
    ],
)
def test_an_unbounded_answer_has_the_largest_limit(schema: dict[str, Any]) -> None:
    """A schema with an unbounded or recursive part gets the largest limit."""
    defs = {"Node": {"anyOf": [wrap({"$ref": "#/$defs/Node"}), LONG]}}

    assert compute_answer_limit(wrap(schema) | {"$defs": defs}) == MAX_ANSWER_TOKENS


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "boolean"},
        {"type": "null"},
        {"enum": ["yes", "no"]},
        {"const": "yes"},
        {"type": "array", "maxItems": 0},
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "number"}]},
    ],
)
def test_a_short_answer_has_the_smallest_limit(schema: dict[str, Any]) -> None:
    """Even an answer of one word may have some tokens."""
    assert compute_answer_limit(wrap(schema)) == MIN_ANSWER_TOKENS


def test_the_longest_alternative_counts() -> None:
    """Of several schemas or variants, the longest one determines the limit; a definition may be used repeatedly."""
    twice: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Long"}, "b": {"$ref": "#/$defs/Long"}},
    }
    twice |= {"additionalProperties": False, "$defs": {"Long": LONG}}

    limit = compute_answer_limit(twice)

    assert 2_000 < limit < 3_000
    assert compute_answer_limit({"oneOf": [wrap(LONG), twice], "$defs": twice["$defs"]}) == limit
    assert compute_answer_limit({}) == MAX_ANSWER_TOKENS


@given(st.lists(st.text(max_size=40), max_size=30), st.sampled_from([None, 2]))
def test_every_instance_has_room(values: list[str], indent: int | None) -> None:
    """The characters of an instance are at most three for each token of the limit."""
    schema = wrap({"type": "array", "maxItems": 30, "items": {"type": "string", "maxLength": 40}})

    written = json.dumps({"value": values}, indent=indent, ensure_ascii=False)
    escapes = len(json.dumps(values, ensure_ascii=False)) - sum(map(len, values)) - 4 * len(values) - 2

    assert len(written) - max(0, escapes) <= 3 * compute_answer_limit(schema)
