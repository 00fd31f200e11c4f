"""Score, classify, merge and forget memories."""

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.text.details import extract_numbers, extract_proper_nouns
from tenure.algorithms.text.entities import extract_named_entities, list_ngram_keys
from tenure.algorithms.text.excerpts import has_back_reference
from tenure.algorithms.text.near_duplicates import MIN_DUPLICATE_SIMILARITY, Fingerprint, estimate_similarity
from tenure.algorithms.text.phrases import extract_terms, normalize_term
from tenure.algorithms.text.polarity import count_negations, find_antonym_pair
from tenure.algorithms.text.urls import InvalidUrlError, extract_host
from tenure.contracts.base import SourceId
from tenure.contracts.choices import MemoryKind
from tenure.contracts.knowledge.memory import (
    EpisodeDetails,
    FactDetails,
    Memory,
    NewMemory,
    ProcedureDetails,
    StrategyRecord,
)
from tenure.contracts.knowledge.memory_policy import MemoryPolicy

PROMOTION_IMPORTANCE: Final = 0.6
"""Importance from which a short-term memory is kept permanently."""
LESSON_IMPORTANCE: Final = 0.6
"""Importance of procedures learned from episodes."""
PROMOTION_USE_COUNT: Final = 2
"""Number of uses from which a short-term memory is kept permanently."""
MIN_WEB_SOURCES: Final = 2
"""Minimum number of independent web pages that support a memory without a document of the user."""
MAX_SOURCES: Final = 200
MAX_ENTITIES: Final = 12
SUCCESS_SCORE: Final = 0.6
"""Score from which an episode is a success."""
MIN_EPISODES: Final = 3
"""Minimum number of episodes of one kind to learn a procedure."""
DISPUTED_FACTOR: Final = 0.5
"""Factor on the weight of a disputed memory."""

_EPISODE_DECAY_FACTOR: Final = 3
"""Factor by which the half-life of episodes is shorter."""
_HALF_PRACTICE_USES: Final = 3.0
"""Number of uses that gives half of the maximum practice bonus."""
_BASE_IMPORTANCE: Final[dict[MemoryKind, float]] = {
    "short_term": 0.3,
    "episodic": 0.4,
    "long_term": 0.5,
    "semantic": 0.5,
    "procedural": 0.6,
    "preference": 1.0,
}
"""Importance by kind, before other signals."""

# "Use the changelog first", "To find a date, …", "It helps to split the question".
_PROCEDURAL = re.compile(
    r"^(?:first|to \w+|when(?:ever)? \w+|if \w+|before \w+|always|never|use|try|search|ask|look|start|prefer|avoid|"
    r"check|read|combine|split)\b|\b(?:steps?:|instead of|works (?:best|better)|it helps to|make sure)\b",
    re.IGNORECASE,
)
# "The last run found nothing", "We tried three queries".
_EPISODIC = re.compile(
    r"\b(?:the|this|that|last|an earlier) (?:run|search|attempt|research)\b.*\b(?:found|failed|took|needed|brought|was|"
    r"ended|cost)\b|\b(?:we|I) (?:asked|tried|searched|found|failed|looked)\b",
    re.IGNORECASE,
)
# "Currently in progress", "What is next?", "draft".
_TEMPORARY = re.compile(
    r"\?\s*$|\b(?:right now|at the moment|for now|today|tonight|tomorrow|this (?:run|session|time|morning)|currently|"
    r"temporar\w+|to-?do|in progress|pending|draft)\b",
    re.IGNORECASE,
)
# "Ghent is a city", "Curie discovered radium".
_RELATION_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|founded|wrote|invented|discovered|contains?|includes?|consists?|causes?|"
    r"became|made|built|uses|belongs|lies|stands|developed|published|designed|owns|leads?|means)\b"
)
# "Important: …", "always", "prefers".
_EMPHASIS = re.compile(
    r"\b(?:remember|important|always|never|must|essential|crucial|prefers?|preferred)\b", re.IGNORECASE
)
_SECOND_LEVEL_LABELS = frozenset("ac co com edu go gob gouv gov ne net nom or org sch".split())
"""Labels below country domains under which sites are registered, as in co.uk."""
_COUNTRY_CODE_LENGTH: Final = 2  # "uk", "de".


