"""Fixtures: the site as a real HTTP server, with and without a running stack."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tenure.runs.session.server_target import ServerTarget, locate_server
from tenure.settings import Settings
from tenure.site.server import make_link, open_listener, serve
from tenure.temporal.gate.access_key import load_key
from tests.cli.conftest import CommandLine, running
from tests.support.ports import free_ports

__all__ = ["running"]


@dataclass(frozen=True)
class Site:
    """A served site."""

    place: ServerTarget
    port: int

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        """Link with a token."""
        return make_link(self.place, self.port)

    def client(self, *, owner: bool = True, **headers: str) -> httpx.AsyncClient:
        """Return a client, of the owner of the home or of another program."""
        key = {"authorization": f"Bearer {load_key(self.place.settings.home)}"} if owner else {}
        return httpx.AsyncClient(base_url=self.origin, headers=key | headers, timeout=60)


@asynccontextmanager
async def serve_at(place: ServerTarget) -> AsyncIterator[Site]:
    """Serve a home on a free port."""
    with open_listener(free_ports(1)[0]) as listener:
        port = listener.getsockname()[1]
        async with serve(place, listener):
            yield Site(place, port)


@pytest.fixture
async def idle_site(tmp_path: Path) -> AsyncIterator[Site]:
    """Site of a home without a stack."""
    port, ui_port = free_ports(2)
    settings = Settings(home=tmp_path, temporal_port=port, ui_port=ui_port, _env_file=None)
    async with serve_at(locate_server(settings)) as site:
        yield site


@pytest.fixture
async def site(running: CommandLine) -> AsyncIterator[Site]:
    """Site of a home whose stack runs the stub worker."""
    async with serve_at(locate_server(running.settings)) as site:
        yield site
