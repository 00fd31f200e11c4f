"""Test who reaches the site: over real HTTP, with requests as other programs and other pages send them."""

import asyncio
import stat
import webbrowser
from pathlib import Path

import pytest

from tenure.cli.commands.serve import OPEN_FILE, open_link
from tenure.site.server import CONTENT_SECURITY_POLICY
from tests.site.conftest import Site

STATIC = "/static/site.css"
SPEC = "/api/v1/openapi.json"


async def send_raw(site: Site, target: str, headers: str = "") -> bytes:
    """Send a request line as it is, which a client library would correct, and return the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    request = f"GET {target} HTTP/1.1\r\nhost: 127.0.0.1:{site.port}\r\nconnection: close\r\n{headers}\r\n"
    writer.write(request.encode("latin-1"))
    response = await reader.read()
    writer.close()
    return response


async def test_without_a_token_nothing_is_shown(idle_site: Site) -> None:
    """Pages, files and the API answer 401 to a program that has neither the key nor the cookie."""
    async with idle_site.client(owner=False) as client:
        answers = [await client.get(path) for path in ("/", STATIC, SPEC, "/api/v1/runs", "/runs/x/report")]
        posted = await client.post("/api/v1/runs", json={"question": "Why?"})

    assert {answer.status_code for answer in [*answers, posted]} == {401}
    assert all("client.py serve" in answer.text for answer in answers)


@pytest.mark.parametrize("token", ["", "0.0", "ffffffff.00000000000000000000000000000000", "x"])
async def test_a_forged_token_is_refused(idle_site: Site, token: str) -> None:
    """A link with a token that this home has not signed sets no cookie."""
    async with idle_site.client(owner=False) as client:
        answer = await client.get("/", params={"token": token})

    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


async def test_the_link_lets_a_browser_in_by_a_strict_cookie(idle_site: Site) -> None:
    """The token becomes a cookie that scripts cannot read and other sites cannot send, and leaves the address."""
    async with idle_site.client(owner=False) as client:
        entered = await client.get(idle_site.link)
        shown = await client.get(SPEC)

    cookie = entered.headers["set-cookie"]
    assert (entered.status_code, shown.status_code) == (200, 200)
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert 'content="0;url=/"' in entered.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:80", ""])
async def test_a_foreign_host_name_gets_nothing(idle_site: Site, host: str) -> None:
    """A name that resolves to this machine (DNS rebinding) is refused, even with the key."""
    async with idle_site.client(host=host) as client:
        answer = await client.get(SPEC)

    assert answer.status_code in (400, 421)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=str,
)
async def test_pages_of_other_origins_send_nothing(idle_site: Site, headers: dict[str, str]) -> None:
    """A post that another page caused is refused, with the cookie as with the key."""
    async with idle_site.client(owner=False) as client:
        await client.get(idle_site.link)
        by_cookie = await client.post("/runs", data={"question": "Why?"}, headers=headers)
    async with idle_site.client() as client:
        by_key = await client.post("/api/v1/runs", json={"question": "Why?"}, headers=headers)

    assert (by_cookie.status_code, by_key.status_code) == (403, 403)


async def test_a_post_with_the_cookie_needs_an_origin(idle_site: Site) -> None:
    """A browser names the origin of a post; a cookie without one is not enough."""
    async with idle_site.client(owner=False) as client:
        await client.get(idle_site.link)
        answer = await client.post("/runs", data={"question": "Why?"})

    assert answer.status_code == 403


@pytest.mark.parametrize(
    "target",
    [
        "/static/../access.key",
        "/static/..%2f..%2faccess.key",
        "/static/%2e%2e/access.key",
        "/static/..%5caccess.key",
        "//evil.example/static/site.css",
        "/static\\site.css",
        "/static/%00site.css",
        "http://evil.example/static/site.css",
        "/static/server.py",
        "/static/base.html.jinja",
    ],
)
async def test_path_tricks_reach_no_file(idle_site: Site, target: str) -> None:
    """Only three files are served by their names; every other spelling of a path is an error."""
    key = idle_site.client().headers["authorization"]
    response = await send_raw(idle_site, target, f"authorization: {key}\r\n")

    assert response.split(b" ", 2)[1] in (b"400", b"404")
    assert key.removeprefix("Bearer ").encode() not in response


async def test_every_response_forbids_foreign_scripts_and_frames(idle_site: Site) -> None:
    """Pages, errors and files carry the policy, and no page contains a script or a style of its own."""
    async with idle_site.client() as client:
        answers = [await client.get(path) for path in (STATIC, SPEC, "/nowhere", "/api/v1/nowhere")]

    assert "unsafe" not in CONTENT_SECURITY_POLICY
    for answer in answers:
        assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


async def test_large_requests_are_refused(idle_site: Site) -> None:
    """A body above the maximum size is not read into memory."""
    async with idle_site.client() as client:
        answer = await client.post(
            "/api/v1/runs", content=b" " * 2_000_000, headers={"content-type": "application/json"}
        )

    assert answer.status_code == 413


async def test_a_body_of_another_type_is_refused(idle_site: Site) -> None:
    """The API reads JSON only, which a form of another page cannot send."""
    async with idle_site.client() as client:
        plain = await client.post("/api/v1/runs", content=b"{}", headers={"content-type": "text/plain"})
        form = await client.post("/runs", content=b"question=Why", headers={"content-type": "text/plain"})

    assert (plain.status_code, form.status_code) == (422, 422)


async def test_a_home_without_a_stack_is_explained(idle_site: Site) -> None:
    """Without a Temporal server the page and the API name the command that starts one."""
    async with idle_site.client() as client:
        page, api = await client.get("/"), await client.get("/api/v1/runs")

    assert (page.status_code, api.status_code) == (503, 503)
    assert "client.py up" in page.text
    assert "client.py up" in api.json()["error"]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_visit_from_another_site_gets_no_cookie(idle_site: Site, site: str) -> None:
    """A program that claims to be such a visit is led to the page again, and not let in."""
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    async with idle_site.client(owner=False, **headers) as client:
        answer = await client.get(STATIC)

    assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)


def test_the_token_is_no_argument_of_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other users can read the arguments of a browser: they name a private file, which holds the link."""
    arguments = tmp_path / "arguments"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$@" > "{arguments}"\n', encoding="utf-8")
    script.chmod(0o700)
    monkeypatch.setattr(webbrowser, "_tryorder", ["test"])
    monkeypatch.setattr(webbrowser, "_browsers", {"test": [None, webbrowser.GenericBrowser(str(script))]})

    open_link("http://127.0.0.1:1/?token=a.b", tmp_path)

    page = tmp_path / OPEN_FILE
    assert arguments.read_text() == f"{page.as_uri()}\n"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert 'content="0;url=http://127.0.0.1:1/?token=a.b"' in page.read_text()


def test_a_machine_without_a_browser_gets_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The link has been printed already, so the command only says what to do with it."""
    monkeypatch.setattr(webbrowser, "_tryorder", [])
    monkeypatch.setattr(webbrowser, "_browsers", {})

    open_link("http://127.0.0.1:1/?token=a.b", tmp_path)

    assert "open the link in one" in capsys.readouterr().err
