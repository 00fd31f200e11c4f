"""Run a home's Temporal server behind a gate, as one process with one child.

The server listens in a network of its own, which nothing but this process can reach. The gate listens in the machine's
network: on the port of the Temporal server, for programs of the same user; on the port of the web UI, for browsers
with the home's cookie; and on a Unix socket in the home, for Tenure's own client and worker.

If the installation has owners, the gate reads the gRPC requests, and passes on those that concern the namespace of the
owner whose key they carry.

On a system without network namespaces, the server listens on addresses of the loopback interface that change with
every start; the command `status` says so.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

from tenure.private_files import PRIVATE_UMASK
from tenure.temporal.gate.access_key import HOST, load_key
from tenure.temporal.gate.listeners import listen, listen_in_home
from tenure.temporal.gate.network import end_with_parent, isolate_network
from tenure.temporal.gate.peers import Address
from tenure.temporal.gate.relay import forward
from tenure.temporal.gate.sockets import CODEC_PATH, GATE_SOCKET, NAMESPACES_VARIABLE, get_socket_address

READY_PATH = "/ready"
"""Path that reports on the gate's Unix socket whether the server answers; the body names a missing isolation."""

REFUSED_HOST = "refused.invalid"
"""Only host name that the server's HTTP interface accepts, so that it accepts none of a browser."""

_MAX_PREFACE_BYTES = 8192
_PREFACE_SECONDS = 10.0
_STOP_SECONDS = 12.0

Accept = Callable[[socket.socket], Awaitable[None]]


class Gate:
    """Connections to the server of a home.

    Args:
        home: the home.
        server: address of the Temporal server.
        web_ui: address of its web UI.
        obstacle: reason why the server is not in a network of its own, empty if it is.
        namespaces: namespaces by the hashes of the keys of their owners; empty without owners.

    Raises:
        OSError: the home's key cannot be read.
    """

    def __init__(
        self, home: Path, server: Address, web_ui: Address, obstacle: str, namespaces: Mapping[str, str]
    ) -> None:
        self._home, self._server, self._web_ui, self._obstacle = home, server, web_ui, obstacle
        self._namespaces = namespaces
        self._key = load_key(home)

    async def serve(self, grpc: socket.socket, http: socket.socket, own: socket.socket) -> None:
        """Serve three listening sockets until cancelled."""
        # Imported when the server has been started: they take half a second.
        from tenure.temporal.gate.access import AccessPolicy
        from tenure.temporal.gate.http_server import serve_app
        from tenure.temporal.gate.web_ui import build_web_ui

        policy = AccessPolicy(self._key, http.getsockname()[1])
        async with serve_app(build_web_ui(policy, self._web_ui, self._home), http):
            await asyncio.gather(_accept_all(grpc, self._forward), _accept_all(own, self._serve_own))

    async def _forward(self, accepted: socket.socket) -> None:
        """Forward a connection to the Temporal server, with owners only what they may send."""
        if not self._namespaces:
            return await forward(accepted, self._server)
        # Imported when needed: the types of all requests take memory.
        from tenure.temporal.gate.owner_relay import relay_requests

        await relay_requests(accepted, self._server, self._namespaces)

    async def _serve_own(self, accepted: socket.socket) -> None:
        """Serve a connection over the Unix socket: an HTTP `CONNECT`, or the question whether the server answers.

        By hand, because servers of ASGI offer no `CONNECT`.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_PREFACE_SECONDS):
                preface = b""
                while b"\r\n\r\n" not in preface and len(preface) < _MAX_PREFACE_BYTES:
                    part = await loop.sock_recv(accepted, _MAX_PREFACE_BYTES)
                    if not part:
                        accepted.close()
                        return
                    preface += part
            if preface.startswith(b"CONNECT "):
                await loop.sock_sendall(accepted, b"HTTP/1.1 200 OK\r\n\r\n")
                await self._forward(accepted)
                return
            await loop.sock_sendall(accepted, await self._describe_state(preface))
            accepted.close()
        except (OSError, TimeoutError):
            accepted.close()
            raise

    async def _describe_state(self, preface: bytes) -> bytes:
        """Return the response to the question whether the server answers."""
        status, body = "404 Not Found", b""
        if preface.startswith(f"GET {READY_PATH} ".encode()):
            ready = await self._is_ready()
            status, body = ("200 OK" if ready else "503 Service Unavailable"), self._obstacle.encode()
        return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body

    async def _is_ready(self) -> bool:
        """Return whether the server answers: the web UI asks the front end for the default namespace."""
        import httpcore

        url = f"http://{self._web_ui[0]}:{self._web_ui[1]}/api/v1/namespaces/default"
        try:
            async with asyncio.timeout(5), httpcore.AsyncConnectionPool() as client:
                return (await client.request("GET", url)).status == HTTPStatus.OK
        except (httpcore.NetworkError, httpcore.ProtocolError, TimeoutError):
            return False


async def run(listeners: Sequence[socket.socket], gate: Gate, command: Sequence[str]) -> int:
    """Start the server, and serve until it ends or this process is asked to stop; return the exit code."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    child = await asyncio.create_subprocess_exec(*command, env=environment, preexec_fn=end_with_parent)
    serving = asyncio.create_task(gate.serve(*listeners))
    ended, stopped = asyncio.create_task(child.wait()), asyncio.create_task(stop.wait())
    await asyncio.wait([ended, stopped, serving], return_when=asyncio.FIRST_COMPLETED)
    failed = serving.done() and not ended.done()
    serving.cancel()
    if not ended.done():
        child.terminate()
        await asyncio.wait([ended], timeout=_STOP_SECONDS)
        if not ended.done():
            child.kill()
            await ended
    stopped.cancel()
    if failed and (error := serving.exception()) is not None:
        raise error
    return 0 if stop.is_set() else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the gate; return the process's exit code."""
    parser = argparse.ArgumentParser(prog="python -m tenure.temporal.gate", description=__doc__)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ui-port", type=int, required=True)
    parser.add_argument("--codec", action="store_true", help="let the web UI ask the worker to decrypt payloads")
    parser.add_argument("command", nargs="+", help="command of the Temporal server, without its addresses")
    chosen = parser.parse_args(argv)
    os.umask(PRIVATE_UMASK)
    namespaces = json.loads(os.environ.pop(NAMESPACES_VARIABLE, "{}"))
    try:
        # Before the isolation: the tables of their users are those of the machine's network.
        grpc, http = listen(HOST, chosen.port, allows_root=False), listen(HOST, chosen.ui_port)
        own = listen_in_home(chosen.home, GATE_SOCKET)
        for listener in (grpc, own):
            listener.setblocking(False)
        obstacle = isolate_network()
        server, web_ui = _choose_addresses(is_isolated=not obstacle)
        gate = Gate(chosen.home, server, web_ui, obstacle, namespaces)
    except OSError as error:
        _report(f"the gate cannot start ({error.strerror or error})")
        return 1
    if obstacle:
        _report(f"other users of this machine can reach the Temporal server: {obstacle}")
    command = [*chosen.command, *_build_address_options(server, web_ui, chosen.ui_port if chosen.codec else 0)]
    try:
        return asyncio.run(run((grpc, http, own), gate, command))
    finally:
        with suppress(OSError):
            Path(get_socket_address(chosen.home, GATE_SOCKET)).unlink()


