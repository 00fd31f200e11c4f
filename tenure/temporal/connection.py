"""Connect to Temporal; used by the worker, the command line and `doctor`.

The standard `TEMPORAL_*` variables and profiles decide. If they name no server, the local stack of this home is
used, through the Unix socket of its gate. Without one, another server on the port of the settings is used if it runs
as the same user: another user could otherwise start workflows on this worker. The data converter is set here only:
programs with different converters cannot read each other's payloads.
"""

import asyncio
import os
import re
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from typing import Final

from temporalio.client import Client, Interceptor
from temporalio.envconfig import ClientConfigProfile, ClientConnectConfig
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.service import GrpcCompression, HttpConnectProxyConfig, KeepAliveConfig

from tenure.ownership import derive_gate_key
from tenure.settings.home import ConnectionSettings, HomeSettings
from tenure.temporal.converter import make_data_converter
from tenure.temporal.gate.access_key import HOST, load_key
from tenure.temporal.gate.peers import find_listener_user
from tenure.temporal.gate.sockets import GATE_SOCKET, get_socket_address

CONNECT_TIMEOUT = timedelta(seconds=5)

KEEP_ALIVE = KeepAliveConfig(interval_millis=12_000, timeout_millis=5_000)
"""Pings that detect a lost connection, such as after the restart of a router. The SDK's default needs 45 seconds, and a
server ends connections with pings more often than every ten seconds.
"""

SDK_LOG_FILTER: Final = (
    f"{TelemetryFilter(core_level='WARN', other_level='ERROR').formatted()},temporal_sdk_bridge::client=ERROR"
)
"""Filter of the SDK's messages without the warning that connections through a gate resolve no names."""

ANSWER_TIMEOUT_SECONDS = 10.0
"""Time a server may take from the first packet to its first reply."""


class ServerUnreachable(Exception):
    """The Temporal server does not answer or refuses the connection; the message is one line.

    Attributes:
        address: address that was tried.
    """

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"cannot reach the Temporal server at {address}: {reason}")
        self.address = address


class AccessRefused(ServerUnreachable):
    """The server answers and refuses: the namespace does not exist, or the credentials are wrong."""


def load_profile() -> ClientConfigProfile:
    """Load the connection profile from the `TEMPORAL_*` variables and the configuration file.

    Raises:
        CannotReach: the configuration cannot be read.
    """
    try:
        return ClientConfigProfile.load()
    except (RuntimeError, ValueError, OSError) as error:
        raise ServerUnreachable(
            "its configured address", f"the TEMPORAL_* configuration is not valid ({error})"
        ) from error


def get_local_address(settings: ConnectionSettings) -> str:
    """Return the address of the local stack's server."""
    return f"{HOST}:{settings.temporal_port}"


def get_namespace(settings: HomeSettings, profile: ClientConfigProfile) -> str:
    """Return the namespace of the owner; without one, that of the profile."""
    if settings.owner:
        return settings.owner_namespace.format(owner=settings.owner)
    return profile.namespace or "default"


async def connect(
    settings: ConnectionSettings, runtime: Runtime | None = None, interceptors: Sequence[Interceptor] = ()
) -> Client:
    """Connect to the configured server, or to the local one if none is configured; a worker gives its runtime.

    Raises:
        CannotReach: the server does not answer in time or refuses the connection.
    """
    profile = load_profile()
    config = _connect_config(profile, settings)
    try:
        gate = None if profile.address else _find_gate(settings)
        credentials = _build_credentials(settings, profile, has_gate=gate is not None)
        config["rpc_metadata"] = {**credentials, **profile.grpc_meta}
        # The SDK's own timeout covers the TCP connection only; a process that accepts it may still never answer.
        async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
            return await Client.connect(
                **config,
                data_converter=make_data_converter(settings),
                connect_timeout=CONNECT_TIMEOUT,
                keep_alive_config=KEEP_ALIVE,
                http_connect_proxy_config=gate,
                # Between processes of one machine, compression only takes time.
                grpc_compression=GrpcCompression.GZIP if profile.address else GrpcCompression.NONE,
                runtime=runtime or (None if gate is None else _create_runtime()),
                interceptors=interceptors,
            )
    except (RuntimeError, ValueError, OSError) as error:
        # `Status { code: PermissionDenied, message: "…"`
        is_refused = re.search(r"code: (PermissionDenied|Unauthenticated|NotFound),", str(error)) is not None
        failure = AccessRefused if is_refused else ServerUnreachable
        raise failure(str(config.get("target_host")), _reason(str(error))) from error


def _connect_config(profile: ClientConfigProfile, settings: ConnectionSettings) -> ClientConnectConfig:
    """Return connection arguments; without an address the profile's key and certificates are not used."""
    own: ClientConnectConfig = {"target_host": get_local_address(settings)}
    config = profile.to_client_connect_config() if profile.address else own
    config["namespace"] = get_namespace(settings, profile)
    return config


def _build_credentials(settings: ConnectionSettings, profile: ClientConfigProfile, *, has_gate: bool) -> dict[str, str]:
    """Return the credentials for the gate of a local stack, also behind a forwarded port; other hosts receive none."""
    host = (profile.address or get_local_address(settings)).rpartition(":")[0]
    if host not in (HOST, "localhost") or profile.api_key:
        return {}
    if settings.owner_token is not None and settings.owner:
        return {"authorization": f"Bearer {derive_gate_key(settings.owner_token.get_secret_value())}"}
    return {"authorization": f"Bearer {load_key(settings.home)}"} if settings.owners and has_gate else {}


def _find_gate(settings: ConnectionSettings) -> HttpConnectProxyConfig | None:
    """Return the way to the server of this home, or None if the program on the local port is another server."""
    if (settings.home / GATE_SOCKET).exists():
        return HttpConnectProxyConfig(target_host=f"unix:{get_socket_address(settings.home, GATE_SOCKET)}")
    if find_listener_user(settings.temporal_port) in (None, os.geteuid()):
        return None
    address = get_local_address(settings)
    raise ServerUnreachable(
        address, f"another user runs the program on this port: set TEMPORAL_ADDRESS={address} only if you trust it"
    )


@cache
def _create_runtime() -> Runtime:
    """Return the SDK's runtime for connections through a gate."""
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter=SDK_LOG_FILTER)))


def _reason(message: str) -> str:
    """Return a readable reason from the transport's nested error."""
    quoted: list[str] = re.findall(r'(?:message|error): "([^"]+)"', message)
    if quoted:
        return quoted[-1][0].lower() + quoted[-1][1:]
    return (
        "it does not answer in time"
        if not message or "timed out" in message.lower()
        else " ".join(message.split())[:200]
    )
