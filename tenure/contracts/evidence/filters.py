"""Filters of a search: conditions on what is known of a passage and its document, besides its words."""

from collections.abc import Mapping
from typing import Final, Literal

from tenure.contracts.base import Contract

Kind = Literal["text", "date", "number"]
"""What a field's values are; a date is ISO 8601 text, empty where unknown."""

FIELDS: Final[Mapping[str, Kind]] = {
    "source": "text",
    "uri": "text",
    "title": "text",
    "author": "text",
    "published": "date",
    "kind": "text",
    "suffix": "text",
    "ordinal": "number",
}
"""What a search may be filtered by."""

Scalar = bool | int | float | str
"""A value to compare with. Dates are ISO 8601 text; `2001` and `2001-03` stand for all of their days."""


class Filter(Contract):
    """A condition on one field; every part that is given has to hold.

    Whether the field exists, and its values are of the field's kind, is checked by the knowledge base.
    """

    field: str
    """Name of the field, one of `FIELDS`."""
    equals: Scalar | None = None
    """The value it has."""
    any_of: tuple[Scalar, ...] | None = None
    """The values of which it has one."""
    min: Scalar | None = None
    """The least value it has, itself included."""
    max: Scalar | None = None
    """The greatest value it has, itself included."""

    def __str__(self) -> str:
        """Write the condition as a person would."""
        parts = [f"{self.field} {sign} {value}" for sign, value in self._compared() if value is not None]
        if self.any_of is not None:
            parts.append(f"{self.field} is one of {', '.join(map(str, self.any_of))}")
        return " and ".join(parts)

    def _compared(self) -> tuple[tuple[str, Scalar | None], ...]:
        return ("=", self.equals), (">=", self.min), ("<=", self.max)
