"""Try the boundaries of a sandbox from inside and print the open ones as a JSON list."""

import ctypes
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable


def can_open(path: str, flags: int = os.O_RDONLY) -> bool:
    """Return whether a file can be opened."""
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def can_write(folder: str) -> bool:
    """Return whether a file can be created in a folder; it is removed immediately."""
    path = f"{folder}/.tenure-probe"
    if not can_open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY):
        return False
    os.unlink(path)
    return True


def can_reach(family: int, address: tuple[str, int]) -> bool:
    """Return whether a datagram could be routed; nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect(address)
    except OSError:
        return False
    return True


def can_fork(most: int) -> bool:
    """Return whether the given number of processes can be started."""
    children = []
    try:
        for _ in range(most):
            child = os.fork()
            if not child:
                signal.pause()
            children.append(child)
    except OSError:
        return False
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return True


def has_capability() -> bool:
    """Return whether a capability is left, or could be gained."""
    with open("/proc/self/status", encoding="ascii") as status:
        facts = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    return bool(int(facts["CapEff"], 16) or int(facts["CapBnd"], 16)) or facts["NoNewPrivs"] != "1"


def is_refused(operation: Callable[[], int]) -> bool:
    """Return whether a system call fails, tried in a separate process."""
    child = os.fork()
    if not child:
        os._exit(1 if operation() >= 0 else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def can_fill(folder: str, mebibytes: int) -> bool:
    """Return whether a folder accepts the given number of bytes, which are removed immediately."""
    path = f"{folder}/.tenure-probe"
    try:
        with open(path, "wb", buffering=0) as target:
            return all(target.write(bytes(1 << 20)) == 1 << 20 for _ in range(mebibytes))
    except OSError:
        return False
    finally:
        if os.path.exists(path):
            os.unlink(path)


def extend_folder(folder: str) -> None:
    """Fill a folder of the host until this process is ended, or 64 MiB are written."""
    with open(f"{folder}/.tenure-grown", "wb", buffering=0) as target:
        for _ in range(64):
            target.write(bytes(1 << 20))
            os.fsync(target.fileno())


def main() -> None:
    """Run all checks; with the paths of a writable and a read-only folder of the host, those of folders as well."""
    writable, readonly = (*sys.argv[1:], "", "")[:2]
    libc = ctypes.CDLL(None)
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) > 64]
    descriptors = [name for name in os.listdir("/proc/self/fd") if int(name) > 3]
    # CLONE_NEWUSER
    new_user_namespace = 0x10000000
    boundaries = {
        "the password file can be read": can_open("/etc/shadow"),
        "the system can be written": any(map(can_write, ("/", "/usr", "/etc", "/dev", "/in"))),
        "settings of the kernel can be written": can_open("/proc/sys/kernel/core_pattern", os.O_WRONLY),
        "processes of the host can be seen": bool(others),
        "descriptors of the host are open": bool(descriptors),
        "there is a way into the network": can_reach(socket.AF_INET, ("198.51.100.7", 53)),
        "process 1 can be looked into": can_open("/proc/1/environ") or can_open("/proc/1/mem", os.O_RDWR),
        "a capability is left": has_capability(),
        "user namespaces can be made": not is_refused(lambda: int(libc.unshare(new_user_namespace))),
        "anonymous memory files can be made": not is_refused(lambda: int(libc.memfd_create(b"probe", 0))),
        "core files are written": resource.getrlimit(resource.RLIMIT_CORE)[1] != 0,
        "processes are not counted": can_fork(40),
        "scratch space is not bounded": can_fill("/box" if writable else ".", 24),
    }
    if writable:
        boundaries |= {
            "the environment can be written": can_write(readonly),
            "devices can be made": not is_refused(lambda: int(libc.mknod(b"device", 0o020666, 0x103))),
        }
    with open("made.txt", "w", encoding="ascii") as target:
        target.write("made in the sandbox\n")
    print(json.dumps([name for name, broken in boundaries.items() if broken]), flush=True)
    if writable:
        extend_folder(writable)


if __name__ == "__main__":
    main()
