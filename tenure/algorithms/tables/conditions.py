"""Read the conditions of a marked question: periods, comparisons with numbers, and values."""

import re
from collections.abc import Sequence
from typing import Final

from tenure.algorithms.tables.columns import get_head, is_date, is_measure, is_year, stem, to_words
from tenure.algorithms.tables.marking import MarkedQuestion, MentionedValue
from tenure.algorithms.tables.periods import Period, read_periods
from tenure.algorithms.tables.query import (
    GroupKey,
    NumberComparison,
    NumberCondition,
    TableQuestion,
    Unexpressed,
    ValueCondition,
)
from tenure.algorithms.tables.words import VERBS
from tenure.contracts.evidence.tables import ColumnInfo, TableInfo

_COMPARISONS: Final[dict[str, NumberComparison]] = {
    r"(?:more|greater|higher|larger|bigger|longer) than|over|above|exceeding|>": ">",
    r"(?:less|fewer|lower|smaller|shorter) than|under|below|<": "<",
    r"at least|not less than|>=": ">=",
    r"at most|not more than|up to|<=": "<=",
}
_NUMBER = r"(\d+(?:\.\d+)?)"
_LINK = r"(?:(?:of|is|was|are|were|that|which|has|have|had|a|an|the|by|with) )*"
_VALUE_LIST = (
    r"((?:(?:the |in |for |of )*§v\d+(?: §c\d+)?(?: |$)(?:and |or |nor |vs |versus |compared to |compared with )?)+)"
)
_NEGATION = r"(?:not|no|never|without|except(?: for)?|excluding|besides|other than|outside(?: of)?|apart from)"
_YEAR_WORD = r"(?:19|20)\d\d\b"


