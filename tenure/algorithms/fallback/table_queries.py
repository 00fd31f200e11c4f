"""Translate unambiguous questions into SQL without a model: an aggregate of a named column.

Every content word of the question must be explained by the aggregate, a column, a value of a column, or the table. An
unexplained word means that the question asks for something else. Then no query is built, because a wrong figure with a
citation is worse than none.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from tenure.algorithms.text.sentences import split_words, stem_words
from tenure.contracts.evidence.tables import ColumnInfo, TableInfo

Aggregate = Literal["count", "sum", "avg", "max", "min"]

_AGGREGATE_PATTERNS: Final[dict[Aggregate, str]] = {
    "count": r"\bhow many\b|\b(?:number|count) of\b",
    "sum": r"\btotals?\b|\bsum(?:med)?\b|\bhow much\b|\boverall\b|\baltogether\b|\bin all\b",
    "avg": r"\baverages?\b|\bmean\b",
    "max": r"\b(?:highest|largest|biggest|greatest|maximum|max|top|most)\b",
    "min": r"\b(?:lowest|smallest|least|minimum|min|fewest)\b",
}
_ALIAS: Final[dict[Aggregate, str]] = {
    "count": "number",
    "sum": "total",
    "avg": "average",
    "max": "highest",
    "min": "lowest",
}
_QUALIFIERS = re.compile(
    r"\b(?:not|no|never|without|except|excluding|besides|other than|before|after|since|until|between|during|"
    r"(?:more|less|fewer|greater|higher|lower) than|over|under|above|below|if|why|how(?! many\b| much\b)|should|or|"
    r"and|both|either|neither|only|than|but)\b|[<>=%]",
    re.IGNORECASE,
)
"""Function words that change the meaning of a question."""
_BY = re.compile(r"\b(?:by|per|for each|for every|in each|in every|of each|of every)\s+", re.IGNORECASE)
_WHICH = re.compile(r"\b(?:which|what)\s+", re.IGNORECASE)
_NEUTRAL_STEMS: Final = frozenset(
    stem
    for word in """row rows entry entries record records value values table tables column columns data file show list
    there total totals sum summed overall altogether average averages mean number count highest largest biggest
    greatest maximum max top lowest smallest minimum min fewest least each every many much""".split()
    for stem in stem_words(word)
)


class TableQuery(NamedTuple):
    """SQL query for a question."""

    sql: str
    """A single SELECT statement."""
    title: str
    """Title of the result."""


@dataclass
class _QuestionReading:
    """Interpretation of a question for one table."""

    table: TableInfo
    unexplained_stems: set[str]
    """Stems of the question that are not explained yet."""
    aggregates: list[Aggregate] = field(default_factory=list)
    measure: ColumnInfo | None = None
    group: ColumnInfo | None = None
    ranked: ColumnInfo | None = None
    filters: dict[str, str] = field(default_factory=dict)


def build_table_query(question: str, tables: Sequence[TableInfo]) -> TableQuery | None:
    """Return the query for a question; None unless exactly one table matches and every word is explained."""
    found = [query for table in tables if (query := _build_query(question, table))]
    return found[0] if len(found) == 1 else None


def _build_query(question: str, table: TableInfo) -> TableQuery | None:
    text = " ".join(question.split()).strip(" ?.!")
    if _QUALIFIERS.search(text):
        return None
    reading = _QuestionReading(table, set(stem_words(text)) - _NEUTRAL_STEMS)
    reading.aggregates = [
        name for name, pattern in _AGGREGATE_PATTERNS.items() if re.search(pattern, text, re.IGNORECASE)
    ]
    rest = _take_filters(text, reading)
    columns = [
        column
        for column in table.columns
        if _stem_column_name(column) & reading.unexplained_stems and _stem_column_name(column) <= set(stem_words(rest))
    ]
    reading.ranked = _find_column_after(_WHICH, rest, columns)
    reading.group = _find_column_after(_BY, rest, columns) or reading.ranked
    others = [column for column in columns if column != reading.group]
    reading.measure = others[0] if len(others) == 1 and others[0].kind == "number" else None
    if len(others) > (reading.measure is not None) or not _is_plausible(reading):
        return None
    for column in columns:
        reading.unexplained_stems -= _stem_column_name(column)
    reading.unexplained_stems -= set(stem_words(table.name.replace("_", " ").replace(".", " ")))
    return None if reading.unexplained_stems else _render_query(reading)


def _is_plausible(reading: _QuestionReading) -> bool:
    """Return whether the interpretation is one aggregate, or a ranking of groups by one.

    "Which region has the highest revenue" is rejected, since it may mean a sum or a single row.
    """
    asked = set(reading.aggregates)
    counted = asked - {"max", "min"}
    if reading.ranked is not None or len(asked) > 1:
        shape = len(asked) == 2 and len(counted) == 1 and reading.group is not None
    else:
        shape = len(asked) == 1
    wants_measure = "count" not in asked
    return shape and (reading.measure is not None) == wants_measure


def _find_column_after(marker: re.Pattern[str], text: str, columns: Sequence[ColumnInfo]) -> ColumnInfo | None:
    """Return the column whose name directly follows a marker."""
    for match in marker.finditer(text):
        after = stem_words(text[match.end() :])
        for column in columns:
            name = _stem_column_name(column)
            if column.kind != "other" and set(after[: len(name)]) == name:
                return column
    return None


def _take_filters(text: str, reading: _QuestionReading) -> str:
    """Record the column values that a question contains, and return the question without them."""
    rest = text
    for column, value in sorted(_list_values(reading.table), key=lambda pair: -len(pair[1])):
        spoken = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", rest, re.IGNORECASE)
        if spoken and column.name not in reading.filters and not set(stem_words(value)) <= _NEUTRAL_STEMS:
            reading.filters[column.name] = value
            reading.unexplained_stems -= set(stem_words(value))
            rest = rest[: spoken.start()] + rest[spoken.end() :]
    return rest


def _list_values(table: TableInfo) -> Iterator[tuple[ColumnInfo, str]]:
    """Yield the values of columns whose values are all known."""
    for column in table.columns:
        if column.kind == "text" and column.complete:
            yield from ((column, value) for value in column.examples if split_words(value))


def _stem_column_name(column: ColumnInfo) -> set[str]:
    return set(stem_words(_humanize_name(column.name)))


def _humanize_name(name: str) -> str:
    """Return a column name as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.replace("_", " ")).lower()


