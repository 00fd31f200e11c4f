"""Environments of the compared systems, outside the repository."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.peers.documents import ROOT
from benchmarks.peers.systems import System
from benchmarks.start import environment

_FOREIGN: Final = ("TENURE_", "TEMPORAL_", "OPENAI_", "LANGCHAIN_", "LANGSMITH_", "VIRTUAL_ENV")
_NO_TELEMETRY: Final = {
    "DO_NOT_TRACK": "1",
    "ANONYMIZED_TELEMETRY": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
    "UNSTRUCTURED_DISABLE_NOTICE": "1",
}
_CLOSED_PROXY: Final = "http://127.0.0.1:9"
"""Proxy of all addresses except the loopback interface; nothing listens there."""


class InstallationFailed(Exception):
    """A system could not be installed."""


def default_folder() -> Path:
    """Return the folder of the environments in the cache of the user."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tenure-peers"


class PeerEnvironments:
    """Environments in a folder.

    Args:
        folder: the folder.
        interpreter: Python of new environments.
    """

    def __init__(self, folder: Path, interpreter: str) -> None:
        self._folder = folder
        self._interpreter = interpreter

    def install(self, system: System) -> Path:
        """Install a system unless it is installed already, and return its Python.

        Raises:
            InstallationFailed: the installation failed; the message is the end of its output.
        """
        if not system.packages:
            return Path(sys.executable)
        target = self._folder / system.name
        python, stamp = target / "bin" / "python", target / "installed.json"
        wanted = json.dumps([self._interpreter, *system.packages])
        if stamp.exists() and stamp.read_text() == wanted:
            return python
        shutil.rmtree(target, ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._run("uv", "venv", "--quiet", "--no-python-downloads", "--python", self._interpreter, str(target))
        self._run("uv", "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python), *system.packages)
        stamp.write_text(wanted)
        return python

    def _run(self, *command: str) -> None:
        # In the folder of a project, uv would apply the overrides of its dependencies.
        ran = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise InstallationFailed(ran.stderr.strip()[-800:])

    def measure_megabytes(self, system: System) -> int:
        """Return the size of an installation."""
        folder = self._folder / system.name if system.packages else Path(sys.prefix)
        files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        return sum(path.stat().st_size for path in files) // 1_000_000

    def find_tokenizers(self) -> Path | None:
        """Return a folder with the encodings that tiktoken would download, or None if no installation has them."""
        return next(self._folder.glob("*/lib/python*/site-packages/litellm/litellm_core_utils/tokenizers"), None)


def build_variables(system: System, folder: Path, model: Mapping[str, str], tokenizers: Path | None) -> dict[str, str]:
    """Return the environment variables of a starter.

    Args:
        system: the system.
        folder: folder of its state.
        model: variables of the model server.
        tokenizers: folder with encodings; None if there is none.
    """
    if not system.packages:
        return environment(folder / "tenure") | {"PYTHONPATH": str(ROOT), **model}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    proxies = {name: _CLOSED_PROXY for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
    direct = {name: "127.0.0.1,localhost" for name in ("NO_PROXY", "no_proxy")}
    seeded = {"TIKTOKEN_CACHE_DIR": str(tokenizers)} if tokenizers else {}
    own = {"HOME": str(folder), "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "local"}
    return {**kept, **_NO_TELEMETRY, **proxies, **direct, **seeded, **own, **model}
