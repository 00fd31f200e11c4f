"""Search: a vector leg, a full-text leg, their fusion, and a walk over the links from what they find (DESIGN §5, §6).

That is the first stage. Where a search asks for it, a second one looks at the best candidates again.

The query vector is the mean of the question's and the hypothetical answer's embeddings. Every passage
found carries its normalised relevance to that vector, whichever leg found it. Ties are broken by chunk
id, so that the same rows give the same answer.

In a corpus that is not embedded yet, words and links lead to chunks without a vector. The best of them get
theirs at once, and from then on nothing tells them from the others: they have a similarity, a place in the
vector leg, and a relevance.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.retrieval.rrf import fuse
from tenure.algorithms.retrieval.score_fusion import REFERENCE, blend
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.algorithms.text.sentences import STOP_WORDS
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef, SearchReply, SearchRequest, Strategy
from tenure.knowledge.embeddings import calibration
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.graph.graph import Graph
from tenure.knowledge.search.reranking import SecondStage
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import CorpusRecord
from tenure.knowledge.store.errors import EmbeddingModelMismatch, InvalidSearch
from tenure.knowledge.store.filters import condition
from tenure.knowledge.store.store import Store, quoted
from tenure.models.embedding import EmbeddingModel

MAX_QUERY = 20_000
"""Characters of a query; as many as a run's question may have."""
ENCYCLOPAEDIC = 0.3
"""Share of the candidates that name what they are about, from which an adaptive search follows links."""
_SEEDS = 10
_BESIDE = 0.02
"""Weight of the other legs' blended score beside the walk's."""
_DEPTH_PER_RESULT = 5
_MAX_DEPTH = 1000
_ON_DEMAND = 64
"""Vectors that a leg makes at least, where they are missing; more only if more passages are asked for."""
_COLUMNS = ["id", "source_id", "corpus", "vector"]


@dataclass(frozen=True)
class _Hit:
    chunk: str
    source: str
    similarity: float
    corpus: str
    made: bool
    """Whether its vector was missing and had to be made."""
    score: float


@dataclass(frozen=True)
class _Found:
    """What a strategy found, by chunk: its score, and its rank in each leg that found it."""

    hits: dict[str, _Hit]
    scores: dict[str, float]
    dense: dict[str, int]
    sparse: dict[str, int]
    graph: dict[str, int] = field(default_factory=dict)


def search(
    store: Store,
    model: EmbeddingModel,
    chunks: ChunkVectors,
    encode: Encoder,
    second: SecondStage,
    request: SearchRequest,
) -> SearchReply:
    """Answer a search.

    Raises:
        InvalidSearch: nothing to look for, nowhere to look, or no passage wanted.
        UnknownCorpus: a corpus was never ingested.
        EmbeddingModelMismatch: a corpus's vectors come from another model.
    """
    records = _checked(store, model, request)
    unrelated = {record.corpus: record.unrelated for record in records}
    share = catalogue.embedded_share(store, model.dimensions, records)
    second.check(request.rerank)
    depth = min(_MAX_DEPTH, max(REFERENCE, _DEPTH_PER_RESULT * request.k))
    if request.max_per_source is not None:
        depth = min(_MAX_DEPTH, depth * 2)
    legs = _Legs(store, chunks, request, query_vector(encode, request), depth, share < 1)
    found = _STRATEGIES[request.strategy](legs)
    order = sorted(found.hits.values(), key=lambda hit: (-found.scores[hit.chunk], -hit.similarity, hit.chunk))
    first = {hit.chunk: found.scores[hit.chunk] for hit in order[: request.rerank.candidates]}
    again = second.order(store, chunks, request.query, request.rerank, first) if request.rerank.asked else {}
    ranks = _ranks(order) if again else {}
    return SearchReply(
        passages=tuple(
            PassageRef(
                chunk=ChunkId(hit.chunk),
                source=SourceId(hit.source),
                score=found.scores[hit.chunk],
                relevance=calibration.relevance(hit.similarity, unrelated[hit.corpus]),
                dense_rank=found.dense.get(hit.chunk),
                sparse_rank=found.sparse.get(hit.chunk),
                graph_rank=found.graph.get(hit.chunk),
                first_rank=ranks.get(hit.chunk),
                rerank_score=again.get(hit.chunk),
            )
            for hit in _capped(_behind(again, order), request)
        ),
        embedded_share=share,
    )


