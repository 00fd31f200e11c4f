"""Check SQL with the parser of DuckDB: only one SELECT over the opened tables is permitted.

The connection itself has no access to other files, the network and changes (`tenure.sources.tables.sql_engine`). This
check also blocks what no setting of DuckDB blocks: functions that pass SQL to an attached database or reveal its
location.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import duckdb

MAX_SQL_LENGTH: Final = 20_000
"""Maximum length of a statement in characters."""

_TABLE_FUNCTIONS: Final = frozenset({"range", "generate_series", "unnest"})
"""Permitted table functions, which only compute."""
_REFUSED_FUNCTIONS: Final = frozenset({"current_setting", "getvariable", "getenv", "nextval", "currval", "write_log"})
"""Functions that reveal properties of the machine or have side effects."""


class CheckedQuery(NamedTuple):
    """A permitted statement."""

    sql: str
    """Text of the statement."""
    tables: tuple[str, ...]
    """Qualified names of the tables that it reads."""


class SqlRefused(ValueError):
    """SQL that is not permitted; the message says why and what is permitted."""


def check_sql(
    sql: str, tables: Sequence[str], connection: duckdb.DuckDBPyConnection, open_errors: Sequence[str] = ()
) -> CheckedQuery:
    """Return the statement of a text if it is permitted.

    Args:
        sql: text.
        tables: SQL names of the tables.
        connection: connection whose parser is used.
        open_errors: reasons why other tables are missing.

    Raises:
        SqlRefused: the text is no SQL, has several statements, is no SELECT, or reads anything except the tables.
    """
    statement = _parse_select(sql, connection)
    (serialized,) = connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchone() or ("{}",)
    tree = json.loads(serialized)
    if tree.get("error", True):
        raise SqlRefused(f"only a plain SELECT is permitted: {tree.get('error_message', 'it cannot be serialized')}")
    known = {name.lower().rpartition(".")[2]: name for name in reversed(tables)} | {n.lower(): n for n in tables}
    own = {name.lower() for name in _iterate_cte_names(tree)}
    read: dict[str, None] = {}
    for node in _iterate_nodes(tree):
        _check_node(node)
        if node.get("type") == "BASE_TABLE" and (name := _get_qualified_name(node)) not in own:
            if name not in known:
                there = ", ".join(tables) or "none"
                raise SqlRefused("; ".join((f"there is no table {name!r}; there are: {there}", *open_errors)))
            read[known[name]] = None
    return CheckedQuery(statement, tuple(sorted(read)))


def _parse_select(sql: str, connection: duckdb.DuckDBPyConnection) -> str:
    if len(sql) > MAX_SQL_LENGTH:
        raise SqlRefused(f"the statement is longer than {MAX_SQL_LENGTH} characters")
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise SqlRefused(_get_first_line(error)) from error
    if len(statements) != 1:
        raise SqlRefused(f"one statement is permitted, not {len(statements)}")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise SqlRefused(f"only SELECT is permitted, not {statements[0].type.name.replace('_', ' ')}")
    return str(statements[0].query).strip()


def _check_node(node: dict[str, Any]) -> None:
    kind = node.get("type")
    if kind == "SHOW_REF":
        raise SqlRefused("only SELECT is permitted, not DESCRIBE, SHOW or SUMMARIZE")
    if kind == "TABLE_FUNCTION" and (name := _get_function_name(node.get("function"))) not in _TABLE_FUNCTIONS:
        raise SqlRefused(f"the function {name!r} is not permitted in FROM")
    if node.get("class") == "FUNCTION" and _get_function_name(node) in _REFUSED_FUNCTIONS:
        raise SqlRefused(f"the function {_get_function_name(node)!r} is not permitted")


def _get_qualified_name(node: dict[str, Any]) -> str:
    parts = (node.get(part) for part in ("catalog_name", "schema_name", "table_name"))
    return ".".join(str(part) for part in parts if part).lower()


def _get_function_name(node: Any) -> str:
    return str(node.get("function_name", "")).lower() if isinstance(node, dict) else ""


def _iterate_cte_names(tree: Any) -> Iterator[str]:
    for node in _iterate_nodes(tree):
        entries = (node.get("cte_map") or {}).get("map") or ()
        yield from (str(entry["key"]) for entry in entries)


def _iterate_nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a tree without recursion, because a statement may be nested deeply."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _get_first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
