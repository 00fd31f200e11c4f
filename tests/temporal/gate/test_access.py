"""Access to a local service: links, cookies, keys, host names, and requests that other pages cause."""

import re
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from starlette.responses import HTMLResponse

from tenure.temporal.gate.access import AccessGate, AccessPolicy
from tenure.temporal.gate.access_key import KEY_FILE, LINK_SECONDS, build_link, load_key
from tenure.temporal.gate.http_server import serve_app
from tests.temporal.gate.conftest import exchange, status_of

KEY = "0123456789abcdef" * 4
WORKFLOW = "/namespaces/default/workflows/a%20b?page=2"


class Service:
    """A service with one secret, on a port of its own."""

    def __init__(self, port: int, policy: AccessPolicy) -> None:
        self.port, self.policy = port, policy
        self.origin = f"http://127.0.0.1:{port}"
        self.cookie = policy.make_cookie().partition(";")[0]

    async def ask(self, line: str = "GET /", *headers: str, host: str | None = None) -> bytes:
        """Send a request and return the response."""
        named = f"127.0.0.1:{self.port}" if host is None else host
        lines = [f"{line} HTTP/1.1", f"host: {named}", "connection: close", *headers]
        return await exchange(self.port, "\r\n".join((*lines, "", "")).encode("latin-1"))


@pytest_asyncio.fixture
async def service() -> AsyncIterator[Service]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        policy = AccessPolicy(KEY, port, ["http://127.0.0.1:9"])
        async with serve_app(AccessGate(HTMLResponse("the secret"), policy), listener):
            yield Service(port, policy)


async def test_strangers_get_a_page_that_names_the_command(service: Service) -> None:
    """Without link, cookie or key, the page says which command prints a link, and nothing else."""
    received = await service.ask()
    assert status_of(received) == 401
    assert b"python client.py status" in received
    assert b"secret" not in received


async def test_a_link_leads_in_and_leaves_no_token(service: Service) -> None:
    """The link sets a cookie that no script reads and no other site sends, and continues without the token."""
    link = build_link(KEY, service.origin + WORKFLOW)
    received = (await service.ask(f"GET {link.removeprefix(service.origin)}")).decode()
    assert "HttpOnly; SameSite=Strict" in received
    assert re.search(r'content="0;url=([^"]*)"', received)[1] == WORKFLOW.replace("&", "&amp;")  # type: ignore[index]
    assert link.partition("token=")[2] not in received
    assert "referrer-policy: no-referrer" in received
    assert KEY not in received
    assert b"the secret" in await service.ask("GET /", f"cookie: a=b; {service.cookie}; c=d")


async def test_programs_use_the_key(service: Service) -> None:
    """The key of the home opens the service to programs, for requests that change something as well."""
    assert b"the secret" in await service.ask("GET /", f"authorization: Bearer {KEY}")
    assert b"the secret" in await service.ask("POST /", f"authorization: Bearer {KEY}", "content-length: 0")


@pytest.mark.parametrize(
    "token",
    ["", "0", "x.y", "ffffffff.", f"ffffffff.{'0' * 32}", f"{KEY}", "ffffffff.é", "é.é", f"-1.{'0' * 32}", "%00.%00"],
)
async def test_forged_tokens_lead_nowhere(service: Service, token: str) -> None:
    """A token that the key did not sign sets no cookie."""
    received = await service.ask(f"GET /?token={token.encode().decode('latin-1')}")
    assert status_of(received) in (400, 401)
    assert b"set-cookie" not in received


