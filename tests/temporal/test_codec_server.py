"""The codec server over real HTTP, as the web UI and the `temporal` command speak to it."""

import base64
import json
import socket
from collections.abc import Iterator

import httpx
import pytest
from pydantic import SecretStr
from temporalio.api.common.v1 import Payload

from tenure.settings import KEY_BYTES, Settings
from tenure.temporal.codec_server import CodecServer, make_codec_server
from tenure.temporal.encryption import EncryptionCodec

KEYS = f"a:{base64.b64encode(bytes(KEY_BYTES)).decode()}"
CODEC = EncryptionCodec({"a": bytes(KEY_BYTES)})
UI = {"origin": "http://127.0.0.1:8233"}


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    server = CodecServer(CODEC, 0, 8233)
    with server, httpx.Client(base_url=f"http://127.0.0.1:{server.server_address[1]}") as client:
        yield client


def as_json(payload: Payload) -> dict[str, object]:
    """Write a payload as the web UI does."""
    metadata = {name: base64.b64encode(value).decode() for name, value in payload.metadata.items()}
    return {"metadata": metadata, "data": base64.b64encode(payload.data).decode()}


def test_payloads_are_deciphered_for_the_web_ui(http: httpx.Client) -> None:
    """Payloads of the history are decrypted, and the web UI's pages may read the reply."""
    plain = Payload(metadata={"encoding": b"json/plain"}, data=b'"said"')
    sealed = as_json(CODEC.encrypt(plain))
    headers = {**UI, "x-namespace": "default"}
    answer = http.post("/decode?preserve=true", json={"payloads": [sealed]}, headers=headers)
    assert answer.json() == {"payloads": [as_json(plain)]}
    assert answer.headers["access-control-allow-origin"] == UI["origin"]


def test_what_is_typed_into_the_web_ui_is_encrypted(http: httpx.Client) -> None:
    """A signal sent from the browser is encrypted before it reaches the server."""
    plain = Payload(metadata={"encoding": b"json/plain"}, data=b'"more"')
    made = http.post("/encode", json={"payloads": [as_json(plain)]}, headers=UI).json()["payloads"][0]
    assert made != as_json(plain)
    assert http.post("/decode", json={"payloads": [made]}).json() == {"payloads": [as_json(plain)]}


def test_browsers_are_told_who_may_ask(http: httpx.Client) -> None:
    """The web UI's question before the question is answered; another page's is not."""
    wish = {"access-control-request-method": "POST", "access-control-request-headers": "content-type,x-namespace"}
    asked = http.options("/decode", headers={**UI, **wish})
    assert (asked.status_code, asked.headers["access-control-allow-methods"]) == (204, "POST, OPTIONS")
    assert "x-namespace" in asked.headers["access-control-allow-headers"]
    other = {"origin": "http://evil.example"}
    assert "access-control-allow-origin" not in http.options("/decode", headers=other).headers
    assert http.post("/decode", json={"payloads": []}, headers=other).status_code == 403


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/other", "{}", 404),
        ("/decode", "not JSON", 400),
        ("/decode", '{"payloads": 7}', 400),
        ("/decode", json.dumps({"payloads": [as_json(EncryptionCodec({"b": bytes(32)}).encrypt(Payload()))]}), 422),
    ],
)
def test_bad_requests_get_one_line(http: httpx.Client, path: str, body: str, status: int) -> None:
    """A payload that cannot be decrypted is refused with a reason, and the server continues."""
    answer = http.post(path, content=body)
    assert (answer.status_code, len(answer.text.splitlines())) == (status, 1)
    assert answer.headers["connection"] == "close"
    assert http.post("/decode", json={"payloads": []}).status_code == 200


def test_a_request_beyond_measure_is_not_read(http: httpx.Client) -> None:
    """A length of gigabytes is refused by its announcement."""
    with socket.create_connection((http.base_url.host, http.base_url.port or 0), timeout=10) as raw:
        raw.sendall(b"POST /decode HTTP/1.1\r\nhost: here\r\ncontent-length: 10000000000\r\n\r\n")
        assert b" 413 " in raw.recv(100)


def test_there_is_a_server_only_with_keys_and_a_free_port() -> None:
    """Without keys there is nothing to serve; a port that another worker serves is left to it."""
    assert make_codec_server(Settings(_env_file=None)) is None
    with CodecServer(CODEC, 0, 8233) as first:
        taken = Settings(encryption_keys=SecretStr(KEYS), codec_port=first.server_address[1], _env_file=None)
        assert make_codec_server(taken) is None
