"""Facets: topics for an outline, taken from the headings under which the evidence stands.

Authors have already named what their texts treat. A heading above several relevant passages, near to
the question and not one of the headings every document has, is a better topic than any phrase
cut out of a sentence.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenure.algorithms.excerpts import BACK_MATTER
from tenure.algorithms.mmr import mmr
from tenure.algorithms.passages import Encoder, Passage
from tenure.algorithms.text import stems, telling, ubiquitous, words

GENERIC = frozenset(
    """abstract introduction intro motivation rationale specification overview background summary conclusion conclusions
    references copyright acknowledgements acknowledgments appendix contents notes note footnotes changelog history
    examples example usage faq discussion implementation goals scope definitions terminology status details more other
    general miscellaneous misc todo index readme what why how limits limitations results methods method about preface
    features requirements installation proposal description purpose definition alternatives considerations questions
    issues open-issues links resources further-reading related-work license authors news updates basics contact
    prerequisites semantics syntax""".split()
)
"""Headings that name a part of a document instead of a subject."""

_GENERIC_PHRASES = re.compile(
    r"^(?:table of contents|see also|open issues|rejected (?:ideas|alternatives)|(?:backwards?|forward) compatibility|"
    r"reference implementation|security implications|how to teach this|post history|quick ?start|getting started|"
    r"non[- ]?goals|what'?s new|next steps|(?:other|more|prior|related|future) \w+|how it works|version history|"
    r"(?:frequently asked )?questions(?: and answers)?|known (?:issues|limits))$",
    re.IGNORECASE,
)
_NUMBERING = re.compile(
    r"^(?:(?i:chapter|section|part|appendix)\s+)?(?:\d{1,2}(?:\.\d+)*|[IVX]{1,4}|[A-Z])[.):]\s+|"
    r"^\d{1,2}(?:\.\d+)*\s+(?=[A-Z])|^[A-Z]{2,6}[ -]?\d+\s*[:–—-]\s+"
)
_CODE = re.compile(r"_|\w\.\w|[(){}\[\]=<>]|--")

NEAR_ENOUGH = 0.3
"""Cosine between a heading and the question below which the heading is noise."""
AMONG_BEST = 0.6
"""Share of the best relevance that a passage needs for its heading to be a topic."""
TELLING, LEAST_NEAR = 0.75, 0.1
"""Share of the best relevance from which its passage's heading is a topic, with as little likeness as this."""
TOO_CLOSE = 0.75
"""Cosine between two headings from which they are one topic."""


@dataclass(frozen=True)
class Facet:
    """A heading over evidence."""

    heading: str
    """The heading, numbering taken off."""
    source_title: str
    """Title of the best source it stands in."""
    passages: int
    """Relevant passages under it."""
    score: float
    """How good a topic it is."""


def facets(
    question: str, passages: Sequence[Passage], encode: Encoder, k: int, besides: Sequence[str] = ()
) -> list[Facet]:
    """Return at most `k` facets of a question, best first, none too close to another or to `besides`.

    Where there are topics already, a heading has to be about the question by its own words.
    """
    groups: dict[str, list[Passage]] = {}
    best = max((passage.relevance for passage in passages), default=0.0)
    for passage in passages:
        name = subject(passage)
        if name and passage.relevance >= AMONG_BEST * best:
            groups.setdefault(name.casefold(), []).append(passage)
    groups = _without_titles(groups)
    names = [subject(group[0]) for group in groups.values()]
    if not names or k < 1:
        return []
    common = ubiquitous([passage.text for passage in passages])
    vectors = encode([telling(text, common) for text in (question, *names, *besides)])
    headings = vectors[1 : 1 + len(names)]
    found = [
        _facet(name, group, float(near), set(stems(question)) - common, math.inf if besides else best)
        for name, group, near in zip(names, groups.values(), headings @ vectors[0], strict=True)
    ]
    scores = np.asarray([facet.score for facet in found], dtype=np.float32)
    if besides:
        scores[(headings @ vectors[1 + len(names) :].T).max(axis=1) >= TOO_CLOSE] = -1.0
    chosen = mmr(scores, headings, k, floor=0.0, too_close=TOO_CLOSE)
    return [found[index] for index in chosen]


def _without_titles(groups: dict[str, list[Passage]]) -> dict[str, list[Passage]]:
    """Leave out a document's title where headings within the document are topics: it would hold all of them."""
    inner = {p.source for name, group in groups.items() for p in group if name != p.title.casefold()}
    return {
        name: group
        for name, group in groups.items()
        if any(name != p.title.casefold() or p.source not in inner for p in group)
    }


def _facet(name: str, group: Sequence[Passage], nearness: float, wanted: set[str], most: float) -> Facet:
    """Weigh a heading; one that says nothing of the question, above nothing that answers it well, is noise."""
    shared = len(wanted.intersection(stems(name))) / max(1, len(wanted))
    best = max(passage.relevance for passage in group) / max(most, 1e-6)
    score = 0.35 * nearness + 0.35 * best + 0.08 * math.log1p(len(group)) + 0.15 * shared
    says = shared or nearness >= NEAR_ENOUGH or (best >= TELLING and nearness >= LEAST_NEAR)
    return Facet(name, group[0].title, len(group), score if says else -1.0)


def subject(passage: Passage) -> str:
    """Return what a passage is about by its headings: the innermost that names a subject, else the title."""
    if passage.heading_path and passage.heading_path[-1].casefold().strip(" .:") in BACK_MATTER:
        return ""
    for name in (*reversed(passage.heading_path), passage.title):
        bare = _NUMBERING.sub("", " ".join(name.split())).strip(" .:#*_`–—-")
        if not is_generic(bare) and 1 <= len(bare.split()) <= 10 and len(bare) <= 80:
            return bare
    return ""


def is_generic(name: str) -> bool:
    """Tell whether a heading names a part of a document, such as "Introduction", or nothing at all."""
    found = words(name)
    content = [word for word in found if word not in GENERIC]
    code = bool(_CODE.search(name))
    return (
        code
        or not content
        or not any(c.isalpha() for c in name)
        or not stems(name)
        or bool(_GENERIC_PHRASES.match(name))
    )
