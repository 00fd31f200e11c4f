"""The reverse proxy in front of the web UI: its headers, bodies and errors."""

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from temporalio.api.common.v1 import Payload

from tenure.encryption_keys import KEY_BYTES
from tenure.temporal.codec_server import CodecServer
from tenure.temporal.encryption import EncryptionCodec
from tenure.temporal.gate.access import AccessPolicy
from tenure.temporal.gate.http_server import serve_app
from tenure.temporal.gate.web_ui import MAX_CODEC_BYTES, build_web_ui
from tests.support.ports import free_ports
from tests.temporal.gate.conftest import exchange, status_of

KEY = "ab" * 32


@dataclass
class Proxied:
    """A proxy before a server whose responses a test writes."""

    port: int
    cookie: str
    client: httpx.AsyncClient
    replies: list[bytes] = field(default_factory=list)
    asked: list[bytes] = field(default_factory=list)

    def reply(self, body: bytes = b"", *headers: str, status: str = "200 OK", length: int | None = None) -> None:
        """Prepare the next response of the server."""
        lines = [f"HTTP/1.1 {status}", f"content-length: {len(body) if length is None else length}", *headers]
        self.replies.append("\r\n".join((*lines, "", "")).encode() + body)


@pytest_asyncio.fixture
async def proxied(tmp_path: Path) -> AsyncIterator[Proxied]:
    found: list[Proxied] = []

    async def play_server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        sizes = [int(line[16:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")]
        found[0].asked.append(head + await reader.readexactly(sum(sizes)))
        writer.write(found[0].replies.pop(0))
        await writer.drain()
        writer.close()

    (port,) = free_ports(1)
    policy = AccessPolicy(KEY, port)
    cookie = policy.make_cookie().partition(";")[0]
    server = await asyncio.start_server(play_server, "127.0.0.1", 0)
    app = build_web_ui(policy, server.sockets[0].getsockname(), tmp_path)
    own = {"cookie": f"{cookie}; _csrf=c", "origin": policy.origin}
    async with (
        serve_app(app, socket.create_server(("127.0.0.1", port))),
        server,
        httpx.AsyncClient(base_url=policy.origin, headers=own, timeout=30) as client,
    ):
        found.append(Proxied(port, cookie, client))
        yield found[0]


async def test_secrets_of_the_gate_stay_with_it(proxied: Proxied) -> None:
    """The web UI sees its own cookies, and neither the gate's cookie, a key, nor a header that names another client."""
    proxied.reply(b"{}")
    extra = {
        **{"authorization": f"Bearer {KEY}", "x-forwarded-for": "1.2.3.4", "x-csrf-token": "c", "x-drop": "d"},
        **{"connection": "x-drop, keep-alive", "referer": f"http://127.0.0.1:{proxied.port}/?token=t"},
    }
    answer = await proxied.client.post("/api/v1/x?y=z", content=b"body", headers=extra)
    (asked,) = proxied.asked
    assert answer.status_code == 200
    assert asked.startswith(b"POST /api/v1/x?y=z HTTP/1.1\r\n")
    assert asked.endswith(b"\r\n\r\nbody")
    assert b"cookie: _csrf=c\r\n" in asked.lower()
    assert b"x-csrf-token: c\r\n" in asked.lower()
    for hidden in (proxied.cookie.encode(), KEY.encode(), b"token=t", b"x-forwarded-for", b"x-drop", b"origin"):
        assert hidden not in asked


async def test_responses_open_nothing_to_other_pages(proxied: Proxied) -> None:
    """The web UI cannot allow other origins to read it or to show it in a frame."""
    proxied.reply(b"<html>", "content-type: text/html", "access-control-allow-origin: *", "x-frame-options: ALLOWALL")
    answer = await proxied.client.get("/")
    assert answer.text == "<html>"
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["x-frame-options"] == "DENY"
    assert proxied.cookie in answer.headers["set-cookie"]


async def test_large_responses_are_passed_in_parts(proxied: Proxied) -> None:
    """A response of many megabytes arrives unchanged."""
    large = bytes(range(256)) * 40_000
    proxied.reply(large)
    assert (await proxied.client.get("/large")).content == large


@pytest.mark.parametrize("reply", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"])
async def test_a_broken_server_is_named(proxied: Proxied, reply: bytes) -> None:
    """A server that sends no valid response is an error of one line."""
    proxied.replies.append(reply)
    answer = await proxied.client.get("/")
    assert (answer.status_code, len(answer.text.splitlines())) == (502, 1)


async def test_a_cut_response_is_no_whole_one(proxied: Proxied) -> None:
    """A response that ends early is an error for the browser as well."""
    proxied.reply(b"half", length=100)
    with pytest.raises(httpx.RemoteProtocolError):
        await proxied.client.get("/")


async def test_a_stopped_server_is_named(tmp_path: Path) -> None:
    """Without a server, the page says which command shows the state of the stack."""
    port, other = free_ports(2)
    policy = AccessPolicy(KEY, port)
    app = build_web_ui(policy, ("127.0.0.1", other), tmp_path)
    async with serve_app(app, socket.create_server(("127.0.0.1", port))):
        head = f"GET / HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {KEY}\r\n\r\n"
        received = await exchange(port, head.encode())
    assert status_of(received) == 502
    assert b"python client.py status" in received


async def test_requests_of_strangers_never_reach_the_server(proxied: Proxied) -> None:
    """A refused request is answered by the gate, and its body is not read."""
    lines = [b"POST /api/v1/x HTTP/1.1", b"host: evil.example", b"cookie: " + proxied.cookie.encode()]
    received = await exchange(
        proxied.port, b"\r\n".join([*lines, b"connection: close", b"content-length: 5", b"", b"12345"])
    )
    assert status_of(received) == 421
    assert proxied.asked == []


async def test_payloads_are_decrypted_at_the_origin_of_the_web_ui(proxied: Proxied, tmp_path: Path) -> None:
    """The worker's codec server answers through the gate, for those who may use the web UI."""
    codec = EncryptionCodec({"a": bytes(KEY_BYTES)})
    sealed = codec.encrypt(Payload(metadata={"encoding": b"json/plain"}, data=b'"said"'))
    metadata = {name: base64.b64encode(value).decode() for name, value in sealed.metadata.items()}
    body = json.dumps({"payloads": [{"metadata": metadata, "data": base64.b64encode(sealed.data).decode()}]})
    assert (await proxied.client.post("/codec/decode", content=body)).status_code == 503
    with CodecServer(codec, tmp_path, 0, proxied.port):
        answer = await proxied.client.post("/codec/decode", content=body)
        assert base64.b64decode(answer.json()["payloads"][0]["data"]) == b'"said"'
        assert (await proxied.client.post("/codec/decode", content=body, headers={"cookie": ""})).status_code == 401
        assert (await proxied.client.post("/codec/other", content=body)).status_code == 404
        head = f"POST /codec/decode HTTP/1.1\r\nhost: 127.0.0.1:{proxied.port}\r\nauthorization: Bearer {KEY}\r\n"
        large = f"{head}connection: close\r\ncontent-length: {MAX_CODEC_BYTES + 1}\r\n\r\n"
        assert status_of(await exchange(proxied.port, large.encode())) == 413
    assert proxied.asked == []
