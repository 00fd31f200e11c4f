"""The codec server for a web UI on another machine: TLS, host, origin and token, over real connections."""

import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import ValidationError

from tenure.settings import Settings
from tenure.temporal import codec_server
from tenure.temporal.codec_server import CodecServer, RemoteAccess
from tenure.temporal.gate.access_key import load_key
from tenure.temporal.gate.http_server import Timeouts
from tests.support.ports import free_ports
from tests.support.waiting import block_until
from tests.temporal.test_codec_server import CODEC, KEYS, PLAIN, as_json, sealed

NAME = "codec.example"
TOKEN = "0123456789abcdef" * 4
UI = {"origin": "https://temporal.example"}
BEARER = {"authorization": f"Bearer {TOKEN}"}


def write_certificate(folder: Path, serial: int = 1) -> tuple[Path, Path]:
    """Write a self-signed certificate of the server's name, and its private key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / "tls.crt", folder / "tls.key"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pem, private


@pytest.fixture
def remote(tmp_path: Path) -> RemoteAccess:
    certificate, private_key = write_certificate(tmp_path)
    return RemoteAccess("127.0.0.1", f"https://{NAME}", (UI["origin"],), certificate, private_key, TOKEN)


@pytest.fixture
def server(tmp_path: Path, remote: RemoteAccess) -> Iterator[CodecServer]:
    with CodecServer(CODEC, tmp_path, 0, 8233, Timeouts(header=2, body=2, idle=2), remote) as made:
        yield made


def send(
    server: CodecServer, remote: RemoteAccess, method: str = "POST", path: str = "/decode", **request: Any
) -> httpx.Response:
    """Send a request as a machine would that finds the server by its name and trusts its certificate."""
    context = ssl.create_default_context(cafile=str(remote.certificate))
    with httpx.Client(verify=context, timeout=30) as client:
        headers = {"host": NAME, **request.pop("headers", {})}
        address = f"https://127.0.0.1:{server.port}{path}"
        extensions = {"sni_hostname": NAME}
        return client.request(method, address, headers=headers, extensions=extensions, **request)


def test_a_web_ui_elsewhere_reads_payloads(server: CodecServer, remote: RemoteAccess) -> None:
    """After one visit of the link, pages of the named origin decrypt with the cookie, which stays encrypted."""
    token = server.build_link().removeprefix(f"https://{NAME}")
    entered = send(server, remote, "GET", token)
    cookie = entered.headers["set-cookie"]
    visitor = {"cookie": cookie.partition(";")[0], "sec-fetch-site": "same-site"}
    answer = send(server, remote, json=sealed(), headers={**visitor, **UI})

    assert server.build_link().startswith(f"https://{NAME}/?token=")
    assert {"Secure", "HttpOnly", "SameSite=Strict"} <= {part.strip() for part in cookie.split(";")}
    assert answer.json() == {"payloads": [as_json(PLAIN)]}
    assert answer.headers["access-control-allow-origin"] == UI["origin"]
    asked = send(server, remote, "OPTIONS", headers={**UI, "access-control-request-method": "POST"})
    assert (asked.status_code, asked.headers["access-control-allow-credentials"]) == (200, "true")
    for origin in ("https://evil.example", "http://temporal.example", "http://127.0.0.1:8233", "http://localhost:8233"):
        refused = send(server, remote, json=sealed(), headers={**visitor, "origin": origin})
        assert refused.status_code == 403
        assert "access-control-allow-origin" not in refused.headers


def test_programs_elsewhere_need_the_token(server: CodecServer, remote: RemoteAccess, tmp_path: Path) -> None:
    """The token decrypts; neither nothing, another token nor the key of the home does."""
    assert send(server, remote, json=sealed(), headers=BEARER).json() == {"payloads": [as_json(PLAIN)]}
    for headers in ({}, {"authorization": "Bearer " + "f" * 64}, {"authorization": f"Bearer {load_key(tmp_path)}"}):
        answer = send(server, remote, json=sealed(), headers=headers)
        assert answer.status_code in (401, 403)
        assert "c2FpZ" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", f"{NAME}.evil.example", f"{NAME}:1"])
def test_other_names_get_nothing(server: CodecServer, remote: RemoteAccess, host: str) -> None:
    """A request under another name is refused, also with the token."""
    headers = {**BEARER, "host": host.format(port=server.port)}
    assert send(server, remote, json=sealed(), headers=headers).status_code == 421


@pytest.mark.parametrize("url", [f"https://{NAME}:443", f"https://{NAME.upper()}"])
def test_the_standard_port_and_capitals_change_nothing(tmp_path: Path, remote: RemoteAccess, url: str) -> None:
    """The URL is compared as browsers write it."""
    with CodecServer(CODEC, tmp_path, 0, 8233, None, remote._replace(url=url)) as server:
        assert send(server, remote, json=sealed(), headers=BEARER).status_code == 200


def test_nothing_is_answered_without_encryption(server: CodecServer, remote: RemoteAccess) -> None:
    """Plain HTTP gets no answer, and old versions of TLS are refused."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as raw:
        raw.sendall(f"GET /healthz HTTP/1.1\r\nhost: {NAME}\r\n\r\n".encode())
        with suppress(ConnectionResetError):
            assert b"HTTP" not in raw.recv(100)
    assert send(server, remote, "GET", "/healthz").status_code == 200


