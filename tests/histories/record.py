"""Record the histories that `tests/test_replay.py` replays: `python -m tests.histories.record [--list] [NAME]…`.

Each function of a module in `recordings/` is one recording: a path through the workflows, on a real server, with a
scripted model. Without names, those are recorded that the version of `pyproject.toml` lacks. A recording that exists is
replaced only when it is named; record it again only if a change of a workflow is meant to break running runs.
Recordings of a released version are never replaced.
"""

import argparse
import asyncio
import inspect
import logging
import pkgutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path

from temporalio.client import Client
from temporalio.service import RPCError

from tests.histories import recordings
from tests.histories.recorder import Recorder
from tests.histories.replayer import check_replay
from tests.histories.storage import (
    HERE,
    VersionReleased,
    check_unreleased,
    get_name,
    list_recordings,
    read_version,
    write_recording,
)
from tests.histories.usage import describe_miscounts
from tests.support.servers.temporal_server import SERVER_OPTIONS, run_temporal_server

Recording = Callable[[Recorder], Awaitable[None]]

DYNAMIC_CONFIG = {
    "batch_continued": "limit.historyCount.suggestContinueAsNew=20",
    "unheard": "history.maximumSignalsPerExecution=40",
}
"""Settings of the server for recordings that need smaller limits than its own."""

RECORDING_TIMEOUT_SECONDS = 300
"""Time for one recording."""


class UsageMiscounted(Exception):
    """The usage of a recorded run is not the sum of its roles' replies."""


def find_recordings() -> dict[str, Recording]:
    """Return all recordings by their names."""
    found: dict[str, Recording] = {}
    for module in pkgutil.iter_modules(recordings.__path__, f"{recordings.__name__}."):
        for name, function in inspect.getmembers(import_module(module.name), inspect.iscoroutinefunction):
            is_public = function.__module__ == module.name and not name.startswith("_")
            if is_public and list(inspect.signature(function).parameters) == ["recorder"]:
                found[name] = function
    return found


async def record(name: str, client: Client, version: str, folder: Path = HERE) -> Path:
    """Record one path, check that its histories replay, and return its file."""
    with tempfile.TemporaryDirectory(prefix="tenure-recording-") as files:
        recorder = Recorder(client, name, Path(files))
        async with asyncio.timeout(RECORDING_TIMEOUT_SECONDS):
            await find_recordings()[name](recorder)
            histories = await recorder.load()
    if miscounts := describe_miscounts([history.to_json_dict()["events"] for history in histories]):
        raise UsageMiscounted("; ".join(miscounts))
    for history in histories:
        await check_replay(history)
    return write_recording(name, histories, version, folder)


@asynccontextmanager
async def serve_temporal(dynamic_config: str = "") -> AsyncIterator[Client]:
    """Run a Temporal server, with a setting if there is one, and yield a client."""
    setting = ["--dynamic-config-value", dynamic_config] if dynamic_config else []
    async with run_temporal_server([*SERVER_OPTIONS, *setting]) as environment:
        yield environment.client


async def record_all(names: Sequence[str], version: str) -> list[str]:
    """Record some paths one after the other; return the names of those that failed."""
    failed: list[str] = []
    by_config: dict[str, list[str]] = {}
    for name in names:
        by_config.setdefault(DYNAMIC_CONFIG.get(name, ""), []).append(name)
    for config, group in by_config.items():
        async with serve_temporal(config) as client:
            for name in group:
                try:
                    path = await record(name, client, version)
                    print(f"{name}: {path.stat().st_size:,} bytes", flush=True)
                except Exception as error:
                    failed.append(name)
                    print(f"error: {name} failed: {error!r}", file=sys.stderr, flush=True)
                    await _terminate_all(client)
    return failed


async def _terminate_all(client: Client) -> None:
    """End the workflows that a failed recording leaves open: the workers of the next one would continue them."""
    async for execution in client.list_workflows("ExecutionStatus = 'Running'"):
        with suppress(RPCError):  # it has ended already
            await client.get_workflow_handle(execution.id, run_id=execution.run_id).terminate("its recording failed")


def main(arguments: Sequence[str] | None = None) -> int:
    """Record the named paths, or those that are missing; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.histories.record", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="recording to make, also in place of an existing one")
    parser.add_argument("--list", action="store_true", help="print the recordings and whether the version has them")
    chosen = parser.parse_args(arguments)
    known, version = find_recordings(), read_version()
    existing = {get_name(path) for path in list_recordings(version)}
    if chosen.list:
        print("\n".join(f"{name}{'' if name in existing else ' (missing)'}" for name in known))
        return 0
    if unknown := [name for name in chosen.names if name not in known]:
        print(f"error: no recording {', '.join(unknown)}; --list prints all", file=sys.stderr)
        return 2
    wanted = chosen.names or [name for name in known if name not in existing]
    try:
        check_unreleased(version)
    except VersionReleased as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    logging.getLogger("temporalio").setLevel(logging.ERROR)  # failures of activities belong to some recordings
    return 1 if asyncio.run(record_all(wanted, version)) else 0


if __name__ == "__main__":
    sys.exit(main())
