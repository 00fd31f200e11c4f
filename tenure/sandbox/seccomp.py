"""Build the seccomp filter, which refuses system calls that a computation never needs.

The filter is assembled here, for x86_64 and aarch64 in one program, so that no library and no compiler is needed. It is
a deny list with a default of allow, closed at the top: system calls newer than the list fail with ENOSYS. A test
compares the list with the kernel's headers, and interprets the filter.
"""

import struct
from typing import Final, NamedTuple

EPERM: Final = 1
ENOSYS: Final = 38
EAFNOSUPPORT: Final = 97

ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
_ERRNO: Final = 0x00050000

LAST_KNOWN_CALL: Final = 462
"""Number of the newest known system call; numbers are the same on all architectures since 424."""

X32: Final = 0x40000000
"""Bit of the system calls of the x32 ABI."""

REFUSED: Final[dict[str, tuple[int | None, int | None]]] = {
    # Mounts, roots and namespaces.
    **{"mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51)},
    **{"unshare": (272, 97), "setns": (308, 268), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265)},
    # The machine itself: swap, names, clock, modules, accounting, quotas, ports, log.
    **{"swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "sethostname": (170, 161)},
    **{"setdomainname": (171, 162), "init_module": (175, 105), "finit_module": (313, 273)},
    **{"delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "acct": (163, 89)},
    **{"quotactl": (179, 60), "quotactl_fd": (443, 443), "iopl": (172, None), "ioperm": (173, None)},
    **{"syslog": (103, 116), "vhangup": (153, 58), "settimeofday": (164, 170), "clock_settime": (227, 112)},
    **{"clock_adjtime": (305, 266), "adjtimex": (159, 171)},
    # Other processes.
    **{"ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271)},
    **{"process_madvise": (440, 440), "process_mrelease": (448, 448), "kcmp": (312, 272), "pidfd_getfd": (438, 438)},
    **{"move_pages": (279, 239), "migrate_pages": (256, 238), "mbind": (237, 235), "set_mempolicy": (238, 237)},
    **{"set_mempolicy_home_node": (450, 450)},
    # Parts of the kernel that attacks use often.
    **{"bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262)},
    **{"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "lookup_dcookie": (212, 18)},
    **{"personality": (135, 92), "modify_ldt": (154, None), "uselib": (134, None), "ustat": (136, None)},
    **{"sysfs": (139, None), "_sysctl": (156, None), "nfsservctl": (180, 42)},
    # Devices and pipes as files; memory without an owner process.
    **{"mknod": (133, None), "mknodat": (259, 33), "memfd_create": (319, 279)},
    **{"shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "shmdt": (67, 197)},
    **{"msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187)},
    **{"semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192)},
}
"""Calls that fail with EPERM, with their numbers on x86_64 and aarch64."""

ABSENT: Final[dict[str, tuple[int | None, int | None]]] = {
    name: (number, number)
    for name, number in {
        **{"clone3": 435, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427},
        **{"open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433},
        **{"mount_setattr": 442, "memfd_secret": 447, "statmount": 457, "listmount": 458},
    }.items()
}
"""Calls that fail with ENOSYS, so that the C library falls back to calls whose arguments can be inspected."""

NEW_NAMESPACES: Final = 0x7E020080
"""Flags of clone() that create namespaces: time, mount, cgroup, uts, ipc, user, pid, net."""

TERMINAL_TRICKS: Final = (0x5412, 0x541C, 0x5423)
"""TIOCSTI, TIOCLINUX, TIOCSETD: insert terminal input, or change the line discipline."""

SOCKET_FAMILIES: Final = (1, 2, 10, 16)
"""Unix, IPv4, IPv6 and netlink; other families reach the hypervisor or rarely used kernel code."""

_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`."""


class Architecture(NamedTuple):
    """Processor architecture."""

    name: str
    audit: int
    """AUDIT_ARCH constant of the kernel."""
    column: int
    """Column in the tables."""
    clone: int
    ioctl: int
    socket: int


MACHINES: Final = (
    Architecture("x86_64", 0xC000003E, 0, 56, 16, 41),
    Architecture("aarch64", 0xC00000B7, 1, 220, 29, 198),
)


class Instruction(NamedTuple):
    """Instruction of the classic BPF machine."""

    code: int
    if_true: int
    if_false: int
    operand: int


def load(offset: int) -> Instruction:
    """Load a word of the filter's input."""
    return Instruction(0x20, 0, 0, offset)


def return_value(answer: int) -> Instruction:
    """Return from the filter with a value."""
    return Instruction(0x06, 0, 0, answer)


def skip(count: int) -> Instruction:
    """Skip the next instructions."""
    return Instruction(0x05, 0, 0, count)


def skip_unless_equal(value: int, count: int) -> Instruction:
    """Skip the next instructions unless the word equals a value."""
    return Instruction(0x15, 0, count, value)


def skip_unless_any_bit(mask: int, count: int) -> Instruction:
    """Skip the next instructions unless the word has one of the bits."""
    return Instruction(0x45, 0, count, mask)


def skip_unless_at_least(value: int, count: int) -> Instruction:
    """Skip the next instructions unless the word is at least a value."""
    return Instruction(0x35, 0, count, value)


def refuse(errno: int) -> Instruction:
    """Return from the filter with an error of the call."""
    return return_value(_ERRNO | errno)


def _build_architecture_filter(machine: Architecture) -> list[Instruction]:
    """Return the filter of one architecture."""
    program = [load(_NUMBER)]
    if machine.name == "x86_64":
        program += [skip_unless_at_least(X32, 1), return_value(KILL)]
    program += [skip_unless_at_least(LAST_KNOWN_CALL + 1, 1), refuse(ENOSYS)]
    for table, errno in ((REFUSED, EPERM), (ABSENT, ENOSYS)):
        for numbers in table.values():
            if (number := numbers[machine.column]) is not None:
                program += [skip_unless_equal(number, 1), refuse(errno)]
    # Only the low halves of arguments: the kernel ignores the high half, which could be set to evade a full comparison.
    program += [
        skip_unless_equal(machine.clone, 4),
        load(_ARGUMENTS),
        skip_unless_any_bit(NEW_NAMESPACES, 1),
        refuse(EPERM),
    ]
    program += [
        return_value(ALLOW),
        skip_unless_equal(machine.ioctl, 2 * len(TERMINAL_TRICKS) + 2),
        load(_ARGUMENTS + 8),
    ]
    for request in TERMINAL_TRICKS:
        program += [skip_unless_equal(request, 1), refuse(EPERM)]
    program += [return_value(ALLOW), skip_unless_equal(machine.socket, 2 * len(SOCKET_FAMILIES) + 2), load(_ARGUMENTS)]
    for family in SOCKET_FAMILIES:
        program += [skip_unless_equal(family, 1), return_value(ALLOW)]
    return [*program, refuse(EAFNOSUPPORT), return_value(ALLOW)]


def build_filter() -> list[Instruction]:
    """Return the whole filter: one part per architecture, and SIGSYS for any other."""
    whole = [load(_ARCH)]
    for machine in MACHINES:
        part = _build_architecture_filter(machine)
        whole += [skip_unless_equal(machine.audit, 1), skip(1), skip(len(part)), *part]
    return [*whole, return_value(KILL)]


def encode_filter() -> bytes:
    """Return the filter in the kernel's binary format."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in build_filter())
