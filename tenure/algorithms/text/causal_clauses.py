"""Split causal sentences ("X, so Y"; "Y, because X") into premise and conclusion.

Each clause must be a sentence of its own and must have the same meaning without the other clause. Sentences are left
whole if a clause refers to the other one, depends on a condition or may be in the scope of a negation.
"""

import re
from typing import Final, NamedTuple

from tenure.algorithms.text.excerpts import has_back_reference, is_complete_sentence
from tenure.algorithms.text.sentences import Sentence

MAX_SENTENCE_CHARACTERS: Final = 1_000
"""Maximum characters of a sentence that is split; two clauses of 30 words have fewer."""
MAX_CLAUSE_WORDS: Final = 30
"""Maximum words of a clause; a longer clause makes more than one statement."""

_SINCE = re.compile(
    r",\s+(?:(?:mainly|simply|precisely)\s+)?(?:because(?!\s+of\b)|since(?!\s+(?:then|version|release)\b))\s+"
)
_BECAUSE = re.compile(r"\s+because\s+(?!of\b)")
_SO = re.compile(
    r"[,;]\s+(?:and\s+)?(?:so(?:\s+that)?(?!\s+(?:that|much|many|long|few|little|far|on|forth|called|as|is|are|was|"
    r"were|does|do|did|has|have|had|can|could|will|would|too)\b)|therefore|thus|hence|consequently|which\s+(?:means\s+that|is\s+why)),?\s+"
)
_NEGATION = re.compile(r"\b(?:no|not|never|none|nothing|nobody|neither|nor|cannot|\w+n[’']t|only|just|hardly)\b", re.I)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|where|wherever|once|until|while|whether|although|though|suppose|imagine|assum\w+|"
    r"example|instance|e\.g|i\.e)\b|[:;]|[.!?]\s|\s[-–—]+\s",
    re.I,
)
"""Conditions and subordinations on which the rest of the sentence may depend."""
_POSSIBLE = re.compile(
    r"\b(?:may|might|could|would|should|must|ought|remember|note|ha(?:s|ve)\s+to|need(?:s|ed)?\s+to)\b", re.I
)
"""Modal verbs, which make a premise, and with it the conclusion, a possibility or a duty."""
_OPINION = re.compile(
    r"\b(?:argu\w+|believ\w+|claim\w*|think\w*|thought|say|says|said|suggest\w*|object\w*|propos\w+|reject\w*|feel|felt|"
    r"assert\w*|seem\w*|want\w*|wish\w*|perhaps|probably|supposedly|you|we|us|our|your)\b",
    re.I,
)
"""Words that mark a sentence as an opinion or as an address to the reader."""
_REFERENCE = re.compile(
    r"\b(?:it|they|them|he|she|him|this|these|those|ones|(?:an?|the|each|every|another|\w+er|new|old)\s+one|"
    r"both(?!.*\band\b)|either(?!.*\bor\b)|neither(?!.*\bnor\b)|latter|former|others?|same|such|then|there|here|"
    r"doing so|do so|does so|instead|otherwise|too|also|still|else)\b|^(?:\S+\s+){0,2}(?:its|their|his|her)\b",
    re.I,
)
"""Words that refer to the other clause."""
_THAT = re.compile(r"\bthat(?=[.,])", re.I)
_PAIRED = re.compile(r"^(?:both|either|neither)\s(?=.*\b(?:and|or|nor)\b)", re.I)
"""Opening of a clause that names both of two alternatives."""
_CONTINUATION = re.compile(r",\s+(?:and|or|but|nor|yet)\s")
"""Conjunctions after which the conclusion may continue behind its reason."""
_FRAGMENT_START = re.compile(r"^(?:and|but|or|so|as|that|which|who|to|by|in|for|with|without|of|\w+ing)\b", re.I)


class CausalClauses(NamedTuple):
    """Premise and conclusion of a causal sentence, each a sentence of its own."""

    premise: str
    conclusion: str


def split_causal_sentence(text: str) -> CausalClauses | None:
    """Split a causal sentence into premise and conclusion; None if it draws no conclusion or cannot be split."""
    if len(text) > MAX_SENTENCE_CHARACTERS or _OPINION.search(text):
        return None
    for mark in (_SINCE, _SO, _BECAUSE):
        if found := mark.search(text):
            first, second = text[: found.start()], text[found.end() :]
            return None if _is_dependent(first, second) else _order_clauses(first, second, mark)
    return None


def _order_clauses(first: str, second: str, mark: re.Pattern[str]) -> CausalClauses | None:
    """Return the clauses before and after a connective as premise and conclusion, in the order that it implies."""
    if mark is _SO:
        return None if _POSSIBLE.search(first) else _build_clauses(first, second)
    is_ambiguous = _CONTINUATION.search(second) or (mark is _BECAUSE and _NEGATION.search(first))
    return None if is_ambiguous else _build_clauses(second, first)


def _is_dependent(first: str, second: str) -> bool:
    """Return whether one of two clauses needs the other for its meaning."""
    has_inner_conclusion = any(map(_has_connective, (first, second)))
    return bool(
        has_inner_conclusion or _CONDITION.search(first) or _REFERENCE.search(second) or _FRAGMENT_START.match(second)
    )


def _has_connective(clause: str) -> bool:
    """Return whether a clause itself contains another conclusion."""
    return any(pattern.search(clause) for pattern in (_SINCE, _SO, _BECAUSE))


def _build_clauses(premise: str, conclusion: str) -> CausalClauses | None:
    clauses = CausalClauses(_format_sentence(premise), _format_sentence(conclusion))
    return clauses if all(map(_is_standalone, clauses)) else None


def _format_sentence(clause: str) -> str:
    """Format a clause as a sentence; a clause that begins with code keeps its case and so is rejected later."""
    text = clause.strip().rstrip(" ,;.")
    return f"{text[:1].upper()}{text[1:]}." if text.split(maxsplit=1)[0].isalpha() else f"{text}."


def _is_standalone(text: str) -> bool:
    sentence = Sentence(text, 0, len(text), 1, "prose")
    has_reference = has_back_reference(_PAIRED.sub("", text)) or _THAT.search(text)
    return is_complete_sentence(sentence) and not has_reference and len(text.split()) <= MAX_CLAUSE_WORDS
