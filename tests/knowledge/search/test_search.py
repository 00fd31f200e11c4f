"""Test search: retrievers, fusion, relevance, limits and errors."""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from tenure.algorithms.text.passage import Vectors
from tenure.contracts.choices import SearchMode
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import SearchReply, SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.embeddings.calibration import list_calendar_names
from tenure.knowledge.search.search import encode_query
from tenure.knowledge.store.errors import EmbeddingModelMismatch, InvalidSearch, UnknownCorpus
from tests.knowledge.conftest import write_documents
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import slow


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Location of the two corpora of this module, which its tests only read."""
    folder = tmp_path_factory.mktemp("search")
    documents = write_documents(folder / "docs")
    (folder / "other").mkdir()
    (folder / "other" / "bees.md").write_text(
        "# Beekeeping law\n\nBees are livestock before the law.\n", encoding="utf-8"
    )
    knowledge = KnowledgeBase(str(folder / "knowledge"), WordVectors())
    for corpus, path in (("c", documents), ("law", folder / "other")):
        knowledge.corpora.ingest(IngestRequest(corpus=corpus, paths=(str(path),)), lambda progress: None)
    return str(folder / "knowledge")


@pytest.fixture(scope="module")
def filled(address: str) -> KnowledgeBase:
    """Knowledge base with two corpora."""
    return KnowledgeBase(address, WordVectors())


def _titles(knowledge: KnowledgeBase, reply: SearchReply) -> list[str]:
    return [passage.title for passage in knowledge.corpora.load_passages(reply.passages)]


SALT = ("Salz verhindert das Wachstum.", "盐可以阻止细菌的生长。", "Соль препятствует росту.")


@pytest.mark.parametrize(
    ("query", "expected"),
    [*zip(("Was verhindert Salz?", "盐可以阻止什么", "Чему препятствует соль?"), SALT, strict=True)],
)
def test_relevance_in_other_languages_is_that_of_the_words(tmp_path: Path, query: str, expected: str) -> None:
    """The passage with the words of a query that is not in English is relevant, whatever the vectors say."""
    (tmp_path / "docs").mkdir()
    for n, text in enumerate(SALT):
        (tmp_path / "docs" / f"{n}.md").write_text(f"{text}\n", encoding="utf-8")
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(tmp_path / "docs"),)), lambda progress: None)
    found = knowledge.retrieval.search(SearchRequest(query=query, corpora=("c",), mode="dense")).passages
    texts = [passage.text.strip() for passage in knowledge.corpora.load_passages(found)]

    assert [text for text, ref in zip(texts, found, strict=True) if ref.relevance >= 0.5] == [expected]


@slow
def test_sparse_search_matches_word_stems(filled: KnowledgeBase) -> None:
    """A word matches another of its forms, which the vectors of this test cannot do."""
    reply = filled.retrieval.search(SearchRequest(query="baking a loaf, heated ovens", corpora=("c",), mode="sparse"))

    assert _titles(filled, reply)[0] == "Sourdough"
    assert reply.passages[0].sparse_rank == 1
    assert reply.passages[0].dense_rank is None


def test_dense_search_ranks_by_relevance(filled: KnowledgeBase) -> None:
    """Dense results are ordered by relevance, and have no sparse rank."""
    found = filled.retrieval.search(
        SearchRequest(query="bees dance on the comb", corpora=("c",), mode="dense")
    ).passages

    assert [ref.relevance for ref in found] == sorted((ref.relevance for ref in found), reverse=True)
    assert list(range(1, len(found) + 1)) == [ref.dense_rank for ref in found]
    assert {None} == {ref.sparse_rank for ref in found}


def test_rank_fusion_sums_reciprocal_ranks(filled: KnowledgeBase) -> None:
    """The score of a passage is the sum of its reciprocal ranks."""
    found = filled.retrieval.search(SearchRequest(query="queen in winter", corpora=("c",), mode="rrf")).passages

    for ref in found:
        ranks = [rank for rank in (ref.dense_rank, ref.sparse_rank) if rank is not None]
        assert ref.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks))
    assert [ref.score for ref in found] == sorted((ref.score for ref in found), reverse=True)


class _TopicVectors(WordVectors):
    """Vectors by subject, with those of German calendar names at the English ones only if German is known."""

    def __init__(self, *, knows_german: bool) -> None:
        super().__init__()
        self._knows_german = knows_german

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a unit vector for each text."""
        names = {
            name: n
            for code in ("en", "de")
            if code == "en" or self._knows_german
            for n, name in enumerate(list_calendar_names(code), 2)
        }
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[names.get(text, 0 if "Müller" in text or "Bäcker" in text else 1)] = 1
        return vectors


