"""Cold start: a corpus that is searched before it is embedded, and what becomes of interruptions of the embedding."""

import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.corpora import EmbedRequest, IngestProgress, IngestReport, IngestRequest
from tenure.contracts.evidence.passages import PassageRef, SearchReply, SearchRequest, Strategy
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import Aim, Analysis, AnalysisRequest, Candidate
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.embeddings.cache import vector_rows
from tenure.knowledge.store.errors import EmbeddingCancelled, EmbeddingModelMismatch, UnknownCorpus
from tenure.knowledge.store.schema import CACHE, chunks_table
from tenure.knowledge.store.store import Store
from tests.conftest import SLOW, slow_form
from tests.knowledge.word_vectors import WordVectors

EMBED = EmbedRequest(corpus="c")


def _silent(progress: IngestProgress) -> None:
    """Tell nobody."""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A folder of forty documents, 1,440 chunks in all."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(40):
        paragraphs = (f"Paragraph {n} of document {number} " + f"tells of topic{n} " * 12 + "." for n in range(30))
        (folder / f"{number}.md").write_text(f"# Document {number}\n\n" + "\n\n".join(paragraphs), encoding="utf-8")
    return folder


@pytest.fixture
def cold(uri: str, model: WordVectors) -> KnowledgeBase:
    """A knowledge base that leaves more than ten vectors to the background."""
    return KnowledgeBase(uri, model, 32, cold_start=10)


def _read(knowledge: KnowledgeBase, *paths: Path) -> IngestReport:
    return knowledge.ingest(IngestRequest(corpus="c", paths=tuple(map(str, paths))), _silent)


def _search(
    knowledge: KnowledgeBase, query: str = "topic7 of document 3", strategy: Strategy = "hybrid"
) -> SearchReply:
    return knowledge.search(SearchRequest(query=query, corpora=("c",), strategy=strategy))


def _vectors(uri: str) -> dict[str, bytes | None]:
    """Return the vector of every chunk, None for one that has none."""
    rows = Store(uri).rows(chunks_table(256), ["id", "vector"])
    found = zip(rows["id"].to_pylist(), rows["vector"].to_pylist(), strict=True)
    return {chunk: None if one is None else np.asarray(one, dtype=np.float32).tobytes() for chunk, one in found}


def test_a_large_folder_is_read_without_vectors_and_found_by_words(cold: KnowledgeBase, many: Path, uri: str) -> None:
    """Every chunk is there at once, nothing but the sample for μ is embedded, and the stats say so."""
    report = _read(cold, many)
    found = _search(cold)

    assert (report.pending, report.embedded) == (report.chunks, 0)
    assert [stats.embedded_share for stats in cold.corpora()] == [0.0]
    assert not any(_vectors(uri).values())
    assert found.embedded_share == 0.0
    assert "topic7" in cold.passages(found.passages[:1])[0].text


def test_a_small_folder_is_embedded_at_once(cold: KnowledgeBase, docs: Path) -> None:
    """Up to the setting, an ingestion makes all vectors, and a search is over all of them."""
    report = _read(cold, docs)

    assert (report.pending, report.embedded) == (0, report.chunks)
    assert _search(cold, "bees").embedded_share == 1.0


STRATEGIES = ("dense", "sparse", "rrf", "hybrid", "graph", "adaptive")


@pytest.mark.parametrize("strategy", STRATEGIES if SLOW else ("adaptive",))
def test_a_passage_has_the_same_relevance_before_and_after(cold: KnowledgeBase, many: Path, strategy: Strategy) -> None:
    """Whether a vector was made for the search or in the background changes no relevance, whatever the strategy."""
    _read(cold, many)
    before = {passage.chunk: passage.relevance for passage in _search(cold, strategy=strategy).passages}
    cold.embed(EMBED, _silent)
    everything = SearchRequest(query="topic7 of document 3", corpora=("c",), strategy="hybrid", k=200)
    after = {passage.chunk: passage.relevance for passage in cold.search(everything).passages}

    assert before
    assert {chunk: after.get(chunk) for chunk in before} == before


