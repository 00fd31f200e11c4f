"""Known facts: what a run leaves of what it has found supported, and what of that comes to mind in a later one.

A fact comes from documents that were cited for it and stands on its own words. Remembered, it is no evidence: it leads
to passages and to searches, and a report has to find and cite it anew.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tenure.algorithms.memory.scoring import statement_kind
from tenure.algorithms.text.excerpts import points_back, presentable, standing
from tenure.algorithms.text.sentences import fingerprint, sentences
from tenure.contracts.base import SourceId
from tenure.contracts.knowledge.memory import Impression, MemoryKind, Origin, Recollected
from tenure.contracts.research.learning import KnownFact
from tenure.contracts.result.result import Result, ResultClaim, SourceEntry

KINDS: Final[tuple[MemoryKind, ...]] = ("semantic", "long_term")
"""Kinds of memories that are facts."""
MOST_LEFT: Final = 24
"""Facts that a run leaves."""
MOST_RECALLED: Final = 20
"""Facts that a run is reminded of, among them those that several runs have left."""
MOST_KNOWN: Final = 10
"""Facts that a run begins with."""
QUOTED: Final = 0.9
"""How sure a claim is that nobody had to check, since it is the words of its source."""

_MARKS = re.compile(r"[`*]{2,}|`|\s?\[\d+(?:, ?\d+)*\]")
"""Markdown of code and emphasis, and marks of citations."""
_POINTING = re.compile(
    r"\b(?:this|these|those(?! (?:who|that|which|of|with)\b)|such an?|do(?:es)? so|that one|"
    r"(?:at|by|for|from|in|of|on|over|to|under|with) that)\b|"
    r"^(?:after|although|as|at|because|before|by|during|for|from|if|in|on|once|since|though|under|until|when|while|with)"
    r"\b.*?, (?:\w+ly |also |then )?(?:he|it|she|they)\b",
    re.IGNORECASE,
)
"""Words that mean something said before, wherever they stand, and who or what it was after an opening."""


def left(result: Result) -> tuple[Impression, ...]:
    """Return what a run leaves of abstract and sections: the surest claims, and of each part what it says first."""
    sources = {source.n: source for source in result.sources}
    found: dict[str, tuple[float, int, Impression]] = {}
    for claims in (result.abstract_claims, *(section.claims for section in result.sections)):
        for place, fact in enumerate(_facts(result, claims, sources)):
            found.setdefault(fingerprint(fact.text), (-fact.confidence, place, fact))
    ranked = sorted(found.values(), key=lambda one: one[:2])
    return tuple(fact for *_, fact in ranked)[:MOST_LEFT]


def _facts(result: Result, claims: Iterable[ResultClaim], sources: dict[int, SourceEntry]) -> Iterator[Impression]:
    """Yield the claims that documents support and that can be understood without the others."""
    for claim in claims:
        cited = [source for one in claim.citations if not (source := sources[one.source]).derived]
        plain = _MARKS.sub("", claim.text).strip()
        text = standing(plain, cited[0].title) if cited and _stands(plain) else ""
        if claim.status == "supported" and text and not _POINTING.search(text):
            yield Impression(
                text=text,
                kind=statement_kind(text),
                origin=Origin(run=result.id, sources=tuple(dict.fromkeys(SourceId(one.id) for one in cited))),
                confidence=QUOTED if claim.confidence is None else claim.confidence,
            )


def _stands(text: str) -> bool:
    """Tell whether a text is whole sentences, of which the first one needs nothing before it."""
    found = sentences(text)
    return bool(found) and all(map(presentable, found)) and not points_back(found[0].text)


def come_to_mind(recollected: Iterable[Recollected]) -> tuple[KnownFact, ...]:
    """Return the facts among memories that nothing better supported denies, each once, in their order."""
    found: dict[str, KnownFact] = {}
    for one in recollected:
        memory = one.memory
        if memory.kind in KINDS and not memory.disputed:
            fact = KnownFact(
                text=memory.text,
                run=memory.origin.run,
                relevance=round(one.relevance, 4),
                support=memory.origin.support,
            )
            found.setdefault(fingerprint(memory.text), fact)
    return tuple(found.values())[:MOST_KNOWN]
