"""Test the page as a part of the local stack; the process listens for real, and only slow tests load the page."""

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from pydantic import SecretStr

from tenure.installation import ROOT, find_package
from tenure.settings import Settings
from tenure.temporal.stack import local, processes
from tenure.temporal.stack.record import load
from tests.support.ports import free_ports
from tests.support.tiers import slow

ELSEWHERE = "temporal.invalid:7233"
"""Address of a server that is not this home's; nothing here connects to it."""


@pytest.fixture
def paged(settings: Settings) -> Iterator[Settings]:
    """Settings of a home whose stack serves a page."""
    yield settings.model_copy(update={"site_port": free_ports(1)[0]})


def start(settings: Settings, worker: list[str]) -> local.StackStatus:
    return local.start_stack(settings, external=ELSEWHERE, worker_command=worker)


def test_page_is_started_once_and_stopped(paged: Settings, worker: list[str]) -> None:
    """The process is recorded, leads its session, is left alone by a second `up`, and ends with the stack."""
    first, second = start(paged, worker), start(paged, worker)
    seen = local.get_status(paged)
    done = local.stop_stack(paged)

    assert first.site_pid is not None
    assert (second.site_pid, seen.site_pid) == (first.site_pid, first.site_pid)
    assert second.notes == ()
    assert seen.site_url.startswith(f"http://127.0.0.1:{paged.site_port}/?token=")
    assert f"page stopped (process {first.site_pid})" in done
    assert not psutil.pid_exists(first.site_pid)


def test_dead_page_is_started_again(paged: Settings, worker: list[str]) -> None:
    """`status` says that the page has stopped, and `up` starts it without touching the worker."""
    first = start(paged, worker)
    site = load(paged.home).site
    assert site is not None
    processes.stop(site.process, 0)

    seen, again = local.get_status(paged), start(paged, worker)

    assert (seen.site_pid, seen.site_url) == (None, "")
    assert any("the page has stopped" in note for note in seen.notes)
    assert again.site_pid not in (None, first.site_pid)
    assert again.worker_pid == first.worker_pid
    assert again.notes[0].startswith("the page had ended and was restarted")


@pytest.mark.parametrize(
    "change", [{"max_sections": 2}, {"openai_api_key": SecretStr("sk-another")}, {"site_port": None}], ids=str
)
def test_changed_settings_replace_the_page(paged: Settings, worker: list[str], change: dict[str, object]) -> None:
    """A page with other limits, another key or another port is replaced, and the key is in no file."""
    first = start(paged, worker)
    changed = paged.model_copy(update=change | ({"site_port": free_ports(1)[0]} if "site_port" in change else {}))
    again = start(changed, worker)

    assert again.site_pid not in (None, first.site_pid)
    assert again.site_port == changed.site_port
    assert b"sk-another" not in (paged.home / "stack.json").read_bytes()


def test_changed_code_replaces_the_page(paged: Settings, worker: list[str], tmp_path: Path) -> None:
    """A page of other code is replaced."""
    first = start(paged, worker)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "worker.py").write_text("pass\n")
    (tmp_path / "other" / "tenure").symlink_to(find_package(ROOT))
    again = local.start_stack(paged, external=ELSEWHERE, worker_command=worker, root=tmp_path / "other")

    assert again.site_pid not in (None, first.site_pid)


def test_page_that_is_turned_off_is_stopped(paged: Settings, worker: list[str]) -> None:
    """With port 0 the stack has no page, and a running page is ended."""
    first = start(paged, worker)
    again = start(paged.model_copy(update={"site_port": 0}), worker)

    assert first.site_pid is not None
    assert not psutil.pid_exists(first.site_pid)
    assert (again.site_pid, again.site_port) == (None, 0)
    assert load(paged.home).site is None


def test_taken_port_is_a_note(paged: Settings, worker: list[str]) -> None:
    """Another program on the port costs the page, not the worker; the note names the setting."""
    with socket.create_server(("127.0.0.1", paged.site_port)):
        status = start(paged, worker)

    assert status.worker_pid is not None
    assert status.site_pid is None
    assert f"port {paged.site_port} is taken by" in status.notes[0]
    assert "TENURE_SITE_PORT" in status.notes[0]


def test_page_that_cannot_be_started_is_a_note(
    paged: Settings, worker: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An interpreter that is missing costs the page, not the worker."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    status = start(paged, worker)

    assert status.worker_pid is not None
    assert status.site_pid is None
    assert "the page is not served" in status.notes[0]


def test_home_with_owners_has_no_page(paged: Settings, worker: list[str]) -> None:
    """A page would act for the owner who started it, so none is started."""
    status = start(paged.model_copy(update={"owners": {"ann": SecretStr("a" * 40)}}), worker)

    assert status.worker_pid is not None
    assert status.site_pid is None


def test_page_whose_home_is_gone_is_found(paged: Settings, worker: list[str]) -> None:
    """Without a record, `down` finds the page in the process table."""
    status = start(paged, worker)
    (paged.home / "stack.json").unlink()

    assert f"process {status.site_pid} stopped" in local.stop_stack(paged)


def test_page_alone_does_not_block_the_stack(paged: Settings, worker: list[str]) -> None:
    """A stack of which only the page is left is started again."""
    first = start(paged, worker)
    record = load(paged.home)
    processes.stop(record.worker, 0)

    again = start(paged, worker)

    assert again.site_pid == first.site_pid
    assert again.worker_pid not in (None, first.worker_pid)


@slow
def test_first_visitor_loads_the_page(paged: Settings, worker: list[str]) -> None:
    """The connection of the first visitor is answered, by a page that knows its rules of access."""
    status = start(paged, worker)
    before = psutil.Process(status.site_pid).memory_info().rss
    with httpx.Client(trust_env=False, timeout=120) as visitor:
        refused = visitor.get(f"http://127.0.0.1:{paged.site_port}/")
        visitor.get(status.site_url).raise_for_status()  # sets the cookie
        described = visitor.get(f"http://127.0.0.1:{paged.site_port}/api/v1/openapi.json")

    assert refused.status_code == 401
    assert described.json()["openapi"].startswith("3.1")
    assert psutil.Process(status.site_pid).memory_info().rss > before