def _render_query(reading: _QuestionReading) -> TableQuery:
    asked = set(reading.aggregates)
    ranking = asked & {"max", "min"} if len(asked) == 2 else set()
    (aggregate,) = asked - ranking
    shown = _ALIAS[aggregate] + (f" {_humanize_name(reading.measure.name)}" if reading.measure else " of rows")
    argument = _quote_identifier(reading.measure.name) if reading.measure else "*"
    figure = f"{aggregate}({argument}) AS {_quote_identifier(shown)}"
    clauses = [
        f"FROM {'.'.join(map(_quote_identifier, reading.table.name.split('.', 1)))}",
        *_render_where(reading.filters.items()),
    ]
    about = f"{shown} in {reading.table.name}"
    about += "".join(f", {_humanize_name(name)} {value}" for name, value in reading.filters.items())
    if reading.group is None:
        return TableQuery(f"SELECT {figure} {' '.join(clauses)}", about[0].upper() + about[1:])
    group = _quote_identifier(reading.group.name)
    order = "2 ASC" if ranking == {"min"} else "2 DESC"
    sql = f"SELECT {group}, {figure} {' '.join(clauses)} GROUP BY 1 ORDER BY {order}, 1"
    return TableQuery(
        sql, f"{shown[0].upper()}{shown[1:]} by {_humanize_name(reading.group.name)}{about[len(shown) :]}"
    )


def _render_where(filters: Iterable[tuple[str, str]]) -> list[str]:
    conditions = [f"{_quote_identifier(name)} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in filters]
    return [f"WHERE {' AND '.join(conditions)}"] if conditions else []


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
