"""What a question points back to, and the question with a name in its place.

"Who wrote it, and where was he born?" asks two things, the second about the answer of the first. Patterns
see which answers a later question can point to, and which names in the evidence an earlier one may have
meant; a question that stands alone can then be searched for.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.text.sentences import STOP_WORDS, sentences, stems

COVERED: Final = 0.6
"""Share of a question's content words that a sentence needs before it may hold the answer."""

_NOT_A_KIND = "is|are|was|were|be|did|do|does|has|have|had|can|could|will|would|should|may|might|must|if|happens?"
_ASKED = re.compile(
    r"^(?:(?:in|at|on|by|from|of|for|to|with|and|but|or|also)\s+)*"
    r"(?:(?P<person>who|whom|whose)\b"
    rf"|(?:which|what)\s+(?!(?:{_NOT_A_KIND})\b)(?P<kind>[a-z][\w-]*)"
    r"|(?:what|which)\s+(?:is|are|was|were)\s+the\s+(?:name\s+of\s+the\s+)?(?P<role>[a-z][\w-]*)\s+(?:of|in|for|that|who)\b"
    r"|(?P<place>where)\b)",
    re.IGNORECASE,
)
_POINTED = re.compile(
    r"\b(?:(?:that|this|these|those|the same|the said)\s+(?!(?:is|are|was|were|and|or|the)\b)"
    r"(?P<noun>(?!(?:they|he|she|it|we|you|i)\b)[a-z][\w-]*)(?P<owns>['’]s)?"
    r"|(?P<of_person>his|her(?=\s+[a-z])|hers)|(?P<person>he|she|him|her)"
    r"|(?P<of_thing>its|their)|(?P<thing>it|they|them|there))\b",
    re.IGNORECASE,
)
_PEOPLE: Final = frozenset(
    """actor actress architect artist author chairman chairwoman coach composer creator designer developer director
    editor engineer father founder governor head inventor judge king leader maker manager mayor minister mother
    musician owner painter person philosopher player poet pope president prince princess producer professor queen
    researcher ruler scientist singer spouse wife husband winner woman man writer""".split()
)
_LINKS = "of|the|de|da|del|di|du|van|von|der|den|bin|al|la|le"
_WORD = r"(?:(?:[A-Z]\.)+|[A-Z][\w’'&-]*)"
_NAME = re.compile(rf"\b{_WORD}(?:\s+(?:(?:{_LINKS})\s+){{0,2}}(?:{_WORD}|\d+\b))*")


class Candidate(NamedTuple):
    """A name that may be an answer."""

    fit: float
    """Share of the question's content words in the sentence it stands in."""
    name: str
    """The name."""


def depends(question: str, earlier: str) -> bool:
    """Tell whether a question points to what an earlier one asks for ("who …" and "that author", "he")."""
    asked, pointed = _ASKED.match(earlier), _POINTED.search(question)
    if asked is None or pointed is None:
        return False
    if pointed["noun"]:
        return True
    if asked["place"]:
        return pointed[0].lower() == "there"
    person = asked["person"] or any(asked[group] in _PEOPLE for group in ("kind", "role") if asked[group])
    if pointed["of_person"] or pointed["person"]:
        return bool(person)
    return not person or pointed[0].lower() in ("they", "them", "their")


def resolved(question: str, name: str) -> str:
    """Return a question with a name in place of what points back; one that points nowhere stays as it is."""

    def named(match: re.Match[str]) -> str:
        owns = match["owns"] or match["of_person"] or match["of_thing"]
        genitive = f"{name}'" if name.endswith("s") else f"{name}'s"
        return f"in {name}" if match[0].lower() == "there" else genitive if owns else name

    return _POINTED.sub(named, question, count=1)


def kind_meant(question: str, earlier: str) -> str:
    """Return the kind that an earlier question asks for where a later one means all of it ("which models", "they")."""
    asked, pointed = _ASKED.match(earlier), _POINTED.search(question)
    kind = (asked["kind"] or "") if asked else ""
    several = kind.endswith("s") and not kind.endswith("ss")
    return kind if several and pointed and pointed[0].lower() in ("they", "them", "their") else ""


def answer_name(question: str, texts: Iterable[str]) -> str:
    """Return the name that most likely answers a question, from texts found for it, best first; empty for none.

    A name counts where its sentence has most of the question's content words and the question does not
    have the name itself.
    """
    asked = set(stems(question))
    kept = list(texts)
    found = [candidate for text in kept for candidate in _candidates(asked, text, kept)]
    # The first of equals: the texts come best first.
    best = max(found, key=lambda candidate: candidate.fit, default=Candidate(0.0, ""))
    return best.name if best.fit >= COVERED else ""


def names(text: str) -> tuple[str, ...]:
    """Return the runs of capitalised words of a sentence, without the empty words that open it."""
    found = (_without_opening(match.group()) for match in _NAME.finditer(text))
    return tuple(name for name in found if name)


def _candidates(asked: set[str], text: str, texts: Sequence[str]) -> Iterable[Candidate]:
    for sentence in sentences(text):
        fit = len(asked.intersection(stems(sentence.text))) / max(len(asked), 1)
        for name in names(sentence.text):
            if not asked.intersection(stems(name)) and not _only_opens(name, sentence.text, texts):
                yield Candidate(fit, name)


def _only_opens(name: str, sentence: str, texts: Sequence[str]) -> bool:
    """Tell whether a single word has its capital only from standing in front of a sentence."""
    if " " in name or not sentence.startswith(name):
        return False
    inside = re.compile(rf"[a-z,;]\s+{re.escape(name)}\b")
    return not any(inside.search(text) for text in texts)


def _without_opening(name: str) -> str:
    kept = name.rstrip("'’-&").split()
    while kept and (kept[0].lower() in STOP_WORDS or kept[0].isdigit()):
        kept.pop(0)
    return re.sub(r"['’]s$", "", " ".join(kept))
