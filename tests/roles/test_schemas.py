"""Tests of the inputs and outputs of roles: descriptions, JSON round trips and strictness."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from tenure.algorithms.control.answer_size import MAX_ANSWER_TOKENS, MIN_ANSWER_TOKENS, compute_answer_limit
from tenure.contracts.base import Contract
from tests.roles.cases import CASES
from tests.support.schema_instance import instance

WITH_SCHEMA = [name for name, case in CASES.items() if case.role.schema]
"""Roles that answer with a JSON object; the others answer in text."""


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield a model and every model inside its fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_in(field.annotation)
    for inner in get_args(annotation):
        yield from models_in(inner)


def find_unbounded(node: dict[str, Any], defs: dict[str, Any], path: str) -> list[str]:
    """Return the paths of the strings, lists and maps of a schema that nothing bounds."""
    if "$ref" in node:
        return find_unbounded(defs[node["$ref"].removeprefix("#/$defs/")], defs, path)
    parts = [
        *((variant, path) for variant in (*node.get("anyOf", ()), *node.get("oneOf", ()))),
        *((part, f"{path}.{name}") for name, part in node.get("properties", {}).items()),
        *((part, f"{path}[]") for part in (*node.get("prefixItems", ()), *filter(None, [node.get("items")]))),
    ]
    needed = {"string": {"maxLength", "enum", "const"}, "array": {"maxItems", "prefixItems"}, "object": {"properties"}}
    own = [] if needed.get(node.get("type", ""), node.keys()) & node.keys() else [path]
    return own + [found for part, place in parts for found in find_unbounded(part, defs, place)]


@pytest.mark.parametrize("name", WITH_SCHEMA)
def test_every_field_is_described(name: str) -> None:
    """Fields of a role's output, including nested ones, have descriptions."""
    bare = {
        f"{model.__name__}.{field}"
        for model in models_in(CASES[name].role.output)
        if not issubclass(model, Contract)  # a brief, which no model writes
        for field, info in model.model_fields.items()
        if not info.description
    }

    assert bare == set()


@pytest.mark.parametrize("name", WITH_SCHEMA)
def test_the_schema_a_model_sees_is_described(name: str) -> None:
    """The JSON schema contains the descriptions, and allows no additional properties."""
    schema = CASES[name].role.output.model_json_schema()
    objects = [schema, *schema.get("$defs", {}).values()]

    assert all(part["additionalProperties"] is False for part in objects)
    assert all(prop.get("description") for part in objects for prop in part["properties"].values())


@pytest.mark.parametrize("name", WITH_SCHEMA)
def test_every_answer_is_bounded(name: str) -> None:
    """Every string and list of an answer has a limit in the schema, from which the longest answer follows."""
    schema = CASES[name].role.output.model_json_schema()

    assert find_unbounded(schema, schema.get("$defs", {}), name) == []
    assert MIN_ANSWER_TOKENS <= compute_answer_limit(schema) <= MAX_ANSWER_TOKENS


@pytest.mark.parametrize("name", CASES)
def test_inputs_and_answers_survive_json(name: str) -> None:
    """Inputs, outputs of fallbacks and instances of the schema are unchanged by a JSON round trip."""
    case = CASES[name]
    made = [case.role.output.model_validate(instance(case.role.schema))] if case.role.schema else []

    for model in (case.input, case.role.fallback(case.input, case.evidence), *made):
        assert model == TypeAdapter(type(model)).validate_json(model.model_dump_json())


@pytest.mark.parametrize("name", WITH_SCHEMA)
def test_additional_fields_are_rejected(name: str) -> None:
    """An unknown field is an error and is not dropped silently."""
    output = CASES[name].role.output
    made = instance(output.model_json_schema())

    with pytest.raises(ValidationError, match="Extra inputs"):
        output.model_validate_json(json.dumps({**made, "tool": "rm"}))


@pytest.mark.parametrize("name", CASES)
def test_a_fallback_is_deterministic(name: str) -> None:
    """Two calls of a fallback give the same output."""
    case = CASES[name]

    assert case.role.fallback(case.input, case.evidence) == case.role.fallback(case.input, case.evidence)


def test_roles_that_answer_in_text_have_no_schema() -> None:
    """Roles whose answers people or parsers read line by line answer in text, every other role with a JSON object."""
    assert CASES.keys() - set(WITH_SCHEMA) == {
        "answerer",
        "outliner",
        "planner",
        "reasoner",
        "report_writer",
        "repository_engineer",
        "report_reviewer",
    }
