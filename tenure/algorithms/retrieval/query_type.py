"""Classify questions by type (factual, analytical, comparative, …) with patterns.

Each matching pattern is a hit for its type, and the type with most hits wins. Fewer than two hits are not conclusive; a
model decides then.
"""

import re
from typing import Final, NamedTuple

from tenure.contracts.run.run import QueryType

MIN_CONCLUSIVE_HITS: Final = 2  # "What is the cause of rust?" has one hit of two types.

MAX_QUESTION_CHARACTERS: Final = 2_000
"""Characters of a question that patterns read; text pasted after the question is ignored."""

_PATTERNS: Final[dict[QueryType, tuple[str, ...]]] = {
    "factual": (r"\bwhat(?:'s| is| are| was| were)\b", r"\bwho\b", r"\bwhen\b", r"\bwhere\b", r"\bdefin(?:e|ition)\b"),
    "analytical": (
        *(r"\bwhy\b", r"\bhow (?:do|does|did|is|are)\b", r"\bexplain", r"\banaly[sz](?:e|is)\b"),
        r"\bwhat causes\b",
    ),
    "comparative": (
        *(r"\bcompar", r"\bdifferences? between\b|\bdiffer\b", r"\bversus\b", r"\bvs\b"),
        r"\b(?:better|worse|more|less|\w+er) than\b|\bhow much (?:more|less|\w+er)\b.{1,80}\bthan\b",
    ),
    "procedural": (
        *(r"\bhow (?:to|can|(?:do|should|could) (?:i|you|we|one))\b", r"\bsteps?\b", r"\bprocedures?\b"),
        r"\binstructions?\b",
    ),
    "evaluative": (
        *(r"\bshould\b", r"\bworth\b", r"\bevaluat", r"\bassess", r"\bpros and cons\b|\btrade-?offs?\b"),
        r"^\W*(?:is|are|was|were)\b.{1,120}\b(?:effective|good|bad|better|best|right|wrong|suitable|a success)\b",
    ),
    "hypothetical": (
        r"\bwhat if\b",
        r"\bsuppos(?:e|ing)\b",
        r"\bimagine\b",
        r"\bhappens?\b.{0,80}\b(?:if|when|without)\b|\bif\b[^?.]{1,120},\s*(?:what|how|who|where|will|would|can)\b",
    ),
    "causal": (
        *(r"\bbecause\b", r"\bdue to\b", r"\bcauses?\b", r"\bresult(?:s|ed)? in\b"),
        r"\bl(?:ead|eads|ed) to\b|\breasons?\b",
    ),
    "temporal": (
        *(r"\btimelines?\b", r"\bhistory of\b", r"\bevol(?:ution|ved?)\b", r"\bbefore and after\b|\bover time\b"),
        r"\bchronolog",
        r"\bchanged?\b.{0,80}\b(?:since|over the)\b|\b(?:between|from) \d{4} (?:and|to) \d{4}\b",
    ),
}


class QueryClassification(NamedTuple):
    """Classification of a question by patterns."""

    primary: QueryType
    """Type with most hits; `factual` without any hit."""
    hits: int
    """Number of matching patterns of that type."""

    @property
    def is_conclusive(self) -> bool:
        """Whether the hits determine the type."""
        return self.hits >= MIN_CONCLUSIVE_HITS


def classify_query(question: str) -> QueryClassification:
    """Classify a question by pattern hits; of equal types the later, more specific one wins."""
    text = question[:MAX_QUESTION_CHARACTERS]
    counts = {kind: sum(bool(re.search(p, text, re.IGNORECASE)) for p in ps) for kind, ps in _PATTERNS.items()}
    primary = max(reversed(_PATTERNS), key=lambda kind: counts[kind])
    hits = counts[primary]
    return QueryClassification(primary if hits else "factual", hits)


def choose_query_type(question: str, model_type: QueryType) -> QueryType:
    """Return the type by patterns if it is conclusive, otherwise the type chosen by a model."""
    classification = classify_query(question)
    return classification.primary if classification.is_conclusive else model_type
