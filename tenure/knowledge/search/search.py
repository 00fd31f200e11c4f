"""Search by dense vectors, by BM25, by their fusion, or by a graph walk from what they find; then rerank if requested.

The query vector is the mean of the embeddings of the question and of the hypothetical answer (HyDE). Every passage
carries its normalized relevance to that vector, whichever retriever found it. Ties are broken by chunk id, so that the
same rows give the same result.

In a partly embedded corpus, BM25 and links also find chunks without a vector. The best of them are embedded on demand;
they then count as results of the dense retriever too.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.retrieval.document_versions import DocumentPart, find_outdated
from tenure.algorithms.retrieval.rrf import fuse_rankings
from tenure.algorithms.retrieval.score_fusion import REFERENCE_RANK, blend_scores
from tenure.algorithms.retrieval.word_overlap import measure_foreign_overlap, measure_overlap
from tenure.algorithms.text.languages.detection import (
    UNKNOWN,
    detect_language,
    list_foreign_languages,
    list_main_languages,
)
from tenure.algorithms.text.languages.terms import list_query_terms
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.algorithms.text.sentences import STOP_WORDS, guess_language, may_be_english
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.choices import SearchMode
from tenure.contracts.evidence.passages import PassageRef, SearchReply, SearchRequest
from tenure.knowledge.embeddings import calibration
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.graph.walks import EntityGraph
from tenure.knowledge.search.reranking import Reranker
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import CorpusRecord
from tenure.knowledge.store.errors import EmbeddingModelMismatch, InvalidSearch
from tenure.knowledge.store.filters import build_condition
from tenure.knowledge.store.store import Store, TextQuery, quote_list
from tenure.models.embedding import EmbeddingModel

MAX_QUERY_CHARACTERS = 20_000
"""Maximum length of a query; equal to the maximum length of a question."""
MIN_TITLE_SHARE = 0.3
"""Share of candidates that name the title of their document, from which an adaptive search follows links."""
OUTDATED_SHARE = 0.5
"""Share of its score that an outdated result loses."""
_MAX_SEEDS = 10
_HYBRID_WEIGHT = 0.02
"""Weight of the hybrid score relative to the score of the graph walk."""
_DENSE_WEIGHT, _FOREIGN_DENSE_WEIGHT = 0.5, 0.15
"""Weight of vector similarity against full-text scores when they are blended: usually, and if the embedding model does
not know the language of the query or of the passages. The second one is the best of 0, 0.05, 0.1, 0.15, 0.2 and 0.5 for
the even questions of FastAPI's manual in seven languages. For the odd ones, the mean nDCG@10 is 55.7 % instead of 46.0
with 0.5, and 55.6 by words alone."""
_DEPTH_PER_RESULT = 5  # With the default of 12 results this is less than the 100 that scores are scaled by.
_MAX_DEPTH = 1000
_MIN_COMPUTED_VECTORS = 64
"""Missing vectors that a retriever computes on demand; more only if more passages are requested."""
_COLUMNS = ["id", "source_id", "corpus", "uri", "title", "retired", "vector"]


@dataclass(frozen=True)
class _Hit:
    chunk: str
    source: str
    similarity: float
    corpus: str
    is_computed: bool
    """Whether its vector was missing and computed on demand."""
    uri: str
    title: str
    is_retired: bool
    score: float


@dataclass(frozen=True)
class _Ranking:
    """Chunks with their score, and their rank in each retriever that found them."""

    hits: dict[str, _Hit]
    scores: dict[str, float]
    dense: dict[str, int]
    sparse: dict[str, int]
    graph: dict[str, int] = field(default_factory=dict)
    lacks_links: bool = False
    """Whether links were to be followed and none was found."""


def search(
    store: Store,
    model: EmbeddingModel,
    chunks: ChunkVectors,
    encode: Encoder,
    reranker: Reranker,
    request: SearchRequest,
) -> SearchReply:
    """Return the passages that match a query, best first."""
    corpora = catalogue.list_corpora(store)
    records = _validate(corpora, model, request)
    baselines = {record.corpus: record.baseline for record in records}
    share = catalogue.compute_embedded_share(store, model.dimensions, records)
    reranker.validate(request.rerank)
    depth = min(_MAX_DEPTH, max(REFERENCE_RANK, _DEPTH_PER_RESULT * request.k))
    if request.max_per_source is not None:
        depth = min(_MAX_DEPTH, depth * 2)
    languages = _count_languages(records)
    own, searched = _find_languages(request.query, languages)
    knows_query = calibration.is_language_known(encode, own)
    is_comparable = knows_query and calibration.is_language_known(encode, searched)
    weight = _DENSE_WEIGHT if is_comparable else _FOREIGN_DENSE_WEIGHT
    retrievers = Retrievers(store, chunks, request, encode_query(encode, request), depth, share < 1, weight)
    ranking = _STRATEGIES[request.mode](retrievers)
    scores = _lower_outdated(request.query, ranking)
    order = sorted(ranking.hits.values(), key=lambda hit: (-scores[hit.chunk], -hit.similarity, hit.chunk))
    first = {hit.chunk: scores[hit.chunk] for hit in order[: request.rerank.candidates]}
    reranked = reranker.rerank(store, chunks, request.query, request.rerank, first) if request.rerank.is_enabled else {}
    hits = {hit.chunk: hit for hit in order}
    results = list(_limit_results((hits[chunk] for chunk in dict.fromkeys([*reranked, *hits])), request))
    overlaps = _measure_overlaps(store, chunks, request.query, [hit.chunk for hit in results], knows_query)
    return SearchReply(
        passages=tuple(
            PassageRef(
                chunk=ChunkId(hit.chunk),
                source=SourceId(hit.source),
                score=scores[hit.chunk],
                relevance=max(
                    overlaps.get(hit.chunk, -1.0),
                    calibration.normalize_relevance(hit.similarity, baselines[hit.corpus]) if knows_query else -1.0,
                ),
                dense_rank=ranking.dense.get(hit.chunk),
                sparse_rank=ranking.sparse.get(hit.chunk),
                graph_rank=ranking.graph.get(hit.chunk),
            )
            for hit in results
        ),
        embedded_share=share,
        lacks_links=ranking.lacks_links,
        foreign_languages=list_foreign_languages(request.query, languages),
    )


def _find_languages(query: str, languages: Mapping[str, int]) -> tuple[str, str]:
    """Return the language of a query and that of passages with which it is compared: the same, or their main one.

    A query whose language is uncertain, such as a name, is taken for one in the main language of the passages.
    """
    main = list_main_languages(languages) or [UNKNOWN]
    own = detect_language(query, {*main, "en", guess_language(query)}) or main[0]
    return own, own if own in main else main[0]


def _count_languages(records: Iterable[CorpusRecord]) -> Counter[str]:
    """Return the number of chunks of corpora by language, the most frequent first."""
    return Counter(dict(sum((Counter(record.languages) for record in records), Counter[str]()).most_common()))


def _lower_outdated(query: str, ranking: _Ranking) -> dict[str, float]:
    """Return the scores, lower for what is retired and for older versions of a manual."""
    hits = list(ranking.hits.values())
    outdated = find_outdated(query, [DocumentPart(hit.uri, hit.title, hit.is_retired) for hit in hits])
    return {
        hit.chunk: ranking.scores[hit.chunk] - is_outdated * OUTDATED_SHARE * abs(ranking.scores[hit.chunk])
        for hit, is_outdated in zip(hits, outdated, strict=True)
    }


def _measure_overlaps(
    store: Store, chunks: ChunkVectors, query: str, ids: list[str], knows_query: bool
) -> dict[str, float]:
    """Return the share of the query's words that chunks contain; empty for an English query.

    A model that does not know the language of the query cannot decide which texts are relevant: of 15 questions in
    German, Japanese and Russian that FastAPI's manual does not answer, 13 had a relevant passage by the vectors of the
    built-in model, and 6 by words.
    """
    if not ids or (knows_query and may_be_english(query)):
        return {}
    measure = measure_foreign_overlap if knows_query else measure_overlap
    rows = store.read_rows_in(chunks.table, ["id", "text"], "id", ids)
    texts = zip(rows["id"].to_pylist(), rows["text"].to_pylist(), strict=True)
    return {chunk: measure(query, text) for chunk, text in texts}


def encode_query(encode: Encoder, request: SearchRequest) -> Vectors:
    """Return the unit vector of a query, shape (dimensions,)."""
    texts = [request.query, *([request.hypothetical_answer] if request.hypothetical_answer.strip() else [])]
    mean = encode(texts).mean(axis=0)
    unit: Vectors = (mean / np.linalg.norm(mean)).astype(np.float32)
    return unit


def _validate(corpora: Mapping[str, CorpusRecord], model: EmbeddingModel, request: SearchRequest) -> list[CorpusRecord]:
    if not request.query.strip():
        raise InvalidSearch("the query is empty")
    if len(request.query) > MAX_QUERY_CHARACTERS:
        raise InvalidSearch(f"the query has {len(request.query)} characters; the maximum is {MAX_QUERY_CHARACTERS}")
    if request.mode not in _STRATEGIES:
        raise InvalidSearch(f"unknown search mode {request.mode!r}; available: {', '.join(_STRATEGIES)}")
    if request.k <= 0:
        raise InvalidSearch(f"k must be at least 1, not {request.k}")
    if not request.corpora:
        raise InvalidSearch("the list of corpora is empty")
    build_condition(request.filters)  # fail before anything is embedded
    records = [catalogue.select_corpus(corpora, name) for name in dict.fromkeys(request.corpora)]
    for record in records:
        if record.model != model.name:
            raise EmbeddingModelMismatch(record.corpus, record.model, model.name)
    return records


@dataclass(frozen=True)
class Retrievers:
    """Retrievers of one search, with the condition and the depth that they share."""

    store: Store
    chunks: ChunkVectors
    request: SearchRequest
    vector: Vectors
    depth: int
    is_partly_embedded: bool
    dense_weight: float
    """Weight of vector similarity against full-text scores when they are blended."""

    @cached_property
    def _condition(self) -> str:
        corpora = f"corpus IN {quote_list(tuple(dict.fromkeys(self.request.corpora)))}"
        sources = f"source_id IN {quote_list(self.request.sources)}" if self.request.sources else ""
        return " AND ".join(filter(None, (corpora, sources, build_condition(self.request.filters))))

    @cached_property
    def _text_query(self) -> TextQuery:
        return build_text_query(self.store, self.request.corpora, self.request.query)

    def retrieve_dense(self) -> list[_Hit]:
        """Return the nearest chunks, best first; the score is the cosine."""
        if self.is_partly_embedded:
            return self.retrieve_both()[0]
        table, condition = self.chunks.table, self._condition
        return self._to_dense(self.store.search_vectors(table, _COLUMNS, self.vector, condition, self.depth))

    def _to_dense(self, rows: pa.Table) -> list[_Hit]:
        return _sorted(self._build_hits(rows))

    def retrieve_sparse(self) -> list[_Hit]:
        """Return the best chunks by BM25, best first."""
        text = self._text_query
        return self._to_sparse(self.store.search_text(self.chunks.table, _COLUMNS, text, self._condition, self.depth))

    def _to_sparse(self, rows: pa.Table) -> list[_Hit]:
        return _sorted(self._build_hits(self._drop_unaffordable(rows), "_score"))

    def retrieve_both(self) -> tuple[list[_Hit], list[_Hit]]:
        """Return the dense and the sparse results; they run concurrently, because neither uses all cores.

        A sparse result that was embedded on demand also counts as a dense result.
        """
        near_rows, worded_rows = self.store.search_vectors_and_text(
            self.chunks.table, _COLUMNS, self.vector, self._text_query, self._condition, self.depth
        )
        near, sparse = self._to_dense(near_rows), self._to_sparse(worded_rows)
        computed = {hit.chunk: replace(hit, score=hit.similarity) for hit in sparse if hit.is_computed}
        if computed:
            near = _sorted((computed | {hit.chunk: hit for hit in near}).values())[: self.depth]
        return near, sparse

    def load_hits(self, chunks: Sequence[str]) -> list[_Hit]:
        """Return those of some chunks, most important first, that satisfy the condition of the search."""
        positions = {chunk: position for position, chunk in enumerate(chunks)}
        rows = self.store.read_rows_in(self.chunks.table, _COLUMNS, "id", chunks, self._condition)
        order = np.argsort([positions[chunk] for chunk in rows["id"].to_pylist()]).astype(np.int64)
        return self._build_hits(self._drop_unaffordable(rows.take(order)))

    @cached_property
    def graph(self) -> EntityGraph:
        """Graph of the corpora."""
        return EntityGraph(self.store, self.request.corpora)

    def _build_hits(self, rows: pa.Table, score: str = "") -> list[_Hit]:
        """Return the hits of rows; the score is the column `score`, or the cosine."""
        similar = (self.chunks.load_vectors(rows) @ self.vector).tolist()
        computed = pc.is_null(rows["vector"]).to_pylist()
        chunks, sources, corpora = (rows[name].to_pylist() for name in ("id", "source_id", "corpus"))
        places = (rows["uri"].to_pylist(), rows["title"].to_pylist(), pc.equal(rows["retired"], "yes").to_pylist())
        scores = rows[score].to_pylist() if score else similar
        return list(map(_Hit, chunks, sources, similar, corpora, computed, *places, scores))

    def _drop_unaffordable(self, rows: pa.Table) -> pa.Table:
        """Drop rows without a vector beyond the number of vectors that may be computed on demand."""
        absent = pc.is_null(rows["vector"]).to_numpy()
        return rows.filter(pa.array(~absent | (absent.cumsum() <= max(_MIN_COMPUTED_VECTORS, self.request.k))))


def build_text_query(store: Store, corpora: Sequence[str], query: str) -> TextQuery:
    """Return the words of a query without stop words, and its terms in the other languages of the corpora."""
    records = catalogue.list_corpora(store)
    languages = _count_languages(records[name] for name in corpora if name in records)
    return TextQuery(drop_stop_words(query), list_query_terms(query, list(languages)))


def drop_stop_words(query: str) -> str:
    """Return a query without stop words; unchanged if it contains a phrase or nothing else."""
    content = [word for word in query.split() if word.strip(".,;:?!()").lower() not in STOP_WORDS]
    return " ".join(content) if content and '"' not in query else query


def _sorted(hits: Iterable[_Hit]) -> list[_Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk))


def _ranks(hits: Iterable[_Hit]) -> dict[str, int]:
    return {hit.chunk: rank for rank, hit in enumerate(hits, 1)}


def _scores(hits: Iterable[_Hit]) -> dict[str, float]:
    return {hit.chunk: hit.score for hit in hits}


def _by_rank(dense: list[_Hit], sparse: list[_Hit]) -> _Ranking:
    near, worded = _ranks(dense), _ranks(sparse)
    return _Ranking({hit.chunk: hit for hit in (*dense, *sparse)}, fuse_rankings([near, worded]), near, worded)


def _hybrid(retrievers: Retrievers) -> _Ranking:
    dense, sparse = retrievers.retrieve_both()
    scores = blend_scores(_scores(dense), _scores(sparse), retrievers.dense_weight)
    return replace(_by_rank(dense, sparse), scores=scores)


def _graph(retrievers: Retrievers) -> _Ranking:
    hybrid = _hybrid(retrievers)
    walked = _rank_by_walk(retrievers, hybrid)
    return replace(hybrid, lacks_links=bool(hybrid.hits)) if walked.lacks_links else walked


def _adaptive(retrievers: Retrievers) -> _Ranking:
    hybrid = _hybrid(retrievers)
    follow = retrievers.graph.compute_title_share(list(hybrid.hits)) >= MIN_TITLE_SHARE
    return replace(_rank_by_walk(retrievers, hybrid), lacks_links=False) if follow else hybrid


def _rank_by_walk(retrievers: Retrievers, first: _Ranking) -> _Ranking:
    """Rank by a graph walk from the best hits; hits that the walk does not reach keep their order behind it."""
    best = dict(sorted(first.scores.items(), key=lambda item: (-item[1], item[0]))[:_MAX_SEEDS])
    shares, has_links = retrievers.graph.walk(retrievers.request.query, best)
    walked = sorted(shares, key=lambda chunk: (-shares[chunk], chunk))[: retrievers.depth]
    hits = {
        hit.chunk: hit for hit in retrievers.load_hits([chunk for chunk in walked if chunk not in first.hits])
    } | first.hits
    walked = [chunk for chunk in walked if chunk in hits]
    most, highest = max(shares.values(), default=1.0), max(first.scores.values(), default=0.0) or 1.0
    scores = {
        chunk: shares.get(chunk, 0.0) / most + _HYBRID_WEIGHT * first.scores.get(chunk, 0.0) / highest for chunk in hits
    }
    ranks = {chunk: rank for rank, chunk in enumerate(walked, 1)}
    return replace(first, hits=hits, scores=scores, graph=ranks, lacks_links=not has_links)


_STRATEGIES: Final[Mapping[SearchMode, Callable[[Retrievers], _Ranking]]] = {
    "dense": lambda retrievers: _by_rank(retrievers.retrieve_dense(), []),
    "sparse": lambda retrievers: _by_rank([], retrievers.retrieve_sparse()),
    "rrf": lambda retrievers: _by_rank(*retrievers.retrieve_both()),
    "hybrid": _hybrid,
    "graph": _graph,
    "adaptive": _adaptive,
}


def _limit_results(hits: Iterable[_Hit], request: SearchRequest) -> Iterator[_Hit]:
    counts: Counter[str] = Counter()
    for hit in hits:
        if request.max_per_source is None or counts[hit.source] < request.max_per_source:
            counts[hit.source] += 1
            yield hit
        if counts.total() >= request.k:
            return
