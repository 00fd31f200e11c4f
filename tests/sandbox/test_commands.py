"""Test commands in a folder of the host: their effects, their remains and their end."""

import asyncio
import http.server
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tenure.contracts.sandbox import SandboxLimits
from tenure.sandbox.base import CommandOutcome, FolderCommand, NetworkAccess
from tenure.sandbox.engine import ContainedSandbox
from tests.sandbox import ordinary
from tests.sandbox.conftest import made
from tests.support.tiers import slow

CANARY = "CANARY-7733"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A workspace and an environment in a folder that only its owner may enter, with a secret next to them."""
    with tempfile.TemporaryDirectory(prefix="tenure-commands-") as name:
        top = Path(name)
        top.chmod(0o700)
        for inner in ("workspace", "environment"):
            (top / inner).mkdir()
        (top / "secret.txt").write_text(CANARY)
        (top / "workspace" / "given.txt").write_text("given")
        (top / "workspace" / "given.txt").chmod(0o600)
        yield top


async def run(box: ContainedSandbox, folder: Path, command: str, **others: Any) -> CommandOutcome:
    """Run a command in the workspace of a folder."""
    limits = SandboxLimits(**{"wall_seconds": 60, "cpu_seconds": 30, **others.pop("limits", {})})
    return await box.run_command(
        FolderCommand(command, folder / "workspace", folder / "environment", limits=limits, **others)
    )


async def test_a_command_changes_its_folder(box: ContainedSandbox, folder: Path) -> None:
    """A command reads, writes and removes files at one constant path, and its exit code and output are returned."""
    outcome = await run(box, folder, "pwd; cat given.txt; rm given.txt; mkdir a; echo new > a/b; echo no >&2; exit 3")

    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (3, "/workspace\ngiven", "no\n")
    assert sorted(str(path.relative_to(folder)) for path in (folder / "workspace").rglob("*")) == [
        *("workspace/a", "workspace/a/b")
    ]
    assert (folder / "workspace" / "a" / "b").read_text() == "new\n"


async def test_the_environment_can_only_be_written_by_a_setup(box: ContainedSandbox, folder: Path) -> None:
    """A setup installs programs that later commands find and cannot change."""
    install = "mkdir -p /environment/bin; echo 'echo installed' > /environment/bin/tool; chmod +x /environment/bin/tool"
    await run(box, folder, install, is_setup=True)

    change = "echo bad > /environment/bin/tool; rm -rf /environment/bin; chmod 0 /environment"
    outcome = await run(box, folder, f"tool; {change}")

    assert outcome.stdout == "installed\n"
    assert (folder / "environment" / "bin" / "tool").read_text() == "echo installed\n"


LEAVE = """
import os, socket
os.symlink({secret!r}, "link")
os.symlink("/", "root")
os.symlink(".", "loop")
try:
    os.mkfifo("pipe")
except OSError:
    pass
socket.socket(socket.AF_UNIX).bind("socket")
open("set.sh", "w").write("echo")
os.chmod("set.sh", 0o6777)
os.makedirs("closed/inner")
open("closed/inner/file", "w").write("kept")
os.chmod("closed/inner/file", 0)
os.chmod("closed/inner", 0)
os.chmod("closed", 0)
os.makedirs("nested/.git/hooks")
open("nested/.git/config", "w").write("[core]\\nfsmonitor = touch ran\\n")
os.makedirs("other")
open("other/.GIT", "w").write("gitdir: /")
top = os.getcwd()
for _ in range(1500):
    os.mkdir("deep")
    os.chdir("deep")
