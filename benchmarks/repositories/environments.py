"""Environments of the repositories: installed once from the index, used read-only and without a network."""

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Final

from benchmarks.repositories.clones import check_out
from benchmarks.repositories.instances import InstallConfig

PYTHON: Final = "/usr/bin/python3"
"""Interpreter of the environments: one that every user of the machine can read, since tests run as nobody."""
_INSTALL_TIMEOUT_SECONDS: Final = 600
# A checkout without history has no version for setuptools-scm, hatch-vcs and others.
_VERSION: Final = {"SETUPTOOLS_SCM_PRETEND_VERSION": "99.0", "PDM_BUILD_SCM_VERSION": "99.0"}


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

    def install(self, config: InstallConfig, clone: Path) -> Path:
        """Install an environment with the project's newest version, unless it is there already.

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
            self._install_python(config, clone, target)
        elif config.packages:
            (target / "package.json").write_text("{}")
            _run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *config.packages, folder=target)
        stamp.write_text(wanted)
        return target

    def _install_python(self, config: InstallConfig, clone: Path, target: Path) -> None:
        _run(
            "uv",
            "venv",
            "--quiet",
            "--allow-existing",
            "--no-python-downloads",
            "--python",
            PYTHON,
            str(target),
            folder=target,
        )
        python = str(target / "bin" / "python")
        with tempfile.TemporaryDirectory() as temporary:
            project = Path(temporary) / "project"
            check_out(clone, "HEAD", project)
            # The installed copy of the project provides metadata and dependencies; imports find the work tree first.
            _run(
                "uv",
                "pip",
                "install",
                "--quiet",
                "--link-mode=copy",
                "--python",
                python,
                str(project),
                *config.packages,
                folder=target,
            )


def _run(*command: str, folder: Path) -> None:
    ran = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **_VERSION},
        capture_output=True,
        text=True,
        check=False,
        timeout=_INSTALL_TIMEOUT_SECONDS,
    )
    if ran.returncode:
        raise InstallationFailed((ran.stderr or ran.stdout).strip()[-800:])
