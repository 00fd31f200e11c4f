"""Facets: topics for an outline, taken from the headings under which the evidence stands.

Authors have already named what their texts treat. A heading above several relevant passages, near to
the question and not one of the headings every document has, is a better topic than any phrase
cut out of a sentence.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.retrieval.mmr import mmr
from tenure.algorithms.text.excerpts import BACK_MATTER
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import STOP_WORDS, stems, telling, ubiquitous, words

GENERIC = frozenset(
    """abstract introduction intro motivation rationale specification overview background summary conclusion conclusions
    references copyright acknowledgements acknowledgments appendix contents notes note footnotes changelog history
    examples example usage faq discussion implementation goals scope definitions terminology status details more other
    general miscellaneous misc todo index readme what why how limits limitations results methods method about preface
    features requirements installation proposal description purpose definition alternatives considerations questions
    issues open-issues links resources further-reading related-work license authors news updates basics contact
    prerequisites semantics syntax problem problems solution solutions resolved unresolved
    developers users changes""".split()
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
MOST = 0.4
"""Share of the relevant passages from which a document is divided by its headings instead of named by its title."""
NEAR_BEST = 0.75
"""Share of the best facet's score that another must have."""
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

    Where there are topics already, a heading has to be about the question by its own words. The title of a
    document is a facet like its headings; of the two the better one stands for the other.
    """
    best = max((passage.relevance for passage in passages), default=0.0)
    groups = _groups([passage for passage in passages if passage.relevance >= AMONG_BEST * best])
    if not groups or k < 1:
        return []
    common = ubiquitous([passage.text for passage in passages])
    names = [group.name for group in groups]
    vectors = encode([telling(text, common) for text in (question, *names, *besides)])
    headings = vectors[1 : 1 + len(names)]
    wanted, most = set(stems(question)) - common, math.inf if besides else best
    found = [
        _facet(group, float(near), wanted, most) for group, near in zip(groups, headings @ vectors[0], strict=True)
    ]
    scores = np.asarray([facet.score for facet in found], dtype=np.float32)
    if besides:
        scores[(headings @ vectors[1 + len(names) :].T).max(axis=1) >= TOO_CLOSE] = -1.0
    scores[_stood_for(groups, scores)] = -1.0
    chosen = mmr(scores, headings, k, floor=max(0.0, NEAR_BEST * float(scores.max())), too_close=TOO_CLOSE)
    return [found[index] for index in chosen]


@dataclass(frozen=True)
class _Group:
    """Passages under one name."""

    name: str
    passages: tuple[Passage, ...]
    title: bool
    """Whether the name is the title of their document."""


def _groups(passages: Sequence[Passage]) -> list[_Group]:
    held = Counter(passage.source for passage in passages)
    under: dict[str, list[Passage]] = {}
    within: dict[str, list[Passage]] = {}
    for passage in passages:
        if name := subject(passage):
            under.setdefault(name.casefold(), []).append(passage)
        if (title := _titled(passage)) and 1 < held[passage.source] < MOST * len(passages):
            within.setdefault(title.casefold(), []).append(passage)
    headings = [
        _Group(subject(group[0]), tuple(group), False)
        for name, group in under.items()
        if name not in within and not _is_title(name, group, under)
    ]
    return [*headings, *(_Group(_titled(group[0]), tuple(group), True) for group in within.values())]


def _is_title(name: str, group: Sequence[Passage], under: Mapping[str, Sequence[Passage]]) -> bool:
    """Tell whether a name is the title of a document whose headings are topics: it would hold all of them."""
    sources = {passage.source for passage in group if name == _named(passage.title).casefold()}
    return any(passage.source in sources for other, others in under.items() if other != name for passage in others)


def _stood_for(groups: Sequence[_Group], scores: NDArray[np.float32]) -> list[int]:
    """Return the groups for which a better one stands: a title for headings of its document, or one of them for it."""
    sources = [{passage.source for passage in group.passages} for group in groups]
    return [
        n
        for n, group in enumerate(groups)
        if any(
            other.title != group.title and (scores[m], -m) > (scores[n], -n) and sources[n] & sources[m]
            for m, other in enumerate(groups)
        )
    ]


def _facet(group: _Group, nearness: float, wanted: set[str], most: float) -> Facet:
    """Weigh a heading; one that says nothing of the question, above nothing that answers it well, is noise."""
    shared = len(wanted.intersection(stems(group.name))) / max(1, len(wanted))
    best = max(passage.relevance for passage in group.passages) / max(most, 1e-6)
    score = 0.35 * nearness + 0.35 * best + 0.08 * math.log1p(len(group.passages)) + 0.15 * shared
    says = shared or nearness >= NEAR_ENOUGH or (best >= TELLING and nearness >= LEAST_NEAR)
    return Facet(group.name, group.passages[0].title, len(group.passages), score if says else -1.0)


def subject(passage: Passage) -> str:
    """Return what a passage is about by its headings: the innermost that names a subject, else the title."""
    if passage.heading_path and passage.heading_path[-1].casefold().strip(" .:") in BACK_MATTER:
        return ""
    return next((name for name in map(_named, (*reversed(passage.heading_path), passage.title)) if name), "")


def _titled(passage: Passage) -> str:
    return _named(passage.title) if subject(passage) else ""


def _named(heading: str) -> str:
    """Return a heading without numbering and marks; empty where it names no subject."""
    bare = _NUMBERING.sub("", " ".join(heading.split())).strip(" .:#*_`–—-")
    return bare if not is_generic(bare) and 1 <= len(bare.split()) <= 10 and len(bare) <= 80 else ""


def is_generic(name: str) -> bool:
    """Tell whether a heading names a part of a document, such as "Introduction", or nothing at all."""
    found = words(name)
    content = [word for word in found if word not in GENERIC and word not in STOP_WORDS]
    code = bool(_CODE.search(name))
    return (
        code
        or not content
        or not any(c.isalpha() for c in name)
        or not stems(name)
        or bool(_GENERIC_PHRASES.match(name))
    )
