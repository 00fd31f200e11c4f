"""Tests of limits that a schema states and validation does not enforce."""

from typing import Annotated

from pydantic import BaseModel

from tenure.contracts.schema_limit import SchemaLimit


class Sample(BaseModel):
    text: Annotated[str, SchemaLimit(5)]
    choice: Annotated[str | None, SchemaLimit(6)] = None
    items: Annotated[tuple[Annotated[str, SchemaLimit(3)], ...], SchemaLimit(2)] = ()
    count: Annotated[int, SchemaLimit(9)] = 0


def test_the_schema_states_the_limits() -> None:
    """Strings get a length and lists a number of items; other types have no such limit."""
    properties = Sample.model_json_schema()["properties"]

    assert properties["text"]["maxLength"] == 5
    assert properties["choice"]["anyOf"] == [{"type": "string", "maxLength": 6}, {"type": "null"}]
    assert (properties["items"]["maxItems"], properties["items"]["items"]["maxLength"]) == (2, 3)
    assert properties["count"] == {"default": 0, "title": "Count", "type": "integer"}


def test_longer_values_are_accepted() -> None:
    """A value beyond a limit is valid."""
    assert Sample(text="longer than five", items=("a", "b", "long")).items == ("a", "b", "long")
