"""Commands `up` and `versions`: start the stack or a worker, and show the versions of the code that workers run."""

import asyncio
import sys
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tenure.algorithms.text.counts import format_count
from tenure.cli.commands.stack import print_status
from tenure.cli.output import Output, print_rows
from tenure.cli.terminal import print_line, print_note
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
from tenure.runs.service import Service
from tenure.runs.session.server_target import start_missing as bring_up
from tenure.runs.session.versions import (
    count_polling_workers,
    list_code_versions,
    make_installed_version_current,
    move_run,
)
from tenure.settings import Settings
from tenure.settings.home import HomeSettings, StackSettings
from tenure.temporal import connection
from tenure.temporal.stack import local, processes
from tenure.temporal.stack.local import StackStatus
from tenure.temporal.stack.local_model import wait_until_loaded

POLLING_SECONDS = 60.0
"""Time `up` waits for the worker to poll."""


def start_stack(settings: Settings, local_model: str | None, no_local_model: bool, yes: bool, output: Output) -> None:
    """Run `up`: start what is missing, and wait until the worker polls and the local model is loaded."""
    if local_model or no_local_model:
        settings = _change_local_model(local_model, settings, agreed=yes)
    status = bring_up(settings)
    for note in status.notes:
        print_note(note)
    asyncio.run(_wait_for_worker(settings, status))
    wait_until_loaded(settings.home)
    print_status(status, output)


def _change_local_model(source: str | None, settings: HomeSettings, *, agreed: bool) -> Settings:
    """Change the local model of the home, or remove it, and return the settings that use it.

    Raises:
        InvalidRequest: the settings name another server, or a download was not agreed to.
        LocalModelError: the model cannot be downloaded or served.
    """
    # As given: those of the command name the model that was chosen before.
    configured = Settings(home=settings.home)
    for note in local.prepare_home(configured.home):
        print_note(note)
    if source is None:
        remove_local_model(configured.home)
        return choose_model(configured)
    if configured.has_model:
        raise InvalidRequest("OPENAI_API_KEY or OPENAI_BASE_URL names another model server: unset it")
    check_runner()
    save_local_model(configured.home, _obtain_model(source, configured, agreed=agreed))
    return choose_model(configured)


def _obtain_model(source: str, settings: HomeSettings, *, agreed: bool) -> LocalModel:
    """Return the model of a file or URL."""
    if is_url(source):
        # Imported when needed: the HTTP client takes long.
        from tenure.local_models.download import download_model

        return download_model(source, settings.home, partial(_confirm, agreed), print_note)
    model = LocalModel(path=Path(source).expanduser().absolute())
    if model != load_local_model(settings.home):  # which may be in memory already
        check_model(model)
    return model


def _confirm(agreed: bool, question: str) -> None:
    """Ask the person at the terminal, unless the person has agreed already."""
    if agreed:
        return
    if not sys.stdin.isatty():
        raise InvalidRequest(f"{question} Add --yes")
    print_note(f"{question} [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InvalidRequest("nothing was downloaded")


async def show_versions(service: Service, make_current: bool, run: str | None, output: Output) -> None:
    """Run `versions`: print the versions that the server knows, after the changes that are wanted."""
    client = await service.connect()
    if make_current:
        await make_installed_version_current(client)
    if run is not None:
        count = format_count(await move_run(client, run), "workflow")
        print_note(f"{run} continues under the current version ({count} moved)")
    code_versions = await list_code_versions(client)
    if output.print_json({"versions": code_versions}):
        return
    if not code_versions:
        print_line("the server knows no versioned worker")
        return
    print_rows(
        ("version", "status", "running workflows", "workers"),
        ((code.build_id, code.status, str(code.running_workflows), str(code.workers)) for code in code_versions),
    )


async def _wait_for_worker(settings: StackSettings, status: StackStatus) -> None:
    """Wait until the worker polls.

    The server lists the polls of a killed worker for minutes. On this machine's own server, with this machine's clock,
    only polls after the worker's start count.
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
