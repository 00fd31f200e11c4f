"""Check SQL by the parse tree of DuckDB: only one SELECT over the opened tables is permitted.

The tree is that of the parser that executes the statement, so there is no second grammar that could read it otherwise.
Every name in FROM is resolved in its own scope, as the engine does: a name of a WITH clause is valid in the clauses
after it and in the query that it belongs to, and nowhere else. Node types and functions are closed lists; a part of a
tree that is not on them is refused. The connection has no access to other files, the network and changes, and hides the
catalogue (`tenure.sources.tables.sql_engine`).
"""

import json
import string
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import duckdb

from tenure.sources.tables.sql_functions import PERMITTED_FUNCTIONS, PERMITTED_TABLE_FUNCTIONS

MAX_SQL_LENGTH: Final = 20_000
"""Maximum length of a statement in characters."""

_EXPRESSION_CLASSES: Final = frozenset(
    """
    BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION LAMBDA LAMBDA_REF OPERATOR
    POSITIONAL_REFERENCE STAR SUBQUERY WINDOW
    """.split()
)
_OTHER_NODE_TYPES: Final = frozenset(
    """
    SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE
    BASE_TABLE EMPTY EXPRESSION_LIST JOIN PIVOT SUBQUERY TABLE_FUNCTION
    DISTINCT_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER ORDER_MODIFIER
    ASCENDING DESCENDING ORDER_DEFAULT
    """.split()
)
"""Queries, parts of FROM and modifiers of a query."""
_TABLE_FIELDS: Final = frozenset(
    "type alias sample query_location column_name_alias catalog_name schema_name table_name".split()
)
_RECURSION_SCHEMA: Final = "recurring"
"""Schema by which a recursive query refers to all of its rows so far."""
_ASCII_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

_Scope = frozenset[tuple[str, str]]
"""Names of WITH clauses that are valid in a place: the schema that refers to them, mostly none, and the name."""


class CheckedQuery(NamedTuple):
    """A permitted statement."""

    sql: str
    tables: tuple[str, ...]


class SqlRefused(ValueError):
    """SQL that is not permitted; the message says why and what is permitted."""


def check_sql(
    sql: str, tables: Sequence[str], connection: duckdb.DuckDBPyConnection, open_errors: Sequence[str] = ()
) -> CheckedQuery:
    """Return the statement of a text if it is permitted.

    Raises:
        SqlRefused: the text is no SQL, has several statements, is no SELECT, or reads anything except the tables.
    """
    statement = _parse_select(sql, connection)
    tree = _parse_tree(statement, connection)
    permitted = _PermittedTables(tables)
    read: dict[str, None] = {}
    for node, scope in _iterate_nodes(tree):
        _check_node(node)
        if node.get("type") != "BASE_TABLE" or _is_cte(node, scope):
            continue
        name = permitted.find(node)
        if name is None:
            available = ", ".join(tables) or "none"
            path = ".".join(part for part in _get_table_path(node) if part)
            raise SqlRefused("; ".join((f"there is no table {path!r}; there are: {available}", *open_errors)))
        read[name] = None
    return CheckedQuery(statement, tuple(sorted(read)))


class _PermittedTables:
    """Opened tables by the parts of their names, as the engine compares them: without the case of ASCII letters."""

    def __init__(self, tables: Sequence[str]) -> None:
        self._qualified: dict[tuple[str, str], str] = {}
        self._plain: dict[str, str] = {}
        for name in tables:
            schema, dot, table = name.partition(".")
            if dot:
                self._qualified[_fold(schema), _fold(table)] = name
            else:
                self._plain[_fold(name)] = name
        # The order of the engine's search path: files, then the databases in their order.
        for (_, table), name in self._qualified.items():
            self._plain.setdefault(table, name)

    def find(self, node: dict[str, Any]) -> str | None:
        """Return the SQL name of the table of a node, or None if it is not permitted."""
        catalog, schema, table = map(_fold, _get_table_path(node))
        if catalog:
            return None
        return self._qualified.get((schema, table)) if schema else self._plain.get(table)


def _parse_select(sql: str, connection: duckdb.DuckDBPyConnection) -> str:
    if len(sql) > MAX_SQL_LENGTH:
        raise SqlRefused(f"the statement is longer than {MAX_SQL_LENGTH} characters")
    if "\0" in sql:
        # The parser ignores the rest of the text, which a reader of the statement would take for a part of it.
        raise SqlRefused("the statement contains a null character")
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise SqlRefused(str(error).strip().splitlines()[0]) from error
    if len(statements) != 1:
        raise SqlRefused(f"one statement is permitted, not {len(statements)}")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise SqlRefused(f"only SELECT is permitted, not {statements[0].type.name.replace('_', ' ')}")
    return str(statements[0].query).strip()


