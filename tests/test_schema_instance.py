"""The instances that the model server answers with."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tenure.models.json_schema import strict_schema
from tests.schema_instance import MARKER, instance


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
    """An instance fits the model whose schema it was made from, strict or as Pydantic writes it."""
    schema = Everything.model_json_schema()
    made = Everything.model_validate(instance(strict_schema(schema) if strict else schema))
    assert (made.mode, made.round, made.verdicts) == ("RESEARCH", 4, ["a"])
    assert [claim.passages[0] for claim in made.claims] == [1, 1]


def test_strings_carry_the_marker_and_differ() -> None:
    """Every free string begins with the marker, and no two of one instance are the same."""
    made = Everything.model_validate(instance(Everything.model_json_schema()))
    strings = [made.maybe or "", *(claim.text for claim in made.claims)]
    assert all(text.startswith(MARKER) for text in strings)
    assert len(strings) == len(set(strings))


def test_strings_differ_between_requests() -> None:
    """What an instance is about goes into its strings."""
    schema: dict[str, Any] = {"type": "object", "properties": {"title": {"type": "string"}}}
    assert {"title": f"{MARKER} 00ff title"} == instance(schema, "00ff")


def test_recursion_ends() -> None:
    """A schema that refers to itself gives a finite instance."""
    made = Tree.model_validate(instance(Tree.model_json_schema()))
    assert made.label.startswith(MARKER)


def test_impossible_bounds_are_named() -> None:
    """A number for which no plain choice exists is an error, not an invalid answer."""
    with pytest.raises(ValueError, match="no plain number fits"):
        instance({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2})
