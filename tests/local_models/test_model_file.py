"""Test the record of the local model and the checks before it is served."""

import hashlib
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tenure.local_models.errors import LocalModelError
from tenure.local_models.model_file import (
    LocalModel,
    check_model,
    check_runner,
    get_model_folder,
    load_local_model,
    load_model_key,
    remove_local_model,
    save_local_model,
)

MODEL = b"GGUF\x03\x00\x00\x00weights"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "Qwen3 8B Q4_K_M.gguf"
    path.write_bytes(MODEL)
    return path


def test_model_of_a_home_is_kept_until_it_is_removed(tmp_path: Path, file: Path) -> None:
    """The record is private, names file and digest, and the model has a name without blanks."""
    assert load_local_model(tmp_path) is None
    save_local_model(tmp_path, LocalModel(path=file, sha256="ab"))
    kept = load_local_model(tmp_path)
    remove_local_model(tmp_path)

    assert kept == LocalModel(path=file, sha256="ab")
    assert kept.name == "Qwen3-8B-Q4_K_M"
    assert load_local_model(tmp_path) is None
    assert file.exists()
    assert get_model_folder(tmp_path).stat().st_mode & 0o077 == 0


def test_damaged_record_is_an_error_that_names_it(tmp_path: Path) -> None:
    """A record that cannot be read leads to no silent change of the model."""
    save_local_model(tmp_path, LocalModel(path=tmp_path))
    (get_model_folder(tmp_path) / "model.json").write_text("{")

    with pytest.raises(LocalModelError, match=r"model\.json is damaged: delete it"):
        load_local_model(tmp_path)


def test_key_of_a_home_is_random_and_stays(tmp_path: Path) -> None:
    """Two homes have different keys, and a home has one."""
    homes = [tmp_path / name for name in ("a", "b")]
    for home in homes:
        get_model_folder(home).mkdir(parents=True)

    assert len({load_model_key(home) for home in homes}) == 2
    assert load_model_key(homes[0]) == load_model_key(homes[0])
    assert len(load_model_key(homes[0])) == 64


def test_model_with_its_digest_is_served(file: Path) -> None:
    """A file in the right format passes, with and without a digest."""
    check_model(LocalModel(path=file))
    check_model(LocalModel(path=file, sha256=hashlib.sha256(MODEL).hexdigest()))


@pytest.mark.parametrize(
    ("content", "digest", "words"),
    [
        (MODEL, "0" * 64, "has changed .sha256 .* instead of 0000"),
        (b"<html>", "", "is not a GGUF file, the format of llama.cpp"),
        (b"", "", "is not a GGUF file"),
        (None, "", r"cannot be read \(No such file or directory\): choose another one"),
    ],
)
def test_file_that_cannot_be_served_is_refused(file: Path, content: bytes | None, digest: str, words: str) -> None:
    """A changed file, another format and a missing file are one line each."""
    file.unlink() if content is None else file.write_bytes(content)

    with pytest.raises(LocalModelError, match=words):
        check_model(LocalModel(path=file, sha256=digest))


def test_model_that_does_not_fit_in_memory_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names what is needed and what is available."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1_000_000_000))

    with pytest.raises(LocalModelError, match=r"needs at least 1\.1 GB of memory, and 1\.0 GB are available"):
        check_model(LocalModel(path=file))


def test_missing_extra_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without llama.cpp, the line says how to install it."""
    monkeypatch.setattr("tenure.local_models.model_file.find_spec", lambda name: None)

    with pytest.raises(LocalModelError, match="run `uv sync --extra local-model`"):
        check_runner()
