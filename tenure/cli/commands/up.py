"""Commands `up` and `versions`: start the stack or a worker, and show the versions of the code that workers run."""

import asyncio
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.table import Table

from tenure.cli.commands.stack import print_status
from tenure.cli.terminal import print_json, print_line, print_note, print_table
from tenure.local_models.choice import choose_model
from tenure.local_models.model_file import (
    LocalModel,
    check_model,
    check_runner,
    is_url,
    load_local_model,
    remove_local_model,
    save_local_model,
)
from tenure.runs.errors import InvalidRequest, Unreachable
from tenure.runs.session.connection import open_session
from tenure.runs.session.monitor import count_polling_workers
from tenure.runs.session.server_target import locate_server
from tenure.runs.session.server_target import start_missing as bring_up
from tenure.runs.session.versions import CodeVersion, list_code_versions, make_installed_version_current, move_run
from tenure.settings import ClientSettings, Settings
from tenure.settings.home import HomeSettings, StackSettings
from tenure.temporal import connection
from tenure.temporal.stack import local, processes
from tenure.temporal.stack.local import StackStatus
from tenure.temporal.stack.local_model import wait_until_loaded

POLLING_SECONDS = 60.0
"""Time `up` waits for the worker to poll."""


def start_stack(arguments: Namespace, settings: Settings) -> int:
    """Run `up`: start what is missing, and wait until the worker polls and the local model is loaded."""
    if arguments.local_model or arguments.no_local_model:
        settings = _change_local_model(arguments, settings)
    status = bring_up(settings)
    for note in status.notes:
        print_note(note)
    asyncio.run(_wait_for_worker(settings, status))
    wait_until_loaded(settings.home)
    print_status(arguments, status)
    return 0


def _change_local_model(arguments: Namespace, settings: HomeSettings) -> Settings:
    """Change the local model of the home, and return the settings that use it.

    Raises:
        InvalidRequest: the settings name another server, or a download was not agreed to.
        LocalModelError: the model cannot be downloaded or served.
    """
    # As given: those of the command name the model that was chosen before.
    given = Settings(home=settings.home)
    for note in local.prepare_home(given.home):
        print_note(note)
    if arguments.no_local_model:
        remove_local_model(given.home)
        return choose_model(given)
    if given.has_model:
        raise InvalidRequest("OPENAI_API_KEY or OPENAI_BASE_URL names another model server: unset it")
    check_runner()
    save_local_model(given.home, _obtain_model(arguments, given))
    return choose_model(given)


def _obtain_model(arguments: Namespace, settings: HomeSettings) -> LocalModel:
    """Return the model of a file or URL."""
    source: str = arguments.local_model
    if is_url(source):
        # Imported when needed: the HTTP client takes long.
        from tenure.local_models.download import download_model

        return download_model(source, settings.home, partial(_confirm, arguments), print_note)
    model = LocalModel(path=Path(source).expanduser().absolute())
    if model != load_local_model(settings.home):  # which may be in memory already
        check_model(model)
    return model


def _confirm(arguments: Namespace, question: str) -> None:
    """Ask the person at the terminal.

    Raises:
        InvalidRequest: the answer is no, or cannot be given.
    """
    if arguments.yes:
        return
    if not sys.stdin.isatty():
        raise InvalidRequest(f"{question} Add --yes")
    print_note(f"{question} [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InvalidRequest("nothing was downloaded")


def show_versions(arguments: Namespace, settings: ClientSettings) -> int:
    """Run `versions`."""
    found = asyncio.run(_list_versions(settings, make_current=arguments.make_current, run_id=arguments.run))
    if arguments.json:
        print_json({"versions": [version.model_dump(mode="json") for version in found]})
    elif found:
        print_table(_build_table(found))
    else:
        print_line("the server knows no versioned worker")
    return 0


async def _list_versions(settings: ClientSettings, *, make_current: bool, run_id: str | None) -> list[CodeVersion]:
    """Return the versions that the server knows, after the changes that are wanted."""
    client = await open_session(locate_server(settings))
    if make_current:
        await make_installed_version_current(client)
    if run_id is not None:
        count = await move_run(client, run_id)
        print_note(f"{run_id} continues under the current version ({count} workflow{'s' if count != 1 else ''} moved)")
    return await list_code_versions(client)


def _build_table(found: Sequence[CodeVersion]) -> Table:
    """Return the versions as a table."""
    table = Table("version", "status", "running workflows", "workers", box=None, padding=(0, 2, 0, 0))
    for version in found:
        table.add_row(version.build_id, version.status, str(version.running_workflows), str(version.workers))
    return table


async def _wait_for_worker(settings: StackSettings, status: StackStatus) -> None:
    """Wait until the worker polls.

    The server lists the polls of a killed worker for minutes. On this machine's own server, with this machine's clock,
    only polls after the worker's start count.

    Raises:
        Unreachable: the worker ended or takes too long.
    """
    client = await connection.connect(settings)
    deadline, pause = time.monotonic() + POLLING_SECONDS, 0.1
    since = datetime.fromtimestamp(status.worker_created, UTC) if status.server_pid else None
    while not await count_polling_workers(client, since):
        log = local.get_worker_log(settings.home)
        if local.get_status(settings).worker_pid != status.worker_pid:
            raise Unreachable(f"the worker ended: {processes.read_last_line(log)} (see {log})")
        if time.monotonic() > deadline:
            raise Unreachable(f"the worker does not poll after {POLLING_SECONDS:.0f} s: see {log}")
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 1.0)
