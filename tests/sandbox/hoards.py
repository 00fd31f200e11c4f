"""Make the kernel use as much memory as possible that no resident page shows, by one function for each way.

`python hoards.py NAME` runs one of them. It prints `refused` if the kernel did not let it begin; otherwise it continues
until it is ended, or until the kernel gives no further memory, and then prints the amount and waits.
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
LIBC.memset.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
X86 = os.uname().machine == "x86_64"
PAGE = 4096
FAILED = ctypes.c_void_p(-1).value
BLOCK = b"x" * 65536
PROCESSES = 48
HOARDS: dict[str, Callable[[], None]] = {}


def hoard(function: Callable[[], None]) -> Callable[[], None]:
    """Take a function as a hoard."""
    HOARDS[function.__name__] = function
    return function


def refuse() -> NoReturn:
    """Say that the kernel refused the first step."""
    print("refused")
    sys.exit(0)


def call(x86: int, arm: int, *arguments: object) -> int:
    """Make a system call."""
    return int(LIBC.syscall(ctypes.c_long(x86 if X86 else arm), *arguments))


def in_many(work: Callable[[], object]) -> None:
    """Do the same in as many processes as there may be."""
    for _ in range(PROCESSES):
        with contextlib.suppress(OSError):
            if not os.fork():
                work()
                time.sleep(60)
                os._exit(0)
    time.sleep(60)


def stuff(sock: socket.socket) -> None:
    """Send to a socket until it is full."""
    sock.setblocking(False)
    with contextlib.suppress(OSError):
        while True:
            sock.send(BLOCK)


@hoard
def pairs_of_sockets() -> None:
    """Fill the buffers of many pairs of sockets in many processes."""

    def fill() -> None:
        kept: list[Any] = []
        with contextlib.suppress(OSError):
            while True:
                kept += (pair := socket.socketpair())
                for one in pair:
                    stuff(one)
        time.sleep(60)

    in_many(fill)


@hoard
def datagrams() -> None:
    """Fill the queues of pairs of datagram sockets in many processes."""

    def fill() -> None:
        kept: list[Any] = []
        with contextlib.suppress(OSError):
            while True:
                kept += (pair := socket.socketpair(type=socket.SOCK_DGRAM))
                for one in pair:
                    stuff(one)
        time.sleep(60)

    in_many(fill)


@hoard
def large_buffers() -> None:
    """Fill a few pairs of sockets whose buffers were enlarged."""
    kept: list[Any] = []
    with contextlib.suppress(OSError):
        for _ in range(100):
            kept += (pair := socket.socketpair())
            for one in pair:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 20)
                stuff(one)
    if kept[0].getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) < 1 << 20:
        refuse()
    time.sleep(60)


@hoard
def waiting_connections() -> None:
    """Leave data in connections that were never accepted, which takes one open file in all."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0hoard")
    listener.listen(65535)
    for _ in range(20000):
        with socket.socket(socket.AF_UNIX) as one:
            one.connect("\0hoard")
            stuff(one)


@hoard
def sockets_in_flight() -> None:
    """Send full sockets through sockets, and close them here."""
    kept: list[Any] = []
    with contextlib.suppress(OSError):
        while True:
            carrier, end = socket.socketpair()
            kept += [carrier, end]
            for _ in range(8):
                pair = socket.socketpair()
                for one in pair:
                    stuff(one)
                socket.send_fds(carrier, [b"x"], [one.fileno() for one in pair])
                for one in pair:
                    one.close()
    time.sleep(60)


@hoard
def streams_of_tcp() -> None:
    """Have the buffers of connections grow by reading quickly, then fill them."""
    listener = socket.create_server(("127.0.0.1", 0))

    def fill() -> None:
        kept: list[Any] = []
        with contextlib.suppress(OSError):
            for _ in range(60):
                one = socket.create_connection(listener.getsockname())
                other = listener.accept()[0]
                kept += [one, other]
                one.settimeout(0.2)
                with contextlib.suppress(OSError):
                    for _ in range(200):
                        one.send(BLOCK)
                        other.recv(1 << 20)
                stuff(one)
                other.setblocking(False)
        time.sleep(60)

    in_many(fill)


@hoard
def datagrams_of_udp() -> None:
    """Fill the receive buffers of many sockets of UDP."""

    def fill() -> None:
        kept: list[Any] = []
        sender = socket.socket(type=socket.SOCK_DGRAM)
        with contextlib.suppress(OSError):
            while True:
                one = socket.socket(type=socket.SOCK_DGRAM)
                one.bind(("127.0.0.1", 0))
                kept.append(one)
                for _ in range(32):
                    sender.sendto(b"x" * 8192, one.getsockname())
        time.sleep(60)

    in_many(fill)


