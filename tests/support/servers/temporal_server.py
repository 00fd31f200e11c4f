"""A real Temporal server in memory, which may take its time to start, and whose end fails the test that needs it.

The SDK's `WorkflowEnvironment.start_local` gives a server five seconds, too few on a busy machine.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import IO

from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.stack.server import find_binary
from tests.support.ports import free_ports
from workflows.runtime.search_attributes import ALL

SERVER_OPTIONS = tuple(
    part
    for value in (
        "history.transferProcessorMaxPollRPS=2000",
        "history.timerProcessorMaxPollRPS=2000",
        "matching.enableFairness=true",
    )
    for part in ("--dynamic-config-value", value)
)
"""Settings of the local stack's server that tests run with."""

_START_SECONDS = 240.0
_PAUSE_SECONDS = 0.05
_MAX_OUTPUT_CHARS = 4000


class ServerEnded(Exception):
    """A Temporal server has ended although a test needs it."""


_running: dict[asyncio.subprocess.Process, IO[bytes]] = {}
_limits: list[asyncio.Timeout] = []


@asynccontextmanager
async def limit_test(seconds: float) -> AsyncIterator[None]:
    """Cancel a test after a time, or as soon as one of its Temporal servers has ended.

    Raises:
        ServerEnded: a server has ended.
        TimeoutError: the time is over.
    """
    _check_servers()
    try:
        async with asyncio.timeout(seconds) as limit:
            _limits.append(limit)
            try:
                yield
            finally:
                _limits.remove(limit)
    except TimeoutError:
        _check_servers()
        raise


def _check_servers() -> None:
    for process, output in _running.items():
        if process.returncode is not None:
            output.seek(0)
            text = output.read().decode(errors="replace")
            # The stacks of all goroutines follow the cause of a crash.
            crash = max(text.find("panic:"), text.find("fatal error:"))
            shown = text[crash:][:_MAX_OUTPUT_CHARS] if crash >= 0 else text[-_MAX_OUTPUT_CHARS:]
            raise ServerEnded(f"the Temporal server ended with {process.returncode}: {shown}")


async def _end_tests_with(process: asyncio.subprocess.Process) -> None:
    await process.wait()
    for limit in _limits:
        limit.reschedule(asyncio.get_running_loop().time())


@asynccontextmanager
async def run_temporal_server(
    options: Sequence[str] = SERVER_OPTIONS, search_attributes: Sequence[SearchAttributeKey[str]] = ALL
) -> AsyncIterator[WorkflowEnvironment]:
    """Run a server until the block ends; it knows the product's search attributes unless others are named."""
    attributes = [part for key in search_attributes for part in ("--search-attribute", f"{key.name}=Keyword")]
    with tempfile.TemporaryFile() as output:
        async with asyncio.timeout(_START_SECONDS):
            client = None
            while client is None:  # another program may take the port in between
                (port,) = free_ports(1)
                process = await asyncio.create_subprocess_exec(
                    *(str(find_binary()), "server", "start-dev", "--headless", "--port", str(port)),
                    *("--log-level", "error", *attributes, *options),
                    stdout=output,
                    stderr=output,
                )
                client = await _connect(process, f"127.0.0.1:{port}")
        _running[process] = output
        watching = asyncio.create_task(_end_tests_with(process))
        try:
            yield WorkflowEnvironment.from_client(client)
        finally:
            watching.cancel()
            del _running[process]
            with suppress(ProcessLookupError):  # its test has said so
                process.terminate()
            await process.wait()


async def _connect(process: asyncio.subprocess.Process, address: str) -> Client | None:
    """Return a client once the server knows its namespace, or None if the process has ended."""
    try:
        while process.returncode is None:
            with suppress(RuntimeError, RPCError):
                client = await Client.connect(address, data_converter=DATA_CONVERTER)
                await client.count_workflows()
                return client
            await asyncio.sleep(_PAUSE_SECONDS)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    return None