def test_a_silent_connection_is_closed(server: CodecServer) -> None:
    """A connection that begins no encryption ends within the time for a request."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as raw, suppress(ConnectionResetError):
        assert raw.recv(100) == b""


def test_probes_learn_only_that_it_runs(server: CodecServer, remote: RemoteAccess) -> None:
    """The health path answers under any name, without a token, and with no data."""
    answer = send(server, remote, "GET", "/healthz", headers={"host": "10.0.0.7:8234"})
    assert (answer.status_code, answer.text) == (200, "this server runs\n")


def test_a_renewed_certificate_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: RemoteAccess) -> None:
    """New connections get the new certificate without a restart; unusable files change nothing."""
    monkeypatch.setattr(codec_server, "CERTIFICATE_SECONDS", 0.05)

    def shown(port: int) -> int:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection(("127.0.0.1", port), timeout=30) as raw,
            context.wrap_socket(raw, server_hostname=NAME) as secure,
        ):
            data = secure.getpeercert(binary_form=True)
        assert data is not None
        return x509.load_der_x509_certificate(data).serial_number

    with CodecServer(CODEC, tmp_path, 0, 8233, None, remote) as server:
        assert shown(server.port) == 1
        remote.certificate.write_text("nonsense")
        assert shown(server.port) == 1
        write_certificate(tmp_path, 2)
        block_until("the new certificate", lambda: shown(server.port), lambda number: number == 2)


def variables(home: Path, port: int, **others: str) -> dict[str, str]:
    """Return the environment of a codec server for other machines."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "OPENAI_"))}
    return {
        **kept,
        "TENURE_HOME": str(home),
        "TENURE_ENCRYPTION_KEYS": KEYS,
        "TENURE_CODEC_HOST": "127.0.0.1",
        "TENURE_CODEC_PORT": str(port),
        "TENURE_CODEC_URL": f"https://{NAME}",
        "TENURE_CODEC_ORIGINS": UI["origin"],
        "TENURE_CODEC_TOKEN": TOKEN,
        **others,
    }


def test_the_program_serves_and_stops(tmp_path: Path, remote: RemoteAccess) -> None:
    """Started as a program it prints no link into its log, `--link` prints one, and SIGTERM ends it."""
    (port,) = free_ports(1)
    environment = variables(
        tmp_path / "home",
        port,
        TENURE_CODEC_CERTIFICATE=str(remote.certificate),
        TENURE_CODEC_PRIVATE_KEY=str(remote.private_key),
    )
    command = [sys.executable, "-m", "tenure.temporal.codec_server"]
    link = subprocess.run([*command, "--link"], env=environment, capture_output=True, text=True, check=True).stdout
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        context = ssl.create_default_context(cafile=str(remote.certificate))
        with httpx.Client(verify=context, timeout=30) as client:
            answer = client.get(
                f"https://127.0.0.1:{port}/healthz", headers={"host": NAME}, extensions={"sni_hostname": NAME}
            )
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0

    assert answer.status_code == 200
    assert link.startswith(f"https://{NAME}/?token=")
    assert "token=" not in line and f"serving https://{NAME}" in line


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"codec_host": "0.0.0.0"}, "needs TENURE_CODEC_URL, TENURE_CODEC_ORIGINS, TENURE_CODEC_CERTIFICATE"),
        ({"codec_url": f"https://{NAME}"}, "TENURE_CODEC_TOKEN"),
        ({"codec_origins": "https://temporal.example"}, "TENURE_CODEC_URL"),
        ({"codec_token": "short"}, "at least 32 characters"),
        ({"codec_url": f"http://{NAME}"}, "codec_url"),
        ({"codec_url": f"https://{NAME}/path"}, "codec_url"),
        ({"codec_origins": "*"}, "'\\*' is not an origin"),
        ({"codec_origins": "http://temporal.example"}, "is not an origin"),
    ],
)
def test_no_setting_opens_it_halfway(given: dict[str, Any], words: str) -> None:
    """Without encryption, a token, a URL and an origin there is no codec server for other machines."""
    with pytest.raises(ValidationError, match=words) as raised:
        Settings(_env_file=None, **given)
    assert "short" not in str(raised.value)
