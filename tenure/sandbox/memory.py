"""Measure the memory of a sandbox that no control group limits, and the free memory of the host.

A control group counts all memory exactly. Without one, two sums are watched several times a second, and each must stay
within the limit of the program, so that both together stay within twice the limit:

- the memory of its processes: resident pages, each shared page once;
- the memory that the kernel uses for them and that no resident page shows. Objects are counted and charged with their
  maximum sizes, because filling one takes less time than the interval between two measurements.

The worst cases per object follow from the system call filter: buffers of sockets and pipes keep their default sizes,
and one anonymous shared mapping has a maximum size. Files in memory are limited by the size of their file systems, and
inside the sandbox by their number. All other memory is bounded by the free memory of the host: below a reserve, the
sandbox is ended.
"""

import contextlib
import math
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tenure.sandbox.seccomp import MAX_SHARED_BYTES

MIB: Final = 1 << 20
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")

MAPPING_BYTES: Final = 2048
"""Kernel memory of one mapping, with its share of the chains that tie the mappings of forks together."""
DESCRIPTOR_BYTES: Final = 12 << 10
"""Kernel memory of one open file: a pipe above the kernel's limit per user has two pages, and its own structures."""
ENTRY_BYTES: Final = 1024
"""Charge for one file that an epoll instance watches, and for one lock on a part of a file.

A quarter of it is used, but listing many of them takes long.
"""
MAX_MOVING_PROCESSES: Final = 8
"""Number of processes, with the driver, up to which a program continues while it is measured."""
DETAILS_SECONDS: Final = 0.1
"""Time for reading the lists of processes in one measurement."""
DETAILS_PAUSE: Final = 50
"""Ratio of the pause between two readings of these lists to the time for one, up to `DETAILS_SECONDS`."""
DETAILS_PART: Final = 8
"""Part of the limit from which there is no pause."""
MAX_HIDDEN_SECONDS: Final = 1.0
"""Time for which the lists of a process may be unreadable, as they are for a moment at its end."""

_READ_BYTES: Final = 1 << 18
_SHARED_MAPPING: Final = b"/dev/zero (deleted)"
"""Name of an anonymous shared mapping in the list of mappings."""


class MemoryUse(NamedTuple):
    """Memory of a sandbox in MiB."""

    programs: float
    """Memory of its processes."""
    kernel: float
    """Maximum memory that the kernel can use for them."""


class SocketUse(NamedTuple):
    """Sockets of one network namespace, and the memory of all TCP sockets of the host."""

    sockets: int
    tcp_bytes: int
    """0 if the namespace has no TCP socket."""


class MemoryWatch:
    """Measurement of the processes below one process."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._tcp_before: int | None = None
        self._charges: dict[int, _Charge] = {}
        self._is_slow = False
        self._next_details = 0.0
        self._hidden: dict[int, float] = {}

    def measure(self, limit_mib: int) -> MemoryUse:
        """Return the memory in use, exact as far as the limit is concerned.

        A program with many processes, or with lists that take long to read, is stopped meanwhile: it could use much
        more before all of them are read, and compete with this process for the processor and for locks.
        """
        began = time.monotonic()
        family = list_descendants(self._process)
        with _hold(family[1:]) if self._is_slow or len(family) > MAX_MOVING_PROCESSES else contextlib.nullcontext():
            use = MemoryUse(measure_processes(family, limit_mib), self._measure_kernel(family, limit_mib))
        self._is_slow = time.monotonic() - began > DETAILS_SECONDS / 2
        return use

    def _measure_kernel(self, family: list[int], limit_mib: int) -> float:
        """Return the maximum memory that the kernel can use for processes, in MiB; infinite if it cannot be counted.

        Lists that were made long on purpose take seconds to read. Reading ends above the limit, and what there is no
        time for is read the next time, beginning with the oldest number.
        """
        if not family:
            return 0.0
        sockets = count_sockets(family[0])
        if self._tcp_before is None:
            self._tcp_before = read_host_tcp_bytes()
        known = sockets.sockets * get_socket_bytes() + max(0, sockets.tcp_bytes - self._tcp_before)
        present = {pid: self._charges[pid] for pid in family if pid in self._charges}
        began = time.monotonic()
        if began < self._next_details:
            return (known + _sum_charges(present)) / MIB
        self._hidden = {pid: since for pid, since in self._hidden.items() if pid in family}
        # The driver, which comes first, is no part of the program.
        for pid in sorted(family[1:], key=lambda pid: present[pid].time if pid in present else 0.0):
            rest = limit_mib * MIB - known - _sum_charges(present)
            try:
                present[pid] = count_charges(pid, rest)
                self._hidden.pop(pid, None)
            except PermissionError:
                if began - self._hidden.setdefault(pid, began) > MAX_HIDDEN_SECONDS:
                    return math.inf
            if rest < 0 or time.monotonic() > began + DETAILS_SECONDS:
                break
        self._charges = present
        used = (known + _sum_charges(present)) / MIB
        # Small programs, which are nearly all, are read less often.
        pause = DETAILS_PAUSE * (time.monotonic() - began) if used < limit_mib / DETAILS_PART else 0.0
        self._next_details = time.monotonic() + min(DETAILS_SECONDS, pause)
        return used


class _Charge:
    """Bytes charged to a process, up to a limit, and the identities of its anonymous shared mappings."""

    def __init__(self, limit: int) -> None:
        self.time = time.monotonic()
        self.used = 0
        self.shared: set[bytes] = set()
        self._limit = limit

    def read(self, path: str) -> Iterator[bytes]:
        """Yield whole lines of a list of the kernel until the limit is exceeded."""
        # Unbuffered: the kernel lists only as much as is asked for.
        with Path(path).open("rb", buffering=0) as source:
            while self.used <= self._limit and (piece := source.read(_READ_BYTES)):
                yield piece


def _sum_charges(charges: Mapping[int, _Charge]) -> int:
    """Return the bytes of all charges, and of each shared mapping once."""
    shared = set().union(*(charge.shared for charge in charges.values()))
    return sum(charge.used for charge in charges.values()) + len(shared) * MAX_SHARED_BYTES


@contextlib.contextmanager
def _hold(processes: list[int]) -> Iterator[None]:
    """Stop processes, and let them continue at the end."""
    try:
        _send(processes, signal.SIGSTOP)
        yield
    finally:
        _send(processes, signal.SIGCONT)


def _send(processes: list[int], which: signal.Signals) -> None:
    """Send a signal to processes that may have ended."""
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, which)


def measure_processes(family: Iterable[int], limit_mib: int) -> float:
    """Return the memory of processes in MiB.

    Shared pages are counted once per process, which is fast to read, as long as the sum is below the limit; above it,
    the proportional set size is used.
    """
    quick = sum(_count_resident_pages(pid) for pid in family) * _PAGE / MIB
    if quick <= limit_mib:
        return quick
    return min(quick, sum(_read_proportional_set_size(pid) for pid in family) / 1024)


def list_descendants(process: int) -> list[int]:
    """Return the descendants of a process."""
    found: list[int] = []
    waiting = [process]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                children = (task / "children").read_text()
                waiting += (new := [int(child) for child in children.split()])
                found += new
    return found


def _count_resident_pages(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0


def _read_proportional_set_size(pid: int) -> int:
    """Return the proportional set size of a process in KiB."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        # Not readable, or ended: its private memory is unknown, so all of it counts.
        return _count_resident_pages(pid) * _PAGE // 1024
    return next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)


