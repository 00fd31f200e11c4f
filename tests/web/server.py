"""HTTP/1.1 server of the test web, with keep-alive, validators, ranges, chunks, slow and lost connections."""

import asyncio
import hashlib
import re
import threading
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.web import pages, searxng, traps
from tests.web.messages import Handler, Reply, Request


class Web:
    """Test web, used as a context manager."""

    def __init__(self, *, latency: float = 0.0, extra: Mapping[str, Handler] | None = None) -> None:
        self.latency = latency
        """Delay of each response in seconds."""
        self.requests: list[Request] = []
        """Received requests, in order."""
        self.sites: dict[str, Handler] = {**pages.site(), **traps.site(self), **(extra or {})}
        """Handlers by path."""
        self.sites["/search"] = searxng.handler(self)
        self.accepted = 0
        """Number of accepted connections."""
        self.open = 0
        """Number of open connections."""
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join()

    @property
    def origin(self) -> str:
        """URL without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def allow(self) -> str:
        """Value for `TENURE_FETCH_ALLOW`."""
        return f"127.0.0.1:{self.port}"

    @property
    def search(self) -> str:
        """URL of its search engine, for `TENURE_SEARXNG_URL`."""
        return self.origin

    def build_url(self, path: str) -> str:
        """Return the URL of a path."""
        return self.origin + path

    def count(self, path: str) -> int:
        """Return the number of requests for a path."""
        return sum(request.path == path for request in list(self.requests))

    def asked(self, path: str) -> list[Request]:
        """Return the requests for a path, in order."""
        return [request for request in list(self.requests) if request.path == path]

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._main = self._loop.create_task(self._serve())
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._main)
        self._loop.close()

    async def _serve(self) -> None:
        callers: set[asyncio.Task[None]] = set()

        async def call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.accepted += 1
            self.open += 1
            task = asyncio.current_task()
            assert task
            callers.add(task)
            try:
                with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                    await self._answer_all(reader, writer)
            finally:
                callers.discard(task)
                writer.transport.abort()
                with suppress(ConnectionError):
                    await writer.wait_closed()
                self.open -= 1

        server = await asyncio.start_server(call, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        try:
            await asyncio.Event().wait()
        finally:
            server.close()
            for task in list(callers):
                task.cancel()
            await asyncio.gather(*callers, return_exceptions=True)

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until one side closes it."""
        while True:
            request = _request((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
            self.requests.append(request)
            if self.latency:
                await asyncio.sleep(self.latency)
            reply = _conditional(request, self.sites.get(request.path, traps.missing)(request))
            await _send(writer, reply, request.method)
            if reply.breaks_after is not None or request.headers.get("connection") == "close":
                return


def _request(head: str) -> Request:
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    split = urlsplit(target)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Request(method, target, unquote(split.path), dict(parse_qsl(split.query)), headers)


def _conditional(request: Request, reply: Reply) -> Reply:
    """Add validators to a reply, and answer conditional and range requests."""
    body = reply.body
    if reply.status != 200 or not isinstance(body, bytes) or not reply.validated:
        return reply
    etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    reply = replace(reply, headers={"etag": etag, "accept-ranges": "bytes", **reply.headers})
    etag = reply.headers["etag"]
    if request.headers.get("if-none-match") == etag:
        return replace(reply, status=304, body=b"", breaks_after=None)
    wanted = re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
    if not wanted or request.headers.get("if-range", etag) != etag:
        return reply
    start, whole = int(wanted[1]), len(body)
    if start >= whole:
        return replace(reply, status=416, body=b"")
    there = {**reply.headers, "content-range": f"bytes {start}-{whole - 1}/{whole}"}
    return replace(reply, status=206, headers=there, body=body[start:])


async def _send(writer: asyncio.StreamWriter, reply: Reply, method: str) -> None:
    whole = reply.body if isinstance(reply.body, bytes) else None
    framing = {"transfer-encoding": "chunked"} if whole is None else {"content-length": str(len(whole))}
    headers = {"content-type": reply.kind, **framing, **reply.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} {reply.reason}\r\n{head}\r\n".encode("latin-1"))
    await writer.drain()
    if method == "HEAD" or reply.status == 304:
        return
    async for part in _parts(reply):
        writer.write(part if whole is not None else b"%x\r\n%s\r\n" % (len(part), part))
        await writer.drain()
    if whole is None:
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _parts(reply: Reply) -> AsyncIterator[bytes]:
    """Yield the body as one piece, in chunks, byte by byte, or in part."""
    body: Iterable[bytes] = [reply.body] if isinstance(reply.body, bytes) else reply.body
    if reply.drip:
        body = (bytes([byte]) for part in body for byte in part)
    left = reply.breaks_after
    for part in body:
        if left is not None:
            part, left = part[:left], left - len(part)
        yield part
        if left is not None and left <= 0:
            return
        if reply.drip:
            await asyncio.sleep(reply.drip)
