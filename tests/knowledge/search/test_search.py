"""Search: both legs, their fusion, relevance, bounds, and what it refuses."""

from typing import get_args

import numpy as np
import pytest

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import SearchReply, SearchRequest, Strategy
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.search.search import query_vector
from tenure.knowledge.store.errors import EmbeddingModelMismatch, InvalidSearch, UnknownCorpus
from tests.knowledge.conftest import write_documents
from tests.knowledge.word_vectors import WordVectors


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the two corpora of this module are; its tests only read them."""
    folder = tmp_path_factory.mktemp("search")
    documents = write_documents(folder / "docs")
    (folder / "other").mkdir()
    (folder / "other" / "bees.md").write_text(
        "# Beekeeping law\n\nBees are livestock before the law.\n", encoding="utf-8"
    )
    knowledge = KnowledgeBase(str(folder / "knowledge"), WordVectors())
    for corpus, path in (("c", documents), ("law", folder / "other")):
        knowledge.ingest(IngestRequest(corpus=corpus, paths=(str(path),)), lambda progress: None)
    return str(folder / "knowledge")


@pytest.fixture(scope="module")
def filled(address: str) -> KnowledgeBase:
    """A knowledge base with two corpora."""
    return KnowledgeBase(address, WordVectors())


def _titles(knowledge: KnowledgeBase, reply: SearchReply) -> list[str]:
    return [passage.title for passage in knowledge.passages(reply.passages)]


def test_full_text_search_knows_word_stems(filled: KnowledgeBase) -> None:
    """A word is found in another of its forms, which the vectors of this test cannot do."""
    reply = filled.search(SearchRequest(query="baking a loaf, heated ovens", corpora=("c",), strategy="sparse"))

    assert _titles(filled, reply)[0] == "Sourdough"
    assert reply.passages[0].sparse_rank == 1
    assert reply.passages[0].dense_rank is None


def test_vector_search_ranks_by_relevance(filled: KnowledgeBase) -> None:
    """Dense results come in the order of their relevance, and carry no full-text rank."""
    found = filled.search(SearchRequest(query="bees dance on the comb", corpora=("c",), strategy="dense")).passages

    assert [ref.relevance for ref in found] == sorted((ref.relevance for ref in found), reverse=True)
    assert list(range(1, len(found) + 1)) == [ref.dense_rank for ref in found]
    assert {None} == {ref.sparse_rank for ref in found}


def test_rank_fusion_sums_reciprocal_ranks(filled: KnowledgeBase) -> None:
    """A passage's score is the sum of its reciprocal ranks, and the best come first."""
    found = filled.search(SearchRequest(query="queen in winter", corpora=("c",), strategy="rrf")).passages

    for ref in found:
        ranks = [rank for rank in (ref.dense_rank, ref.sparse_rank) if rank is not None]
        assert ref.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks))
    assert [ref.score for ref in found] == sorted((ref.score for ref in found), reverse=True)


def test_hybrid_search_weighs_both_legs(filled: KnowledgeBase) -> None:
    """With all the weight on one leg, its best comes first with a score of 1."""
    for alpha, rank in ((1.0, "dense_rank"), (0.0, "sparse_rank")):
        request = SearchRequest(query="queen in winter", corpora=("c",), strategy="hybrid", alpha=alpha)
        best = filled.search(request).passages[0]

        assert getattr(best, rank) == 1
        assert best.score == pytest.approx(1)


@pytest.mark.parametrize("strategy", get_args(Strategy))
def test_every_strategy_answers_in_one_form(filled: KnowledgeBase, strategy: Strategy) -> None:
    """Passages come best first, each once, with a relevance that depends on the question alone."""
    found = filled.search(SearchRequest(query="bees in winter", corpora=("c",), strategy=strategy)).passages
    dense = filled.search(SearchRequest(query="bees in winter", corpora=("c",), strategy="dense")).passages
    relevance = {ref.chunk: ref.relevance for ref in dense}

    assert found
    assert len({ref.chunk for ref in found}) == len(found)
    assert [ref.score for ref in found] == sorted((ref.score for ref in found), reverse=True)
    assert all(ref.relevance == pytest.approx(relevance[ref.chunk], abs=1e-5) for ref in found)


