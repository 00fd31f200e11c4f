"""Write SQL and a title for what a question asks of a table."""

from datetime import date, timedelta
from typing import Final, NamedTuple

from tenure.algorithms.tables.columns import is_year, to_words
from tenure.algorithms.tables.periods import Period, PeriodCondition, PeriodUnit
from tenure.algorithms.tables.query import GroupKey, TableQuestion, Unexpressed, ValueCondition
from tenure.algorithms.tables.words import ALIASES
from tenure.contracts.evidence.tables import ColumnInfo, TableInfo

DEFAULT_RANKED_ROWS: Final = 10
"""Rows of a ranking without a number."""
MAX_LISTED_ROWS: Final = 50
"""Rows of a list."""


class TableQuery(NamedTuple):
    """SQL query for a question."""

    sql: str
    """A single SELECT statement."""
    title: str
    """Title of the result."""


def render_query(question: TableQuestion) -> TableQuery:
    """Return the query of a question.

    Raises:
        Unexpressed: a period is finer than the column of dates.
    """
    render = {
        "figure": _render_figure,
        "ranking": _render_ranking,
        "rows": _render_rows,
        "growth": _render_growth,
        "share": _render_share,
    }[question.shape]
    return render(question)


def _render_figure(question: TableQuestion) -> TableQuery:
    shown, figure = _name_figure(question), _render_aggregate(question)
    if question.nested_unit is not None:
        return _render_nested(question)
    if not question.groups:
        sql = f"SELECT {figure} AS {quote_name(shown)} {_render_from(question)}"
        return TableQuery(sql, _build_title(question, shown))
    keys = [_render_key(group) for group in question.groups]
    names = [_name_key(group) for group in question.groups]
    listed = ", ".join(_add_alias(key, name) for key, name in zip(keys, names, strict=True))
    in_time = any(group.unit or is_year(group.column) for group in question.groups)
    places = ", ".join(str(number) for number in range(1, len(keys) + 1))
    order = places if in_time else f"{len(keys) + 1} DESC, {places}"
    sql = (
        f"SELECT {listed}, {figure} AS {quote_name(shown)} {_render_from(question)} GROUP BY {places} ORDER BY {order}"
    )
    return TableQuery(sql, _build_title(question, f"{shown} by {' and '.join(names)}"))


def _render_nested(question: TableQuestion) -> TableQuery:
    """Return the mean of the totals of periods."""
    assert question.nested_unit and question.date_column
    key = _render_key(GroupKey(question.date_column, question.nested_unit))
    figure = _render_aggregate(question.change(aggregate="sum" if question.measure else "count"))
    subject = to_words(question.measure.name) if question.measure else "number of rows"
    shown = f"average {subject} per {question.nested_unit}"
    inner = f"SELECT {key} AS period, {figure} AS figure {_render_from(question)} GROUP BY 1"
    sql = f"SELECT avg(figure) AS {quote_name(shown)} FROM ({inner}) AS periods"
    return TableQuery(sql, _build_title(question, shown))


def _render_ranking(question: TableQuestion) -> TableQuery:
    names = [_name_key(group) for group in question.groups]
    keys = ", ".join(_add_alias(_render_key(group), name) for group, name in zip(question.groups, names, strict=True))
    shown = _name_figure(question) if question.aggregate else to_words(question.measure.name)  # type: ignore[union-attr]
    figure = _render_aggregate(question) if question.aggregate else quote_name(question.measure.name)  # type: ignore[union-attr]
    places = ", ".join(str(number) for number in range(1, len(names) + 1))
    place = len(names) + 1
    grouped = f" GROUP BY {places}" if question.aggregate else ""
    if question.aggregate not in (None, "count", "distinct"):
        grouped += f" HAVING {figure} IS NOT NULL"
    where = _render_from(question, () if question.aggregate else (f"{figure} IS NOT NULL",))
    order = f"{place} {'ASC' if question.is_ascending else 'DESC'}, {places}"
    limit = question.limit or DEFAULT_RANKED_ROWS
    sql = f"SELECT {keys}, {_add_alias(figure, shown)} {where}{grouped} ORDER BY {order} LIMIT {limit}"
    first = "lowest" if question.is_ascending else "highest"
    title = _build_title(question, f"{' and '.join(names)} by {shown}")
    return TableQuery(sql, f"{title}, {first} first")


