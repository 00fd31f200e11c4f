"""Documents and knowledge bases for the tests of this folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tenure.contracts.corpus import IngestReport, IngestRequest
from tenure.knowledge.base import KnowledgeBase
from tests.knowledge.word_vectors import WordVectors

Ingest = Callable[..., IngestReport]

DOCUMENTS = {
    "bread.md": "# Sourdough\n\nA starter of flour and water ferments for a week.\n\n## Baking\n\n"
    "The oven is heated to 250 degrees. Loaves are baked for forty minutes.\n",
    "bees.md": "# Honeybees\n\nBees dance on the comb to tell each other where nectar is.\n\n## Winter\n\n"
    "In winter the cluster keeps the queen warm.\n",
    "code/queue.py": 'def push(queue, item):\n    """Append an item."""\n    queue.append(item)\n',
}


def write_documents(folder: Path) -> Path:
    """Write three documents into a folder."""
    for name, text in DOCUMENTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with three documents."""
    return write_documents(tmp_path / "docs")


@pytest.fixture
def model() -> WordVectors:
    """An embedding model that counts what it embeds."""
    return WordVectors()


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """Where the knowledge base is."""
    return str(tmp_path / "knowledge")


@pytest.fixture
def knowledge(uri: str, model: WordVectors) -> KnowledgeBase:
    """An empty knowledge base."""
    return KnowledgeBase(uri, model)


@pytest.fixture
def ingest(knowledge: KnowledgeBase) -> Ingest:
    """Ingest paths into a corpus."""

    def run(*paths: Path, corpus: str = "c") -> IngestReport:
        return knowledge.ingest(IngestRequest(corpus=corpus, paths=tuple(map(str, paths))), lambda progress: None)

    return run
