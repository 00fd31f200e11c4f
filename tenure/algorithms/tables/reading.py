"""Read a marked question: conditions first, then what is asked of the rows that satisfy them.

Each step removes the words that it understands. Words that remain at the end mean that the question asks for something
else. Then it is not expressed, because a wrong figure with a citation is worse than none.
"""

import re
from collections.abc import Container, Sequence
from datetime import date
from typing import Final, cast

from tenure.algorithms.tables.columns import (
    get_head,
    is_additive,
    is_date,
    is_intensive,
    is_label,
    is_measure,
    is_stock,
    is_year,
    stem,
    to_words,
)
from tenure.algorithms.tables.conditions import ConditionReader, list_name_words
from tenure.algorithms.tables.marking import MarkedQuestion
from tenure.algorithms.tables.periods import Period, PeriodUnit
from tenure.algorithms.tables.query import (
    GroupKey,
    TableQuestion,
    Unexpressed,
)
from tenure.algorithms.tables.words import (
    ADJECTIVES,
    AGGREGATES,
    ASCENDING,
    DESCENDING,
    NEUTRAL_WORDS,
    PERIOD_UNITS,
    QUALIFIERS,
    VERBS,
    Aggregate,
)
from tenure.contracts.evidence.tables import ColumnInfo, TableInfo

_NUMBER_WORDS: Final = {
    word: number for number, word in enumerate("two three four five six seven eight nine ten".split(), 2)
}
_GROUPING = (
    r"(?:broken down by|grouped by|split by|by|per|for each|for every|in each|in every|of each|of every|each|"
    r"across(?: all)?|for all|over the|for the different)"
)
_UNITS = "|".join(PERIOD_UNITS)
_GROUP = rf"(?:the )?(?:§c\d+|(?:{_UNITS})\b)"
GROWTH: Final = re.compile(
    r"\b(?:grew|grown?|growth|growing|increas(?:ed?|es|ing)|rose|risen?|rises|gain(?:ed|s)?|(?P<fall>declin(?:ed?|es)|"
    r"decreas(?:ed?|es)|fell|fallen|falls?|drop(?:ped|s)?|shr[aiu]nk|lost)|chang(?:ed?|es)|develop(?:ed|ment)?)\b"
)
SHARE: Final = re.compile(
    r"\b(?:(?:what|which) )?(?:share|percentage|percent|proportion|fraction) of (?:all |the |total )*"
)
_COUNT = rf"(?:\d{{1,2}}|{'|'.join(_NUMBER_WORDS)})"
_ASKED = r"(?:which|what|who|whose|where|name|the|list|show|find)"


def read_question(marked: MarkedQuestion, table: TableInfo) -> TableQuestion:
    """Return the meaning of a marked question for a table.

    Raises:
        Unexpressed: a part of the question is not understood, or the table has nothing for it.
    """
    if marked.problem:
        raise Unexpressed(marked.problem)
    return _Reader(marked, table).read()


