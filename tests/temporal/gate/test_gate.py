"""The gate before the real Temporal server: one user and one browser get through, everything else is refused.

The stack of these tests starts once. Its other user is one without rights; attacks as that user need root.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from temporalio.api.workflowservice.v1 import ListNamespacesRequest
from temporalio.client import Client

from tenure.installation import PROGRAM_VARIABLE
from tenure.settings import Settings
from tenure.temporal import connection
from tenure.temporal.gate.access_key import KEY_FILE
from tenure.temporal.stack import local
from tenure.temporal.stack.local import StackStatus
from tenure.temporal.stack.server import find_binary
from tests.support.other_user import needs_root, run_as_other_user
from tests.support.ports import free_ports
from tests.support.tiers import slow
from tests.temporal.stack.conftest import IDLE_WORKER

pytestmark = [slow, pytest.mark.skipif(sys.platform != "linux", reason="only Linux isolates the server")]

SECRETS = {
    "OPENAI_API_KEY": "sk-planted",
    "TENURE_DATABASES": '{"sales": "postgresql://u:planted@db/sales"}',
    "TENURE_BRAVE_KEY": "planted",
    "TENURE_RERANK_API_KEY": "planted",
    "TENURE_NOTIFY_SECRET": "planted",
    "AWS_SECRET_ACCESS_KEY": "planted",
    "TEMPORAL_API_KEY": "planted",
}

PROBE = """
for port in map(int, sys.argv[1:]):
    for request in (
        b"GET /api/v1/namespaces/default HTTP/1.1\\r\\nhost: 127.0.0.1\\r\\n\\r\\n",
        b"POST /decode HTTP/1.1\\r\\nhost: 127.0.0.1\\r\\ncontent-length: 2\\r\\n\\r\\n{}",
        b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]),
    ):
        received = b""
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(request)
                received = connection.recv(100)
        except OSError:
            pass
        print(port, received)
"""

START = """
async def start():
    client = await Client.connect("127.0.0.1:" + sys.argv[1])
    await client.start_workflow("IngestWorkflow", {"paths": ["/etc"]}, id="intruder", task_queue="tenure")
try:
    asyncio.run(start())
    print("started")
except RuntimeError as error:
    print("refused")
sys.stdout.flush()
os._exit(0)
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Settings, StackStatus]]:
    """A running stack whose settings hold secrets."""
    folder = tmp_path_factory.mktemp("gate")
    (folder / "worker.py").write_text(IDLE_WORKER, encoding="utf-8")
    port, ui_port = free_ports(2)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SECRETS.items():
            patch.setenv(name, value)
        for name in ("TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_PROFILE"):
            patch.delenv(name, raising=False)
        settings = Settings(home=folder / "home", temporal_port=port, ui_port=ui_port, site_port=0, _env_file=None)
        status = local.start_stack(settings, worker_command=[sys.executable, str(folder / "worker.py")])
    yield settings, status
    local.stop_stack(settings)


def list_processes(status: StackStatus) -> list[psutil.Process]:
    """Return the server's processes."""
    gate = psutil.Process(status.server_pid)
    return [gate, *gate.children(recursive=True)]


def list_ports(status: StackStatus) -> list[int]:
    """Return the ports of the machine on which the server's processes listen."""
    held = set()
    for process in list_processes(status):
        for link in Path(f"/proc/{process.pid}/fd").iterdir():
            held.add(link.readlink().name)
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    listening = [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in held]
    return sorted(int(row[1].partition(":")[2], 16) for row in listening)


def test_only_the_two_ports_of_the_settings_are_open(stack: tuple[Settings, StackStatus]) -> None:
    """Neither the server's HTTP interface, its metrics nor its inner services listen in the machine's network."""
    settings, status = stack
    assert list_ports(status) == sorted((settings.temporal_port, settings.ui_port))
    assert status.exposure == ""


@needs_root
def test_another_user_gets_no_byte_from_any_port(stack: tuple[Settings, StackStatus]) -> None:
    """HTTP and gRPC of another user are cut off before they get an answer, on every port of the server."""
    ports = list_ports(stack[1])
    printed = run_as_other_user("import socket, sys", PROBE, *map(str, ports)).splitlines()
    assert printed == [f"{port} b''" for port in ports for _ in range(3)]


@needs_root
def test_another_user_starts_no_workflow(stack: tuple[Settings, StackStatus]) -> None:
    """A Temporal client of another user is refused on every port, and nothing is started."""
    imports = "import asyncio, os, sys, re\nfrom temporalio.client import Client"
    for port in list_ports(stack[1]):
        assert run_as_other_user(imports, START, str(port)) == "refused\n"


