"""Test the header of a proxy, the quotas of an owner and what only administrators may do."""

import asyncio
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from pydantic import ValidationError

from tenure.runs.errors import QuotaReached
from tests.support.servers.identity_provider import IdentityProvider
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.team.conftest import ANN, BOB, Team, in_one_task, make_settings, serve_settings

HEADER = "X-Forwarded-Email"


@pytest.mark.parametrize(
    ("proxies", "headers", "status"),
    [
        ("127.0.0.1", {HEADER: ANN}, 200),
        ("127.0.0.0/8", {HEADER: ANN}, 200),
        ("127.0.0.1", {HEADER: "eve@example.org"}, 401),
        ("127.0.0.1", {}, 401),
        ("10.0.0.5", {HEADER: ANN}, 403),
        ("10.0.0.5", {HEADER: ANN, "X-Forwarded-For": "10.0.0.5"}, 403),
    ],
)
async def test_only_the_proxy_names_people(
    tmp_path: Path, provider: IdentityProvider, proxies: str, headers: dict[str, str], status: int
) -> None:
    """The header of a configured address is believed, and a forged one is refused, whatever else it claims."""
    changes = {"team_issuer": "", "team_header": HEADER, "team_proxies": proxies}
    async with in_one_task(serve_settings(make_settings(tmp_path, provider, **changes), provider)) as team:
        account = await team.client(**headers).get("/account")

    assert account.status_code == status
    assert (ANN in account.text) == (status == 200)


async def test_a_name_that_occurs_twice_is_refused(tmp_path: Path, provider: IdentityProvider) -> None:
    """A proxy that appends its header to that of the client would leave two names."""
    changes = {"team_issuer": "", "team_header": HEADER, "team_proxies": "127.0.0.1"}
    async with in_one_task(serve_settings(make_settings(tmp_path, provider, **changes), provider)) as team:
        answer = await team.client().get("/account", headers=[(HEADER, ANN), (HEADER, BOB)])

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"team_people": {}}, "TENURE_TEAM_PEOPLE"),
        ({"team_people": {"eve@example.org": "eve"}}, "'eve'"),
        ({"team_header": HEADER}, "TENURE_TEAM_PROXIES"),
        ({"team_client_secret": None}, "TENURE_TEAM_CLIENT_SECRET"),
        ({"team_issuer": ""}, "TENURE_TEAM_ISSUER"),
        ({"team_issuer": "http://login.example"}, "pattern"),
        ({"team_url": "http://tenure.example"}, "pattern"),
        ({"team_proxies": "everyone", "team_header": HEADER}, "everyone"),
    ],
    ids=str,
)
def test_settings_that_let_nobody_or_everybody_in_are_refused(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    """The message names the setting to change."""
    provider = IdentityProvider("https://login.example")
    with pytest.raises(ValidationError, match=words):
        make_settings(tmp_path, provider, **changes)


async def end_all(client: httpx.AsyncClient) -> bool:
    """Cancel the runs of other tests; return whether no run is left."""
    runs = (await client.get("/api/v1/runs", params={"status": "running"})).json()["runs"]
    for run in runs:
        await client.post(f"/api/v1/runs/{run['id']}/steer", json={"name": "cancel"})
    return not runs


@slow
async def test_an_owner_has_a_number_of_runs(team: Team) -> None:
    """Simultaneous starts of page and API stop at the limit with a clear message, and other owners are not affected."""
    client, bob = await team.sign_in(ANN), await team.sign_in(BOB)
    await wait_until("end of the runs of other tests", lambda: end_all(client))
    names = [f"q-{uuid4().hex[:8]}" for _ in range(8)]
    bodies = [{"question": "wait here", "id": name} for name in names]
    answers = await asyncio.gather(*(client.post("/api/v1/runs", json=body) for body in bodies))
    page = await client.post("/runs", data={"question": "wait here"})
    other = await bob.post("/api/v1/runs", json=bodies[0])
    started = [one.json()["id"] for one in answers if one.status_code == 201]
    for run in started:
        await client.post(f"/api/v1/runs/{run}/steer", json={"name": "cancel"})
    await bob.post(f"/api/v1/runs/{other.json()['id']}/steer", json={"name": "cancel"})

    assert sorted(one.status_code for one in answers) == [201] * 5 + [429] * 3
    assert page.status_code == 429 and "5 of your runs are under way" in page.text
    assert other.status_code == 201


def test_a_quota_is_an_error_of_its_own() -> None:
    """Faces distinguish it from a fault of the request."""
    assert not issubclass(QuotaReached, ValueError)
