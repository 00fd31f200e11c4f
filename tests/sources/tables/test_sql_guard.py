"""Tests of the guard of SQL: scopes of names, closed lists of nodes and functions, and agreement with the engine."""

import json
import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from tenure.sources.tables.sql_functions import PERMITTED_FUNCTIONS
from tenure.sources.tables.sql_guard import SqlRefused, check_sql
from tests.support.tiers import RUN_ALL

OFFERED = ("sales", "shop.sales", "shop.towns")
QUERIES = 5_000 if RUN_ALL else 150
"""Generated queries."""
SCANS = {"memory.main.sales": "sales", "memory.shop.sales": "shop.sales", "memory.shop.towns": "shop.towns"}


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Engine with the offered tables, two that are not offered, and a catalogue that is not hidden."""
    connection = duckdb.connect(":memory:")
    connection.execute("SET explain_output = 'all'")
    connection.execute("CREATE SCHEMA shop; CREATE SCHEMA other; SET search_path = 'main,shop'")
    for table in ("sales", "shop.sales", "shop.towns", "secret", "other.secret"):
        connection.execute(f"CREATE TABLE {table} (a INT, region VARCHAR)")
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("WITH sales AS (SELECT * FROM sales) SELECT * FROM sales", ("sales",)),
        ("WITH secret AS (SELECT * FROM sales), t AS (FROM secret) SELECT * FROM t, secret", ("sales",)),
        ("WITH sales AS (SELECT 1 AS a) SELECT * FROM sales", ()),
        ("SELECT * FROM towns, SHOP.Sales", ("shop.sales", "shop.towns")),
        ("WITH t AS (SELECT 1 AS a) SELECT * FROM sales WHERE a IN (SELECT a FROM t)", ("sales",)),
        ("WITH t AS (SELECT 1 AS a) SELECT a FROM sales ORDER BY a LIMIT (SELECT a FROM t)", ("sales",)),
        ("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) FROM t", ()),
        ("WITH RECURSIVE t(n) USING KEY (n) AS (SELECT 1 UNION SELECT n FROM recurring.t WHERE n < 0) FROM t", ()),
        ("FROM sales PIVOT (count(*) FOR region IN ('a', 'b'))", ("sales",)),
        ("SELECT x.upper(), COLUMNS('a.*'), #1 FROM (SELECT region AS x, a FROM sales)", ("sales",)),
        ("SELECT s.region FROM sales s LEFT JOIN LATERAL (SELECT s.a) l ON true", ("sales",)),
        ("SELECT list_transform([1], lambda x: x + 1), {'a': 1}.a, 1 BETWEEN 0 AND 2, CASE WHEN true THEN 1 END", ()),
        ("SELECT sum(a) FILTER (a > 1) OVER w FROM sales TABLESAMPLE 10% WINDOW w AS (ORDER BY a)", ("sales",)),
        ("SELECT extract(year FROM DATE '2026-01-01'), trim('x'), 'x' COLLATE nocase, now(), current_date", ()),
    ],
)  # fmt: skip
def test_names_are_resolved_in_their_scope(
    connection: duckdb.DuckDBPyConnection, sql: str, tables: tuple[str, ...]
) -> None:
    """A permitted statement names the tables that it reads, and the engine accepts it."""
    assert check_sql(sql, OFFERED, connection).tables == tables
    assert connection.execute(f"EXPLAIN {sql}").fetchall()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM (WITH {0} AS (SELECT 1) SELECT * FROM {0}) t, {0}",
        "SELECT * FROM {0} WHERE EXISTS (WITH {0} AS (SELECT 1) SELECT 1)",
        "SELECT (WITH {0} AS (SELECT 1) SELECT 1), * FROM {0}",
        "WITH {0} AS (SELECT * FROM {0}) SELECT * FROM {0}",
        "WITH t AS (SELECT * FROM {0}), {0} AS (SELECT 1) SELECT * FROM t",
        "WITH t AS (WITH {0} AS (SELECT 1) SELECT * FROM {0}) SELECT * FROM t, {0}",
        "WITH RECURSIVE {0} AS (SELECT * FROM {0} UNION ALL SELECT 1) SELECT * FROM {0}",
        "WITH RECURSIVE t AS (SELECT 1 UNION ALL (WITH {0} AS (SELECT 1) SELECT 1 FROM t)) SELECT * FROM {0}",
        "(WITH {0} AS (SELECT 1) SELECT 1) UNION ALL SELECT count(*) FROM {0}",
        "SELECT 1 ORDER BY (SELECT count(*) FROM {0})",
        "SELECT 1 LIMIT (SELECT count(*) FROM {0})",
        "SELECT count(*) OVER (ORDER BY (SELECT count(*) FROM {0})) FROM sales",
        "SELECT sum(a ORDER BY (SELECT 1 FROM {0})) FILTER (EXISTS (FROM {0})) FROM sales",
        "SELECT a FROM sales GROUP BY GROUPING SETS (a, (SELECT 1 FROM {0})) HAVING EXISTS (FROM {0})",
        "SELECT * REPLACE ((SELECT 1 FROM {0}) AS a) FROM sales",
        "SELECT COLUMNS(lambda c: (SELECT true FROM {0})) FROM sales",
        "SELECT DISTINCT ON ((SELECT 1 FROM {0})) a FROM sales",
        "SELECT * FROM sales JOIN LATERAL (SELECT * FROM {0}) t ON true",
        "SELECT * FROM (VALUES ((SELECT count(*) FROM {0})))",
        "SELECT * FROM unnest((SELECT [count(*)] FROM {0}))",
        "SELECT * FROM ({0})",
        "FROM {0} PIVOT (count(*) FOR region IN ('a'))",
        "FROM sales POSITIONAL JOIN {0}",
        "TABLE {0}",
        "/* sales */ SELECT * FROM /* sales */ {0} -- sales",
        "SELECT * FROM (SELECT 1) AS {0}, {0}",
    ],
)
@pytest.mark.parametrize("name", ["duckdb_databases", "SECRET", '"sqlite_master"', "pg_class"])
def test_a_name_is_valid_only_in_its_scope(connection: duckdb.DuckDBPyConnection, sql: str, name: str) -> None:
    """A query of a WITH clause makes its name valid nowhere else, in whatever part of a statement it is used."""
    with pytest.raises(SqlRefused):
        check_sql(sql.format(name), OFFERED, connection)


@pytest.mark.parametrize(
    "name",
    [
        *("other.secret", "main.secret", "memory.main.sales", "memory.sales", "system.main.duckdb_databases"),
        *("main.duckdb_databases", "pg_catalog.pg_class", "information_schema.tables", "temp.sales", "main.sales"),
        *('"shop.sales"', '"other.secret"', "'/etc/passwd'", "'data.csv'", '"data.csv"', "'s3://b/x.parquet'"),
        *("recurring.sales", "ſales", "\N{KELVIN SIGN}nown", "sales AT (VERSION => 1)", "t.t", "recurring.t"),
        *("duckdb_databases()", "pragma_database_list()", "query('FROM secret')", "query_table(['secret'])"),
        *("read_csv('x')", "read_text('x')", "glob('*')", "sniff_csv('x')", "json_execute_serialized_sql('x')"),
        *("histogram(secret, a)", "which_secret('x', 'y')", "pg_timezone_names()", "system.main.duckdb_settings()"),
        *("test_all_types()", "repeat('x', 3)", "seq_scan('secret')", "parquet_metadata('x')"),
    ],
)  # fmt: skip
def test_other_relations_are_refused(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Qualified names, quoted names, files and table functions are permitted only if they are offered."""
    with pytest.raises(SqlRefused):
        check_sql(f"WITH t AS (SELECT 1) SELECT * FROM {name}", OFFERED, connection)