async def test_the_same_user_connects_by_port_and_by_socket(stack: tuple[Settings, StackStatus]) -> None:
    """Programs of the same user use the port without any key; Tenure's own use the socket of the home."""
    settings, _ = stack
    for client in (await Client.connect(f"127.0.0.1:{settings.temporal_port}"), await connection.connect(settings)):
        found = await client.workflow_service.list_namespaces(ListNamespacesRequest())
        assert "default" in [one.namespace_info.name for one in found.namespaces]
    command = [str(find_binary()), "workflow", "list", "--address", f"127.0.0.1:{settings.temporal_port}"]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_server_has_no_settings_in_its_environment(stack: tuple[Settings, StackStatus]) -> None:
    """Gate and server know the home, the name of the command and the system's variables, and no others of the shell."""
    known = {"HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER", "TENURE_HOME", "PYTHONPATH"}
    known |= {PROGRAM_VARIABLE}
    for process in list_processes(stack[1]):
        environment = process.environ()
        assert {name for name in environment if not name.startswith("LC_")} <= known
        assert "planted" not in json.dumps(environment)


def test_command_lines_and_logs_hold_no_key(stack: tuple[Settings, StackStatus]) -> None:
    """Only its file contains the key: no command line, record or log does."""
    settings, status = stack
    key = (settings.home / KEY_FILE).read_text()
    shown = [" ".join(process.cmdline()) for process in list_processes(status)]
    shown += [path.read_text() for path in (*settings.home.glob("*.json"), *(settings.home / "logs").iterdir())]
    assert not [text for text in shown if key in text or "token=" in text]


def test_files_of_the_stack_are_private(stack: tuple[Settings, StackStatus]) -> None:
    """Database, logs, records, keys and sockets are for the owner alone."""
    home = stack[0].home
    open_paths = [path for path in (home, *home.rglob("*")) if path.lstat().st_mode & 0o077]
    assert open_paths == []


def test_the_printed_link_opens_the_web_ui(stack: tuple[Settings, StackStatus]) -> None:
    """The link of `status` leads to the web UI, whose pages and data are shown."""
    settings, status = stack
    with httpx.Client(timeout=30) as browser:
        entered = browser.get(status.ui_url)
        target = re.search(r'url=([^"]*)"', entered.text)
        assert target is not None
        base = f"http://127.0.0.1:{settings.ui_port}"
        assert "svelte" in browser.get(f"{base}{target[1]}").text
        assert browser.get(f"{base}/api/v1/namespaces/default").json()["namespaceInfo"]["name"] == "default"


def test_a_page_of_another_origin_starts_nothing(stack: tuple[Settings, StackStatus]) -> None:
    """Form posts, rebound names and other ports of this machine are refused even with the cookie."""
    settings, status = stack
    base = f"http://127.0.0.1:{settings.ui_port}"
    path = f"{base}/api/v1/namespaces/default/workflows/intruder"
    with httpx.Client(timeout=30) as browser:
        browser.get(status.ui_url)
        for headers in (
            {"content-type": "text/plain", "origin": "http://evil.example"},
            {"content-type": "text/plain", "origin": "http://127.0.0.1:9"},
            {"content-type": "application/x-www-form-urlencoded"},
            {"host": f"evil.example:{settings.ui_port}", "origin": f"http://evil.example:{settings.ui_port}"},
        ):
            assert browser.post(path, content=b"{}", headers=headers).status_code in (403, 421)
        assert browser.get(f"{base}/api/v1/namespaces", headers={"host": "evil.example"}).status_code == 421
    assert httpx.get(f"{base}/api/v1/namespaces").status_code == 401


def test_the_server_ends_with_its_gate(tmp_path: Path) -> None:
    """A killed gate leaves no server behind that holds the database, and the next start works."""
    (tmp_path / "worker.py").write_text(IDLE_WORKER, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "worker.py")]
    port, ui_port = free_ports(2)
    settings = Settings(home=tmp_path / "home", temporal_port=port, ui_port=ui_port, site_port=0, _env_file=None)
    try:
        status = local.start_stack(settings, worker_command=command)
        gate, server = list_processes(status)
        os.kill(gate.pid, signal.SIGKILL)
        server.wait(30)
        assert local.start_stack(settings, worker_command=command).server_ready
    finally:
        local.stop_stack(settings)
    assert not (settings.home / "gate.sock").exists()
