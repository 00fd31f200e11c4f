"""Serve page, API and MCP to the people of a team, each with the functions of the own owner.

Every owner has an application of its own, whose functions know only the namespace, the knowledge base and the keys of
that owner. A request reaches the application of its person, so that no route has to compare owners.
"""

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tenure.mcp_server.home import LazyHome
from tenure.mcp_server.server import PATH as MCP_PATH
from tenure.mcp_server.server import open_endpoint
from tenure.runs.errors import Unreachable
from tenure.runs.service import Service
from tenure.runs.session.quotas import Quota
from tenure.runs.session.server_target import ServerTarget
from tenure.settings import Settings
from tenure.site.api import PREFIX
from tenure.site.person import PERSON, Person
from tenure.site.server import HEADERS, MIN_UPLOAD_RATE, build_site
from tenure.team.access import PERSON_KEY, TeamPolicy
from tenure.team.audit import open_audit_log
from tenure.team.credentials import Credentials
from tenure.team.sign_in import SignIn
from tenure.temporal.connection import get_namespace, load_profile
from tenure.temporal.gate.access import AccessGate
from tenure.temporal.gate.http_server import Timeouts, serve_app

HEALTH_PATH = "/healthz"
"""Path that needs no sign-in and shows nothing but that the server runs."""


@dataclass(frozen=True)
class OwnerApps:
    """Applications of one owner."""

    site: ASGIApp
    """Page and API."""
    mcp: ASGIApp


class TeamApp:
    """Application behind the access control, which leads each request to the applications of its owner."""

    def __init__(self, accounts: ASGIApp, owners: Mapping[str, OwnerApps]) -> None:
        self._accounts, self._owners = accounts, owners

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request in the name of its person."""
        person: Person | None = scope.get(PERSON_KEY)
        path: str = scope["path"]
        app, face = self._accounts, "page"
        if person is not None and not path.startswith(("/account", "/sign-")):
            apps = self._owners[person.owner]
            face = "mcp" if path == MCP_PATH else "api" if path.startswith(f"{PREFIX}/") else "page"
            app = apps.mcp if face == "mcp" else apps.site
        named = {"person": person.name, "owner": person.owner} if person else {}
        mark = PERSON.set(person)
        try:
            with structlog.contextvars.bound_contextvars(**named, face=face):
                await app(scope, receive, send)
        finally:
            PERSON.reset(mark)


def build_owner_target(server: ServerTarget, settings: Settings) -> ServerTarget:
    """Return the server for the owner of the settings, without the links of the local stack, which open everything."""
    namespace = get_namespace(settings, load_profile())
    return replace(server, settings=settings, namespace=namespace, ui="", page="", is_shared=True)


@asynccontextmanager
async def serve_team(server: ServerTarget, settings: Settings, listener: socket.socket) -> AsyncIterator[None]:
    """Serve page, API and MCP of the team inside the `with` block.

    Raises:
        OSError: the home cannot be written.
    """
    with closing(Credentials(settings.home)) as credentials, open_audit_log(settings.home) as audit:
        policy = TeamPolicy(settings, credentials)
        async with AsyncExitStack() as opened:
            owners: dict[str, OwnerApps] = {}
            for own in settings.list_owners():
                if own.owner in settings.team_people.values():
                    own = own.model_copy(update={"temporal_port": server.settings.temporal_port})
                    quota = Quota(settings.team_max_runs, settings.team_max_cost_usd)
                    service = Service(build_owner_target(server, own), audit=audit, quota=quota)
                    mcp = await opened.enter_async_context(open_endpoint(LazyHome(own, service)))
                    owners[own.owner] = OwnerApps(build_site(service, policy.origin), mcp)
            accounts = Starlette(routes=SignIn(settings, policy, credentials, audit).build_routes())
            gate = AccessGate(TeamApp(accounts, owners), policy, HEADERS)
            app = Starlette(routes=[Route(HEALTH_PATH, _report_health), Mount("", gate)])
            async with serve_app(app, listener, timeouts=Timeouts(body_bytes_per_second=MIN_UPLOAD_RATE)):
                yield


def open_team_listener(settings: Settings) -> socket.socket:
    """Return the socket for the proxy, which may run as another user: sessions and tokens decide who is served.

    Raises:
        Unreachable: another program uses the port.
    """
    address = (settings.team_host, settings.site_port)
    try:
        return socket.create_server(address, family=socket.AF_INET6 if ":" in settings.team_host else socket.AF_INET)
    except OSError as error:
        raise Unreachable(
            f"{address[0]}:{address[1]} cannot be used ({error.strerror}): set TENURE_SITE_PORT"
        ) from error


async def _report_health(request: Request) -> Response:
    return PlainTextResponse("this server runs\n")
