"""Isolate programs with Docker, for hosts where bubblewrap does not work, or with another kernel through gVisor.

The engine's control groups limit memory and processes. To its own filter of system calls, the driver adds the one of
all sandboxes. The driver is process 1 of the container, which is removed at its end. Ending the Docker client would
leave the container running, so the container is killed by name.
"""

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tenure.contracts.sandbox import Isolation, SandboxLimits
from tenure.sandbox import seccomp
from tenure.sandbox.base import ENVIRONMENT, NETWORK_FOLDER, WORKSPACE, Mounts, NoSandbox, SetupFailed
from tenure.sandbox.groups import RunGroup
from tenure.sandbox.launcher import UNPRIVILEGED_ID
from tenure.sandbox.runtime import INSIDE_FOLDER, INSPECTION_SCRIPT, Runtime
from tenure.sandbox.supervisor import StartedSandbox
from tenure.settings.worker import SandboxSettings

LABEL: Final = "tenure-sandbox"
"""Label of every container, by which an operator finds containers left by a crash of the engine."""

_ANSWER_TIMEOUT_SECONDS: Final = 120
"""Time for an answer of the engine, including the first start of an image."""


class Docker:
    """Back-end that starts sandboxes with Docker."""

    late_filter = seccomp.encode_filter()

    def __init__(self, settings: SandboxSettings) -> None:
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
        output = self._ask(
            "run", "--rm", "--network", "none", "--entrypoint", python, self._image, "-I", "-c", INSPECTION_SCRIPT
        )
        self.runtime = _inspect_interpreter(output)
        self.isolation = Isolation(
            backend="docker",
            version=" ".join(filter(None, [version, self._engine_runtime])),
            memory="enforced",
            memory_note="control groups of the container engine",
        )

    def _ask(self, *arguments: str) -> str:
        """Run a Docker command and return its output."""
        try:
            output = subprocess.run(
                [self._client, *arguments], capture_output=True, text=True, timeout=_ANSWER_TIMEOUT_SECONDS, check=True
            )
        except subprocess.CalledProcessError as error:
            lines = (error.stderr or "").strip().splitlines() or [f"exit code {error.returncode}"]
            raise NoSandbox(f"docker {arguments[0]}: {lines[-1]}") from None
        except (OSError, subprocess.SubprocessError) as error:
            raise NoSandbox(f"docker {arguments[0]}: {error}") from None
        return output.stdout

    def make_control_group(self, limits: SandboxLimits) -> None:
        """Return None: the engine manages control groups."""
        return

    @property
    def owner(self) -> int | None:
        """Owner of the folders of a command; None if they stay the worker's."""
        return UNPRIVILEGED_ID if os.geteuid() == 0 else None

    def start(
        self, limits: SandboxLimits, needs_packages: bool, control: RunGroup | None, mounts: Mounts | None = None
    ) -> StartedSandbox:
        """Start a container whose driver waits for its job.

        Raises:
            SetupFailed: the client cannot be started.
        """
        name = f"tenure-{uuid.uuid4().hex[:16]}"
        command = [*self.build_arguments(limits, name, mounts), *self.runtime.build_driver_command(needs_packages)[1:]]
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
        return DockerProcess(process, [self._client, "kill", name])

    def build_arguments(self, limits: SandboxLimits, name: str, mounts: Mounts | None = None) -> list[str]:
        """Return the command of one container, up to the arguments of its interpreter."""
        memory = f"{limits.memory_mib}m"
        # The user who owns the folders of a command.
        user = UNPRIVILEGED_ID if mounts is None or self.owner is not None else os.geteuid()
        owner = f"uid={user},gid={user}"
        scratch = f"/box:rw,nosuid,nodev,exec,size={limits.scratch_mib}m,mode=0700,{owner}"
        command = [self._client, "run", "--rm", "--interactive", "--name", name, "--label", LABEL]
        command += ["--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        command += ["--user", f"{user}:{user}", "--hostname", "sandbox"]
        command += ["--ipc", "private", "--log-driver", "none"]
        # The driver and its forks are added.
        command += ["--pids-limit", str(limits.processes + 8), "--memory", memory, "--memory-swap", memory]
        command += ["--cpus", "1", "--ulimit", "core=0", "--shm-size", "16m", "--tmpfs", scratch]
        command += ["--tmpfs", "/tmp:rw,nosuid,nodev,size=16m", "--workdir", "/box"]
        command += ["--volume", f"{INSIDE_FOLDER}:/in/tenure/sandbox/inside:ro"]
        if mounts is not None:
            command += _list_volumes(mounts)
        for variable, value in self.runtime.environment.items():
            command += ["--env", f"{variable}={value}"]
        if self._engine_runtime:
            command += ["--runtime", self._engine_runtime]
        return [*command, "--entrypoint", str(self.runtime.python), self._image]


def _list_volumes(mounts: Mounts) -> list[str]:
    """Return the arguments that mount the folders of the host, none of them below a folder that a command wrote."""
    shown = [(path, str(path), True) for path in mounts.visible]
    if mounts.network is not None:
        shown.append((mounts.network, NETWORK_FOLDER, True))
    if mounts.environment is not None:
        shown.append((mounts.environment, ENVIRONMENT, not mounts.is_setup))
    shown.append((mounts.workspace, WORKSPACE, False))
    arguments = []
    for source, target, is_readonly in shown:
        fields = [
            "type=bind",
            f"source={source.absolute()}",
            f"target={target}",
            *(["readonly"] if is_readonly else []),
        ]
        # The engine reads the value as a line of CSV.
        arguments += ["--mount", ",".join(_quote_field(value) for value in fields)]
    return arguments


def _quote_field(value: str) -> str:
    """Return a field of a line of CSV."""
    return '"' + value.replace('"', '""') + '"' if any(sign in value for sign in ',"\n') else value


class DockerProcess:
    """Running container."""

    def __init__(self, process: subprocess.Popen[bytes], end: Sequence[str]) -> None:
        self.process = process
        self._end = end

    def mark_ready(self) -> None:
        """Register nothing: the engine manages the processes."""
        return

    def kill(self) -> None:
        """Kill the container, and thereby its client."""
        if self.process.poll() is not None:
            return
        try:
            subprocess.run(self._end, capture_output=True, timeout=_ANSWER_TIMEOUT_SECONDS, check=False)
            self.process.wait(timeout=10)
        except (OSError, subprocess.SubprocessError):
            # The engine does not answer; containers that still run have the label.
            self.process.kill()

    def measure_memory(self, limit_mib: int) -> None:
        """Return None: the engine limits the memory."""
        return

    def close(self) -> None:
        """Release nothing: `--rm` removes the container."""
        return


def _inspect_interpreter(output: str) -> Runtime:
    """Return the description of the interpreter in the image."""
    try:
        _, _, executable, base, packages = json.loads(output)
    except ValueError:
        raise NoSandbox("the image's Python says nothing: see TENURE_SANDBOX_IMAGE and TENURE_SANDBOX_PYTHON") from None
    known = tuple((name, version) for name, version in packages)
    return Runtime(Path(executable), Path(base), (), known, languages=("python", "shell"))