@hoard
def filters_of_sockets() -> None:
    """Attach a long program to many sockets."""
    program = (ctypes.c_char * 8 * 4096)()
    for place in range(4096):
        program[place].raw = struct.pack("HBBI", 0x06, 0, 0, 0xFFFF)
    header = struct.pack("HxxxxxxP", 4096, ctypes.addressof(program))
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.setsockopt(socket.SOL_SOCKET, 26, header)
        except PermissionError:
            refuse()


@hoard
def pipes() -> None:
    """Fill many pipes in many processes."""

    def fill() -> None:
        with contextlib.suppress(OSError):
            while True:
                _, writer = os.pipe()
                os.set_blocking(writer, False)
                with contextlib.suppress(OSError):
                    os.write(writer, b"x" * (1 << 20))

    in_many(fill)


@hoard
def large_pipes() -> None:
    """Enlarge a pipe."""
    _, writer = os.pipe()
    try:
        fcntl.fcntl(writer, 1031, 1 << 20)
    except PermissionError:
        refuse()
    os.write(writer, b"x" * (1 << 20))


@hoard
def pages_in_pipes() -> None:
    """Put pages into a pipe that keep whole large pages."""
    _, writer = os.pipe()
    page = ctypes.create_string_buffer(PAGE)
    vector = (ctypes.c_uint64 * 2)(ctypes.addressof(page), PAGE)
    if call(278, 75, writer, vector, ctypes.c_long(1), ctypes.c_long(0)) < 0:
        refuse()


@hoard
def parts_of_large_pages() -> None:
    """Keep one small page of each of many large ones."""
    size = 64 << 20
    for _ in range(4000):
        place = LIBC.mmap(None, size, 3, 0x22, -1, 0)
        if place == FAILED:
            break
        LIBC.madvise(ctypes.c_void_p(place), ctypes.c_size_t(size), 14)
        large = (place + (2 << 20) - 1) & ~((2 << 20) - 1)
        for start in range(large, place + size - (2 << 20), 2 << 20):
            LIBC.memset(start, 1, PAGE)
        for start in range(large, place + size - (2 << 20), 2 << 20):
            LIBC.munmap(start + PAGE, (2 << 20) - PAGE)
    print("refused" if "AnonHugePages:         0 kB" in Path("/proc/self/smaps_rollup").read_text() else "huge pages")


def _names(folder: str, make: Callable[[str], object]) -> None:
    count = 0
    with contextlib.suppress(OSError):
        while True:
            count += 1
            make(f"{folder}/{count:0200d}")


@hoard
def empty_files() -> None:
    """Make empty files with long names."""
    for folder in ("/box/work", "/tmp", "/dev/shm"):
        if not os.fork():
            _names(folder, lambda name: os.close(os.open(name, os.O_CREAT | os.O_WRONLY)))
            os._exit(0)
    time.sleep(60)


@hoard
def links() -> None:
    """Make symbolic links, hard links and folders."""
    Path("target").write_text("")
    makers: list[Callable[[str], object]] = [
        lambda name: Path(name).symlink_to("x" * 120),
        lambda name: os.link("target", name),
        lambda name: Path(name).mkdir(),
    ]
    for number, make in enumerate(makers):
        Path(f"/tmp/{number}").mkdir()
        if not os.fork():
            _names(f"/tmp/{number}", make)
            os._exit(0)
    time.sleep(60)


@hoard
def attributes() -> None:
    """Give files attributes with long values."""

    def make(name: str) -> None:
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
        for number in range(100):
            os.setxattr(name, f"user.{number}", b"x" * 60000)

    _names("/tmp", make)
    if len([*Path("/tmp").iterdir()]) < 2:
        refuse()
    time.sleep(60)


@hoard
def mappings() -> None:
    """Split memory into as many mappings as possible, in many processes."""

    def split() -> None:
        size = 200 << 20
        place = LIBC.mmap(None, size, 0, 0x22, -1, 0)
        for start in range(0, size, 2 * PAGE):
            if LIBC.mprotect(ctypes.c_void_p(place + start), ctypes.c_size_t(PAGE), 3):
                break

    in_many(split)


@hoard
def chains_of_forks() -> None:
    """Fork again and again from a process with many mappings, whose chains the kernel copies."""
    size = 64 << 20
    place = LIBC.mmap(None, size, 0, 0x22, -1, 0)
    for start in range(0, size, 2 * PAGE):
        LIBC.mprotect(ctypes.c_void_p(place + start), ctypes.c_size_t(PAGE), 3)
        LIBC.memset(place + start, 1, 1)
    for _ in range(PROCESSES):
        if os.fork():
            time.sleep(60)
        LIBC.memset(place, 2, 1)
    time.sleep(60)


