"""Which SQL may run: one SELECT over the tables that were opened, as DuckDB's own parser reads it.

The connection itself is closed to files, network and changes (`tenure.sources.tables.sql_engine`). This is the wall
before that one, and it closes what no setting does: functions that hand SQL to an attached database or
tell where it is.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import duckdb

LONGEST: Final = 20_000
"""Characters of a statement at the most."""

_TABLE_FUNCTIONS: Final = frozenset({"range", "generate_series", "unnest"})
"""Functions in FROM that compute and nothing else."""
_REFUSED_FUNCTIONS: Final = frozenset({"current_setting", "getvariable", "getenv", "nextval", "currval", "write_log"})
"""Functions that tell of the machine or leave something behind."""


class Checked(NamedTuple):
    """A statement that may run."""

    sql: str
    """The statement."""
    tables: tuple[str, ...]
    """The tables it reads, in full."""


class SqlRefused(ValueError):
    """SQL that must not run; the message says why and what may."""


def check(
    sql: str, tables: Sequence[str], connection: duckdb.DuckDBPyConnection, unopened: Sequence[str] = ()
) -> Checked:
    """Return the one statement of a text, if it may run.

    Args:
        sql: what somebody wrote.
        tables: the tables there are, as SQL names them.
        connection: whose parser reads it.
        unopened: why other tables are not there.

    Raises:
        SqlRefused: it is no SQL, more than one statement, no SELECT, or reads something else than the tables.
    """
    statement = _one_select(sql, connection)
    (serialized,) = connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchone() or ("{}",)
    tree = json.loads(serialized)
    if tree.get("error", True):
        raise SqlRefused(f"only a plain SELECT may run: {tree.get('error_message', 'the parser cannot show it')}")
    known = {name.lower().rpartition(".")[2]: name for name in reversed(tables)} | {n.lower(): n for n in tables}
    own = {name.lower() for name in _cte_names(tree)}
    read: dict[str, None] = {}
    for node in _nodes(tree):
        _check_node(node)
        if node.get("type") == "BASE_TABLE" and (name := _qualified(node)) not in own:
            if name not in known:
                there = ", ".join(tables) or "none"
                raise SqlRefused("; ".join((f"there is no table {name!r}; there are: {there}", *unopened)))
            read[known[name]] = None
    return Checked(statement, tuple(sorted(read)))


def _one_select(sql: str, connection: duckdb.DuckDBPyConnection) -> str:
    if len(sql) > LONGEST:
        raise SqlRefused(f"the statement is longer than {LONGEST} characters")
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise SqlRefused(_first_line(error)) from error
    if len(statements) != 1:
        raise SqlRefused(f"one statement may run, not {len(statements)}")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise SqlRefused(f"only SELECT may run, not {statements[0].type.name.replace('_', ' ')}")
    return str(statements[0].query).strip()


def _check_node(node: dict[str, Any]) -> None:
    kind = node.get("type")
    if kind == "SHOW_REF":
        raise SqlRefused("only SELECT may run, not DESCRIBE, SHOW or SUMMARIZE")
    if kind == "TABLE_FUNCTION" and (name := _function(node.get("function"))) not in _TABLE_FUNCTIONS:
        raise SqlRefused(f"the function {name!r} may not be read from")
    if node.get("class") == "FUNCTION" and _function(node) in _REFUSED_FUNCTIONS:
        raise SqlRefused(f"the function {_function(node)!r} may not be used")


def _qualified(node: dict[str, Any]) -> str:
    parts = (node.get(part) for part in ("catalog_name", "schema_name", "table_name"))
    return ".".join(str(part) for part in parts if part).lower()


def _function(node: Any) -> str:
    return str(node.get("function_name", "")).lower() if isinstance(node, dict) else ""


def _cte_names(tree: Any) -> Iterator[str]:
    for node in _nodes(tree):
        entries = (node.get("cte_map") or {}).get("map") or ()
        yield from (str(entry["key"]) for entry in entries)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a tree, without recursion: a statement may be nested deeply."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
