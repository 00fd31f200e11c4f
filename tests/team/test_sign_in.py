"""Test who signs in: real HTTP, and a provider that makes mistakes."""

import json
import stat
from typing import Any

import httpx
import pytest
from joserfc.jwk import OctKey, RSAKey

from tests.support.servers.identity_provider import CLIENT_ID
from tests.team.conftest import ANN, BOB, Team

REFUSED = (401, 403)


async def test_a_person_signs_in_and_out(idle_team: Team) -> None:
    """The session is a strict cookie that scripts cannot read; after the sign-out it opens nothing, also if kept."""
    client = idle_team.client()
    before = await client.get("/account")
    entered = await client.get(await idle_team.begin(client, ANN, "/account"))
    account = await client.get("/account")
    kept = client.cookies["tenure_team"]
    left = await client.post("/sign-out")
    after = await client.get("/account", headers={"cookie": f"tenure_team={kept}"})

    cookie = next(one for one in entered.headers.get_list("set-cookie") if one.startswith("tenure_team="))
    assert (before.status_code, before.headers["location"]) == (303, "/sign-in?next=%2Faccount")
    assert {"HttpOnly", "SameSite=strict", "Max-Age=43200"} <= {*cookie.split("; ")}
    assert 'content="0;url=/account"' in entered.text
    assert ANN in account.text
    assert (left.status_code, after.status_code) == (200, 303)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1_000_000_000},
        {"exp": None},
        {"aud": "another server"},
        {"aud": ["another server"], "azp": CLIENT_ID},
        {"aud": None},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"iss": "https://evil.example"},
        {"iat": 4_000_000_000},
        {"email_verified": False},
        {"email_verified": None},
        {"email": None},
        {"email": "eve@example.org"},
        {"email": "ANN@example.org "},
    ],
    ids=str,
)
async def test_a_token_for_another_purpose_lets_nobody_in(idle_team: Team, claims: dict[str, Any]) -> None:
    """Expired, for another server or sign-in, of another provider, of an unknown or unverified address."""
    idle_team.provider.claims = claims
    client = idle_team.client()
    answer = await client.get(await idle_team.begin(client, ANN))

    assert answer.status_code in REFUSED
    assert "tenure_team" not in client.cookies
    assert (await client.get("/account")).status_code == 303


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [
        ("RS256", RSAKey.generate_key(2048, {"kid": "1"})),
        ("HS256", OctKey.import_key(b"a secret of this server at the provider")),
    ],
)
async def test_a_signature_of_another_key_is_refused(idle_team: Team, algorithm: str, key: Any) -> None:
    """The provider signs with its own private key, and with no secret that others know."""
    idle_team.provider.algorithm, idle_team.provider.signs_with = algorithm, key
    client = idle_team.client()

    assert (await client.get(await idle_team.begin(client, ANN))).status_code == 401


async def test_a_sign_in_completes_once_and_in_its_own_browser(idle_team: Team) -> None:
    """The address that leads back works neither again, nor in another browser, nor with another state."""
    client = idle_team.client()
    back = await idle_team.begin(client, ANN)
    elsewhere = await idle_team.client().get(back)
    entered = await client.get(back)
    again = await client.get(back)
    other = idle_team.client()
    forged = await other.get((await idle_team.begin(other, BOB)).replace("state=", "state=x"))

    assert [one.status_code for one in (elsewhere, entered, again, forged)] == [401, 200, 401, 401]
    assert idle_team.provider.requests == 1


async def test_a_replayed_code_is_refused(idle_team: Team) -> None:
    """A code of an earlier sign-in, put into a new one, is refused by the provider."""
    client = idle_team.client()
    back = httpx.URL(await idle_team.begin(client, ANN))
    await client.get(back)
    fresh = httpx.URL(await idle_team.begin(client, ANN))
    answer = await client.get(fresh.copy_set_param("code", back.params["code"]))

    assert answer.status_code == 401


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "/sign-in", ""])
async def test_a_sign_in_leads_to_this_server_only(idle_team: Team, target: str) -> None:
    """The page after the sign-in cannot be one of another server."""
    client = idle_team.client()

    assert 'content="0;url=/"' in (await client.get(await idle_team.begin(client, ANN, target))).text


async def test_a_provider_that_does_not_answer_is_explained(idle_team: Team) -> None:
    """The page says what is wrong, and shows no error of a library."""
    client = idle_team.client()
    idle_team.provider.is_down = True
    answer = await client.get("/sign-in")

    assert answer.status_code == 401
    assert "does not answer" in answer.text


async def test_a_token_acts_as_its_person_until_it_is_ended(idle_team: Team) -> None:
    """A program with a token reaches the API, makes no other token, and is refused after the end of the token."""
    secret = await idle_team.create_token(BOB)
    browser = await idle_team.sign_in(BOB)
    program = {"authorization": f"Bearer {secret}"}
    async with httpx.AsyncClient(base_url=idle_team.origin, headers=program) as client:
        served = await client.get("/api/v1/openapi.json")
        copied = await client.post("/account/tokens", data={"label": "another"})
        id = (await browser.get("/account")).text.split('name="id" value="')[1].split('"')[0]
        stranger = await idle_team.sign_in(ANN)
        await stranger.post("/account/tokens/end", data={"id": id})
        kept = await client.get("/api/v1/openapi.json")
        await browser.post("/account/tokens/end", data={"id": id})
        ended = await client.get("/api/v1/openapi.json")

    assert [one.status_code for one in (served, copied, kept, ended)] == [200, 403, 200, 401]
    assert ended.headers["www-authenticate"] == "Bearer"
    for path in idle_team.settings.home.iterdir():
        assert secret.encode() not in (path.read_bytes() if path.is_file() else b"")


async def test_other_pages_send_nothing_with_a_session(idle_team: Team) -> None:
    """Posts from other origins, foreign host names and links with the token of a home have no effect."""
    client = await idle_team.sign_in(ANN)
    foreign = await client.post("/sign-out", headers={"origin": "https://evil.example"})
    named = await client.get("/account", headers={"host": "evil.example"})
    linked = await idle_team.client().get("/account", params={"token": "0.0"})

    assert (foreign.status_code, named.status_code, linked.status_code) == (403, 421, 303)
    assert (await client.get("/account")).status_code == 200


async def test_the_audit_log_names_people_and_no_secret(idle_team: Team) -> None:
    """Sign-ins, refused ones too, are lines of a file that only its owner reads."""
    secret = await idle_team.create_token(ANN)
    client = idle_team.client()
    await client.get(await idle_team.begin(client, "eve@example.org"))
    lines = [json.loads(line) for line in idle_team.read_audit().splitlines()]

    assert [(line["action"], line.get("person"), line["outcome"][:7]) for line in lines] == [
        ("sign in", ANN, "done"),
        ("create token", ANN, "done"),
        ("sign in", None, "refused"),
    ]
    assert secret not in idle_team.read_audit()
    modes = {
        stat.S_IMODE((idle_team.settings.home / name).stat().st_mode)
        for name in ("audit.jsonl", "team-credentials.sqlite")
    }
    assert modes == {0o600}


async def test_health_needs_no_sign_in(idle_team: Team) -> None:
    """Probes of an orchestrator know neither the host name nor a session."""
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{idle_team.origin}/healthz", headers={"host": "10.0.0.7:8235"})

    assert answer.status_code == 200
