"""Query tables in files and databases in place, with DuckDB in memory.

All access is read-only: databases are attached, and files become views. Before the first statement the engine is
locked: it can access no other file, no network and no further extension, its settings cannot change, and the views of
its catalogue are hidden. Passwords are secrets of the engine, which are dropped when the database is attached. The
extensions for SQLite and PostgreSQL are part of the installation; DuckDB verifies their signatures.
"""

import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from tenure.algorithms.chunking.text_tables import list_document_tables
from tenure.sources.document.document import Unreadable
from tenure.sources.tables.catalogue import (
    DEFAULT_SAMPLE_ROWS,
    MAX_CELL_LENGTH,
    CellValue,
    Column,
    ColumnKind,
    Database,
    ResultTable,
    SheetOrigin,
    Table,
)
from tenure.sources.tables.document_tables import build_table
from tenure.sources.tables.postgres_options import ConnectionStringError, parse_connection_string
from tenure.sources.tables.sql_guard import check_sql

_MAX_COMMON_VALUES = 20
"""Number of distinct values up to which all values are listed."""
_MAX_COLUMNS = 80
_MAX_TABLES = 40

_MAX_RESULT_COLUMNS = 2_000
_MAX_RESULT_CHARACTERS = 20_000_000
"""Maximum number of characters of all cells of a result."""
_FETCHED_ROWS = 200
_MAX_INTEGER_BITS = 256
"""Maximum size of an integer; a larger one is described."""

_INTERRUPT_SECONDS = 2.0
"""Time in which an interrupted statement should stop."""

_READERS: Final = {
    "csv": "read_csv({0}, sample_size = -1, strict_mode = false)",
    "tsv": "read_csv({0}, sample_size = -1, strict_mode = false, delim = '\t')",
    "parquet": "read_parquet({0})",
    "jsonl": "read_json({0}, format = 'newline_delimited', sample_size = -1, maximum_object_size = 16777216)",
}
_CONNECTION_SECRET: Final = "connection"
_NO_CONNECTION: Final = "Unable to connect to Postgres"
_QUOTED: Final = re.compile(r'"[^"]*"')  # 'connection to server at "10.0.0.7" failed' names the address.
_EXTENSIONS: Final = {"sqlite": "sqlite_scanner", "postgres": "postgres_scanner"}
_SYSTEM_SCHEMAS: Final = ("information_schema", "pg_catalog", "pg_toast")
_NUMBERS: Final = ("INT", "DECIMAL", "DOUBLE", "FLOAT", "REAL", "NUMERIC")


NO_TABLES: Final = "there are no tables"
"""Message of an error without another reason."""


class SqlError(Exception):
    """A database that cannot be opened, or a query that failed; the message is shown to users and models."""


class SqlTimeout(SqlError):
    """A statement that exceeded its time limit."""


@dataclass(frozen=True)
class SqlLimits:
    """Limits of a statement."""

    seconds: float = 20.0
    rows: int = 200
    memory_mb: int = 1024


