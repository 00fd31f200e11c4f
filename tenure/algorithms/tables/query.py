"""Define what a question asks of a table, independently of its wording and of SQL."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

from tenure.algorithms.tables.periods import Period, PeriodCondition, PeriodUnit
from tenure.algorithms.tables.words import Aggregate
from tenure.contracts.evidence.tables import ColumnInfo, TableInfo

NumberComparison = Literal["<", "<=", ">", ">="]
"""NumberComparison with a number."""


class Unexpressed(Exception):
    """A question that the translation cannot express; the message is the reason, for readers."""


class GroupKey(NamedTuple):
    """Column by which rows are grouped."""

    column: ColumnInfo
    """The column."""
    unit: PeriodUnit | None = None
    """Unit of time by which dates are grouped; None for the values themselves."""


class ValueCondition(NamedTuple):
    """Condition on the values of a text column."""

    column: ColumnInfo
    """The column."""
    values: tuple[str, ...]
    """Permitted values, or excluded ones."""
    is_excluded: bool = False
    """Whether rows with these values are left out."""


class NumberCondition(NamedTuple):
    """Condition on a column of numbers."""

    column: ColumnInfo
    """The column."""
    comparison: NumberComparison
    """Comparison with the number."""
    number: str
    """Number, as a literal."""


@dataclass(frozen=True)
class TableQuestion:
    """Meaning of a question."""

    table: TableInfo
    shape: Literal["figure", "ranking", "rows", "growth", "share"] = "figure"
    """Kind of the result: a figure or one per group, a ranking, rows as they are, growth between two periods, or the
    share of rows with certain values."""
    aggregate: Aggregate | None = None
    """Operation; None for rows as they are."""
    measure: ColumnInfo | None = None
    """Column of the operation; None for counts of rows."""
    groups: tuple[GroupKey, ...] = ()
    """Grouping, or the columns that a ranking names."""
    nested_unit: PeriodUnit | None = None
    """Unit of time over whose totals a mean is taken."""
    values: tuple[ValueCondition, ...] = ()
    numbers: tuple[NumberCondition, ...] = ()
    date_column: ColumnInfo | None = None
    """Column of the condition on periods, of groups by time and of growth."""
    period: PeriodCondition | None = None
    ends: tuple[Period, ...] = ()
    """First and last period of a growth."""
    is_ascending: bool = False
    """Whether a ranking begins with the smallest figure."""
    is_relative: bool = True
    """Whether growth is ranked by percent instead of by amount."""
    limit: int | None = None
    """Number of rows of a ranking; None for the default."""

    def change(self, **fields: object) -> Self:
        """Return the question with other fields."""
        return replace(self, **fields)  # type: ignore[arg-type]
