"""One SQL engine for all tables: DuckDB in memory, reading files and databases where they are.

Opened read-only: the files are views, the databases are attached as such, and then the engine is shut off from
every other file, from the network, from further extensions and from changes of its own settings. The readers of
SQLite and PostgreSQL come with the installation; DuckDB checks their signatures when it loads them.
"""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

import duckdb

from tenure.sources.document.document import Unreadable
from tenure.sources.tables.catalogue import Column, Database, Kind, ResultTable, Table, Value
from tenure.sources.tables.sql_guard import check

SAMPLE_ROWS: Final = 200
"""Rows of a table that are shown; a table of no more is shown whole."""
_FEW = 20
"""Different values up to which all are named."""
_COLUMNS = 80
"""Columns of a table that are described."""
_TABLES = 40
"""Tables of a database that are opened."""
_CELL = 500
"""Characters of a cell that are kept."""

_HEARING = 2.0
"""Seconds after an interruption in which a statement should have heard it."""

_READERS: Final = {
    "csv": "read_csv({0}, sample_size = -1, strict_mode = false)",
    "tsv": "read_csv({0}, sample_size = -1, strict_mode = false, delim = '\t')",
    "parquet": "read_parquet({0})",
    "jsonl": "read_json({0}, format = 'newline_delimited', sample_size = -1, maximum_object_size = 16777216)",
}
_EXTENSIONS: Final = {"sqlite": "sqlite_scanner", "postgres": "postgres_scanner"}
_SYSTEM_SCHEMAS: Final = ("information_schema", "pg_catalog", "pg_toast")
_NUMBERS: Final = ("INT", "DECIMAL", "DOUBLE", "FLOAT", "REAL", "NUMERIC")


class SqlProblem(Exception):
    """A database that cannot be opened, or a query that failed; the message is for whoever asked."""


class TimedOut(SqlProblem):
    """A statement that took longer than it may."""


@dataclass(frozen=True)
class Limits:
    """What a statement may use."""

    seconds: float = 20.0
    """Time."""
    rows: int = 200
    """Rows of its result that are kept."""
    memory_mb: int = 1024
    """Memory of the engine."""


