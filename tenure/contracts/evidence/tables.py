"""Requests and replies for queries over tables.

The rows of a result are stored as a citable source; only the `sql` command returns the rows themselves, up to the row
limit.
"""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import PassageRef


def get_database_corpus(name: str) -> str:
    """Return the corpus that describes the tables of a database."""
    return f"database-{name}"


Cell = str | int | float | bool | None
"""Value of a table cell."""


class ColumnInfo(Contract):
    """A column as described to the SQL writer."""

    name: str
    kind: Literal["number", "text", "date", "boolean", "other"]
    """Type of its values."""
    examples: tuple[str, ...] = ()
    """Some of its values, most frequent first."""
    complete: bool = False
    """Whether the examples are all distinct values."""
    mentioned: tuple[str, ...] = ()
    """Values that the question contains, if the examples are not all values."""


class TableInfo(Contract):
    """A table as described to the SQL writer."""

    name: str
    """Table name in SQL."""
    columns: tuple[ColumnInfo, ...]
    """Columns in order."""
    rows: int | None = None
    """Number of rows; None if not counted."""


class TablesRequest(Contract):
    """Request for the tables relevant to a question."""

    question: str
    corpora: tuple[str, ...]
    """Names of the corpora."""
    databases: tuple[str, ...] = ()
    """Names of databases in the settings."""


class FailedQuery(Contract):
    """A query that failed, with the reason."""

    sql: str
    """SQL statement."""
    problem: str
    """Reason of the failure."""


class QueryRequest(Contract):
    """A SELECT statement over the tables of corpora and databases."""

    sql: str = Field(min_length=1)
    """SQL statement."""
    corpora: tuple[str, ...]
    """Names of the corpora."""
    databases: tuple[str, ...] = ()
    """Names of databases in the settings."""
    question: str = ""
    """Question that the query answers; the relevance of the result is measured against it."""
    title: str = ""
    """Title of the result's source."""
    keep: bool = True
    """Whether the result is stored as a citable source."""
    return_rows: bool = False
    """Whether to return the rows."""


class QueryReply(Contract):
    """Result of a query."""

    passages: tuple[PassageRef, ...] = ()
    """Passages of the stored result."""
    columns: tuple[str, ...] = ()
    """Column names of the result."""
    rows: tuple[tuple[Cell, ...], ...] = ()
    """Rows, if requested."""
    row_count: int = 0
    """Number of rows, up to the limit."""
    truncated: bool = False
    """Whether there were more rows than the limit."""
    problem: str = ""
    """Error message; empty on success."""


class SqlRequest(Contract):
    """A SQL query by a person."""

    sql: str = Field(min_length=1)
    """SQL statement."""
    ingest: tuple[IngestRequest, ...] = ()
    """Corpora to update first."""
    corpora: tuple[str, ...] = ()
    """Corpora whose tables it may read."""
    databases: tuple[str, ...] = ()
    """Databases that it may read."""
