"""PostgreSQL server for tests, if the machine has one; it needs neither a network nor the root user."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.ports import free_ports

USER = "reader"


def binaries() -> Path | None:
    """Return the folder of the programs of the server, or None if it is not installed."""
    found = shutil.which("initdb")
    folders = (
        [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    )
    return next((folder for folder in folders if (folder / "pg_ctl").exists() and _psql()), None)


def _psql() -> str:
    return shutil.which("psql") or ""


@contextmanager
def postgres(*statements: str) -> Iterator[str]:
    """Run a server with a database created by statements; yield its URL."""
    programs = binaries()
    assert programs is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, port = folder / "data", free_ports(1)[0]
        as_user = _unprivileged(folder)
        _run(*as_user, str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", USER, "--no-sync")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        control = [*as_user, str(programs / "pg_ctl"), "-D", str(data), "-w"]
        _run(*control, "-l", str(folder / "log"), "-o", options, "start")
        try:
            for statement in statements:
                _run(
                    str(programs / "psql"), "-h", "127.0.0.1", "-p", str(port), "-U", USER, "postgres", "-c", statement
                )
            yield f"postgresql://{USER}:swordfish@127.0.0.1:{port}/postgres"
        finally:
            _run(*control, "-m", "immediate", "stop")


def _unprivileged(folder: Path) -> list[str]:
    """Return the prefix of a command that runs it as an unprivileged user: the server refuses to run as root."""
    if os.geteuid() != 0:
        return []
    user = pwd.getpwnam("postgres")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]


def _run(*command: str) -> None:
    # The server keeps its output open, so that reading a pipe would block until it ends.
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60)
