"""Knowledge activities on a small knowledge base in memory."""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.testing import ActivityEnvironment

from activities.errors import KNOWLEDGE_REFUSED, MODEL_UNAVAILABLE, PATH_MISSING, PATH_REFUSED
from activities.knowledge import KnowledgeActivities
from tenure.contracts.evidence.corpora import (
    CacheStats,
    CorpusReply,
    CorpusRequest,
    CorpusStats,
    EmbedReport,
    IngestProgress,
    IngestReport,
    IngestRequest,
    StoreStats,
)
from tenure.contracts.evidence.passages import (
    FailedSearch,
    SearchBatchReply,
    SearchReply,
    SearchRequest,
)
from tenure.document_roots import DocumentRoots
from tenure.knowledge.store.errors import (
    CommitConflict,
    CorruptTable,
    ForeignTable,
    InvalidSearch,
    KnowledgeError,
    ReaderFailed,
    StoreUnreachable,
    UnknownCorpus,
    WorkCancelled,
)
from tenure.models.errors import TransportError
from tests.conftest import EVERYWHERE
from tests.support.worlds import KITCHEN, MemoryKnowledge

INGEST = IngestRequest(corpus="kitchen", paths=("/kitchen",))
SEARCH = SearchRequest(query="How is bread made?", corpora=("kitchen",), k=2)
SEARCHES = (SEARCH,)
STATS = tuple(
    CorpusStats(corpus=name, sources=1, chunks=3, characters=9, embedding_model="m", updated_at="2026-01-01T00:00:00Z")
    for name in ("kitchen", "cellar")
)
STORE = StoreStats(cache=CacheStats(hits=3, misses=1))
PASSING = [
    CommitConflict("chunks", 5),
    CorruptTable("chunks", "here", "torn"),
    ReaderFailed("out of memory"),
    StoreUnreachable("s3://b", "no bucket"),
]
LASTING = [UnknownCorpus("kitchen", ()), InvalidSearch("empty query"), ForeignTable("chunks", "here", ["text"], [])]


class Refusing(MemoryKnowledge):
    """A knowledge base that always raises the same error."""

    def __init__(self, error: Exception) -> None:
        super().__init__({})
        self.error = error

    def search(self, request: SearchRequest) -> SearchReply:
        raise self.error

    def ingest(
        self, request: IngestRequest, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> IngestReport:
        raise self.error

    def load_stats(self) -> tuple[CorpusStats, ...]:
        raise self.error


class Shelf(MemoryKnowledge):
    """A knowledge base that contains two corpora and can drop one."""

    def load_stats(self) -> tuple[CorpusStats, ...]:
        return STATS

    def load_store_stats(self) -> StoreStats:
        return STORE

    def drop(self, corpus: str) -> bool:
        return corpus == "cellar"


def on(knowledge: MemoryKnowledge) -> KnowledgeActivities:
    return KnowledgeActivities(knowledge, EVERYWHERE)  # type: ignore[arg-type]


class Moody(MemoryKnowledge):
    """A knowledge base that raises an error for queries that have one."""

    def __init__(self, errors: Mapping[str, Exception]) -> None:
        super().__init__(dict(KITCHEN))
        self.errors = errors

    def search(self, request: SearchRequest) -> SearchReply:
        if request.query in self.errors:
            raise self.errors[request.query]
        return super().search(request)


def search_all(knowledge: MemoryKnowledge, *queries: str, attempt: int = 1) -> SearchBatchReply:
    """Execute searches at an attempt of an activity that has three."""
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        environment.info, attempt=attempt, retry_policy=RetryPolicy(maximum_attempts=3)
    )
    searches = tuple(SEARCH.model_copy(update={"query": query}) for query in queries)
    reply: SearchBatchReply = environment.run(on(knowledge).search_passages, searches)
    return reply


def test_search_returns_passages() -> None:
    """The activity passes every request and every reply through unchanged, in their order."""
    knowledge = MemoryKnowledge(dict(KITCHEN))
    queries = ["How is bread made?", "How is cheese made?", "How is bread made?"]

    found = search_all(knowledge, *queries)

    assert sorted(search.query for search in knowledge.searches) == sorted(queries)
    assert found.replies == tuple(MemoryKnowledge(dict(KITCHEN)).search(replace_query(query)) for query in queries)


def replace_query(query: str) -> SearchRequest:
    return SEARCH.model_copy(update={"query": query})


def test_a_search_that_fails_permanently_keeps_the_results_of_the_others() -> None:
    """The reply has the reason in the place of the search that the knowledge base refuses."""
    found = search_all(Moody({"rye": InvalidSearch("rye is refused")}), "bread", "rye", "cheese")

    first, refused, last = found.replies
    assert isinstance(first, SearchReply) and isinstance(last, SearchReply)
    assert refused == FailedSearch(type=KNOWLEDGE_REFUSED, message="rye is refused")


