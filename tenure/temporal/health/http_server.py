"""Serve the health of a worker on a port, from a thread that also answers while the event loop is stuck.

The port is recorded in the home by the worker's process id, so that commands find it without a setting.
"""

import faulthandler
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus

import structlog
from anyio.from_thread import start_blocking_portal
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tenure.settings.worker import WorkerSettings
from tenure.temporal.gate.http_server import Timeouts, serve_app
from tenure.temporal.gate.listeners import listen
from tenure.temporal.health.monitor import WorkerMonitor
from tenure.temporal.health.probe import LIVE_PATH, READY_PATH
from tenure.temporal.health.record import remove_record, save_record

_TIMEOUTS = Timeouts(header=5.0, body=5.0, idle=30.0, write=5.0)


@contextmanager
def serve_health(settings: WorkerSettings, monitor: WorkerMonitor) -> Iterator[int]:
    """Serve the health of a worker inside the `with` block, from a thread of its own; yield the port.

    Raises:
        ValueError: the configured port cannot be used.
    """
    host, home = settings.health_host, settings.home.absolute()
    try:
        listener = listen(host, settings.health_port)
    except OSError as error:
        raise ValueError(
            f"TENURE_HEALTH_PORT: {host}:{settings.health_port} cannot be used ({error.strerror}): set it to a free "
            "port, or to 0 for any"
        ) from error
    port: int = listener.getsockname()[1]
    serving = serve_app(_build_app(monitor), listener, timeouts=_TIMEOUTS)
    with start_blocking_portal(name="health") as portal, portal.wrap_async_context_manager(serving):
        try:
            save_record(home, os.getpid(), host, port)
        except OSError as error:
            structlog.get_logger().warning("commands of this home cannot see this worker's health", why=str(error))
        try:
            yield port
        finally:
            with suppress(OSError):
                remove_record(home, os.getpid())


def _build_app(monitor: WorkerMonitor) -> Starlette:
    """Return the application that answers with the state of a worker."""
    has_dumped = False

    async def answer(request: Request) -> Response:
        nonlocal has_dumped
        state = monitor.describe()
        is_stuck = state["status"] == "stuck"
        if is_stuck and not has_dumped:
            has_dumped = True
            # The stacks of all threads name the code that does not return.
            structlog.get_logger().error("this worker is stuck; the stacks of its threads follow", why=state["reason"])
            faulthandler.dump_traceback(sys.__stderr__ or sys.stderr, all_threads=True)
        healthy = not is_stuck if request.url.path == LIVE_PATH else state["status"] == "serving"
        status = HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE
        return JSONResponse(state, status, {"cache-control": "no-store"})

    return Starlette(routes=[Route(path, answer) for path in (LIVE_PATH, READY_PATH)])
