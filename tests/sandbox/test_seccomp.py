"""Test the seccomp filter with a BPF interpreter and the kernel's headers."""

import re
import struct
from pathlib import Path

import pytest

from tenure.sandbox import seccomp
from tenure.sandbox.seccomp import ABSENT, ALLOW, EAFNOSUPPORT, ENOSYS, EPERM, KILL, MACHINES, REFUSED, Architecture

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
    assert answer(blob, machine.audit, machine.clone, thread) == ALLOW
    assert answer(blob, machine.audit, machine.clone, thread | 0x10000000) == errno(EPERM)
    assert answer(blob, machine.audit, machine.ioctl, 0, 0x5401) == ALLOW
    assert answer(blob, machine.audit, machine.ioctl, 0, 0x5412) == errno(EPERM)
    assert answer(blob, machine.audit, machine.ioctl, 0, 0x5412 | 1 << 32) == errno(EPERM)
    assert answer(blob, machine.audit, machine.socket, 2, 1) == ALLOW
    assert answer(blob, machine.audit, machine.socket, 40, 1) == errno(EAFNOSUPPORT)


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
    listed = {name: numbers[machine.column] for name, numbers in {**REFUSED, **ABSENT}.items()}
    listed |= {"clone": machine.clone, "ioctl": machine.ioctl, "socket": machine.socket}

    wrong = {name: (number, known[name]) for name, number in listed.items() if name in known and number != known[name]}

    assert wrong == {}
    assert len(listed.keys() & known.keys()) > 60


def test_no_jump_is_longer_than_it_can_be(blob: bytes) -> None:
    """The filter is short enough for the kernel, and ends on every path."""
    assert len(blob) // 8 < 4096
    assert seccomp.build_filter()[-1] == seccomp.return_value(KILL)
