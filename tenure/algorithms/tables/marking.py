"""Mark the columns, values and rows of a table that a question mentions.

In the marked question, `§c2` is the third column, `§v0` the first mentioned value, and `§t` a word for the rows.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.tables.columns import (
    CORE,
    EXACT,
    HEAD,
    is_date,
    is_measure,
    list_names,
    list_table_nouns,
    normalize,
    stem,
    to_words,
)
from tenure.algorithms.tables.words import ENTITY_SUFFIXES, NEUTRAL_WORDS
from tenure.contracts.evidence.tables import TableInfo

_IMPERATIVE: Final = re.compile(r"^(?:please )?name (?=(?:the|all|every|each|\d+|two|three|four|five|ten)\b)")
"""Request that begins with a word that may also name a column."""
_MAX_CODE_LETTERS: Final = 3
"""Maximum letters of a value that is read as a code if it is a common word."""
_MAX_MENTION_WORDS = 8
"""Maximum words of a mention."""
_VALUE, _TABLE = EXACT + 1, CORE
"""Strengths of a value, and of a word for the rows."""


class MentionedValue(NamedTuple):
    """Value of a column."""

    column: int
    """Position of the column."""
    value: str
    """Value as the table writes it."""


class MarkedQuestion(NamedTuple):
    """Question in which mentions are marked."""

    text: str
    """Normalized question with markers."""
    values: tuple[MentionedValue, ...] = ()
    """Values by the numbers of their markers."""
    problem: str = ""
    """Reason why a mention is not understood; empty if all are."""

    @property
    def mentions(self) -> int:
        """Number of markers."""
        return self.text.count("§")


class _Mention(NamedTuple):
    """Possible meaning of a span of words."""

    strength: int
    marker: str
    value: MentionedValue | None = None


def mark_mentions(question: str, table: TableInfo) -> MarkedQuestion:
    """Mark the mentions of a table in a question, longest first from the left."""
    words = _IMPERATIVE.sub("", normalize(question)).split()
    lexicon = _Lexicon(table, question)
    marked: list[str] = []
    values: list[MentionedValue] = []
    problem, place = "", 0
    while place < len(words):
        length, found = lexicon.find_longest(words[place:])
        best = [mention for mention in found if mention.strength == max(one.strength for one in found)]
        if not best:
            marked.append(words[place])
            place += 1
            continue
        mention = lexicon.choose(best, marked)
        if mention is None:
            problem = problem or lexicon.describe_ambiguity(" ".join(words[place : place + length]), best)
            mention = best[0]
        if mention.value is not None:
            marked.append(f"§v{len(values)}")
            values.append(mention.value)
        else:
            marked.append(mention.marker)
        place += length
    return MarkedQuestion(" ".join(marked), tuple(values), problem)


class _Lexicon:
    """Words that have a meaning in a table."""

    def __init__(self, table: TableInfo, question: str) -> None:
        self._table = table
        self._by_stems: dict[tuple[str, ...], list[_Mention]] = {}
        self._by_words: dict[tuple[str, ...], list[_Mention]] = {}
        for name in list_names(table):
            self._by_stems.setdefault(name.stems, []).append(_Mention(name.strength, f"§c{name.column}"))
        for stems in list_table_nouns(table):
            self._by_stems.setdefault(stems, []).append(_Mention(_TABLE, "§t"))
        for value in _list_values(table):
            mention = _Mention(_VALUE, "", value)
            form = tuple(normalize(value.value).split())
            # A code such as IT is a value only in the letters of the table, since `it` is a word of questions.
            is_code = set(form) <= NEUTRAL_WORDS and len("".join(form)) <= _MAX_CODE_LETTERS
            if form and (not is_code or self._is_spoken(value.value, question)):
                self._by_words.setdefault(form, []).append(mention)
                if len("".join(form)) > 3:
                    self._by_stems.setdefault(tuple(map(stem, form)), []).append(mention._replace(strength=HEAD))

    @staticmethod
    def _is_spoken(code: str, question: str) -> bool:
        return not code.islower() and re.search(rf"(?<!\w){re.escape(code)}(?!\w)", question) is not None

    def find_longest(self, words: Sequence[str]) -> tuple[int, list[_Mention]]:
        """Return the length of the longest mention at the start of some words, and its meanings."""
        for length in range(min(_MAX_MENTION_WORDS, len(words)), 0, -1):
            span = tuple(words[:length])
            found = [*self._by_words.get(span, ()), *self._by_stems.get(tuple(map(stem, span)), ())]
            if found:
                return length, list(dict.fromkeys(found))
        return 1, []

    def choose(self, found: Sequence[_Mention], before: Sequence[str]) -> _Mention | None:
        """Return the meaning of equally strong ones; None if they are ambiguous."""
        distinct = {mention.marker or mention.value: mention for mention in found}
        if len(distinct) == 1:
            return found[0]
        columns = [mention for mention in distinct.values() if mention.marker.startswith("§c")]
        if any(mention.marker == "§t" for mention in found) and len(columns) < len(distinct):
            entities = [mention for mention in columns if self._get_suffix(mention) or self._is_measure(mention)]
            measures = [mention for mention in entities if self._is_measure(mention)]
            return measures[0] if len(measures) == 1 else next(m for m in found if m.marker == "§t")
        if len(columns) == len(distinct):
            ranked = sorted(columns, key=lambda mention: self._rank_suffix(mention))
            if self._rank_suffix(ranked[0]) < self._rank_suffix(ranked[1]) and self._get_suffix(ranked[-1]):
                return ranked[0]
            return None
        named = [m for m in found if m.value is not None and f"§c{m.value.column}" in before[-2:]]
        return named[0] if len(named) == 1 else None

    def describe_ambiguity(self, words: str, found: Sequence[_Mention]) -> str:
        """Return the reason why words are ambiguous."""
        columns = [m.value.column if m.value else int(m.marker[2:]) for m in found if m.value or m.marker[1] == "c"]
        names = sorted({self._table.columns[column].name for column in columns})
        return f"“{words}” may refer to the columns {' and '.join(names)}"

    def _is_measure(self, mention: _Mention) -> bool:
        return is_measure(self._table.columns[int(mention.marker[2:])])

    def _get_suffix(self, mention: _Mention) -> str:
        """Return the identifying suffix of a column name, such as id."""
        words = self._table.columns[int(mention.marker[2:])].name.lower().replace("_", " ").split()
        return words[-1] if len(words) > 1 and words[-1] in ENTITY_SUFFIXES else ""

    def _rank_suffix(self, mention: _Mention) -> int:
        suffix = self._get_suffix(mention)
        return ENTITY_SUFFIXES.index(suffix) + 1 if suffix else 0


def _list_values(table: TableInfo) -> Iterator[MentionedValue]:
    """Yield the known values of text columns; dates are read as periods."""
    for position, column in enumerate(table.columns):
        if column.kind == "text" and not is_date(column):
            known = column.examples if column.complete else column.mentioned
            has_years = stem("year") in map(stem, to_words(column.name).split())
            # Texts of digits are confused with years and other numbers.
            values = (value for value in dict.fromkeys(known) if has_years or not value.isdigit())
            yield from (MentionedValue(position, value) for value in values)
