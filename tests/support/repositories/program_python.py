"""The interpreter of sandboxed programs in tests: an environment of some installed packages, without their plugins.

Each start of pytest in the environment of the tests imports its plugins, which takes 1.3 of 1.5 s of processor time.
"""

import compileall
import functools
import importlib.metadata
import os
import shutil
import sys
import venv
from pathlib import Path

from filelock import FileLock

_PACKAGES = (
    *("iniconfig", "numpy", "packaging", "pluggy", "pygments", "pytest"),
    *("hypothesis", "sortedcontainers"),  # some programs are tested with them
)


@functools.cache
def make_program_python() -> Path:
    """Return the interpreter, after creating its environment inside that of the tests if it does not exist."""
    found = [importlib.metadata.distribution(name) for name in _PACKAGES]
    folder = Path(sys.prefix) / "-".join(["programs", *(one.version for one in found)])
    with FileLock(f"{folder}.lock"):
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, symlinks=True)
            (packages,) = folder.glob("lib/python*/site-packages")
            for distribution in found:
                _link_files(distribution, packages)
            compileall.compile_dir(packages, quiet=2)
            (folder / "complete").touch()
    return folder / "bin" / "python"


def _link_files(distribution: importlib.metadata.Distribution, packages: Path) -> None:
    has_plugin = any(entry.group == "pytest11" for entry in distribution.entry_points)
    left_out = {"..", "tests", "__pycache__"}
    for file in distribution.files or ():
        if left_out.isdisjoint(file.parts) and not (has_plugin and ".dist-info" in file.parts[0]):
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(str(distribution.locate_file(file)), target)
