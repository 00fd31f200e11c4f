"""Search: a vector leg, a full-text leg, and their fusion by ranks (DESIGN §5).

The query vector is the mean of the question's and the hypothetical answer's embeddings. Every passage
found carries its normalised relevance to that vector, whichever leg found it. Ties are broken by chunk
id, so that the same rows give the same answer.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.passages import Encoder, Vectors
from tenure.algorithms.rrf import fuse
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence import PassageRef, SearchReply, SearchRequest
from tenure.knowledge import calibration, catalogue
from tenure.knowledge.errors import EmbeddingModelMismatch, InvalidSearch
from tenure.knowledge.filters import condition
from tenure.knowledge.schema import chunks_table
from tenure.knowledge.store import Store, quoted
from tenure.knowledge.vectors import vector_rows
from tenure.models.embedding import EmbeddingModel

_LEAST_DEPTH = 60
_DEPTH_PER_RESULT = 5
_MAX_DEPTH = 1000
_COLUMNS = ["id", "source_id", "corpus", "vector"]


@dataclass(frozen=True)
class _Hit:
    chunk: str
    source: str
    similarity: float
    corpus: str


def search(store: Store, model: EmbeddingModel, encode: Encoder, request: SearchRequest) -> SearchReply:
    """Answer a search.

    Raises:
        InvalidSearch: nothing to look for, nowhere to look, or no passage wanted.
        UnknownCorpus: a corpus was never ingested.
        EmbeddingModelMismatch: a corpus's vectors come from another model.
    """
    unrelated = _checked(store, model, request)
    vector = query_vector(encode, request)
    depth = min(_MAX_DEPTH, max(_LEAST_DEPTH, _DEPTH_PER_RESULT * request.k))
    if request.max_per_source is not None:
        depth = min(_MAX_DEPTH, depth * 2)
    legs = _Legs(store, chunks_table(model.dimensions), request, vector, depth)
    dense = legs.dense() if request.mode != "sparse" else {}
    sparse = legs.sparse() if request.mode != "dense" else {}
    hits = {hit.chunk: hit for hit in (*dense.values(), *sparse.values())}
    ranks = [{hit.chunk: rank for rank, hit in leg.items()} for leg in (dense, sparse)]
    scores = fuse(ranks)
    order = sorted(hits.values(), key=lambda hit: (-scores[hit.chunk], -hit.similarity, hit.chunk))
    return SearchReply(
        passages=tuple(
            PassageRef(
                chunk=ChunkId(hit.chunk),
                source=SourceId(hit.source),
                score=scores[hit.chunk],
                relevance=calibration.relevance(hit.similarity, unrelated[hit.corpus]),
                dense_rank=ranks[0].get(hit.chunk),
                sparse_rank=ranks[1].get(hit.chunk),
            )
            for hit in _capped(order, request)
        )
    )


def query_vector(encode: Encoder, request: SearchRequest) -> Vectors:
    """Return the unit vector a search compares with."""
    texts = [request.query, *([request.hypothetical] if request.hypothetical.strip() else [])]
    mean = encode(texts).mean(axis=0)
    unit: Vectors = (mean / np.linalg.norm(mean)).astype(np.float32)
    return unit


def _checked(store: Store, model: EmbeddingModel, request: SearchRequest) -> dict[str, float]:
    """Return μ per corpus, once the request is found to be answerable."""
    if not request.query.strip():
        raise InvalidSearch("the query is empty")
    if request.k <= 0:
        raise InvalidSearch(f"at least one passage must be asked for, not {request.k}")
    if not request.corpora:
        raise InvalidSearch("no corpus was named to search in")
    condition(request.filters)  # a filter that cannot be applied is found before anything is embedded
    records = [catalogue.corpus(store, name) for name in dict.fromkeys(request.corpora)]
    for record in records:
        if record.model != model.name:
            raise EmbeddingModelMismatch(record.corpus, record.model, model.name)
    return {record.corpus: record.unrelated for record in records}


@dataclass(frozen=True)
class _Legs:
    store: Store
    table: str
    request: SearchRequest
    vector: Vectors
    depth: int

    @property
    def _where(self) -> str:
        # No condition where it would keep every chunk: the database would look at all of them to find that out.
        every = catalogue.corpora(self.store).keys() <= set(self.request.corpora)
        corpora = "" if every else f"corpus IN {quoted(tuple(dict.fromkeys(self.request.corpora)))}"
        sources = f"source_id IN {quoted(self.request.sources)}" if self.request.sources else ""
        return " AND ".join(filter(None, (corpora, sources, condition(self.request.filters))))

    def dense(self) -> dict[int, _Hit]:
        """Return the nearest chunks by rank."""
        hits = self._hits(self._own(self.store.nearest(self.table, _COLUMNS, self.vector, self._where, self.depth)))
        return self._ranked(hits, [hit.similarity for hit in hits])

    def sparse(self) -> dict[int, _Hit]:
        """Return the chunks with the best words by rank."""
        rows = self._own(self.store.matching(self.table, _COLUMNS, self.request.query, self._where, self.depth))
        return self._ranked(self._hits(rows), rows["_score"].to_pylist())

    def _hits(self, rows: pa.Table) -> list[_Hit]:
        vectors = vector_rows(rows["vector"], len(self.vector))
        columns = (rows[name].to_pylist() for name in ("id", "source_id", "corpus"))
        similar = (vectors @ self.vector).tolist()
        return [_Hit(chunk, source, sim, corpus) for chunk, source, corpus, sim in zip(*columns, similar, strict=True)]

    def _own(self, rows: pa.Table) -> pa.Table:
        """Leave out the chunks of a corpus that came into being this moment."""
        return rows.filter(pc.is_in(rows["corpus"], pa.array(self.request.corpora)))

    def _ranked(self, hits: Sequence[_Hit], scores: Iterable[float]) -> dict[int, _Hit]:
        order = sorted(zip(hits, scores, strict=True), key=lambda pair: (-pair[1], pair[0].chunk))
        return {rank: hit for rank, (hit, _) in enumerate(order, 1)}


def _capped(hits: Iterable[_Hit], request: SearchRequest) -> Iterator[_Hit]:
    taken: Counter[str] = Counter()
    for hit in hits:
        if request.max_per_source is None or taken[hit.source] < request.max_per_source:
            taken[hit.source] += 1
            yield hit
        if taken.total() >= request.k:
            return
