"""Test searches in a corpus that is not embedded yet, and interruptions of the embedding."""

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tenure.algorithms.text.passage import Vectors
from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.choices import SearchMode
from tenure.contracts.evidence.corpora import (
    IngestProgress,
    IngestReport,
    IngestRequest,
    QuestionEmbedRequest,
)
from tenure.contracts.evidence.passages import PassageRef, SearchReply, SearchRequest
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import AnalysisReply, AnalysisRequest, CandidatePassage, TopicState
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.embeddings import backfill
from tenure.knowledge.embeddings.cache import read_vector_column
from tenure.knowledge.store.errors import EmbeddingModelMismatch, UnknownCorpus, WorkCancelled
from tenure.knowledge.store.schema import CACHE, build_chunk_table_name
from tenure.knowledge.store.store import Store
from tenure.settings.knowledge import KnowledgeSettings
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import RUN_ALL, exhaustive, slow

EMBED = "c"

CHUNKS = 1800
"""Chunks of the fixture's documents."""


def _silent(progress: IngestProgress) -> None:
    """Ignore the progress."""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Folder with forty documents."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(40):
        paragraphs = (f"Paragraph {n} of document {number} " + f"tells of topic{n} " * 12 + "." for n in range(30))
        (folder / f"{number}.md").write_text(f"# Document {number}\n\n" + "\n\n".join(paragraphs), encoding="utf-8")
    return folder


@pytest.fixture
def cold(uri: str, model: WordVectors) -> KnowledgeBase:
    """Knowledge base that leaves more than ten missing vectors to the backfill."""
    return KnowledgeBase(uri, model, KnowledgeSettings(chunk_tokens=32, cold_start_chunks=10))


def _read(knowledge: KnowledgeBase, *paths: Path) -> IngestReport:
    return knowledge.corpora.ingest(IngestRequest(corpus="c", paths=tuple(map(str, paths))), _silent)


def _search(
    knowledge: KnowledgeBase, query: str = "topic7 of document 3", strategy: SearchMode = "hybrid"
) -> SearchReply:
    return knowledge.retrieval.search(SearchRequest(query=query, corpora=("c",), mode=strategy))


def _vectors(uri: str) -> dict[str, bytes | None]:
    """Return the vector of every chunk, None if it has none."""
    rows = Store(uri).read_rows(build_chunk_table_name(256), ["id", "vector"])
    found = zip(rows["id"].to_pylist(), rows["vector"].to_pylist(), strict=True)
    return {chunk: None if one is None else np.asarray(one, dtype=np.float32).tobytes() for chunk, one in found}


@slow
def test_large_folder_is_searchable_by_words_before_it_is_embedded(cold: KnowledgeBase, many: Path, uri: str) -> None:
    """All chunks are stored, only the sample for the baseline is embedded, and the rest is pending."""
    report = _read(cold, many)
    found = _search(cold)

    assert (report.pending, report.embedded) == (report.chunks, 0)
    assert [stats.embedded_share for stats in cold.corpora.load_stats()] == [0.0]
    assert not any(_vectors(uri).values())
    assert found.embedded_share == 0.0
    assert "topic7" in cold.corpora.load_passages(found.passages[:1])[0].text


def test_small_folder_is_embedded_during_ingestion(cold: KnowledgeBase, docs: Path) -> None:
    """Up to the configured number an ingestion computes all vectors."""
    report = _read(cold, docs)

    assert (report.pending, report.embedded) == (0, report.chunks)
    assert _search(cold, "bees").embedded_share == 1.0


class TimedVectors(WordVectors):
    """Embedding model that takes a given time for each text, on a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, texts_per_second: float) -> None:
        super().__init__()
        self.now, self._speed = 0.0, texts_per_second
        monkeypatch.setattr(backfill, "time", SimpleNamespace(monotonic=lambda: self.now))

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.now += len(texts) / self._speed
        return super().embed(texts)


@pytest.mark.parametrize(
    ("texts_per_second", "pending", "seconds"),
    [
        pytest.param(20.0, 0, 15.0, id="everything is soon done"),
        pytest.param(8.0, 252, 6.0, id="only what the question needs"),
        pytest.param(0.5, 284, 32.0, id="not even that"),
    ],
)
def test_run_waits_for_what_the_question_needs_and_for_all_that_is_soon_done(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts_per_second: float, pending: int, seconds: float
) -> None:
    """The measured speed decides which vectors are computed in half a minute; searches use those."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(10):
        paragraphs = (f"Document {number} tells in part {n}: " + f"topic{number} " * 24 + "." for n in range(30))
        (folder / f"{number}.md").write_text("\n\n".join(paragraphs), encoding="utf-8")
    knowledge = KnowledgeBase(uri, WordVectors(), KnowledgeSettings(chunk_tokens=32, cold_start_chunks=10))
    total = _read(knowledge, folder).pending
    Store(uri).delete_rows(CACHE, "true")  # vectors of the sample for the baseline
    timed = KnowledgeBase(
        uri, TimedVectors(monkeypatch, texts_per_second), KnowledgeSettings(chunk_tokens=32, cold_start_chunks=100_000)
    )
    heard: list[IngestProgress] = []
    request = QuestionEmbedRequest(corpus="c", question="What of topic7?", seconds=30)
    report = timed.corpora.embed_for_question(request, heard.append)

    assert (total, report.pending, report.seconds) == (300, pending, seconds)
    assert sum(vector is not None for vector in _vectors(uri).values()) == 300 - pending
    assert _search(knowledge, "topic7").embedded_share == pytest.approx(1 - pending / 300)
    assert (heard[-1].embedded, heard[0].to_embed) == (300 - pending, 39)
    assert all(one.embedded <= one.to_embed for one in heard)


