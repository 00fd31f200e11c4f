"""Metadata filters of searches: conditions on passages and their documents."""

from collections.abc import Mapping
from typing import Final, Literal

from tenure.contracts.base import Contract

FilterFieldType = Literal["text", "date", "number"]
"""Type of a field's values; a date is ISO 8601 text, empty if unknown."""

FILTER_FIELDS: Final[Mapping[str, FilterFieldType]] = {
    "source": "text",
    "uri": "text",
    "title": "text",
    "author": "text",
    "published": "date",
    "kind": "text",
    "suffix": "text",
    "version": "text",
    "retired": "text",
    "language": "text",
    "ordinal": "number",
}
"""Fields that searches can filter by."""

FilterValue = bool | int | float | str
"""Value to compare with. Dates are ISO 8601 text; `2001` and `2001-03` stand for all of their days."""


class Filter(Contract):
    """Condition on one field; all given parts must hold.

    The knowledge base checks that the field exists and that the values have its type.
    """

    field: str
    """Name of the field, one of `FILTER_FIELDS`."""
    equals: FilterValue | None = None
    any_of: tuple[FilterValue, ...] | None = None
    min: FilterValue | None = None
    max: FilterValue | None = None

    def __str__(self) -> str:
        """Return the condition in readable form."""
        comparisons = (("=", self.equals), (">=", self.min), ("<=", self.max))
        parts = [f"{self.field} {sign} {value}" for sign, value in comparisons if value is not None]
        if self.any_of is not None:
            parts.append(f"{self.field} is one of {', '.join(map(str, self.any_of))}")
        return " and ".join(parts)
