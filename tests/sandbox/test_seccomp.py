"""Test the seccomp filter with a BPF interpreter and the kernel's headers."""

import re
import struct
from pathlib import Path

import pytest

from tenure.sandbox import seccomp
from tenure.sandbox.seccomp import (
    ABSENT,
    ALLOW,
    EAFNOSUPPORT,
    EINVAL,
    ENOMEM,
    ENOSYS,
    EPERM,
    EPROTONOSUPPORT,
    INSPECTED,
    KILL,
    MACHINES,
    MAX_SHARED_BYTES,
    REFUSED,
    Architecture,
)

HEADERS = {
    "x86_64": (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), r"#define __NR_(\w+)\s+(\d+)"),
    "aarch64": (Path("/usr/include/asm-generic/unistd.h"), r"#define __NR(?:3264)?_(\w+)\s+(\d+)"),
}


def answer(blob: bytes, audit: int, number: int, *arguments: int) -> int:
    """Run a filter over a call, as the kernel does."""
    given = struct.pack("=IIQ6Q", number, audit, 0, *[*arguments, *[0] * 6][:6])
    program = list(struct.iter_unpack("=HBBI", blob))
    word, at = 0, 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        if code == 0x20:
            word = struct.unpack_from("=I", given, operand)[0]
        elif code == 0x54:
            word &= operand
        elif code == 0x05:
            at += operand
        elif code == 0x06:
            return int(operand)
        else:
            held = {0x15: word == operand, 0x45: bool(word & operand), 0x35: word >= operand}[code]
            at += if_true if held else if_false


def errno(code: int) -> int:
    """Return the answer that fails a call."""
    return 0x00050000 | code


@pytest.fixture(scope="module")
def blob() -> bytes:
    """The filter."""
    return seccomp.encode_filter()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_listed_calls_are_refused(blob: bytes, machine: Architecture) -> None:
    """Every listed call fails with its own error, and unknown calls do not exist."""
    for table, code in ((REFUSED, EPERM), (ABSENT, ENOSYS)):
        for numbers in table.values():
            if (number := numbers[machine.column]) is not None:
                assert answer(blob, machine.audit, number) == errno(code)
    assert answer(blob, machine.audit, seccomp.LAST_KNOWN_CALL + 1) == errno(ENOSYS)
    assert answer(blob, machine.audit, seccomp.LAST_KNOWN_CALL - 2) == ALLOW


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_arguments_decide_where_a_call_has_two_faces(blob: bytes, machine: Architecture) -> None:
    """New namespaces, tricks with terminals and rare sockets are refused, and their harmless sisters are not."""
    thread = 0x3D0F00

    def asked(name: str, *arguments: int) -> int:
        return answer(blob, machine.audit, INSPECTED[name][machine.column], *arguments)

    assert asked("clone", thread) == ALLOW
    assert asked("clone", thread | 0x10000000) == errno(EPERM)
    assert asked("ioctl", 0, 0x5401) == ALLOW
    for request in (0x5412, 0x5412 | 1 << 32, 0x8901, 0x8902):
        assert asked("ioctl", 0, request) == errno(EPERM)
    for call in ("socket", "socketpair"):
        assert asked(call, 1, 1) == ALLOW
        assert asked(call, 40, 1) == errno(EAFNOSUPPORT)


