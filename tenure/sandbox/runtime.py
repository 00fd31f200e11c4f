"""Provide the Python environment of sandboxed programs, created once and mounted read-only.

`TENURE_SANDBOX_PYTHON` names an interpreter with the packages for programs. Without it, a small environment is created
in the home at the first use, from packages whose versions and hashes `requirements.txt` in this folder pins. Until it
exists, and if it cannot be created for lack of a network, programs run on Tenure's own interpreter and packages, which
include pytest and NumPy and no secret.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from filelock import FileLock

from tenure.contracts.sandbox import Language
from tenure.sandbox.base import NoSandbox
from tenure.settings.worker import SandboxSettings

INSIDE_FOLDER: Final = Path(__file__).resolve().parent / "inside"
"""Folder of the scripts that run inside a sandbox."""

REQUIREMENTS: Final = Path(__file__).resolve().with_name("requirements.txt")
"""Packages of the environment with their hashes: the dependency group `sandbox` of `pyproject.toml`, exported."""

CREATION_TIMEOUT_SECONDS: Final = 600
"""Time for creating the environment."""
RETRY_SECONDS: Final = 3600.0
"""Time after which a failed creation is retried."""

INSPECTION_SCRIPT: Final = """
import importlib.metadata, json, os, sys
names = {one.name: one.version for one in importlib.metadata.distributions() if one.name}
base = getattr(sys, "_base_executable", None) or sys.executable
print(json.dumps([sys.prefix, sys.base_prefix, sys.executable, os.path.realpath(base), sorted(names.items())]))
"""
"""Script by which an interpreter describes itself."""


@dataclass(frozen=True)
class Runtime:
    """Interpreter with the folders that it needs."""

    python: Path
    """Interpreter with its packages."""
    plain: Path
    """Base interpreter, which starts faster."""
    folders: tuple[Path, ...]
    """Folders of the interpreter."""
    packages: tuple[tuple[str, str], ...]
    """Names and versions of the importable packages besides the standard library."""
    note: str = ""
    """Remark for the user."""
    fonts: Path | None = None
    """Folder with Matplotlib's font cache, which takes seconds to create in every sandbox."""
    languages: tuple[Language, ...] = field(default_factory=lambda: list_languages())
    """Other languages that can be run."""

    @cached_property
    def visible_folders(self) -> tuple[Path, ...]:
        """Folders outside of the system's own that a program must see."""
        return tuple(path for path in dict.fromkeys(self.folders) if not path.is_relative_to("/usr"))

    @cached_property
    def environment(self) -> dict[str, str]:
        """All environment variables of a program."""
        folders = (str(self.python.parent), "/usr/local/bin", "/usr/bin", "/bin")
        return {
            "PATH": os.pathsep.join(dict.fromkeys(folders)),
            "HOME": "/box/home",
            "TMPDIR": "/box/tmp",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            # Threads of a library use address space, which is limited to the memory limit.
            "MALLOC_ARENA_MAX": "2",
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "Agg",
        }

    @cached_property
    def home(self) -> list[tuple[str, bytes]]:
        """Files in a program's home folder."""
        found = sorted(self.fonts.glob("fontlist-*.json")) if self.fonts is not None else []
        return [(f".cache/matplotlib/{path.name}", path.read_bytes()) for path in found]

    @cached_property
    def has_pytest(self) -> bool:
        """Whether pytest files can be run."""
        return any(name.lower() == "pytest" for name, _ in self.packages)

    def build_driver_command(self, needs_packages: bool) -> list[str]:
        """Return the command of the driver."""
        # Without the site module, which takes longer than the rest of the start.
        interpreter = [str(self.python), "-I", "-B"] if needs_packages else [str(self.plain), "-I", "-S", "-B"]
        return [*interpreter, "/in/tenure/sandbox/inside/driver.py"]

    def build_shell_command(self) -> list[str]:
        """Return the beginning of the command that runs a line of shell."""
        return [_which("bash") or "/bin/sh", "-c"]

    def build_command(self, language: Language, entry: str, arguments: tuple[str, ...]) -> list[str]:
        """Return the command that runs a program.

        Raises:
            LookupError: the language cannot be run here.
        """
        if language not in self.languages:
            raise LookupError(f"{language} is not installed here")
        starts = {
            "python": [str(self.python)],
            "node": [_which("node") or "node"],
            "shell": [_which("bash") or "/bin/sh"],
        }
        return [*starts[language], f"./{entry}" if language == "shell" else entry, *arguments]


