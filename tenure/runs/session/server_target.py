"""Locate the Temporal server of a command, and start the local stack if needed.

The rules, in order:

1. `TEMPORAL_ADDRESS` or a profile names a server: it is used, and nothing is started.
2. This home's stack runs, or the port is free or that of another home's stack: `ensure` starts the stack, if need be
   on other ports.
3. Another Temporal server uses the port: it is treated as if it were configured. No worker is started for it
   automatically, since its fleet may have workers and a knowledge base already; watching commands report if no
   worker polls, and `up` starts one here.
4. Any other program on the port is an error.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote

from tenure.installation import PROGRAM
from tenure.local_models.choice import check_model_choice
from tenure.prices import load_prices
from tenure.runs.errors import TenureError
from tenure.runs.session.retention import raise_retention
from tenure.runs.session.versions import read_version_states, wait_for_version
from tenure.settings import ClientSettings, Settings
from tenure.settings.home import ConnectionSettings, StackSettings
from tenure.temporal import connection
from tenure.temporal.gate.access_key import HOST, build_link, load_key
from tenure.temporal.loopback import request_status
from tenure.temporal.namespace_binding import describe_other_base
from tenure.temporal.stack import local
from tenure.temporal.stack.errors import PortTaken, StackError
from tenure.temporal.stack.local import StackStatus
from tenure.temporal.stack.versions import VersionState


@dataclass(frozen=True)
class ServerTarget:
    """Server that a command talks to."""

    settings: ClientSettings
    address: str
    namespace: str
    is_local: bool
    """Whether it is the server of this home's stack."""
    ui: str
    """URL of the web UI; empty if unknown."""
    page: str = ""
    """Link that opens the page of this home's stack; empty if there is none."""
    notes: tuple[str, ...] = ()
    """Messages of the start."""
    started: bool = False
    """Whether anything was started."""
    is_shared: bool = False
    """Whether its requests are those of people on other machines, who name only paths in the document roots of the
    settings and change no files here."""

    def build_run_url(self, run_id: str) -> str:
        """Return the URL of the run's page in the web UI, empty if unknown."""
        return f"{self.ui}/namespaces/{self.namespace}/workflows/{quote(run_id, safe='')}" if self.ui else ""

    def build_run_link(self, run_id: str) -> str:
        """Return the URL with a token that opens the web UI of this home's stack, for the person at the terminal."""
        return self.build_link(self.build_run_url(run_id))

    def build_page_link(self, run_id: str) -> str:
        """Return the URL with a token of the run's page in the page of this home's stack; empty if there is none."""
        origin, mark, token = self.page.partition("/?")
        return f"{origin}/runs/{quote(run_id, safe='')}?{token}" if mark else ""

    def build_link(self, url: str) -> str:
        """Add a token to a URL of this home's web UI; return other URLs unchanged."""
        return build_link(load_key(self.settings.home), url) if url and self.is_local else url


def locate_server(settings: ClientSettings) -> ServerTarget:
    """Find the server without starting anything."""
    profile = connection.load_profile()
    namespace = connection.get_namespace(settings, profile)
    if profile.address:
        return ServerTarget(settings, profile.address, namespace, False, _web_ui(profile.address, settings))
    return _of_stack(settings, local.get_status(settings), namespace)


def ensure_server(settings: Settings) -> ServerTarget:
    """Find the server, starting this home's stack if rule 2 applies.

    Raises:
        StackError: the stack cannot be started.
        PricesError: the price file prevents the worker from starting.
        LocalModelError: there is no model server to choose.
    """
    load_prices(settings)
    check_model_choice(settings)
    profile = connection.load_profile()
    if not profile.address:
        try:
            return _of_stack(settings, _start_stack(settings), connection.get_namespace(settings, profile))
        except PortTaken as error:
            _check_temporal(settings, error)
            address, namespace = connection.get_local_address(settings), connection.get_namespace(settings, profile)
            return ServerTarget(settings, address, namespace, False, _web_ui(address, settings))
    return locate_server(settings)


def start_missing(settings: Settings) -> StackStatus:
    """Start what this machine lacks: the stack, or only a worker for a server outside this home.

    Raises:
        StackError: it cannot be started, or that server is served with another knowledge base.
        CannotReach: the configured server does not answer.
        PricesError: the price file prevents the worker from starting.
        LocalModelError: there is no model server to choose.
    """
    load_prices(settings)
    check_model_choice(settings)
    address = connection.load_profile().address
    if not address:
        try:
            return _start_stack(settings)
        except PortTaken as error:
            _check_temporal(settings, error)
            address = connection.get_local_address(settings)
    asyncio.run(_check_external(settings))
    return _start_stack(settings, external=address)


def _start_stack(settings: Settings, external: str | None = None) -> StackStatus:
    """Start the local stack, or a worker for another server, and wait until new runs use the current code.

    A new or updated server keeps finished runs as long as the settings say.
    """

    def read_versions(build_ids: Collection[str]) -> dict[str, VersionState]:
        return asyncio.run(read_version_states(settings, build_ids))

    status = local.start_stack(settings, external=external, read_versions=read_versions)
    if status.started and external is None:
        for owner in settings.list_owners():
            asyncio.run(raise_retention(owner))
    if status.build_id and (status.started or status.draining):
        asyncio.run(wait_for_version(settings, status))
    return status


def suggest_remedy(server: ServerTarget) -> str:
    """Return the remedy for a server that does not answer."""
    if server.is_local or server.address == connection.get_local_address(server.settings):
        return f"run `{PROGRAM} up`"
    return "check TEMPORAL_ADDRESS, or unset it to use a local stack"


async def _check_external(settings: ConnectionSettings) -> None:
    """Check that a worker of this home may serve a server outside of it; the worker's own refusal is only in its log.

    Raises:
        StackError: the server is served with another knowledge base.
        ServerUnreachable: the server does not answer.
    """
    for owner in settings.list_owners():
        if problem := await describe_other_base(await connection.connect(owner), owner, for_worker=True):
            raise StackError(problem)


def _check_temporal(settings: ConnectionSettings, error: PortTaken) -> None:
    """Check that the program on the local port is a Temporal server."""
    try:
        asyncio.run(connection.connect(settings))
    except connection.ServerUnreachable:
        raise StackError(str(error)) from error


def _of_stack(settings: ClientSettings, status: StackStatus, namespace: str) -> ServerTarget:
    """Return the target for this home's stack."""
    is_local = status.server_pid is not None
    if "temporal_port" in settings.model_fields_set and is_local and status.port != settings.temporal_port:
        raise TenureError(status.notes[-1])
    settings = settings.model_copy(update={"temporal_port": status.port, "ui_port": status.ui_port})
    address = connection.get_local_address(settings)
    ui = f"http://{HOST}:{status.ui_port}" if is_local else _web_ui(address, settings)
    return ServerTarget(settings, address, namespace, is_local, ui, status.site_url, status.notes, status.started)


def _web_ui(address: str, settings: StackSettings) -> str:
    """Return the URL of the web UI of a server outside this home, as far as it can be known."""
    host = address.rsplit(":", 1)[0]
    if host.endswith((".tmprl.cloud", ".api.temporal.io")):
        return "https://cloud.temporal.io"
    # With access control, it refuses a request without a cookie.
    answers = (HTTPStatus.OK, HTTPStatus.UNAUTHORIZED)
    if host in (HOST, "localhost") and request_status(settings.ui_port, "/healthz", timeout=2) in answers:
        return f"http://{HOST}:{settings.ui_port}"
    return ""