def test_vectors_of_a_search_are_not_made_again(cold: KnowledgeBase, many: Path, model: WordVectors) -> None:
    """A repeated search embeds its query at most, and the background work profits from both."""
    _read(cold, many)
    _search(cold)
    before = model.embedded
    _search(cold)
    repeated = model.embedded - before
    report = cold.embed(EMBED, _silent)

    assert repeated == 0
    assert 0 < report.embedded < report.chunks == 1440


def test_embedding_leaves_what_a_warm_ingestion_leaves(
    cold: KnowledgeBase, many: Path, uri: str, tmp_path: Path, model: WordVectors
) -> None:
    """Afterwards all rows have the very vectors, and every search the very answer, of a store embedded at once."""
    _read(cold, many)
    heard: list[IngestProgress] = []
    report = cold.embed(EMBED, heard.append)
    warm = KnowledgeBase(str(tmp_path / "warm"), model, 32)
    _read(warm, many)

    assert report.chunks == 1440
    assert (heard[0].stage, heard[-1].embedded, heard[-1].to_embed) == ("embedding", 1440, 1440)
    assert _vectors(uri) == _vectors(str(tmp_path / "warm"))
    assert _search(cold) == _search(warm)
    assert [stats.pending for stats in cold.corpora()] == [0]


def test_a_partly_embedded_corpus_is_searched_by_both_legs(cold: KnowledgeBase, many: Path, uri: str) -> None:
    """Halfway the share says so, and what has a vector is found by it even where no word leads there."""
    _read(cold, many)
    with pytest.raises(EmbeddingCancelled, match="stopped after"):
        cold.embed(EMBED, _silent, _after(600, uri))
    found = _search(cold, strategy="rrf")

    assert 0.3 < found.embedded_share < 1.0
    assert any(passage.dense_rank for passage in found.passages)


def _after(vectors: int, uri: str) -> Callable[[], bool]:
    """Cancel once so many rows have a vector."""
    return lambda: Store(uri).count(chunks_table(256), "vector IS NOT NULL") >= vectors / 2


def test_a_cancelled_embedding_is_gone_on_with(cold: KnowledgeBase, many: Path, uri: str) -> None:
    """What was made before stays made, and the next embedding makes the rest."""
    _read(cold, many)
    with pytest.raises(EmbeddingCancelled):
        cold.embed(EMBED, _silent, _after(600, uri))
    done = Store(uri).count(CACHE)
    report = cold.embed(EMBED, _silent)

    assert 512 < done < 1440
    assert report.embedded == 1440 - done
    assert all(_vectors(uri).values())


_KILLED = """
import sys
from tenure.contracts.evidence.corpora import EmbedRequest
from tenure.knowledge.base import KnowledgeBase
from tests.knowledge.word_vectors import DyingVectors

KnowledgeBase(sys.argv[1], DyingVectors(), 32).embed(EmbedRequest(corpus="c"), lambda progress: None)
"""


def test_a_killed_embedding_loses_and_doubles_nothing(
    cold: KnowledgeBase, many: Path, uri: str, model: WordVectors
) -> None:
    """Killed in its second part and repeated, an embedding leaves each chunk and each cached vector once."""
    _read(cold, many)
    killed = subprocess.run([sys.executable, "-c", _KILLED, uri], check=False)
    half = sum(vector is not None for vector in _vectors(uri).values())
    cold.embed(EMBED, _silent)

    assert killed.returncode == -signal.SIGKILL
    assert 0 < half < 1440
    assert Store(uri).count(chunks_table(256)) == 1440
    assert all(_vectors(uri).values())
    assert Store(uri).count(CACHE) == 1440


