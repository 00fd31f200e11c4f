"""The knowledge base is opened by its first use."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.deferred import Deferred, prepare_fetching, prepare_knowledge
from tenure.knowledge.store.errors import StoreUnreachable
from tenure.settings import Settings


def test_threads_share_what_one_of_them_creates() -> None:
    """The object is created once, while other threads wait for it."""
    created, waiting = [], threading.Barrier(3)

    def create() -> SimpleNamespace:
        created.append(SimpleNamespace(name="one"))
        return created[-1]

    deferred = Deferred(create)

    def use(_: int) -> str:
        waiting.wait()
        return str(deferred.proxy.name)

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(use, range(3))) == ["one"] * 3
    assert len(created) == 1
    assert deferred.get() is created[0]


def test_a_failed_creation_is_repeated() -> None:
    """An error is raised where the object is used, and the next use tries again."""
    outcomes: list[Any] = [OSError("away"), SimpleNamespace(name="back")]

    def create() -> Any:
        outcome = outcomes.pop(0)
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    proxy = Deferred(create).proxy
    with pytest.raises(OSError, match="away"):
        _ = proxy.name

    assert proxy.name == "back"


def settings_of(tmp_path: Path, uri: Path) -> Settings:
    """Return the settings of a home with a knowledge base of its own."""
    return Settings(home=tmp_path / "home", lancedb_uri=str(uri), _env_file=None)


def test_knowledge_is_opened_by_its_first_use(tmp_path: Path) -> None:
    """The folder appears with the first access, and all parts belong to one knowledge base."""
    uri = tmp_path / "knowledge"
    deferred = prepare_knowledge(settings_of(tmp_path, uri), None, None, None)
    fetching = prepare_fetching(deferred.proxy, SimpleNamespace(), timedelta(hours=1))
    assert not uri.exists()

    assert callable(fetching.fetch)
    assert uri.is_dir()
    assert isinstance(deferred.get(), KnowledgeBase)


def test_an_unreachable_knowledge_base_is_told_by_its_first_use(tmp_path: Path) -> None:
    """A folder that cannot be created is no surprise of the database, but an error with its location."""
    (tmp_path / "file").write_text("no folder")
    deferred = prepare_knowledge(settings_of(tmp_path, tmp_path / "file" / "knowledge"), None, None, None)

    with pytest.raises(StoreUnreachable, match="file/knowledge"):
        deferred.get()
