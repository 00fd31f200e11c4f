"""Keep the model that a home's stack serves: its file, digest and key, in the folder `local-model` of the home."""

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from tenure.installation import IS_PACKAGED, PROGRAM
from tenure.local_models.errors import LocalModelError
from tenure.private_files import open_private, read_or_create_secret

MEMORY_RESERVE_BYTES: Final = 1 << 30
"""Memory that has to be free besides the weights, for the context and the computation."""

_MAGIC: Final = b"GGUF"


class LocalModel(BaseModel):
    """A model that the stack of a home serves."""

    model_config = ConfigDict(frozen=True)

    path: Path
    sha256: str = ""
    """Digest that the file must have at each start; empty for any."""

    @property
    def name(self) -> str:
        """Name under which it is served."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.path.stem).strip("-")[:100] or "local"


def is_url(source: str) -> bool:
    """Return whether the source of a model is a URL and not a file."""
    return "://" in source


def get_model_folder(home: Path) -> Path:
    """Return the folder of the local model of a home."""
    return home.absolute() / "local-model"


def load_local_model(home: Path) -> LocalModel | None:
    """Return the local model of a home, or None if it has none.

    Raises:
        LocalModelError: its record cannot be read.
    """
    path = _get_record(home)
    try:
        return LocalModel.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LocalModelError(
            f"{path} cannot be read ({error.strerror}): make it readable or set TENURE_HOME"
        ) from error
    except ValidationError as error:
        raise LocalModelError(f"{path} is damaged: delete it, and choose the model again") from error


def save_local_model(home: Path, model: LocalModel) -> None:
    """Make a model the one of a home."""
    path = _get_record(home)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with open(path, "w", encoding="utf-8", opener=open_private) as file:
        file.write(model.model_dump_json() + "\n")


def remove_local_model(home: Path) -> None:
    """Serve no model any longer; its file stays."""
    _get_record(home).unlink(missing_ok=True)


def get_key_file(home: Path) -> Path:
    """Return the path of the file with the key of the local model."""
    return get_model_folder(home) / "key"


def load_model_key(home: Path) -> str:
    """Return the key of the local model, which is created at the first use."""
    return read_or_create_secret(get_key_file(home)).decode()


def check_runner() -> None:
    """Check that llama.cpp is installed."""
    if find_spec("xllamacpp") is None:
        command = "pip install 'tenure[local-model]'" if IS_PACKAGED else "uv sync --extra local-model"
        raise LocalModelError(f"llama.cpp, which runs a local model, is not installed: run `{command}`")


def check_model(model: LocalModel) -> None:
    """Check the file of a model and its digest, and that it fits in memory."""
    try:
        check_format(model.path)
        if model.sha256 and (digest := compute_digest(model.path)) != model.sha256:
            raise LocalModelError(
                f"{model.path} has changed (sha256 {digest} instead of {model.sha256}): delete it, and run "
                f"`{PROGRAM} up --local-model` again"
            )
        check_memory(model.path.name, model.path.stat().st_size)
    except OSError as error:
        raise LocalModelError(
            f"the local model {model.path} cannot be read ({error.strerror}): choose another one with "
            f"`{PROGRAM} up --local-model FILE`, or none with `{PROGRAM} up --no-local-model`"
        ) from error


def check_format(path: Path) -> None:
    """Check that a file is in the format of llama.cpp.

    Raises:
        LocalModelError: it is not.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise LocalModelError(f"{path} is not a GGUF file, the format of llama.cpp: choose another file")


def check_memory(name: str, size: int) -> None:
    """Check that a file fits into the available memory."""
    needed, available = size + MEMORY_RESERVE_BYTES, psutil.virtual_memory().available
    if needed > available:
        raise LocalModelError(
            f"{name} needs at least {format_size(needed)} of memory, and {format_size(available)} are available: "
            f"end other programs, choose a smaller model, or none with `{PROGRAM} up --no-local-model`"
        )


def compute_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def format_size(size: int) -> str:
    """Return a number of bytes in gigabytes."""
    return f"{size / 1e9:.1f} GB"


def _get_record(home: Path) -> Path:
    return get_model_folder(home) / "model.json"
