"""The identity of a knowledge base."""

import shutil
from pathlib import Path

import pytest

from tenure.knowledge.store.errors import StoreUnreachable
from tenure.knowledge.store.identity import ensure_identity, read_identities


def test_a_base_keeps_its_identity(tmp_path: Path) -> None:
    """It is stored once, differs between bases, and moves with the files."""
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    identities = [ensure_identity(uri) for uri in (first, first, second)]
    shutil.move(first, tmp_path / "moved")

    assert identities[0] == identities[1] != identities[2]
    assert read_identities(str(tmp_path / "moved")) == {identities[0]}


def test_reading_creates_nothing(tmp_path: Path) -> None:
    """A client that looks for a base leaves no folder."""
    assert read_identities(str(tmp_path / "none")) == frozenset()
    assert not (tmp_path / "none").exists()


def test_a_base_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """It does not count as a new base without an identity."""
    (tmp_path / "file").write_text("")
    for ask in (read_identities, ensure_identity):
        with pytest.raises(StoreUnreachable):
            ask(str(tmp_path / "file"))
