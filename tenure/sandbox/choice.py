"""Choose the sandbox: the configured one, else bubblewrap; programs are never run without one."""

import sys

from tenure.sandbox.base import NoSandbox
from tenure.sandbox.bubblewrap import Bubblewrap, find_binary
from tenure.sandbox.docker import Docker
from tenure.sandbox.engine import Backend, ContainedSandbox
from tenure.sandbox.groups import find_groups
from tenure.sandbox.runtime import Runtime, find_current, prepare
from tenure.settings.worker import SandboxSettings


def make_sandbox(settings: SandboxSettings) -> ContainedSandbox:
    """Return the sandbox of this process; keep it, since it owns threads.

    Raises:
        NoSandbox: none can be used; the message says what is missing.
    """
    if settings.sandbox == "docker":
        docker = Docker(settings)
        return ContainedSandbox(docker, docker.runtime)
    if sys.platform != "linux":
        raise NoSandbox("bubblewrap needs Linux: set TENURE_SANDBOX=docker")
    current = find_current(settings)

    def prepare_backend() -> tuple[Backend, Runtime] | None:
        runtime = prepare(settings)
        return None if runtime == current else (make_bubblewrap(settings, runtime), runtime)

    return ContainedSandbox(make_bubblewrap(settings, current), current, prepare_backend)


def make_bubblewrap(settings: SandboxSettings, runtime: Runtime) -> Bubblewrap:
    """Return the bubblewrap back-end for an interpreter.

    Raises:
        NoSandbox: bubblewrap cannot be used.
    """
    return Bubblewrap(find_binary(), runtime, find_groups(settings.sandbox_cgroup))
