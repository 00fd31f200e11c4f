"""The Python that sandboxed programs run on: an environment of its own, made once, shown to them read-only.

`TENURE_SANDBOX_PYTHON` names an interpreter with the packages that programs may use. Where it names none, a small
environment is made in the home at the first use, from the group `sandbox` of `pyproject.toml`. Until it is there, and
where it cannot be made because there is no network, programs run on Tenure's own interpreter and packages: these hold
pytest and NumPy, and no secret.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from filelock import FileLock

from tenure.contracts.sandbox import Language
from tenure.sandbox.base import NoSandbox
from tenure.settings import Settings

INSIDE: Final = Path(__file__).resolve().parent / "inside"
"""What runs inside a sandbox."""

PROJECT: Final = Path(__file__).resolve().parents[2] / "pyproject.toml"
"""Where the packages of the environment are pinned."""

MAKING_SECONDS: Final = 600
"""Time for making the environment."""
AGAIN_SECONDS: Final = 3600.0
"""Time after which making it is tried again, where it could not be made."""

ASK: Final = """
import importlib.metadata, json, os, sys
names = {one.name: one.version for one in importlib.metadata.distributions() if one.name}
base = getattr(sys, "_base_executable", None) or sys.executable
print(json.dumps([sys.prefix, sys.base_prefix, sys.executable, os.path.realpath(base), sorted(names.items())]))
"""
"""What an interpreter is asked about itself."""


@dataclass(frozen=True)
class Runtime:
    """An interpreter, and what has to be shown of the host so that it runs."""

    python: Path
    """The interpreter, with its packages."""
    plain: Path
    """The interpreter that it is made from, which starts sooner."""
    folders: tuple[Path, ...]
    """Folders it lives in."""
    packages: tuple[tuple[str, str], ...]
    """Names and versions of what can be imported besides the standard library."""
    note: str = ""
    """What a person should know about it."""
    fonts: Path | None = None
    """Folder with the list of fonts that Matplotlib would otherwise make anew in every sandbox, for seconds."""
    languages: tuple[Language, ...] = field(default_factory=lambda: languages())
    """What else can be run here."""

    @cached_property
    def shown(self) -> tuple[Path, ...]:
        """Folders outside of the system's own that a program has to see."""
        return tuple(path for path in dict.fromkeys(self.folders) if not path.is_relative_to("/usr"))

    @cached_property
    def environment(self) -> dict[str, str]:
        """All variables that a program finds."""
        folders = (str(self.python.parent), "/usr/local/bin", "/usr/bin", "/bin")
        return {
            "PATH": os.pathsep.join(dict.fromkeys(folders)),
            "HOME": "/box/home",
            "TMPDIR": "/box/tmp",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            # A thread of a library costs address space, of which a program has as much as it has memory.
            "MALLOC_ARENA_MAX": "2",
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "Agg",
        }

    @cached_property
    def home(self) -> list[tuple[str, bytes]]:
        """Files that a program finds in its home."""
        found = sorted(self.fonts.glob("fontlist-*.json")) if self.fonts is not None else []
        return [(f".cache/matplotlib/{path.name}", path.read_bytes()) for path in found]

    @cached_property
    def has_pytest(self) -> bool:
        """Whether files of pytest can be run."""
        return any(name.lower() == "pytest" for name, _ in self.packages)

    def driver(self, needs_packages: bool) -> list[str]:
        """Return the command of the driver."""
        # Without the site module, which costs more than the rest of the start.
        interpreter = [str(self.python), "-I", "-B"] if needs_packages else [str(self.plain), "-I", "-S", "-B"]
        return [*interpreter, "/in/tenure/sandbox/inside/driver.py"]

    def command(self, language: Language, entry: str, arguments: tuple[str, ...]) -> list[str]:
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


def languages() -> tuple[Language, ...]:
    """Return what can be run on this host: Python, and the others where the system's own folders hold them."""
    found: list[Language] = ["python"]
    if _which("node"):
        found.append("node")
    return (*found, "shell")


