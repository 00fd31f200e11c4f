"""Which sandbox is used here: the one that is set, else bubblewrap; never none."""

import sys
from pathlib import Path

from tenure.sandbox.base import NoSandbox
from tenure.sandbox.bubblewrap import Bubblewrap, find_binary
from tenure.sandbox.docker import Docker
from tenure.sandbox.engine import ContainedSandbox
from tenure.sandbox.runtime import Runtime, current
from tenure.settings import Settings


def sandbox(settings: Settings, runtime: Runtime | None = None) -> ContainedSandbox:
    """Return the sandbox of this process; hold on to it, since it lives on threads of its own.

    Raises:
        NoSandbox: none can be used; the message says what is missing.
    """
    if settings.sandbox == "docker":
        docker = Docker(settings)
        return ContainedSandbox(docker, docker.runtime)
    if sys.platform != "linux":
        raise NoSandbox("bubblewrap needs Linux: set TENURE_SANDBOX=docker")
    runtime = runtime or current(settings)
    group = Path(settings.sandbox_cgroup) if settings.sandbox_cgroup else None
    return ContainedSandbox(Bubblewrap(find_binary(), runtime, group), runtime)
