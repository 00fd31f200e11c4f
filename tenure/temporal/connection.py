"""How every program of Tenure reaches Temporal: the worker, the command line and the doctor.

The standard `TEMPORAL_*` variables and profiles decide; where they name no server it is this home's
local stack, on 127.0.0.1 and the port of the settings. The converter is set here once, since two
programs with different converters cannot read each other.
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
from tenure.temporal.encryption import Encryption

CONNECT_TIMEOUT = timedelta(seconds=5)

ANSWER_SECONDS = 10.0
"""How long a server may take from the first packet to its first answer."""


class CannotReach(Exception):
    """The Temporal server does not answer, or turns us away; the message is one line.

    Attributes:
        address: where it was looked for.
    """

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"cannot reach the Temporal server at {address}: {reason}")
        self.address = address


def profile() -> ClientConfigProfile:
    """Load the connection profile that `TEMPORAL_*` variables and the configuration file describe.

    Raises:
        CannotReach: the configuration cannot be read.
    """
    try:
        return ClientConfigProfile.load()
    except (RuntimeError, ValueError, OSError) as error:
        raise CannotReach("its configured address", f"the TEMPORAL_* configuration is not valid ({error})") from error


def local_address(settings: Settings) -> str:
    """Return the address of the local stack's server."""
    return f"127.0.0.1:{settings.temporal_port}"


def converter(settings: Settings) -> DataConverter:
    """Return what turns our models into payloads and back, encrypted where the settings hold keys."""
    codec = Encryption.from_settings(settings)
    if codec is None:
        return pydantic_data_converter
    return replace(
        pydantic_data_converter,
        payload_codec=codec,
        failure_converter_class=DefaultFailureConverterWithEncodedAttributes,
    )


async def connect(settings: Settings) -> Client:
    """Connect to the configured server, the local one where none is configured.

    Raises:
        CannotReach: it does not answer in time, or refuses the connection.
    """
    config = _connect_config(profile(), settings)
    try:
        # The SDK's own time-out ends with the TCP connection; what accepts it may still never speak.
        async with asyncio.timeout(ANSWER_SECONDS):
            return await Client.connect(**config, data_converter=converter(settings), connect_timeout=CONNECT_TIMEOUT)
    except (RuntimeError, ValueError, OSError) as error:
        raise CannotReach(str(config.get("target_host")), _reason(str(error))) from error


def _connect_config(found: ClientConfigProfile, settings: Settings) -> ClientConnectConfig:
    """Turn a profile into arguments; without an address its key and certificates are not for the local server."""
    if found.address:
        return found.to_client_connect_config()
    return {"target_host": local_address(settings), "namespace": found.namespace or "default"}


def _reason(message: str) -> str:
    """Find the words for a person in the transport's nested error."""
    quoted: list[str] = re.findall(r'(?:message|error): "([^"]+)"', message)
    if quoted:
        return quoted[-1][0].lower() + quoted[-1][1:]
    return (
        "it does not answer in time"
        if not message or "timed out" in message.lower()
        else " ".join(message.split())[:200]
    )
