"""SQL for questions that leave no doubt, without a model: an aggregate of a named column.

The rule is that every content word of the question is accounted for: it names the aggregate, a column, a value
of a column, or the table. A word too many means that the question asks for something else, and then there is
no query: a wrong figure with a quote under it would be worse than none.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from tenure.algorithms.text.sentences import stems, words
from tenure.contracts.evidence.tables import ColumnInfo, TableInfo

Aggregate = Literal["count", "sum", "avg", "max", "min"]

_ASKED: Final[dict[Aggregate, str]] = {
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
_CHANGING = re.compile(
    r"\b(?:not|no|never|without|except|excluding|besides|other than|before|after|since|until|between|during|"
    r"(?:more|less|fewer|greater|higher|lower) than|over|under|above|below|if|why|how(?! many\b| much\b)|should|or|"
    r"and|both|either|neither|only|than|but)\b|[<>=%]",
    re.IGNORECASE,
)
"""Small words that change what is asked for and that no content word would betray."""
_BY = re.compile(r"\b(?:by|per|for each|for every|in each|in every|of each|of every)\s+", re.IGNORECASE)
_WHICH = re.compile(r"\b(?:which|what)\s+", re.IGNORECASE)
_NEUTRAL: Final = frozenset(
    stem
    for word in """row rows entry entries record records value values table tables column columns data file show list
    there total totals sum summed overall altogether average averages mean number count highest largest biggest
    greatest maximum max top lowest smallest minimum min fewest least each every many much""".split()
    for stem in stems(word)
)


class TableQuery(NamedTuple):
    """A query that answers a question for certain."""

    sql: str
    """One SELECT."""
    shows: str
    """What its result shows, as a title."""


@dataclass
class _Reading:
    """A question read against one table: what each of its words is."""

    table: TableInfo
    left: set[str]
    """Stems of the question that nothing accounts for yet."""
    aggregates: list[Aggregate] = field(default_factory=list)
    measure: ColumnInfo | None = None
    group: ColumnInfo | None = None
    ranked: ColumnInfo | None = None
    filters: dict[str, str] = field(default_factory=dict)


def table_query(question: str, tables: Sequence[TableInfo]) -> TableQuery | None:
    """Return the query that a question asks for, None unless exactly one table can be meant and no word is left."""
    found = [query for table in tables if (query := _query(question, table))]
    return found[0] if len(found) == 1 else None


def _query(question: str, table: TableInfo) -> TableQuery | None:
    text = " ".join(question.split()).strip(" ?.!")
    if _CHANGING.search(text):
        return None
    reading = _Reading(table, set(stems(text)) - _NEUTRAL)
    reading.aggregates = [name for name, pattern in _ASKED.items() if re.search(pattern, text, re.IGNORECASE)]
    rest = _take_filters(text, reading)
    columns = [
        column for column in table.columns if _names(column) & reading.left and _names(column) <= set(stems(rest))
    ]
    reading.ranked = _following(_WHICH, rest, columns)
    reading.group = _following(_BY, rest, columns) or reading.ranked
    others = [column for column in columns if column != reading.group]
    reading.measure = others[0] if len(others) == 1 and others[0].kind == "number" else None
    if len(others) > (reading.measure is not None) or not _plausible(reading):
        return None
    for column in columns:
        reading.left -= _names(column)
    reading.left -= set(stems(table.name.replace("_", " ").replace(".", " ")))
    return None if reading.left else _written(reading)


def _plausible(reading: _Reading) -> bool:
    """Tell whether what was found makes one aggregate, or the ranking of groups by one.

    "Which region has the highest revenue" says neither whether it means a sum nor a single row.
    """
    asked = set(reading.aggregates)
    counted = asked - {"max", "min"}
    if reading.ranked is not None or len(asked) > 1:
        shape = len(asked) == 2 and len(counted) == 1 and reading.group is not None
    else:
        shape = len(asked) == 1
    wants_measure = "count" not in asked
    return shape and (reading.measure is not None) == wants_measure


def _following(marker: re.Pattern[str], text: str, columns: Sequence[ColumnInfo]) -> ColumnInfo | None:
    """Return the column whose name stands right behind a marker."""
    for match in marker.finditer(text):
        after = stems(text[match.end() :])
        for column in columns:
            name = _names(column)
            if column.kind != "other" and set(after[: len(name)]) == name:
                return column
    return None


def _take_filters(text: str, reading: _Reading) -> str:
    """Note the values of columns that stand in the question, and return it without them."""
    rest = text
    for column, value in sorted(_values(reading.table), key=lambda pair: -len(pair[1])):
        spoken = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", rest, re.IGNORECASE)
        if spoken and column.name not in reading.filters and not set(stems(value)) <= _NEUTRAL:
            reading.filters[column.name] = value
            reading.left -= set(stems(value))
            rest = rest[: spoken.start()] + rest[spoken.end() :]
    return rest


def _values(table: TableInfo) -> Iterator[tuple[ColumnInfo, str]]:
    """Yield the values that may stand in a question, where all of a column's are known."""
    for column in table.columns:
        if column.kind == "text" and column.complete:
            yield from ((column, value) for value in column.examples if words(value))


def _names(column: ColumnInfo) -> set[str]:
    return set(stems(_spoken(column.name)))


def _spoken(name: str) -> str:
    """Return a column's name as people say it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.replace("_", " ")).lower()


def _written(reading: _Reading) -> TableQuery:
    asked = set(reading.aggregates)
    ranking = asked & {"max", "min"} if len(asked) == 2 else set()
    (aggregate,) = asked - ranking
    shown = _ALIAS[aggregate] + (f" {_spoken(reading.measure.name)}" if reading.measure else " of rows")
    figure = f"{aggregate}({_quoted(reading.measure.name) if reading.measure else '*'}) AS {_quoted(shown)}"
    clauses = [f"FROM {'.'.join(map(_quoted, reading.table.name.split('.', 1)))}", *_where(reading.filters.items())]
    about = f"{shown} in {reading.table.name}"
    about += "".join(f", {_spoken(name)} {value}" for name, value in reading.filters.items())
    if reading.group is None:
        return TableQuery(f"SELECT {figure} {' '.join(clauses)}", about[0].upper() + about[1:])
    group = _quoted(reading.group.name)
    order = "2 ASC" if ranking == {"min"} else "2 DESC"
    sql = f"SELECT {group}, {figure} {' '.join(clauses)} GROUP BY 1 ORDER BY {order}, 1"
    return TableQuery(sql, f"{shown[0].upper()}{shown[1:]} by {_spoken(reading.group.name)}{about[len(shown) :]}")


def _where(filters: Iterable[tuple[str, str]]) -> list[str]:
    conditions = [f"{_quoted(name)} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in filters]
    return [f"WHERE {' AND '.join(conditions)}"] if conditions else []


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
