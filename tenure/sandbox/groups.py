"""Limit the memory of a sandbox exactly by a control group of its own, if one is available.

Four places are tried: the configured group, this process's own group if it was delegated to it, the root of a
container's groups if it is writable, and for an ordinary user a scope of the user's systemd manager. A group that
another program made for this process without delegating it is left alone.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from tenure.contracts.sandbox import SandboxLimits

MIB: Final = 1 << 20

GROUPS: Final = Path("/sys/fs/cgroup")
"""Folder of control groups (version 2)."""

SETUP_PROCESSES: Final = 8
"""Processes of the set-up and the driver, in addition to those of the program."""

# What `systemd-run --user` needs to find the manager
_MANAGER_VARIABLES: Final = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_MANAGER_TIMEOUT_SECONDS: Final = 10
_PROBE_MIB: Final = 64
# Prints the limit of its own group, and what an inherited file contains.
_PROBE_SCRIPT: Final = 'read -r path < /proc/self/cgroup; cat "/sys/fs/cgroup${path#0::}/memory.max" "/dev/fd/$0"'
_PROBE_TEXT: Final = "inherited\n"


class RunGroup(Protocol):
    """Control group of one run."""

    command: Sequence[str]
    """Command that starts a given command in the group; empty if processes are added instead."""
    environment: Mapping[str, str]
    """Environment of that command."""

    def add_process(self, pid: int) -> None:
        """Add a process to the group, if it was not started in it."""

    @property
    def has_exceeded_limit(self) -> bool:
        """Whether the kernel killed a process for its memory."""

    @property
    def peak_mib(self) -> float | None:
        """Peak memory use in MiB, or None if it is not known."""

    def remove(self) -> None:
        """Remove the group after all of its processes have ended."""


class GroupSource(NamedTuple):
    """Source of control groups, or the reason for its absence."""

    make: Callable[[SandboxLimits], RunGroup] | None
    note: str
    """Place of the groups, or the reason for their absence."""


class ControlGroup:
    """Control group of one run below a delegated one, of version 2 or of the memory controller of version 1."""

    command: Sequence[str] = ()
    environment: Mapping[str, str] = {}

    def __init__(self, delegated: Path, memory_mib: int, processes: int) -> None:
        self.folder = delegated / f"tenure-{uuid.uuid4().hex[:12]}"
        self._is_first_version = (delegated / "memory.limit_in_bytes").exists()
        self.folder.mkdir()
        try:
            for name, bound in self._list_bounds(memory_mib, processes).items():
                (self.folder / name).write_text(str(bound))
        except OSError:
            self.remove()
            raise

    def _list_bounds(self, memory_mib: int, processes: int) -> dict[str, int]:
        """Return the files of the group and their values."""
        if self._is_first_version:
            # Memory before memory with swap, which must not be the smaller one; a kernel may not count swap.
            swap = {"memory.memsw.limit_in_bytes": memory_mib * MIB}
            counted = (self.folder / "memory.memsw.limit_in_bytes").exists()
            return {"memory.limit_in_bytes": memory_mib * MIB, **(swap if counted else {})}
        return {
            "memory.max": memory_mib * MIB,
            "memory.swap.max": 0,
            "memory.oom.group": 1,
            "pids.max": processes + SETUP_PROCESSES,
        }

    def add_process(self, pid: int) -> None:
        """Add a process to the group."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    @property
    def has_exceeded_limit(self) -> bool:
        """Whether the kernel killed a process for its memory."""
        events = "memory.oom_control" if self._is_first_version else "memory.events"
        with contextlib.suppress(OSError):
            for line in (self.folder / events).read_text().splitlines():
                name, _, count = line.partition(" ")
                if name in ("oom_kill", "oom_group_kill") and int(count):
                    return True
        return False

    @property
    def peak_mib(self) -> float | None:
        """Peak memory use in MiB, or None if the kernel does not report it."""
        try:
            name = "memory.max_usage_in_bytes" if self._is_first_version else "memory.peak"
            return int((self.folder / name).read_text()) / MIB
        except (OSError, ValueError):
            return None

    def remove(self) -> None:
        """Remove the group after all of its processes have ended."""
        with contextlib.suppress(FileNotFoundError):
            self.folder.rmdir()


