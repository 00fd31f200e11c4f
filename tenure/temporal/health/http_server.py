"""Serve the health of a worker on a port, from a thread that also answers while the event loop is stuck.

The port is recorded in the home by the worker's process id, so that commands find it without a setting.
"""

import asyncio
import faulthandler
import json
import os
import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from typing import Self

import structlog

from tenure.settings.worker import WorkerSettings
from tenure.temporal.gate.http_server import HttpError, HttpServer, Request, Response, Timeouts
from tenure.temporal.gate.listeners import listen
from tenure.temporal.health.monitor import WorkerMonitor
from tenure.temporal.health.probe import LIVE_PATH, READY_PATH
from tenure.temporal.health.record import remove_record, save_record

_TIMEOUTS = Timeouts(header=5.0, body=5.0, idle=30.0, write=5.0)


class HealthServer:
    """HTTP server of a worker's health; as a context manager it runs in its own thread.

    Raises:
        ValueError: the configured port cannot be used.
    """

    def __init__(self, settings: WorkerSettings, monitor: WorkerMonitor) -> None:
        self._home, self._monitor = settings.home.absolute(), monitor
        try:
            self._listener = listen(settings.health_host, settings.health_port)
        except OSError as error:
            raise ValueError(
                f"TENURE_HEALTH_PORT: {settings.health_host}:{settings.health_port} cannot be used "
                f"({error.strerror}): set it to a free port, or to 0 for any"
            ) from error
        self.host: str = settings.health_host
        self.port: int = self._listener.getsockname()[1]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._started = threading.Event()
        self._dumped = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="health", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        try:
            save_record(self._home, os.getpid(), self.host, self.port)
        except OSError as error:
            structlog.get_logger().warning("commands of this home cannot see this worker's health", why=str(error))
        return self

    def __exit__(self, *exit: object) -> None:
        with suppress(OSError):
            remove_record(self._home, os.getpid())
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with HttpServer(self._answer, _TIMEOUTS).serve(self._listener):
            self._started.set()
            await self._stop.wait()

    async def _answer(self, request: Request) -> Response:
        if request.path not in (LIVE_PATH, READY_PATH):
            raise HttpError(HTTPStatus.NOT_FOUND, f"there are {LIVE_PATH} and {READY_PATH}")
        if request.method not in ("GET", "HEAD"):
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "the health is read with GET")
        state = self._monitor.describe()
        if state["status"] == "stuck":
            self._dump_stacks(state["reason"])
        healthy = state["status"] != "stuck" if request.path == LIVE_PATH else state["status"] == "serving"
        status = HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE
        body = b"" if request.method == "HEAD" else f"{json.dumps(state)}\n".encode()
        return Response(status, body, (("content-type", "application/json"), ("cache-control", "no-store")))

    def _dump_stacks(self, reason: str) -> None:
        """Write the stacks of all threads to the log, once: they name the code that does not return."""
        if not self._dumped:
            self._dumped = True
            structlog.get_logger().error("this worker is stuck; the stacks of its threads follow", why=reason)
            faulthandler.dump_traceback(sys.__stderr__ or sys.stderr, all_threads=True)
