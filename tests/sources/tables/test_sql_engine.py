"""Tests of the SQL engine over real files, including attacks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.sources.tables.catalogue import Database
from tenure.sources.tables.sql_engine import SqlEngine, SqlError, SqlLimits, SqlTimeout, is_type_mismatch
from tenure.sources.tables.sql_guard import MAX_SQL_LENGTH, SqlRefused
from tests.sources.table_files import NAMES, opened, sqlite, table_file

BY_REGION = "SELECT region, sum(revenue) AS total FROM sales GROUP BY region ORDER BY region"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a file that no query may read."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "secret.csv").write_text("password\nswordfish\n")
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[SqlEngine]:
    """Engine over a CSV file and a SQLite database of the folder, which no test may change."""
    engine = SqlEngine(opened(table_file(folder, "sales.csv"), table_file(folder, "shop.sqlite")), SqlLimits())
    yield engine
    engine.close()


@pytest.mark.parametrize("name", NAMES)
def test_every_format_is_queried(name: str, tmp_path: Path) -> None:
    """The same query gives the same result in each format."""
    engine = SqlEngine(opened(table_file(tmp_path, name)), SqlLimits())
    try:
        result = engine.run_select(BY_REGION)
    finally:
        engine.close()

    assert result.columns == ("region", "total")
    assert result.rows == (("North", 150.5), ("South", 200.0), ("West", None))
    assert result.tables_read == (("shop.sales",) if name.startswith("shop") else ("sales",))


def test_files_and_databases_can_be_joined(engine: SqlEngine) -> None:
    """A file is one table, a database has several, and a query can join them."""
    result = engine.run_select("SELECT count(*) FROM sales a JOIN shop.sales b ON a.day = b.day::DATE")

    assert engine.names == ("sales", "shop.sales")
    assert result.rows == ((4,),)
    assert result.tables_read == ("sales", "shop.sales")


@pytest.mark.parametrize(
    "sql",
    [
        "WITH t AS (SELECT * FROM sales) SELECT region FROM t LIMIT 1",
        "SELECT 'it''s' AS x, [1, 2], {'a': 1}, INTERVAL 1 DAY, 1::DECIMAL(4, 2), '\\x00'::BLOB, 'nan'::DOUBLE",
        "SELECT * FROM range(3), (VALUES (1)) v(x), unnest([1])",
        "SELECT region, row_number() OVER (ORDER BY day) FROM SALES; -- done",
        "SELECT (SELECT max(revenue) FROM sales), time '10:00', timestamp '2026-01-01 10:00:00'",
        "FROM sales SELECT region",
    ],
)
def test_any_plain_select_runs(engine: SqlEngine, sql: str) -> None:
    """Pure computations over the tables are permitted."""
    assert engine.run_select(sql).rows


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "   ",
        "-- nothing",
        "select from where",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE sales",
        "SELECT " + "1," * MAX_SQL_LENGTH + "1",
        "INSERT INTO shop.sales VALUES ('x', 'y', 1, '2026-01-01')",
        "UPDATE shop.sales SET revenue = 0",
        "DELETE FROM shop.sales",
        "DROP TABLE shop.sales",
        "CREATE TABLE t AS SELECT 1",
        "CREATE MACRO m() AS 1",
        "WITH d AS (DELETE FROM shop.sales RETURNING *) SELECT * FROM d",
        "COPY sales TO 'out.csv'",
        "COPY (SELECT 1) TO 'out.csv'",
        "EXPORT DATABASE 'out'",
        "ATTACH 'other.db'",
        "DETACH shop",
        "USE shop",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PRAGMA database_list",
        "PRAGMA enable_profiling",
        "SET threads = 1",
        "RESET threads",
        "CALL pragma_version()",
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
        "DESCRIBE sales",
        "SUMMARIZE sales",
        "SHOW TABLES",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "VACUUM",
        "CHECKPOINT",
        "BEGIN",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_blob('{secret}')",
        "SELECT * FROM read_csv_auto('{secret}')",
        "SELECT * FROM '{secret}'",
        'SELECT * FROM "{secret}"',
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_parquet('http://127.0.0.1:9/x.parquet')",
        "SELECT * FROM 'https://127.0.0.1:9/x.csv'",
        "SELECT * FROM sqlite_scan('{folder}/shop.sqlite', 'sales')",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM query_table('sales')",
        "SELECT * FROM duckdb_databases()",
        "SELECT * FROM duckdb_secrets()",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM _shop.sales",
        "SELECT * FROM _shop.main.sales",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM nowhere",
        "SELECT current_setting('allowed_paths')",
        "SELECT (SELECT content FROM read_text('{secret}'))",
        "SELECT * FROM sales WHERE region IN (SELECT password FROM read_csv('{secret}'))",
        "WITH t AS (SELECT * FROM read_text('{secret}')) SELECT * FROM t",
        "SELECT * FROM sales UNION ALL SELECT content, 1, 1, NULL FROM read_text('{secret}')",
        "SELECT * FROM sales, LATERAL (SELECT * FROM read_text('{secret}'))",
        "PIVOT sales ON region USING sum(revenue)",
        "SELECT 1 \0; SELECT * FROM duckdb_databases()",
    ],
)
def test_hostile_sql_is_refused(engine: SqlEngine, folder: Path, sql: str) -> None:
    """Changes, other files, network addresses, settings and second statements are refused by the parser."""
    before = sorted(path.name for path in folder.iterdir())

    with pytest.raises(SqlRefused) as refused:
        engine.run_select(sql.format(secret=folder / "secret.csv", folder=folder))

    assert str(refused.value).strip() and "swordfish" not in str(refused.value)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert engine.run_select(BY_REGION).rows[0] == ("North", 150.5)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{secret}')",
        "COPY sales TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_paths = ['{secret}']",
        "INSERT INTO _shop.main.sales VALUES ('x', 'y', 1, '2026-01-01')",
    ],
)
def test_the_engine_is_locked_without_the_guard(engine: SqlEngine, folder: Path, sql: str) -> None:
    """Even an unchecked statement reaches no other file, no setting and no data."""
    with pytest.raises(SqlError), engine._limit_time():
        engine._fetch_all(sql.format(secret=folder / "secret.csv", folder=folder))


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t",
        "SELECT count(*) FROM range(10000000000) a, range(1000) b WHERE a.range % 7 = b.range",
    ],
)
def test_an_endless_statement_is_interrupted(tmp_path: Path, sql: str) -> None:
    """Endless recursion and products stop at the time limit, and the engine remains usable."""
    engine = SqlEngine(opened(table_file(tmp_path, "sales.csv")), SqlLimits(seconds=1.0))
    try:
        with pytest.raises(SqlTimeout, match="longer than 1 s"):
            engine.run_select(sql)
        assert engine.run_select("SELECT count(*) FROM sales").rows == ((4,),)
    finally:
        engine.close()


def test_memory_is_limited(tmp_path: Path) -> None:
    """A statement over the memory limit fails alone."""
    engine = SqlEngine(opened(table_file(tmp_path, "sales.csv")), SqlLimits(memory_mb=64))
    try:
        with pytest.raises(SqlError, match="Out of Memory"):
            engine.run_select("SELECT list(range) FROM range(100000000)")
    finally:
        engine.close()


def test_a_long_result_is_truncated_and_marked(tmp_path: Path) -> None:
    """A result says whether it was truncated."""
    engine = SqlEngine(opened(table_file(tmp_path, "sales.csv")), SqlLimits(rows=3))
    try:
        cut, whole = engine.run_select("SELECT * FROM sales"), engine.run_select("SELECT * FROM sales LIMIT 3")
    finally:
        engine.close()

    assert (len(cut.rows), cut.is_truncated) == (3, True)
    assert (len(whole.rows), whole.is_truncated) == (3, False)


def test_a_damaged_file_does_not_affect_others(tmp_path: Path) -> None:
    """A damaged file has no table, and a query over it gives the reason."""
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"PAR1 is not enough")
    engine = SqlEngine(opened(bad, table_file(tmp_path, "sales.csv")), SqlLimits())
    try:
        assert engine.names == ("sales",)
        with pytest.raises(SqlRefused, match="bad cannot be opened"):
            engine.run_select("SELECT * FROM bad")
    finally:
        engine.close()


def test_an_engine_without_tables_is_an_error(tmp_path: Path) -> None:
    """If no table can be opened, the error contains the reasons."""
    (tmp_path / "bad.db").write_text("no database")

    with pytest.raises(SqlError, match="bad cannot be opened"):
        SqlEngine(opened(tmp_path / "bad.db"), SqlLimits())
    with pytest.raises(SqlError, match="no tables"):
        SqlEngine((), SqlLimits())


def test_type_mismatches_of_sqlite_are_detected(tmp_path: Path) -> None:
    """A text in a column of numbers has an error of its own, and reading all columns as text avoids it."""
    path = sqlite(tmp_path / "mixed.db", "CREATE TABLE t (n INT)", "INSERT INTO t VALUES (1), ('many')")

    strict = SqlEngine(opened(path), SqlLimits())
    with pytest.raises(SqlError) as problem:
        strict.run_select("SELECT n FROM t ORDER BY 1")
    strict.close()
    lenient = SqlEngine(opened(path), SqlLimits(), as_text=True)
    result = lenient.run_select("SELECT n FROM t ORDER BY 1")
    lenient.close()

    assert is_type_mismatch(problem.value)
    assert result.rows == (("1",), ("many",))


def test_names_with_quotes_are_escaped(tmp_path: Path) -> None:
    """The name of a table, column or folder never becomes SQL."""
    folder = tmp_path / "it's; DROP"
    folder.mkdir()
    path = sqlite(
        folder / "shop.db", 'CREATE TABLE "a ""b"".c" ("x"";--" TEXT)', 'INSERT INTO "a ""b"".c" VALUES (\'y\')'
    )
    engine = SqlEngine(opened(path), SqlLimits())
    try:
        (table,) = engine.describe_tables()
    finally:
        engine.close()

    assert table.name == 'shop.a "b".c'
    assert [column.name for column in table.columns] == ['x";--']
    assert table.sample == (("y",),)


def test_a_column_is_described_by_its_statistics(engine: SqlEngine) -> None:
    """Counts, minimum, maximum, mean, sum and the most common values depend on the kind of the column."""
    table = engine.describe_tables()[0]
    region, _, revenue, day = table.columns

    assert table.row_count == 4 and len(table.sample) == 4
    assert (region.kind, region.distinct_count, region.most_common[0]) == ("text", 3, ("North", 2))
    assert (revenue.kind, revenue.null_count, revenue.minimum, revenue.maximum) == ("number", 1, 50.0, 200.0)
    assert revenue.mean == pytest.approx(116.8333, abs=1e-3) and revenue.total == 350.5
    assert (day.kind, day.minimum, day.maximum) == ("date", "2026-01-01", "2026-01-04")


def test_columns_of_any_type_are_described(tmp_path: Path) -> None:
    """Lists, structures, truth values and numbers of any width have a kind and JSON values."""
    path = tmp_path / "mixed.jsonl"
    path.write_text(
        '{"a": [1, 2], "b": {"c": 1}, "d": true, "e": 1, "f": 12345678901234567890}\n{"d": false, "e": 2}\n'
    )
    engine = SqlEngine(opened(path), SqlLimits())
    try:
        (table,) = engine.describe_tables()
    finally:
        engine.close()

    assert [column.kind for column in table.columns] == ["other", "other", "boolean", "number", "number"]
    assert table.columns[2].most_common == ((False, 1), (True, 1))
    assert table.columns[0].null_count == 1


def test_a_missing_extension_is_reported() -> None:
    """The error names the missing package."""
    from tenure.sources.tables.sql_engine import _find_extension

    with pytest.raises(SqlError, match="duckdb-extension-mysql-scanner is not installed"):
        _find_extension("mysql_scanner")


def test_errors_contain_no_connection_string() -> None:
    """The error of an unreachable database contains no password."""
    shop = Database("shop", "postgresql://reader:swordfish@127.0.0.1:1/shop?connect_timeout=2", "postgres")

    with pytest.raises(SqlError) as problem:
        SqlEngine((shop,), SqlLimits())

    assert "shop cannot be opened: its server cannot be reached" in str(problem.value)
    assert not any(part in str(problem.value) for part in ("swordfish", "reader", "127.0.0.1"))


def test_a_file_name_is_no_pattern(tmp_path: Path) -> None:
    """A file whose name is a pattern is read itself, and shows no line of another file."""
    (tmp_path / "[s]ecret.csv").write_text("harmless\n1\n")
    (tmp_path / "*.csv").write_text("star\n2\n")
    (tmp_path / "secret.csv").write_text("swordfish\n3\n")
    engine = SqlEngine(opened(tmp_path / "[s]ecret.csv", tmp_path / "*.csv"), SqlLimits())
    try:
        described = engine.describe_tables()
        found = {table.name: (table.columns[0].name, table.sample) for table in described}
    finally:
        engine.close()

    assert found == {"table": ("star", ((2,),)), "s_ecret": ("harmless", ((1,),))}


def test_a_table_may_have_the_name_of_a_view_of_the_catalogue(tmp_path: Path) -> None:
    """Such a table is read by its plain name and its qualified one; a name with a point ends no search for it."""
    path = sqlite(
        tmp_path / "shop.db",
        "CREATE TABLE pg_class (n INT)",
        "INSERT INTO pg_class VALUES (5)",
        'CREATE TABLE "x.duckdb_databases" (n INT)',
    )
    csv = tmp_path / "pg_type.csv"
    csv.write_text("n\n7\n")
    engine = SqlEngine(opened(path, csv), SqlLimits())
    try:
        assert engine.run_select("SELECT n FROM pg_class UNION ALL SELECT n FROM shop.pg_class").rows == ((5,), (5,))
        assert engine.run_select("SELECT n FROM pg_type").rows == ((7,),)
        with pytest.raises(SqlRefused, match="there is no table 'duckdb_databases'"):
            engine.run_select("SELECT * FROM duckdb_databases")
    finally:
        engine.close()


@pytest.mark.parametrize("view", ["duckdb_databases", "duckdb_views", "sqlite_master", "pg_class", "pg_settings"])
def test_views_of_the_catalogue_are_hidden_without_the_guard(engine: SqlEngine, view: str) -> None:
    """Their plain names lead to empty views."""
    assert engine._fetch_all(f"SELECT * FROM {view}") == []


def test_a_name_in_a_statement_is_no_variable_of_the_process(engine: SqlEngine) -> None:
    """The engine does not look for tables in the variables of Python."""
    frame = [1, 2]

    with pytest.raises(SqlError, match="frame does not exist"), engine._limit_time():
        engine._fetch_all("SELECT * FROM frame")
    assert frame


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("SELECT " + "*, " * 1000 + "1 FROM sales", "has 4001 columns"),
        ("SELECT " + ", ".join(["repeat('x', 500)"] * 300) + " FROM range(1000)", "more than 20,000,000 characters"),
    ],
)
def test_a_huge_result_is_an_error(tmp_path: Path, sql: str, problem: str) -> None:
    """A result is bounded in its columns and its characters, before it leaves the process."""
    engine = SqlEngine(opened(table_file(tmp_path, "sales.csv")), SqlLimits(rows=100_000))
    try:
        with pytest.raises(SqlError, match=problem):
            engine.run_select(sql)
    finally:
        engine.close()


def test_a_huge_integer_is_described(tmp_path: Path) -> None:
    """An integer of any size becomes a value that JSON can represent."""
    engine = SqlEngine(opened(table_file(tmp_path, "sales.csv")), SqlLimits())
    try:
        rows = engine.run_select("SELECT (2::HUGEINT ** 126)::HUGEINT, ('1' || repeat('0', 5000))::BIGNUM").rows
    finally:
        engine.close()

    assert rows[0][0] == 2**126 and len(str(rows[0][1])) <= 500


def test_a_damaged_database_does_not_affect_later_ones(tmp_path: Path) -> None:
    """A database that cannot be opened is detached, so that those after it are listed."""
    (tmp_path / "bad.db").write_text("no database")
    engine = SqlEngine(opened(tmp_path / "bad.db", table_file(tmp_path, "shop.sqlite")), SqlLimits())
    try:
        assert engine.names == ("shop.sales",)
        assert engine.run_select("SELECT count(*) FROM shop.sales").rows == ((4,),)
    finally:
        engine.close()