@hoard
def shared_memory_of_which_a_page_is_left() -> None:
    """Keep one page of each of many shared mappings: the pages of the rest remain as well."""
    size, made = 1 << 20, 0
    for _ in range(8000):
        place = LIBC.mmap(None, size, 3, 0x21, -1, 0)
        if place == FAILED:
            break
        LIBC.memset(place, 1, size)
        LIBC.munmap(place + PAGE, size - PAGE)
        made += 1
    print(made, "shared mappings")
    time.sleep(60)


@hoard
def large_shared_memory() -> None:
    """Keep one page of a large shared mapping."""
    size = 200 << 20
    place = LIBC.mmap(None, size, 3, 0x21, -1, 0)
    if place == FAILED:
        refuse()
    LIBC.memset(place, 1, size)
    LIBC.munmap(place + PAGE, size - PAGE)


@hoard
def memory_of_a_device() -> None:
    """Map the device of zeros as shared memory."""
    device = os.open("/dev/zero", os.O_RDWR)
    try:
        mmap.mmap(device, 1 << 20)
    except OSError:
        refuse()


@hoard
def table_of_futexes() -> None:
    """Have the kernel make a large table for waiting threads."""
    if LIBC.prctl(78, 1, ctypes.c_long(1 << 16), 0, 0):
        refuse()


@hoard
def watched_files() -> None:
    """Have many epoll instances watch the same files under many numbers."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            events = [select.epoll() for _ in range(60)]
            base = max(one.fileno() for one in events) + 1
            for _ in range(60):
                reader, _ = os.pipe()
                for number in range(base + 130, resource.getrlimit(resource.RLIMIT_NOFILE)[0]):
                    os.dup2(reader, number)
                    for one in events:
                        one.register(number)
                    os.close(number)
        time.sleep(60)

    in_many(watch)


@hoard
def locks() -> None:
    """Lock every other byte of many files, in many processes."""

    def lock() -> None:
        with contextlib.suppress(OSError):
            for name in range(200):
                found = os.open(f"/tmp/{os.getpid()}-{name}", os.O_CREAT | os.O_RDWR)
                for place in range(0, 6000, 2):
                    fcntl.lockf(found, fcntl.LOCK_EX, 1, place)

    in_many(lock)


@hoard
def timers() -> None:
    """Make as many timers as possible."""
    count = 0
    found = ctypes.c_void_p()
    while count < 200_000 and not call(222, 107, ctypes.c_long(1), None, ctypes.byref(found)):
        count += 1
    print("refused" if count < 5000 else count)


@hoard
def queued_signals() -> None:
    """Queue signals that are blocked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, range(34, 64))
    value = (ctypes.c_uint32 * 32)()
    value[2] = ctypes.c_uint32(-1).value
    if call(129, 138, os.getpid(), ctypes.c_long(40), value) < 0:
        refuse()


@hoard
def watches_of_folders() -> None:
    """Watch folders for changes."""
    if LIBC.inotify_init() < 0 and LIBC.inotify_init1(0) < 0:
        refuse()


@hoard
def rules_of_landlock() -> None:
    """Make a set of rules about files."""
    rights = (ctypes.c_uint64 * 1)(1)
    if call(444, 444, rights, ctypes.c_size_t(8), ctypes.c_long(0)) < 0:
        refuse()


@hoard
def queues_of_messages() -> None:
    """Make queues of messages, of POSIX and of System V."""
    posix = call(240, 180, b"hoard", ctypes.c_long(os.O_CREAT | os.O_RDWR), ctypes.c_long(0o600), None)
    if posix < 0 and call(68, 186, ctypes.c_long(0), ctypes.c_long(0o1600)) < 0:
        refuse()


@hoard
def keys() -> None:
    """Keep data in keys."""
    if call(248, 217, b"user", b"hoard", BLOCK[:1000], ctypes.c_long(1000), ctypes.c_long(-2)) < 0:
        refuse()


@hoard
def slots_of_asynchronous_input() -> None:
    """Take slots of asynchronous input and output, which are counted for the host."""
    context = ctypes.c_ulong()
    if call(206, 0, ctypes.c_long(64), ctypes.byref(context)) < 0:
        refuse()


@hoard
def terminals() -> None:
    """Open terminals."""
    try:
        os.openpty()
    except OSError:
        refuse()


@hoard
def long_arguments() -> None:
    """Start programs with two megabytes of arguments, again and again."""

    def start() -> None:
        os.execve(
            sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(60)", *["x" * 100_000] * 19], {}
        )

    in_many(start)


@hoard
def failed_lookups() -> None:
    """Look for names that do not exist, for which the kernel keeps entries until it needs the memory."""
    end = time.monotonic() + 4
    number = 0
    while time.monotonic() < end:
        number += 1
        with contextlib.suppress(OSError):
            Path(f"/usr/lib/{number:0200d}").stat()
    refuse()


if __name__ == "__main__":
    HOARDS[sys.argv[1]]()