def list_languages() -> tuple[Language, ...]:
    """Return the languages of this host: Python, and others whose interpreter is in the system's folders."""
    found: list[Language] = ["python"]
    if _which("node"):
        found.append("node")
    return (*found, "shell")


def _which(name: str) -> str | None:
    """Find a program in the folders that a sandbox shows."""
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")


def examine(python: Path, note: str = "") -> Runtime:
    """Ask an interpreter for its folders and packages.

    Raises:
        NoSandbox: it does not answer.
    """
    try:
        # Without the variables of this process, so that the answer is the same as inside.
        output = subprocess.run(
            [python, "-I", "-c", INSPECTION_SCRIPT],
            capture_output=True,
            timeout=60,
            check=True,
            env={"PATH": "/usr/bin:/bin"},
        )
        prefix, base_prefix, executable, base, packages = json.loads(output.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise NoSandbox(f"the sandbox's Python {python} does not run: {error}") from None
    home = Path(base).parent.parent
    folders = (Path(prefix), Path(base_prefix), home)
    return Runtime(Path(executable), Path(base), folders, tuple((name, version) for name, version in packages), note)


def find_current(settings: SandboxSettings) -> Runtime:
    """Return the existing interpreter, without creating one.

    Raises:
        NoSandbox: the configured interpreter does not run.
    """
    if settings.sandbox_python is not None:
        return examine(settings.sandbox_python.absolute())
    made = _OwnEnvironment(settings.home)
    if made.is_ready:
        return replace(examine(made.python), fonts=made.fonts)
    return examine(Path(sys.executable), "Tenure's own packages, until the sandbox's environment is made")


def prepare(settings: SandboxSettings) -> Runtime:
    """Return the interpreter of programs, creating it if it does not exist.

    Raises:
        NoSandbox: the configured interpreter does not run.
    """
    made = _OwnEnvironment(settings.home)
    if settings.sandbox_python is None and not made.is_ready:
        made.create()
    return find_current(settings)


class _OwnEnvironment:
    """Environment that Tenure creates for itself."""

    def __init__(self, home: Path) -> None:
        self._requirements = REQUIREMENTS.read_bytes()
        self._folder = home.absolute() / "sandbox"
        self._mark = self._folder / "installed.txt"
        self._failed = self._folder / "failed"
        self.python = self._folder / "python" / "bin" / "python"
        self.fonts = self._folder / "fonts"

    @property
    def is_ready(self) -> bool:
        """Whether it was created from the currently pinned packages."""
        try:
            return self._mark.read_bytes() == self._requirements
        except OSError:
            return False

    def create(self) -> None:
        """Create it, unless a recent attempt failed; a failure is retried later."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self._folder / "making.lock"):
            if self.is_ready or self._failed_recently:
                return
            shutil.rmtree(self.python.parents[1], ignore_errors=True)
            try:
                for command in [*self._commands(), self._list_fonts]:
                    subprocess.run(
                        command, check=True, capture_output=True, timeout=CREATION_TIMEOUT_SECONDS, umask=0o022
                    )
            except (OSError, subprocess.SubprocessError) as error:
                said = getattr(error, "stderr", None) or str(error).encode()
                self._failed.write_bytes(said[-2000:])
            else:
                self._mark.write_bytes(self._requirements)

    @property
    def _failed_recently(self) -> bool:
        """Whether a recent attempt to create it failed."""
        try:
            return time.time() - self._failed.stat().st_mtime < RETRY_SECONDS
        except OSError:
            return False

    @property
    def _list_fonts(self) -> list[str]:
        """Command that creates Matplotlib's font cache."""
        code = "import os, sys; os.environ['MPLCONFIGDIR'] = sys.argv[1]; import matplotlib.font_manager"
        return [str(self.python), "-c", code, str(self.fonts)]

    def _commands(self) -> list[list[str]]:
        """Return the commands that create it, with uv if it is installed."""
        folder, python = str(self.python.parents[1]), str(self.python)
        packages = ["--quiet", "--require-hashes", "--requirement", str(REQUIREMENTS)]
        if uv := shutil.which("uv"):
            return [
                [uv, "venv", "--quiet", "--no-project", "--python", sys.executable, folder],
                [uv, "pip", "install", "--compile-bytecode", "--python", python, *packages],
            ]
        return [
            [sys.executable, "-m", "venv", folder],
            [python, "-m", "pip", "install", "--disable-pip-version-check", *packages],
        ]
