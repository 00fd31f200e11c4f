"""The second stage of a search: each step, its provenance, and what it refuses."""

from collections.abc import Sequence

import pytest

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.evidence.rerank import Recency, Rerank
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import InvalidSearch
from tenure.models.chat import TransportError
from tenure.models.openai.reranking import RerankEndpoint
from tests.knowledge.word_vectors import TokenWords, WordVectors
from tests.model_server import Fault, ModelServer

DOCUMENTS = {
    "old.md": "---\ndate: 2001-05-01\n---\n\n# Bees\n\nBees dance on the comb to tell where nectar is.\n",
    "new.md": "---\ndate: 2024-05-01\n---\n\n# Bees\n\nBees dance on the comb to tell where nectar is, and more.\n",
    "undated.md": "# Honey\n\nBees dance. The comb is of wax, and nectar becomes honey.\n",
    "bread.md": "# Bread\n\nA starter of flour and water ferments for a week.\n",
}
QUERY = "bees dance on the comb to tell where nectar is"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the corpus of this module is; its tests only read it."""
    folder = tmp_path_factory.mktemp("reranking")
    (folder / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    request = IngestRequest(corpus="c", paths=(str(folder / "docs"),))
    KnowledgeBase(str(folder / "knowledge"), WordVectors()).ingest(request, lambda progress: None)
    return str(folder / "knowledge")


@pytest.fixture(scope="module")
def filled(address: str) -> KnowledgeBase:
    """The corpus behind a model that shows its tokens."""
    return KnowledgeBase(address, TokenWords())


def found(knowledge: KnowledgeBase, query: str = QUERY, **rerank: object) -> tuple[PassageRef, ...]:
    request = SearchRequest(query=query, corpora=("c",), strategy="hybrid", rerank=Rerank.model_validate(rerank))
    return knowledge.search(request).passages


def files(knowledge: KnowledgeBase, refs: Sequence[PassageRef]) -> list[str]:
    return [passage.uri.rsplit("/", 1)[-1] for passage in knowledge.passages(refs)]


def test_without_a_step_the_first_stage_is_the_last(filled: KnowledgeBase) -> None:
    """A search that asks for nothing more says nothing of a second stage."""
    refs = found(filled)

    assert {(None, None)} == {(ref.first_rank, ref.rerank_score) for ref in refs}
    assert [ref.score for ref in refs] == sorted((ref.score for ref in refs), reverse=True)


def test_a_candidate_keeps_what_the_first_stage_said(filled: KnowledgeBase) -> None:
    """Rank and score of the first stage stay beside the new score, which the order follows."""
    before = found(filled)
    after = found(filled, authority={"bread.md": 4.0})

    assert files(filled, after)[0] == "bread.md"
    assert sorted(ref.first_rank or 0 for ref in after) == [1, 2, 3, 4]
    assert {ref.chunk: ref.score for ref in before} == {ref.chunk: ref.score for ref in after}
    assert [before[(ref.first_rank or 0) - 1].chunk for ref in after] == [ref.chunk for ref in after]
    assert [ref.rerank_score for ref in after] == sorted((ref.rerank_score or 0 for ref in after), reverse=True)


def test_only_the_best_are_looked_at_again(filled: KnowledgeBase) -> None:
    """What is not among the candidates keeps its order behind them, without a score of the second stage."""
    before = found(filled)
    after = found(filled, candidates=2, authority={"bread.md": 9.0, files(filled, before)[1]: 3.0})

    assert [before[n].chunk for n in (1, 0, 2, 3)] == [ref.chunk for ref in after]
    assert [ref.rerank_score is None for ref in after] == [False, False, True, True]


def test_late_interaction_compares_word_by_word(address: str) -> None:
    """Alone it puts the passage first in which every word of the question is found, and remembers vectors."""
    model = TokenWords()
    knowledge = KnowledgeBase(address, model)
    refs = found(knowledge, "starter of flour", late_interaction=1.0)
    again = found(knowledge, "starter of flour", late_interaction=1.0)

    assert files(knowledge, refs)[0] == "bread.md"
    assert refs == again
    assert len(model.asked) == len(set(model.asked)) == 5


def test_new_documents_can_be_preferred(filled: KnowledgeBase) -> None:
    """The newer of two that say the same comes first, an undated one is where it was, and the day is a parameter."""
    preferred = files(filled, found(filled, recency={"half_life_days": 30, "weight": 0.9, "as_of": "2024-06-01"}))
    long_ago = files(filled, found(filled, recency={"half_life_days": 30, "weight": 0.9, "as_of": "2001-05-01"}))

    assert preferred[0] == "new.md"
    assert preferred.index("undated.md") < preferred.index("old.md")
    assert {"new.md", "old.md"} == set(long_ago[:2])


def test_diversity_brings_what_says_something_else(filled: KnowledgeBase) -> None:
    """A document that repeats the first one gives way to one that does not."""
    plain, diverse = files(filled, found(filled)), files(filled, found(filled, diversity=0.6))

    assert {"old.md", "new.md"} == set(plain[:2])
    assert diverse[0] == plain[0]
    assert diverse[1] not in ("old.md", "new.md")


def test_a_bound_for_a_source_holds_in_the_new_order(filled: KnowledgeBase) -> None:
    """The cap looks at what the second stage put first."""
    request = SearchRequest(
        query=QUERY, corpora=("c",), k=1, max_per_source=1, rerank=Rerank(authority={"bread.md": 4.0})
    )

    assert files(filled, filled.search(request).passages) == ["bread.md"]


def test_a_search_that_finds_nothing_asks_nobody(address: str) -> None:
    """Without a candidate neither tokens nor endpoint are needed."""
    with ModelServer() as server:
        knowledge = KnowledgeBase(address, TokenWords(), rerank=RerankEndpoint("m", server.base_url))
        request = SearchRequest(query="zzz", corpora=("c",), strategy="sparse", rerank=Rerank(endpoint=1.0))

        assert knowledge.search(request).passages == ()
        assert server.requests == []


def test_an_endpoint_has_its_say(address: str) -> None:
    """The server sees the query and each candidate with its title, and its scores are blended in."""
    with ModelServer() as server:
        knowledge = KnowledgeBase(address, WordVectors(), rerank=RerankEndpoint("m", server.base_url))
        refs = found(knowledge, "starter ferments for a week", endpoint=1.0)

    assert files(knowledge, refs)[0] == "bread.md"
    assert refs[0].rerank_score == pytest.approx(1)
    assert server.requests[0].json["query"] == "starter ferments for a week"
    assert any(text.startswith("Bread\n") for text in server.requests[0].json["documents"])


def test_an_endpoint_that_fails_fails_the_search(address: str) -> None:
    """The order is never silently that of the first stage: the error goes on to whoever retries."""
    with ModelServer() as server:
        server.fail(Fault(503, {"retry-after": "3"}))
        knowledge = KnowledgeBase(address, WordVectors(), rerank=RerankEndpoint("m", server.base_url))
        with pytest.raises(TransportError) as caught:
            found(knowledge, endpoint=0.5)

        assert caught.value.retry_after == 3
        assert len(found(knowledge, endpoint=0.5)) == 4


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (Rerank(late_interaction=0.3), "late interaction needs the embedded model"),
        (Rerank(endpoint=0.3), "set TENURE_RERANK_MODEL"),
        (Rerank(recency=Recency()), "give as_of"),
    ],
)
def test_what_cannot_be_done_is_refused(address: str, wanted: Rerank, reason: str) -> None:
    """A step that this knowledge base cannot take is named before anything is searched."""
    with pytest.raises(InvalidSearch, match=reason):
        KnowledgeBase(address, WordVectors()).search(SearchRequest(query="bees", corpora=("c",), rerank=wanted))
