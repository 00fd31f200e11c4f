"""Test that secrets are stored nowhere, and with encryption no user text: every stored byte is searched."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.encryption_keys import KEY_BYTES
from tests.model_server import Fault, ModelServer
from tests.support.homes import Home, modelled_home
from tests.support.ports import free_ports
from tests.support.tiers import exhaustive, slow

API_KEY = "sk-planted-7f3a9c1e5b8d"
ENCRYPTION_KEY = base64.b64encode(bytes(range(KEY_BYTES))).decode()
SENTINEL = "quokka"
"""Word of question, document and report that occurs nowhere else."""

DOCUMENT = f"# The {SENTINEL}\n\nThe {SENTINEL} of Rottnest Island eats grass and leaves, and sleeps in the shade.\n"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "animal.md").write_text(DOCUMENT)
    return folder


def stored(home: Home) -> Iterator[tuple[str, bytes]]:
    """Yield the files that the home's processes have written: Temporal's database and every log."""
    folder = home.settings.home
    for path in [*folder.glob("temporal.db*"), *(folder / "logs").glob("*")]:
        yield path.name, path.read_bytes()


def lives(home: Home, documents: Path, model: ModelServer) -> list[str]:
    """Let a home answer, be busy once, and be refused; return all that its commands printed."""
    topic = {"heading": f"Food of the {SENTINEL}", "question": f"What does the {SENTINEL} of Rottnest Island eat?"}
    model.on("outliner", {"topics": [topic]})
    model.on("report_writer", f"# What a {SENTINEL} eats\n\nIt eats grass [1].\n\n## {topic['heading']}\n\nGrass [1].")
    model.fail(Fault(429, {"retry-after-ms": "10"}), schema="router")
    question = f"What does a {SENTINEL} eat?"
    started = home.run("start", question, "--docs", str(documents), "--id", "first")
    assert started.returncode == 0, started.stderr
    model.fail(Fault(401, body={"error": {"message": f"Incorrect API key provided: {API_KEY}"}}), schema="router")
    refused = home.run("start", question, "--docs", str(documents), "--id", "second")
    assert refused.returncode == 1
    done = [started, refused, home.run("report", "first", "--json"), home.run("state", "second"), home.run("list")]
    return [text for one in done for text in (one.stdout, one.stderr)]


@slow
def test_keys_appear_nowhere_and_encrypted_words_neither(documents: Path, tmp_path: Path) -> None:
    """After an answered and a refused run no key is found; nor, in Temporal's database, any word of the person."""
    (port,) = free_ports(1)
    encrypted = {"TENURE_ENCRYPTION_KEYS": f"k1:{ENCRYPTION_KEY}", "TENURE_CODEC_PORT": str(port)}
    with ModelServer(key=API_KEY) as model, modelled_home(tmp_path, model, **encrypted) as home:
        printed = lives(home, documents, model)
        kept = dict(stored(home))
    assert SENTINEL in "".join(printed)
    assert "Encoded failure" not in "".join(printed)
    for key in (API_KEY, ENCRYPTION_KEY):
        assert not [text for text in printed if key in text]
        assert not [name for name, content in kept.items() if key.encode() in content]
    databases = {name: content for name, content in kept.items() if name.startswith("temporal.db")}
    assert databases
    assert not [name for name, content in databases.items() if SENTINEL.encode() in content]


@exhaustive
def test_without_encryption_keys_appear_nowhere(documents: Path, tmp_path: Path) -> None:
    """Without encryption the user's text is found, which proves the search, and the key is not."""
    with ModelServer(key=API_KEY) as model, modelled_home(tmp_path, model) as home:
        printed = lives(home, documents, model)
        kept = dict(stored(home))
    assert [name for name, content in kept.items() if SENTINEL.encode() in content]
    assert not [text for text in printed if API_KEY in text]
    assert not [name for name, content in kept.items() if API_KEY.encode() in content]
