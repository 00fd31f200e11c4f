"""Test the command `serve` as a process: its link, a kill, a visitor without the link, and a port in use."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import pytest

from tenure.cli.commands.serve import serve
from tenure.runs.errors import InvalidRequest
from tenure.settings import Settings
from tests.cli.conftest import CommandLine
from tests.support.ports import free_ports
from tests.support.tiers import slow

pytestmark = slow


@contextmanager
def serving(line: CommandLine, port: int, **extra: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `serve` until the end of the block; yield the link with its token, and the process."""
    with line.popen("serve", "--port", str(port), "--json", extra=extra) as process:
        assert process.stdout is not None
        printed = ""
        while not printed.endswith("}\n"):
            part = process.stdout.readline()
            assert part, process.communicate()
            printed += part
        try:
            yield json.loads(printed)["url"], process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(30)


@contextmanager
def visiting(link: str) -> Iterator[httpx.Client]:
    """Yield a client that has opened a link, as a browser does."""
    parts = urlsplit(link)
    with httpx.Client(base_url=f"{parts.scheme}://{parts.netloc}", timeout=60, follow_redirects=True) as client:
        assert client.get(link).status_code == 200
        yield client


def read_event_names(browser: httpx.Client, run: str) -> list[str]:
    """Return the names of the events of a run until the stream ends."""
    with browser.stream("GET", f"/api/v1/runs/{run}/events") as stream:
        return [line.removeprefix("event: ") for line in stream.iter_lines() if line.startswith("event: ")]


def test_a_page_survives_a_kill_of_its_process(running: CommandLine) -> None:
    """A run continues while the process is dead; the cookie stays valid, and the events come from a new process."""
    (port,) = free_ports(1)
    with serving(running, port) as (link, process), visiting(link) as browser:
        browser.headers["origin"] = f"http://127.0.0.1:{port}"
        started = browser.post("/api/v1/runs", json={"question": "wait for the page", "id": "page-1"})
        process.kill()
        process.wait(30)
        cookies = dict(browser.cookies)

    with serving(running, port) as (link, process):
        origin = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=origin, cookies=cookies, timeout=60) as browser:
            shown = browser.get("/runs/page-1")
            browser.post(
                "/api/v1/runs/page-1/steer", json={"name": "finish"}, headers={"origin": origin}
            ).raise_for_status()
            events = read_event_names(browser, "page-1")
        process.send_signal(signal.SIGINT)
        code = process.wait(30)

    assert started.status_code == 201
    assert shown.status_code == 200 and "wait for the page" in shown.text
    assert events[-1] == "end"
    assert code in (0, 130)


def test_a_visitor_without_the_link_is_refused(running: CommandLine) -> None:
    """Another program of this machine gets neither the page nor the API."""
    (port,) = free_ports(1)
    with serving(running, port), httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as stranger:
        answers = [stranger.get(path).status_code for path in ("/", "/runs/page-1", "/api/v1/runs")]

    assert answers == [401, 401, 401]


def test_a_port_in_use_is_one_line(running: CommandLine) -> None:
    """The message names the port and the option that chooses another one."""
    (port,) = free_ports(1)
    with serving(running, port):
        again = running("serve", "--port", str(port))

    assert (again.returncode, again.stdout) == (4, "")
    assert f"port {port} is not available" in again.stderr and "--port" in again.stderr


def test_a_limit_of_money_needs_a_model(tmp_path: Path) -> None:
    """A server that plans runs without a model would count nothing, so it does not start."""
    settings = Settings(_env_file=None, home=tmp_path, team_max_cost_usd=5.0)
    home = SimpleNamespace(settings=settings.model_copy(update={"team_url": "https://tenure.example"}))

    with pytest.raises(InvalidRequest, match="TENURE_TEAM_MAX_COST_USD limits nothing without a model"):
        serve(cast(Any, home), None, False, True, cast(Any, None))