STRATEGIES = ("dense", "sparse", "rrf", "hybrid", "graph", "adaptive")


@slow
@pytest.mark.parametrize("strategy", STRATEGIES if RUN_ALL else ("adaptive",))
def test_relevance_is_the_same_before_and_after_the_backfill(
    cold: KnowledgeBase, many: Path, strategy: SearchMode
) -> None:
    """A vector computed on demand gives the same relevance as one of the backfill, in every search mode."""
    _read(cold, many)
    before = {passage.chunk: passage.relevance for passage in _search(cold, strategy=strategy).passages}
    cold.corpora.embed(EMBED, _silent)
    everything = SearchRequest(query="topic7 of document 3", corpora=("c",), mode="hybrid", k=200)
    after = {passage.chunk: passage.relevance for passage in cold.retrieval.search(everything).passages}

    assert before
    assert {chunk: after.get(chunk) for chunk in before} == before


@slow
def test_vectors_of_a_search_are_reused(cold: KnowledgeBase, many: Path, model: WordVectors) -> None:
    """A repeated search embeds its query at most, and the backfill reuses the vectors of searches."""
    _read(cold, many)
    _search(cold)
    before = model.embedded
    _search(cold)
    repeated = model.embedded - before
    report = cold.corpora.embed(EMBED, _silent)

    assert repeated == 0
    assert 0 < report.embedded < report.chunks == CHUNKS


@slow
def test_backfill_equals_a_complete_ingestion(
    cold: KnowledgeBase, many: Path, uri: str, tmp_path: Path, model: WordVectors
) -> None:
    """After the backfill all vectors and all search results equal those of a completely embedded store."""
    _read(cold, many)
    heard: list[IngestProgress] = []
    report = cold.corpora.embed(EMBED, heard.append)
    warm = KnowledgeBase(str(tmp_path / "warm"), model, KnowledgeSettings(chunk_tokens=32, cold_start_chunks=100_000))
    _read(warm, many)

    assert report.chunks == CHUNKS
    assert (heard[0].stage, heard[-1].embedded, heard[-1].to_embed) == ("embedding", CHUNKS, CHUNKS)
    assert _vectors(uri) == _vectors(str(tmp_path / "warm"))
    assert _search(cold) == _search(warm)
    assert [stats.pending for stats in cold.corpora.load_stats()] == [0]


@slow
def test_partly_embedded_corpus_is_searched_by_both_retrievers(cold: KnowledgeBase, many: Path, uri: str) -> None:
    """Halfway, the reply reports the embedded share, and the dense retriever finds what has a vector."""
    _read(cold, many)
    with pytest.raises(WorkCancelled, match="stopped after"):
        cold.corpora.embed(EMBED, _silent, _after(600, uri))
    found = _search(cold, strategy="rrf")

    assert 0.2 < found.embedded_share < 1.0
    assert any(passage.dense_rank for passage in found.passages)


def _after(vectors: int, uri: str) -> Callable[[], bool]:
    """Cancel once this many rows have a vector."""
    return lambda: Store(uri).count_rows(build_chunk_table_name(256), "vector IS NOT NULL") >= vectors / 2


@slow
def test_cancelled_embedding_is_continued(cold: KnowledgeBase, many: Path, uri: str) -> None:
    """Computed vectors are kept, and the next embedding computes the rest."""
    _read(cold, many)
    with pytest.raises(WorkCancelled):
        cold.corpora.embed(EMBED, _silent, _after(600, uri))
    done = Store(uri).count_rows(CACHE)
    report = cold.corpora.embed(EMBED, _silent)

    assert 512 < done < CHUNKS
    assert report.embedded == CHUNKS - done
    assert all(_vectors(uri).values())


_KILLED = """
import sys
from tenure.knowledge.base import KnowledgeBase
from tenure.settings.knowledge import KnowledgeSettings
from tests.knowledge.word_vectors import DyingVectors

base = KnowledgeBase(sys.argv[1], DyingVectors(), KnowledgeSettings(chunk_tokens=32, cold_start_chunks=100_000))
base.corpora.embed("c", lambda progress: None)
"""


@slow
def test_killed_embedding_loses_and_duplicates_nothing(
    cold: KnowledgeBase, many: Path, uri: str, model: WordVectors
) -> None:
    """After a kill and a repetition each chunk and each cached vector exists once."""
    _read(cold, many)
    killed = subprocess.run([sys.executable, "-c", _KILLED, uri], check=False)
    half = sum(vector is not None for vector in _vectors(uri).values())
    cold.corpora.embed(EMBED, _silent)

    assert killed.returncode == -signal.SIGKILL
    assert 0 < half < CHUNKS
    assert Store(uri).count_rows(build_chunk_table_name(256)) == CHUNKS
    assert all(_vectors(uri).values())
    assert Store(uri).count_rows(CACHE) == CHUNKS