def query_vector(encode: Encoder, request: SearchRequest) -> Vectors:
    """Return the unit vector a search compares with."""
    texts = [request.query, *([request.hypothetical] if request.hypothetical.strip() else [])]
    mean = encode(texts).mean(axis=0)
    unit: Vectors = (mean / np.linalg.norm(mean)).astype(np.float32)
    return unit


def _checked(store: Store, model: EmbeddingModel, request: SearchRequest) -> list[CorpusRecord]:
    """Return the corpora, once the request is found to be answerable."""
    if not request.query.strip():
        raise InvalidSearch("the query is empty")
    if len(request.query) > MAX_QUERY:
        raise InvalidSearch(f"the query has {len(request.query)} characters; ask for less than {MAX_QUERY + 1}")
    if request.strategy not in _STRATEGIES:
        raise InvalidSearch(f"no strategy {request.strategy!r}; there are {', '.join(_STRATEGIES)}")
    if request.k <= 0:
        raise InvalidSearch(f"at least one passage must be asked for, not {request.k}")
    if not request.corpora:
        raise InvalidSearch("no corpus was named to search in")
    condition(request.filters)  # a filter that cannot be applied is found before anything is embedded
    records = [catalogue.corpus(store, name) for name in dict.fromkeys(request.corpora)]
    for record in records:
        if record.model != model.name:
            raise EmbeddingModelMismatch(record.corpus, record.model, model.name)
    return records


@dataclass(frozen=True)
class _Legs:
    store: Store
    chunks: ChunkVectors
    request: SearchRequest
    vector: Vectors
    depth: int
    partly: bool
    """Whether some chunks have no vector yet."""

    @cached_property
    def _where(self) -> str:
        # No condition where it would keep every chunk: the database would look at all of them to find that out.
        every = catalogue.corpora(self.store).keys() <= set(self.request.corpora)
        corpora = "" if every else f"corpus IN {quoted(tuple(dict.fromkeys(self.request.corpora)))}"
        sources = f"source_id IN {quoted(self.request.sources)}" if self.request.sources else ""
        return " AND ".join(filter(None, (corpora, sources, condition(self.request.filters))))

    def dense(self) -> list[_Hit]:
        """Return the nearest chunks, best first; their scores are their similarities."""
        return self.both()[0] if self.partly else self._nearest()

    def _nearest(self) -> list[_Hit]:
        rows = self.store.nearest(self.chunks.table, _COLUMNS, self.vector, self._where, self.depth)
        return _sorted(self._hits(self._own(rows)))

    def sparse(self) -> list[_Hit]:
        """Return the chunks with the best words, best first."""
        words = _content(self.request.query)
        rows = self.store.matching(self.chunks.table, _COLUMNS, words, self._where, self.depth)
        return _sorted(self._hits(self._affordable(self._own(rows)), "_score"))

    def both(self) -> tuple[list[_Hit], list[_Hit]]:
        """Return what both legs find; they are asked at the same time, since neither uses all cores.

        A chunk that words have found and that has got its vector just now counts for the leg of vectors as well.
        """
        with ThreadPoolExecutor(1) as beside:
            asked = beside.submit(self.sparse)
            near, sparse = self._nearest(), asked.result()
        made = {hit.chunk: replace(hit, score=hit.similarity) for hit in sparse if hit.made}
        if made:
            near = _sorted((made | {hit.chunk: hit for hit in near}).values())[: self.depth]
        return near, sparse

    def among(self, chunks: Sequence[str]) -> list[_Hit]:
        """Return those of some chunks, the most important ones first, that the search may find."""
        places = {chunk: place for place, chunk in enumerate(chunks)}
        rows = self._own(self.store.rows_in(self.chunks.table, _COLUMNS, "id", chunks, self._where))
        order = np.argsort([places[chunk] for chunk in rows["id"].to_pylist()]).astype(np.int64)
        return self._hits(self._affordable(rows.take(order)))

    @property
    def graph(self) -> Graph:
        """The graph of the corpora."""
        return Graph(self.store, self.request.corpora)

    def _hits(self, rows: pa.Table, score: str = "") -> list[_Hit]:
        """Make hits of rows; their scores stand in a column, or are their similarities."""
        similar = (self.chunks.of(rows) @ self.vector).tolist()
        made = pc.is_null(rows["vector"]).to_pylist()
        chunks, sources, corpora = (rows[name].to_pylist() for name in ("id", "source_id", "corpus"))
        return list(map(_Hit, chunks, sources, similar, corpora, made, rows[score].to_pylist() if score else similar))

    def _affordable(self, rows: pa.Table) -> pa.Table:
        """Leave out the rows without a vector that come too late to get one."""
        absent = pc.is_null(rows["vector"]).to_numpy()
        return rows.filter(pa.array(~absent | (absent.cumsum() <= max(_ON_DEMAND, self.request.k))))

    def _own(self, rows: pa.Table) -> pa.Table:
        """Leave out the chunks of a corpus that came into being this moment."""
        return rows.filter(pc.is_in(rows["corpus"], pa.array(self.request.corpora)))


