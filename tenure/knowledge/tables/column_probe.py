"""Search text columns of tables for values that a question contains, and check whether their values are dates."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.tables.rendering import quote_name, quote_text
from tenure.sources.parsers.table_text import format_value
from tenure.sources.tables.catalogue import Column, Database, ResultTable, Table
from tenure.sources.tables.sql_engine import SqlError, SqlLimits
from tenure.sources.tables.sql_process import run_select

MAX_COLUMNS: Final = 30
"""Columns offered per table."""
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
_ISO_DATES: Final = r"\d{4}-\d{2}(-\d{2}([T ].*)?)?"
_MENTION, _DATES = "mention", "dates"

ColumnKey = tuple[str, str]
"""Names of a table and a column."""


class Probe(NamedTuple):
    """Findings about columns of texts."""

    mentioned: Mapping[ColumnKey, tuple[str, ...]]
    """Values that the question contains, by column."""
    iso_dates: frozenset[ColumnKey]
    """Columns whose values are all dates in ISO 8601 of the same length."""


def probe_columns(
    question: str,
    tables: Sequence[Table],
    sources: Sequence[Database],
    limits: SqlLimits,
    select: Callable[[list[Database], str, SqlLimits], ResultTable] = run_select,
) -> Probe:
    """Search the columns of texts whose values are not all listed.

    Values of a table that cannot be read in time are not found, so that the question has no query that names them.
    """
    mentioned: dict[ColumnKey, tuple[str, ...]] = {}
    iso_dates: set[ColumnKey] = set()
    for database in sources:
        own = [table for table in tables if table.name.partition(".")[0] == database.name]
        parts = list(_build_probes(question, own))
        for first in range(0, len(parts), _COLUMNS_PER_QUERY):
            sql = " UNION ALL ".join(parts[first : first + _COLUMNS_PER_QUERY])
            try:
                rows = select([database], sql, limits).rows
            except SqlError:
                continue
            for kind, table, column, value in rows:
                key = (str(table), str(column))
                if kind == _DATES:
                    iso_dates.add(key)
                else:
                    mentioned[key] = (*mentioned.get(key, ()), str(value))
    return Probe(mentioned, frozenset(iso_dates))


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
            named = f"{quote_text(table.name)}, {quote_text(column.name)}"
            here, source = quote_name(column.name), ".".join(map(quote_name, table.name.split(".", 1)))
            if _may_be_dates(column):
                test = f"min(CAST(regexp_full_match({here}, {quote_text(_ISO_DATES)}) AS INTEGER)) = 1"
                test += f" AND min(length({here})) = max(length({here}))"
                yield f"(SELECT '{_DATES}', {named}, '' FROM {source} HAVING {test})"
            elif not has_listed_values(column):
                clean = f"concat(' ', trim(regexp_replace(lower({here}), '[^\\p{{L}}\\p{{N}}]+', ' ', 'g')), ' ')"
                found = " OR ".join(f"contains({form}, {clean})" for form in spoken)
                bound = f"length({here}) BETWEEN 2 AND {_MAX_MENTION_CHARACTERS}"
                yield (
                    f"(SELECT DISTINCT '{_MENTION}', {named}, {here} FROM {source} "
                    f"WHERE {bound} AND ({found}) LIMIT {_MAX_MENTIONED_VALUES})"
                )


def _list_forms(question: str) -> tuple[str, str]:
    """Return the words of a question between spaces, as they are and without the endings of plurals."""
    words = re.sub(r"[\W_]+", " ", question.lower()).split()
    singular = [word.removesuffix("s") if len(word) > 3 else word for word in words]
    return f" {' '.join(words)} ", f" {' '.join(singular)} "


def _may_be_dates(column: Column) -> bool:
    """Return whether the first and the last value of a column are dates in ISO 8601."""
    pattern = re.compile(_ISO_DATES)
    return all(isinstance(value, str) and pattern.fullmatch(value) for value in (column.minimum, column.maximum))
