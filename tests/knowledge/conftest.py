"""Provide documents and knowledge bases for the tests of this folder."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tenure.contracts.evidence.corpora import IngestReport, IngestRequest
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.ingestion import readers
from tenure.sources.parsers.reader_process import ReaderOutcome, ReaderTask, read_source
from tests.knowledge.word_vectors import WordVectors

Ingest = Callable[..., IngestReport]
FoundIn = Callable[[Mapping[str, str], str], dict[str, PassageRef]]

DOCUMENTS = {
    "bread.md": "# Sourdough\n\nA starter of flour and water ferments for a week.\n\n## Baking\n\n"
    "The oven is heated to 250 degrees. Loaves are baked for forty minutes.\n",
    "bees.md": "# Honeybees\n\nBees dance on the comb to tell each other where nectar is.\n\n## Winter\n\n"
    "In winter the cluster keeps the queen warm.\n",
    "code/queue.py": 'def push(queue, item):\n    """Append an item."""\n    queue.append(item)\n',
}


class ReaderInProcess(readers.ReaderProcess):
    """Reader that parses in the process of the tests."""

    def _read_once(self, task: ReaderTask) -> tuple[ReaderOutcome, bool]:
        return read_source(task, self._recipe), True


@pytest.fixture(scope="module", autouse=True)
def reader() -> Iterator[None]:
    """Ingest without a process for each ingestion, which takes 0.5 s to start; `ingestion` tests the processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "ReaderProcess", ReaderInProcess)
        yield


def write_documents(folder: Path) -> Path:
    """Write three documents into a folder."""
    for name, text in DOCUMENTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Folder with three documents."""
    return write_documents(tmp_path / "docs")


@pytest.fixture
def model() -> WordVectors:
    """Embedding model that counts the texts it embeds."""
    return WordVectors()


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """Location of the knowledge base."""
    return str(tmp_path / "knowledge")


@pytest.fixture
def knowledge(uri: str, model: WordVectors) -> KnowledgeBase:
    """Empty knowledge base."""
    return KnowledgeBase(uri, model)


@pytest.fixture
def ingest(knowledge: KnowledgeBase) -> Ingest:
    """Ingest paths into a corpus."""

    def run(*paths: Path, corpus: str = "c") -> IngestReport:
        return knowledge.corpora.ingest(
            IngestRequest(corpus=corpus, paths=tuple(map(str, paths))), lambda progress: None
        )

    return run


@pytest.fixture
def found_in(knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path) -> FoundIn:
    """Ingest short documents, and return the passages that a query finds by document name."""

    def search(texts: Mapping[str, str], query: str) -> dict[str, PassageRef]:
        folder = tmp_path / "texts"
        folder.mkdir()
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        ingest(folder)
        refs = knowledge.retrieval.search(SearchRequest(query=query, corpora=("c",), k=50)).passages
        uris = [passage.uri for passage in knowledge.corpora.load_passages(refs)]
        return {Path(uri).stem: ref for uri, ref in zip(uris, refs, strict=True)}

    return search