def _content(query: str) -> str:
    """Return the words of a query that carry a topic, all of them where there is none or a phrase is asked for."""
    content = [word for word in query.split() if word.strip(".,;:?!()").lower() not in STOP_WORDS]
    return " ".join(content) if content and '"' not in query else query


def _sorted(hits: Iterable[_Hit]) -> list[_Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk))


def _ranks(hits: Iterable[_Hit]) -> dict[str, int]:
    return {hit.chunk: rank for rank, hit in enumerate(hits, 1)}


def _behind(again: Mapping[str, float], hits: Sequence[_Hit]) -> list[_Hit]:
    """Put those that the second stage has looked at first, in its order."""
    hit_of = {hit.chunk: hit for hit in hits}
    return [hit_of[chunk] for chunk in dict.fromkeys([*again, *hit_of])]


def _scores(hits: Iterable[_Hit]) -> dict[str, float]:
    return {hit.chunk: hit.score for hit in hits}


def _by_rank(dense: list[_Hit], sparse: list[_Hit]) -> _Found:
    near, worded = _ranks(dense), _ranks(sparse)
    return _Found({hit.chunk: hit for hit in (*dense, *sparse)}, fuse([near, worded]), near, worded)


def _dense(legs: _Legs) -> _Found:
    return _by_rank(legs.dense(), [])


def _sparse(legs: _Legs) -> _Found:
    return _by_rank([], legs.sparse())


def _rrf(legs: _Legs) -> _Found:
    return _by_rank(*legs.both())


def _hybrid(legs: _Legs) -> _Found:
    dense, sparse = legs.both()
    scores = blend(_scores(dense), _scores(sparse), legs.request.alpha)
    return replace(_by_rank(dense, sparse), scores=scores)


def _graph(legs: _Legs) -> _Found:
    return _walked(legs, _hybrid(legs))


def _adaptive(legs: _Legs) -> _Found:
    found = _hybrid(legs)
    follow = legs.graph.encyclopaedic(list(found.hits)) >= ENCYCLOPAEDIC
    return _walked(legs, found) if follow else found


def _walked(legs: _Legs, found: _Found) -> _Found:
    """Rank by a walk from the best; whatever the walk does not come by keeps its order, behind."""
    best = dict(sorted(found.scores.items(), key=lambda item: (-item[1], item[0]))[:_SEEDS])
    shares = legs.graph.walk(legs.request.query, best)
    walked = sorted(shares, key=lambda chunk: (-shares[chunk], chunk))[: legs.depth]
    hits = {hit.chunk: hit for hit in legs.among([chunk for chunk in walked if chunk not in found.hits])} | found.hits
    walked = [chunk for chunk in walked if chunk in hits]
    most, highest = max(shares.values(), default=1.0), max(found.scores.values(), default=0.0) or 1.0
    scores = {chunk: shares.get(chunk, 0.0) / most + _BESIDE * found.scores.get(chunk, 0.0) / highest for chunk in hits}
    return replace(found, hits=hits, scores=scores, graph={chunk: rank for rank, chunk in enumerate(walked, 1)})


_STRATEGIES: Final[Mapping[Strategy, Callable[[_Legs], _Found]]] = {
    "dense": _dense,
    "sparse": _sparse,
    "rrf": _rrf,
    "hybrid": _hybrid,
    "graph": _graph,
    "adaptive": _adaptive,
}


def _capped(hits: Iterable[_Hit], request: SearchRequest) -> Iterator[_Hit]:
    taken: Counter[str] = Counter()
    for hit in hits:
        if request.max_per_source is None or taken[hit.source] < request.max_per_source:
            taken[hit.source] += 1
            yield hit
        if taken.total() >= request.k:
            return
