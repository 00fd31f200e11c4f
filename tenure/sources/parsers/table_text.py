"""Describe tables as documents: quotable sentences, then rows, in normal form."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Final

from tenure.contracts.evidence.corpora import NO_TEXT
from tenure.contracts.evidence.places import CellRange, DocumentPlace, format_sheet
from tenure.files.opening import FileRefused, open_file
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.tables.catalogue import (
    SQLITE_MAGIC,
    TABLE_FORMATS,
    CellValue,
    Column,
    Database,
    ResultTable,
    SheetOrigin,
    Table,
    to_sql_identifier,
)
from tenure.sources.tables.csv_rows import locate_rows
from tenure.sources.tables.pinned_files import open_databases
from tenure.sources.tables.sheet_notes import SheetNote, list_notes
from tenure.sources.tables.sql_engine import NO_TABLES, SqlEngine, SqlError, SqlLimits, is_type_mismatch

_LIMITS: Final = SqlLimits(seconds=40.0, rows=200, memory_mb=1024)
"""Limits for the description of one table; the timeout of a reader process is longer."""
_MAX_NAMED_VALUES = 8
_MAX_CELL_LENGTH = 200
"""Characters of a value above which a record is a text, such as a message: a description has its first rows only."""
_ROWS_PER_LIST = 8
_MAX_DESCRIBED_ROWS = 24
"""Maximum number of rows that become sentences; the table contains all rows."""
_MAX_VALUE_LENGTH = 60
"""Maximum length of a value in a sentence, in characters."""
_MAX_PLACES = 10_000
"""Cells of a file that have a place each; a sheet of 200 rows and 20 columns has 4,000."""


def describe_table_file(path: Path, *, uniform: bool = False) -> Document:
    """Describe the tables of a file.

    Args:
        path: path of the file.
        uniform: whether records of JSON that are no rows of one table are refused.

    Raises:
        Unreadable: the file contains no readable table; a workbook, neither cells nor notes.
    """
    kind = TABLE_FORMATS[path.suffix.lower()]
    database = Database(to_sql_identifier(path.stem), str(path.absolute()), kind)
    try:
        if kind == "sqlite" and not _is_sqlite(path.absolute()):
            raise Unreadable("is a binary file")
        tables = describe_tables(database, _LIMITS)
    except FileRefused as error:
        raise Unreadable(error.reason) from error
    except OSError as error:
        raise Unreadable(f"could not be opened ({(error.strerror or type(error).__name__).lower()})") from error
    except SqlError as problem:
        if kind != "sheets":
            raise Unreadable(f"holds no table that can be read ({problem})") from problem
        if (reason := str(problem).removeprefix(f"{database.name} ")) != NO_TABLES:
            raise Unreadable(reason) from problem
        tables = ()
    notes = list_notes(path.absolute()) if kind == "sheets" else ()
    if not notes and not any(table.sample for table in tables):
        raise Unreadable(NO_TEXT if kind == "sheets" else "has no rows")
    if uniform and kind == "jsonl" and not _is_uniform(tables[0]):
        raise Unreadable("has no uniform records")
    if kind in ("csv", "tsv"):
        tables = tuple(replace(table, origin=locate_rows(path.absolute(), table)) for table in tables)
    return build_description("", tables, notes)


def describe_tables(database: Database, limits: SqlLimits) -> tuple[Table, ...]:
    """Describe the tables of a database in this process, even if values contradict the declared types."""
    try:
        return _describe_database(database, limits, as_text=False)
    except SqlError as problem:
        if not is_type_mismatch(problem):
            raise
    return _describe_database(database, limits, as_text=True)


def build_description(title: str, tables: Sequence[Table], notes: Sequence[SheetNote] = ()) -> Document:
    """Return a document with a section for each table: its columns, their statistics, and rows; then notes."""
    form, places = NormalFormWriter(), list[DocumentPlace]()
    for table in tables:
        _describe(form, table, places)
    for sheet, of_sheet in groupby(notes, key=lambda note: note.sheet):
        form.add_heading(1, f"Comments and text boxes of {sheet}")
        for _, kind, cell in of_sheet:
            place = CellRange(format_sheet(sheet), cell.row, cell.column, cell.row, cell.column).label
            places.append(DocumentPlace(form.length + 2, place))
            form.add_paragraph(f"{kind}: {cell.text}")
    return Document(title=title, text=form.text, kind="prose", places=tuple(places))


def build_result_document(title: str, sql: str, origin: str, result: ResultTable) -> Document:
    """Return the result of a query as a document: rows as sentences, then as a table, then the query."""
    form = NormalFormWriter()
    _add_row_sentences(form, title, result)
    form.add_row(result.columns)
    for row in result.rows:
        form.add_row([format_value(value) for value in row])
    count = len(result.rows)
    more = " or more; further rows are omitted" if result.is_truncated else ""
    form.add_paragraph(f"Result of a query over {origin}: {count} row{'' if count == 1 else 's'}{more}.")
    form.add_literal(sql)
    return Document(title=title, text=form.text, kind="prose")


def find_citable_end(title: str, result: ResultTable) -> int | None:
    """Return the offset in a result document at which its rows have been said in sentences; None if not all are.

    The table after it repeats the rows without the names of their columns, and the query itself states nothing.
    """
    if result.is_truncated or len(result.rows) > _MAX_DESCRIBED_ROWS:
        return None
    form = NormalFormWriter()
    _add_row_sentences(form, title, result)
    return len(form.text)


def _add_row_sentences(form: NormalFormWriter, title: str, result: ResultTable) -> None:
    sentences = [_describe_row(result.columns, row) for row in result.rows[:_MAX_DESCRIBED_ROWS]]
    if len(sentences) > 1:
        sentences = [sentence[0].upper() + sentence[1:] for sentence in sentences]
    add_figures(
        form,
        collapse_whitespace(title).rstrip(" .:"),
        sentences or ["the query returned no rows"],
        "as the query returned it",
    )


def add_figures(form: NormalFormWriter, title: str, sentences: Sequence[str], origin: str, noun: str = "rows") -> None:
    """Add sentences with figures; each list names its subject, since quotes are read out of context.

    Several sentences become lists, which are quoted completely: a single figure would look like the only one.
    """
    if len(sentences) < 2:
        form.add_paragraph(f"{title}: {sentences[0].rstrip('.')}.")
        return
    for first in range(0, len(sentences), _ROWS_PER_LIST):
        part = sentences[first : first + _ROWS_PER_LIST]
        positions = "" if len(sentences) <= _ROWS_PER_LIST else f", {noun} {first + 1} to {first + len(part)}"
        form.add_paragraph(f"{title}{positions}, {origin}:")
        for sentence in part:
            form.add_item(sentence)
        form.close_items()


def format_csv(result: ResultTable) -> str:
    """Return a result as comma-separated values with a header."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows(result.rows)
    return file.getvalue()