@pytest.mark.parametrize("error", [StoreUnreachable("s3://b", "no bucket"), ValueError("a bug")])
def test_a_search_that_may_succeed_later_is_tried_again(error: Exception) -> None:
    """The whole batch is, until its last attempt, which keeps what the other searches have found."""
    knowledge = Moody({"rye": error, "oats": InvalidSearch("oats are refused")})
    with pytest.raises(type(error) if isinstance(error, ValueError) else ApplicationError) as caught:
        search_all(knowledge, "oats", "rye", "bread", attempt=2)
    found = search_all(knowledge, "oats", "rye", "bread", attempt=3)

    assert str(error) in str(caught.value)
    assert [isinstance(one, SearchReply) for one in found.replies] == [False, False, True]
    failed = found.replies[1]
    assert isinstance(failed, FailedSearch) and failed.message == str(error)


def test_a_batch_without_any_result_fails() -> None:
    """One search, or several that all fail, end in the error of the first, as any other activity does."""
    knowledge = Moody({"rye": InvalidSearch("rye is refused"), "oats": InvalidSearch("oats are refused")})
    with pytest.raises(ApplicationError, match="rye is refused") as caught:
        search_all(knowledge, "rye", "oats")

    assert (caught.value.type, caught.value.non_retryable) == (KNOWLEDGE_REFUSED, True)


def test_ingestion_reports_its_progress() -> None:
    """The progress of the knowledge base becomes the heartbeat's details."""
    beats: list[tuple[Any, ...]] = []
    environment = ActivityEnvironment()
    environment.on_heartbeat = lambda *details: beats.append(details)

    report: IngestReport = environment.run(on(MemoryKnowledge(dict(KITCHEN))).ingest_corpus, INGEST)

    assert report == IngestReport(corpus="kitchen", files=2, unchanged=2)
    assert beats == [(IngestProgress(stage="done", files_total=2),)]


def test_earlier_attempts_are_counted() -> None:
    """An attempt adds the recordings that earlier ones have paid for to its progress and to its report."""
    beats: list[tuple[Any, ...]] = []

    class Transcribing(MemoryKnowledge):
        def ingest(self, request: IngestRequest, report: Any, cancelled: Any) -> IngestReport:
            report(IngestProgress(transcribed_seconds=30))
            assert request.transcribed_seconds == 90
            return IngestReport(corpus=request.corpus, transcribed_seconds=30)

    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        environment.info, heartbeat_details=[IngestProgress(transcribed_seconds=90).model_dump()]
    )
    environment.on_heartbeat = lambda *details: beats.append(details)
    report: IngestReport = environment.run(on(Transcribing({})).ingest_corpus, INGEST)

    assert report.transcribed_seconds == beats[0][0].transcribed_seconds == 120


@pytest.mark.parametrize("path", ["/etc/passwd", "{docs}/../secret", "{docs}/out", "docs", "{docs}base", "{docs}/\0"])
def test_paths_outside_the_document_roots_are_refused(tmp_path: Path, path: str) -> None:
    """A path that leaves the roots fails the ingestion permanently, in one line that says how to allow it."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "out").symlink_to("/etc")
    activities = KnowledgeActivities(MemoryKnowledge({}), DocumentRoots([docs]))  # type: ignore[arg-type]
    request = IngestRequest(corpus="c", paths=(str(docs), path.format(docs=docs)))

    with pytest.raises(ApplicationError) as caught:
        ActivityEnvironment().run(activities.ingest_corpus, request)

    assert (caught.value.type, caught.value.non_retryable) == (PATH_REFUSED, True)
    assert "\n" not in caught.value.message
    assert "TENURE_DOCUMENT_ROOTS" in caught.value.message or "absolute paths only" in caught.value.message


def test_the_checked_path_is_ingested(tmp_path: Path) -> None:
    """A link is resolved before the ingestion, so that replacing it afterwards changes nothing."""
    docs, link = tmp_path / "docs", tmp_path / "link"
    docs.mkdir()
    link.symlink_to(docs)
    seen: list[IngestRequest] = []

    class Recording(MemoryKnowledge):
        def ingest(self, request: IngestRequest, report: Any, cancelled: Any) -> IngestReport:
            seen.append(request)
            return IngestReport(corpus=request.corpus)

    activities = KnowledgeActivities(Recording({}), DocumentRoots([docs]))  # type: ignore[arg-type]
    ActivityEnvironment().run(activities.ingest_corpus, IngestRequest(corpus="c", paths=(str(link),)))

    assert seen[0].paths == (str(docs),)


def test_embedding_reports_its_progress() -> None:
    """The progress of the embedding becomes the heartbeat's details."""
    beats: list[tuple[Any, ...]] = []
    environment = ActivityEnvironment()
    environment.on_heartbeat = lambda *details: beats.append(details)

    report: EmbedReport = environment.run(on(MemoryKnowledge({})).embed_corpus, "kitchen")

    assert report == EmbedReport(corpus="kitchen", chunks=2, embedded=2)
    assert beats == [(IngestProgress(stage="embedding", embedded=2, to_embed=2),)]


