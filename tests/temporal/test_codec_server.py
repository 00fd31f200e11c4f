"""The codec server over real HTTP, as the web UI and the `temporal` command speak to it."""

import asyncio
import base64
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr
from temporalio.api.common.v1 import Payload

from tenure.encryption_keys import KEY_BYTES
from tenure.settings import Settings
from tenure.temporal import codec_server
from tenure.temporal.codec_server import CodecServer, make_codec_server
from tenure.temporal.encryption import EncryptionCodec
from tenure.temporal.gate.access_key import load_key
from tenure.temporal.gate.http_server import Timeouts
from tests.support.other_user import needs_root, run_as_other_user
from tests.support.waiting import wait_until

KEYS = f"a:{base64.b64encode(bytes(KEY_BYTES)).decode()}"
CODEC = EncryptionCodec({"a": bytes(KEY_BYTES)})
UI = {"origin": "http://127.0.0.1:8233"}
PLAIN = Payload(metadata={"encoding": b"json/plain"}, data=b'"said"')


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CodecServer]:
    with CodecServer(CODEC, tmp_path, 0, 8233, Timeouts(header=2, body=2, idle=2)) as made:
        yield made


@pytest.fixture
def http(server: CodecServer, tmp_path: Path) -> Iterator[httpx.Client]:
    """A program with the home's key."""
    known = {"authorization": f"Bearer {load_key(tmp_path)}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", headers=known, timeout=30) as client:
        yield client


def as_json(payload: Payload) -> dict[str, object]:
    """Write a payload as the web UI does."""
    metadata = {name: base64.b64encode(value).decode() for name, value in payload.metadata.items()}
    return {"metadata": metadata, "data": base64.b64encode(payload.data).decode()}


def sealed() -> dict[str, object]:
    """Return a request with an encrypted payload."""
    return {"payloads": [as_json(CODEC.encrypt(PLAIN))]}


def send(port: int, request: bytes, *, ends: bool = False) -> bytes:
    """Send bytes and return the response."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as raw:
        raw.sendall(request)
        if ends:
            raw.shutdown(socket.SHUT_WR)
        received = b""
        while piece := raw.recv(65536):
            received += piece
        return received


def test_programs_with_the_key_get_plain_payloads(http: httpx.Client) -> None:
    """Payloads of the history are decrypted for those who know the key of the home."""
    assert http.post("/decode?preserve=true", json=sealed()).json() == {"payloads": [as_json(PLAIN)]}


def test_what_is_typed_into_the_web_ui_is_encrypted(http: httpx.Client) -> None:
    """A signal sent from the browser is encrypted before it reaches the server."""
    made = http.post("/encode", json={"payloads": [as_json(PLAIN)]}).json()["payloads"][0]
    assert made != as_json(PLAIN)
    assert http.post("/decode", json={"payloads": [made]}).json() == {"payloads": [as_json(PLAIN)]}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        UI,
        {"authorization": "Bearer wrong"},
        {"authorization": f"Bearer {'0' * 64}", **UI},
        {"authorization": "Basic d3Jvbmc6d3Jvbmc="},
        {"cookie": "tenure_8234=wrong"},
    ],
)
def test_without_the_key_nothing_is_decrypted(server: CodecServer, headers: dict[str, str]) -> None:
    """A program of the same machine without the key gets no payload, and the web UI's origin alone suffices not."""
    answer = httpx.post(f"http://127.0.0.1:{server.port}/decode", json=sealed(), headers=headers)
    assert answer.status_code in (401, 403)
    assert "c2FpZ" not in answer.text


def test_a_web_ui_on_another_port_uses_the_cookie(server: CodecServer) -> None:
    """After one visit of the link, pages of the web UI decrypt with the cookie; other pages do not."""
    with httpx.Client(timeout=30) as browser:
        browser.get(server.build_link())
        url = f"http://127.0.0.1:{server.port}/decode"
        answer = browser.post(url, json=sealed(), headers={**UI, "sec-fetch-site": "same-site"})
        assert answer.json() == {"payloads": [as_json(PLAIN)]}
        assert answer.headers["access-control-allow-origin"] == UI["origin"]
        assert answer.headers["access-control-allow-credentials"] == "true"
        for origin in ("http://evil.example", "null", "http://127.0.0.1:9", "https://127.0.0.1:8233"):
            refused = browser.post(url, json=sealed(), headers={"origin": origin})
            assert refused.status_code == 403
            assert "access-control-allow-origin" not in refused.headers
        assert browser.post(url, json=sealed()).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost.evil.example:{port}", "[::1]:{port}"]
)
def test_rebound_names_get_nothing(http: httpx.Client, host: str) -> None:
    """A host name of an attacker that resolves to this machine is refused, also with the key."""
    named = {"host": host.format(port=http.base_url.port)}
    assert http.post("/decode", json=sealed(), headers=named).status_code == 421