class ConditionReader:
    """Question while its conditions are read; `text` contains the words that are not understood yet."""

    def __init__(self, marked: MarkedQuestion, table: TableInfo) -> None:
        self.text, self.spoken_values, self.table = marked.text, marked.values, table
        self.question = TableQuestion(table)
        self.compared: tuple[Period, ...] = ()
        self.value_groups: list[GroupKey] = []

    def _read_periods(self) -> None:
        text = re.sub(rf"§c(\d+)(?= {_YEAR_WORD})", self._drop_date_column, self.text)
        reading = read_periods(text)
        if reading.condition is None and not reading.problem:
            return
        if reading.problem:
            raise Unexpressed(reading.problem)
        self.text, self.compared = reading.text, reading.compared
        column = self._choose_date_column()
        self.question = self.question.change(period=reading.condition, date_column=column)
        unit = reading.compared[0].unit if reading.compared else None
        if unit and reading.condition and len(reading.condition.spans) > 1:
            self.value_groups.append(GroupKey(column, unit))

    def _drop_date_column(self, match: re.Match[str]) -> str:
        column = self.table.columns[int(match[1])]
        return "" if is_date(column) or is_year(column) else match.group()

    def _choose_date_column(self) -> ColumnInfo:
        """Return the column of dates that the question means.

        Raises:
            Unexpressed: no column has dates, or several may be meant.
        """
        dated = [column for column in self.table.columns if is_date(column)]
        dated = dated or [column for column in self.table.columns if is_year(column)]
        if len(dated) > 1:
            words = {stem(word) for word in self.text.split()}
            mentioned = {self.table.columns[int(number)].name for number in re.findall(r"§c(\d+)", self.text)}
            named = [c for c in dated if c.name in mentioned or words & {stem(w) for w in list_name_words(c)}]
            dated = named or dated
        if not dated:
            raise Unexpressed(f"the table {self.table.name} has no column of dates or years")
        if len(dated) > 1:
            raise Unexpressed(f"a period may refer to the columns {' and '.join(column.name for column in dated)}")
        if not self.question.date_column:
            words = {stem(word) for word in list_name_words(dated[0])}
            text = re.sub(rf"(?<!by )(?<!per )§c{self.table.columns.index(dated[0])}(?!\d)", "", self.text)
            self.text = " ".join(word for word in text.split() if "§" in word or stem(word) not in words)
        return dated[0]

    def _read_numbers(self) -> None:
        for words, comparison in _COMPARISONS.items():
            verbs = "|".join(VERBS)
            named = (
                rf"(?:(?:who|which|that) )?(?:with (?:a |an )?)?(?:§c(\d+)|\b({verbs})\b) {_LINK}"
                rf"(?:{words}) {_NUMBER}(?! §t)(?: percent)?"
            )
            followed = rf"(?:with |having |of )?(?:{words}) {_NUMBER} (?:of )?§c(\d+)"
            while match := re.search(named, self.text):
                column = self._get_column(match[1]) if match[1] else self._find_verb_column(match[2])
                self._add_number(match, column, comparison, match[3])
            while match := re.search(followed, self.text):
                self._add_number(match, self._get_column(match[2]), comparison, match[1])

    def _add_number(
        self, match: re.Match[str], column: ColumnInfo | None, comparison: NumberComparison, number: str
    ) -> None:
        if column is None or column.kind != "number":
            raise Unexpressed(f"no column of numbers is named for “{match.group().split(' ')[-1]}”")
        condition = NumberCondition(column, comparison, number)
        self.question = self.question.change(numbers=(*self.question.numbers, condition))
        self._cut(match)

    def _read_values(self) -> None:
        while match := re.search(rf"(?:\b({_NEGATION}) )?{_VALUE_LIST}", self.text):
            found = [self.spoken_values[int(number)] for number in re.findall(r"§v(\d+)", match[2])]
            columns = {value.column for value in found}
            is_listed = re.search(r"\b(?:and|or|nor|vs|versus|compared)\b", match[2]) is not None
            if match[1] and len(columns) > 1:
                raise Unexpressed(f"“{match[1]}” may refer to several values")
            for column in columns:
                self._add_values(
                    column, [value for value in found if value.column == column], bool(match[1]), is_listed
                )
            tail = " ".join(re.findall(r"§c\d+", match[2]))
            kept = " ".join(marker for marker in tail.split() if int(marker[2:]) not in columns)
            self.text = " ".join(f"{self.text[: match.start()]} {kept} {self.text[match.end() :]}".split())

    def _add_values(self, column: int, found: Sequence[MentionedValue], is_excluded: bool, is_listed: bool) -> None:
        here = self.table.columns[column]
        values = tuple(dict.fromkeys(value.value for value in found))
        if any(condition.column == here for condition in self.question.values):
            raise Unexpressed(f"several values of {here.name} are named in different places")
        self.text = re.sub(rf"§c{column}(?= (?:(?:of|is|was|are|were|the) )*§v)", "", self.text)
        self.question = self.question.change(values=(*self.question.values, ValueCondition(here, values, is_excluded)))
        if len(values) > 1 and not is_excluded:
            if not is_listed:
                raise Unexpressed(f"no row has two values of {here.name}")
            self.value_groups.append(GroupKey(here))

    def _find_verb_column(self, verb: str) -> ColumnInfo | None:
        found = self._list_named(VERBS[verb].split())
        return found[0] if len(found) == 1 else None

    def _find_named(self, names: Sequence[str], word: str) -> ColumnInfo:
        """Return the only column of numbers that a word stands for.

        Raises:
            Unexpressed: no column has the name, or several have it.
        """
        found = self._list_named(names)
        if len(found) != 1:
            raise Unexpressed(f"no single column of {self.table.name} is meant by “{word}”")
        return found[0]

    def _list_named(self, names: Sequence[str]) -> list[ColumnInfo]:
        """Return the columns of numbers whose name ends with one of some words."""
        stems = set(map(stem, names))
        return [column for column in self.table.columns if is_measure(column) and get_head(column) in stems]

    def _take(self, pattern: str) -> str:
        """Remove and return what a pattern matches; return an empty text if nothing does."""
        match = re.search(pattern, self.text)
        if match is None:
            return ""
        self._cut(match)
        return match.group()

    def _cut(self, match: re.Match[str]) -> None:
        self.text = " ".join(f"{self.text[: match.start()]} {self.text[match.end() :]}".split())

    def _get_column(self, number: str) -> ColumnInfo:
        return self.table.columns[int(number)]

    def _has_dates(self) -> bool:
        return any(is_date(column) or is_year(column) for column in self.table.columns)


def list_name_words(column: ColumnInfo) -> list[str]:
    """Return the words of a column name, without general words for dates."""
    return [word for word in to_words(column.name).split() if word not in ("date", "day", "time", "at", "on")]
