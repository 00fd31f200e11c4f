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
    rows: int | None = None
    """Number of rows; None if not counted."""


class TableScope(Contract):
    """Tables that may be read."""

    corpora: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    """Names of databases in the settings."""


class TablesRequest(TableScope):
    """Request for the tables relevant to a question."""

    question: str


class SelectRequest(TableScope):
    """A SELECT statement over the tables of corpora and databases."""

    sql: str = Field(min_length=1)


class FailedQuery(Contract):
    """A query that failed, with the reason."""

    sql: str
    problem: str


class QueryRequest(SelectRequest):
    """A SELECT statement whose result may become a source."""

    question: str = ""
    """Question that the query answers; the relevance of the result is measured against it."""
    title: str = ""
    keep: bool = True
    """Whether the result is stored as a citable source."""
    return_rows: bool = False


class QueryReply(Contract):
    """Result of a query."""

    passages: tuple[PassageRef, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    """Rows, if requested."""
    row_count: int = 0
    """Number of rows, up to the limit."""
    truncated: bool = False
    """Whether there were more rows than the limit."""
    problem: str = ""
    """Error message; empty on success."""


class SqlRequest(SelectRequest):
    """A SQL query by a person."""

    ingest: tuple[IngestRequest, ...] = ()
    """Corpora to update first."""