def classify_memory(memory: NewMemory) -> MemoryKind:
    """Return the kind of a memory: the given one, else by its details, else by its text."""
    if memory.kind is not None:
        return memory.kind
    match memory.details:
        case EpisodeDetails():
            return "episodic"
        case ProcedureDetails():
            return "procedural"
        case FactDetails():
            return "semantic"
    return _classify_text(memory.text)


def _classify_text(text: str) -> MemoryKind:
    if _TEMPORARY.search(text):
        return "short_term"
    if _EPISODIC.search(text):
        return "episodic"
    if _PROCEDURAL.search(text):
        return "procedural"
    return classify_statement(text)


def classify_fact(text: str, fact: FactDetails | None) -> MemoryKind:
    """Return the kind of a statement that a run has found, with the fact that was extracted from it.

    A statement on the present moment is short-term, even if it is a fact.
    """
    if _TEMPORARY.search(text):
        return "short_term"
    return "semantic" if fact else classify_statement(text)


def classify_statement(text: str) -> MemoryKind:
    """Return the kind of a statement: `semantic` if it relates two entities, else `long_term`."""
    return "semantic" if len(extract_entity_keys(text)) >= 2 and _RELATION_VERB.search(text) else "long_term"


def compute_importance(memory: NewMemory, kind: MemoryKind, support: int) -> float:
    """Return the importance of a memory: the given one, else by kind, outcome, support, figures and emphasis."""
    if memory.importance is not None:
        return memory.importance
    text = memory.text
    importance = _BASE_IMPORTANCE[kind] + 0.2 * abs(memory.valence) + 0.1 * min(max(support - 1, 0), 2)
    importance += 0.1 if extract_numbers(text, include_words=False) or extract_proper_nouns(text) else 0.0
    importance += 0.3 if _EMPHASIS.search(text) else 0.0
    return round(min(max(importance - (0.2 if has_back_reference(text) else 0.0), 0.0), 1.0), 4)


def promote_kind(kind: MemoryKind, text: str, importance: float, uses: int = 0) -> MemoryKind:
    """Return the kind to store: a short-term memory becomes permanent if it is important or was used often enough."""
    if kind != "short_term" or (importance < PROMOTION_IMPORTANCE and uses < PROMOTION_USE_COUNT):
        return kind
    return "long_term" if (lasting := _classify_text(text)) == "short_term" else lasting


def extract_entity_keys(
    text: str, details: EpisodeDetails | ProcedureDetails | FactDetails | None = None
) -> tuple[str, ...]:
    """Return the entity keys of a text, those of a fact first; the knowledge graph uses the same keys."""
    ends = (details.subject, details.object) if isinstance(details, FactDetails) else ()
    names = extract_named_entities(text)
    terms = map(normalize_term, extract_terms(text))
    keys = (*map(normalize_term, ends), *names.full_names, *terms, *names.partial_names)
    return tuple(dict.fromkeys(key for key in keys if key))[:MAX_ENTITIES]


def compute_freshness(
    kinds: Sequence[MemoryKind], ages: NDArray[np.float64], policy: MemoryPolicy
) -> NDArray[np.float64]:
    """Return the freshness of n memories, 0.5^(age / half-life), shape (n,); a preference stays fresh.

    The age is the time in seconds since a memory was created or last used.
    """
    day = timedelta(days=1).total_seconds()
    factors = {"episodic": 1 / _EPISODE_DECAY_FACTOR, "preference": np.inf}
    lives = np.asarray([policy.half_life_days * factors.get(kind, 1.0) for kind in kinds])
    fresh: NDArray[np.float64] = 0.5 ** (np.maximum(ages, 0.0) / (lives * day)) if len(kinds) else np.zeros(0)
    return fresh


