"""Build the seccomp filter, which refuses system calls that a computation never needs.

The filter is assembled here, for x86_64 and aarch64 in one program, so that no library and no compiler is needed. It is
a deny list with a default of allow, closed at the top: system calls newer than the list fail with ENOSYS. A test
compares the list with the kernel's headers, and interprets the filter.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

EPERM: Final = 1
ENOMEM: Final = 12
EINVAL: Final = 22
ENOSYS: Final = 38
EPROTONOSUPPORT: Final = 93
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
    **{"set_mempolicy_home_node": (450, 450), "ioprio_set": (251, 30)},
    # Signals to a thread or with a value, which no argument here can tie to the sender's own processes.
    **{"tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240)},
    **{"pidfd_send_signal": (424, 424)},
    # Slots of asynchronous input and output are counted for the whole host.
    **{"io_setup": (206, 0), "io_destroy": (207, 1), "io_submit": (209, 2), "io_cancel": (210, 3)},
    **{"io_getevents": (208, 4), "io_pgetevents": (333, 292)},
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
    **{"mq_open": (240, 180), "mq_unlink": (241, 181)},
}
"""Calls that fail with EPERM, with their numbers on x86_64 and aarch64."""

ABSENT: Final[dict[str, tuple[int | None, int | None]]] = {
    **{"clone3": (435, 435), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426)},
    **{"io_uring_register": (427, 427), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430)},
    **{"fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442)},
    **{"memfd_secret": (447, 447), "statmount": (457, 457), "listmount": (458, 458)},
    # A pipe that refers to a small part of a large page keeps all of it.
    **{"splice": (275, 76), "tee": (276, 77), "vmsplice": (278, 75)},
    # Kernel memory that no limit counts, or that is counted for the host's user.
    **{"inotify_init": (253, None), "inotify_init1": (294, 26), "landlock_create_ruleset": (444, 444)},
}
"""Calls that fail with ENOSYS, so that libraries fall back to calls that are counted or can be inspected."""

INSPECTED: Final[dict[str, tuple[int, int]]] = {
    **{"clone": (56, 220), "ioctl": (16, 29), "fcntl": (72, 25), "prctl": (157, 167), "mmap": (9, 222)},
    **{"socket": (41, 198), "socketpair": (53, 199), "setsockopt": (54, 208), "kill": (62, 129)},
    **{"tgkill": (234, 131)},
    **{"prlimit64": (302, 261), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119)},
    **{"sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "setpriority": (141, 140)},
}
"""Calls whose arguments decide."""

NEW_NAMESPACES: Final = 0x7E020080
"""Flags of clone() that create namespaces: time, mount, cgroup, uts, ipc, user, pid, net."""

REFUSED_REQUESTS: Final = (0x5412, 0x541C, 0x5423, 0x8901, 0x8902)
"""TIOCSTI, TIOCLINUX, TIOCSETD: insert terminal input, or change the line discipline; FIOSETOWN, SIOCSPGRP: have the
kernel send signals to another process.
"""

REFUSED_FILE_COMMANDS: Final = (8, 15, 1031)
"""F_SETOWN, F_SETOWN_EX: have the kernel send signals to another process; F_SETPIPE_SZ: enlarge a pipe."""

LAST_KNOWN_OPTION: Final = 76
"""Newest known option of prctl(); later ones allocate kernel memory (PR_FUTEX_HASH) or are unknown."""
_SET_THP_DISABLE: Final = 41
_SCHED_CORE: Final = 62

SOCKET_FAMILIES: Final = (1, 2, 10, 16)
"""Unix, IPv4, IPv6 and netlink; other families reach the hypervisor or rarely used kernel code."""
_INTERNET: Final = (2, 10)
_NETLINK: Final = 16
_SOCKET_TYPES: Final = (1, 2)
"""Streams and datagrams, of IPv4 and IPv6."""
_PROTOCOLS: Final = (0, 6, 17)
"""TCP and UDP, of IPv4 and IPv6."""

IGNORED_SOCKET_OPTIONS: Final = (7, 8, 32, 33)
"""SO_SNDBUF, SO_RCVBUF and their forced variants: the default is kept, as for a value above the host's maximum."""
REFUSED_SOCKET_OPTIONS: Final = (26, 50, 51, 52)
"""SO_ATTACH_FILTER, SO_ATTACH_BPF and their variants for groups: programs in the kernel."""

MAX_SHARED_BYTES: Final = 1 << 20
"""Maximum size of one anonymous shared mapping: its pages remain while any part of it is mapped, and are in the
resident memory of no process.
"""

_SOL_SOCKET: Final = 1
_SOCKET_OPTIONS: Final = (*IGNORED_SOCKET_OPTIONS, *REFUSED_SOCKET_OPTIONS)
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20