def _render_rows(question: TableQuestion) -> TableQuery:
    columns = [group.column for group in question.groups] + [question.measure] * (question.measure is not None)
    listed = dict.fromkeys(column for column in columns if column is not None)
    keys = ", ".join(_add_alias(quote_name(column.name), to_words(column.name)) for column in listed)
    sql = f"SELECT DISTINCT {keys} {_render_from(question)} ORDER BY ALL LIMIT {MAX_LISTED_ROWS}"
    if any(column.kind == "other" for column in listed):
        raise Unexpressed("a column of nested values cannot be listed")
    sql = sql.replace("ORDER BY ALL", f"ORDER BY {', '.join(str(n) for n in range(1, len(listed) + 1))}")
    return TableQuery(sql, _build_title(question, " and ".join(to_words(column.name) for column in listed)))


def _render_growth(question: TableQuestion) -> TableQuery:
    assert question.date_column and len(question.ends) == 2
    shown = _name_figure(question)
    figure = _render_aggregate(question)
    sides = [
        f"{figure} FILTER (WHERE {_render_period(question.date_column, _to_condition(end))})" for end in question.ends
    ]
    first, last = (quote_name(f"{shown} in {end.name}") for end in question.ends)
    keys = [_add_alias(_render_key(group), _name_key(group)) for group in question.groups]
    inner = ", ".join([*keys, f"{sides[0]} AS {first}", f"{sides[1]} AS {last}"])
    places = ", ".join(str(number) for number in range(1, len(keys) + 1))
    base = f"SELECT {inner} {_render_from(question)}" + (f" GROUP BY {places}" if keys else "")
    percent = f"round(100.0 * ({last} - {first}) / nullif({first}, 0), 2)"
    sql = f'SELECT *, {last} - {first} AS "change", {percent} AS "change in percent" FROM ({base}) AS ends'
    if keys:
        place = len(keys) + (4 if question.is_relative else 3)
        direction = "ASC" if question.is_ascending else "DESC"
        sql += f" ORDER BY {place} {direction} NULLS LAST, {places} LIMIT {question.limit or DEFAULT_RANKED_ROWS}"
    names = [_name_key(group) for group in question.groups]
    by = f" by {' and '.join(names)}" if names else ""
    span = f"from {question.ends[0].name} to {question.ends[1].name}"
    return TableQuery(sql, _build_title(question, f"change of {shown}{by} {span}"))


def _render_share(question: TableQuestion) -> TableQuery:
    part = " AND ".join(_render_values(condition) for condition in question.values)
    names = ", ".join(_name_values(condition) for condition in question.values)
    figure = _render_aggregate(question)
    subject = to_words(question.measure.name) if question.measure else "rows"
    shown = f"percent of {subject}"
    whole = question.change(values=())
    sql = (
        f"SELECT round(100.0 * {figure} FILTER (WHERE {part}) / nullif({figure}, 0), 2) AS {quote_name(shown)}, "
        f'{figure} FILTER (WHERE {part}) AS "part", {figure} AS "whole" {_render_from(whole)}'
    )
    return TableQuery(sql, _build_title(whole, f"{shown} with {names}"))


def _render_aggregate(question: TableQuestion) -> str:
    argument = quote_name(question.measure.name) if question.measure else "*"
    if question.aggregate == "distinct":
        return f"count(DISTINCT {argument})"
    return f"{question.aggregate}({argument})"


def _name_figure(question: TableQuestion) -> str:
    assert question.aggregate
    if question.aggregate == "count":
        return "number of rows"
    assert question.measure
    return f"{ALIASES[question.aggregate]} {to_words(question.measure.name)}"


def _render_from(question: TableQuestion, further: tuple[str, ...] = ()) -> str:
    conditions = [_render_values(condition) for condition in question.values]
    conditions += [f"{quote_name(c.column.name)} {c.comparison} {c.number}" for c in question.numbers]
    if question.period is not None:
        assert question.date_column
        conditions.append(_render_period(question.date_column, question.period))
    where = " AND ".join([*conditions, *further])
    return f"FROM {quote_table(question.table)}" + (f" WHERE {where}" if where else "")