@pytest.mark.parametrize(
    "expression",
    [
        *("getenv('HOME')", "current_setting('search_path')", "getvariable('x')", "nextval('s')", "current_query()"),
        *("system.main.current_setting('x')", "x.current_setting()", "current_setting(x) OVER ()", "version()"),
        *("json_serialize_plan('FROM secret')", "pg_get_viewdef(1)", "sleep_ms(1)", "write_log('x')", "txid_current()"),
        *("CURRENT_SETTING('x')", '"current_setting"(x)', "in_search_path('a', 'b')", "current_schemas(true)"),
        *("$1", "?", "$name", "list_transform(['x'], lambda s: current_setting(s))", "stats(x)", "invented(x)"),
    ],
)  # fmt: skip
def test_other_functions_are_refused(connection: duckdb.DuckDBPyConnection, expression: str) -> None:
    """A parameter, and a function outside the closed list, are refused in every notation."""
    with pytest.raises(SqlRefused):
        check_sql(f"SELECT {expression} FROM (SELECT 'search_path' AS x)", OFFERED, connection)


@pytest.mark.parametrize(
    "nested", ["(" * 900 + "1" + ")" * 900, "abs(" * 900 + "1" + ")" * 900, "NOT " * 4000 + "true"]
)
def test_deep_nesting_is_refused_or_read(connection: duckdb.DuckDBPyConnection, nested: str) -> None:
    """No depth of a statement raises anything except a refusal."""
    try:
        check_sql(f"SELECT {nested}", OFFERED, connection)
    except SqlRefused as refused:
        assert "nested too deeply" in str(refused) or "depth" in str(refused)


