"""Find topics for an outline without a model, from the headings of relevant passages.

Authors name their subjects in headings. A specific heading above several relevant passages and near to the question is
a better topic than a phrase extracted from a sentence.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.retrieval.mmr import select_by_mmr
from tenure.algorithms.text.excerpts import BACK_MATTER_HEADINGS
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import (
    STOP_WORDS,
    find_ubiquitous_names,
    remove_common_words,
    split_words,
    stem_words,
)

GENERIC_HEADINGS = frozenset(
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

MIN_QUESTION_SIMILARITY = 0.3
"""Minimum cosine similarity of a heading to the question."""
MIN_RELEVANCE_SHARE = 0.6
"""Minimum relevance of a passage whose heading is considered, relative to the best passage."""
STRONG_RELEVANCE_SHARE, MIN_STRONG_SIMILARITY = 0.75, 0.1
"""Relative relevance from which a lower similarity of the heading suffices, and that similarity."""
MAX_TITLE_SHARE = 0.4
"""Share of the relevant passages from which a document is represented by its headings instead of its title."""
MIN_SCORE_SHARE = 0.75
"""Minimum score of a facet, relative to the best one."""
MAX_HEADING_SIMILARITY = 0.75
"""Cosine similarity from which two headings are one topic."""


@dataclass(frozen=True)
class Facet:
    """Heading as a candidate topic."""

    heading: str
    """Heading without numbering."""
    source_title: str
    """Title of its most relevant source."""
    passages: int
    """Number of relevant passages below it."""
    score: float
    """Score as a topic."""


def find_facets(
    question: str, passages: Sequence[Passage], encode: Encoder, k: int, existing_topics: Sequence[str] = ()
) -> list[Facet]:
    """Return at most `k` facets of a question, best first, all different from each other and from `existing_topics`.

    If topics exist already, a heading must be near to the question by its own words. The title of a document competes
    with its headings; the better one supersedes the other.
    """
    best = max((passage.relevance for passage in passages), default=0.0)
    groups = _group_passages([passage for passage in passages if passage.relevance >= MIN_RELEVANCE_SHARE * best])
    if not groups or k < 1:
        return []
    common = find_ubiquitous_names([passage.text for passage in passages])
    names = [group.name for group in groups]
    vectors = encode([remove_common_words(text, common) for text in (question, *names, *existing_topics)])
    headings = vectors[1 : 1 + len(names)]
    wanted, most = set(stem_words(question)) - common, math.inf if existing_topics else best
    found = [
        _score_facet(group, float(near), wanted, most)
        for group, near in zip(groups, headings @ vectors[0], strict=True)
    ]
    scores = np.asarray([facet.score for facet in found], dtype=np.float32)
    if existing_topics:
        scores[(headings @ vectors[1 + len(names) :].T).max(axis=1) >= MAX_HEADING_SIMILARITY] = -1.0
    scores[_find_superseded(groups, scores)] = -1.0
    chosen = select_by_mmr(
        scores,
        headings,
        k,
        min_score=max(0.0, MIN_SCORE_SHARE * float(scores.max())),
        max_similarity=MAX_HEADING_SIMILARITY,
    )
    return [found[index] for index in chosen]


@dataclass(frozen=True)
class _HeadingGroup:
    """Passages with a common name."""

    name: str
    passages: tuple[Passage, ...]
    title: bool
    """Whether the name is the title of their document."""


def _group_passages(passages: Sequence[Passage]) -> list[_HeadingGroup]:
    held = Counter(passage.source for passage in passages)
    under: dict[str, list[Passage]] = {}
    within: dict[str, list[Passage]] = {}
    for passage in passages:
        if name := extract_subject(passage):
            under.setdefault(name.casefold(), []).append(passage)
        if (title := _extract_title(passage)) and 1 < held[passage.source] < MAX_TITLE_SHARE * len(passages):
            within.setdefault(title.casefold(), []).append(passage)
    headings = [
        _HeadingGroup(extract_subject(group[0]), tuple(group), False)
        for name, group in under.items()
        if name not in within and not _is_title(name, group, under)
    ]
    return [*headings, *(_HeadingGroup(_extract_title(group[0]), tuple(group), True) for group in within.values())]


def _is_title(name: str, group: Sequence[Passage], under: Mapping[str, Sequence[Passage]]) -> bool:
    """Return whether a name is the title of a document whose headings are topics themselves."""
    sources = {passage.source for passage in group if name == _normalize_heading(passage.title).casefold()}
    return any(passage.source in sources for other, others in under.items() if other != name for passage in others)


def _find_superseded(groups: Sequence[_HeadingGroup], scores: NDArray[np.float32]) -> list[int]:
    """Return the groups that a better one supersedes: headings by the title of their document, or the reverse."""
    sources = [{passage.source for passage in group.passages} for group in groups]
    return [
        n
        for n, group in enumerate(groups)
        if any(
            other.title != group.title and (scores[m], -m) > (scores[n], -n) and sources[n] & sources[m]
            for m, other in enumerate(groups)
        )
    ]


def _score_facet(group: _HeadingGroup, nearness: float, wanted: set[str], most: float) -> Facet:
    """Score a heading; −1 if it does not resemble the question and has no very relevant passage."""
    shared = len(wanted.intersection(stem_words(group.name))) / max(1, len(wanted))
    best = max(passage.relevance for passage in group.passages) / max(most, 1e-6)
    score = 0.35 * nearness + 0.35 * best + 0.08 * math.log1p(len(group.passages)) + 0.15 * shared
    says = (
        shared
        or nearness >= MIN_QUESTION_SIMILARITY
        or (best >= STRONG_RELEVANCE_SHARE and nearness >= MIN_STRONG_SIMILARITY)
    )
    return Facet(group.name, group.passages[0].title, len(group.passages), score if says else -1.0)


def extract_subject(passage: Passage) -> str:
    """Return the innermost heading of a passage that names a subject, else its title; empty for back matter."""
    if passage.headings and passage.headings[-1].casefold().strip(" .:") in BACK_MATTER_HEADINGS:
        return ""
    return next((name for name in map(_normalize_heading, (*reversed(passage.headings), passage.title)) if name), "")


def _extract_title(passage: Passage) -> str:
    return _normalize_heading(passage.title) if extract_subject(passage) else ""


def _normalize_heading(heading: str) -> str:
    """Return a heading without numbering and markup; empty if it names no subject."""
    bare = _NUMBERING.sub("", " ".join(heading.split())).strip(" .:#*_`–—-")
    return bare if not is_generic_heading(bare) and 1 <= len(bare.split()) <= 10 and len(bare) <= 80 else ""


def is_generic_heading(name: str) -> bool:
    """Return whether a heading names a part of a document, such as "Introduction", or has no content word."""
    found = split_words(name)
    content = [word for word in found if word not in GENERIC_HEADINGS and word not in STOP_WORDS]
    code = bool(_CODE.search(name))
    return (
        code
        or not content
        or not any(c.isalpha() for c in name)
        or not stem_words(name)
        or bool(_GENERIC_PHRASES.match(name))
    )
