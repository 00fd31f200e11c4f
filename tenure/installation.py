"""Locate the parts of an installation: a checkout, a worker's copy of its source, or a wheel.

A checkout has `workflows/`, `activities/`, `worker.py` and `docs/` next to the package `tenure`. In a wheel these names
are too general for the environment of a user, so they are in the folder `tenure/_app`, which processes of Tenure add to
their import path. Names of modules are the same in both, as recorded histories need.
"""

import os
import sys
from pathlib import Path
from typing import Final

import tenure

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


ROOT: Final = find_root(Path(tenure.__file__).parent)
"""Folder with the parts of this installation."""

IS_PACKAGED: Final = is_packaged(ROOT)
"""Whether this installation is a wheel."""

DEFAULT_HOME: Final = find_default_home(packaged=IS_PACKAGED)
"""Folder of all state, unless a setting names another one."""

PROGRAM: Final = "tenure" if IS_PACKAGED else "python client.py"
"""Command that messages name."""