def format_value(value: CellValue) -> str:
    """Return a cell as text; numbers have up to four decimals."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) >= 0.001 or value == 0 else f"{value:.4g}"
    return collapse_whitespace(str(value))


def _describe_database(database: Database, limits: SqlLimits, *, as_text: bool) -> tuple[Table, ...]:
    with open_databases([database]) as pinned:
        engine = SqlEngine(pinned.databases, limits, as_text=as_text, problems=pinned.problems)
        try:
            return engine.describe_tables()
        finally:
            engine.close()


def _is_sqlite(path: Path) -> bool:
    with open_file(path) as opened:
        return opened.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


def _is_uniform(table: Table) -> bool:
    """Return whether records are rows of a table: single values that most of them have, and no long texts."""
    if any(column.kind == "other" or column.null_count > (table.row_count or 0) / 2 for column in table.columns):
        return False
    longest = [max((len(value) for value in row if isinstance(value, str)), default=0) for row in table.sample]
    return sum(length > _MAX_CELL_LENGTH for length in longest) * 2 < len(longest)


def _describe(form: NormalFormWriter, table: Table, places: list[DocumentPlace]) -> None:
    start = form.length + 2 if form.length else 0
    form.add_heading(1, table.name)
    if table.origin is not None and table.origin.sheet:
        places.append(DocumentPlace(start, format_sheet(table.origin.sheet).removesuffix(", ")))
        for row in table.origin.titles:
            place = CellRange(format_sheet(table.origin.sheet), row[0].row, row[0].column, row[0].row, row[-1].column)
            places.append(DocumentPlace(form.length + 2, place.label))
            form.add_paragraph(" ".join(cell.text for cell in row))
        places.append(DocumentPlace(form.length + 2, places[-1 - len(table.origin.titles)].label))
        if table.origin.is_hidden:
            form.add_paragraph(f"The sheet of the table {table.name} is hidden in its workbook.")
    columns = _join_list([column.name for column in table.columns])
    size = "" if table.row_count is None else f"{table.row_count} row{'' if table.row_count == 1 else 's'} and "
    form.add_paragraph(f"The table {table.name} has {size}the columns {columns}.")
    for column in table.columns:
        form.add_paragraph(_describe_column(table, column))
    if table.row_count is None or table.row_count > len(table.sample):
        form.add_paragraph(f"These are the first {len(table.sample)} rows of {table.name}:")
    rows = [[column.name for column in table.columns], *(map(format_value, values) for values in table.sample)]
    numbers = (table.origin.header, *table.origin.rows) if table.origin is not None else ()
    for cells, number in zip_longest(rows, numbers[: len(rows)]):
        words = [collapse_whitespace(cell) for cell in cells]
        form.add_row(words)
        if table.origin is not None and number is not None and any(words):
            places += _locate_cells(words, number, table.origin, form.length, max(0, _MAX_PLACES - len(places)))


def _locate_cells(words: Sequence[str], row: int, origin: SheetOrigin, end: int, limit: int) -> list[DocumentPlace]:
    """Return a place for each cell of a row that ends at an offset; one for the row if there are more than `limit`."""
    start = end - len("| " + " | ".join(words) + " |")
    before = format_sheet(origin.sheet)
    if len(words) > limit:
        return [DocumentPlace(start, CellRange(before, row, origin.columns[0], row, origin.columns[-1]).label)]
    places = []
    for column, word in zip(origin.columns, words, strict=False):
        places.append(DocumentPlace(start, CellRange(before, row, column, row, column).label))
        start += len(word) + len(" | ")
    return places


def _describe_column(table: Table, column: Column) -> str:
    sentence = f"The column {column.name} of the table {table.name} holds {_describe_values(column)}"
    without = f"{column.null_count} row has" if column.null_count == 1 else f"{column.null_count} rows have"
    return f"{sentence}; {without} none." if column.null_count else f"{sentence}."


def _describe_values(column: Column) -> str:
    words = {"number": "numbers", "text": "texts", "date": "dates", "boolean": "truth values", "other": "other values"}
    name = words[column.kind]
    if column.distinct_count is None or column.kind == "other" or column.minimum is None:
        return name
    between = f"{name} from {_shorten(column.minimum)} to {_shorten(column.maximum)}"
    if column.kind == "number" and column.mean is not None:
        return f"{between}, with a mean of {format_value(column.mean)} and a sum of {format_value(column.total)}"
    if column.kind == "date":
        return between
    phrases = [
        f"{_shorten(value)} ({count} row{'' if count == 1 else 's'})"
        for value, count in column.most_common[:_MAX_NAMED_VALUES]
    ]
    if len(phrases) == column.distinct_count:
        return f"{column.distinct_count} different {name}: {_join_list(phrases)}"
    return f"{column.distinct_count} different {name}, most often {_join_list(phrases[:3])}"


def _describe_row(columns: Sequence[str], row: Sequence[CellValue]) -> str:
    """Return a row of a result as one sentence, with the first column as its subject."""
    facts = [
        f"the {_format_label(name)} is {_shorten(value) or 'not given'}"
        for name, value in zip(columns, row, strict=True)
    ]
    if len(facts) == 1:
        return facts[0]
    subject = f"{_format_label(columns[0])} {_shorten(row[0]) or 'not given'}"
    return f"for {subject}, {_join_list(facts[1:])}"


def _format_label(name: str) -> str:
    return collapse_whitespace(name.replace("_", " "))


def _shorten(value: CellValue) -> str:
    text = format_value(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else text[: _MAX_VALUE_LENGTH - 1].rstrip() + "…"


def _join_list(items: Sequence[str]) -> str:
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)