class SqlEngine:
    """SQL engine with opened databases, for one thread."""

    def __init__(
        self,
        opened: Sequence[Database],
        limits: SqlLimits,
        *,
        as_text: bool = False,
        on_stuck: Callable[[], None] | None = None,
        problems: Sequence[str] = (),
    ) -> None:
        """Open databases, and lock the engine.

        With `as_text`, columns of SQLite are read as text, for columns whose values contradict their declared type.
        `on_stuck` is called if a statement does not react to its interruption, and `problems` are the reasons for
        databases that could not be opened before.

        Raises:
            SqlError: no table can be opened.
        """
        self._limits = limits
        self._on_stuck = on_stuck
        self._tables: dict[str, list[str]] = {database.name: [] for database in opened}
        self._open_errors = list(problems)
        self._origins: dict[str, SheetOrigin] = {}
        self._hidden: frozenset[str] = frozenset()
        config: dict[str, Any] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "memory_limit": f"{limits.memory_mb}MB",
            "threads": 2,
            "temp_directory": "",
            # A name in a statement is neither a variable of Python nor a secret of the machine's user.
            "python_enable_replacements": False,
            "allow_persistent_secrets": False,
        }
        self._connection = duckdb.connect(":memory:", config=config)
        # The progress bar would be written to standard output before the reply.
        self._connection.execute("SET enable_progress_bar = false")
        try:
            with self._limit_time():
                self._load_extensions({database.format for database in opened}, as_text)
                self._hide_catalogue()
                files = [database for database in opened if database.format in _READERS]
                for database in opened:
                    if database not in files:
                        loaders = {"sheets": self._load_sheets, "document": self._load_document}
                        self._open(database, loaders.get(database.format, self._attach))
                self._close_off([database.location for database in files])
                # A file is opened only after the others are out of reach: its name may be a pattern of file names.
                for database in files:
                    self._open(database, self._create_view)
                self._lock()
            if not self.names:
                raise SqlError("; ".join(self._open_errors) or NO_TABLES)
        except SqlError:
            self.close()
            raise

    @property
    def names(self) -> tuple[str, ...]:
        """SQL names of the tables."""
        return tuple(name for names in self._tables.values() for name in names)

    def close(self) -> None:
        """Close the engine."""
        self._connection.close()

    def run_select(self, sql: str) -> ResultTable:
        """Run one SELECT statement.

        Raises:
            SqlRefused: the statement is not permitted.
            SqlError: the statement failed or timed out.
        """
        with self._limit_time():
            checked = check_sql(sql, self.names, self._connection, self._open_errors)
            cursor = self._connection.execute(checked.sql)
            columns = tuple(str(column[0]) for column in cursor.description or ())
            if len(columns) > _MAX_RESULT_COLUMNS:
                raise SqlError(f"the result has {len(columns)} columns: select at most {_MAX_RESULT_COLUMNS}")
            rows = list(islice(_fetch_rows(cursor), self._limits.rows + 1))
        limited = tuple(rows[: self._limits.rows])
        return ResultTable(columns, limited, is_truncated=len(rows) > self._limits.rows, tables_read=checked.tables)

    def describe_tables(self, sample: int = DEFAULT_SAMPLE_ROWS) -> tuple[Table, ...]:
        """Describe all tables: row counts, columns with statistics, and sample rows."""
        return tuple(self._describe_table(name, sample) for name in self.names)

    def _describe_table(self, name: str, sample: int) -> Table:
        with self._limit_time():
            described = self._fetch_all(f"DESCRIBE {_quote_qualified(name)}")
            columns = tuple(Column(str(row[0]), _classify_type(str(row[1]))) for row in described[:_MAX_COLUMNS])
            listed = ", ".join(quote_name(column.name) for column in columns)
            first = self._fetch_all(f"SELECT {listed} FROM {_quote_qualified(name)} LIMIT {sample}")
        rows = tuple(tuple(map(_convert_value, row)) for row in first)
        try:
            with self._limit_time():
                count = int(self._fetch_all(f"SELECT count(*) FROM {_quote_qualified(name)}")[0][0])
                columns = tuple(self._measure_column(name, column) for column in columns)
        except SqlTimeout:
            return Table(name, columns, None, rows, self._origins.get(name))
        return Table(name, columns, count, rows, self._origins.get(name))

    def _measure_column(self, name: str, column: Column) -> Column:
        cell, table = quote_name(column.name), _quote_qualified(name)
        if column.kind == "other":
            (counted,) = self._fetch_all(f"SELECT count(*) - count({cell}) FROM {table}")
            return Column(column.name, column.kind, null_count=int(counted[0]))
        sums = f"avg({cell}), sum({cell})" if column.kind == "number" else "NULL, NULL"
        (row,) = self._fetch_all(
            f"SELECT count(*) - count({cell}), count(DISTINCT {cell}), min({cell}), max({cell}), {sums} FROM {table}"
        )
        common: list[tuple[Any, ...]] = []
        if column.kind in ("text", "boolean"):
            counted_by = f"SELECT {cell}, count(*) FROM {table} WHERE {cell} IS NOT NULL GROUP BY 1"
            common = self._fetch_all(f"{counted_by} ORDER BY 2 DESC, 1 LIMIT {_MAX_COMMON_VALUES}")
        mean = _convert_value(row[4])
        return Column(
            column.name,
            column.kind,
            null_count=int(row[0]),
            distinct_count=int(row[1]),
            minimum=_convert_value(row[2]),
            maximum=_convert_value(row[3]),
            mean=float(mean) if isinstance(mean, int | float) else None,
            total=_convert_value(row[5]),
            most_common=tuple((_convert_value(value), int(count)) for value, count in common),
        )

    def _load_extensions(self, formats: set[str], as_text: bool) -> None:
        for name, extension in _EXTENSIONS.items():
            if name in formats:
                self._connection.execute(f"LOAD {quote_text(str(_find_extension(extension)))}")
        if "sqlite" in formats and as_text:
            self._connection.execute("SET sqlite_all_varchar = true")

    def _open(self, database: Database, open_: Callable[[Database], None]) -> None:
        try:
            open_(database)
        except Unreadable as error:
            self._open_errors.append(f"{database.name} {error.reason}")
        except (duckdb.Error, ConnectionStringError) as error:
            # A database that cannot be opened must not prevent the use of the others.
            self._tables[database.name] = []
            self._connection.execute(f"DETACH DATABASE IF EXISTS {quote_name(_get_alias(database))}")
            self._open_errors.append(f"{database.name} cannot be opened: {_format_error(error, database.location)}")

    def _create_view(self, database: Database) -> None:
        reader = _READERS[database.format].format(quote_text(_escape_pattern(database.location)))
        self._connection.execute(f"CREATE OR REPLACE VIEW {quote_name(database.name)} AS SELECT * FROM {reader}")
        self._tables[database.name].append(database.name)

    def _load_sheets(self, database: Database) -> None:
        """Load the sheets of a workbook into the tables of a schema, with better types than DuckDB would infer."""
        # The import takes as long as all other imports of this module together.
        from tenure.sources.tables.sheets import read_sheets

        def load() -> Iterator[tuple[str, pa.Table]]:
            for sheet in read_sheets(Path(database.location)):
                self._origins[f"{database.name}.{sheet.name}"] = sheet.origin
                yield sheet.name, sheet.table

        self._load(database, load())

    def _load_document(self, database: Database) -> None:
        """Load the tables in the text of a document; they have the numbers of their order."""
        tables = enumerate(map(build_table, list_document_tables(database.text)), 1)
        self._load(database, ((f"table_{number}", table) for number, table in tables if table is not None))

    def _load(self, database: Database, tables: Iterable[tuple[str, pa.Table]]) -> None:
        self._connection.execute(f"CREATE SCHEMA {quote_name(database.name)}")
        for name, table in islice(tables, _MAX_TABLES):
            self._connection.register("_loaded", table)
            target = f"{quote_name(database.name)}.{quote_name(name)}"
            self._connection.execute(f"CREATE TABLE {target} AS SELECT * FROM _loaded")
            self._connection.unregister("_loaded")
            self._tables[database.name].append(f"{database.name}.{name}")

    def _attach(self, database: Database) -> None:
        """Attach a database under a reserved name, and create views of its tables in a schema."""
        attached = _get_alias(database)
        if database.format == "postgres":
            self._attach_postgres(database.location, attached)
        else:
            self._connection.execute(
                f"ATTACH {quote_text(database.location)} AS {quote_name(attached)} (TYPE sqlite, READ_ONLY)"
            )
        rows = self._fetch_all(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? "
            "UNION SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal "
            "ORDER BY 1, 2",
            [attached, attached],
        )
        tables = [(str(schema), str(table)) for schema, table in rows if schema not in _SYSTEM_SCHEMAS][:_MAX_TABLES]
        several = len({schema for schema, _ in tables}) > 1
        self._connection.execute(f"CREATE SCHEMA {quote_name(database.name)}")
        for schema, table in tables:
            name = f"{schema}_{table}" if several and schema not in ("main", "public") else table
            view = f"{quote_name(database.name)}.{quote_name(name)}"
            inside = f"{quote_name(attached)}.{quote_name(schema)}.{quote_name(table)}"
            self._connection.execute(f"CREATE VIEW {view} AS SELECT * FROM {inside}")
            self._tables[database.name].append(f"{database.name}.{name}")

    def _attach_postgres(self, location: str, attached: str) -> None:
        """Attach a database by a secret, which is dropped afterwards: no statement can show it."""
        options = {"type": "postgres", **parse_connection_string(location)}
        listed = ", ".join(f"{name} {quote_text(value)}" for name, value in options.items())
        self._connection.execute(f"CREATE TEMPORARY SECRET {_CONNECTION_SECRET} ({listed})")
        try:
            self._connection.execute(
                f"ATTACH '' AS {quote_name(attached)} (TYPE postgres, SECRET {_CONNECTION_SECRET}, READ_ONLY)"
            )
        finally:
            self._connection.execute(f"DROP SECRET {_CONNECTION_SECRET}")

    def _close_off(self, files: Sequence[str]) -> None:
        """Block access to everything except attached databases and the given files; this cannot be undone."""
        allowed = dict.fromkeys(path for file in files for path in (file, _escape_pattern(file)))
        self._connection.execute(f"SET allowed_paths = [{', '.join(map(quote_text, allowed))}]")
        self._connection.execute("SET enable_external_access = false")

    def _lock(self) -> None:
        files = {names[0].lower() for names in self._tables.values() if names and "." not in names[0]}
        for name in self.names:
            _, dot, table = name.partition(".")
            if dot and table.lower() in self._hidden - files:
                self._connection.execute(f"DROP VIEW IF EXISTS main.{quote_name(table)}")
        schemas = dict.fromkeys(["main", *(name.partition(".")[0] for name in self.names if "." in name)])
        path = ",".join(quote_name(schema) for schema in schemas)
        self._connection.execute(f"SET search_path = {quote_text(path)}")
        self._connection.execute("SET lock_configuration = true")

    def _hide_catalogue(self) -> None:
        """Create an empty view with the name of each view of the catalogue, which is found first."""
        internal = self._fetch_all("SELECT DISTINCT view_name FROM duckdb_views() WHERE internal")
        self._hidden = frozenset(str(name) for (name,) in internal)
        for name in self._hidden:
            self._connection.execute(f"CREATE VIEW {quote_name(name)} AS SELECT NULL AS hidden WHERE false")

    def _fetch_all(self, sql: str, parameters: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, list(parameters)).fetchall()

    @contextmanager
    def _limit_time(self) -> Iterator[None]:
        """Interrupt the block after its time limit, and translate the errors of the engine."""
        timers = [threading.Timer(self._limits.seconds, self._connection.interrupt)]
        if self._on_stuck is not None:
            timers.append(threading.Timer(self._limits.seconds + _INTERRUPT_SECONDS, self._on_stuck))
        for timer in timers:
            timer.daemon = True
            timer.start()
        try:
            yield
        except duckdb.InterruptException as error:
            raise SqlTimeout(f"it took longer than {self._limits.seconds:g} s") from error
        except duckdb.Error as error:
            raise SqlError(_format_error(error)) from error
        finally:
            for timer in timers:
                timer.cancel()


