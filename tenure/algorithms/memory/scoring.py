"""What memory computes: which kind something is, how much it matters, what time and use make of it.

Also which memories say the same, which of two that disagree is believed, which sources speak independently of each
other, and what episodes teach (document 003, memory systems).
"""

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.claims.claim_pairs import disagreeing
from tenure.algorithms.text.details import figures, names
from tenure.algorithms.text.entities import names as named
from tenure.algorithms.text.entities import spans
from tenure.algorithms.text.excerpts import points_back
from tenure.algorithms.text.near_duplicates import SAME, Fingerprint, similarity
from tenure.algorithms.text.phrases import term_key, terms
from tenure.algorithms.text.polarity import denials, opposed
from tenure.algorithms.text.urls import InvalidAddress, host
from tenure.contracts.base import SourceId
from tenure.contracts.knowledge.memory import (
    Episode,
    Fact,
    Impression,
    Memory,
    MemoryKind,
    MemoryPolicy,
    Procedure,
    StrategyRecord,
)

PROMOTED: Final = 0.6
"""Importance from which what was said for a while is kept for good."""
LEARNT: Final = 0.6
"""Importance of what episodes teach."""
USED: Final = 2
"""Uses from which it is."""
SUPPORT: Final = 2
"""Independent pages of the web that have to say something before it is remembered."""
SOURCES: Final = 200
"""Sources that a memory names."""
ENTITIES: Final = 12
"""Entities that a memory is found by."""
WENT_WELL: Final = 0.6
"""Score from which a run went well."""
LEAST_EPISODES: Final = 3
"""Runs of one kind from which something is learnt."""
DISPUTED: Final = 0.5
"""What being disputed leaves of a memory's weight."""

_FADES_FASTER: Final = 3
"""How much faster an episode fades than what was learnt from it."""
_PRACTISED: Final = 3.0
"""Uses that make half of what use can make."""
_MATTERS: Final[dict[MemoryKind, float]] = {
    "short_term": 0.3,
    "episodic": 0.4,
    "long_term": 0.5,
    "semantic": 0.5,
    "procedural": 0.6,
}
"""Importance of a memory of which nothing else is known."""

