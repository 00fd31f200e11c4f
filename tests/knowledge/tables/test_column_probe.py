"""Tests of the search for values of a question in the columns of tables."""

from dataclasses import replace
from pathlib import Path

import pytest

from tenure.knowledge.tables.column_probe import find_mentioned_values, has_listed_values
from tenure.sources.tables.catalogue import Column, Database, Table, list_databases
from tenure.sources.tables.sql_engine import SqlLimits

TOWNS = ("Ulm", "Bad Aibling", "Sea Horse", "Y")
"""Values of a column: a short name, one of two words, one whose plural is asked for, and one of a single letter."""


@pytest.fixture
def towns(tmp_path: Path) -> Database:
    """Return a file with a table of towns."""
    path = tmp_path / "towns.csv"
    path.write_text("town,size\n" + "".join(f"{name},1\n" for name in TOWNS))
    (database,) = list_databases([str(path)])
    return database


def test_values_of_a_question_are_found(towns: Database, tmp_path: Path) -> None:
    """Case, punctuation and plurals do not matter; a single letter and a part of a word are no values."""
    table = Table("towns", (Column("town", "text", distinct_count=400), Column("size", "number")))
    broken = Database("broken", str(tmp_path / "gone.csv"), "csv")
    tables, sources = (table, replace(table, name="broken")), (broken, towns)

    found = find_mentioned_values("Why has bad-aibling Y more sea horses than Ulmen?", tables, sources, SqlLimits())

    assert {key: set(values) for key, values in found.items()} == {("towns", "town"): {"Bad Aibling", "Sea Horse"}}


def test_every_column_of_a_wide_table_is_searched(tmp_path: Path) -> None:
    """More columns than one statement searches are searched by several."""
    names = [f"c{number}" for number in range(25)]
    (tmp_path / "wide.csv").write_text(f"{','.join(names)}\n{','.join('Rye' for _ in names)}\n")
    table = Table("wide", tuple(Column(name, "text", distinct_count=400) for name in names))

    found = find_mentioned_values("Is rye dear?", [table], list_databases([str(tmp_path / "wide.csv")]), SqlLimits())

    assert found == {("wide", name): ("Rye",) for name in names}


@pytest.mark.parametrize(
    ("most_common", "distinct_count", "is_listed"),
    [
        ((("North", 2), ("South", 1)), 2, True),
        ((("North", 2), ("South", 1)), 3, False),
        ((), 0, False),
        (tuple((f"v{number}", 1) for number in range(12)), 12, True),
        (tuple((f"v{number}", 1) for number in range(13)), 13, False),
        ((("x" * 40, 1),), 1, True),
        ((("x" * 41, 1),), 1, False),
    ],
)
def test_few_short_values_are_listed(
    most_common: tuple[tuple[str, int], ...], distinct_count: int, is_listed: bool
) -> None:
    """A column is listed if all of its values are known, and they are few and short."""
    assert has_listed_values(Column("c", "text", distinct_count=distinct_count, most_common=most_common)) is is_listed