class _Reader(ConditionReader):
    """Question while it is read, after its conditions."""

    def read(self) -> TableQuestion:
        self._read_periods()
        self._read_numbers()
        self._read_values()
        growth = GROWTH.search(self.text) if not self._has_column_for(GROWTH) else None
        if growth:
            question = self._read_growth(growth)
        elif SHARE.search(self.text):
            question = self._read_share()
        else:
            self._read_groups()
            if self.value_groups:
                self._take(r"^compare\b")
            question = self._read_ranking() or self._read_figure() or self._read_rows()
        self._check_rest(question)
        _check_stock(question)
        return question

    # What is asked

    def _read_growth(self, growth: re.Match[str]) -> TableQuestion:
        self._cut(growth)
        column = self.question.date_column or self._choose_date_column()
        ends = self.compared or self._find_ends(column)
        is_falling = bool(growth["fall"])
        slow = self._take(r"\b(?:the )?(?:slowest|least|smallest|lowest)\b")
        fast = self._take(r"\b(?:the )?(?:fastest|quickest|strongest|strongly|quickly|fast)\b")
        most = self._take(r"\b(?:the )?(?:most|highest|largest|biggest|greatest)\b")
        relative = self._take(r"\b(?:in )?(?:percent|percentage|rate)(?: terms)?\b(?: of)?")
        self._take(r"\bby how (?:much|many)\b|\bhow (?:much|many|did|strongly|fast)\b|\bover (?:the )?(?:years|time)\b")
        self._read_groups()
        aggregate = self._take_aggregate() or "sum"
        asked = self._take_asked()
        groups = (asked,) if asked else self.question.groups
        measure = self._take_measure()
        measure = measure or (None if re.search(r"(?:number|count) of §t", self.text) else self._find_main_measure())
        counted = measure is None and bool(self._take(r"§t"))
        if measure is None and not counted:
            raise Unexpressed(self._list_measures("whose growth is meant"))
        if measure and aggregate in ("sum", "count"):
            aggregate = "avg" if is_intensive(measure) else "sum"
        return self.question.change(
            shape="growth",
            aggregate="count" if counted else aggregate,
            measure=measure,
            groups=(*groups, *(g for g in self.value_groups if g.column != column and g not in groups)),
            date_column=column,
            period=None,
            ends=ends,
            is_ascending=bool(slow) != is_falling,
            is_relative=bool(fast or relative) or not most,
        )

    def _find_ends(self, column: ColumnInfo) -> tuple[Period, Period]:
        """Return the first and the last year of a column.

        Raises:
            Unexpressed: there is only one year, or one of the two is incomplete.
        """
        first, last = int(column.minimum[:4]), int(column.maximum[:4])
        if (period := self.question.period) is not None:
            since, until = period.spans[0] if period.spans else (None, None)
            if since and not until and (since.month, since.day) == (1, 1):
                first = since.year
            else:
                raise Unexpressed("growth needs two periods, such as from 2021 to 2023")
        if first == last:
            raise Unexpressed(f"the column {column.name} has one year only; name two months or quarters to compare")
        if not is_year(column) and (column.minimum[5:7] > "03" or column.maximum[5:7] < "10"):
            raise Unexpressed(
                f"the first or the last year of {column.name} is incomplete ({column.minimum[:10]} to "
                f"{column.maximum[:10]}); name two periods to compare"
            )
        a, b = (Period("year", date(year, 1, 1), date(year, 12, 31), str(year)) for year in (first, last))
        return a, b

    def _read_share(self) -> TableQuestion:
        self._take(SHARE.pattern)
        if not self.question.values:
            raise Unexpressed("a share needs a value of a column")
        measure = self._take_measure()
        if measure is not None and is_intensive(measure):
            raise Unexpressed(f"the column {measure.name} is not added over rows, so that it has no shares")
        if measure is None:
            self._take_rows()
        return self.question.change(shape="share", aggregate="sum" if measure else "count", measure=measure)

    def _read_groups(self) -> None:
        self._take_single_rows()
        groups = list(self.question.groups)
        pattern = rf"\b{_GROUPING} ({_GROUP})(?: (?:and|by|per) ({_GROUP}))?"
        for match in list(re.finditer(pattern, self.text)):
            keys = [self._find_group(name.removeprefix("the ")) for name in match.groups() if name]
            if all(key is not None for key in keys):
                groups += [key for key in keys if key is not None]
                self.text = self.text.replace(match.group(), "", 1)
        found = re.search(r"(?<!average )(?<!mean )\b(annual|yearly|quarterly|monthly|daily|annually)\b", self.text)
        if found and self._has_dates():
            groups.append(self._group_by_time(PERIOD_UNITS[found[1]]))
            self._cut(found)
        self.question = self.question.change(groups=tuple(dict.fromkeys(groups)))

    def _take_single_rows(self) -> None:
        """Remove `per order` from a question for a mean over rows, each of which is an order."""
        identifying = [f"§c{place}" for place, column in enumerate(self.table.columns) if column.unique]
        rows = "|".join(("§t", *identifying))
        if re.search(rf"\b(?:{AGGREGATES['avg']}|{AGGREGATES['median']})\b", self.text):
            self._take(rf"\b(?:per|for each|for every|of each|of all|of every) (?:single )?(?:{rows})(?!\d)")

    def _find_group(self, name: str) -> GroupKey | None:
        """Return the grouping that a name means; None if it is not one, as in `by price`."""
        if name in PERIOD_UNITS:
            return self._group_by_time(PERIOD_UNITS[name])
        column = self._get_column(name[2:])
        if is_date(column):
            return GroupKey(column, "day" if len(column.minimum) >= 10 else "month")
        return None if is_measure(column) or column.kind == "other" else GroupKey(column)

    def _group_by_time(self, unit: PeriodUnit) -> GroupKey:
        column = self.question.date_column or self._choose_date_column()
        if is_year(column) and unit != "year":
            raise Unexpressed(f"the column {column.name} has years, but no {unit}s")
        if len(column.minimum) == 7 and unit == "day":
            raise Unexpressed(f"the column {column.name} has months, but no days")
        self.question = self.question.change(date_column=column)
        return GroupKey(column, unit)

    def _read_ranking(self) -> TableQuestion | None:
        """Read a ranking: a label or rows by a figure, such as `which region has the highest total revenue`."""
        limit = self._find_limit()
        adjective = re.search(rf"\b(?:the )?({'|'.join(ADJECTIVES)})\b", self.text)
        ends = re.search(rf"\b({DESCENDING}|{ASCENDING})\b", self.text)
        if adjective is None and ends is None:
            return None
        text = self.text
        if adjective:
            direction, names = ADJECTIVES[adjective[1]]
            self._cut(adjective)
            adjective_measure = self._find_named(names.split(), adjective[1])
        else:
            assert ends
            direction = "min" if re.fullmatch(ASCENDING, ends[1]) else "max"
            adjective_measure = None
            self._cut(ends)
        is_most = bool(ends and ends[1] in ("most", "fewest", "least"))
        asked = self._take_asked() or self._take_ranked_groups()
        if asked is None:
            self.text = text
            return None
        if self.question.groups:
            raise Unexpressed("a ranking within groups is not expressed")
        self._take(r"\b(?:ranked |sorted |ordered )?by\b")
        if limit:
            self._take(limit)
        aggregate = self._take_aggregate()
        measure = adjective_measure or self._take_measure()
        question = self.question.change(
            shape="ranking",
            groups=(asked,),
            is_ascending=direction == "min",
            limit=_parse_count(limit) if limit else None,
        )
        if measure is None or aggregate in ("count", "distinct"):
            return question.change(**self._read_counted(is_most or aggregate == "count", measure))
        aggregate = aggregate or self._choose_ranking_aggregate(asked, measure, direction)
        return question.change(aggregate=aggregate, measure=measure)

    def _read_counted(self, is_count: bool, measure: ColumnInfo | None) -> dict[str, object]:
        """Return the operation and the column of a ranking by number."""
        if measure is None and (verb := self._take_verb()):
            return {"aggregate": "sum", "measure": verb}
        if not is_count:
            raise Unexpressed(self._list_measures("by which it is ranked"))
        if measure is not None:
            return {"aggregate": "sum", "measure": measure}
        if self._take(r"§t|\b(?:rows|records|entries)\b"):
            return {"aggregate": "count", "measure": None}
        if match := re.search(r"§c(\d+)", self.text):
            self._cut(match)
            column = self._get_column(match[1])
            return {"aggregate": "count" if column.unique else "distinct", "measure": None if column.unique else column}
        raise Unexpressed("what is counted is not named")

    def _choose_ranking_aggregate(self, asked: GroupKey, measure: ColumnInfo, direction: str) -> Aggregate | None:
        """Return the operation by which a label is ranked that the question does not name; None for single rows."""
        if asked.column.unique and asked.unit is None:
            return None
        if is_intensive(measure):
            return cast(Aggregate, direction)
        if is_additive(measure):
            return "sum"
        name = to_words(measure.name)
        raise Unexpressed(f"“{name}” may mean the total or the {direction}imum {name}: say which")

    def _read_figure(self) -> TableQuestion | None:
        """Read one operation over rows, in all or by groups."""
        nested = re.search(r"\b(?:average|mean) (annual|yearly|quarterly|monthly|daily)\b", self.text)
        is_vague = re.search(r"\bhow much\b", self.text) is not None
        aggregate = self._take_aggregate()
        if aggregate is None and (adjective := re.search(rf"\b(?:the )?({'|'.join(ADJECTIVES)})\b", self.text)):
            aggregate, names = ADJECTIVES[adjective[1]]
            self._cut(adjective)
            self._take(r"\bhow (?:old|long|tall|heavy|expensive|far)\b")
            self._take(r"§t")
            named = self._find_named(names.split(), adjective[1])
            self._take(rf"§c{self.table.columns.index(named)}(?!\d)")
            return self.question.change(aggregate=aggregate, measure=named)
        if aggregate is None:
            return self._read_implied_sum()
        self.question = self.question.change(groups=self._merge_value_groups())
        if nested and aggregate == "avg":
            unit = PERIOD_UNITS[nested[1]]
            key = self._group_by_time(unit)
            self._take(rf"\b{nested[1]}\b")
            self.question = self.question.change(nested_unit=unit, date_column=key.column)
        if aggregate == "count":
            return self.question.change(**self._read_count())
        measure = self._take_measure() or self._take_date_measure(aggregate) or self._take_verb()
        if measure is None:
            if self.question.nested_unit and self._take("§t"):
                return self.question.change(aggregate="avg", measure=None)
            if aggregate == "sum" and self._take("§t"):
                return self.question.change(aggregate="count")
            measure = self._find_only_measure()
        if measure is None:
            raise Unexpressed(self._list_measures("that is meant"))
        if aggregate == "sum" and is_intensive(measure) and is_vague:
            raise Unexpressed(f"the column {measure.name} is not added over rows: ask for its average")
        return self.question.change(aggregate=aggregate, measure=measure)

    def _take_rows(self) -> str:
        """Remove and return a word for the rows, or the column that identifies them."""
        identifying = [f"§c{place}" for place, column in enumerate(self.table.columns) if column.unique]
        return self._take(rf"(?:{'|'.join(('§t', *identifying))})(?!\d)|\b(?:rows|records|entries)\b")

    def _merge_value_groups(self) -> tuple[GroupKey, ...]:
        """Return the groups of the question with those of compared values, unless these are taken together."""
        if self._take(r"\b(?:together|combined|jointly)\b"):
            return self.question.groups
        return tuple(dict.fromkeys((*self.value_groups, *self.question.groups)))

    def _read_count(self) -> dict[str, object]:
        """Return the operation and the column of a count: of rows, of different values, or a total of numbers."""
        if match := re.search(r"§c(\d+)", self.text):
            column = self._get_column(match[1])
            if is_measure(column):
                self._cut(match)
                if is_intensive(column):
                    raise Unexpressed(f"the column {column.name} cannot be counted")
                self._take("§t")
                return {"aggregate": "sum", "measure": column}
            if self._take("§t"):
                return {"aggregate": "count"}
            self._cut(match)
            if column.unique:
                return {"aggregate": "count"}
            self._check_single_rows(column)
            return {"aggregate": "distinct", "measure": column}
        if self._take("§t"):
            return {"aggregate": "count"}
        if verb := self._take_verb():
            return {"aggregate": "sum", "measure": verb}
        return {"aggregate": "count"}

    def _read_implied_sum(self) -> TableQuestion | None:
        """Read a quantity without an operation, such as `revenue by region`, as its total if it is added over rows."""
        groups = self._merge_value_groups()
        named = dict.fromkeys(re.findall(r"§c(\d+)", self.text))
        is_limited = bool(groups or self.question.period or self.question.values)
        if not named and groups and self._take("§t"):
            return self.question.change(aggregate="count", groups=groups)
        if len(named) != 1 or not is_limited or self._is_lookup():
            return None
        measure = self._get_column(next(iter(named)))
        if not is_measure(measure) or not is_additive(measure):
            return None
        self._take_measure()
        return self.question.change(aggregate="sum", measure=measure, groups=groups)

    def _check_single_rows(self, column: ColumnInfo) -> None:
        """Refuse a comparison that may concern the total of several rows with the same label, or each row.

        Raises:
            Unexpressed: a condition compares a column that is added over rows.
        """
        if added := [condition.column.name for condition in self.question.numbers if is_additive(condition.column)]:
            raise Unexpressed(f"{added[0]} may mean single rows or the total of each {to_words(column.name)}")

    def _is_lookup(self) -> bool:
        """Return whether a condition names one row."""
        return any(condition.column.unique for condition in self.question.values)

    def _read_rows(self) -> TableQuestion:
        """Read a question for rows as they are, which a condition selects.

        Raises:
            Unexpressed: nothing is asked for, or the question wants a figure of all rows.
        """
        question = self.question
        columns = [self._get_column(number) for number in dict.fromkeys(re.findall(r"§c(\d+)", self.text))]
        if not columns and (verb := self._take_verb()):
            columns = [verb]
        self.text = re.sub(r"§c\d+", "", self.text)
        if question.groups or not (question.values or question.numbers or question.period):
            raise Unexpressed("it names no operation such as total, average, highest or how many")
        if self._take(r"\b(?:list|which|show|name|what are|who|whose|when|where)\b") and not columns:
            columns = [self._find_row_label().column]
        if not columns:
            raise Unexpressed("it names no column and no operation such as total, average, highest or how many")
        for column in columns:
            if not column.unique and is_label(column):
                self._check_single_rows(column)
        self._take("§t")
        if len(columns) > 1:
            self._take(r"\band\b")
        keys = [condition.column for condition in question.values]
        keys += [question.date_column] if question.period and question.date_column else []
        numbers = [condition.column for condition in question.numbers]
        return question.change(shape="rows", groups=tuple(map(GroupKey, dict.fromkeys((*keys, *columns, *numbers)))))

    # Words

    def _take_aggregate(self) -> Aggregate | None:
        """Remove and return the operation of the question.

        Raises:
            Unexpressed: there are two different ones.
        """
        found: dict[Aggregate, str] = {}
        for name, pattern in AGGREGATES.items():
            if self._take(rf"\b(?:the )?(?:{pattern})\b"):
                found[name] = pattern
        if set(found) == {"count", "sum"}:
            return "count"
        if set(found) == {"count", "avg"} and re.search(r"§c\d+", self.text):
            return "avg"
        if len(found) > 1:
            raise Unexpressed(f"it names more than one operation ({', '.join(found)})")
        if found:
            return next(iter(found))
        return None

    def _take_measure(self) -> ColumnInfo | None:
        """Remove and return the column of numbers that is named, apart from conditions.

        Raises:
            Unexpressed: several are named.
        """
        found = {number: self._get_column(number) for number in dict.fromkeys(re.findall(r"§c(\d+)", self.text))}
        measures = {number: column for number, column in found.items() if is_measure(column)}
        if len(measures) > 1:
            raise Unexpressed(f"it names the columns {' and '.join(c.name for c in measures.values())}")
        for number, column in measures.items():
            self.text = re.sub(rf"§c{number}(?!\d)", "", self.text)
            self._take(rf"\b(?:{'|'.join(VERBS)})\b")
            return column
        return None

    def _take_date_measure(self, aggregate: Aggregate) -> ColumnInfo | None:
        if aggregate not in ("max", "min"):
            return None
        for number in re.findall(r"§c(\d+)", self.text):
            if is_date(self._get_column(number)) or is_year(self._get_column(number)):
                self.text = self.text.replace(f"§c{number}", "", 1)
                return self._get_column(number)
        return None

    def _take_verb(self) -> ColumnInfo | None:
        match = re.search(rf"\b({'|'.join(VERBS)})\b", self.text)
        column = self._find_verb_column(match[1]) if match else None
        if match and column:
            self._cut(match)
        return column

    def _find_only_measure(self) -> ColumnInfo | None:
        measures = [column for column in self.table.columns if is_measure(column)]
        return measures[0] if len(measures) == 1 else None

    def _find_main_measure(self) -> ColumnInfo | None:
        """Return the column that is meant if none is named: the only one, or the only one of revenue."""
        revenue = [c for c in self.table.columns if is_measure(c) and get_head(c) in map(stem, ("revenue", "sales"))]
        return self._find_only_measure() or (revenue[0] if len(revenue) == 1 else None)

    def _list_measures(self, purpose: str) -> str:
        """Return the reason why no column of numbers was found: unknown words, or the choice of columns."""
        if unknown := self._list_unknown_words(NEUTRAL_WORDS.union(VERBS)):
            return self._describe_unknown_words(unknown)
        names = [column.name for column in self.table.columns if is_measure(column)]
        return f"name the column {purpose}: {', '.join(names) or 'the table has no numbers'}"

    def _list_unknown_words(self, known: Container[str]) -> list[str]:
        return [word for word in self.text.split() if "§" not in word and word not in known]

    def _describe_unknown_words(self, words: Sequence[str]) -> str:
        listed = ", ".join(f"“{word}”" for word in words[:4])
        are = "is neither a column nor a value" if len(words) == 1 else "are neither columns nor values"
        return f"{listed} {are} of the table {self.table.name}"

    def _take_asked(self) -> GroupKey | None:
        """Remove and return the label after a question word, such as `which region`."""
        pattern = rf"\b(?:in |for |on )?{_ASKED} (?:(?:are|is|was|were|the|of|{_COUNT}) )*(§c\d+|§t|(?:{_UNITS})\b)"
        for match in re.finditer(pattern, self.text):
            key = self._find_row_label() if match[1] == "§t" else self._find_group(match[1])
            if key is not None:
                self._cut(match)
                return key
        return self._find_person() if self._take(r"\b(?:who|whose)\b") else None

    def _take_ranked_groups(self) -> GroupKey | None:
        """Remove and return the label of a ranking without a question word, such as `top 5 products`."""
        for match in re.finditer(r"§c(\d+)|§t", self.text):
            key = self._find_group(match.group()) if match[1] else None
            if key is not None:
                self._cut(match)
                return key
        return None

    def _find_row_label(self) -> GroupKey:
        """Return the column that names single rows."""
        unique = [column for column in self.table.columns if column.unique and not is_measure(column)]
        named = [column for column in unique if column.kind == "text"] or unique
        if not named:
            raise Unexpressed(f"no column of {self.table.name} names its rows")
        return GroupKey(named[0])

    def _find_person(self) -> GroupKey:
        names = ("name", "employee", "person", "customer", "seller", "author", "player", "student")
        found = [c for c in self.table.columns if c.kind == "text" and set(list_name_words(c)) & set(names)]
        if not found:
            raise Unexpressed(f"no column of {self.table.name} names persons")
        return GroupKey(found[0])

    def _find_limit(self) -> str:
        found = re.search(rf"\b{_COUNT}\b", self.text)
        return rf"\b{found.group()}\b" if found else ""

    def _has_column_for(self, pattern: re.Pattern[str]) -> bool:
        """Return whether a column is named by the words of a pattern, such as growth."""
        return any(pattern.search(to_words(column.name)) for column in self.table.columns)

    def _check_rest(self, question: TableQuestion) -> None:
        """Refuse a question with words that were not understood."""
        if found := QUALIFIERS.search(self.text):
            raise Unexpressed(f"“{found.group()}” is not understood there")
        known = NEUTRAL_WORDS.union(VERBS) if question.measure else NEUTRAL_WORDS
        if unknown := self._list_unknown_words(known):
            raise Unexpressed(self._describe_unknown_words(unknown))
        if rest := re.findall(r"§c(\d+)", self.text):
            names = ", ".join(self._get_column(number).name for number in rest)
            raise Unexpressed(f"the part about {names} is not understood")


def _check_stock(question: TableQuestion) -> None:
    """Refuse a sum over time of what exists at a point in time, such as a population."""
    measure, table = question.measure, question.table
    if question.aggregate != "sum" or measure is None or question.shape == "growth" or not is_stock(measure):
        return
    periods = [c.name for c in table.columns if is_date(c) or is_year(c)]
    if (
        periods
        and question.period is None
        and not any(group.unit or is_year(group.column) for group in question.groups)
    ):
        raise Unexpressed(f"the column {measure.name} is not added over time: name a period of {periods[0]}")


def _parse_count(pattern: str) -> int:
    word = pattern.replace(r"\b", "")
    return int(word) if word.isdigit() else _NUMBER_WORDS[word]
