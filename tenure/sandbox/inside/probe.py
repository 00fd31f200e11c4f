"""Tries the boundaries of a sandbox from the inside and prints those that did not hold, as a list in JSON."""

import ctypes
import json
import os
import resource
import signal
import socket
from collections.abc import Callable


def opens(path: str, flags: int = os.O_RDONLY) -> bool:
    """Return whether a file can be opened."""
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def writes(folder: str) -> bool:
    """Return whether a file can be made in a folder; it is removed at once."""
    path = f"{folder}/.tenure-probe"
    if not opens(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY):
        return False
    os.unlink(path)
    return True


def reaches(family: int, address: tuple[str, int]) -> bool:
    """Return whether a datagram would find a way; nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect(address)
    except OSError:
        return False
    return True


def forks(most: int) -> bool:
    """Return whether so many processes can be started."""
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


def capable() -> bool:
    """Return whether a capability is left, or could be gained."""
    with open("/proc/self/status", encoding="ascii") as status:
        facts = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    return bool(int(facts["CapEff"], 16) or int(facts["CapBnd"], 16)) or facts["NoNewPrivs"] != "1"


def refused(operation: Callable[[], int]) -> bool:
    """Return whether a system call fails, tried in a process of its own."""
    child = os.fork()
    if not child:
        os._exit(1 if operation() >= 0 else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def fills(folder: str, mebibytes: int) -> bool:
    """Return whether a folder takes so much; it is given back at once."""
    path = f"{folder}/.tenure-probe"
    try:
        with open(path, "wb", buffering=0) as target:
            return all(target.write(bytes(1 << 20)) == 1 << 20 for _ in range(mebibytes))
    except OSError:
        return False
    finally:
        if os.path.exists(path):
            os.unlink(path)


def main() -> None:
    """Try everything."""
    libc = ctypes.CDLL(None)
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) > 64]
    descriptors = [name for name in os.listdir("/proc/self/fd") if int(name) > 3]
    new_user_namespace = 0x10000000
    boundaries = {
        "the password file can be read": opens("/etc/shadow"),
        "the system can be written": any(map(writes, ("/", "/usr", "/etc", "/dev", "/in"))),
        "settings of the kernel can be written": opens("/proc/sys/kernel/core_pattern", os.O_WRONLY),
        "processes of the host can be seen": bool(others),
        "descriptors of the host are open": bool(descriptors),
        "there is a way into the network": reaches(socket.AF_INET, ("198.51.100.7", 53)),
        "process 1 can be looked into": opens("/proc/1/environ") or opens("/proc/1/mem", os.O_RDWR),
        "a capability is left": capable(),
        "user namespaces can be made": not refused(lambda: int(libc.unshare(new_user_namespace))),
        "anonymous memory files can be made": not refused(lambda: int(libc.memfd_create(b"probe", 0))),
        "core files are written": resource.getrlimit(resource.RLIMIT_CORE)[1] != 0,
        "processes are not counted": forks(40),
        "scratch space is not bounded": fills(".", 24),
    }
    with open("made.txt", "w", encoding="ascii") as target:
        target.write("made in the sandbox\n")
    print(json.dumps([name for name, broken in boundaries.items() if broken]))


if __name__ == "__main__":
    main()
