"""Interpret the columns of a table: the words that name them, and what their values can be used for."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from tenure.algorithms.tables.words import (
    ADDITIVE_STEMS,
    ENTITY_SUFFIXES,
    INTENSIVE_STEMS,
    STOCK_STEMS,
    SYNONYMS,
    UNIT_WORDS,
)
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.evidence.tables import ColumnInfo, TableInfo

EXACT, CORE, HEAD, SYNONYM = 4, 3, 2, 1
"""Strengths of a name: the whole name, without its suffixes, its last word, and another word for it."""

_TOKEN: Final = re.compile(
    r"(?P<date>\d{4}-\d{2}(?:-\d{2})?(?![\w-]))|(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|\d+(?:\.\d+)?(?![^\W_]))"
    r"|(?P<word>[^\W_]+(?:['’][^\W_]+)*)|(?P<mark>[<>]=?|=|%)"
)
_CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ISO_DATE: Final = re.compile(r"\d{4}-\d{2}(?:-\d{2}(?:[T ].*)?)?")
_PERSON_NOUNS: Final = ("employees", "staff", "members", "users", "customers", "students", "players", "patients")
_PREPOSITIONS: Final = ("in", "on", "at", "per", "by", "of", "to")
_YEARS: Final = range(1500, 2201)


class ColumnName(NamedTuple):
    """Words by which a question may name a column."""

    column: int
    """Position of the column."""
    stems: tuple[str, ...]
    """Stems of the words."""
    strength: int
    """Strength of the name; the strongest that matches counts."""


def normalize(text: str) -> str:
    """Return a text as lower-case words, numbers without separators, and comparison signs, separated by spaces."""
    spaced = _CAMEL_CASE.sub(" ", text)
    return " ".join(_normalize_token(match) for match in _TOKEN.finditer(spaced))


def _normalize_token(match: re.Match[str]) -> str:
    text = match.group().lower()
    if match["number"]:
        return text.replace(",", "")
    if match["word"]:
        return re.sub(r"['’]s$", "", text).replace("’", "'")
    return "percent" if text == "%" else text


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return the stem of a word, also of a stop word."""
    return (stem_words(word) or [word])[0]


def to_words(name: str) -> str:
    """Return a column name as words."""
    spaced = _CAMEL_CASE.sub(" ", name)
    return " ".join(re.sub(r"[_\W]+", " ", spaced).lower().split()) or name


def list_names(table: TableInfo) -> Iterator[ColumnName]:
    """Yield the names of all columns."""
    for position, column in enumerate(table.columns):
        words = to_words(column.name).split()
        core = _drop_suffixes(words)
        forms = [(words, EXACT), (core, CORE), (core[-1:], HEAD)]
        forms += [([word], SYNONYM) for group in SYNONYMS if core[-1] in group for word in group]
        yield from (
            ColumnName(position, tuple(map(stem, words)), strength)
            for words, strength in forms
            if not set(words) <= {*_PREPOSITIONS}
        )


def _drop_suffixes(words: list[str]) -> list[str]:
    """Return the words of a name without units and identifying suffixes."""
    kept = list(words)
    while len(kept) > 1 and kept[-1] in (*UNIT_WORDS, *ENTITY_SUFFIXES, *_PREPOSITIONS):
        kept.pop()
    return kept


def get_head(column: ColumnInfo) -> str:
    """Return the stem of the last word of a name without its suffixes, such as price for `unit_price_eur`."""
    return stem(_drop_suffixes(to_words(column.name).split())[-1])


def list_table_nouns(table: TableInfo) -> set[tuple[str, ...]]:
    """Return the stems of the words that name the rows of a table."""
    words = [word for word in to_words(table.name.rpartition(".")[2]).split() if not word.isdigit()]
    schema = to_words(table.name.rpartition(".")[0]).split()
    forms = [words, words[-1:], [*schema, *words]]
    stems = {tuple(map(stem, form)) for form in forms if form}
    if stems & {(stem(word),) for word in _PERSON_NOUNS}:
        stems |= {(stem(word),) for word in ("people", "persons")}
    return stems


def is_year(column: ColumnInfo) -> bool:
    """Return whether a column of numbers holds years."""
    bounds = (column.minimum, column.maximum)
    named = stem("year") in map(stem, to_words(column.name).split())
    return named and column.kind == "number" and all(text.isdigit() and int(text) in _YEARS for text in bounds)


def is_date(column: ColumnInfo) -> bool:
    """Return whether a column holds dates, by its type or as texts in ISO 8601."""
    dated = column.kind == "date" or column.iso_dates
    return dated and bool(_ISO_DATE.fullmatch(column.minimum)) and bool(_ISO_DATE.fullmatch(column.maximum))


def is_measure(column: ColumnInfo) -> bool:
    """Return whether a column holds quantities, not years and not identifiers."""
    last = to_words(column.name).split()[-1]
    return column.kind == "number" and not is_year(column) and last not in ("id", "code", "key", "nr", "zip", "year")


def is_label(column: ColumnInfo) -> bool:
    """Return whether the values of a column name or classify rows."""
    return not is_measure(column) and column.kind != "other" and not is_date(column)


def is_intensive(column: ColumnInfo) -> bool:
    """Return whether a sum of a column has no meaning."""
    words = to_words(column.name).split()
    return "per" in words or bool(INTENSIVE_STEMS.intersection(map(stem, words)))


def is_additive(column: ColumnInfo) -> bool:
    """Return whether a column is known to be added over rows."""
    return not is_intensive(column) and bool(ADDITIVE_STEMS.intersection(map(stem, to_words(column.name).split())))


def is_stock(column: ColumnInfo) -> bool:
    """Return whether a column holds what exists at a point in time, such as a population."""
    return bool(STOCK_STEMS.intersection(map(stem, to_words(column.name).split())))
