"""Tests of the opening of databases before the engine reads them."""

import shutil
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import IO

import pytest

from tenure.sources.parsers.unpacking import unpack
from tenure.sources.tables.catalogue import list_databases
from tenure.sources.tables.pinned_files import open_databases


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return a database of one table with one row."""
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode=WAL; CREATE TABLE sold (n); INSERT INTO sold VALUES (1);")
    return path


def test_changes_beside_a_database_are_copied_with_it(database: Path) -> None:
    """Rows that a running program has written to its log only are read, and the copy goes with the block."""
    with closing(sqlite3.connect(database)) as writer:
        writer.execute("INSERT INTO sold VALUES (2)")
        writer.commit()
        with open_databases(list_databases([str(database)])) as pinned:
            (opened,) = pinned.databases
            with closing(sqlite3.connect(opened.location)) as reader:
                rows = reader.execute("SELECT n FROM sold ORDER BY n").fetchall()

    assert (rows, pinned.problems) == ([(1,), (2,)], ())
    assert opened.name == "shop" and opened.location != str(database)
    assert not Path(opened.location).exists()


def test_a_database_that_changes_during_each_copy_is_refused(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of two states would be neither; after three attempts the reason is returned."""
    copy, copies = shutil.copyfileobj, list[str]()

    def copy_and_change(source: IO[bytes], target: IO[bytes]) -> None:
        copy(source, target)
        copies.append(target.name)
        with database.open("ab") as file:
            file.write(b"\0")

    monkeypatch.setattr(shutil, "copyfileobj", copy_and_change)
    with open_databases(list_databases([str(database)])) as pinned:
        assert pinned.databases == ()
    assert pinned.problems == ("shop is being changed: read it when its program has finished",)
    assert len(copies) == 3


def test_a_database_that_cannot_be_opened_has_a_reason(database: Path, tmp_path: Path) -> None:
    """Links and missing files are problems of their own database and do not affect the others."""
    (tmp_path / "link.sqlite").symlink_to(database)
    paths = [str(tmp_path / name) for name in ("gone.csv", "link.sqlite", "shop.sqlite")]

    with open_databases(list_databases(paths)) as pinned:
        assert [opened.name for opened in pinned.databases] == ["shop"]
    assert pinned.problems == ("gone cannot be opened (No such file or directory)", "link is a symbolic link")


def test_files_in_archives_are_unpacked_for_the_block(database: Path, tmp_path: Path) -> None:
    """A table in an archive in an archive is opened by a copy; another archive without the file has a reason."""
    inner, outer, other = tmp_path / "in.zip", tmp_path / "out.tar.gz", tmp_path / "other.zip"
    with zipfile.ZipFile(inner, "w") as package:
        package.writestr("data/sales.csv", "region,revenue\nNorth,5\n")
        package.write(database, "shop.sqlite")
    with tarfile.open(outer, "w:gz") as package_of_packages:
        package_of_packages.add(inner, "all/in.zip")
    with zipfile.ZipFile(other, "w") as package:
        package.writestr("note.txt", "Nothing else.")
    inside = outer / "all" / "in.zip"
    paths = [str(inside / "data" / "sales.csv"), str(inside / "shop.sqlite"), str(other / "gone.csv")]

    with open_databases(list_databases(paths), unpack) as pinned:
        by_name = {opened.name: Path(opened.location) for opened in pinned.databases}
        assert by_name["sales"].read_text() == "region,revenue\nNorth,5\n"
        with closing(sqlite3.connect(by_name["shop"])) as reader:
            assert reader.execute("SELECT n FROM sold").fetchall() == [(1,)]
    assert pinned.problems == ("gone cannot be opened (No such file or directory)",)
    assert not by_name["sales"].exists()
