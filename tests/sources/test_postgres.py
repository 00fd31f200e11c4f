"""Tests of PostgreSQL with the SQL engine, against a real server if the machine has one."""

from collections.abc import Iterator

import pytest

from tenure.sources.tables.catalogue import Database
from tenure.sources.tables.sql_engine import SqlEngine, SqlError, SqlLimits, SqlTimeout
from tenure.sources.tables.sql_guard import SqlRefused
from tests.sources.postgres_server import binaries, postgres
from tests.sources.table_files import ROWS, inserted
from tests.support.tiers import slow

pytestmark = pytest.mark.skipif(binaries() is None, reason="PostgreSQL is not installed on this machine")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """URL of a database with the sales, in two schemas."""
    table = "CREATE TABLE sales (region TEXT, product TEXT, revenue NUMERIC(8, 2), day DATE)"
    other = "CREATE SCHEMA old; CREATE TABLE old.towns (name TEXT); INSERT INTO old.towns VALUES ('Rome')"
    view = "CREATE VIEW rich AS SELECT * FROM sales WHERE revenue > 100"
    with postgres(table, *map(inserted, ROWS), other, view) as address:
        yield address


@pytest.fixture(scope="module")
def engine(address: str) -> Iterator[SqlEngine]:
    """Engine over that database."""
    engine = SqlEngine((Database("shop", address, "postgres"),), SqlLimits(seconds=10.0))
    yield engine
    engine.close()


@slow
def test_tables_and_views_of_all_schemas_are_available(engine: SqlEngine) -> None:
    """Tables of the public schema have plain names, others have their schema as prefix; system tables are omitted."""
    assert sorted(engine.names) == ["shop.old_towns", "shop.rich", "shop.sales"]


def test_a_query_is_answered(engine: SqlEngine) -> None:
    """Rows are returned like those of a file."""
    result = engine.run_select("SELECT region, sum(revenue) AS total FROM shop.sales GROUP BY region ORDER BY region")

    assert result.rows == (("North", 150.5), ("South", 200), ("West", None))
    assert engine.run_select("SELECT name FROM old_towns").rows == (("Rome",),)


def test_a_table_is_described(engine: SqlEngine) -> None:
    """Counts, statistics and sample rows are those of a file."""
    table = next(table for table in engine.describe_tables() if table.name == "shop.sales")

    assert table.row_count == 4
    assert [column.kind for column in table.columns] == ["text", "text", "number", "date"]


@slow
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM postgres_query('_shop', 'SELECT pg_read_file(''/etc/passwd'')')",
        "CALL postgres_execute('_shop', 'DROP TABLE sales')",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_sleep(60)",
        "SELECT * FROM _shop.public.sales",
        "INSERT INTO shop.sales VALUES ('x', 'y', 1, '2026-01-01')",
        "SELECT * FROM postgres_scan('host=127.0.0.1', 'public', 'sales')",
        "SELECT * FROM duckdb_databases()",
        "SELECT path, 1 IN (WITH duckdb_databases AS (SELECT 1) FROM duckdb_databases) FROM duckdb_databases",
        'SELECT path FROM system.main.duckdb_databases, (WITH "system.main.duckdb_databases" AS (SELECT 1) SELECT 1)',
        "SELECT * FROM _shop.pg_catalog.pg_authid",
        "SELECT * FROM duckdb_secrets(redact = false)",
    ],
)
def test_no_statement_reaches_the_server_itself(engine: SqlEngine, sql: str) -> None:
    """Functions of the server, statements for it, and its connection string are not accessible."""
    with pytest.raises((SqlRefused, SqlError)) as refused:
        engine.run_select(sql)

    assert "swordfish" not in str(refused.value)
    assert engine.run_select("SELECT count(*) FROM shop.sales").rows == ((4,),)


def test_no_statement_shows_the_connection(engine: SqlEngine, address: str) -> None:
    """Without the guard, neither the catalogue nor the secrets of the engine hold the password, host or user."""
    functions = ("duckdb_databases", "duckdb_secrets", "duckdb_views", "duckdb_settings", "duckdb_logs")
    with engine._limit_time():
        shown = "\n".join(str(engine._fetch_all(f"SELECT * FROM {name}()")) for name in functions)

    assert not any(part in shown for part in (address, "swordfish", "127.0.0.1", "'reader'"))


def test_the_list_form_of_a_connection_string_is_read(address: str) -> None:
    """A database may be given by options, and its user must exist."""
    port = address.rpartition(":")[2].partition("/")[0]
    options = f"host = 127.0.0.1 port={port} user='reader' password='sword\\'fish' dbname=postgres"
    engine = SqlEngine((Database("shop", options, "postgres"),), SqlLimits(seconds=10.0))
    assert "shop.sales" in engine.names
    engine.close()
    nobody = Database("shop", options.replace("'reader'", "'nobody'"), "postgres")

    with pytest.raises(SqlError, match=r"role … does not exist") as problem:
        SqlEngine((nobody,), SqlLimits(seconds=10.0))
    assert "nobody" not in str(problem.value)


def test_the_database_is_attached_read_only(engine: SqlEngine) -> None:
    """Without the guard, the connection itself rejects changes."""
    with pytest.raises(SqlError, match="read-only"), engine._limit_time():
        engine._fetch_all("DELETE FROM _shop.public.sales")


@slow
def test_a_long_query_is_interrupted(address: str) -> None:
    """An endless product stops at the time limit."""
    engine = SqlEngine((Database("shop", address, "postgres"),), SqlLimits(seconds=3.0))
    try:
        with pytest.raises(SqlTimeout):
            engine.run_select(
                "SELECT count(*) FROM sales, range(10000000000) a, range(1000) b WHERE a.range % 7 = b.range"
            )
    finally:
        engine.close()