class Engine:
    """Opened databases, for one thread."""

    def __init__(
        self,
        opened: Sequence[Database],
        limits: Limits,
        *,
        as_text: bool = False,
        deaf: Callable[[], None] | None = None,
    ) -> None:
        """Open databases and shut everything else off.

        Args:
            opened: where the tables are.
            limits: what a statement may use.
            as_text: whether columns of SQLite are read as texts, for those whose values are not what they declare.
            deaf: what to do about a statement that does not hear that it is interrupted.

        Raises:
            SqlProblem: none of them has a table that can be opened.
        """
        self._limits = limits
        self._deaf = deaf
        self._names: list[str] = []
        self._unopened: list[str] = []
        config: dict[str, Any] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "memory_limit": f"{limits.memory_mb}MB",
            "threads": 2,
            "temp_directory": "",
        }
        self._connection = duckdb.connect(":memory:", config=config)
        # It would be drawn on standard output after two seconds, in front of the answer.
        self._connection.execute("SET enable_progress_bar = false")
        try:
            with self._timed():
                self._load({database.format for database in opened}, as_text)
                for database in opened:
                    self._open(database)
                self._shut([database.location for database in opened if database.format in _READERS])
            if not self._names:
                raise SqlProblem("; ".join(self._unopened) or "there are no tables")
        except SqlProblem:
            self.close()
            raise

    @property
    def names(self) -> tuple[str, ...]:
        """The tables there are, as SQL names them."""
        return tuple(self._names)

    def close(self) -> None:
        """Close all of it."""
        self._connection.close()

    def select(self, sql: str) -> ResultTable:
        """Run one SELECT.

        Raises:
            SqlRefused: it may not run.
            SqlProblem: it failed or took too long.
        """
        checked = check(sql, self._names, self._connection, self._unopened)
        with self._timed():
            cursor = self._connection.execute(checked.sql)
            columns = tuple(str(column[0]) for column in cursor.description or ())
            rows = cursor.fetchmany(self._limits.rows + 1)
        kept = tuple(tuple(map(_value, row)) for row in rows[: self._limits.rows])
        return ResultTable(columns, kept, truncated=len(rows) > self._limits.rows, read=checked.tables)

    def describe(self, sample: int = SAMPLE_ROWS) -> tuple[Table, ...]:
        """Describe all tables: rows, columns with their figures, and the first rows.

        Raises:
            SqlProblem: a table cannot be read, or even its columns take too long.
        """
        return tuple(self._table(name, sample) for name in self._names)

    def _table(self, name: str, sample: int) -> Table:
        with self._timed():
            found = self._rows(f"DESCRIBE {_dotted(name)}")
            columns = tuple(Column(str(row[0]), _kind(str(row[1]))) for row in found[:_COLUMNS])
            listed = ", ".join(_quoted(column.name) for column in columns)
            first = self._rows(f"SELECT {listed} FROM {_dotted(name)} LIMIT {sample}")
        rows = tuple(tuple(map(_value, row)) for row in first)
        try:
            with self._timed():
                count = int(self._rows(f"SELECT count(*) FROM {_dotted(name)}")[0][0])
                columns = tuple(self._measured(name, column) for column in columns)
        except TimedOut:
            return Table(name, columns, None, rows)
        return Table(name, columns, count, rows)

    def _measured(self, name: str, column: Column) -> Column:
        """Return a column with its figures."""
        here, table = _quoted(column.name), _dotted(name)
        if column.kind == "other":
            (counted,) = self._rows(f"SELECT count(*) - count({here}) FROM {table}")
            return Column(column.name, column.kind, empty=int(counted[0]))
        sums = f"avg({here}), sum({here})" if column.kind == "number" else "NULL, NULL"
        (row,) = self._rows(
            f"SELECT count(*) - count({here}), count(DISTINCT {here}), min({here}), max({here}), {sums} FROM {table}"
        )
        common: list[tuple[Any, ...]] = []
        if column.kind in ("text", "boolean"):
            counted_by = f"SELECT {here}, count(*) FROM {table} WHERE {here} IS NOT NULL GROUP BY 1"
            common = self._rows(f"{counted_by} ORDER BY 2 DESC, 1 LIMIT {_FEW}")
        mean = _value(row[4])
        return Column(
            column.name,
            column.kind,
            empty=int(row[0]),
            distinct=int(row[1]),
            least=_value(row[2]),
            greatest=_value(row[3]),
            mean=float(mean) if isinstance(mean, int | float) else None,
            total=_value(row[5]),
            common=tuple((_value(value), int(count)) for value, count in common),
        )

    def _load(self, formats: set[str], as_text: bool) -> None:
        for wanted, extension in _EXTENSIONS.items():
            if wanted in formats:
                self._connection.execute(f"LOAD {_text(str(_extension(extension)))}")
        if "sqlite" in formats and as_text:
            self._connection.execute("SET sqlite_all_varchar = true")

    def _open(self, database: Database) -> None:
        try:
            if database.format in _READERS:
                reader = _READERS[database.format].format(_text(database.location))
                self._connection.execute(f"CREATE VIEW {_quoted(database.name)} AS SELECT * FROM {reader}")
                self._names.append(database.name)
            elif database.format == "sheets":
                self._load_sheets(database)
            else:
                self._attach(database)
        except Unreadable as error:
            self._unopened.append(f"{database.name} {error.reason}")
        except duckdb.Error as error:
            # One that cannot be opened must not keep the others shut.
            self._unopened.append(f"{database.name} cannot be opened: {_words(error, database.location)}")

    def _load_sheets(self, database: Database) -> None:
        """Hold the sheets of a workbook as tables of a schema: the engine itself does not know how to type them."""
        # With its readers of workbooks, it takes as long to import as all the others together.
        from tenure.sources.tables.sheets import sheets

        self._connection.execute(f"CREATE SCHEMA {_quoted(database.name)}")
        for sheet in islice(sheets(Path(database.location)), _TABLES):
            self._connection.register("_sheet", sheet.table)
            held = f"{_quoted(database.name)}.{_quoted(sheet.name)}"
            self._connection.execute(f"CREATE TABLE {held} AS SELECT * FROM _sheet")
            self._connection.unregister("_sheet")
            self._names.append(f"{database.name}.{sheet.name}")

    def _attach(self, database: Database) -> None:
        """Attach a database under a name nobody uses, and show its tables as views of a schema."""
        attached = f"_{database.name}"
        kind = "sqlite" if database.format == "sqlite" else "postgres"
        self._connection.execute(f"ATTACH {_text(database.location)} AS {_quoted(attached)} (TYPE {kind}, READ_ONLY)")
        found = self._rows(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? "
            "UNION SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal "
            "ORDER BY 1, 2",
            [attached, attached],
        )
        own = [(str(schema), str(table)) for schema, table in found if schema not in _SYSTEM_SCHEMAS][:_TABLES]
        several = len({schema for schema, _ in own}) > 1
        self._connection.execute(f"CREATE SCHEMA {_quoted(database.name)}")
        for schema, table in own:
            name = f"{schema}_{table}" if several and schema not in ("main", "public") else table
            shown = f"{_quoted(database.name)}.{_quoted(name)}"
            inside = f"{_quoted(attached)}.{_quoted(schema)}.{_quoted(table)}"
            self._connection.execute(f"CREATE VIEW {shown} AS SELECT * FROM {inside}")
            self._names.append(f"{database.name}.{name}")

    def _shut(self, files: Sequence[str]) -> None:
        """Shut the engine off from whatever was not opened; nothing can be switched on again."""
        schemas = dict.fromkeys(["main", *(name.partition(".")[0] for name in self._names if "." in name)])
        path = ",".join(_quoted(schema) for schema in schemas)
        self._connection.execute(f"SET search_path = {_text(path)}")
        self._connection.execute(f"SET allowed_paths = [{', '.join(map(_text, files))}]")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def _rows(self, sql: str, parameters: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, list(parameters)).fetchall()

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Interrupt what takes too long, and put the engine's errors into words."""
        timers = [threading.Timer(self._limits.seconds, self._connection.interrupt)]
        if self._deaf is not None:
            timers.append(threading.Timer(self._limits.seconds + _HEARING, self._deaf))
        for timer in timers:
            timer.daemon = True
            timer.start()
        try:
            yield
        except duckdb.InterruptException as error:
            raise TimedOut(f"it took longer than {self._limits.seconds:g} s") from error
        except duckdb.Error as error:
            raise SqlProblem(_words(error)) from error
        finally:
            for timer in timers:
                timer.cancel()


