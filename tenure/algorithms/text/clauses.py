"""Clauses: a sentence that draws a conclusion by itself ("X, so Y"; "Y, because X"), taken apart into the two.

Each clause has to stand as a sentence of its own and has to mean by itself what it means beside the other. What leans
on the other clause, what holds only on a condition, and what a denial may reach over is left whole.
"""

import re
from typing import Final, NamedTuple

from tenure.algorithms.text.excerpts import points_back, presentable
from tenure.algorithms.text.sentences import Sentence

LONGEST: Final = 30
"""Words of a clause at the most; a longer one says more than one thing."""

_SINCE = re.compile(
    r",\s+(?:(?:mainly|simply|precisely)\s+)?(?:because(?!\s+of\b)|since(?!\s+(?:then|version|release)\b))\s+"
)
_BECAUSE = re.compile(r"\s+because\s+(?!of\b)")
_SO = re.compile(
    r"[,;]\s+(?:and\s+)?(?:so(?:\s+that)?(?!\s+(?:that|much|many|long|few|little|far|on|forth|called|as|is|are|was|"
    r"were|does|do|did|has|have|had|can|could|will|would|too)\b)|therefore|thus|hence|consequently|which\s+(?:means\s+that|is\s+why)),?\s+"
)
_DENIAL = re.compile(r"\b(?:no|not|never|none|nothing|nobody|neither|nor|cannot|\w+n[’']t|only|just|hardly)\b", re.I)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|where|wherever|once|until|while|whether|although|though|suppose|imagine|assum\w+|"
    r"example|instance|e\.g|i\.e)\b|[:;]|[.!?]\s|\s[-–—]+\s",
    re.I,
)
"""What the rest of a sentence may hang on, so that it would not hold by itself."""
_POSSIBLE = re.compile(
    r"\b(?:may|might|could|would|should|must|ought|remember|note|ha(?:s|ve)\s+to|need(?:s|ed)?\s+to)\b", re.I
)
"""What makes a premise a possibility or a duty, and with it what follows."""
_CLAIMED = re.compile(
    r"\b(?:argu\w+|believ\w+|claim\w*|think\w*|thought|say|says|said|suggest\w*|object\w*|propos\w+|reject\w*|feel|felt|"
    r"assert\w*|seem\w*|want\w*|wish\w*|perhaps|probably|supposedly|you|we|us|our|your)\b",
    re.I,
)
"""What makes a sentence the opinion of somebody, or an address to its reader."""
_LEANS = re.compile(
    r"\b(?:it|they|them|he|she|him|this|these|those|ones|(?:an?|the|each|every|another|\w+er|new|old)\s+one|"
    r"both(?!.*\band\b)|either(?!.*\bor\b)|neither(?!.*\bnor\b)|latter|former|others?|same|such|then|there|here|"
    r"doing so|do so|does so|instead|otherwise|too|also|still|else)\b|^(?:\S+\s+){0,2}(?:its|their|his|her)\b",
    re.I,
)
"""What points to the other clause."""
_THAT = re.compile(r"\bthat(?=[.,])", re.I)
_PAIRED = re.compile(r"^(?:both|either|neither)\s(?=.*\b(?:and|or|nor)\b)", re.I)
"""What opens a clause on two things that are both named in it."""
_GOES_ON = re.compile(r",\s+(?:and|or|but|nor|yet)\s")
"""What may go on with the conclusion behind its reason."""
_OPENS = re.compile(r"^(?:and|but|or|so|as|that|which|who|to|by|in|for|with|without|of|\w+ing)\b", re.I)


class Drawn(NamedTuple):
    """A conclusion and what it is drawn from, both as sentences."""

    premise: str
    inference: str


def drawn(text: str) -> Drawn | None:
    """Return what a sentence concludes from what; None where it concludes nothing, or cannot be taken apart."""
    if _CLAIMED.search(text):
        return None
    for mark in (_SINCE, _SO, _BECAUSE):
        if found := mark.search(text):
            first, second = text[: found.start()], text[found.end() :]
            return None if _lean(first, second) else _apart(first, second, mark)
    return None


def _apart(first: str, second: str, mark: re.Pattern[str]) -> Drawn | None:
    """Return the clauses before and behind a mark as premise and inference, or the other way round."""
    if mark is _SO:
        return None if _POSSIBLE.search(first) else _sentences(first, second)
    unclear = _GOES_ON.search(second) or (mark is _BECAUSE and _DENIAL.search(first))
    return None if unclear else _sentences(second, first)


def _lean(first: str, second: str) -> bool:
    """Tell whether one of two clauses needs the other to mean what it means beside it."""
    joined = any(map(_joined, (first, second)))
    return bool(joined or _CONDITION.search(first) or _LEANS.search(second) or _OPENS.match(second))


def _joined(clause: str) -> bool:
    """Tell whether another conclusion is drawn within a clause."""
    return any(pattern.search(clause) for pattern in (_SINCE, _SO, _BECAUSE))


def _sentences(premise: str, inference: str) -> Drawn | None:
    made = Drawn(_sentence(premise), _sentence(inference))
    return made if all(map(_stands, made)) else None


def _sentence(clause: str) -> str:
    """Return a clause as a sentence; one that begins with a name of code keeps it as it is written, and is none."""
    bare = clause.strip().rstrip(" ,;.")
    return f"{bare[:1].upper()}{bare[1:]}." if bare.split(maxsplit=1)[0].isalpha() else f"{bare}."


def _stands(text: str) -> bool:
    said = Sentence(text, 0, len(text), 1, "prose")
    points = points_back(_PAIRED.sub("", text)) or _THAT.search(text)
    return presentable(said) and not points and len(text.split()) <= LONGEST
