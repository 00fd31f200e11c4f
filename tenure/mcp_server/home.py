"""Open the functions of a home at the first request, so that clients are served before the local stack has started."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.service import Service, open_service
from tenure.settings import Settings

McpContext = ServerRequestContext[Any, Any]
"""Context of a request of a client."""


class LazyHome:
    """Home whose stack is started by the first request that needs it, unless its functions are given."""

    def __init__(self, settings: Settings, service: Service | None = None) -> None:
        self.settings = settings
        self._service = service
        self._opening = asyncio.Lock()

    async def open(self) -> Service:
        """Return the functions of the home.

        Raises:
            TenureError: the local stack cannot be started.
        """
        async with self._opening:
            if self._service is None:
                self._service = await open_service(self.settings)
        return self._service


@contextmanager
def convert_errors() -> Iterator[None]:
    """Turn errors of commands into errors of the protocol.

    Raises:
        MCPError: a command failed.
    """
    try:
        yield
    except TenureError as error:
        code = INVALID_PARAMS if isinstance(error, InvalidRequest) else INTERNAL_ERROR
        raise MCPError(code=code, message=str(error)) from error
