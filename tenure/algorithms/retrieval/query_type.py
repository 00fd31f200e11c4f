"""The type of a question: patterns decide where they are sure, a model where they are not.

Types, patterns and the rule of confidence follow document 003, "Query Type Classifier": each pattern that
occurs is a hit for its type, the type with most hits is the question's, and fewer than two hits settle
nothing. The patterns are the document's, with the inflections that people use.
"""

import re
from typing import Final, NamedTuple

from tenure.contracts.run.run import QueryType

CONCLUSIVE: Final = 2
"""Hits from which the patterns settle the type."""

LOOKED_AT: Final = 2_000
"""Characters of a question that patterns look at: what it asks stands there."""

_PATTERNS: Final[dict[QueryType, tuple[str, ...]]] = {
    "factual": (r"\bwhat(?:'s| is| are| was| were)\b", r"\bwho\b", r"\bwhen\b", r"\bwhere\b", r"\bdefin(?:e|ition)\b"),
    "analytical": (
        *(r"\bwhy\b", r"\bhow (?:do|does|did|is|are)\b", r"\bexplain", r"\banaly[sz](?:e|is)\b"),
        r"\bwhat causes\b",
    ),
    "comparative": (
        *(r"\bcompar", r"\bdifferences? between\b|\bdiffer\b", r"\bversus\b", r"\bvs\b"),
        r"\b(?:better|worse|more|less|\w+er) than\b",
    ),
    "procedural": (
        *(r"\bhow (?:to|(?:do|can|should) (?:i|you|we|one))\b", r"\bsteps?\b", r"\bprocedures?\b"),
        r"\binstructions?\b",
    ),
    "evaluative": (r"\bshould\b", r"\bworth\b", r"\bevaluat", r"\bassess", r"\bpros and cons\b|\btrade-?offs?\b"),
    "hypothetical": (
        r"\bwhat if\b",
        r"\bsuppos(?:e|ing)\b",
        r"\bimagine\b",
        r"\bhappens?\b.{0,80}\b(?:if|when|without)\b",
    ),
    "causal": (
        *(r"\bbecause\b", r"\bdue to\b", r"\bcauses?\b", r"\bresult(?:s|ed)? in\b"),
        r"\bl(?:ead|eads|ed) to\b|\breasons?\b",
    ),
    "temporal": (
        *(r"\btimelines?\b", r"\bhistory of\b", r"\bevol(?:ution|ved?)\b", r"\bbefore and after\b|\bover time\b"),
        r"\bchronolog",
    ),
}


class Classified(NamedTuple):
    """What patterns say of a question."""

    primary: QueryType
    """The type with most hits; `factual` where nothing hits."""
    hits: int
    """Patterns of that type found."""
    secondary: tuple[QueryType, ...]
    """Other types with a hit, in the document's order."""

    @property
    def confidence(self) -> float:
        """How sure the patterns are: hits of the primary type by the number of types."""
        return min(self.hits / len(_PATTERNS), 1.0)

    @property
    def conclusive(self) -> bool:
        """Whether the patterns settle the type."""
        return self.hits >= CONCLUSIVE


def classify(question: str) -> Classified:
    """Return the question's type by pattern hits; ties go to the type named later in the document's list."""
    text = question[:LOOKED_AT]
    counts = {kind: sum(bool(re.search(p, text, re.IGNORECASE)) for p in ps) for kind, ps in _PATTERNS.items()}
    primary = max(reversed(_PATTERNS), key=lambda kind: counts[kind])
    hits = counts[primary]
    if not hits:
        return Classified("factual", 0, ())
    return Classified(primary, hits, tuple(kind for kind, n in counts.items() if n and kind != primary))


def settled(question: str, judged: QueryType) -> QueryType:
    """Return the question's type: what the patterns say where they are sure, else what was judged by reading it."""
    found = classify(question)
    return found.primary if found.conclusive else judged
