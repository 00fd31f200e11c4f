"""Accept or reject the passages of a research cycle, and store the accepted ones as findings of the run."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tenure.algorithms.research.open_parts import list_parts, select_open_parts
from tenure.algorithms.retrieval.evidence_selection import is_computed, is_linked
from tenure.algorithms.retrieval.relevance import FindingAssessment, assess_findings, cluster_vectors
from tenure.algorithms.retrieval.word_overlap import measure_foreign_overlap, measure_overlap
from tenure.algorithms.text.languages.detection import UNKNOWN, detect_language
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.algorithms.text.sentences import guess_language
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.cycle import Finding, Rejection
from tenure.contracts.research.spiral import AnalysisReply, AnalysisRequest, CandidatePassage, TopicState
from tenure.knowledge.embeddings.cache import read_vector_column
from tenure.knowledge.embeddings.calibration import is_language_known
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import FINDINGS, FINDINGS_SCHEMA, hash_parts
from tenure.knowledge.store.store import Store, quote_literal

MIN_TOPIC_SIMILARITY = 0.6
"""Minimum cosine between a passage and the centre of a latent topic."""
MIN_TOPIC_PASSAGES, MAX_TOPICS, MAX_TOPIC_EXAMPLES = 3, 3, 5
"""Passages that form a latent topic, latent topics per cycle, and passages of each that are returned for naming."""


def analyze_candidates(store: Store, chunks: ChunkVectors, encode: Encoder, request: AnalysisRequest) -> AnalysisReply:
    """Accept the candidates that are relevant and new, store them as findings, and return the decisions.

    The operation is idempotent: only findings of earlier cycles count as known.
    """
    candidates, paths, texts, languages, vectors, means = _load_candidates(store, chunks, request)
    if not candidates or not request.topics:
        return AnalysisReply(open_parts=_find_open_parts(request.topics, ()))
    topics = _encode_topics(encode, request.topics)
    knows_topics = [is_language_known(encode, guess_language(aim.topic.question)) for aim in request.topics]
    overlaps = [
        [
            (measure_foreign_overlap if is_known else measure_overlap)(aim.topic.question, text)
            for aim, is_known in zip(request.topics, knows_topics, strict=True)
        ]
        for text in texts
    ]
    similar = np.where(knows_topics, _compute_relevance(vectors, topics, means), -1.0)
    relevance = np.maximum(similar, overlaps).astype(np.float32)
    headings = [aim.topic.heading for aim in request.topics]
    targets = [_find_topic(headings, path, item.topic) for item, path in zip(candidates, paths, strict=True)]
    topic_languages = [detect_language(aim.topic.question) for aim in request.topics]
    for n, (item, language, target) in enumerate(zip(candidates, languages, targets, strict=True)):
        # Neither words nor vectors compare two languages: the search by a translation has.
        if _is_foreign(language, topic_languages[target]):
            relevance[n, target] = max(relevance[n, target], item.passage.relevance)
    earlier = f"run = {quote_literal(request.run)} AND cycle < {request.cycle}"
    accepted_before = read_vector_column(store.read_rows(FINDINGS, ["vector"], earlier)["vector"], vectors.shape[1])
    # Cited passages may share no word with a topic, such as the head of a document that states its status.
    computed = [is_computed(candidate.passage) or candidate.is_cited for candidate in candidates]
    is_vouched = [sure or is_linked(candidate.passage) for candidate, sure in zip(candidates, computed, strict=True)]
    bounds = (request.min_relevance, request.min_novelty)
    judged = assess_findings(vectors, relevance, targets, is_vouched, accepted_before, *bounds, computed)
    findings = [
        Finding(
            topic=headings[verdict.topic],
            query=candidate.query,
            passage=candidate.passage.model_copy(update={"relevance": round(_rate(candidate, verdict), 4)}),
            novelty=round(verdict.novelty, 4),
        )
        for candidate, verdict in zip(candidates, judged, strict=True)
        if verdict.verdict == "accepted"
    ]
    accepted = [index for index, verdict in enumerate(judged) if verdict.verdict == "accepted"]
    _store_findings(store, request, findings, vectors[accepted])
    heading_relevance = _compute_relevance(vectors, encode([request.question, *headings]), means)
    return AnalysisReply(
        accepted=tuple(sorted(findings, key=lambda f: (-f.passage.relevance, f.passage.chunk))),
        rejected=_count_rejections(candidates, judged),
        latent=_find_latent_topics([c.passage for c in candidates], vectors, heading_relevance, request.min_relevance),
        open_parts=_find_open_parts(
            [
                aim
                for aim, own in zip(request.topics, topic_languages, strict=True)
                if not any(_is_foreign(languages[n], own) for n in accepted)
            ],
            [" ".join((*paths[n], texts[n])) for n in accepted],
        ),
    )


def _is_foreign(language: str, other: str) -> bool:
    """Return whether two known languages differ, so that words do not show whether a text speaks of something."""
    return UNKNOWN not in (language, other) and language != other


def _rate(candidate: CandidatePassage, assessed: FindingAssessment) -> float:
    """Return the relevance of a finding: to its topic or, if an answer cites it, to the question if that is more."""
    return max(assessed.relevance, candidate.passage.relevance) if candidate.is_cited else assessed.relevance


def _load_candidates(
    store: Store, chunks: ChunkVectors, request: AnalysisRequest
) -> tuple[list[CandidatePassage], list[list[str]], list[str], list[str], Vectors, NDArray[np.float32]]:
    """Return the stored candidates, each chunk once.

    With them come their heading paths, texts, languages, vectors (n, d) and baselines μ (n,).
    """
    baselines = {name: catalogue.load_corpus(store, name).baseline for name in request.corpora}
    first: dict[str, CandidatePassage] = {}
    for candidate in sorted(request.candidates, key=lambda candidate: not candidate.is_cited):
        first.setdefault(candidate.passage.chunk, candidate)
    columns = ["id", "corpus", "heading_path", "text", "language"]
    rows = store.read_rows_in(chunks.table, [*columns, "vector"], "id", list(first))
    order = np.argsort(np.asarray(rows["id"].to_pylist(), dtype=str)) if rows.num_rows else np.zeros(0, dtype=int)
    ids, corpora, paths, texts, languages = (rows[name].to_pylist() for name in columns)
    means = np.asarray([baselines.get(corpora[i], 0.0) for i in order], dtype=np.float32)
    ordered = [first[ids[i]] for i in order]
    paths, texts, languages = ([column[i] for i in order] for column in (paths, texts, languages))
    return ordered, paths, texts, languages, chunks.load_vectors(rows)[order], means


def _find_open_parts(aims: Sequence[TopicState], texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the parts of each topic's question that neither the given texts nor earlier passages speak of."""
    return {
        aim.topic.heading: select_open_parts(
            list_parts(aim.topic.question) if aim.open_parts is None else aim.open_parts, texts
        )
        for aim in aims
    }


