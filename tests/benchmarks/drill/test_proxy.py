"""Test the proxy of the drill with real connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from benchmarks.support.drill.proxy import Proxy


@asynccontextmanager
async def echo_through_proxy() -> AsyncIterator[Proxy]:
    """Yield a proxy before a server that returns every line."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
            await writer.drain()
        writer.write(b"end\n")
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    proxy = Proxy(server.sockets[0].getsockname()[1])
    await proxy.listen()
    try:
        yield proxy
    finally:
        await proxy.close()
        server.close()


async def ask(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bytes:
    """Send a line and return the answer."""
    connection[1].write(b"line\n")
    return await connection[0].readline()


async def test_a_proxy_forwards_both_directions() -> None:
    """Lines arrive unchanged, and the end of one direction leaves the other open."""
    async with echo_through_proxy() as proxy:
        reader, writer = connection = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await ask(connection) == b"line\n"
        writer.write_eof()
        assert await reader.read() == b"end\n"
        writer.close()


async def test_a_cut_resets_connections_and_accepts_new_ones() -> None:
    """An open connection ends with a reset; the next one works."""
    async with echo_through_proxy() as proxy:
        connection = await asyncio.open_connection("127.0.0.1", proxy.port)
        await ask(connection)
        proxy.cut()
        with pytest.raises(ConnectionError):
            await connection[0].readexactly(1)
        connection[1].close()
        again = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await ask(again) == b"line\n"
        again[1].close()


async def test_a_stall_delays_what_is_sent() -> None:
    """Nothing arrives during a stall, and everything afterwards; a lost connection stays silent."""
    async with echo_through_proxy() as proxy:
        connection = await asyncio.open_connection("127.0.0.1", proxy.port)
        await ask(connection)
        async with proxy.stall():
            asking = asyncio.create_task(ask(connection))
            done, _ = await asyncio.wait([asking], timeout=0.2)
            assert not done
        assert await asyncio.wait_for(asking, 30) == b"line\n"
        proxy.lose()
        asking = asyncio.create_task(ask(connection))
        done, _ = await asyncio.wait([asking], timeout=0.2)
        assert not done
        asking.cancel()
        connection[1].close()


async def test_a_refusal_ends_with_its_block() -> None:
    """Connections are refused in the block and accepted on the same port afterwards."""
    async with echo_through_proxy() as proxy:
        async with proxy.refuse():
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", proxy.port)
        connection = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await ask(connection) == b"line\n"
        connection[1].close()


async def test_a_half_closed_connection_still_answers() -> None:
    """The server sees the end of the request's direction, and its answer arrives."""
    async with echo_through_proxy() as proxy:
        connection = await asyncio.open_connection("127.0.0.1", proxy.port)
        await ask(connection)
        proxy.half_close()
        assert await connection[0].readline() == b"end\n"
        connection[1].close()
