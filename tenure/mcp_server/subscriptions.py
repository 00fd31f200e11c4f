"""Notify clients of changes of runs.

Clients of the protocol 2026-07-28 open a stream with `subscriptions/listen`; earlier ones use `resources/subscribe`
on standard streams, on which the server can write at any time. The state of a subscribed resource is read from
Temporal at most once a second, and nothing is read without subscriptions.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import anyio
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, SubscriptionsListenRequestParams, SubscriptionsListenResult

from tenure.mcp_server.home import LazyHome, McpContext
from tenure.mcp_server.replies import RUNS_URI
from tenure.mcp_server.resources import read_version
from tenure.runs.errors import TenureError

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Pause between two looks at the subscribed resources."""

MAX_RESOURCES = 50
"""Maximum number of resources in one stream, and of a connection without streams."""

MAX_STREAMS = 50
"""Maximum number of open streams."""

LIST = ""
"""Key of the list of resources, in place of a URI."""

UNREAD = ""
"""Version of a resource that could not be read yet."""


@asynccontextmanager
async def open_subscriptions(home: LazyHome) -> AsyncIterator["Subscriptions"]:
    """Yield the subscriptions of a server, which end with it."""
    async with anyio.create_task_group() as tasks:
        subscriptions = Subscriptions(home)
        tasks.start_soon(subscriptions.poll)
        yield subscriptions
        tasks.cancel_scope.cancel()


class Subscriptions:
    """Subscriptions of the clients of a server to the runs of a home."""

    def __init__(self, home: LazyHome) -> None:
        self._home = home
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus, max_subscriptions=MAX_STREAMS)
        self._subscribers: Counter[str] = Counter()
        self._versions: dict[str, str] = {}
        self._failures: dict[str, str] = {}
        self._sessions: dict[str, ServerSession] = {}
        self._needed = asyncio.Event()

    @property
    def is_reading(self) -> bool:
        """Whether resources are read, since there are subscriptions."""
        return self._needed.is_set()

    async def listen(self, context: McpContext, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Serve a stream until its client leaves.

        Raises:
            MCPError: it names too many resources.
        """
        events = params.notifications
        keys = {*(events.resource_subscriptions or ()), *([LIST] if events.resources_list_changed else ())}
        _check_number(len(keys))
        self._add(keys)
        try:
            # Read before the subscription is acknowledged, so that the client misses no later change.
            await self._read_first(keys)
            return await self._listen(context, params)
        finally:
            self._remove(keys)

    async def add_resource(self, session: ServerSession, uri: str) -> None:
        """Notify the only client of a connection of the changes of a resource.

        Raises:
            MCPError: it has subscribed to too many resources.
        """
        if uri in self._sessions:
            return
        _check_number(len(self._sessions) + 1)
        self._sessions[uri] = session
        self._add({uri})
        await self._read_first({uri})

    def remove_resource(self, uri: str) -> None:
        """End the notifications of a connection about a resource."""
        if self._sessions.pop(uri, None) is not None:
            self._remove({uri})

    async def poll(self) -> None:
        """Check for changes as long as there are subscriptions."""
        while True:
            await self._needed.wait()
            await asyncio.sleep(POLL_SECONDS)
            for key in tuple(self._subscribers):
                await self._compare(key)

    async def _compare(self, key: str) -> None:
        """Notify the subscribers of a resource if it has changed."""
        before = self._versions.get(key)
        now = await self._read(key)
        # Its last subscriber may have left in the meantime, and another one may have read it.
        if now is None or now == before or before is None or self._versions.get(key) != before:
            return
        self._versions[key] = now
        await self._bus.publish(ResourcesListChanged() if key == LIST else ResourceUpdated(key))
        if session := self._sessions.get(key):
            await session.send_resource_updated(key)

    async def _read_first(self, keys: Iterable[str]) -> None:
        """Read the versions of resources that were not observed before."""
        for key in keys:
            if key not in self._versions:
                version = await self._read(key)
                self._versions.setdefault(key, UNREAD if version is None else version)

    async def _read(self, key: str) -> str | None:
        """Return the version of a resource, or None if it cannot be read; the reason is logged once."""
        try:
            # The list of resources changes with the list of runs.
            version = await read_version(await self._home.open(), RUNS_URI if key == LIST else key)
        except TenureError as error:
            reason = str(error)
        except Exception as error:  # a subscription outlives each failure, and the next look may succeed
            reason = f"{type(error).__name__}: {error}"
        else:
            self._failures.pop(key, None)
            return version
        if self._failures.get(key) != reason:
            logger.warning("%s cannot be observed: %s", key or "the list of resources", reason)
        self._failures[key] = reason
        return None

    def _add(self, keys: Iterable[str]) -> None:
        self._subscribers.update(keys)
        if self._subscribers:
            self._needed.set()

    def _remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._subscribers[key] -= 1
            if not self._subscribers[key]:
                del self._subscribers[key]
                self._versions.pop(key, None)
                self._failures.pop(key, None)
        if not self._subscribers:
            self._needed.clear()


def _check_number(number: int) -> None:
    """Check the number of subscribed resources."""
    if number > MAX_RESOURCES:
        raise MCPError(code=INVALID_PARAMS, message=f"subscribe to at most {MAX_RESOURCES} resources")