def test_browsers_are_told_who_may_ask(http: httpx.Client) -> None:
    """The web UI's question before the question is answered; another page's is not."""
    wish = {"access-control-request-method": "POST", "access-control-request-headers": "content-type,x-namespace"}
    asked = httpx.options(f"{http.base_url}/decode", headers={**UI, **wish})
    assert (asked.status_code, asked.headers["access-control-allow-methods"]) == (200, "POST")
    assert "x-namespace" in asked.headers["access-control-allow-headers"]
    other = {"origin": "http://evil.example"}
    assert "access-control-allow-origin" not in http.options("/decode", headers=other).headers


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/other", "{}", 404),
        ("/decode", "not JSON", 400),
        ("/decode", "[" * 100_000, 400),
        ("/decode", '{"payloads": 7}', 400),
        ("/decode", json.dumps({"payloads": [as_json(EncryptionCodec({"b": bytes(32)}).encrypt(Payload()))]}), 422),
    ],
)
def test_bad_requests_get_one_line(http: httpx.Client, path: str, body: str, status: int) -> None:
    """A payload that cannot be decrypted is refused with a reason, and the server continues."""
    answer = http.post(path, content=body)
    assert (answer.status_code, len(answer.text.splitlines())) == (status, 1)
    assert http.post("/decode", json={"payloads": []}).status_code == 200
    assert http.get("/decode").status_code == 405


@pytest.mark.parametrize(
    ("length", "ends", "status"),
    [
        (b"content-length: 10000000000", False, b"413"),
        (b"content-length: 1\r\ncontent-length: 2", False, b"400"),
        (b"content-length: -1", False, b"400"),
        (b"content-length: 100", True, b""),
        (b"content-length: 100", False, b""),
        (b"content-length: 1\r\ntransfer-encoding: chunked", False, b"400"),
    ],
)
def test_lengths_and_times_are_bounded(
    server: CodecServer, tmp_path: Path, length: bytes, ends: bool, status: bytes
) -> None:
    """Huge, contradictory, truncated and slow requests are refused, and the server continues."""
    key = load_key(tmp_path).encode()
    head = b"POST /decode HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nauthorization: Bearer %s\r\n" % (server.port, key)
    received = send(server.port, head + length + b"\r\n\r\n{", ends=ends)
    assert received.partition(b" ")[2][:3] == status
    assert send(server.port, head[:20]) == b""


@needs_root
def test_another_user_gets_no_answer(server: CodecServer, tmp_path: Path) -> None:
    """A connection of another user is closed, whatever it knows, and the socket of the home is out of reach."""
    code = """
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    connection.sendall(sys.argv[2].encode())
    try:
        print(connection.recv(100))
    except ConnectionResetError:
        print(b"")
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[3])
except PermissionError as error:
    print("refused")
"""
    request = f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\nauthorization: Bearer {load_key(tmp_path)}\r\n\r\n"
    path = str(tmp_path / "codec.sock")
    assert run_as_other_user("import socket, sys", code, str(server.port), request, path) == "b''\nrefused\n"


def test_there_is_a_server_only_with_keys_and_a_free_port(tmp_path: Path) -> None:
    """Without keys there is nothing to serve; a port that another worker serves is left to it."""
    assert make_codec_server(Settings(home=tmp_path, _env_file=None)) is None
    with CodecServer(CODEC, tmp_path, 0, 8233) as first:
        taken = Settings(home=tmp_path, encryption_keys=SecretStr(KEYS), codec_port=first.port, _env_file=None)
        assert make_codec_server(taken) is None


async def test_a_worker_serves_the_port_when_the_one_before_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the worker of an earlier version holds the port, the next one waits for it."""
    monkeypatch.setattr(codec_server, "RETRY_SECONDS", 0.02)
    made: list[CodecServer | None] = []

    def observe(settings: Settings, *, quiet: bool) -> CodecServer | None:
        made.append(make_codec_server(settings, quiet=quiet))
        return made[-1]

    monkeypatch.setattr(codec_server, "make_codec_server", observe)
    with CodecServer(CODEC, tmp_path, 0, 8233) as first:
        settings = Settings(home=tmp_path, encryption_keys=SecretStr(KEYS), codec_port=first.port, _env_file=None)
        serving = asyncio.create_task(codec_server.serve_while_needed(settings))
        await wait_until("two attempts", lambda: len(made), lambda count: count >= 2)
        assert set(made) == {None}
    own = await wait_until("the server of the task", lambda: made[-1])
    serving.cancel()
    assert own and own.port == first.port
