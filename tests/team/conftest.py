"""Fixtures: the server of a team of two, with and without a stack behind it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tenure.runs.session.server_target import locate_server
from tenure.settings import Settings
from tenure.team.server import open_team_listener, serve_team
from tenure.temporal.stack import local
from tests.cli.conftest import ROOT, CommandLine
from tests.support.ports import free_ports
from tests.support.servers.identity_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    IdentityProvider,
    run_identity_provider,
)

ANN, BOB = "ann@example.org", "bob@example.org"
TOKENS = {"ann": "a" * 64, "bob": "b" * 64}
SECRETS = {owner: SecretStr(token) for owner, token in TOKENS.items()}


@dataclass(frozen=True)
class Team:
    """Served team."""

    settings: Settings
    provider: IdentityProvider
    clients: list[httpx.AsyncClient] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return self.settings.team_url

    def client(self, **headers: str) -> httpx.AsyncClient:
        """Return a browser without a session: it names its page with every request."""
        own = {"origin": self.origin, "accept": "text/html"} | headers
        client = httpx.AsyncClient(base_url=self.origin, headers=own, timeout=60, follow_redirects=False)
        self.clients.append(client)
        return client

    async def begin(self, client: httpx.AsyncClient, name: str, target: str = "/") -> str:
        """Sign in at the provider, and return the address that leads back."""
        begun = await client.get("/sign-in", params={"next": target})
        async with httpx.AsyncClient() as outside:
            chosen = await outside.get(httpx.URL(begun.headers["location"]).copy_add_param("name", name))
        return str(chosen.headers["location"])

    async def sign_in(self, name: str) -> httpx.AsyncClient:
        """Return a browser with the session of a person."""
        client = self.client()
        entered = await client.get(await self.begin(client, name))
        assert entered.status_code == 200, entered.text
        return client

    async def create_token(self, name: str) -> str:
        """Return a new token of a person."""
        client = await self.sign_in(name)
        page = (await client.post("/account/tokens", data={"label": "a program"})).text
        return page.split("only now: <code>")[1].split("<")[0]

    def read_audit(self) -> str:
        return (self.settings.home / "audit.jsonl").read_text(encoding="utf-8")


def make_settings(home: Path, provider: IdentityProvider, **changes: Any) -> Settings:
    """Return settings of a team of two."""
    port, temporal_port, ui_port = free_ports(3)
    values: dict[str, Any] = {
        "home": home,
        "site_port": port,
        "temporal_port": temporal_port,
        "ui_port": ui_port,
        "owners": TOKENS,
        "team_url": f"http://127.0.0.1:{port}",
        "team_people": {ANN: "ann", BOB: "bob"},
        "team_issuer": provider.issuer,
        "team_client_id": CLIENT_ID,
        "team_client_secret": CLIENT_SECRET,
    }
    return Settings(**values | changes, _env_file=None)


@asynccontextmanager
async def serve_settings(settings: Settings, provider: IdentityProvider) -> AsyncIterator[Team]:
    """Serve a team."""
    team = Team(settings, provider)
    with open_team_listener(settings) as listener:
        async with serve_team(locate_server(settings), settings, listener):
            try:
                yield team
            finally:
                for client in team.clients:
                    await client.aclose()


@asynccontextmanager
async def in_one_task(opening: AbstractAsyncContextManager[Team]) -> AsyncIterator[Team]:
    """Enter and leave in the same task, as task groups need it and fixtures do not do it."""
    opened: asyncio.Queue[Team] = asyncio.Queue()
    stop = asyncio.Event()

    async def run() -> None:
        async with opening as team:
            opened.put_nowait(team)
            await stop.wait()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run())
        yield await opened.get()
        stop.set()


@pytest.fixture
async def provider() -> AsyncIterator[IdentityProvider]:
    """Provider of identities."""
    async with run_identity_provider() as running:
        yield running


@pytest.fixture
async def idle_team(tmp_path: Path, provider: IdentityProvider) -> AsyncIterator[Team]:
    """Server of a team without a stack."""
    async with in_one_task(serve_settings(make_settings(tmp_path, provider), provider)) as team:
        yield team


@pytest.fixture(scope="session")
def team_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """Stack with the namespaces of two owners, each with a stub worker."""
    port, ui_port = free_ports(2)
    home = tmp_path_factory.mktemp("team") / "home"
    settings = Settings(
        home=home,
        temporal_port=port,
        ui_port=ui_port,
        site_port=0,
        owners=SECRETS,
        _env_file=None,
    )
    line = CommandLine(settings)
    stub = [sys.executable, str(ROOT / "tests" / "cli" / "stub_worker.py")]
    with pytest.MonkeyPatch.context() as without, ExitStack() as opened:
        for name in list(os.environ):
            if name.startswith(("TENURE_", "TEMPORAL_", "OPENAI_")):
                without.delenv(name)
        without.setenv("PYTHONPATH", str(ROOT))
        local.start_stack(settings, worker_command=stub)
        for owner, token in TOKENS.items():
            own = line.environment({"TENURE_OWNER": owner, "TENURE_OWNER_TOKEN": token})
            worker = opened.enter_context(subprocess.Popen(stub, env=own, cwd=home))
            opened.callback(worker.terminate)
        yield line
        local.stop_stack(settings)


@pytest.fixture
async def team(team_stack: CommandLine, provider: IdentityProvider) -> AsyncIterator[Team]:
    """Server of a team with a stack."""
    stack = team_stack.settings
    shared = {"temporal_port": stack.temporal_port, "ui_port": stack.ui_port}
    async with in_one_task(serve_settings(make_settings(stack.home, provider, **shared), provider)) as served:
        yield served
