"""Test locks between processes of one machine."""

import threading
from pathlib import Path

import pytest

from tenure.knowledge.store.locks import process_lock


def _ignore() -> None:
    """Continue to wait."""


def test_lock_is_exclusive(tmp_path: Path) -> None:
    """A second holder waits, is called back while it waits, and may give up."""

    def give_up() -> None:
        raise TimeoutError("enough")

    with process_lock(tmp_path, "corpus", _ignore):
        with pytest.raises(TimeoutError), process_lock(tmp_path, "corpus", give_up):
            pytest.fail("two hold it")
        with process_lock(tmp_path, "another", give_up):
            pass
    with process_lock(tmp_path, "corpus", give_up):
        pass


def test_waiting_process_acquires_the_lock(tmp_path: Path) -> None:
    """A waiting process continues as soon as the lock is released."""
    waited, entered = threading.Event(), threading.Event()

    def wait() -> None:
        with process_lock(tmp_path, "corpus", waited.set):
            entered.set()

    thread = threading.Thread(target=wait)
    with process_lock(tmp_path, "corpus", _ignore):
        thread.start()
        assert waited.wait(30)
        assert not entered.is_set()
    thread.join(30)

    assert entered.is_set()


def test_object_store_has_no_lock() -> None:
    """Without a folder there is no waiting."""
    with process_lock(None, "corpus", _ignore), process_lock(None, "corpus", _ignore):
        pass
