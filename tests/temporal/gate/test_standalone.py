"""The access control before a web UI of another program, as Docker Compose runs it."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.support.ports import free_ports
from tests.support.tiers import slow

ROOT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-m", "tenure.temporal.gate.standalone"]


class _WebUi(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"a page")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def web_ui() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _WebUi) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        yield server.server_port
        server.shutdown()


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )


@slow
def test_the_printed_link_opens_the_page(tmp_path: Path, web_ui: int) -> None:
    """Without the link the page is refused with the command that prints one; with it, it is shown."""
    (port,) = free_ports(1)
    environment = {"PATH": os.environ["PATH"], "TENURE_HOME": str(tmp_path / "home"), "TENURE_UI_PORT": str(port)}
    assert run(environment, "--check").returncode == 1
    with subprocess.Popen([*PROGRAM, "--server", f"127.0.0.1:{web_ui}"], env=environment, cwd=ROOT) as process:
        try:
            while run(environment, "--check").returncode:
                assert process.poll() is None
            base = f"http://127.0.0.1:{port}"
            refused = httpx.get(base)
            assert (refused.status_code, "a page" in refused.text) == (401, False)
            assert "docker compose exec ui-gate" in refused.text
            with httpx.Client(timeout=30) as browser:
                entered = browser.get(run(environment, "--link").stdout.strip())
                assert re.search('url=/"', entered.text)
                assert browser.get(base).text == "a page"
        finally:
            process.terminate()
    assert process.returncode == 0


def test_a_wrong_address_is_one_line(tmp_path: Path) -> None:
    """An address without a port is a usage error."""
    done = run({"PATH": os.environ["PATH"], "TENURE_HOME": str(tmp_path)}, "--server", "ui")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("'ui' is no HOST:PORT")