def _which(name: str) -> str | None:
    """Find a program in the folders that a sandbox shows."""
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")


def examine(python: Path, note: str = "") -> Runtime:
    """Ask an interpreter what has to be shown of it.

    Raises:
        NoSandbox: it does not answer.
    """
    try:
        # Without the variables of this process, so that it answers as it will inside.
        told = subprocess.run(
            [python, "-I", "-c", ASK], capture_output=True, timeout=60, check=True, env={"PATH": "/usr/bin:/bin"}
        )
        prefix, base_prefix, executable, base, packages = json.loads(told.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise NoSandbox(f"the sandbox's Python {python} does not run: {error}") from None
    home = Path(base).parent.parent
    folders = (Path(prefix), Path(base_prefix), home)
    return Runtime(Path(executable), Path(base), folders, tuple((name, version) for name, version in packages), note)


def current(settings: Settings) -> Runtime:
    """Return the interpreter that there is now, without making one.

    Raises:
        NoSandbox: the one that is set does not run.
    """
    if settings.sandbox_python is not None:
        return examine(settings.sandbox_python.absolute())
    made = _Made(settings)
    if made.ready:
        return replace(examine(made.python), fonts=made.fonts)
    return examine(Path(sys.executable), "Tenure's own packages, until the sandbox's environment is made")


def prepare(settings: Settings) -> Runtime:
    """Return the interpreter that programs run on, and make it first where that was never done.

    Raises:
        NoSandbox: the one that is set does not run.
    """
    made = _Made(settings)
    if settings.sandbox_python is None and not made.ready:
        made.make()
    return current(settings)


class _Made:
    """The environment that Tenure makes for itself."""

    def __init__(self, settings: Settings) -> None:
        group = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["dependency-groups"]["sandbox"]
        self._packages: list[str] = list(group)
        self._folder = settings.home.absolute() / "sandbox"
        self._mark = self._folder / "made.json"
        self._failed = self._folder / "failed"
        self.python = self._folder / "python" / "bin" / "python"
        self.fonts = self._folder / "fonts"

    @property
    def ready(self) -> bool:
        """Whether it was made, of the packages that are pinned now."""
        try:
            return bool(json.loads(self._mark.read_text(encoding="utf-8")) == self._packages)
        except (OSError, ValueError):
            return False

    def make(self) -> None:
        """Make it, unless that was tried in vain a short while ago; what goes wrong is left to be tried again."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self._folder / "making.lock"):
            if self.ready or self._tried:
                return
            shutil.rmtree(self.python.parents[1], ignore_errors=True)
            try:
                for command in [*self._commands(), self._list_fonts]:
                    subprocess.run(command, check=True, capture_output=True, timeout=MAKING_SECONDS, umask=0o022)
            except (OSError, subprocess.SubprocessError) as error:
                said = getattr(error, "stderr", None) or str(error).encode()
                self._failed.write_bytes(said[-2000:])
            else:
                self._mark.write_text(json.dumps(self._packages), encoding="utf-8")

    @property
    def _tried(self) -> bool:
        """Whether it could not be made a short while ago."""
        try:
            return time.time() - self._failed.stat().st_mtime < AGAIN_SECONDS
        except OSError:
            return False

    @property
    def _list_fonts(self) -> list[str]:
        """The command that has Matplotlib list the fonts."""
        code = "import os, sys; os.environ['MPLCONFIGDIR'] = sys.argv[1]; import matplotlib.font_manager"
        return [str(self.python), "-c", code, str(self.fonts)]

    def _commands(self) -> list[list[str]]:
        """Return the commands that make it, with uv where there is one."""
        folder = str(self.python.parents[1])
        if uv := shutil.which("uv"):
            return [
                [uv, "venv", "--quiet", "--no-project", "--python", sys.executable, folder],
                [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(self.python), *self._packages],
            ]
        return [
            [sys.executable, "-m", "venv", folder],
            [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self._packages],
        ]
