"""Tests of the limits of a test: its time and its Temporal server."""

import asyncio
import signal

import pytest

from tests.support.servers import temporal_server
from tests.support.servers.temporal_server import ServerEnded, limit_test, run_temporal_server


async def test_a_test_ends_with_its_server() -> None:
    """A test that waits for a server that was killed fails immediately and says how the server ended."""
    # The limit of this test itself is not among those that end.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(temporal_server, "_limits", [])
        async with run_temporal_server():
            process = list(temporal_server._running)[-1]
            with pytest.raises(ServerEnded, match=f"ended with -{signal.SIGKILL:d}"):
                async with limit_test(300):
                    process.kill()
                    await asyncio.Event().wait()
            with pytest.raises(ServerEnded):
                async with limit_test(300):
                    pytest.fail("the server has ended before")


async def test_a_test_has_a_time_limit() -> None:
    """A test that takes too long is cancelled, while servers run."""
    with pytest.raises(TimeoutError):
        async with limit_test(0.01):
            await asyncio.Event().wait()
