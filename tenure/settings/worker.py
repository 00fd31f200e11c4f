"""Settings that only workers read: their processes, the sandbox of programs, and notifications."""

from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from tenure.contracts.run.role_calls import DEFAULT_HEARTBEAT_SECONDS
from tenure.settings.group import SettingsGroup
from tenure.settings.home import ConnectionSettings, HomeSettings


class WorkerSettings(ConnectionSettings):
    """Workers, logs and metrics.

    A worker reads these settings when it starts. Traces are configured by the standard variables of OpenTelemetry,
    such as `OTEL_EXPORTER_OTLP_ENDPOINT`.
    """

    worker_versioning: bool = True
    """Whether versioned workers take part in Temporal's Worker Versioning, so that a run finishes under the code that
    it began with. Off for a server without it: then a new worker also continues the runs of the old code."""
    shutdown_seconds: float = Field(default=60.0, ge=0, le=3600)
    """Seconds that running calls of models and MCP servers may continue after a worker is asked to stop; other
    activities have at most ten. The worker ends at most ten seconds later.
    """
    heartbeat_seconds: float = Field(default=DEFAULT_HEARTBEAT_SECONDS, ge=5, le=600)
    """Seconds without a heartbeat after which an activity counts as lost and another worker repeats it. It must exceed
    the time for which the Temporal server may be away, since a repeated call of a model is paid again.
    """
    health_port: int = Field(default=0, ge=0, le=65535)
    """Port on which a worker answers health checks; 0 for any free port, which the commands of the home find. Workers
    of the local stack always use a free port.
    """
    health_host: str = "127.0.0.1"
    """Address on which a worker answers health checks."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Log level of the worker."""
    log_format: Literal["text", "json"] = "text"
    """Format of the worker's log: text, or one JSON object per line."""
    metrics_port: int | None = Field(default=None, ge=1, le=65535)
    """Port on which the worker serves Prometheus metrics at `/metrics`, or the next free one of ten; empty for none."""
    metrics_address: str = "127.0.0.1"
    """IP address on which metrics are served, to anyone who reaches it; `0.0.0.0` for all interfaces of a container."""

    @field_validator("metrics_address")
    @classmethod
    def _check_metrics_address(cls, address: str) -> str:
        """Reject names of hosts and malformed addresses."""
        try:
            return str(ip_address(address))
        except ValueError:
            raise ValueError("it is an IP address, such as 127.0.0.1") from None


class SandboxSettings(HomeSettings):
    """Sandbox.

    These settings define the sandbox of programs and its content. The worker reads them when it starts.
    """

    sandbox: Literal["bubblewrap", "docker"] = "bubblewrap"
    """Sandbox of programs; programs are never run without one."""
    sandbox_python: Path | None = None
    """Python interpreter of sandboxed programs with the packages they may use; empty for an environment in the home."""
    sandbox_cgroup: Path | None = None
    """Control group for programs, writable for the worker; empty to look for a delegated one."""
    sandbox_image: str = ""
    """Container image with Python and pytest; required with `docker`."""
    sandbox_runtime: str = ""
    """Container runtime, such as `runsc`; empty for the default."""
    setup_variables: dict[str, str] = {}
    """Environment variables of the setups of projects, as a JSON object, such as `{"PIP_INDEX_URL":
    "https://packages.example/simple"}`. A setup that may use the network reaches public hosts and those that are named
    here; files and folders that are named here are readable in setups, so that an index can be a folder. Secrets in
    them can be read by the code of the project."""


class NotifierSettings(SettingsGroup):
    """Notifications.

    Tenure notifies people of runs in these ways. The client requests notifications if one of them is set, and the
    worker sends them with its own settings.
    """

    notify_url: SecretStr | None = None
    """URL that receives a POST request when a run waits for a person, is finished or has failed."""
    notify_secret: SecretStr | None = None
    """Secret that signs these requests; empty for no signature."""
    notify_command: str = ""
    """Shell command run on the same events; environment variables describe the event."""

    @property
    def has_notifications(self) -> bool:
        """Whether notifications are configured."""
        return self.notify_url is not None or bool(self.notify_command)
