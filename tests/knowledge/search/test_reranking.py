"""Test the reranking steps of a search, their scores and their errors."""

from collections.abc import Sequence

import pytest

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import InvalidSearch
from tenure.models.errors import TransportError
from tenure.models.openai.reranking import OpenAIReranker
from tests.knowledge.word_vectors import WordVectors
from tests.model_server import Fault, ModelServer
from tests.support.tiers import slow

DOCUMENTS = {
    "old.md": "---\ndate: 2001-05-01\n---\n\n# Bees\n\nBees dance on the comb to tell where nectar is.\n",
    "new.md": "---\ndate: 2024-05-01\n---\n\n# Bees\n\nBees dance on the comb to tell where nectar is, and more.\n",
    "undated.md": "# Honey\n\nBees dance. The comb is of wax, and nectar becomes honey.\n",
    "bread.md": "# Bread\n\nA starter of flour and water ferments for a week.\n",
}
QUERY = "bees dance on the comb to tell where nectar is"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Location of the corpus of this module, which its tests only read."""
    folder = tmp_path_factory.mktemp("reranking")
    (folder / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    request = IngestRequest(corpus="c", paths=(str(folder / "docs"),))
    KnowledgeBase(str(folder / "knowledge"), WordVectors()).corpora.ingest(request, lambda progress: None)
    return str(folder / "knowledge")


@pytest.fixture(scope="module")
def filled(address: str) -> KnowledgeBase:
    """Corpus with a model that exposes tokens."""
    return KnowledgeBase(address, WordVectors())


def found(knowledge: KnowledgeBase, query: str = QUERY, **rerank: object) -> tuple[PassageRef, ...]:
    request = SearchRequest(query=query, corpora=("c",), mode="hybrid", rerank=RerankOptions.model_validate(rerank))
    return knowledge.retrieval.search(request).passages


def files(knowledge: KnowledgeBase, refs: Sequence[PassageRef]) -> list[str]:
    return [passage.uri.rsplit("/", 1)[-1] for passage in knowledge.corpora.load_passages(refs)]


@slow
def test_search_without_reranking_is_ordered_by_score(filled: KnowledgeBase) -> None:
    """Without a reranking step the score of the first stage determines the order."""
    refs = found(filled)

    assert [ref.score for ref in refs] == sorted((ref.score for ref in refs), reverse=True)


def test_candidates_keep_their_score(filled: KnowledgeBase) -> None:
    """The new score determines the order, and the score of the first stage is returned."""
    before = found(filled)
    after = found(filled, authority={"bread.md": 4.0})

    assert files(filled, after)[0] == "bread.md"
    assert {ref.chunk: ref.score for ref in before} == {ref.chunk: ref.score for ref in after}


def test_only_the_best_candidates_are_reranked(filled: KnowledgeBase) -> None:
    """Other passages keep their order behind the candidates."""
    before = found(filled)
    after = found(filled, candidates=2, authority={"bread.md": 9.0, files(filled, before)[1]: 3.0})

    assert [before[n].chunk for n in (1, 0, 2, 3)] == [ref.chunk for ref in after]


def test_new_documents_can_be_preferred(filled: KnowledgeBase) -> None:
    """The newer of two equal documents comes first, and an undated one keeps its place."""
    preferred = files(filled, found(filled, recency={"half_life_days": 30, "weight": 0.9, "as_of": "2024-06-01"}))
    long_ago = files(filled, found(filled, recency={"half_life_days": 30, "weight": 0.9, "as_of": "2001-05-01"}))

    assert preferred[0] == "new.md"
    assert preferred.index("undated.md") < preferred.index("old.md")
    assert {"new.md", "old.md"} == set(long_ago[:2])


def test_diversity_demotes_duplicates(filled: KnowledgeBase) -> None:
    """A duplicate of the first document ranks behind a different one."""
    plain, diverse = files(filled, found(filled)), files(filled, found(filled, diversity=0.6))

    assert {"old.md", "new.md"} == set(plain[:2])
    assert diverse[0] == plain[0]
    assert diverse[1] not in ("old.md", "new.md")


def test_limit_per_source_applies_after_reranking(filled: KnowledgeBase) -> None:
    """The limit applies to the reranked order."""
    request = SearchRequest(
        query=QUERY, corpora=("c",), k=1, max_per_source=1, rerank=RerankOptions(authority={"bread.md": 4.0})
    )

    assert files(filled, filled.retrieval.search(request).passages) == ["bread.md"]


def test_empty_result_is_not_reranked(address: str) -> None:
    """Without candidates neither tokens nor the endpoint are used."""
    with ModelServer() as server:
        knowledge = KnowledgeBase(address, WordVectors(), rerank_model=OpenAIReranker("m", server.base_url))
        request = SearchRequest(query="zzz", corpora=("c",), mode="sparse", rerank=RerankOptions(endpoint=1.0))

        assert knowledge.retrieval.search(request).passages == ()
        assert server.requests == []


def test_endpoint_scores_are_blended(address: str) -> None:
    """The endpoint receives the query and each candidate with its title."""
    with ModelServer() as server:
        knowledge = KnowledgeBase(address, WordVectors(), rerank_model=OpenAIReranker("m", server.base_url))
        refs = found(knowledge, "starter ferments for a week", endpoint=1.0)

    assert files(knowledge, refs)[0] == "bread.md"
    assert server.requests[0].json["query"] == "starter ferments for a week"
    assert any(text.startswith("Bread\n") for text in server.requests[0].json["documents"])


def test_failing_endpoint_fails_the_search(address: str) -> None:
    """An error of the endpoint is raised, so that the caller can retry."""
    with ModelServer() as server:
        server.fail(Fault(503, {"retry-after": "3"}))
        knowledge = KnowledgeBase(address, WordVectors(), rerank_model=OpenAIReranker("m", server.base_url))
        with pytest.raises(TransportError) as caught:
            found(knowledge, endpoint=0.5)

        assert caught.value.retry_after == 3
        assert len(found(knowledge, endpoint=0.5)) == 4


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (RerankOptions(endpoint=0.3), "set TENURE_RERANK_MODEL"),
        (RerankOptions(recency=RecencyOptions()), "recency needs as_of"),
    ],
)
def test_unavailable_steps_are_rejected(address: str, wanted: RerankOptions, reason: str) -> None:
    """An unavailable step is rejected before the search."""
    with pytest.raises(InvalidSearch, match=reason):
        KnowledgeBase(address, WordVectors()).retrieval.search(
            SearchRequest(query="bees", corpora=("c",), rerank=wanted)
        )