async def test_links_expire(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link opens the service for a day; a browser that was there before follows it later as well."""
    target = build_link(KEY, service.origin).removeprefix(service.origin)
    tomorrow = time.time() + LINK_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: tomorrow)
    assert status_of(await service.ask(f"GET {target}")) == 401
    assert status_of(await service.ask(f"GET {target}", f"cookie: {service.cookie}")) == 200


async def test_a_token_with_another_date_is_forged(service: Service) -> None:
    """The date of a token is part of what is signed."""
    _, _, token = build_link(KEY, service.origin, now=0).partition("token=")
    later = f"ffffffff.{token.partition('.')[2]}"
    assert status_of(await service.ask(f"GET /?token={later}")) == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "localhost.evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "evil.example:{port}@127.0.0.1:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.",
        "127.0.0.1.:{port}",
        "localhost.:{port}",
        "127.1:{port}",
        "2130706433:{port}",
        "0.0.0.0:{port}",
        "[::1]:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "127.0.0.1:{port}, evil.example",
        "",
    ],
)
async def test_other_host_names_get_nothing(service: Service, host: str) -> None:
    """A name that resolves to this machine is refused, also with a valid cookie and key."""
    known = (f"cookie: {service.cookie}", f"authorization: Bearer {KEY}")
    for line in ("GET /", "POST /", f"GET {build_link(KEY, '')}"):
        received = await service.ask(line, *known, "content-length: 0", host=host.format(port=service.port))
        assert status_of(received) in (400, 421)
        assert b"secret" not in received
        assert b"set-cookie" not in received


async def test_localhost_is_led_to_the_address(service: Service) -> None:
    """Pages have one origin: a visit of `localhost` continues at 127.0.0.1, and nothing is changed there."""
    host = f"LocalHost:{service.port}"
    received = await service.ask("GET /a?b=c", host=host)
    assert status_of(received) == 307
    assert f"location: {service.origin}/a?b=c".encode() in received
    assert status_of(await service.ask("POST /a", f"cookie: {service.cookie}", host=host)) == 421


FORBIDDEN = [
    ("POST /", ()),
    ("POST /", ("origin: http://evil.example",)),
    ("POST /", ("origin: null",)),
    ("POST /", ("origin: https://127.0.0.1:{port}",)),
    ("POST /", ("origin: http://127.0.0.1:1",)),
    ("POST /", ("origin: http://localhost:{port}",)),
    ("POST /", ("origin: http://127.0.0.1:{port}.evil.example",)),
    ("POST /", ("sec-fetch-site: cross-site", "sec-fetch-mode: navigate")),
    ("POST /", ("sec-fetch-site: same-site", "sec-fetch-mode: navigate")),
    ("POST /", ("sec-fetch-site: none",)),
    ("POST /", ("content-type: application/x-www-form-urlencoded", "referer: http://127.0.0.1:{port}/")),
    ("POST /", ("authorization: Bearer wrong",)),
    ("DELETE /", ()),
    ("PUT /", ("sec-fetch-site: same-site",)),
    ("GET /", ("origin: http://evil.example",)),
    ("GET /", ("sec-fetch-site: same-site", "sec-fetch-mode: no-cors")),
    ("GET /", ("sec-fetch-site: cross-site", "sec-fetch-mode: cors")),
]


@pytest.mark.parametrize(("line", "headers"), FORBIDDEN)
async def test_requests_of_other_pages_are_refused(service: Service, line: str, headers: tuple[str, ...]) -> None:
    """Cookies reach every port of a host: a request with one must also come from the service's own pages."""
    filled = [header.format(port=service.port) for header in headers]
    received = await service.ask(line, f"cookie: {service.cookie}", "content-length: 0", *filled)
    assert status_of(received) == 403
    assert b"secret" not in received


async def test_requests_of_own_pages_are_served(service: Service) -> None:
    """Pages of the service change things, by either of the headers that browsers send."""
    for header in (f"origin: {service.origin}", "sec-fetch-site: same-origin"):
        assert b"the secret" in await service.ask("POST /", f"cookie: {service.cookie}", "content-length: 0", header)


@pytest.mark.parametrize(
    ("line", "headers"),
    [
        ("POST /", ("content-length: 4", "transfer-encoding: chunked")),
        ("GET http://evil.example/", ()),
        ("GET //evil.example/", ()),
        ("GET /\\evil.example/", ()),
        ("GET /a/%2e%2e/b", ()),
        ("GET /a%5Cb", ()),
        ("GET /%00", ()),
        ("OPTIONS *", ()),
        ("CONNECT evil.example:80", ()),
        ("PRI *", ()),
    ],
)
async def test_ambiguous_requests_are_refused(service: Service, line: str, headers: tuple[str, ...]) -> None:
    """A request that two servers could read in two ways is refused, also with the key."""
    received = await service.ask(line, f"authorization: Bearer {KEY}", *headers)
    assert status_of(received) in (400, 405)
    assert b"secret" not in received


async def test_methods_that_proxies_know_are_refused(service: Service) -> None:
    """TRACE would return the cookie to a script."""
    received = await service.ask("TRACE /", f"cookie: {service.cookie}")
    assert status_of(received) == 405
    assert service.cookie.encode() not in received


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_link_on_another_site_opens_the_page(service: Service, site: str) -> None:
    """A browser withholds the cookie from such a visit; the page loads itself again, once."""
    headers = (f"sec-fetch-site: {site}", "sec-fetch-mode: navigate")
    received = await service.ask("GET /a", *headers)
    assert b'content="0;url=/a"' in received
    assert b"secret" not in received
    assert b"set-cookie" not in received
    assert status_of(await service.ask("GET /a", "sec-fetch-site: same-origin", "sec-fetch-mode: navigate")) == 401


async def test_the_page_of_a_refused_visit_quotes_addresses(service: Service) -> None:
    """An address that the page repeats cannot break out of it."""
    headers = ("sec-fetch-site: cross-site", "sec-fetch-mode: navigate")
    received = await service.ask('GET /"><script>alert(1)</script>', *headers)
    assert b"<script>" not in received


@pytest.mark.parametrize(
    "cookie", ["{name}=", "{name}=x", "{name}={key}", "{name}1={value}", "x{name}={value}", "{name}={value}x"]
)
async def test_wrong_cookies_are_refused(service: Service, cookie: str) -> None:
    """Neither the key nor a similar cookie is the cookie."""
    name, _, value = service.cookie.partition("=")
    received = await service.ask("GET /", f"cookie: {cookie.format(name=name, value=value, key=KEY)}")
    assert status_of(received) == 401


def test_each_home_and_port_has_its_cookie() -> None:
    """The cookie of one home or port is none of another."""
    made = {AccessPolicy(key, port).make_cookie() for key in (KEY, KEY[::-1]) for port in (1, 2)}
    assert len(made) == 4


def test_the_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    """The key of a home stays the same, and only its owner may read it."""
    key = load_key(tmp_path)
    assert load_key(tmp_path) == key
    assert len(key) == 64
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"short", b"not a key " * 8, b"\xff" * 64])
def test_a_damaged_key_is_named(tmp_path: Path, content: bytes) -> None:
    """A key that anybody could guess is not used."""
    (tmp_path / KEY_FILE).write_bytes(content)
    with pytest.raises(OSError, match=r"delete it"):
        load_key(tmp_path)
