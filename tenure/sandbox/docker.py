"""The sandbox that Docker makes, for hosts where bubblewrap cannot work, or with another kernel through gVisor.

The engine's control groups hold memory and processes, its own filter the system calls. The container has the driver
as process 1, as everywhere, and is removed with it; ending the client of Docker would leave the container, so it is
the container that is ended, by its name.
"""

import json
import shutil
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tenure.contracts.sandbox import Isolation, SandboxLimits
from tenure.sandbox.base import NoSandbox, SetupFailed
from tenure.sandbox.launcher import NOBODY
from tenure.sandbox.memory import ControlGroup
from tenure.sandbox.runtime import ASK, INSIDE, Runtime
from tenure.sandbox.supervisor import Started
from tenure.settings import Settings

LABEL: Final = "tenure-sandbox"
"""Label of every container, by which an operator finds what a crash of the engine has left."""

_ANSWER_SECONDS: Final = 120
"""Time for the engine to answer, the first start of an image included."""


class Docker:
    """Starts sandboxes with Docker."""

    def __init__(self, settings: Settings) -> None:
        self._image = settings.sandbox_image
        self._engine_runtime = settings.sandbox_runtime
        client = shutil.which("docker")
        if client is None:
            raise NoSandbox("TENURE_SANDBOX=docker, and there is no docker on the path")
        if not self._image:
            raise NoSandbox("TENURE_SANDBOX=docker needs TENURE_SANDBOX_IMAGE, an image with Python and pytest")
        self._client = client
        version = self._ask("version", "--format", "{{.Server.Version}}").strip()
        python = str(settings.sandbox_python or "/usr/local/bin/python3")
        told = self._ask("run", "--rm", "--network", "none", "--entrypoint", python, self._image, "-I", "-c", ASK)
        self.runtime = _runtime(told)
        self.isolation = Isolation(
            backend="docker", version=" ".join(filter(None, [version, self._engine_runtime])), memory="enforced"
        )

    def _ask(self, *arguments: str) -> str:
        """Ask the engine.

        Raises:
            NoSandbox: it does not answer.
        """
        try:
            told = subprocess.run(
                [self._client, *arguments], capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=True
            )
        except subprocess.CalledProcessError as error:
            lines = (error.stderr or "").strip().splitlines() or [f"exit code {error.returncode}"]
            raise NoSandbox(f"docker {arguments[0]}: {lines[-1]}") from None
        except (OSError, subprocess.SubprocessError) as error:
            raise NoSandbox(f"docker {arguments[0]}: {error}") from None
        return told.stdout

    def control(self, limits: SandboxLimits) -> None:
        """Leave control groups to the engine."""
        return

    def start(self, limits: SandboxLimits, needs_packages: bool, control: ControlGroup | None) -> Started:
        """Start a container whose driver waits for its job.

        Raises:
            SetupFailed: there is not even a client.
        """
        name = f"tenure-{uuid.uuid4().hex[:16]}"
        command = [*self.arguments(limits, name), *self.runtime.driver(needs_packages)[1:]]
        try:
            process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise SetupFailed(f"docker cannot be started: {error.strerror}") from None
        return Contained(process, [self._client, "kill", name])

    def arguments(self, limits: SandboxLimits, name: str) -> list[str]:
        """Return the command of one container, up to the arguments of its interpreter."""
        memory = f"{limits.memory_mib}m"
        scratch = f"/box:rw,nosuid,nodev,exec,size={limits.scratch_mib}m,mode=0700,uid={NOBODY},gid={NOBODY}"
        command = [self._client, "run", "--rm", "--interactive", "--name", name, "--label", LABEL]
        command += ["--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        command += ["--user", f"{NOBODY}:{NOBODY}", "--hostname", "sandbox", "--ipc", "private", "--log-driver", "none"]
        # The driver and what it forks come on top.
        command += ["--pids-limit", str(limits.processes + 8), "--memory", memory, "--memory-swap", memory]
        command += ["--cpus", "1", "--ulimit", "core=0", "--shm-size", "16m", "--tmpfs", scratch]
        command += ["--tmpfs", "/tmp:rw,nosuid,nodev,size=16m", "--workdir", "/box"]
        command += ["--volume", f"{INSIDE}:/in/tenure/sandbox/inside:ro"]
        for variable, value in self.runtime.environment.items():
            command += ["--env", f"{variable}={value}"]
        if self._engine_runtime:
            command += ["--runtime", self._engine_runtime]
        return [*command, "--entrypoint", str(self.runtime.python), self._image]


class Contained:
    """A container that runs."""

    def __init__(self, process: subprocess.Popen[bytes], end: Sequence[str]) -> None:
        self.process = process
        self._end = end

    def begun(self) -> None:
        """Leave everything to the engine."""
        return

    def kill(self) -> None:
        """End the container, and with it its client."""
        if self.process.poll() is not None:
            return
        try:
            subprocess.run(self._end, capture_output=True, timeout=_ANSWER_SECONDS, check=False)
            self.process.wait(timeout=10)
        except (OSError, subprocess.SubprocessError):
            # The engine does not answer; what it still runs bears the label.
            self.process.kill()

    def watched(self, limit_mib: int) -> float | None:
        """Leave the memory to the engine."""
        return None

    def closed(self) -> None:
        """Leave the container to `--rm`."""
        return


def _runtime(told: str) -> Runtime:
    """Return what an interpreter in the image says of itself.

    Raises:
        NoSandbox: it says nothing.
    """
    try:
        _, _, executable, base, packages = json.loads(told)
    except ValueError:
        raise NoSandbox("the image's Python says nothing: see TENURE_SANDBOX_IMAGE and TENURE_SANDBOX_PYTHON") from None
    known = tuple((name, version) for name, version in packages)
    return Runtime(Path(executable), Path(base), (), known, languages=("python", "shell"))
