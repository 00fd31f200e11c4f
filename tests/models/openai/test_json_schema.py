"""Tests of strict JSON schemas and of schemas in prompts."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from tenure.contracts.messages import Message
from tenure.models.openai.json_schema import build_strict_schema, with_schema
from tenure.roles.base import RoleOutput


class Point(RoleOutput):
    """A point."""

    text: str = ""
    """Its text."""
    kind: Literal["fact", "guess"] = "fact"


class Branch(RoleOutput):
    title: str
    """A field named like a keyword."""
    default: Point = Point()
    """Another one."""
    below: "list[Branch]" = []
    again: "Branch | None" = None
    """Itself."""


class Cat(RoleOutput):
    kind: Literal["cat"]


class Dog(RoleOutput):
    kind: Literal["dog"]


class House(RoleOutput):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    pair: tuple[Point, int]


def objects(node: Any) -> list[dict[str, Any]]:
    """Return every object schema within a schema."""
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    here = [node] if isinstance(node, dict) and node.get("type") == "object" else []
    return here + [found for part in parts for found in objects(part)]


def test_objects_are_closed_and_require_everything() -> None:
    """Every object, defined or nested, forbids other properties and requires all of its own."""
    found = objects(build_strict_schema(Branch.model_json_schema()))
    assert len(found) >= 2
    for node in found:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def test_descriptions_of_references_are_kept() -> None:
    """A reference with a description is replaced by its target with that description."""
    branch = build_strict_schema(Branch.model_json_schema())["$defs"]["Branch"]
    assert branch["properties"]["default"]["description"] == "Another one."
    assert "$ref" not in branch["properties"]["default"]


def test_fields_named_like_keywords_are_kept() -> None:
    """Only keywords are removed, not properties of the same name."""
    branch = build_strict_schema(Branch.model_json_schema())["$defs"]["Branch"]
    assert list(branch["properties"]) == ["title", "default", "below", "again"]
    assert "default" not in branch["properties"]["below"]


def test_recursion_through_a_described_reference_ends() -> None:
    """A recursive reference with a description stays a bare reference."""
    schema = {"$defs": {"N": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N", "description": "on"}}}}}
    assert build_strict_schema(schema)["$defs"]["N"]["properties"] == {"next": {"$ref": "#/$defs/N"}}


def test_unions_become_any_of() -> None:
    """A discriminated union becomes anyOf without the discriminator."""
    pet = build_strict_schema(House.model_json_schema())["properties"]["pet"]
    assert list(pet) == ["anyOf"]


def test_the_original_is_unchanged() -> None:
    """The strict schema is a copy."""
    schema = House.model_json_schema()
    before = json.dumps(schema)
    build_strict_schema(schema)
    assert json.dumps(schema) == before


def test_schema_ends_the_last_message() -> None:
    """The schema follows everything that calls share, and no message is added."""
    messages = [Message(role="system", content="Be brief."), Message(role="user", content="Go.")]
    first, second = with_schema(messages, "point", Point.model_json_schema())
    assert first == messages[0]
    assert second.content.startswith("Go.\n\nAnswer with one JSON object")
    assert json.loads(second.content.split("`point`:\n")[1]) == Point.model_json_schema()