@pytest.mark.parametrize("error", [*PASSING, *LASTING])
@pytest.mark.parametrize(
    ("method", "request_"),
    [("search_passages", SEARCHES), ("ingest_corpus", INGEST), ("manage_corpora", CorpusRequest(action="list"))],
)
def test_transient_refusals_are_retryable(error: KnowledgeError, method: str, request_: object) -> None:
    """Conflicts and torn tables are retried; a wrong request is not."""
    with pytest.raises(ApplicationError) as caught:
        ActivityEnvironment().run(getattr(on(Refusing(error)), method), request_)

    assert (caught.value.type, caught.value.message) == (KNOWLEDGE_REFUSED, str(error))
    assert caught.value.non_retryable is (error in LASTING)


def test_unavailable_rerank_endpoint_is_retried() -> None:
    """An unavailable server behind a search is retried after the delay that it requests."""
    error = TransportError("ranker:80 answered 503: busy", status=503, retry_after=3)
    with pytest.raises(ApplicationError, match="ranker:80") as caught:
        ActivityEnvironment().run(on(Refusing(error)).search_passages, SEARCHES)

    assert (caught.value.type, caught.value.non_retryable) == (MODEL_UNAVAILABLE, False)
    assert caught.value.next_retry_delay == timedelta(seconds=3)


def test_stopped_ingestion_is_cancelled() -> None:
    """On a stopping worker the ingestion ends as cancelled, so that another worker continues it."""
    with pytest.raises(CancelledError, match="stopped after 3 of 9 files"):
        ActivityEnvironment().run(on(Refusing(WorkCancelled("stopped after 3 of 9 files"))).ingest_corpus, INGEST)


def test_missing_path_is_not_retried() -> None:
    """A missing path fails immediately with its name."""
    with pytest.raises(ApplicationError, match="/nowhere") as caught:
        ActivityEnvironment().run(on(Refusing(FileNotFoundError("no such path: /nowhere"))).ingest_corpus, INGEST)

    assert (caught.value.type, caught.value.non_retryable) == (PATH_MISSING, True)


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        (CorpusRequest(action="list"), CorpusReply(corpora=STATS)),
        (CorpusRequest(action="list", corpus="kitchen"), CorpusReply(corpora=STATS)),
        (CorpusRequest(action="stats"), CorpusReply(corpora=STATS, store=STORE)),
        (CorpusRequest(action="stats", corpus="kitchen"), CorpusReply(corpora=STATS[:1], store=STORE)),
        (CorpusRequest(action="stats", corpus="attic"), CorpusReply(store=STORE)),
        (CorpusRequest(action="drop", corpus="cellar"), CorpusReply(corpora=STATS, dropped=True)),
        (CorpusRequest(action="drop", corpus="attic"), CorpusReply(corpora=STATS, dropped=False)),
        (CorpusRequest(action="drop"), CorpusReply(corpora=STATS, dropped=False)),
    ],
)
def test_corpora_are_listed_and_dropped(asked: CorpusRequest, reply: CorpusReply) -> None:
    """Statistics are available for one corpus or all; dropping returns whether the corpus existed."""
    assert reply == ActivityEnvironment().run(on(Shelf({})).manage_corpora, asked)


def test_a_search_of_corpora_returns_texts() -> None:
    """The best passages are returned with their texts, best first."""
    request = CorpusRequest(action="search", search=SearchRequest(query="bread", corpora=("kitchen",), k=2))
    reply: CorpusReply = ActivityEnvironment().run(on(MemoryKnowledge(dict(KITCHEN))).manage_corpora, request)

    assert len(reply.passages) == 2
    assert "bread" in reply.passages[0].text.lower()
    assert reply.passages[0].uri


def test_a_search_of_an_unknown_corpus_is_refused() -> None:
    """The reason of the knowledge base is a final error."""
    request = CorpusRequest(action="search", search=SEARCH)
    with pytest.raises(ApplicationError) as error:
        ActivityEnvironment().run(on(Refusing(UnknownCorpus("kitchen", ()))).manage_corpora, request)

    assert (error.value.type, error.value.non_retryable) == (KNOWLEDGE_REFUSED, True)