open(b"\\xff\\n.txt", "w").write("name")
os.chdir(top)
os.chmod(top, 0)
"""


async def test_whatever_a_command_leaves_can_be_read_and_removed(box: ContainedSandbox, folder: Path) -> None:
    """Links, sockets, closed folders, set-user-id bits, repositories and deep folders neither stop nor mislead."""
    (folder / "workspace" / "leave.py").write_text(LEAVE.format(secret=str(folder / "secret.txt")))
    outcome = await run(box, folder, "python3 leave.py; ls", limits={"growth_mib": 64})

    workspace = folder / "workspace"
    assert stat.S_IMODE(workspace.stat().st_mode) == 0o700
    assert (workspace / "closed" / "inner" / "file").read_text() == "kept"
    assert stat.S_IMODE((workspace / "set.sh").stat().st_mode) == 0o777
    assert [name for name in ("link", "root", "loop") if (workspace / name).is_symlink()] == ["link", "root", "loop"]
    assert not any((workspace / name).exists() for name in ("pipe", "socket", "nested/.git", "other/.GIT"))
    kinds = {entry.rsplit(" (", 1)[1] for entry in outcome.removed}
    assert kinds == {
        *("a Git repository of its own)", "neither file, folder nor link)", "deeper than 100 folders)"),
    }
    assert CANARY not in outcome.stdout + outcome.stderr


ATTACKS = """
import os, socket, sys
got = []
for path in ("/etc/shadow", "/workspace/../secret.txt", "/proc/1/environ", sys.argv[1]):
    try:
        open(path).read()
        got.append("read " + path)
    except OSError:
        pass
for path in ("/new", "/usr/new", "/etc/passwd", "/environment/new", "/in/new", "/node_modules/new"):
    try:
        open(path, "w").write("x")
        got.append("wrote " + path)
    except OSError:
        pass
try:
    os.link("/environment/given", "/workspace/hard")
    got.append("linked")
except OSError:
    pass
try:
    os.rename("/workspace", "/moved")
    got.append("moved the folder")
except OSError:
    pass
for family, address in ((socket.AF_INET, ("127.0.0.1", int(sys.argv[2]))), (socket.AF_INET, ("192.0.2.1", 80))):
    try:
        with socket.socket(family) as one:
            one.settimeout(2)
            one.connect(address)
        got.append("connected to " + address[0])
    except OSError:
        pass
if "KEY" in str(os.environ):
    got.append("read the environment")