_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`."""


class Architecture(NamedTuple):
    """Processor architecture."""

    name: str
    audit: int
    """AUDIT_ARCH constant of the kernel."""
    column: int
    """Column in the tables."""


MACHINES: Final = (Architecture("x86_64", 0xC000003E, 0), Architecture("aarch64", 0xC00000B7, 1))


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


def load_argument(number: int, high: bool = False) -> Instruction:
    """Load one half of an argument of the call.

    For an argument of 32 bits only the low half counts: the kernel ignores the high half, which could be set to evade
    a full comparison.
    """
    return load(_ARGUMENTS + 8 * number + 4 * high)


def refuse_values(values: Sequence[int], errno: int) -> list[Instruction]:
    """Refuse the call if the word has one of the values."""
    return [step for value in values for step in (skip_unless_equal(value, 1), refuse(errno))]


def refuse_other_values(values: Sequence[int], errno: int) -> list[Instruction]:
    """Refuse the call unless the word has one of the values."""
    # Each comparison that is true jumps behind the refusal.
    checks = [Instruction(0x15, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [*checks, refuse(errno)]


def run_if_equal(value: int, body: Sequence[Instruction]) -> list[Instruction]:
    """Run instructions if the word equals a value."""
    return [skip_unless_equal(value, len(body)), *body]


def _build_inspections() -> dict[str, list[Instruction]]:
    """Return the instructions for each inspected call; a call that they do not refuse is allowed."""
    families = [load_argument(0), *refuse_other_values(SOCKET_FAMILIES, EAFNOSUPPORT)]
    internet = [
        # The flags of a type are above its four bits.
        *(load_argument(1), Instruction(0x54, 0, 0, 0xF), *refuse_other_values(_SOCKET_TYPES, EPROTONOSUPPORT)),
        *(load_argument(2), *refuse_other_values(_PROTOCOLS, EPROTONOSUPPORT), return_value(ALLOW)),
    ]
    netlink = [load_argument(2), *refuse_other_values((0,), EPROTONOSUPPORT)]
    # Zero is the caller; any number could be the driver's or that of the tests' process.
    caller_only = [load_argument(0), *refuse_other_values((0,), EPERM)]
    return {
        "clone": [load_argument(0), skip_unless_any_bit(NEW_NAMESPACES, 1), refuse(EPERM)],
        "ioctl": [load_argument(1), *refuse_values(REFUSED_REQUESTS, EPERM)],
        "fcntl": [load_argument(1), *refuse_values(REFUSED_FILE_COMMANDS, EPERM)],
        "prctl": [
            *(load_argument(0), skip_unless_at_least(LAST_KNOWN_OPTION + 1, 1), refuse(EINVAL)),
            *refuse_values((_SCHED_CORE,), EPERM),
            # Large pages stay off: one remaining small part keeps a whole large page.
            *run_if_equal(_SET_THP_DISABLE, [load_argument(1), *refuse_other_values((1,), EPERM)]),
        ],
        "mmap": [
            *(load_argument(3), skip_unless_any_bit(_MAP_ANONYMOUS, 7), skip_unless_any_bit(_MAP_SHARED, 6)),
            *(load_argument(1, high=True), *refuse_other_values((0,), ENOMEM)),
            *(load_argument(1), skip_unless_at_least(MAX_SHARED_BYTES + 1, 1), refuse(ENOMEM)),
        ],
        "socket": [
            *families,
            *[step for family in _INTERNET for step in (load_argument(0), *run_if_equal(family, internet))],
            *(load_argument(0), *run_if_equal(_NETLINK, netlink)),
        ],
        "socketpair": families,
        "setsockopt": [
            *(load_argument(1), skip_unless_equal(_SOL_SOCKET, 2 * len(_SOCKET_OPTIONS) + 1), load_argument(2)),
            *refuse_values(IGNORED_SOCKET_OPTIONS, 0),
            *refuse_values(REFUSED_SOCKET_OPTIONS, EPERM),
        ],
        "kill": [load_argument(0), *refuse_values((1,), EPERM)],
        "tgkill": [load_argument(0), *refuse_values((1,), EPERM)],
        "prlimit64": caller_only,
        "sched_setparam": caller_only,
        "sched_setscheduler": caller_only,
        "sched_setaffinity": caller_only,
        "sched_setattr": caller_only,
        # The first argument chooses between a process, a group and a user.
        "setpriority": [*caller_only, load_argument(1), *refuse_other_values((0,), EPERM)],
    }


def _build_architecture_filter(machine: Architecture) -> list[Instruction]:
    program = [load(_NUMBER)]
    if machine.name == "x86_64":
        program += [skip_unless_at_least(X32, 1), return_value(KILL)]
    program += [skip_unless_at_least(LAST_KNOWN_CALL + 1, 1), refuse(ENOSYS)]
    for table, errno in ((REFUSED, EPERM), (ABSENT, ENOSYS)):
        for numbers in table.values():
            if (number := numbers[machine.column]) is not None:
                program += [skip_unless_equal(number, 1), refuse(errno)]
    for name, body in _build_inspections().items():
        program += run_if_equal(INSPECTED[name][machine.column], [*body, return_value(ALLOW)])
    return [*program, return_value(ALLOW)]


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
