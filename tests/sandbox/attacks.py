"""Attacks: each function tries one thing, bounded and undone immediately, and returns whether it succeeded.

The file is run twice: in the sandbox, in which every attack must fail, and without it: then every attack must succeed,
so that none is ineffective. Its targets are in `wanted.json` in the same folder.
"""

import contextlib
import ctypes
import json
import mmap
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
ATTACKS: list[Callable[[dict[str, Any]], bool]] = []


def attack(function: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any]], bool]:
    """Take a function as an attack."""
    ATTACKS.append(function)
    return function


def call(x86: int, arm: int, *arguments: object) -> int:
    """Make a system call."""
    return int(LIBC.syscall(ctypes.c_long(x86 if X86 else arm), *arguments))


def reads(path: str, sign: bytes) -> bool:
    """Return whether a file holds a sign."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return sign in file.read(1 << 20)
    return False


@attack
def file_of_the_host(wanted: dict[str, Any]) -> bool:
    """Read a file by its path."""
    return reads(wanted["secret"], b"CANARY")


@attack
def file_through_another_root(wanted: dict[str, Any]) -> bool:
    """Read it through the root of another process."""
    return reads(f"/proc/{os.getppid()}/root{wanted['secret']}", b"CANARY")


@attack
def file_beside_a_descriptor(wanted: dict[str, Any]) -> bool:
    """Read it through the descriptor of an open folder."""
    for number in range(3, 64):
        with contextlib.suppress(OSError):
            os.close(os.open("secret.txt", os.O_RDONLY, dir_fd=number))
            return True
    return False


@attack
def own_environment(wanted: dict[str, Any]) -> bool:
    """Find a key among the variables."""
    return any("CANARY" in value for value in os.environ.values())


@attack
def environment_of_the_parent(wanted: dict[str, Any]) -> bool:
    """Find a key among the variables of the process above, and of the first one."""
    return any(reads(f"/proc/{pid}/environ", b"CANARY") for pid in (os.getppid(), 1))


@attack
def arguments_of_others(wanted: dict[str, Any]) -> bool:
    """See the command of another process."""
    return reads(f"/proc/{wanted['victim']}/cmdline", b"CANARY")


@attack
def signal_to_another(wanted: dict[str, Any]) -> bool:
    """Be allowed to signal another process."""
    with contextlib.suppress(OSError):
        os.kill(wanted["victim"], 0)
        return reads(f"/proc/{wanted['victim']}/cmdline", b"CANARY")
    return False


@attack
def write_to_the_host(wanted: dict[str, Any]) -> bool:
    """Leave a file in a folder that everybody may write."""
    path = f"{wanted['open_folder']}/left"
    with contextlib.suppress(OSError), open(path, "w"):
        os.unlink(path)
        return True
    return False


@attack
def list_the_host(wanted: dict[str, Any]) -> bool:
    """See the names in a folder of the host."""
    with contextlib.suppress(OSError):
        return "secret.txt" in os.listdir(os.path.dirname(wanted["secret"]))
    return False


@attack
def link_to_the_host(wanted: dict[str, Any]) -> bool:
    """Read a file of the host through a link."""
    with contextlib.suppress(OSError):
        os.symlink(wanted["secret"], "link")
        found = reads("link", b"CANARY")
        os.unlink("link")
        return found
    return False


@attack
def service_on_a_port(wanted: dict[str, Any]) -> bool:
    """Connect to a service of this machine."""
    return connects(socket.AF_INET, ("127.0.0.1", wanted["port"]))


@attack
def service_at_a_path(wanted: dict[str, Any]) -> bool:
    """Connect to a socket in the file system."""
    return connects(socket.AF_UNIX, wanted["socket"])


@attack
def service_without_a_path(wanted: dict[str, Any]) -> bool:
    """Connect to a socket that has a name only."""
    return connects(socket.AF_UNIX, "\0" + wanted["abstract"])


def connects(family: int, address: Any) -> bool:
    """Return whether something listens."""
    with contextlib.suppress(OSError), socket.socket(family) as found:
        found.settimeout(2)
        found.connect(address)
        return True
    return False


@attack
def account_names(wanted: dict[str, Any]) -> bool:
    """Read the names of the user accounts."""
    return reads("/etc/passwd", b"root")


@attack
def name_of_the_machine(wanted: dict[str, Any]) -> bool:
    """Learn the name of the machine."""
    return bool(os.uname().nodename == wanted["machine"])


@attack
def devices_of_the_machine(wanted: dict[str, Any]) -> bool:
    """Look at the devices of the machine."""
    return os.path.isdir("/sys/class")


@attack
def many_processes(wanted: dict[str, Any]) -> bool:
    """Start a hundred processes."""
    children = []
    with contextlib.suppress(OSError):
        for _ in range(100):
            child = os.fork()
            if not child:
                signal.pause()
            children.append(child)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(children) == 100


@attack
def many_threads(wanted: dict[str, Any]) -> bool:
    """Start a hundred threads."""
    threading.stack_size(65536)
    stop, threads = threading.Event(), []
    with contextlib.suppress(RuntimeError):
        for _ in range(100):
            thread = threading.Thread(target=stop.wait)
            thread.start()
            threads.append(thread)
    stop.set()
    for thread in threads:
        thread.join()
    return len(threads) == 100


@attack
def many_files(wanted: dict[str, Any]) -> bool:
    """Open five hundred files."""
    opened = []
    with contextlib.suppress(OSError):
        for _ in range(500):
            opened.append(os.open("/dev/null", os.O_RDONLY))
    for one in opened:
        os.close(one)
    return len(opened) == 500


@attack
def much_address_space(wanted: dict[str, Any]) -> bool:
    """Reserve two gigabytes."""
    with contextlib.suppress(OSError, MemoryError):
        mmap.mmap(-1, 2 << 30).close()
        return True
    return False


@attack
def memory_without_a_process(wanted: dict[str, Any]) -> bool:
    """Make a file that is memory and nothing else."""
    with contextlib.suppress(OSError):
        os.close(os.memfd_create("attack"))
        return True
    return False


@attack
def memory_shared_by_key(wanted: dict[str, Any]) -> bool:
    """Make shared memory that outlives its process."""
    found = call(29, 194, 0, 4096, 0o600)
    if found >= 0:
        call(31, 195, found, 0, None)
    return found >= 0


@attack
def queue_of_messages(wanted: dict[str, Any]) -> bool:
    """Make a queue in the kernel."""
    found = call(68, 186, 0, 0o600)
    if found >= 0:
        call(71, 187, found, 0, None)
    return found >= 0


@attack
def full_shared_memory(wanted: dict[str, Any]) -> bool:
    """Fill the folder of shared memory with forty megabytes."""
    return takes("/dev/shm/attack", 40)


@attack
def full_scratch(wanted: dict[str, Any]) -> bool:
    """Fill the working folder with two hundred megabytes."""
    return all(takes(f"attack{number}", 50, keep=True) for number in range(4)) and swept()


def takes(path: str, mebibytes: int, keep: bool = False) -> bool:
    """Return whether a file accepts the given number of bytes."""
    try:
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, mebibytes << 20)
    except OSError:
        swept()
        return False
    finally:
        if not keep and os.path.exists(path):
            os.unlink(path)
    return True


def swept() -> bool:
    """Remove what filled the folder."""
    for name in os.listdir("."):
        if name.startswith("attack") and name[6:].isdigit():
            os.unlink(name)
    return True


@attack
def one_large_file(wanted: dict[str, Any]) -> bool:
    """Make a file of a gigabyte that uses no space."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with contextlib.suppress(OSError), open("large", "wb") as file:
        file.truncate(1 << 30)
        os.unlink("large")
        return True
    return False


