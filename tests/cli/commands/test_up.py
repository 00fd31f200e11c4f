"""Test how `up` changes the local model; tests/temporal/stack/test_local_model.py tests how it is served."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.cli.commands.up import _confirm
from tenure.local_models.model_file import LocalModel, load_local_model
from tenure.runs.errors import InvalidRequest
from tests.cli.conftest import CommandLine, no_stack
from tests.local_models.test_download import DIGEST, FileServer, serve

NOWHERE = {"TEMPORAL_ADDRESS": "127.0.0.1:1"}
"""A server that does not answer: `up` ends before it starts anything."""


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """Command line of a new home on a machine with llama.cpp."""
    monkeypatch.setattr("tenure.local_models.model_file.find_spec", lambda name: True)
    return no_stack(tmp_path / "home")


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve(FileServer()) as running:
        yield running


def test_file_becomes_the_model_of_the_home_until_it_is_removed(line: CommandLine, tmp_path: Path) -> None:
    """A file is used where it is, with its absolute path; `--no-local-model` leaves it alone."""
    home = line.settings.home
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    line("up", "--local-model", "tiny.gguf", extra=NOWHERE)
    kept = load_local_model(home)
    line("up", "--no-local-model", extra=NOWHERE)

    assert kept == LocalModel(path=tmp_path / "tiny.gguf")
    assert load_local_model(home) is None
    assert (tmp_path / "tiny.gguf").exists()
    assert home.stat().st_mode & 0o077 == 0


def test_url_is_downloaded_with_consent(line: CommandLine, server: FileServer) -> None:
    """Without a terminal, nothing is downloaded before `--yes` agrees."""
    source = f"{server.url}#sha256={DIGEST}"
    refused = line("up", "--local-model", source, extra=NOWHERE)
    before = load_local_model(line.settings.home)
    line("up", "--local-model", source, "--yes", extra=NOWHERE)
    after = load_local_model(line.settings.home)

    assert refused.returncode == 2
    assert refused.stderr == "error: download tiny-model.gguf (0.0 GB) from 127.0.0.1? Add --yes\n"
    assert before is None
    assert after is not None
    assert after.sha256 == DIGEST


@pytest.mark.parametrize(
    ("source", "extra", "code", "words"),
    [
        (
            "tiny.gguf",
            {"OPENAI_API_KEY": "sk-secret"},
            2,
            "OPENAI_API_KEY or OPENAI_BASE_URL names another model server",
        ),
        ("missing.gguf", {}, 4, "missing.gguf cannot be read (No such file or directory)"),
        ("notes.txt", {}, 4, "is not a GGUF file"),
        ("http://127.0.0.1:1/a.gguf", {}, 4, "127.0.0.1 cannot be reached"),
    ],
)
def test_model_that_cannot_be_used_changes_nothing(
    line: CommandLine, tmp_path: Path, source: str, extra: dict[str, str], code: int, words: str
) -> None:
    """Each fault is one line, and the home keeps the model that it had."""
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    (tmp_path / "notes.txt").write_text("no model")
    line("up", "--local-model", "tiny.gguf", extra=NOWHERE)
    done = line("up", "--local-model", source, "--yes", extra=NOWHERE | extra)

    assert done.returncode == code
    assert words in done.stderr.splitlines()[-1]
    assert load_local_model(line.settings.home) == LocalModel(path=tmp_path / "tiny.gguf")


class Terminal(io.StringIO):
    """Standard input of a person."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "agrees"), [("y\n", True), ("Yes\n", True), ("\n", False), ("n\n", False), ("", False)]
)
def test_person_at_a_terminal_is_asked(
    answer: str, agrees: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a clear yes agrees; the question is on standard error."""
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    if agrees:
        _confirm(False, "download it?")
    else:
        with pytest.raises(InvalidRequest, match="nothing was downloaded"):
            _confirm(False, "download it?")

    assert capsys.readouterr().err == "download it? [y/N]\n"
