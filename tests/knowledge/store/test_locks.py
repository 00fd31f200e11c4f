"""Locks between processes of one machine."""

import threading
from pathlib import Path

import pytest

from tenure.knowledge.store.locks import alone


def _ignore() -> None:
    """Go on waiting."""


def test_one_at_a_time_holds_a_name(tmp_path: Path) -> None:
    """A second holder waits, hears that it waits, and may give up; afterwards the name is free."""

    def give_up() -> None:
        raise TimeoutError("enough")

    with alone(tmp_path, "corpus", _ignore):
        with pytest.raises(TimeoutError), alone(tmp_path, "corpus", give_up):
            pytest.fail("two hold it")
        with alone(tmp_path, "another", give_up):
            pass
    with alone(tmp_path, "corpus", give_up):
        pass


def test_who_waits_gets_it_in_the_end(tmp_path: Path) -> None:
    """A waiter goes on as soon as the holder is through."""
    waited, entered = threading.Event(), threading.Event()

    def wait() -> None:
        with alone(tmp_path, "corpus", waited.set):
            entered.set()

    thread = threading.Thread(target=wait)
    with alone(tmp_path, "corpus", _ignore):
        thread.start()
        assert waited.wait(30)
        assert not entered.is_set()
    thread.join(30)

    assert entered.is_set()


def test_an_object_store_has_no_lock() -> None:
    """Without a folder nobody waits."""
    with alone(None, "corpus", _ignore), alone(None, "corpus", _ignore):
        pass