def test_permitted_functions_exist(connection: duckdb.DuckDBPyConnection) -> None:
    """The closed list names functions of the engine, besides the few that its binder knows."""
    rows = connection.execute("SELECT DISTINCT lower(function_name) FROM duckdb_functions()").fetchall()

    assert PERMITTED_FUNCTIONS - {str(name) for (name,) in rows} == {"grouping", "grouping_id"}


NAMES = ("t", "u", "sales", "SALES", '"Sales"', "secret", "Secret", "duckdb_databases", "sqlite_master", "towns")
RELATIONS = (*NAMES, "shop.sales", "main.sales", "shop.towns", "main.secret", "recurring.t", "recurring.secret")


class Generator:
    """Generator of queries whose names of WITH clauses and tables clash in nested scopes."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def write(self, depth: int = 3, visible: tuple[str, ...] = ()) -> str:
        """Return a query; most of its names are visible ones or are offered, so that many queries are permitted."""
        clauses = []
        is_recursive = self._occurs(0.4)
        for name in self._random.sample(NAMES, self._random.randint(0, 2) if depth else 0):
            body = self.write(depth - 1, (*visible, name) if self._occurs(0.2) else visible)
            if is_recursive and self._occurs(0.6):
                body = f"SELECT 1 AS a UNION ALL ({self.write(depth - 1, (*visible, name, f'recurring.{name}'))})"
            clauses.append(f"{name} AS ({body})")
            visible = (*visible, name)
        start = f"WITH {'RECURSIVE ' if is_recursive else ''}{', '.join(clauses)} " if clauses else ""
        nested = [
            f" WHERE EXISTS ({self._nest(depth, visible)})",
            f" LIMIT (SELECT 9 FROM ({self._nest(depth, visible)}))",
        ]
        chosen = self._random.choice(["", "", *nested, f" UNION ALL ({self._nest(depth, visible)})"])
        relations = (self._choose_relation(depth, visible) for _ in range(self._random.randint(1, 2)))
        listed = ", ".join(f"{relation} AS r{depth}{number}" for number, relation in enumerate(relations))
        return f"{start}SELECT 1 AS a FROM {listed}{chosen}"

    def _nest(self, depth: int, visible: tuple[str, ...]) -> str:
        return self.write(depth - 1, visible) if depth else "SELECT 1 AS a"

    def _choose_relation(self, depth: int, visible: tuple[str, ...]) -> str:
        if depth and self._occurs(0.3):
            return f"({self.write(depth - 1, visible)})"
        return self._random.choice(RELATIONS if self._occurs(0.1) else (*visible, "sales", "shop.sales", "towns"))

    def _occurs(self, probability: float) -> bool:
        return self._random.random() < probability


def test_every_bound_table_is_offered(connection: duckdb.DuckDBPyConnection) -> None:
    """Whatever the guard permits, the plan of the engine scans no table except those that the guard has named."""
    bound = 0
    for seed in range(QUERIES):
        sql = Generator(seed).write()
        try:
            permitted = check_sql(sql, OFFERED, connection).tables
            plans = dict(connection.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall())
        except (SqlRefused, duckdb.Error):
            continue  # The engine does not support every recursion.
        bound += 1
        scanned = set()
        for leaf in _iterate_leaves(json.loads(plans["logical_plan"])):
            assert leaf["name"] in ("SEQ_SCAN", "DUMMY_SCAN", "CTE_SCAN", "REC_CTE_SCAN", "EMPTY_RESULT"), sql
            if leaf["name"] == "SEQ_SCAN":
                scanned.add(SCANS[leaf["extra_info"]["Table"]])
        assert scanned <= set(permitted), sql
    assert bound > QUERIES / 10


def _iterate_leaves(plan: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in plan:
        if node["children"]:
            yield from _iterate_leaves(node["children"])
        else:
            yield node
