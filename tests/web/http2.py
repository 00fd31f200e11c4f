"""HTTP/2 server over TLS with a name and a certificate of a private authority."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import h2.config
import h2.connection
import h2.events
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Secure:
    """Running server."""

    port: int
    authority: Path
    """Certificate of the authority."""
    names: list[str]
    """Names in handshakes and requests."""


@asynccontextmanager
async def secure_server(name: str, folder: Path) -> AsyncIterator[Secure]:
    """Serve every path of a name on the loopback interface; the response is the path."""
    certificate = _certificate(name, folder)
    names: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2"])
    context.sni_callback = lambda connection, wanted, of: names.append(f"handshake {wanted}")
    callers: set[asyncio.Task[None]] = set()

    async def call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        callers.add(task)
        try:
            await _answer(reader, writer, names)
        finally:
            writer.transport.abort()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(call, "127.0.0.1", 0, ssl=context)
    try:
        yield Secure(server.sockets[0].getsockname()[1], certificate, names)
    finally:
        server.close()
        await asyncio.gather(*callers, return_exceptions=True)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, names: list[str]) -> None:
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
    connection.initiate_connection()
    writer.write(connection.data_to_send())
    while received := await reader.read(65536):
        for event in connection.receive_data(received):
            if isinstance(event, h2.events.RequestReceived):
                headers = {str(key): str(value) for key, value in event.headers or []}
                names.append(f"request {headers[':authority']}")
                assert event.stream_id
                connection.send_headers(event.stream_id, [(":status", "200"), ("content-type", "text/plain")])
                connection.send_data(event.stream_id, headers[":path"].encode(), end_stream=True)
        writer.write(connection.data_to_send())
        await writer.drain()


def _certificate(name: str, folder: Path) -> Path:
    """Write the key and certificate of a name into one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "certificate.pem"
    path.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return path
