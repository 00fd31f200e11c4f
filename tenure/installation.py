"""Locate the parts of an installation: a checkout, a worker's copy of its source, or a wheel.

A checkout has `workflows/`, `activities/`, `worker.py` and `docs/` next to the package `tenure`. In a wheel these names
are too general for the environment of a user, so they are in the folder `tenure/_app`, which processes of Tenure add to
their import path. Names of modules are the same in both, as recorded histories need.
"""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Final

import tenure

PROGRAM_VARIABLE: Final = "TENURE_PROGRAM"
"""Variable of a process that a command has started: the command that its messages name."""

PACKAGED_FOLDER: Final = "_app"
"""Folder of the package `tenure` with the other parts of a wheel."""


def find_root(package: Path) -> Path:
    """Return the folder with `workflows/`, `activities/` and `worker.py` of an installation.

    Args:
        package: folder of the package `tenure`.
    """
    packaged = package / PACKAGED_FOLDER
    return packaged if packaged.is_dir() else package.parent


def find_package(root: Path) -> Path:
    """Return the folder of the package `tenure` of an installation, by the folder of the other parts."""
    return root.parent if root.name == PACKAGED_FOLDER else root / "tenure"


def is_packaged(root: Path) -> bool:
    """Return whether an installation is a wheel, or a copy of its source with a link to its manual."""
    return (root / "docs").resolve().parent.name == PACKAGED_FOLDER


def extend_import_path(root: Path) -> None:
    """Make the workflows and activities of an installation importable in this process."""
    if str(root) not in sys.path:
        # Before the packages of the environment, of which one may be named `workflows` too.
        sys.path.insert(0, str(root))


def find_default_home(*, packaged: bool) -> Path:
    """Return the folder of all state without a setting: that of the user for a wheel, else one in this folder."""
    if not packaged:
        return Path(".tenure")
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share") / "tenure"


def find_program(
    arguments: Sequence[str], typed: Sequence[str], environment: Mapping[str, str], *, packaged: bool
) -> str:
    """Return the command that starts this program again in the shell of the person who has started it.

    Args:
        arguments: the program and its arguments.
        typed: the interpreter and its arguments.
        environment: variables, of which one names the command of the process that has started this one.
        packaged: whether the installation is a wheel.
    """
    script = Path(arguments[0])
    # `uv run` sets this variable and has chosen the interpreter, which the person may not have on the path.
    runner = ["uv", "run"] if "UV_RUN_RECURSION_DEPTH" in environment else []
    if script.name == "client.py" or script.is_dir():
        return shlex.join([*(runner or typed[:1]), arguments[0]])
    if script.name == "tenure":
        return shlex.join([*runner, "tenure" if runner or which("tenure") else arguments[0]])
    if script.parts[-2:] == ("tenure", "__main__.py"):
        return shlex.join([*(runner or typed[:1]), "-m", "tenure"])
    return environment.get(PROGRAM_VARIABLE) or ("tenure" if packaged else "python client.py")


ROOT: Final = find_root(Path(tenure.__file__).parent)
"""Folder with the parts of this installation."""

IS_PACKAGED: Final = is_packaged(ROOT)
"""Whether this installation is a wheel."""

DEFAULT_HOME: Final = find_default_home(packaged=IS_PACKAGED)
"""Folder of all state, unless a setting names another one."""

PROGRAM: Final = find_program(sys.argv, sys.orig_argv, os.environ, packaged=IS_PACKAGED)
"""Command that messages name, as the person typed it."""
