"""Tables as documents: sentences that can be quoted, then rows, in the normal form of all stored text."""

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Final

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalForm, one_line
from tenure.sources.tables.catalogue import (
    FORMATS,
    SQLITE_MAGIC,
    Column,
    Database,
    ResultTable,
    Table,
    Value,
    identifier,
)
from tenure.sources.tables.sql_engine import Engine, Limits, SqlProblem, mistyped

_LIMITS: Final = Limits(seconds=40.0, rows=200, memory_mb=1024)
"""What describing one table may use; the reader of a file gives up later than that."""
_NAMED = 8
"""Values that a sentence names."""
_TOGETHER = 8
"""Rows of a result that are told in one list."""
_TOLD = 24
"""Rows that are told at all; the others stand in the table."""
_LONG = 60
"""Characters of a value in a sentence."""


def table_document(path: Path) -> Document:
    """Describe the tables of a file.

    Raises:
        Unreadable: there is none that could be described.
    """
    kind = FORMATS[path.suffix.lower()]
    if kind == "sqlite" and not _is_sqlite(path):
        raise Unreadable("is a binary file")
    database = Database(identifier(path.stem), str(path.absolute()), kind)
    try:
        found = tables_of(database, _LIMITS)
    except SqlProblem as problem:
        raise Unreadable(f"holds no table that can be read ({problem})") from problem
    if not any(table.sample for table in found):
        raise Unreadable("has no rows")
    return description("", found)


def tables_of(database: Database, limits: Limits) -> tuple[Table, ...]:
    """Describe the tables of a database in this process, whatever its columns declare.

    Raises:
        SqlProblem: it cannot be opened or read.
    """
    try:
        return _described(database, limits, as_text=False)
    except SqlProblem as problem:
        if not mistyped(problem):
            raise
    return _described(database, limits, as_text=True)


def description(title: str, tables: Sequence[Table]) -> Document:
    """Return what is known of tables as a document."""
    form = NormalForm()
    for table in tables:
        _describe(form, table)
    return Document(title=title, text=form.text, kind="prose")


def result_document(title: str, sql: str, origin: str, result: ResultTable) -> Document:
    """Return a query's result as a document: its rows in sentences, then as a table, then the query."""
    form = NormalForm()
    told = [_told(result.columns, row) for row in result.rows[:_TOLD]]
    if len(told) > 1:
        told = [sentence[0].upper() + sentence[1:] for sentence in told]
    tell(form, one_line(title).rstrip(" .:"), told or ["the query returned no rows"], "as the query returned it")
    form.row(result.columns)
    for row in result.rows:
        form.row([shown(value) for value in row])
    count = len(result.rows)
    more = " at least, and the rows beyond are left out" if result.truncated else ""
    form.paragraph(f"This is what a query over {origin} returned: {count} row{'' if count == 1 else 's'}{more}.")
    form.literal(sql)
    return Document(title=title, text=form.text, kind="prose")


def tell(form: NormalForm, title: str, told: Sequence[str], how: str, each: str = "rows") -> None:
    """Write figures in sentences; what they are of stands with them, since a quote is read on its own.

    Several are lists, which are quoted whole: a figure without its neighbours would look like the only one.

    Args:
        form: where they are written.
        title: what they are of.
        told: the sentences.
        how: where they come from, in words.
        each: what one of them is, where they are numbered.
    """
    if len(told) < 2:
        form.paragraph(f"{title}: {told[0].rstrip('.')}.")
        return
    for first in range(0, len(told), _TOGETHER):
        part = told[first : first + _TOGETHER]
        which = "" if len(told) <= _TOGETHER else f", {each} {first + 1} to {first + len(part)}"
        form.paragraph(f"{title}{which}, {how}:")
        form.open_list()
        for sentence in part:
            form.open_item()
            form.paragraph(sentence)
            form.close_item()
        form.close_list()


def as_csv(result: ResultTable) -> str:
    """Return a result as comma-separated values, with the names of its columns first."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows(result.rows)
    return file.getvalue()


def shown(value: Value) -> str:
    """Return a cell as text; numbers keep four decimals."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) >= 0.001 or value == 0 else f"{value:.4g}"
    return one_line(str(value))


def _described(database: Database, limits: Limits, *, as_text: bool) -> tuple[Table, ...]:
    engine = Engine([database], limits, as_text=as_text)
    try:
        return engine.describe()
    finally:
        engine.close()


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


def _describe(form: NormalForm, table: Table) -> None:
    form.heading(1, table.name)
    columns = _listed([column.name for column in table.columns])
    size = "" if table.rows is None else f"{table.rows} row{'' if table.rows == 1 else 's'} and "
    form.paragraph(f"The table {table.name} has {size}the columns {columns}.")
    for column in table.columns:
        form.paragraph(_column(table, column))
    if table.rows is None or table.rows > len(table.sample):
        form.paragraph(f"These are the first {len(table.sample)} rows of {table.name}:")
    form.row([column.name for column in table.columns])
    for row in table.sample:
        form.row([shown(value) for value in row])


def _column(table: Table, column: Column) -> str:
    """Return what is known of a column as one sentence."""
    said = f"The column {column.name} of the table {table.name} holds {_held(column)}"
    without = f"{column.empty} row has" if column.empty == 1 else f"{column.empty} rows have"
    return f"{said}; {without} none." if column.empty else f"{said}."


def _held(column: Column) -> str:
    words = {"number": "numbers", "text": "texts", "date": "dates", "boolean": "truth values", "other": "other values"}
    name = words[column.kind]
    if column.distinct is None or column.kind == "other" or column.least is None:
        return name
    between = f"{name} from {_short(column.least)} to {_short(column.greatest)}"
    if column.kind == "number" and column.mean is not None:
        return f"{between}, with a mean of {shown(column.mean)} and a sum of {shown(column.total)}"
    if column.kind == "date":
        return between
    named = [f"{_short(value)} ({count} row{'' if count == 1 else 's'})" for value, count in column.common[:_NAMED]]
    if len(named) == column.distinct:
        return f"{column.distinct} different {name}: {_listed(named)}"
    return f"{column.distinct} different {name}, most often {_listed(named[:3])}"


def _told(columns: Sequence[str], row: Sequence[Value]) -> str:
    """Return a row of a result as one sentence: what the first column names, and what the others say of it."""
    facts = [f"the {_label(name)} is {_short(value) or 'not given'}" for name, value in zip(columns, row, strict=True)]
    if len(facts) == 1:
        return facts[0]
    named = f"{_label(columns[0])} {_short(row[0]) or 'not given'}"
    return f"for {named}, {_listed(facts[1:])}"


def _label(name: str) -> str:
    return one_line(name.replace("_", " "))


def _short(value: Value) -> str:
    text = shown(value)
    return text if len(text) <= _LONG else text[: _LONG - 1].rstrip() + "…"


def _listed(items: Sequence[str]) -> str:
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)
