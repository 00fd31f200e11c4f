"""Turn traces on if the extra `otel` is installed and an endpoint is configured.

The standard variables of OpenTelemetry configure it: `OTEL_EXPORTER_OTLP_ENDPOINT` or its form for traces turns it on.
Nothing of OpenTelemetry's SDK is imported otherwise.
"""

import importlib.util
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tenure.tracing.tracer import Tracer

ENDPOINT_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Variables that turn traces on."""

PROTOCOL_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
"""Variables of the protocol, the more specific one first."""

PROTOCOL: Final = "http/protobuf"
"""Only protocol of the extra."""

PACKAGES: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
"""Packages of the extra."""

_tracer: "Tracer | None" = None


class TracingUnavailable(Exception):
    """Traces are configured and cannot be sent; the message is one line."""


def configure_tracing(environment: Mapping[str, str] = os.environ) -> "Tracer | None":
    """Return the tracer of this process, and None if no endpoint is configured.

    Raises:
        TracingUnavailable: an endpoint is configured, and the extra is missing or does not support the protocol.
    """
    global _tracer
    _tracer = None
    endpoint = next((name for name in ENDPOINT_VARIABLES if environment.get(name)), None)
    is_disabled = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if endpoint is None or is_disabled or environment.get("OTEL_TRACES_EXPORTER") == "none":
        return None
    protocol = next((name for name in PROTOCOL_VARIABLES if environment.get(name)), None)
    if protocol and environment[protocol] != PROTOCOL:
        raise TracingUnavailable(f"{protocol} is {environment[protocol]!r}; only {PROTOCOL!r} is supported: set that")
    if not all(map(_is_installed, PACKAGES)):
        raise TracingUnavailable(
            f"{endpoint} is set, but OpenTelemetry is not installed: run `uv sync --extra otel`, or unset the variable"
        )
    from tenure.tracing.tracer import create_tracer

    _tracer = create_tracer(environment)
    return _tracer


def get_tracer() -> "Tracer | None":
    """Return the tracer of this process, or None if traces are not sent."""
    return _tracer


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of a parent
        return False
