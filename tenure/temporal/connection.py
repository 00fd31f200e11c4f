"""Connect to Temporal; used by the worker, the command line and `doctor`.

The standard `TEMPORAL_*` variables and profiles decide. If they name no server, the local stack of this home is
used, on 127.0.0.1 and the port of the settings. The data converter is set here only: programs with different
converters cannot read each other's payloads.
"""

import asyncio
import re
from dataclasses import replace
from datetime import timedelta

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes
from temporalio.envconfig import ClientConfigProfile, ClientConnectConfig

from tenure.settings import Settings
from tenure.temporal.encryption import EncryptionCodec
from tenure.temporal.owner_client import OwnerClientInterceptor
from tenure.temporal.owner_codec import OwnerCodec

CONNECT_TIMEOUT = timedelta(seconds=5)

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


def get_local_address(settings: Settings) -> str:
    """Return the address of the local stack's server."""
    return f"127.0.0.1:{settings.temporal_port}"


def make_data_converter(settings: Settings) -> DataConverter:
    """Return the data converter for Pydantic models, with encryption if keys are set."""
    codec = OwnerCodec.from_settings(settings) or EncryptionCodec.from_settings(settings)
    if codec is None:
        return pydantic_data_converter
    return replace(
        pydantic_data_converter,
        payload_codec=codec,
        failure_converter_class=DefaultFailureConverterWithEncodedAttributes,
    )


async def connect(settings: Settings) -> Client:
    """Connect to the configured server, or to the local one if none is configured.

    Raises:
        CannotReach: the server does not answer in time or refuses the connection.
    """
    config = _connect_config(load_profile(), settings)
    try:
        # The SDK's own timeout covers the TCP connection only; a process that accepts it may still never answer.
        async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
            return await Client.connect(
                **config,
                data_converter=make_data_converter(settings),
                connect_timeout=CONNECT_TIMEOUT,
                interceptors=OwnerClientInterceptor.from_settings(settings, config.get("namespace") or "default"),
            )
    except (RuntimeError, ValueError, OSError) as error:
        raise ServerUnreachable(str(config.get("target_host")), _reason(str(error))) from error


def _connect_config(found: ClientConfigProfile, settings: Settings) -> ClientConnectConfig:
    """Return connection arguments; without an address the profile's key and certificates are not used."""
    if found.address:
        return found.to_client_connect_config()
    return {"target_host": get_local_address(settings), "namespace": found.namespace or "default"}


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