print(got)
"""


async def test_a_command_reaches_nothing_else(
    box: ContainedSandbox, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither files of the worker nor its services nor its secrets are within reach of a command."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    (folder / "environment" / "given").write_text("given")
    (folder / "workspace" / "attack.py").write_text(ATTACKS)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]

        outcome = await run(box, folder, f"python3 attack.py {folder}/secret.txt {port}")

    assert (outcome.exit_code, outcome.stdout) == (0, "[]\n"), outcome


async def test_processes_of_a_command_end_with_it(box: ContainedSandbox, folder: Path) -> None:
    """Daemons, and programs that ignore signals, are dead when the call returns."""
    command = (
        f"trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; exec -a {CANARY} sleep 99' &) ; sleep 0.2; echo end"
    )

    outcome = await run(box, folder, command)

    left = [one for one in psutil.process_iter(["cmdline"]) if CANARY in (one.info["cmdline"] or [])]
    assert (outcome.exit_code, outcome.stdout, left) == (0, "end\n", [])


@pytest.mark.parametrize(
    ("command", "limits", "reached"),
    [
        ("trap '' TERM; sleep 99 & sleep 99", {"wall_seconds": 1}, "wall"),
        ("yes", {"output_kib": 8}, "output"),
        ("head -c 300M /dev/zero > big", {"growth_mib": 20, "file_mib": 1024}, "folder"),
        (
            "python3 -c \"for n in range(40000): open(f'f{n}', 'w').close()\"",
            {"growth_files": 2000},
            "folder",
        ),
        (
            "python3 -c 'b = [bytearray(30 << 20) for _ in range(40)]; import time; time.sleep(9)'",
            {"memory_mib": 200},
            "memory",
        ),
    ],
    ids=["time", "output", "bytes", "files", "memory"],
)
async def test_a_limit_ends_a_command(
    box: ContainedSandbox, folder: Path, command: str, limits: dict[str, int], reached: str
) -> None:
    """A command that exceeds a limit is ended, and the limit is named."""
    outcome = await run(box, folder, command, limits=limits)

    assert reached in outcome.limits_hit, outcome


async def test_one_file_and_the_number_of_processes_are_bounded(box: ContainedSandbox, folder: Path) -> None:
    """A file that grows beyond the limit and a bomb of forks fail inside, without an end of the command."""
    command = "head -c 20M /dev/zero > big; stat -c %s big; for i in $(seq 99); do sleep 5 & done; echo end"

    outcome = await run(box, folder, command, limits={"file_mib": 4, "processes": 32})

    assert (folder / "workspace" / "big").stat().st_size == 4 << 20
    assert "fork" in outcome.stderr


async def test_a_setup_reaches_named_hosts_and_no_other(box: ContainedSandbox, folder: Path) -> None:
    """A proxy leads to the hosts that a person has named, and neither to other ports of this machine nor past it."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"index {self.path}".encode())

        def log_message(self, *args: object) -> None:
            return

    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    named, other = (server.server_address[1] for server in servers)
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    script = """
import sys, urllib.request, urllib.error, socket
for port in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(f"http://127.0.0.1:{port}/simple?x=1", timeout=20).read().decode())
    except urllib.error.HTTPError as error:
        print(error.code)
    try:
        socket.create_connection(("127.0.0.1", int(port)), 2)
        print("past it")
    except OSError:
        pass
"""
    (folder / "workspace" / "fetch.py").write_text(script)
    try:
        network = NetworkAccess(is_public=True, hosts=frozenset({f"127.0.0.1:{named}"}))
        outcome = await run(
            box,
            folder,
            f"env -u no_proxy python3 fetch.py {named} {other}",
            network=network,
            is_setup=True,
        )
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()

    assert outcome.stdout.splitlines() == ["index /simple?x=1", "403"], outcome


async def test_a_report_travels_over_its_own_descriptor(box: ContainedSandbox, folder: Path) -> None:
    """A program of the sandbox reports over a descriptor that is not the command's output; files leave by a folder."""
    outcome = await run(box, folder, "echo said; echo line >&198; echo '<xml/>' > /box/out/report.xml", has_report=True)

    assert (outcome.stdout, outcome.report) == ("said\n", b"line\n")
    assert dict(outcome.files) == {"report.xml": b"<xml/>\n"}


async def test_a_report_is_no_door(box: ContainedSandbox, folder: Path) -> None:
    """A link in the folder for reports, and a file that is too large, do not come out."""
    command = "ln -s /etc/passwd /box/out/a.xml; head -c 40M /dev/zero > /box/out/b.xml; echo x >&198"

    outcome = await run(box, folder, command)

    assert (dict(outcome.files), outcome.report) == ({}, b"")


@slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_worker_has_the_same_commands(tmp_path: Path) -> None:
    """A command of an ordinary user works, and closed folders are opened afterwards."""
    assert ordinary.called("tests.sandbox.test_commands:as_this_user") == {
        **{"exit_code": 0, "kept": "kept", "readonly": True},
    }


def as_this_user() -> dict[str, Any]:
    """Run a command as the user of this process."""
    with tempfile.TemporaryDirectory(prefix="tenure-commands-") as name:
        top = Path(name)
        for inner in ("workspace", "environment"):
            (top / inner).mkdir()
        command = "mkdir closed; echo -n kept > closed/file; chmod 0 closed/file closed; ! touch /environment/new"
        outcome = asyncio.run(run(made(), top, command))
        kept = (top / "workspace" / "closed" / "file").read_text()
        return {"exit_code": outcome.exit_code, "kept": kept, "readonly": not list((top / "environment").iterdir())}