def _fetch_rows(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[CellValue, ...]]:
    """Yield the rows of a result; a result that is too large is an error."""
    characters = 0
    while rows := cursor.fetchmany(_FETCHED_ROWS):
        for row in rows:
            converted = tuple(map(_convert_value, row))
            characters += sum(len(cell) for cell in converted if isinstance(cell, str))
            if characters > _MAX_RESULT_CHARACTERS:
                raise SqlError(
                    f"the result has more than {_MAX_RESULT_CHARACTERS:,} characters: select fewer columns or rows"
                )
            yield converted


def is_type_mismatch(problem: SqlError) -> bool:
    """Return whether an error was caused by a SQLite column whose values contradict its declared type."""
    return isinstance(problem.__cause__, duckdb.TypeMismatchException)


def _get_alias(database: Database) -> str:
    return f"_{database.name}"


def _find_extension(name: str) -> Path:
    spec = find_spec(f"duckdb_extension_{name}")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        for file in Path(folder).rglob(f"{name}.duckdb_extension"):
            return file
    raise SqlError(f"the package duckdb-extension-{name.replace('_', '-')} is not installed")


def _classify_type(declared: str) -> ColumnKind:
    plain = declared.upper()
    if plain.endswith("]") or plain.startswith(("STRUCT", "MAP", "UNION", "INTERVAL")):
        return "other"
    if any(number in plain for number in _NUMBERS):
        return "number"
    if plain.startswith(("DATE", "TIME")):
        return "date"
    return {"VARCHAR": "text", "BOOLEAN": "boolean", "UUID": "text"}.get(plain, "text" if "ENUM" in plain else "other")  # type: ignore[return-value]


def _convert_value(cell: object) -> CellValue:
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, int):
        bits = cell.bit_length()
        return cell if bits <= _MAX_INTEGER_BITS else f"(an integer of {bits} bits)"
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else str(cell)
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    if isinstance(cell, bytes):
        return f"({len(cell)} bytes)"
    return str(cell)[:MAX_CELL_LENGTH]


def quote_name(name: str) -> str:
    """Return a name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def _quote_qualified(name: str) -> str:
    schema, dot, table = name.partition(".")
    return f"{quote_name(schema)}.{quote_name(table)}" if dot else quote_name(name)


def quote_text(value: str) -> str:
    """Return a text in single quotes."""
    return "'" + value.replace("'", "''") + "'"


def _escape_pattern(path: str) -> str:
    """Return a path as a pattern that matches only this path."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def _format_error(error: Exception, location: str = "") -> str:
    """Return the first line of an error of the engine, without connection strings, hosts and users."""
    line = str(error).strip().splitlines()[0]
    if _NO_CONNECTION in line:
        _, _, reason = line.rpartition(": ")
        return f"its server cannot be reached: {_QUOTED.sub('…', reason)}"
    for form in filter(None, (location, _escape_pattern(location))):
        line = line.replace(form, "the database")
    return line
