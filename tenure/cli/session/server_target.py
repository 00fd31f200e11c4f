"""Where the Temporal server of a command is, and how to make sure there is one (DESIGN §8).

The rules, in order:

1. `TEMPORAL_ADDRESS` or a profile names a server: it is used, and nothing is started.
2. This home's stack runs, or nothing is on its port: `ensure` brings the stack up.
3. A Temporal server that is not this home's is on the port: it is used as if it were configured. No
   worker is started for it without being asked, since the fleet it belongs to may have workers and a
   knowledge base of its own; whoever watches is told when none polls, and `up` starts one here.
4. Anything else on the port is an error.
"""

import asyncio
from dataclasses import dataclass
from urllib.parse import quote

from tenure.cli.errors import CommandError
from tenure.cli.terminal import say
from tenure.prices import load_prices
from tenure.settings import Settings
from tenure.temporal import connection
from tenure.temporal.stack import local, server
from tenure.temporal.stack.errors import PortTaken, StackError
from tenure.temporal.stack.local import StackStatus


@dataclass(frozen=True)
class Place:
    """The server a command talks to."""

    settings: Settings
    address: str
    namespace: str
    is_local: bool
    """Whether it is the server of this home's stack."""
    ui: str
    """Address of the web UI; empty where it is not known."""
    notes: tuple[str, ...] = ()
    """What bringing it up had to say."""
    started: bool = False
    """Whether something was started."""

    def url(self, run_id: str) -> str:
        """Return the run's page in the web UI, empty where that is not known."""
        return f"{self.ui}/namespaces/{self.namespace}/workflows/{quote(run_id, safe='')}" if self.ui else ""


def locate(settings: Settings) -> Place:
    """Find the server without starting anything."""
    profile = connection.profile()
    namespace = profile.namespace or "default"
    if profile.address:
        return Place(settings, profile.address, namespace, False, _web_ui(profile.address, settings))
    return _of_stack(settings, local.status(settings), namespace)


def ensure(settings: Settings) -> Place:
    """Find the server, starting this home's stack where rule 2 says so.

    Raises:
        StackError: the stack cannot be started.
        PricesError: the worker could not start, for its file of prices.
    """
    load_prices(settings)
    profile = connection.profile()
    if profile.address:
        return locate(settings)
    try:
        return _of_stack(settings, local.up(settings), profile.namespace or "default")
    except PortTaken as taken:
        if not asyncio.run(_is_temporal(settings)):
            raise StackError(str(taken)) from taken
        address = connection.local_address(settings)
        return Place(settings, address, profile.namespace or "default", False, _web_ui(address, settings))


def up(settings: Settings) -> StackStatus:
    """Start what this machine lacks: the stack, or only a worker where the server is somebody else's.

    Raises:
        StackError: it cannot be started.
        CannotReach: the configured server does not answer.
        PricesError: the worker could not start, for its file of prices.
    """
    load_prices(settings)
    address = connection.profile().address
    if address:
        asyncio.run(connection.connect(settings))
        return local.up(settings, external=address)
    try:
        return local.up(settings)
    except PortTaken as taken:
        if not asyncio.run(_is_temporal(settings)):
            raise StackError(str(taken)) from taken
        return local.up(settings, external=connection.local_address(settings))


def announce(place: Place) -> None:
    """Say what bringing the server up did."""
    for note in place.notes:
        say(note)
    if place.started:
        say(f"local stack is up, web UI: {place.ui}")


def require_local_or_configured(place: Place) -> str:
    """Say what to do when the server of a place does not answer."""
    if place.is_local or place.address == connection.local_address(place.settings):
        return "run `python client.py up`"
    return "check TEMPORAL_ADDRESS, or unset it to use a local stack"


async def _is_temporal(settings: Settings) -> bool:
    """Whether what is on the local port is a Temporal server."""
    try:
        await connection.connect(settings)
    except connection.CannotReach:
        return False
    return True


def _of_stack(settings: Settings, status: StackStatus, namespace: str) -> Place:
    """Describe the place that this home's stack is."""
    if status.server_pid is not None and status.port != settings.temporal_port:
        raise CommandError(status.notes[-1])
    is_local = status.server_pid is not None
    address = connection.local_address(settings)
    ui = status.ui_url if is_local else _web_ui(address, settings)
    return Place(settings, address, namespace, is_local, ui, status.notes, status.started)


def _web_ui(address: str, settings: Settings) -> str:
    """Find the web UI of a server that is not this home's, as far as that can be known."""
    host = address.rsplit(":", 1)[0]
    if host.endswith((".tmprl.cloud", ".api.temporal.io")):
        return "https://cloud.temporal.io"
    if host in ("127.0.0.1", "localhost") and server.is_ready(settings.ui_port):
        return f"http://127.0.0.1:{settings.ui_port}"
    return ""