def score_memory(
    relevance: float, freshness: float, importance: float, confidence: float, uses: int, *, disputed: bool
) -> float:
    """Return the score of a memory.

    It is relevance · (0.5 + 0.5·freshness) · (0.5 + 0.5·importance)·(0.5 + 0.5·confidence) · (0.8 +
    0.2·uses/(uses + 3)), half of it for a disputed memory, so that no single factor outweighs relevance.
    """
    weight = (0.5 + 0.5 * importance) * (0.5 + 0.5 * confidence) * (DISPUTED_FACTOR if disputed else 1.0)
    return relevance * (0.5 + 0.5 * freshness) * weight * (0.8 + 0.2 * uses / (uses + _HALF_PRACTICE_USES))


def is_duplicate(a: str, b: str, likeness: float, min_likeness: float) -> bool:
    """Return whether two memories state the same: similar, equal numbers, names and negations, and no antonyms."""
    return (
        likeness >= min_likeness
        and extract_numbers(a) == extract_numbers(b)
        and set(map(str.lower, extract_proper_nouns(a))) == set(map(str.lower, extract_proper_nouns(b)))
        and count_negations(a) % 2 == count_negations(b) % 2
        and find_antonym_pair(a, b) is None
    )


class SourceEvidence(NamedTuple):
    """Source with the fields that show whether it is independent of others."""

    id: SourceId
    uri: str
    fingerprint: Fingerprint


class SourceSupport(NamedTuple):
    """Number of sources that support a memory."""

    independent: int
    own: int
    """Documents of the user among them."""

    @property
    def is_sufficient(self) -> bool:
        """Whether a document of the user or enough independent web pages support the memory."""
        return self.own > 0 or self.independent >= MIN_WEB_SOURCES


def merge_corpora(origins: Iterable[Sequence[str] | None]) -> tuple[str, ...] | None:
    """Return all corpora that memories of the same content come from; None if those of one are unknown."""
    listed = list(origins)
    if any(corpora is None for corpora in listed):
        return None
    return tuple(sorted({corpus for corpora in listed for corpus in corpora or ()}))


def merge_memories(memories: Sequence[Memory], support: SourceSupport) -> Memory:
    """Merge memories that state the same into the most important of them."""
    first = max(
        memories,
        key=lambda memory: (
            not memory.unconfirmed,
            memory.origin.support,
            memory.use_count,
            -memory.created_at.timestamp(),
            memory.id,
        ),
    )
    sources = dict.fromkeys(source for memory in memories for source in memory.origin.sources)
    independent = support.independent > max(memory.origin.support for memory in memories)
    lasting = [memory.kind for memory in memories if memory.kind != "short_term"]
    return first.model_copy(
        update={
            "kind": first.kind if first.kind != "short_term" or not lasting else lasting[0],
            "created_at": min(memory.created_at for memory in memories),
            "origin": first.origin.model_copy(
                update={
                    "sources": tuple(sources)[:MAX_SOURCES],
                    "support": support.independent,
                    "corpora": merge_corpora(memory.origin.corpora for memory in memories),
                }
            ),
            "confidence": combine_confidences([memory.confidence for memory in memories], independent=independent),
            "importance": max(memory.importance for memory in memories),
            "use_count": sum(memory.use_count for memory in memories),
            "last_used_at": max((memory.last_used_at for memory in memories if memory.last_used_at), default=None),
            "unconfirmed": all(memory.unconfirmed for memory in memories) and not support.is_sufficient,
            "merged_count": sum(memory.merged_count for memory in memories),
            "details": merge_details(first, memories),
        }
    )


