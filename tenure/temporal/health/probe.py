"""Ask a worker for its health over HTTP.

The module needs the standard library only, so that a check starts fast and a supervisor stays small.
"""

import http.client
import json
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

LIVE_PATH = "/livez"
"""Path whose status is 200 unless the worker has to be restarted."""

READY_PATH = "/readyz"
"""Path whose status is 200 while the worker takes work from its queues."""

PROBE_TIMEOUT_SECONDS = 3.0
"""Time for an answer; a worker answers from memory, within milliseconds."""

_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Address to connect to, by an address that a server listens on."""


@dataclass(frozen=True)
class ProbeResult:
    """Answer of a worker, or the lack of one."""

    healthy: bool
    """Whether the worker answered with status 200."""
    reason: str = ""
    """Reason why it is not healthy."""
    reply: dict[str, Any] = field(default_factory=dict)
    """The answer: status, age of the last loop tick, and the queues; empty without an answer."""


def probe_worker(host: str, port: int, path: str, timeout: float = PROBE_TIMEOUT_SECONDS) -> ProbeResult:
    """Ask the health port of a worker."""
    with closing(http.client.HTTPConnection(_ANY_ADDRESS.get(host, host), port, timeout=timeout)) as connection:
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            reply = json.loads(response.read())
        except TimeoutError:
            return ProbeResult(False, f"it does not answer within {timeout:g} s")
        except ConnectionRefusedError:
            return ProbeResult(False, f"nothing listens on its health port {port}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            return ProbeResult(False, f"its health port {port} gives no answer ({str(error) or type(error).__name__})")
    if not isinstance(reply, dict):
        return ProbeResult(False, f"port {port} is not the health port of a worker")
    return ProbeResult(response.status == HTTPStatus.OK, str(reply.get("reason", "")), reply)