def test_a_search_stays_in_its_corpora(filled: KnowledgeBase) -> None:
    """Only the named corpora are looked at, several at a time when several are named."""

    def search(*corpora: str) -> set[str]:
        return set(_titles(filled, filled.search(SearchRequest(query="bees", corpora=corpora, k=50))))

    assert {"Beekeeping law"} == search("law")
    assert "Beekeeping law" not in search("c")
    assert {"Beekeeping law", "Honeybees"} <= search("c", "law")


def test_a_sources_share_can_be_bounded(filled: KnowledgeBase) -> None:
    """With a bound of one, no source appears twice."""
    request = SearchRequest(query="bees bread queue winter oven", corpora=("c",), k=50, max_per_source=1)
    found = filled.search(request).passages

    assert 3 == len(found) == len({ref.source for ref in found})


def test_the_number_of_passages_is_kept(filled: KnowledgeBase) -> None:
    """No more passages come back than were asked for."""
    assert len(filled.search(SearchRequest(query="bees", corpora=("c",), k=2)).passages) == 2


def test_the_same_search_gives_the_same_answer(filled: KnowledgeBase) -> None:
    """Repeating a search changes nothing, ties included."""
    request = SearchRequest(query="the queue", corpora=("law", "c"), k=50)

    assert filled.search(request) == filled.search(request)


def test_a_hypothetical_answer_moves_the_query_vector(model: WordVectors) -> None:
    """The query vector is the unit mean of the question's and the hypothetical answer's vectors."""
    vector = query_vector(model.embed, SearchRequest(query="left", hypothetical="right", corpora=("c",)))
    left, right = model.embed(["left", "right"])

    assert np.allclose(vector, (left + right) / np.linalg.norm(left + right), atol=1e-6)


def test_punctuation_and_operators_are_just_text(filled: KnowledgeBase) -> None:
    """Nothing a person types can break the query language."""
    for query in ('"unclosed', "AND OR NOT (", "a:b^2~ *", "'; DROP TABLE", "!!!", "the of and"):
        assert isinstance(filled.search(SearchRequest(query=query, corpora=("c",))), SearchReply)


def test_an_unknown_corpus_is_named(filled: KnowledgeBase) -> None:
    """The error names the corpus and those there are."""
    with pytest.raises(UnknownCorpus, match=r"'nope'.*'c', 'law'"):
        filled.search(SearchRequest(query="bees", corpora=("nope",)))


@pytest.mark.parametrize(
    "request_",
    [
        SearchRequest(query="  ", corpora=("c",)),
        SearchRequest(query="bees", corpora=()),
        SearchRequest.model_construct(query="bees", corpora=("c",), k=0),
        SearchRequest(query="bees " * 20_000, corpora=("c",)),
        SearchRequest.model_validate({"query": "bees", "corpora": ("c",)}).model_copy(update={"strategy": "magic"}),
    ],
    ids=["no query", "no corpus", "no passage", "endless query", "unknown strategy"],
)
def test_an_unanswerable_search_is_refused(filled: KnowledgeBase, request_: SearchRequest) -> None:
    """Nothing to look for, or nowhere to look, is a clear error."""
    with pytest.raises(InvalidSearch):
        filled.search(request_)


def test_vectors_of_another_model_are_not_compared(address: str) -> None:
    """A model of the same size and another name is refused, both names said."""
    other = KnowledgeBase(address, WordVectors("other words"))

    with pytest.raises(EmbeddingModelMismatch, match=r"'words'.*'other words'"):
        other.search(SearchRequest(query="bees", corpora=("c",)))