def merge_details(first: Memory, memories: Sequence[Memory]) -> EpisodeDetails | ProcedureDetails | FactDetails | None:
    """Return the details of the first memory; for a procedure with the successes and failures of all."""
    if not isinstance(first.details, ProcedureDetails):
        return first.details
    tried = [memory.details for memory in memories if isinstance(memory.details, ProcedureDetails)]
    totals = {name: sum(getattr(memory, name) for memory in tried) for name in ("successes", "failures")}
    return first.details.model_copy(update=totals)


def is_faded(kind: MemoryKind, age: float, strength: float, *, unconfirmed: bool, policy: MemoryPolicy) -> bool:
    """Return whether the policy removes a memory; a preference is removed by its owner only.

    The age is in seconds since it was created or last used, the strength is importance · freshness, and an unconfirmed
    memory waits for a second source.
    """
    if kind == "preference":
        return False
    if kind == "short_term" and not unconfirmed:
        return age > timedelta(hours=policy.short_term_hours).total_seconds()
    return strength < policy.forget_below or (
        unconfirmed and age > timedelta(days=policy.confirmation_days).total_seconds()
    )


def combine_confidences(confidences: Sequence[float], *, independent: bool) -> float:
    """Return the confidence of a merged memory: 1 − Π(1 − c_i) for independent sources, else the maximum."""
    if not independent:
        return max(confidences)
    return round(min(1.0 - float(np.prod([1.0 - confidence for confidence in confidences])), 0.99), 4)


def count_independent_sources(sources: Iterable[SourceEvidence]) -> SourceSupport:
    """Count sources of different sites that are not copies of each other."""
    independent: list[SourceEvidence] = []
    sites: list[str] = []
    for source in sorted(sources):
        site = extract_site(source.uri)
        is_copy = any(
            estimate_similarity(source.fingerprint, other.fingerprint) >= MIN_DUPLICATE_SIMILARITY
            for other in independent
        )
        if not is_copy and not (site and site in sites):
            independent.append(source)
            sites.append(site)
    return SourceSupport(len(independent), sites.count(""))


def extract_site(uri: str) -> str:
    """Return the site of a URL, empty for a document of the user."""
    if "://" not in uri:
        return ""
    try:
        labels = extract_host(uri).split(".")
    except InvalidUrlError:
        return uri.partition("://")[0]
    if ":" in labels[0] or labels[-1].isdigit():
        return ".".join(labels)
    below = len(labels[-1]) == _COUNTRY_CODE_LENGTH and labels[-2:-1] and labels[-2] in _SECOND_LEVEL_LABELS
    return ".".join(labels[-3 if below else -2 :])


def build_lesson(record: StrategyRecord, successes: int) -> ProcedureDetails:
    """Return the procedure that the episodes with a strategy for a query type teach."""
    mean = record.score / record.episodes
    verdict = (
        "worked well" if mean >= SUCCESS_SCORE else "worked in part" if mean >= SUCCESS_SCORE / 2 else "worked badly"
    )
    searches = round(record.searches / record.episodes)
    return ProcedureDetails(
        situation=f"A {record.query_type} question",
        advice=f"{record.strategy} search {verdict}, with about {searches} searches a run",
        query_type=record.query_type,
        strategy=record.strategy,
        successes=successes,
        failures=record.episodes - successes,
    )


def format_procedure(procedure: ProcedureDetails) -> str:
    """Return a procedure as one sentence, which is embedded for retrieval."""
    return f"{procedure.situation.rstrip('.: ')}: {procedure.advice.rstrip('. ')}."


def compute_confidence(procedure: ProcedureDetails) -> float:
    """Return the confidence of a procedure by Laplace's rule, (successes + 1) / (successes + failures + 2)."""
    return round((procedure.successes + 1) / (procedure.successes + procedure.failures + 2), 4)


def extract_query_keys(query: str) -> tuple[str, ...]:
    """Return the entity keys of a query, independent of its spelling."""
    return tuple(dict.fromkeys((*list_ngram_keys(query), *filter(None, map(normalize_term, extract_terms(query))))))