def _render_values(condition: ValueCondition) -> str:
    name = quote_name(condition.column.name)
    listed = ", ".join(quote_text(value) for value in condition.values)
    if condition.is_excluded:
        return f"({name} IS NULL OR {name} NOT IN ({listed}))"
    return f"{name} = {listed}" if len(condition.values) == 1 else f"{name} IN ({listed})"


def _render_period(column: ColumnInfo, period: PeriodCondition) -> str:
    name = quote_name(column.name)
    if period.month is not None:
        if is_year(column):
            raise Unexpressed(f"the column {column.name} has years, but no months")
        month = f"CAST(substr({name}, 6, 2) AS INTEGER)" if column.iso_dates else f"month({name})"
        return f"{month} = {period.month}"
    spans = [_render_span(column, first, last) for first, last in period.spans]
    return spans[0] if len(spans) == 1 else f"({' OR '.join(spans)})"


def _render_span(column: ColumnInfo, first: date | None, last: date | None) -> str:
    name = quote_name(column.name)
    if is_year(column):
        if (first and (first.month, first.day) != (1, 1)) or (last and (last.month, last.day) != (12, 31)):
            raise Unexpressed(f"the column {column.name} has years, but no months and days")
        if first and last and first.year == last.year:
            return f"{name} = {first.year}"
        bounds = [f"{name} >= {first.year}"] * bool(first) + [f"{name} <= {last.year}"] * bool(last)  # type: ignore[union-attr]
        return " AND ".join(bounds)
    after = last + timedelta(days=1) if last else None
    bounds = [f"{name} >= {_render_day(column, first)}"] if first else []
    bounds += [f"{name} < {_render_day(column, after)}"] if after else []
    return " AND ".join(bounds)


def _render_day(column: ColumnInfo, day: date) -> str:
    """Return a day as a literal that compares with the values of a column."""
    if not column.iso_dates:
        return f"DATE '{day.isoformat()}'"
    if len(column.minimum) >= 10:
        return quote_text(day.isoformat())
    if day.day != 1:
        raise Unexpressed(f"the column {column.name} has months, but no days")
    return quote_text(day.isoformat()[:7])


def _render_key(group: GroupKey) -> str:
    name = quote_name(group.column.name)
    if group.unit is None or is_year(group.column):
        return name
    if group.column.iso_dates:
        if group.unit == "quarter":
            quarter = f"((CAST(substr({name}, 6, 2) AS INTEGER) + 2) // 3)"
            return f"concat(substr({name}, 1, 4), '-Q', {quarter})"
        length: dict[PeriodUnit, int] = {"year": 4, "month": 7, "day": 10}
        return f"substr({name}, 1, {length[group.unit]})"
    parts: dict[PeriodUnit, str] = {
        "year": f"year({name})",
        "quarter": f"concat(year({name}), '-Q', quarter({name}))",
        "month": f"strftime({name}, '%Y-%m')",
        "day": f"CAST({name} AS DATE)",
    }
    return parts[group.unit]


def _name_key(group: GroupKey) -> str:
    return group.unit or to_words(group.column.name)


def _to_condition(end: Period) -> PeriodCondition:
    return PeriodCondition(((end.first, end.last),), f"in {end.name}")


def _build_title(question: TableQuestion, shown: str) -> str:
    conditions = [_name_values(condition) for condition in question.values]
    conditions += [f"{to_words(c.column.name)} {c.comparison} {c.number}" for c in question.numbers]
    conditions += [question.period.name] if question.period else []
    title = ", ".join([f"{shown} in {question.table.name}", *conditions])
    return title[0].upper() + title[1:]


def _name_values(condition: ValueCondition) -> str:
    listed = " or ".join(condition.values)
    return f"{to_words(condition.column.name)} {'not ' if condition.is_excluded else ''}{listed}"


def _add_alias(expression: str, name: str) -> str:
    """Return an expression with the name of its column in the result."""
    quoted = quote_name(name)
    return expression if expression == quoted else f"{expression} AS {quoted}"


def quote_table(table: TableInfo) -> str:
    """Return the quoted name of a table."""
    return ".".join(map(quote_name, table.name.split(".", 1)))


def quote_name(name: str) -> str:
    """Return a quoted name."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(value: str) -> str:
    """Return a text literal."""
    return "'" + value.replace("'", "''") + "'"