def _encode_topics(encode: Encoder, aims: Sequence[TopicState]) -> Vectors:
    """Return one unit vector per topic, shape (m, d): the mean of its question and hypothetical answer (HyDE)."""
    questions = encode([aim.topic.question for aim in aims])
    hypothetical = encode([aim.topic.hypothetical_answer or aim.topic.question for aim in aims])
    mean = questions + hypothetical
    unit: Vectors = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _compute_relevance(vectors: Vectors, topics: Vectors, baselines: NDArray[np.float32]) -> NDArray[np.float32]:
    mean = baselines[:, None]
    normalised: NDArray[np.float32] = np.minimum((vectors @ topics.T - mean) / (1.0 - mean), 1.0)
    return normalised


def _find_topic(headings: Sequence[str], path: Sequence[str], topic: str) -> int:
    """Return the index of the topic of a passage: the heading it has in its document, else the topic it was found for.

    A passage that was found for a dropped topic belongs to the first one.
    """
    indexes = {heading.casefold(): index for index, heading in reversed(list(enumerate(headings)))}
    matches = (indexes[name.casefold()] for name in (*reversed(path), topic) if name.casefold() in indexes)
    return next(matches, 0)


def _store_findings(store: Store, request: AnalysisRequest, findings: Sequence[Finding], vectors: Vectors) -> None:
    if not findings:
        return
    columns = {
        "key": [hash_parts(request.run, finding.passage.chunk) for finding in findings],
        "run": [request.run] * len(findings),
        "cycle": [request.cycle] * len(findings),
        "query": [finding.query for finding in findings],
        "chunk": [finding.passage.chunk for finding in findings],
        "source": [finding.passage.source for finding in findings],
        "vector": list(vectors),
    }
    store.upsert(FINDINGS, pa.table(columns, schema=FINDINGS_SCHEMA), "key")


def _count_rejections(
    candidates: Sequence[CandidatePassage], judged: Sequence[FindingAssessment]
) -> tuple[Rejection, ...]:
    counts = Counter((c.query, verdict.verdict) for c, verdict in zip(candidates, judged, strict=True))
    queries = dict.fromkeys(candidate.query for candidate in candidates)
    rejections = [
        Rejection(query=query, irrelevant=counts[query, "irrelevant"], known=counts[query, "known"])
        for query in queries
    ]
    return tuple(rejection for rejection in rejections if rejection.irrelevant or rejection.known)


def _find_latent_topics(
    passages: Sequence[PassageRef], vectors: Vectors, heading_relevance: NDArray[np.float32], min_relevance: float
) -> tuple[tuple[PassageRef, ...], ...]:
    """Return clusters of passages that are more relevant to the question than to any heading of the outline."""
    to_question = heading_relevance[:, 0]
    outside = np.flatnonzero((to_question >= min_relevance) & (heading_relevance[:, 1:].max(axis=1) < to_question))
    grouped = cluster_vectors(vectors[outside], MIN_TOPIC_SIMILARITY, MIN_TOPIC_PASSAGES, MAX_TOPICS)
    return tuple(tuple(passages[outside[i]] for i in group[:MAX_TOPIC_EXAMPLES]) for group in grouped)
