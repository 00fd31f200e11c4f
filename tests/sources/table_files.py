"""Files with tables for tests, one per format, with the same four sales."""

import json
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tenure.sources.tables.catalogue import Database, list_databases

ROWS: list[dict[str, object]] = [
    {"region": "North", "product": "bread", "revenue": 100.5, "day": "2026-01-01"},
    {"region": "South", "product": "cheese", "revenue": 200.0, "day": "2026-01-02"},
    {"region": "North", "product": "cheese", "revenue": 50.0, "day": "2026-01-03"},
    {"region": "West", "product": "bread", "revenue": None, "day": "2026-01-04"},
]
NAMES = ("sales.csv", "sales.tsv", "sales.jsonl", "sales.parquet", "shop.sqlite", "shop.db")


def table_file(folder: Path, name: str) -> Path:
    """Write the sales into a file of the format of its suffix."""
    path = folder / name
    columns = list(ROWS[0])
    if path.suffix in (".csv", ".tsv"):
        mark = "," if path.suffix == ".csv" else "\t"
        lines = [columns, *([str("" if value is None else value) for value in row.values()] for row in ROWS)]
        path.write_text("\n".join(mark.join(line) for line in lines) + "\n")
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in ROWS))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        sqlite(path, "CREATE TABLE sales (region TEXT, product TEXT, revenue REAL, day DATE)", *map(inserted, ROWS))
    return path


def inserted(row: dict[str, object]) -> str:
    """Return the statement that inserts a row."""
    values = ", ".join("NULL" if value is None else repr(value) for value in row.values())
    return f"INSERT INTO sales VALUES ({values})"


def sqlite(path: Path, *statements: str) -> Path:
    """Create a SQLite database."""
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def opened(*paths: Path) -> tuple[Database, ...]:
    """Return files as databases."""
    return list_databases(str(path) for path in paths)
