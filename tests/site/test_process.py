"""Test the process of the page: its supervision, and the page of a local stack with the real worker."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from tenure.site.process import MAX_FAILED_STARTS
from tests.cli.conftest import ROOT, no_stack
from tests.support.homes import Home
from tests.support.ports import free_ports
from tests.support.tiers import slow


@slow
def test_up_serves_a_page_that_serve_links_to(tmp_path: Path) -> None:
    """`status` and `serve` print the link of the stack's page, which lists runs, and `down` ends it."""
    settings = no_stack(tmp_path / "home").settings.model_copy(update={"site_port": free_ports(1)[0]})
    home = Home(settings)
    try:
        up, served = home.json("up"), home.json("serve")
        with httpx.Client(trust_env=False, timeout=120) as visitor:
            visitor.get(served["url"]).raise_for_status()  # sets the cookie
            page = visitor.get(f"http://127.0.0.1:{settings.site_port}/")
            runs = visitor.get(f"http://127.0.0.1:{settings.site_port}/api/v1/runs")
        stopped = home.json("down")["done"]
    finally:
        home.run("down")

    assert served["port"] == up["site_port"] == settings.site_port
    assert "Question or task" in page.text
    assert runs.json() == {"runs": [], "notes": []}
    assert f"page stopped (process {up['site_pid']})" in stopped

    assert psutil.pid_exists(up["site_pid"]) is False


PAGE = """
import contextlib, os, signal, socket, sys
from tenure.site.process import end_with_parent
listener, lifeline, behaviour = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
end_with_parent(lifeline)
head = b"HTTP/1.1 200 OK\\r\\nconnection: close\\r\\n"
with socket.socket(fileno=listener) as server:
    while behaviour != "fail":
        # A visitor may have left while its connection was waiting.
        with server.accept()[0] as visitor, contextlib.suppress(OSError):
            asked = visitor.recv(1000)
            if b"GET /end" in asked:
                os._exit(3)
            body = str(os.getpid()).encode()
            visitor.sendall(head + b"content-length: %d\\r\\n\\r\\n%s" % (len(body), body))
        if b"GET /hang" in asked:
            signal.pause()
    sys.exit(1)
"""
"""Page that answers with its process id, and hangs or ends if it is asked to."""

SUPERVISING = f"""
import signal, socket, sys
from tenure.site import process
PAGE = {PAGE!r}
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, process._stop)
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listener:
    print("listening", flush=True)
    command = lambda server, lifeline: [sys.executable, "-c", PAGE, str(server), str(lifeline), sys.argv[2]]
    sys.exit(process.PageSupervisor(listener, command, max_silence=3, max_start=15).run())
"""


@contextmanager
def supervising(behaviour: str = "answer") -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """Run a supervisor of the small page; yield a visitor and the process."""
    (port,) = free_ports(1)
    command = [sys.executable, "-c", SUPERVISING, str(port), behaviour]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "listening\n"
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as visitor:
                yield visitor, process
        finally:
            process.terminate()


def read_page(visitor: httpx.Client) -> psutil.Process:
    """Return the process that answers a visitor."""
    return psutil.Process(int(visitor.get("/").text))


@slow
def test_a_page_that_hangs_is_replaced() -> None:
    """The hanging process is killed and the next visitor is answered by another one, without a command of a person."""
    with supervising() as (visitor, supervisor):
        first = read_page(visitor)
        visitor.get("/hang")
        second = read_page(visitor)
        supervisor.terminate()
        _, said = supervisor.communicate(timeout=60)

    assert second.pid != first.pid
    assert not first.is_running() and not second.is_running()
    assert f"the page (process {first.pid}) hangs and is killed" in said
    assert supervisor.returncode == 0


def test_a_page_that_ends_is_started_for_the_next_visitor() -> None:
    """A crash of the page costs the requests that it was answering."""
    with supervising() as (visitor, _):
        first = read_page(visitor)
        with pytest.raises(httpx.RemoteProtocolError):
            visitor.get("/end")
        assert read_page(visitor).pid != first.pid


def test_a_page_that_cannot_start_is_given_up() -> None:
    """A page that ends several times without an answer is not started for ever."""
    with supervising("fail") as (visitor, supervisor):
        with pytest.raises(httpx.HTTPError):
            visitor.get("/")
        _, said = supervisor.communicate(timeout=60)

    assert supervisor.returncode == 1
    assert f"ended {MAX_FAILED_STARTS} times without an answer" in said


@pytest.mark.parametrize("hangs", [False, True])
def test_a_page_ends_with_its_supervisor(hangs: bool) -> None:
    """A supervisor that is killed leaves no page behind, also if that page hangs."""
    with supervising() as (visitor, supervisor):
        page = read_page(visitor)
        if hangs:
            visitor.get("/hang")
        supervisor.send_signal(signal.SIGKILL)
        page.wait(60)

    assert not page.is_running()