def _choose_addresses(*, is_isolated: bool) -> tuple[Address, Address]:
    """Return the addresses of the server and its web UI; in a shared network they are hard to guess for a web page."""
    if is_isolated:
        return (HOST, 7233), (HOST, 8233)
    host = HOST
    if sys.platform == "linux":
        chosen = random.SystemRandom()
        host = f"127.{chosen.randint(16, 254)}.{chosen.randint(1, 254)}.{chosen.randint(1, 254)}"
    with socket.create_server((host, 0)) as first, socket.create_server((host, 0)) as second:
        return (host, first.getsockname()[1]), (host, second.getsockname()[1])


def _build_address_options(server: Address, web_ui: Address, codec_port: int) -> list[str]:
    """Return the server's options for its addresses."""
    options = ["--ip", server[0], "--port", str(server[1]), "--ui-ip", web_ui[0], "--ui-port", str(web_ui[1])]
    options += ["--dynamic-config-value", f'frontend.httpAllowedHosts=["{REFUSED_HOST}"]']
    if codec_port:
        options += ["--ui-codec-endpoint", f"http://{HOST}:{codec_port}{CODEC_PATH}"]
    return options


async def _accept_all(listener: socket.socket, serve: Accept) -> None:
    """Accept connections for ever, each served by a task of its own."""
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    while True:
        try:
            accepted, _ = await loop.sock_accept(listener)
        except ConnectionAbortedError:
            continue
        except OSError:
            await asyncio.sleep(0.1)  # no descriptor is free
            continue
        accepted.setblocking(False)
        task = asyncio.create_task(_serve_one(serve, accepted))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def _serve_one(serve: Accept, accepted: socket.socket) -> None:
    """Serve a connection; the end of a connection concerns no other one."""
    with suppress(OSError, TimeoutError):
        await serve(accepted)


def _report(line: str) -> None:
    """Write a line to the log."""
    print(f"gate: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
