"""Findings: what a run has accepted, cycle by cycle, and the judgement of what it finds next (DESIGN §5, §6)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tenure.algorithms.retrieval.acceptance import computed, linked
from tenure.algorithms.retrieval.relevance import Judged, clusters, judge
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.spiral import Aim, Analysis, AnalysisRequest, Candidate, Finding, Rejection
from tenure.knowledge.embeddings.cache import vector_rows
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import FINDINGS, FINDINGS_SCHEMA, digest
from tenure.knowledge.store.store import Store, quoted

CLOSENESS = 0.6
"""Cosine to its centre from which a passage belongs to a latent topic."""
LEAST_GROUP, MOST_GROUPS, SHOWN = 3, 3, 5
"""Passages that make a latent topic, latent topics of one cycle, and passages of each that are shown to be named."""


def analyze(store: Store, chunks: ChunkVectors, encode: Encoder, request: AnalysisRequest) -> Analysis:
    """Judge what a cycle has found, and keep what is accepted.

    Repeating it gives the same answer and leaves the same rows: only earlier cycles count as known.

    Raises:
        UnknownCorpus: a corpus was never ingested.
    """
    candidates, paths, vectors, means = _candidates(store, chunks, request)
    if not candidates or not request.aims:
        return Analysis()
    topics = _vectors(encode, request.aims)
    relevance = _relevance(vectors, topics, means)
    headings = [aim.topic.heading for aim in request.aims]
    wanted = [_position(headings, path, one.topic) for one, path in zip(candidates, paths, strict=True)]
    known = _known(store, vectors.shape[1], request)
    vouched = [linked(candidate.passage) or computed(candidate.passage) for candidate in candidates]
    judged = judge(vectors, relevance, wanted, vouched, known, request.min_relevance, request.min_novelty)
    findings = [
        Finding(
            topic=headings[verdict.topic],
            query=candidate.query,
            passage=candidate.passage.model_copy(update={"relevance": round(verdict.relevance, 4)}),
            novelty=round(verdict.novelty, 4),
        )
        for candidate, verdict in zip(candidates, judged, strict=True)
        if verdict.verdict == "accepted"
    ]
    accepted = [index for index, verdict in enumerate(judged) if verdict.verdict == "accepted"]
    _keep(store, request, findings, vectors[accepted])
    named = _relevance(vectors, encode([request.question, *headings]), means)
    return Analysis(
        accepted=tuple(sorted(findings, key=lambda f: (-f.passage.relevance, f.passage.chunk))),
        rejected=_rejections(candidates, judged),
        latent=_latent([c.passage for c in candidates], vectors, named, request.min_relevance),
    )


def _candidates(
    store: Store, chunks: ChunkVectors, request: AnalysisRequest
) -> tuple[list[Candidate], list[list[str]], Vectors, NDArray[np.float32]]:
    """Return the candidates that are still stored, each chunk once, with their headings, vectors and μ."""
    unrelated = {name: catalogue.corpus(store, name).unrelated for name in request.corpora}
    first: dict[str, Candidate] = {}
    for candidate in request.candidates:
        first.setdefault(candidate.passage.chunk, candidate)
    rows = store.rows_in(chunks.table, ["id", "corpus", "heading_path", "vector"], "id", list(first))
    order = np.argsort(np.asarray(rows["id"].to_pylist(), dtype=str)) if rows.num_rows else np.zeros(0, dtype=int)
    ids, corpora, paths = (rows[name].to_pylist() for name in ("id", "corpus", "heading_path"))
    means = np.asarray([unrelated.get(corpora[i], 0.0) for i in order], dtype=np.float32)
    return [first[ids[i]] for i in order], [paths[i] for i in order], chunks.of(rows)[order], means


def _vectors(encode: Encoder, aims: Sequence[Aim]) -> Vectors:
    """Return h_j of every topic: the mean of its question's and its imagined passage's embeddings."""
    asked = encode([aim.topic.question for aim in aims])
    imagined = encode([aim.hypothetical or aim.topic.question for aim in aims])
    mean = asked + imagined
    unit: Vectors = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _relevance(vectors: Vectors, topics: Vectors, unrelated: NDArray[np.float32]) -> NDArray[np.float32]:
    mean = unrelated[:, None]
    normalised: NDArray[np.float32] = np.minimum((vectors @ topics.T - mean) / (1.0 - mean), 1.0)
    return normalised


def _position(headings: Sequence[str], path: Sequence[str], topic: str) -> int:
    """Return where the topic of a passage stands: the heading it has in its document, else what it was found for.

    One that was found for a topic that was dropped meanwhile counts as found for the first.
    """
    places = {heading.casefold(): place for place, heading in reversed(list(enumerate(headings)))}
    known = (places[name.casefold()] for name in (*reversed(path), topic) if name.casefold() in places)
    return next(known, 0)


def _known(store: Store, dimensions: int, request: AnalysisRequest) -> Vectors:
    where = f"run = {quoted([request.run])[1:-1]} AND cycle < {request.cycle}"
    rows = store.rows(FINDINGS, ["vector"], where)
    return vector_rows(rows["vector"], dimensions)


def _keep(store: Store, request: AnalysisRequest, findings: Sequence[Finding], vectors: Vectors) -> None:
    if not findings:
        return
    columns = {
        "key": [digest(request.run, finding.passage.chunk) for finding in findings],
        "run": [request.run] * len(findings),
        "cycle": [request.cycle] * len(findings),
        "topic": [finding.topic for finding in findings],
        "query": [finding.query for finding in findings],
        "chunk": [finding.passage.chunk for finding in findings],
        "source": [finding.passage.source for finding in findings],
        "relevance": [finding.passage.relevance for finding in findings],
        "novelty": [finding.novelty for finding in findings],
        "vector": list(vectors),
    }
    store.merge(FINDINGS, pa.table(columns, schema=FINDINGS_SCHEMA), "key")


def _rejections(candidates: Sequence[Candidate], judged: Sequence[Judged]) -> tuple[Rejection, ...]:
    counts = Counter((c.query, verdict.verdict) for c, verdict in zip(candidates, judged, strict=True))
    queries = dict.fromkeys(candidate.query for candidate in candidates)
    found = [
        Rejection(query=query, irrelevant=counts[query, "irrelevant"], known=counts[query, "known"])
        for query in queries
    ]
    return tuple(rejection for rejection in found if rejection.irrelevant or rejection.known)


def _latent(
    passages: Sequence[PassageRef], vectors: Vectors, named: NDArray[np.float32], min_relevance: float
) -> tuple[tuple[PassageRef, ...], ...]:
    """Return groups of passages that are nearer to the question than to any heading of the outline.

    Args:
        passages: n passages.
        vectors: their unit vectors, shape (n, d).
        named: their relevance to the question, and to each of the m headings, shape (n, 1 + m).
        min_relevance: to the question.
    """
    whole = named[:, 0]
    off = np.flatnonzero((whole >= min_relevance) & (named[:, 1:].max(axis=1) < whole))
    grouped = clusters(vectors[off], CLOSENESS, LEAST_GROUP, MOST_GROUPS)
    return tuple(tuple(passages[off[i]] for i in group[:SHOWN]) for group in grouped)
