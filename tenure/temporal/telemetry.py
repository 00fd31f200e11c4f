"""Create the SDK's runtime of a worker, with metrics and logs.

The SDK serves its own metrics and those of the product on one port. Its messages join the log of the worker if that is
JSON, so that every line of the log has one format.
"""

import errno
import logging
import socket
from ipaddress import ip_address
from typing import Final

import structlog
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    PrometheusConfig,
    Runtime,
    TelemetryConfig,
)

from tenure.metrics import PHASE_SECONDS, SEARCH_SECONDS, SECONDS_BUCKETS
from tenure.settings.worker import WorkerSettings
from tenure.temporal.connection import SDK_LOG_FILTER

MAX_PORTS: Final = 10
"""Number of ports that are tried: a worker that drains keeps its own next to its successor."""

SDK_LOGGER: Final = "temporalio.core"
"""Logger of the SDK's own messages."""


def create_worker_runtime(settings: WorkerSettings) -> Runtime:
    """Return the runtime of a worker; it serves metrics if the settings name a port.

    Raises:
        ValueError: the metrics cannot be served at the address of the settings.
    """
    forwarding = None
    if settings.log_format == "json":
        forwarding = LogForwardingConfig(
            logging.getLogger(SDK_LOGGER), prepend_target_on_message=False, append_log_fields_to_message=True
        )
    logs = LoggingConfig(filter=SDK_LOG_FILTER, forwarding=forwarding)
    if settings.metrics_port is None:
        return Runtime(telemetry=TelemetryConfig(logging=logs))
    address = find_metrics_address(settings.metrics_address, settings.metrics_port)
    metrics = PrometheusConfig(
        bind_address=address,
        counters_total_suffix=True,
        unit_suffix=True,
        durations_as_seconds=True,
        histogram_bucket_overrides={metric.name: SECONDS_BUCKETS for metric in (SEARCH_SECONDS, PHASE_SECONDS)},
    )
    try:
        runtime = Runtime(telemetry=TelemetryConfig(logging=logs, metrics=metrics, attach_service_name=False))
    except (RuntimeError, ValueError) as error:  # the port was taken a moment ago
        raise ValueError(f"TENURE_METRICS_PORT: metrics cannot be served at {address}: {error}") from error
    structlog.get_logger().info("metrics are served", url=f"http://{address}/metrics")
    return runtime


def find_metrics_address(address: str, port: int) -> str:
    """Return the address with the first free port from `port` on.

    Raises:
        ValueError: no port is free, or the machine does not have the address.
    """
    is_v6 = ip_address(address).version == 6
    last = min(port + MAX_PORTS - 1, 65535)
    for candidate in range(port, last + 1):
        with socket.socket(socket.AF_INET6 if is_v6 else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, candidate))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                raise ValueError(
                    f"metrics cannot be served at {address}, port {candidate}: {error.strerror}"
                ) from error
        return f"[{address}]:{candidate}" if is_v6 else f"{address}:{candidate}"
    raise ValueError(f"TENURE_METRICS_PORT: the ports {port} to {last} of {address} are taken; set a free one")
