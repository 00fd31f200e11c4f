"""Search text columns of tables for values that a question contains."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tenure.sources.parsers.table_text import format_value
from tenure.sources.sql_process import run_select
from tenure.sources.tables.catalogue import Column, Database, Table
from tenure.sources.tables.sql_engine import SqlError, SqlLimits, quote_name, quote_text

MAX_COLUMNS: Final = 30
MAX_VALUE_CHARACTERS: Final = 40
"""Length up to which the values of a column are listed completely."""
_MAX_LISTED_VALUES: Final = 12
"""Distinct values of a column up to which all are listed."""
_MAX_MENTIONED_VALUES: Final = 12
"""Values of a column that a question may contain."""
_MAX_MENTION_CHARACTERS: Final = 80
"""Length of values that are looked for in a question."""
_COLUMNS_PER_QUERY: Final = 20
"""Columns that one statement searches."""

ColumnKey = tuple[str, str]


def find_mentioned_values(
    question: str, tables: Sequence[Table], sources: Sequence[Database], limits: SqlLimits
) -> Mapping[ColumnKey, tuple[str, ...]]:
    """Return the values that a question contains, by column, of the columns of texts whose values are not all listed.

    Values of a table that cannot be read in time are not found, so that the question has no query that names them.
    """
    mentioned: dict[ColumnKey, tuple[str, ...]] = {}
    for database in sources:
        own_tables = [table for table in tables if table.name.partition(".")[0] == database.name]
        parts = list(_build_probes(question, own_tables))
        for first in range(0, len(parts), _COLUMNS_PER_QUERY):
            sql = " UNION ALL ".join(parts[first : first + _COLUMNS_PER_QUERY])
            try:
                rows = run_select([database], sql, limits).rows
            except SqlError:
                continue
            for table, column, value in rows:
                key = (str(table), str(column))
                mentioned[key] = (*mentioned.get(key, ()), str(value))
    return mentioned


def has_listed_values(column: Column) -> bool:
    """Return whether the most common values of a column are all values, and few and short enough to list."""
    texts = [format_value(value) for value, _ in column.most_common if isinstance(value, str | int | float)]
    return (
        bool(column.most_common)
        and len(column.most_common) == column.distinct_count
        and len(set(texts)) <= _MAX_LISTED_VALUES
        and all(len(text) <= MAX_VALUE_CHARACTERS for text in texts)
    )


def _build_probes(question: str, tables: Sequence[Table]) -> Iterator[str]:
    """Yield the queries that search columns."""
    spoken = [quote_text(form) for form in _list_forms(question)]
    for table in tables:
        columns = [column for column in table.columns[:MAX_COLUMNS] if column.kind == "text"]
        for column in columns:
            names = f"{quote_text(table.name)}, {quote_text(column.name)}"
            value, source = quote_name(column.name), ".".join(map(quote_name, table.name.split(".", 1)))
            if not has_listed_values(column):
                clean = f"concat(' ', trim(regexp_replace(lower({value}), '[^\\p{{L}}\\p{{N}}]+', ' ', 'g')), ' ')"
                matches = " OR ".join(f"contains({form}, {clean})" for form in spoken)
                bound = f"length({value}) BETWEEN 2 AND {_MAX_MENTION_CHARACTERS}"
                yield (
                    f"(SELECT DISTINCT {names}, {value} FROM {source} "
                    f"WHERE {bound} AND ({matches}) LIMIT {_MAX_MENTIONED_VALUES})"
                )


def _list_forms(question: str) -> tuple[str, str]:
    """Return the words of a question between spaces, as they are and without the endings of plurals."""
    words = re.sub(r"[\W_]+", " ", question.lower()).split()
    singular = [word.removesuffix("s") if len(word) > 3 else word for word in words]
    return f" {' '.join(words)} ", f" {' '.join(singular)} "
