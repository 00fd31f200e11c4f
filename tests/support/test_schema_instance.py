"""Tests of the schema instances with which the model server answers."""

from random import Random
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from tenure.models.openai.json_schema import build_strict_schema
from tenure.roles.registry import list_role_names, load_roles
from tests.support.schema_instance import MARKER, instance, nonsense
from tests.support.tiers import slow


class Claim(BaseModel):
    text: str
    passages: tuple[int, ...]


class Tree(BaseModel):
    label: str
    children: list["Tree"] = []
    parent: "Tree | None" = None


class Everything(BaseModel):
    mode: Literal["RESEARCH", "CODE"]
    only: Literal["one"]
    claims: tuple[Claim, ...]
    short: str = Field(max_length=5)
    long: str = Field(min_length=60)
    many: list[int] = Field(min_length=3)
    few: list[str] = Field(max_length=1)
    pair: tuple[int, str]
    share: float = Field(gt=0, lt=1)
    round: int = Field(ge=4, le=10)
    below: int = Field(lt=0, ge=-3)
    maybe: str | None = None
    yes: bool
    either: Claim | str
    verdicts: list[Literal["a", "b"]]
    loose: dict[str, int]


@pytest.mark.parametrize("strict", [False, True])
def test_instance_is_valid(strict: bool) -> None:
    """An instance fits the model of its schema, strict or as written by Pydantic."""
    schema = Everything.model_json_schema()
    made = Everything.model_validate(instance(build_strict_schema(schema) if strict else schema))
    assert (made.mode, made.round, made.verdicts) == ("RESEARCH", 4, ["a"])
    assert [claim.passages[0] for claim in made.claims] == [1, 1]


def test_strings_carry_the_marker_and_differ() -> None:
    """Each free string starts with the marker, and strings of one instance are distinct."""
    made = Everything.model_validate(instance(Everything.model_json_schema()))
    strings = [made.maybe or "", *(claim.text for claim in made.claims)]
    assert all(text.startswith(MARKER) for text in strings)
    assert len(strings) == len(set(strings))


def test_strings_differ_between_requests() -> None:
    """The subject of an instance is part of its strings."""
    schema: dict[str, Any] = {"type": "object", "properties": {"title": {"type": "string"}}}
    assert {"title": f"{MARKER} 00ff title"} == instance(schema, "00ff")


def test_recursion_ends() -> None:
    """A recursive schema has a finite instance."""
    made = Tree.model_validate(instance(Tree.model_json_schema()))
    assert made.label.startswith(MARKER)


def test_impossible_bounds_are_rejected() -> None:
    """A number without a simple value within its bounds raises an error."""
    with pytest.raises(ValueError, match="no plain number fits"):
        instance({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2})


@pytest.mark.parametrize("strict", [False, True])
def test_nonsense_is_valid(strict: bool) -> None:
    """A random instance fits its model and is deterministic for a seed."""
    schema = Everything.model_json_schema()
    schema = build_strict_schema(schema) if strict else schema
    drawn = [nonsense(schema, Random(seed)) for seed in range(200)]
    made = [Everything.model_validate(answer) for answer in drawn]
    assert drawn == [nonsense(schema, Random(seed)) for seed in range(200)]
    assert {answer.mode for answer in made} == {"RESEARCH", "CODE"}
    assert {answer.round for answer in made} == {4, 5, 6, 7, 8, 9, 10}
    assert {answer.below for answer in made} == {-3, -2, -1}
    assert {len(answer.few) for answer in made} == {0, 1}
    assert len({answer.share for answer in made}) > 100


@slow
def test_nonsense_ends() -> None:
    """A recursive schema has a finite random instance for every seed."""
    for seed in range(200):
        Tree.model_validate(nonsense(Tree.model_json_schema(), Random(seed)))


@pytest.mark.parametrize(
    "bounds",
    [
        {},
        {"maximum": -7},
        {"exclusiveMaximum": -6},
        {"minimum": 30},
        {"exclusiveMinimum": 29, "maximum": 31},
        {"exclusiveMinimum": -2, "exclusiveMaximum": 0},
    ],
)
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_drawn_numbers_keep_their_bounds(kind: str, bounds: dict[str, int]) -> None:
    """A random number lies within all bounds of its schema."""
    node = {"type": kind, **bounds}
    for seed in range(100):
        jsonschema.validate(nonsense(node, Random(seed)), node)


@slow
@pytest.mark.parametrize("name", list_role_names())
def test_nonsense_fits_every_role(name: str) -> None:
    """A random instance can be drawn for the schema of each role."""
    output = load_roles()[name].output
    schema = build_strict_schema(output.model_json_schema())
    validator = jsonschema.Draft202012Validator(schema)
    for seed in range(50):
        validator.validate(nonsense(schema, Random(seed)))
