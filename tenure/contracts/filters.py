"""Filters of a search: conditions on what is known of a passage and its document, besides its words."""

from tenure.contracts.base import Contract

Scalar = bool | int | float | str
"""A value to compare with. Dates are ISO 8601 text; `2001` and `2001-03` stand for all of their days."""


class Filter(Contract):
    """A condition on one field; every part that is given has to hold.

    Whether the field exists, and its values are of the field's kind, is checked by the knowledge base.
    """

    field: str
    """Name of the field: source, uri, title, author, published, kind, suffix or ordinal."""
    equals: Scalar | None = None
    """The value it has."""
    any_of: tuple[Scalar, ...] | None = None
    """The values of which it has one."""
    min: Scalar | None = None
    """The least value it has, itself included."""
    max: Scalar | None = None
    """The greatest value it has, itself included."""
