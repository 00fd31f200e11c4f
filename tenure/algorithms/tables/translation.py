"""Translate questions about tables into SQL without a model, or say in one line why not.

The words of a question are matched with the columns and values of a table. A question becomes a query only if every
content word is understood and exactly one table explains them all.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tenure.algorithms.tables.columns import normalize
from tenure.algorithms.tables.marking import mark_mentions
from tenure.algorithms.tables.query import Unexpressed
from tenure.algorithms.tables.reading import GROWTH, SHARE, read_question
from tenure.algorithms.tables.rendering import TableQuery, render_query
from tenure.algorithms.tables.words import ADJECTIVES, AGGREGATES, ASCENDING, DESCENDING
from tenure.contracts.evidence.tables import TableInfo


class Translation(NamedTuple):
    """Query for a question, or the reason for a missing one."""

    query: TableQuery | None
    """The query; None if the question cannot be expressed."""
    reason: str = ""
    """Reason why a question about a table has no query; empty if it has one, or concerns no table."""


class _Attempt(NamedTuple):
    """Reading of a question with one table."""

    mentions: int
    """Mentions of columns, values and rows of the table."""
    query: TableQuery | None
    reason: str = ""


def translate_question(question: str, tables: Sequence[TableInfo]) -> Translation:
    """Return the query for a question over one of some tables."""
    attempts = [_read(question, table) for table in tables]
    found = [attempt.query for attempt in attempts if attempt.query]
    if len(found) == 1:
        return Translation(found[0])
    if found:
        names = [table.name for table, attempt in zip(tables, attempts, strict=True) if attempt.query]
        return Translation(None, f"it may refer to the tables {', '.join(names)}: name one of them")
    best = max(attempts, key=lambda attempt: attempt.mentions, default=None)
    return Translation(None, best.reason if best and best.mentions and _asks_for_figure(question) else "")


def _asks_for_figure(question: str) -> bool:
    """Return whether a question names an operation over rows, so that it is one for tables."""
    operations = "|".join((*AGGREGATES.values(), DESCENDING, ASCENDING, *ADJECTIVES))
    text = normalize(question)
    return any(re.search(pattern, text) for pattern in (rf"\b(?:{operations})\b", GROWTH.pattern, SHARE.pattern))


def _read(question: str, table: TableInfo) -> _Attempt:
    """Read a question with one table."""
    marked = mark_mentions(question, table)
    if not marked.mentions:
        return _Attempt(0, None)
    try:
        return _Attempt(marked.mentions, render_query(read_question(marked, table)))
    except Unexpressed as problem:
        return _Attempt(marked.mentions, None, str(problem))