def test_files_that_change_meanwhile_are_embedded_as_they_are_now(
    cold: KnowledgeBase, many: Path, uri: str, model: WordVectors
) -> None:
    """A changed and a deleted file leave no chunk without a vector, none of the old text, and none with a false one."""
    _read(cold, many)
    changed: list[IngestReport] = []

    def change(progress: IngestProgress) -> None:
        if progress.embedded and not changed:
            (many / "0.md").unlink()
            (many / "1.md").write_text("# Other title\n\nNothing about topics.\n", encoding="utf-8")
            changed.append(_read(cold, many))

    cold.embed(EMBED, change)
    rows = Store(uri).rows(chunks_table(256), ["title", "text", "vector"])
    made = vector_rows(rows["vector"], 256)
    titles, texts = rows["title"].to_pylist(), rows["text"].to_pylist()
    meant = model.embed([f"{title}\n{text}" for title, text in zip(titles, texts, strict=True)])

    assert [(report.changed, report.removed) for report in changed] == [(1, 1)]
    assert "Document 0" not in titles
    assert sum("Nothing about topics." in text for text in texts) == 1
    assert np.allclose(made, meant)


@slow_form
def test_two_embeddings_of_one_corpus_make_nothing_twice(uri: str, many: Path, cold: KnowledgeBase) -> None:
    """The second waits for the first, finds nothing left, and both end."""
    _read(cold, many)
    bases = [KnowledgeBase(uri, WordVectors(), 32) for _ in range(2)]
    with ThreadPoolExecutor(2) as both:
        reports = [one.result() for one in [both.submit(base.embed, EMBED, _silent) for base in bases]]

    assert sum(report.chunks for report in reports) == 1440
    assert sum(report.embedded for report in reports) == 1440 - 128
    assert all(_vectors(uri).values())


def test_vectors_of_another_model_are_not_mixed_in(uri: str, many: Path, cold: KnowledgeBase) -> None:
    """A worker with another embedding model refuses to embed the rest."""
    _read(cold, many)
    with pytest.raises(EmbeddingModelMismatch, match="words"):
        KnowledgeBase(uri, WordVectors("other"), 32).embed(EMBED, _silent)

    assert not any(_vectors(uri).values())


def test_a_corpus_that_is_not_there_cannot_be_embedded(cold: KnowledgeBase) -> None:
    """Embedding an unknown corpus is refused."""
    with pytest.raises(UnknownCorpus):
        cold.embed(EMBED, _silent)


@slow_form
def test_another_model_reads_a_cold_corpus_anew(uri: str, many: Path, cold: KnowledgeBase) -> None:
    """No vector of the old model is left in rows that wait for one of the new."""
    _read(cold, many)
    cold.embed(EMBED, _silent)
    other = KnowledgeBase(uri, WordVectors("other"), 32, cold_start=10)
    report = _read(other, many)

    assert (report.changed, report.pending) == (40, 1440)
    assert not any(_vectors(uri).values())
    assert _search(other).passages


def test_findings_of_a_cold_corpus_are_judged_by_their_vectors(cold: KnowledgeBase, many: Path) -> None:
    """What a cycle accepts, and how relevant and new it is, does not depend on the embedding."""
    _read(cold, many)
    passages = _search(cold).passages
    before = cold.analyze(_analysis(passages, "before"))
    cold.embed(EMBED, _silent)
    after = cold.analyze(_analysis(passages, "after"))

    assert before.accepted
    assert before == after


def _analysis(passages: tuple[PassageRef, ...], run: str) -> AnalysisRequest:
    aim = Aim(topic=Topic(heading="Topics", question="topic7 of document 3"))
    return AnalysisRequest(
        run=RunId(run),
        cycle=1,
        question="topic7 of document 3",
        corpora=("c",),
        aims=(aim,),
        candidates=tuple(Candidate(topic="Topics", query="q", passage=passage) for passage in passages),
        min_relevance=0.1,
        min_novelty=0.0,
    )


def test_a_reference_to_a_deleted_chunk_is_like_nothing(cold: KnowledgeBase, many: Path) -> None:
    """A candidate whose file is gone meanwhile is left out of the judgement."""
    _read(cold, many)
    gone = PassageRef(chunk=ChunkId("gone"), source=SourceId("gone"), score=1.0, relevance=1.0)

    assert cold.analyze(_analysis((gone,), "run")) == Analysis()