_PROCEDURAL = re.compile(
    r"^(?:first|to \w+|when(?:ever)? \w+|if \w+|before \w+|always|never|use|try|search|ask|look|start|prefer|avoid|"
    r"check|read|combine|split)\b|\b(?:steps?:|instead of|works (?:best|better)|it helps to|make sure)\b",
    re.IGNORECASE,
)
_EPISODIC = re.compile(
    r"\b(?:the|this|that|last|an earlier) (?:run|search|attempt|research)\b.*\b(?:found|failed|took|needed|brought|was|"
    r"ended|cost)\b|\b(?:we|I) (?:asked|tried|searched|found|failed|looked)\b",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\?\s*$|\b(?:right now|at the moment|for now|today|tonight|tomorrow|this (?:run|session|time|morning)|currently|"
    r"temporar\w+|to-?do|in progress|pending|draft)\b",
    re.IGNORECASE,
)
_RELATING = re.compile(
    r"\b(?:is|are|was|were|has|have|had|founded|wrote|invented|discovered|contains?|includes?|consists?|causes?|"
    r"became|made|built|uses|belongs|lies|stands|developed|published|designed|owns|leads?|means)\b"
)
_INSISTING = re.compile(
    r"\b(?:remember|important|always|never|must|essential|crucial|prefers?|preferred)\b", re.IGNORECASE
)
_PUBLIC = frozenset("ac co com edu go gob gouv gov ne net nom or org sch".split())
"""Labels under which a country lets people have names: a site there has one label more."""
_COUNTRY: Final = 2
"""Letters of a country's ending."""


def kind_of(impression: Impression) -> MemoryKind:
    """Return what kind of memory something is: as it says itself, else by its details, else by its words."""
    if impression.kind is not None:
        return impression.kind
    match impression.details:
        case Episode():
            return "episodic"
        case Procedure():
            return "procedural"
        case Fact():
            return "semantic"
    return _by_words(impression.text)


def _by_words(text: str) -> MemoryKind:
    if _PASSING.search(text):
        return "short_term"
    if _EPISODIC.search(text):
        return "episodic"
    if _PROCEDURAL.search(text):
        return "procedural"
    return statement_kind(text)


def statement_kind(text: str) -> MemoryKind:
    """Return what kind of memory a statement is that holds: semantic where it says what entities have to do."""
    return "semantic" if len(entities(text)) >= 2 and _RELATING.search(text) else "long_term"


def importance(impression: Impression, kind: MemoryKind, support: int) -> float:
    """Return how much something matters: as it says itself, else by kind, outcome, support and exactness."""
    if impression.importance is not None:
        return impression.importance
    text = impression.text
    matters = _MATTERS[kind] + 0.2 * abs(impression.valence) + 0.1 * min(max(support - 1, 0), 2)
    matters += 0.1 if figures(text, written=False) or names(text) else 0.0
    matters += 0.3 if _INSISTING.search(text) else 0.0
    return round(min(max(matters - (0.2 if points_back(text) else 0.0), 0.0), 1.0), 4)


def kept_as(kind: MemoryKind, text: str, matters: float, uses: int = 0) -> MemoryKind:
    """Return the kind in which something is kept: what was for a while is for good once it matters or proved useful."""
    if kind != "short_term" or (matters < PROMOTED and uses < USED):
        return kind
    return "long_term" if (lasting := _by_words(text)) == "short_term" else lasting


def entities(text: str, details: Episode | Procedure | Fact | None = None) -> tuple[str, ...]:
    """Return the keys of what a text names, those of a fact first; a graph knows entities by the same keys."""
    said = (details.subject, details.object) if isinstance(details, Fact) else ()
    found = named(text)
    keys = (*map(term_key, said), *found.whole, *map(term_key, terms(text)), *found.parts)
    return tuple(dict.fromkeys(key for key in keys if key))[:ENTITIES]


def freshness(kinds: Sequence[MemoryKind], ages: NDArray[np.float64], policy: MemoryPolicy) -> NDArray[np.float64]:
    """Return what time has left of memories, from 0 to 1.

    Args:
        kinds: of n memories.
        ages: seconds since each was made or used the last time, shape (n,).
        policy: how fast memories fade.
    """
    day = timedelta(days=1).total_seconds()
    lives = np.asarray([policy.half_life_days / (_FADES_FASTER if kind == "episodic" else 1) for kind in kinds])
    fresh: NDArray[np.float64] = 0.5 ** (np.maximum(ages, 0.0) / (lives * day)) if len(kinds) else np.zeros(0)
    return fresh


class Score(NamedTuple):
    """By what memories are ranked."""

    relevance: float
    freshness: float
    weight: float
    practice: float

    @property
    def total(self) -> float:
        """The product."""
        return self.relevance * self.freshness * self.weight * self.practice


def score(relevance: float, fresh: float, matters: float, confidence: float, uses: int, *, disputed: bool) -> Score:
    """Return the score of a memory: relevance rules, and what else speaks for it shifts it within bounds.

    Time alone takes no more than half of it, little importance half, doubt half, and lack of use a fifth.
    """
    weight = (0.5 + 0.5 * matters) * (0.5 + 0.5 * confidence) * (DISPUTED if disputed else 1.0)
    return Score(relevance, 0.5 + 0.5 * fresh, weight, 0.8 + 0.2 * uses / (uses + _PRACTISED))


def says_the_same(a: str, b: str, likeness: float, least: float) -> bool:
    """Tell whether two memories say the same: alike enough, with the same numbers and names, neither denying it."""
    return (
        likeness >= least
        and figures(a) == figures(b)
        and _names(a) == _names(b)
        and denials(a) % 2 == denials(b) % 2
        and opposed(a, b) is None
    )


def _names(text: str) -> set[str]:
    return {name.lower() for name in names(text)}


def contradict(a: str, b: str, likeness: float) -> bool:
    """Tell whether two memories plainly cannot both be so."""
    return disagreeing(a, b, likeness) is not None


class Standing(NamedTuple):
    """What speaks for a memory against another one that says otherwise, the weightiest first."""

    support: int
    """Independent sources that say it."""
    made: int
    """Since when it is remembered: of two with equal support, the newer one is believed."""
    id: str
    """Decides where nothing else does."""


class Witness(NamedTuple):
    """A source, as far as it says whether it speaks independently of others."""

    id: SourceId
    uri: str
    fingerprint: Fingerprint


class Support(NamedTuple):
    """What stands behind a memory."""

    independent: int
    """Sources that say it independently of each other."""
    own: int
    """Those among them that are documents of one's own."""

    @property
    def enough(self) -> bool:
        """Whether it may be remembered: a document of one's own says it, or two pages of the web."""
        return self.own > 0 or self.independent >= SUPPORT


def joined(memories: Sequence[Memory], support: Support) -> Memory:
    """Return what memories that say the same become: the weightiest of them, with what all of them bring."""
    first = max(
        memories, key=lambda one: (not one.awaiting, one.origin.support, one.uses, -one.made.timestamp(), one.id)
    )
    sources = dict.fromkeys(source for one in memories for source in one.origin.sources)
    independent = support.independent > max(one.origin.support for one in memories)
    lasting = [one.kind for one in memories if one.kind != "short_term"]
    return first.model_copy(
        update={
            "kind": first.kind if first.kind != "short_term" or not lasting else lasting[0],
            "made": min(one.made for one in memories),
            "origin": first.origin.model_copy(
                update={"sources": tuple(sources)[:SOURCES], "support": support.independent}
            ),
            "confidence": together([one.confidence for one in memories], independent=independent),
            "importance": max(one.importance for one in memories),
            "uses": sum(one.uses for one in memories),
            "last_used": max((one.last_used for one in memories if one.last_used), default=None),
            "awaiting": all(one.awaiting for one in memories) and not support.enough,
            "merged": sum(one.merged for one in memories),
            "details": _details(first, memories),
        }
    )


def _details(first: Memory, memories: Sequence[Memory]) -> Episode | Procedure | Fact | None:
    """Return the details of the first memory, of a procedure with the successes and failures of all."""
    if not isinstance(first.details, Procedure):
        return first.details
    tried = [one.details for one in memories if isinstance(one.details, Procedure)]
    totals = {name: sum(getattr(one, name) for one in tried) for name in ("successes", "failures")}
    return first.details.model_copy(update=totals)


def strength(matters: NDArray[np.float64], fresh: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how strong memories still are: how much they matter, as far as time has left it."""
    strong: NDArray[np.float64] = matters * fresh
    return strong


def faded(kind: MemoryKind, age: float, strong: float, *, awaiting: bool, policy: MemoryPolicy) -> bool:
    """Tell whether a memory goes by the policy.

    Args:
        kind: of the memory.
        age: seconds since it was made or used the last time.
        strong: its strength.
        awaiting: whether it waits for a second source.
        policy: what stays.
    """
    if kind == "short_term" and not awaiting:
        return age > timedelta(hours=policy.short_term_hours).total_seconds()
    return strong < policy.forget_below or (awaiting and age > timedelta(days=policy.waiting_days).total_seconds())


def together(confidences: Sequence[float], *, independent: bool) -> float:
    """Return how sure a memory is that was made of several; only independent sources make it surer."""
    if not independent:
        return max(confidences)
    return round(min(1.0 - float(np.prod([1.0 - one for one in confidences])), 0.99), 4)


def support(witnesses: Iterable[Witness]) -> Support:
    """Count sources that are of different sites and no copies of each other."""
    kept: list[Witness] = []
    for one in sorted(witnesses):
        copies = any(similarity(one.fingerprint, other.fingerprint) >= SAME for other in kept)
        siblings = any(site(one.uri) == site(other.uri) for other in kept if site(one.uri))
        if not copies and not siblings:
            kept.append(one)
    return Support(len(kept), sum(not site(one.uri) for one in kept))


def site(uri: str) -> str:
    """Return the site that an address belongs to, empty for a document of one's own."""
    if "://" not in uri:
        return ""
    try:
        labels = host(uri).split(".")
    except InvalidAddress:
        return uri.partition("://")[0]
    if ":" in labels[0] or labels[-1].isdigit():
        return ".".join(labels)
    below = len(labels[-1]) == _COUNTRY and labels[-2:-1] and labels[-2] in _PUBLIC
    return ".".join(labels[-3 if below else -2 :])


def lesson(record: StrategyRecord, well: int) -> Procedure:
    """Return what the episodes of one kind teach.

    Args:
        record: how a way of searching did with a kind of question.
        well: how many of its runs went well.
    """
    mean = record.score / record.episodes
    verdict = "worked well" if mean >= WENT_WELL else "worked in part" if mean >= WENT_WELL / 2 else "worked badly"
    searches = round(record.searches / record.episodes)
    return Procedure(
        situation=f"A {record.query_type} question",
        advice=f"{record.strategy} search {verdict}, with about {searches} searches a run",
        query_type=record.query_type,
        strategy=record.strategy,
        successes=well,
        failures=record.episodes - well,
    )


def sentence_of(procedure: Procedure) -> str:
    """Return a procedure as one sentence, by which it is found."""
    return f"{procedure.situation.rstrip('.: ')}: {procedure.advice.rstrip('. ')}."


def confirmed(procedure: Procedure) -> float:
    """Return how sure a procedure is: the share of its successes, drawn to a half while there are few."""
    return round((procedure.successes + 1) / (procedure.successes + procedure.failures + 2), 4)


def asked_for(query: str) -> tuple[str, ...]:
    """Return the keys of what a query may name, however it is written."""
    return tuple(dict.fromkeys((*spans(query), *filter(None, map(term_key, terms(query))))))
