"""The filter for system calls: what a computation never needs is refused before the kernel looks at it.

The filter is assembled here, for x86_64 and aarch64 in one program, so that no library and no compiler is needed.
It is a list of refusals in front of a default to allow, closed at the top: calls that are newer than this list do
not exist for a sandboxed program. What the list holds is checked against the kernel's headers by its test, and what
it does by an interpreter of the same machine.
"""

import struct
from typing import Final, NamedTuple

EPERM: Final = 1
ENOSYS: Final = 38
EAFNOSUPPORT: Final = 97

ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
_ERRNO: Final = 0x00050000

NEWEST: Final = 462
"""Number of the newest system call that is known here; numbers have been the same on all machines since 424."""

X32: Final = 0x40000000
"""Bit of the calls of the x32 ABI."""

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
    # Parts of the kernel that attacks begin with.
    **{"bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262)},
    **{"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "lookup_dcookie": (212, 18)},
    **{"personality": (135, 92), "modify_ldt": (154, None), "uselib": (134, None), "ustat": (136, None)},
    **{"sysfs": (139, None), "_sysctl": (156, None), "nfsservctl": (180, 42)},
    # Devices and pipes as files; memory that belongs to no process.
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
"""Calls that fail with ENOSYS, so that the C library falls back to the ones that can be looked into."""

NEW_NAMESPACES: Final = 0x7E020080
"""The flags of clone() that make namespaces: time, mount, cgroup, uts, ipc, user, pid, net."""

TERMINAL_TRICKS: Final = (0x5412, 0x541C, 0x5423)
"""TIOCSTI, TIOCLINUX, TIOCSETD: type into a terminal, or change what it is."""

FAMILIES: Final = (1, 2, 10, 16)
"""Unix, IPv4, IPv6 and netlink sockets; others reach the hypervisor or rarely used code of the kernel."""

_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Offsets in what a filter sees of a call."""


class Machine(NamedTuple):
    """A kind of processor."""

    name: str
    audit: int
    """What the kernel calls it in a filter."""
    column: int
    """Its column in the tables."""
    clone: int
    ioctl: int
    socket: int


MACHINES: Final = (Machine("x86_64", 0xC000003E, 0, 56, 16, 41), Machine("aarch64", 0xC00000B7, 1, 220, 29, 198))


class Instruction(NamedTuple):
    """One instruction of the classic BPF machine."""

    code: int
    if_true: int
    if_false: int
    operand: int


def load(offset: int) -> Instruction:
    """Load a word of what the filter sees."""
    return Instruction(0x20, 0, 0, offset)


def give(answer: int) -> Instruction:
    """End with an answer."""
    return Instruction(0x06, 0, 0, answer)


def skip(count: int) -> Instruction:
    """Go on behind the next instructions."""
    return Instruction(0x05, 0, 0, count)


def unless_equal(value: int, count: int) -> Instruction:
    """Go on behind the next instructions unless the word is equal to a value."""
    return Instruction(0x15, 0, count, value)


def unless_any_bit(mask: int, count: int) -> Instruction:
    """Go on behind the next instructions unless the word has one of the bits."""
    return Instruction(0x45, 0, count, mask)


def unless_at_least(value: int, count: int) -> Instruction:
    """Go on behind the next instructions unless the word is at least a value."""
    return Instruction(0x35, 0, count, value)


def refuse(errno: int) -> Instruction:
    """End with an error of the call."""
    return give(_ERRNO | errno)


def _for(machine: Machine) -> list[Instruction]:
    """Return the filter of one kind of processor."""
    program = [load(_NUMBER)]
    if machine.name == "x86_64":
        program += [unless_at_least(X32, 1), give(KILL)]
    program += [unless_at_least(NEWEST + 1, 1), refuse(ENOSYS)]
    for table, errno in ((REFUSED, EPERM), (ABSENT, ENOSYS)):
        for numbers in table.values():
            if (number := numbers[machine.column]) is not None:
                program += [unless_equal(number, 1), refuse(errno)]
    # Only the low halves of arguments: a full comparison is slipped past by a bit that the kernel ignores.
    program += [unless_equal(machine.clone, 4), load(_ARGUMENTS), unless_any_bit(NEW_NAMESPACES, 1), refuse(EPERM)]
    program += [give(ALLOW), unless_equal(machine.ioctl, 2 * len(TERMINAL_TRICKS) + 2), load(_ARGUMENTS + 8)]
    for request in TERMINAL_TRICKS:
        program += [unless_equal(request, 1), refuse(EPERM)]
    program += [give(ALLOW), unless_equal(machine.socket, 2 * len(FAMILIES) + 2), load(_ARGUMENTS)]
    for family in FAMILIES:
        program += [unless_equal(family, 1), give(ALLOW)]
    return [*program, refuse(EAFNOSUPPORT), give(ALLOW)]


def program() -> list[Instruction]:
    """Return the whole filter: each kind of processor behind its check, and death for any other."""
    whole = [load(_ARCH)]
    for machine in MACHINES:
        part = _for(machine)
        whole += [unless_equal(machine.audit, 1), skip(1), skip(len(part)), *part]
    return [*whole, give(KILL)]


def blob() -> bytes:
    """Return the filter as the kernel takes it."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program())
