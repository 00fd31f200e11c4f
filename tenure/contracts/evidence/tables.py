"""Tables: what a run knows of them, what it asks of them, and what came back.

The rows of a result are stored as a source, so that they can be cited; only a person who asked with SQL of
their own gets them in the answer, up to the limit of rows.
"""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import PassageRef


def database_corpus(name: str) -> str:
    """Return the corpus in which the tables of a database are described."""
    return f"database-{name}"


Cell = str | int | float | bool | None
"""A cell of a table."""


class ColumnInfo(Contract):
    """A column as SQL is written for it."""

    name: str
    """Its name."""
    kind: Literal["number", "text", "date", "boolean", "other"]
    """What it holds."""
    examples: tuple[str, ...] = ()
    """Some of its values, the most common first."""
    complete: bool = False
    """Whether the examples are all values there are."""


class TableInfo(Contract):
    """A table as SQL is written for it."""

    name: str
    """How SQL names it."""
    columns: tuple[ColumnInfo, ...]
    """Its columns, in order."""
    rows: int | None = None
    """How many rows it has; None where they were not counted."""


class TablesRequest(Contract):
    """Which tables of some corpora a question may be about."""

    question: str
    """The question."""
    corpora: tuple[str, ...]
    """Names of the corpora."""
    databases: tuple[str, ...] = ()
    """Names of databases of the settings."""


class TablesReply(Contract):
    """The tables."""

    tables: tuple[TableInfo, ...] = ()
    """The tables nearest to the question."""


class FailedQuery(Contract):
    """A query that brought nothing, and why."""

    sql: str
    """The query."""
    problem: str
    """Why."""


class QueryRequest(Contract):
    """One SELECT over the tables of corpora and databases."""

    sql: str = Field(min_length=1)
    """The statement."""
    corpora: tuple[str, ...]
    """Names of the corpora."""
    databases: tuple[str, ...] = ()
    """Names of databases of the settings."""
    question: str = ""
    """The question that it belongs to; the result's relevance is measured on it."""
    title: str = ""
    """What the result shows; the title of its source."""
    keep: bool = True
    """Whether the result becomes a source that can be cited."""
    rows: bool = False
    """Whether the rows themselves are wanted."""


class QueryReply(Contract):
    """What a query brought."""

    passages: tuple[PassageRef, ...] = ()
    """The result's passages, where it was kept."""
    columns: tuple[str, ...] = ()
    """Names of the result's columns."""
    rows: tuple[tuple[Cell, ...], ...] = ()
    """Its rows, where they were wanted."""
    count: int = 0
    """How many rows there were, up to the limit."""
    truncated: bool = False
    """Whether there were more."""
    problem: str = ""
    """Why there is no result; empty where there is one."""


class SqlRequest(Contract):
    """A person's own SQL."""

    sql: str = Field(min_length=1)
    """The statement."""
    ingest: tuple[IngestRequest, ...] = ()
    """Corpora to bring up to date first."""
    corpora: tuple[str, ...] = ()
    """Corpora whose tables it may read."""
    databases: tuple[str, ...] = ()
    """Databases it may read."""