def mistyped(problem: SqlProblem) -> bool:
    """Tell whether a problem is a SQLite column whose values are not what it declares."""
    return isinstance(problem.__cause__, duckdb.TypeMismatchException)


def _extension(name: str) -> Path:
    """Return the file of an extension that came with the installation."""
    spec = find_spec(f"duckdb_extension_{name}")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        for file in Path(folder).rglob(f"{name}.duckdb_extension"):
            return file
    raise SqlProblem(f"the package duckdb-extension-{name.replace('_', '-')} is not installed")


def _kind(declared: str) -> Kind:
    plain = declared.upper()
    if plain.endswith("]") or plain.startswith(("STRUCT", "MAP", "UNION", "INTERVAL")):
        return "other"
    if any(number in plain for number in _NUMBERS):
        return "number"
    if plain.startswith(("DATE", "TIME")):
        return "date"
    return {"VARCHAR": "text", "BOOLEAN": "boolean", "UUID": "text"}.get(plain, "text" if "ENUM" in plain else "other")  # type: ignore[return-value]


def _value(cell: object) -> Value:
    """Return a cell as JSON can carry it."""
    if cell is None or isinstance(cell, bool | int):
        return cell
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else str(cell)
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    if isinstance(cell, bytes):
        return f"({len(cell)} bytes)"
    return str(cell)[:_CELL]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _dotted(name: str) -> str:
    schema, dot, table = name.partition(".")
    return f"{_quoted(schema)}.{_quoted(table)}" if dot else _quoted(name)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _words(error: Exception, location: str = "") -> str:
    """Return the first line of an error of the engine, without an address that may hold a password."""
    line = str(error).strip().splitlines()[0]
    return line.replace(location, "the database") if location else line