class UserScope:
    """Scope of the user's systemd manager for one run: the manager starts the sandbox in it and removes it."""

    def __init__(self, manager: "UserManager", memory_mib: int, processes: int) -> None:
        self._manager = manager
        self._name = f"tenure-{uuid.uuid4().hex[:12]}.scope"
        self.environment: Mapping[str, str] = manager.environment
        self.command: Sequence[str] = (
            *(manager.program, "--user", "--scope", "--quiet", f"--unit={self._name}"),
            *("-p", f"MemoryMax={memory_mib}M", "-p", "MemorySwapMax=0"),
            *("-p", f"TasksMax={processes + SETUP_PROCESSES}", "--"),
        )

    def add_process(self, pid: int) -> None:
        """Add nothing: the manager starts all processes in the scope."""
        return

    @property
    def has_exceeded_limit(self) -> bool:
        """Whether the kernel killed a process for its memory; asks the manager, which keeps failed scopes."""
        return self._manager.ask("show", "--property=Result", "--value", self._name).strip() == "oom-kill"

    @property
    def peak_mib(self) -> float | None:
        """Return None: the group is gone with its last process."""
        return None

    def remove(self) -> None:
        """Remove a failed scope from the manager."""
        if self.has_exceeded_limit:
            self._manager.ask("reset-failed", self._name)


class UserManager:
    """The systemd manager of an ordinary user."""

    def __init__(self, program: str, control: str, environment: Mapping[str, str]) -> None:
        self.program, self._control, self.environment = program, control, environment

    def ask(self, *arguments: str) -> str:
        """Return the manager's answer, or nothing if it gives none in time."""
        try:
            return subprocess.run(
                [self._control, "--user", *arguments],
                env=dict(self.environment),
                capture_output=True,
                text=True,
                timeout=_MANAGER_TIMEOUT_SECONDS,
                check=False,
            ).stdout
        except (OSError, subprocess.SubprocessError):
            return ""

    def has_working_limit(self) -> bool:
        """Return whether a process started in a scope has the scope's limit, and the files that it was given."""
        scope = UserScope(self, _PROBE_MIB, 1)
        reader, writer = os.pipe()
        try:
            os.write(writer, _PROBE_TEXT.encode())
            os.close(writer)
            tried = subprocess.run(
                [*scope.command, "sh", "-c", _PROBE_SCRIPT, str(reader)],
                env={**self.environment, "PATH": "/usr/bin:/bin"},
                pass_fds=[reader],
                capture_output=True,
                text=True,
                timeout=_MANAGER_TIMEOUT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        finally:
            os.close(reader)
        return tried.stdout == f"{_PROBE_MIB * MIB}\n{_PROBE_TEXT}"


def find_groups(configured: Path | None, groups: Path = GROUPS) -> GroupSource:
    """Return the source of control groups for this process."""
    if configured is not None:
        return GroupSource(_make_below(configured), f"control groups below {configured}")
    own = _find_own_group(groups)
    if own is not None and _prepare(own):
        return GroupSource(_make_below(own), f"control groups below {own}")
    manager = _find_user_manager()
    if manager is not None and manager.has_working_limit():
        return GroupSource(
            lambda limits: UserScope(manager, limits.memory_mib, limits.processes), "scopes of the user's systemd"
        )
    return GroupSource(None, "no control group was delegated to this process, see TENURE_SANDBOX_CGROUP")


def _make_below(folder: Path) -> Callable[[SandboxLimits], RunGroup]:
    """Return the function that makes groups below a folder."""
    return lambda limits: ControlGroup(folder, limits.memory_mib, limits.processes)


def _find_own_group(groups: Path) -> Path | None:
    """Return this process's group if it was delegated, or is the root of what a container sees."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), None)
    if path is None:
        return None
    own = groups / path.lstrip("/")
    if not os.access(own, os.W_OK) or (path != "/" and not _is_delegated(own)):
        return None
    return own


def _is_delegated(group: Path) -> bool:
    """Return whether systemd has marked a group as delegated."""
    for name in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(group, name) == b"1":
                return True
    return False


def _prepare(group: Path) -> bool:
    """Have a group pass on the memory controller, and return whether it does.

    A group with processes passes nothing on, so this process moves into one below it; other processes stay, and then
    the group cannot be used.
    """
    try:
        if "memory" not in (group / "cgroup.controllers").read_text().split():
            return False
        passed_on = group / "cgroup.subtree_control"
        if not {"memory", "pids"} <= set(passed_on.read_text().split()):
            inner = group / "tenure-worker"
            inner.mkdir(exist_ok=True)
            (inner / "cgroup.procs").write_text(str(os.getpid()))
            passed_on.write_text("+memory +pids")
    except OSError:
        return False
    return True


def _find_user_manager() -> UserManager | None:
    """Return the systemd manager of this user, unless this process is root, whose sandboxes are another user's."""
    program, control = shutil.which("systemd-run"), shutil.which("systemctl")
    environment = {name: os.environ[name] for name in _MANAGER_VARIABLES if name in os.environ}
    if os.geteuid() == 0 or program is None or control is None or "XDG_RUNTIME_DIR" not in environment:
        return None
    return UserManager(program, control, environment)


def was_killed(status: int | None) -> bool:
    """Return whether a wait status says that a process was ended from outside."""
    return status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL)