@pytest.mark.parametrize(("knows_german", "expected"), [(True, "Der Müller"), (False, "Das Brot")])
def test_vectors_weigh_less_in_a_language_that_the_model_does_not_know(
    tmp_path: Path, knows_german: bool, expected: str
) -> None:
    """The passage with the words of a German question comes first and is relevant, unless the model knows German."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bread.md").write_text("# Das Brot\n\nDas Brot wird im Ofen gebacken.\n", encoding="utf-8")
    (tmp_path / "docs" / "mill.md").write_text("# Der Müller\n\nDer Müller ist nicht zu Hause.\n", encoding="utf-8")
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), _TopicVectors(knows_german=knows_german))
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(tmp_path / "docs"),)), lambda progress: None)
    request = SearchRequest(query="Wer ist der Bäcker, und wie wird Brot gebacken?", corpora=("c",), mode="hybrid")

    found = knowledge.retrieval.search(request)
    relevance = dict(zip(_titles(knowledge, found), (ref.relevance for ref in found.passages), strict=True))

    assert next(iter(relevance)) == expected
    assert (relevance["Der Müller"] > 0.5) is knows_german


@pytest.mark.parametrize("strategy", get_args(SearchMode))
def test_every_mode_returns_the_same_form(filled: KnowledgeBase, strategy: SearchMode) -> None:
    """Passages are ordered and unique, and their relevance does not depend on the mode."""
    found = filled.retrieval.search(SearchRequest(query="bees in winter", corpora=("c",), mode=strategy)).passages
    dense = filled.retrieval.search(SearchRequest(query="bees in winter", corpora=("c",), mode="dense")).passages
    relevance = {ref.chunk: ref.relevance for ref in dense}

    assert found
    assert len({ref.chunk for ref in found}) == len(found)
    assert [ref.score for ref in found] == sorted((ref.score for ref in found), reverse=True)
    assert all(ref.relevance == pytest.approx(relevance[ref.chunk], abs=1e-5) for ref in found)


def test_search_is_limited_to_its_corpora(filled: KnowledgeBase) -> None:
    """Only the named corpora are searched."""

    def search(*corpora: str) -> set[str]:
        return set(_titles(filled, filled.retrieval.search(SearchRequest(query="bees", corpora=corpora, k=50))))

    assert {"Beekeeping law"} == search("law")
    assert "Beekeeping law" not in search("c")
    assert {"Beekeeping law", "Honeybees"} <= search("c", "law")


def test_passages_per_source_can_be_limited(filled: KnowledgeBase) -> None:
    """With a limit of one, no source appears twice."""
    request = SearchRequest(query="bees bread queue winter oven", corpora=("c",), k=50, max_per_source=1)
    found = filled.retrieval.search(request).passages

    assert 3 == len(found) == len({ref.source for ref in found})


def test_at_most_k_passages_are_returned(filled: KnowledgeBase) -> None:
    """The number of passages does not exceed k."""
    assert len(filled.retrieval.search(SearchRequest(query="bees", corpora=("c",), k=2)).passages) == 2


def test_search_is_deterministic(filled: KnowledgeBase) -> None:
    """A repeated search returns the same result, including ties."""
    request = SearchRequest(query="the queue", corpora=("law", "c"), k=50)

    assert filled.retrieval.search(request) == filled.retrieval.search(request)


def test_query_vector_includes_the_hypothetical_answer(model: WordVectors) -> None:
    """The query vector is the normalized mean of both vectors."""
    vector = encode_query(model.embed, SearchRequest(query="left", hypothetical_answer="right", corpora=("c",)))
    left, right = model.embed(["left", "right"])

    assert np.allclose(vector, (left + right) / np.linalg.norm(left + right), atol=1e-6)


def test_query_syntax_is_treated_as_text(filled: KnowledgeBase) -> None:
    """No input breaks the query language."""
    for query in ('"unclosed', "AND OR NOT (", "a:b^2~ *", "'; DROP TABLE", "!!!", "the of and"):
        assert isinstance(filled.retrieval.search(SearchRequest(query=query, corpora=("c",))), SearchReply)


def test_unknown_corpus_raises_an_error(filled: KnowledgeBase) -> None:
    """The error names the corpus and all existing ones."""
    with pytest.raises(UnknownCorpus, match=r"'nope'.*'c', 'law'"):
        filled.retrieval.search(SearchRequest(query="bees", corpora=("nope",)))


@pytest.mark.parametrize(
    "request_",
    [
        SearchRequest(query="  ", corpora=("c",)),
        SearchRequest(query="bees", corpora=()),
        SearchRequest.model_construct(query="bees", corpora=("c",), k=0),
        SearchRequest(query="bees " * 20_000, corpora=("c",)),
        SearchRequest.model_validate({"query": "bees", "corpora": ("c",)}).model_copy(update={"mode": "magic"}),
    ],
    ids=["no query", "no corpus", "no passage", "endless query", "unknown strategy"],
)
def test_invalid_searches_are_rejected(filled: KnowledgeBase, request_: SearchRequest) -> None:
    """An empty query, no corpora and invalid parameters raise clear errors."""
    with pytest.raises(InvalidSearch):
        filled.retrieval.search(request_)


def test_vectors_of_another_model_are_rejected(address: str) -> None:
    """A model with the same size and another name raises an error that names both."""
    other = KnowledgeBase(address, WordVectors("other words"))

    with pytest.raises(EmbeddingModelMismatch, match=r"'words'.*'other words'"):
        other.retrieval.search(SearchRequest(query="bees", corpora=("c",)))


def test_the_current_page_precedes_those_of_older_versions_and_retired_ones(tmp_path: Path) -> None:
    """Of equal pages the newest version comes first and a retired one later, unless the query asks for another one."""
    for folder in ("v3.4", "v3.5", "legacy"):
        (tmp_path / "docs" / folder).mkdir(parents=True)
        text = f"# Salt\n\nSalt keeps bacteria from growing in {folder}.\n"
        (tmp_path / "docs" / folder / "salt.md").write_text(text, encoding="utf-8")
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(tmp_path / "docs"),)), lambda progress: None)

    def list_folders(query: str) -> list[str]:
        found = knowledge.retrieval.search(SearchRequest(query=query, corpora=("c",))).passages
        return [Path(passage.uri).parent.name for passage in knowledge.corpora.load_passages(found)]

    assert list_folders("What does salt keep from growing?")[0] == "v3.5"
    assert list_folders("What does salt keep from growing in 3.4?")[0] == "v3.4"
    assert list_folders("What does legacy salt keep from growing?")[0] == "legacy"
    found = knowledge.retrieval.search(SearchRequest(query="Salt?", corpora=("c",))).passages
    passages = knowledge.corpora.load_passages(found)
    assert {Path(passage.uri).parent.name for passage in passages if passage.is_retired} == {"legacy"}
    sources = knowledge.corpora.load_sources([passage.source for passage in passages]).values()
    assert {Path(source.uri).parent.name for source in sources if source.is_retired} == {"legacy"}
    root = str(tmp_path / "docs" / "legacy")  # a person's name of a folder says nothing of its files
    knowledge.corpora.ingest(IngestRequest(corpus="d", paths=(root,)), lambda progress: None)
    (named,) = knowledge.retrieval.search(SearchRequest(query="Salt?", corpora=("d",))).passages
    assert not knowledge.corpora.load_passages([named])[0].is_retired
