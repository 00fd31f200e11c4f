"""Environments of the repositories: installed once from the index, used read-only and without a network."""

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Final

from benchmarks.repositories.instances import InstallConfig

PYTHON: Final = "/usr/bin/python3"
"""Interpreter of the environments, which the unprivileged user of the tests can read."""
_INSTALL_TIMEOUT_SECONDS: Final = 600
WHEELS: Final = "wheels"


class InstallationFailed(Exception):
    """An environment could not be made; the message is the end of the output."""


class Environments:
    """Environments in a folder, which other users can read.

    Args:
        folder: the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, config: InstallConfig) -> Path:
        """Return the folder of an environment.

        Raises:
            InstallationFailed: it was not installed.
        """
        target = self._folder / config.environment
        if not (target / "installed.json").exists():
            raise InstallationFailed(f"{config.environment} is not installed in {self._folder}")
        return target

    def install(self, config: InstallConfig) -> Path:
        """Install an environment unless it exists.

        Raises:
            InstallationFailed: a command failed.
        """
        target = self._folder / config.environment
        stamp, wanted = target / "installed.json", json.dumps(asdict(config))
        if stamp.exists() and stamp.read_text() == wanted:
            return target
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        if config.ecosystem == "python":
            self._install_python(config, target)
        elif config.packages:
            (target / "package.json").write_text("{}")
            _run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *config.packages, folder=target)
        stamp.write_text(wanted)
        return target

    def _install_python(self, config: InstallConfig, target: Path) -> None:
        """Install the packages, and keep their wheels, from which a system can make an environment without a network.

        The project itself is not among them: its newest version contains the fix.
        """
        python = str(target / "bin" / "python")
        _run("uv", "venv", "--quiet", "--allow-existing", "--python", PYTHON, str(target), folder=target)
        wheels = target / WHEELS
        # Wheels for `PYTHON`, whose own installation may lack pip; uv itself builds none.
        pip = ("uv", "tool", "run", "--quiet", "--python", PYTHON, "pip")
        _run(*pip, "wheel", "--quiet", f"--wheel-dir={wheels}", *config.packages, folder=target)
        offline = ("--quiet", "--link-mode=copy", "--no-index", f"--find-links={wheels}")
        _run("uv", "pip", "install", *offline, "--python", python, *config.packages, folder=target)


def _run(*command: str, folder: Path) -> None:
    ran = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=_INSTALL_TIMEOUT_SECONDS,
    )
    if ran.returncode:
        raise InstallationFailed((ran.stderr or ran.stdout).strip()[-800:])