@slow
def test_files_changed_during_the_embedding_get_current_vectors(
    cold: KnowledgeBase, many: Path, uri: str, model: WordVectors
) -> None:
    """A changed and a deleted file leave no chunk without a vector, no old text, and no wrong vector."""
    _read(cold, many)
    changed: list[IngestReport] = []

    def change(progress: IngestProgress) -> None:
        if progress.embedded and not changed:
            (many / "0.md").unlink()
            (many / "1.md").write_text("# Other title\n\nNothing about topics.\n", encoding="utf-8")
            changed.append(_read(cold, many))

    cold.corpora.embed(EMBED, change)
    rows = Store(uri).read_rows(build_chunk_table_name(256), ["title", "text", "vector"])
    made = read_vector_column(rows["vector"], 256)
    titles, texts = rows["title"].to_pylist(), rows["text"].to_pylist()
    meant = model.embed([f"{title}\n{text}" for title, text in zip(titles, texts, strict=True)])

    assert [(report.changed, report.removed) for report in changed] == [(1, 1)]
    assert "Document 0" not in titles
    assert sum("Nothing about topics." in text for text in texts) == 1
    assert np.allclose(made, meant)


@exhaustive
def test_concurrent_embeddings_compute_nothing_twice(uri: str, many: Path, cold: KnowledgeBase) -> None:
    """The second embedding waits for the first and finds nothing to do."""
    _read(cold, many)
    bases = [
        KnowledgeBase(uri, WordVectors(), KnowledgeSettings(chunk_tokens=32, cold_start_chunks=100_000))
        for _ in range(2)
    ]
    with ThreadPoolExecutor(2) as both:
        reports = [one.result() for one in [both.submit(base.corpora.embed, EMBED, _silent) for base in bases]]

    assert sum(report.chunks for report in reports) == CHUNKS
    assert sum(report.embedded for report in reports) == CHUNKS - 128
    assert all(_vectors(uri).values())


@slow
def test_vectors_of_another_model_are_rejected(uri: str, many: Path, cold: KnowledgeBase) -> None:
    """A worker with another embedding model refuses to embed the rest."""
    _read(cold, many)
    with pytest.raises(EmbeddingModelMismatch, match="words"):
        KnowledgeBase(
            uri, WordVectors("other"), KnowledgeSettings(chunk_tokens=32, cold_start_chunks=100_000)
        ).corpora.embed(EMBED, _silent)

    assert not any(_vectors(uri).values())


def test_unknown_corpus_cannot_be_embedded(cold: KnowledgeBase) -> None:
    """Embedding an unknown corpus raises an error."""
    with pytest.raises(UnknownCorpus):
        cold.corpora.embed(EMBED, _silent)


@exhaustive
def test_another_model_ingests_a_cold_corpus_again(uri: str, many: Path, cold: KnowledgeBase) -> None:
    """Rows that wait for a new vector keep none of the old model."""
    _read(cold, many)
    cold.corpora.embed(EMBED, _silent)
    other = KnowledgeBase(uri, WordVectors("other"), KnowledgeSettings(chunk_tokens=32, cold_start_chunks=10))
    report = _read(other, many)

    assert (report.changed, report.pending) == (40, CHUNKS)
    assert not any(_vectors(uri).values())
    assert _search(other).passages


@slow
def test_findings_do_not_depend_on_the_embedding(cold: KnowledgeBase, many: Path) -> None:
    """A cycle accepts the same passages, with the same relevance and novelty, before and after the embedding."""
    _read(cold, many)
    passages = _search(cold).passages
    before = cold.retrieval.analyze_candidates(_analysis(passages, "before"))
    cold.corpora.embed(EMBED, _silent)
    after = cold.retrieval.analyze_candidates(_analysis(passages, "after"))

    assert before.accepted
    assert before == after


def _analysis(passages: tuple[PassageRef, ...], run: str) -> AnalysisRequest:
    aim = TopicState(topic=Topic(heading="Topics", question="topic7 of document 3"))
    return AnalysisRequest(
        run=RunId(run),
        cycle=1,
        question="topic7 of document 3",
        corpora=("c",),
        topics=(aim,),
        candidates=tuple(CandidatePassage(topic="Topics", query="q", passage=passage) for passage in passages),
        min_relevance=0.1,
        min_novelty=0.0,
    )


@slow
def test_deleted_candidates_are_omitted_from_the_analysis(cold: KnowledgeBase, many: Path) -> None:
    """A candidate whose file was deleted in the meantime is omitted."""
    _read(cold, many)
    gone = PassageRef(chunk=ChunkId("gone"), source=SourceId("gone"), score=1.0, relevance=1.0)

    reply = cold.retrieval.analyze_candidates(_analysis((gone,), "run"))
    assert reply == AnalysisReply(open_parts={"Topics": ("topic7 of document 3",)})