def in_a_child(operation: Callable[[], int]) -> bool:
    """Return whether a call succeeds in a process of its own."""
    child = os.fork()
    if not child:
        os._exit(7 if operation() >= 0 else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@attack
def new_user_namespace(wanted: dict[str, Any]) -> bool:
    """Become root of a namespace of one's own."""
    return in_a_child(lambda: call(272, 97, ctypes.c_long(0x10000000)))


@attack
def new_namespaces_at_birth(wanted: dict[str, Any]) -> bool:
    """Begin a process in a user namespace of its own."""

    def born() -> int:
        found = call(56, 220, ctypes.c_long(0x10000000 | signal.SIGCHLD), None, None, None, None)
        if found == 0:
            os._exit(0)
        return found

    return in_a_child(born)


@attack
def look_into_a_child(wanted: dict[str, Any]) -> bool:
    """Trace a process."""
    child = os.fork()
    if not child:
        signal.pause()
    seize = 0x4206
    found = call(101, 117, ctypes.c_long(seize), ctypes.c_long(child), None, None)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return found == 0


@attack
def memory_of_a_process(wanted: dict[str, Any]) -> bool:
    """Read the memory of a process by the call for it."""
    here = ctypes.create_string_buffer(8)
    there = (ctypes.c_uint64 * 2)(ctypes.addressof(here), 8)
    return call(310, 270, os.getpid(), there, ctypes.c_long(1), there, ctypes.c_long(1), ctypes.c_long(0)) == 8


@attack
def ring_of_keys(wanted: dict[str, Any]) -> bool:
    """Reach the keys that processes of a user share."""
    return call(250, 219, ctypes.c_long(0), ctypes.c_long(-4), ctypes.c_long(1)) >= 0


@attack
def layout_of_memory(wanted: dict[str, Any]) -> bool:
    """Switch off the random layout of memory."""
    return in_a_child(lambda: call(135, 92, ctypes.c_long(0x40000)))


@attack
def pipe_as_a_file(wanted: dict[str, Any]) -> bool:
    """Create a named pipe, which blocks the process that opens it."""
    with contextlib.suppress(OSError):
        os.mkfifo("pipe")
        os.unlink("pipe")
        return True
    return False


@attack
def new_privileges(wanted: dict[str, Any]) -> bool:
    """Be able to gain privileges from programs that give them."""
    return reads("/proc/self/status", b"NoNewPrivs:\t0")


@attack
def bounding_capabilities(wanted: dict[str, Any]) -> bool:
    """Have capabilities in reach."""
    with open("/proc/self/status", encoding="ascii") as status:
        return any(line.startswith("CapBnd") and int(line.split()[1], 16) for line in status)


@attack
def calls_of_tomorrow(wanted: dict[str, Any]) -> bool:
    """Make a call that the filter has never heard of, with an argument that no call takes."""
    absent = 38
    ctypes.set_errno(0)
    call(435, 435, None, ctypes.c_long(0))
    return ctypes.get_errno() != absent


def main() -> None:
    """Try everything, each in a process of its own, and print what was got."""
    with open("wanted.json", encoding="utf-8") as file:
        wanted = json.load(file)
    got = {}
    for function in ATTACKS:
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os._exit(3 if function(wanted) else 0)
        got[function.__name__] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    json.dump(got, sys.stdout)


if __name__ == "__main__":
    main()