@cache
def get_socket_bytes() -> int:
    """Return the most memory of one socket with default buffers.

    A sender may exceed its buffer by one message of half its size, and the options of a socket have a limit of their
    own.
    """
    defaults = [_read_number(f"/proc/sys/net/core/{name}", 212992) for name in ("wmem_default", "rmem_default")]
    return 2 * max(defaults) + _read_number("/proc/sys/net/core/optmem_max", 131072)


def _read_number(path: str, default: int) -> int:
    """Return the number in a file, or a default if the kernel does not show it here."""
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return default


def count_sockets(pid: int) -> SocketUse:
    """Count the sockets in the network namespace of a process, those included that no process has open."""
    facts = _read_socket_facts(f"/proc/{pid}/net/sockstat")
    newer = _read_socket_facts(f"/proc/{pid}/net/sockstat6")
    has_tcp = facts.get("TCP inuse", 0) + facts.get("TCP tw", 0) + newer.get("TCP6 inuse", 0)
    return SocketUse(facts.get("sockets used", 0), facts.get("TCP mem", 0) * _PAGE if has_tcp else 0)


def read_host_tcp_bytes() -> int:
    """Return the memory of all TCP sockets of the host."""
    return _read_socket_facts("/proc/self/net/sockstat").get("TCP mem", 0) * _PAGE


def _read_socket_facts(path: str) -> dict[str, int]:
    """Return the numbers of a list of sockets by protocol and name."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in Path(path).read_text().splitlines():
            protocol, _, rest = line.partition(": ")
            words = rest.split()
            found |= {f"{protocol} {name}": int(number) for name, number in zip(words[::2], words[1::2], strict=True)}
    return found


def count_charges(pid: int, limit: int) -> _Charge:
    """Count the charges for the open files, the mappings, the page tables and the swapped memory of a process.

    Raises:
        PermissionError: this process may not look.
    """
    charge = _Charge(limit)
    # A process that ends meanwhile uses no memory.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        _charge_descriptors(pid, charge)
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for piece in charge.read(f"/proc/{pid}/maps"):
            charge.used += piece.count(b"\n") * MAPPING_BYTES
            if _SHARED_MAPPING in piece:
                charge.shared |= {line.split()[4] for line in piece.splitlines() if line.endswith(_SHARED_MAPPING)}
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/status").read_bytes().splitlines():
            if line.startswith((b"VmPTE:", b"VmSwap:")):
                charge.used += int(line.split()[1]) * 1024
    return charge


def _charge_descriptors(pid: int, charge: _Charge) -> None:
    """Charge the open files of a process with their locks, and what its epoll instances watch."""
    for entry in Path(f"/proc/{pid}/fdinfo").iterdir():
        charge.used += DESCRIPTOR_BYTES
        with contextlib.suppress(FileNotFoundError):
            for piece in charge.read(str(entry)):
                charge.used += (piece.count(b"\ntfd:") + piece.count(b"\nlock:")) * ENTRY_BYTES


def get_host_reserve_mib() -> int:
    """Return the free memory in MiB that sandboxes leave to the host: one sixteenth, between 64 MiB and 1 GiB."""
    return min(1024, max(64, _read_host_memory()["MemTotal"] // 16))


def read_available_mib() -> int:
    """Return the memory in MiB that the host can give to programs without swapping."""
    return _read_host_memory()["MemAvailable"]


def _read_host_memory() -> dict[str, int]:
    """Return total and available memory of the host in MiB."""
    found = {}
    with Path("/proc/meminfo").open(encoding="ascii") as source:
        for line in source:
            name, _, rest = line.partition(":")
            if name in ("MemTotal", "MemAvailable"):
                found[name] = int(rest.split()[0]) // 1024
    return found