def _parse_tree(statement: str, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    try:
        (serialized,) = connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchone() or ("{}",)
        tree: dict[str, Any] = json.loads(serialized)
    except (duckdb.Error, RecursionError) as error:
        raise SqlRefused("the statement is nested too deeply: write it with fewer parentheses") from error
    if tree.get("error", True):
        raise SqlRefused(f"only a plain SELECT is permitted: {tree.get('error_message', 'it cannot be serialized')}")
    return tree


def _iterate_nodes(tree: dict[str, Any]) -> Iterator[tuple[dict[str, Any], _Scope]]:
    """Yield every node of a tree with the names of WITH clauses that are valid there.

    This is a loop without recursion, because a statement may be nested deeply.
    """
    waiting: list[tuple[Any, _Scope]] = [(tree["statements"], frozenset())]
    while waiting:
        value, scope = waiting.pop()
        if isinstance(value, list):
            waiting.extend((item, scope) for item in value)
        elif isinstance(value, dict):
            if isinstance(value.get("type"), str):
                yield value, scope
            waiting.extend(_list_children(value, scope))


def _list_children(node: dict[str, Any], scope: _Scope) -> list[tuple[Any, _Scope]]:
    children: list[tuple[Any, _Scope]] = []
    # Each query of a WITH clause sees the queries before it, and not itself.
    for entry in (node.get("cte_map") or {}).get("map") or ():
        children.append((entry["value"], scope))
        scope |= {("", _fold(entry["key"]))}
    for field, value in node.items():
        if field == "cte_map" or (field == "value" and node.get("class") == "CONSTANT"):
            continue
        # Only the second part of a recursive query sees the rows of the query itself.
        if node.get("type") == "RECURSIVE_CTE_NODE" and field == "right":
            cte = _fold(node["cte_name"])
            children.append((value, scope | {("", cte), (_RECURSION_SCHEMA, cte)}))
        else:
            children.append((value, scope))
    return children


def _is_cte(node: dict[str, Any], scope: _Scope) -> bool:
    catalog, schema, table = map(_fold, _get_table_path(node))
    return not catalog and (schema, table) in scope


def _check_node(node: dict[str, Any]) -> None:
    kind = str(node["type"])
    if kind == "SHOW_REF":
        raise SqlRefused("only SELECT is permitted, not DESCRIBE, SHOW or SUMMARIZE")
    if kind == "VALUE_PARAMETER":
        raise SqlRefused("a parameter of a prepared statement is not permitted: write the value")
    listed = node["class"] in _EXPRESSION_CLASSES if "class" in node else _is_listed(kind)
    if not listed:
        raise SqlRefused(f"only a plain SELECT is permitted, without {kind.replace('_', ' ')}")
    if kind == "BASE_TABLE" and (further := {field for field in node if node[field]} - _TABLE_FIELDS):
        raise SqlRefused(f"only a plain table is permitted, without {', '.join(sorted(further)).replace('_', ' ')}")
    if kind == "PIVOT" and any(pivot.get("pivot_enum") for pivot in node.get("pivots") or ()):
        raise SqlRefused("PIVOT is permitted only with a list of values")
    if kind == "TABLE_FUNCTION" and (name := _get_function_name(node["function"])) not in PERMITTED_TABLE_FUNCTIONS:
        raise SqlRefused(f"the function {name!r} is not permitted in FROM")
    if node.get("class") in ("FUNCTION", "WINDOW") and (name := _get_function_name(node)) not in PERMITTED_FUNCTIONS:
        raise SqlRefused(f"the function {name!r} does not exist or is not permitted")


def _is_listed(kind: str) -> bool:
    return kind in _OTHER_NODE_TYPES or kind.endswith("_TYPE_INFO")


def _get_table_path(node: dict[str, Any]) -> tuple[str, str, str]:
    catalog, schema, table = (str(node.get(part) or "") for part in ("catalog_name", "schema_name", "table_name"))
    return catalog, schema, table


def _get_function_name(node: dict[str, Any]) -> str:
    return _fold(str(node.get("function_name", "")))


def _fold(name: str) -> str:
    """Return a name without the case of ASCII letters: the engine distinguishes all other letters."""
    return name.translate(_ASCII_LOWER)