UNCHANGED, HIGH = 1 << 32, 0xFFFFFFFF


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        # Streams and datagrams of TCP and UDP, with flags; no other protocol, and of netlink only the routes.
        *[("socket", arguments, None) for arguments in ((2, 1, 0), (10, 0x80801, 6), (2, 2, 17), (16, 3, 0))],
        *[("socket", arguments, EPROTONOSUPPORT) for arguments in ((2, 5, 0), (2, 1, 262), (2, 3, 1), (16, 3, 4))],
        # Buffers keep their sizes, and programs in the kernel are refused, at the level of sockets only.
        *[("setsockopt", (3, 1, option), 0) for option in (7, 8, 32, 33)],
        *[("setsockopt", (3, 1, option), EPERM) for option in (26, 50, 51, 52)],
        *[("setsockopt", arguments, None) for arguments in ((3, 1, 2), (3, 6, 7), (3, 6, 26))],
        *[("fcntl", (3, command), EPERM) for command in (8, 15, 1031)],
        *[("fcntl", (3, command), None) for command in (1, 4, 6, 1032)],
        # Large pages can be switched off, and not on again.
        *[("prctl", arguments, EPERM) for arguments in ((41, 0), (62, 1))],
        *[("prctl", arguments, EINVAL) for arguments in ((77, 0), (78, 1), (0x53564D41, 0))],
        *[("prctl", arguments, None) for arguments in ((41, 1), (4, 0), (15, 0), (38, 1))],
        # Anonymous shared mappings are small; other mappings are not looked at.
        *[("mmap", (0, size, 3, 0x21), None) for size in (1, MAX_SHARED_BYTES)],
        *[("mmap", (0, size, 3, 0x21), ENOMEM) for size in (MAX_SHARED_BYTES + 1, UNCHANGED, UNCHANGED | 1)],
        *[("mmap", (0, UNCHANGED, 3, flags), None) for flags in (0x22, 0x01, 0x02, 0x4022)],
        ("mmap", (0, UNCHANGED, 3, 0x23), ENOMEM),
        ("kill", (1, 2), EPERM),
        *[("kill", (pid, 9), None) for pid in (2, 7, HIGH)],
        *[(name, (0, 1, 1), None) for name in ("prlimit64", "sched_setaffinity", "sched_setattr")],
        *[
            (name, (pid, 1, 1), EPERM)
            for name in ("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setscheduler", "sched_setparam")
            for pid in (1, 2, HIGH)
        ],
        ("setpriority", (0, 0, 19), None),
        *[("setpriority", arguments, EPERM) for arguments in ((0, 1, 19), (1, 0, 19), (2, 0, 19))],
    ],
)
def test_other_arguments_are_refused(
    blob: bytes, machine: Architecture, name: str, arguments: tuple[int, ...], code: int | None
) -> None:
    """Each rule about arguments refuses the intended calls only, whatever the ignored halves contain."""
    wanted = ALLOW if code is None else errno(code)
    assert answer(blob, machine.audit, INSPECTED[name][machine.column], *arguments) == wanted
    if name != "mmap":
        evading = [argument | UNCHANGED for argument in arguments]
        assert answer(blob, machine.audit, INSPECTED[name][machine.column], *evading) == wanted


def test_other_machines_and_other_numbers_are_killed(blob: bytes) -> None:
    """A call by the numbers of another kind of processor ends the process."""
    i386, x86_64 = 0x40000003, 0xC000003E
    assert answer(blob, i386, 20) == KILL
    assert answer(blob, x86_64, 0x40000000 | 39) == KILL
    assert answer(blob, x86_64, 39) == ALLOW


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_numbers_are_those_of_the_kernel(machine: Architecture) -> None:
    """The numbers of the lists equal those in the kernel's headers, if these are installed."""
    path, pattern = HEADERS[machine.name]
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    known = {name: int(number) for name, number in re.findall(pattern, path.read_text())}
    listed = {name: numbers[machine.column] for name, numbers in {**REFUSED, **ABSENT, **INSPECTED}.items()}

    wrong = {name: (number, known[name]) for name, number in listed.items() if name in known and number != known[name]}

    assert wrong == {}
    assert len(listed.keys() & known.keys()) > 60


def test_no_jump_is_longer_than_it_can_be(blob: bytes) -> None:
    """The filter is short enough for the kernel, and ends on every path."""
    assert len(blob) // 8 < 4096
    assert seccomp.build_filter()[-1] == seccomp.return_value(KILL)
