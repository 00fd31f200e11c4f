"""Remove repetition from a report: the first occurrence of a statement stays.

Equal and nearly equal sentences are repetition. The citations of a removed restatement are added to the first
sentence. Cells of tables and parts of excerpts are exempt, since they would leave holes.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from tenure.algorithms.claims.citations import MAX_CITATIONS
from tenure.algorithms.claims.verification import replace_claims
from tenure.algorithms.text.sentences import normalize_sentence, split_words, stem_words
from tenure.algorithms.writing.brief import NOT_CERTAIN, NOT_FOUND
from tenure.contracts.evidence.passages import Claim, Draft

_MIN_SIMILARITY = 0.9
"""Minimum share of common content words, and of their common order, of restatements."""
_MIN_WORDS = 5
"""Minimum number of content words of a sentence to compare it by them."""
_MAX_COMPARED = 40
"""Maximum number of earlier sentences that a sentence is compared with word by word. Sentences that share their rarest
words are few: without this limit, 800 orders of the same twenty words took 10 s."""
_NEGATIONS = frozenset("no not never neither nor none without cannot only except unless".split())
"""Words that change the meaning of a sentence."""


def _is_exempt(claim: Claim) -> bool:
    """Return whether a claim may be repeated: a cell, a part of an excerpt, or a gap without a subject of its own."""
    return bool(claim.column or claim.part) or claim.text in (NOT_CERTAIN, NOT_FOUND)


def remove_restatements(drafts: Sequence[Draft], subjects: Sequence[str] = ()) -> tuple[Draft, ...]:
    """Remove restatements; their citations are added to the sentence that they restate.

    Args:
        drafts: drafts in reading order.
        subjects: subject of each draft; of two equal statements the one whose draft's subject has more of its words
            stays, and the first one without such a difference.
    """
    stems = [frozenset(stem_words(subject)) for subject in subjects] or [frozenset[str]()] * len(drafts)
    found = [
        [_Statement(claim, subject) for claim in draft.claims] for draft, subject in zip(drafts, stems, strict=True)
    ]
    statements = _Statements(itertools.chain(*found))
    for statement in itertools.chain(*found):
        statements.add(statement)
    merged = (statement.merge_citations() if statement.is_kept else None for statement in itertools.chain(*found))
    return replace_claims(drafts, dict(enumerate(merged)))


@dataclass
class _Statement:
    """Sentence with its restatements."""

    claim: Claim
    subject: frozenset[str]
    restatements: list[Claim] = field(default_factory=list)
    is_kept: bool = True

    def __post_init__(self) -> None:
        text = self.claim.statement
        self.mark = "" if _is_exempt(self.claim) else normalize_sentence(text)
        self.stems = stem_words(text)
        self.content = frozenset(self.stems)
        self.turning = [word for word in split_words(text) if word in _NEGATIONS or word.endswith(("n't", "n’t"))]
        self.figures = [word for word in split_words(text) if any(letter.isdigit() for letter in word)]

    @property
    def affinity(self) -> int:
        """Number of its words that belong to the subject of its draft."""
        return len(self.content & self.subject)

    def absorb(self, other: "_Statement") -> None:
        """Take the place of a restatement."""
        other.is_kept = False
        self.restatements += [other.claim, *other.restatements]

    def restates(self, other: "_Statement") -> bool:
        """Return whether another sentence states the same."""
        if not self.mark or not other.mark or self.mark == other.mark:
            return bool(self.mark) and self.mark == other.mark
        if min(len(self.stems), len(other.stems)) < _MIN_WORDS:
            return False
        shared = len(self.content & other.content) / len(self.content | other.content)
        return (
            shared >= _MIN_SIMILARITY
            and (self.turning, self.figures) == (other.turning, other.figures)
            and SequenceMatcher(None, self.stems, other.stems, autojunk=False).ratio() >= _MIN_SIMILARITY
        )

    def merge_citations(self) -> Claim:
        """Return the claim with the citations of its restatements."""
        own = {(c.source, c.start, c.end): c for claim in (self.claim, *self.restatements) for c in claim.citations}
        return self.claim.model_copy(update={"citations": tuple(own.values())[:MAX_CITATIONS]})


class _Statements:
    """The sentences that stay, found by their words.

    Sets of which each has `_MIN_SIMILARITY` of the words of both share one of the rarest words of either, so only
    sentences with such a word are compared (prefix filtering, Chaudhuri et al. 2006).
    """

    def __init__(self, statements: Iterable[_Statement]) -> None:
        self._counts = Counter(stem for statement in statements for stem in statement.content)
        self._kept: list[_Statement] = []
        self._by_mark: dict[str, int] = {}
        self._by_rare_stem: dict[str, list[int]] = {}

    def add(self, statement: _Statement) -> None:
        """Add a sentence, unless an earlier one states the same: then the one that fits its draft better stays."""
        position = self._find(statement)
        if position is None:
            position = len(self._kept)
            self._kept.append(statement)
        elif statement.affinity > self._kept[position].affinity:
            statement.absorb(self._kept[position])
            self._kept[position] = statement
        else:
            self._kept[position].absorb(statement)
            return
        if statement.mark:
            self._by_mark.setdefault(statement.mark, position)
        for stem in self._list_rare_stems(statement):
            self._by_rare_stem.setdefault(stem, []).append(position)

    def _find(self, statement: _Statement) -> int | None:
        """Return the position of the first sentence that states the same; None if none does."""
        sharing = {n for stem in self._list_rare_stems(statement) for n in self._by_rare_stem.get(stem, ())}
        equal = self._by_mark.get(statement.mark)
        candidates = sorted(sharing)[:_MAX_COMPARED]
        positions = [n for n in candidates if self._kept[n].restates(statement)][:1]
        if equal is not None and self._kept[equal].restates(statement):
            positions.append(equal)
        return min(positions, default=None)

    def _list_rare_stems(self, statement: _Statement) -> list[str]:
        content = sorted(statement.content, key=lambda stem: (self._counts[stem], stem))
        return content[: len(content) - math.ceil(_MIN_SIMILARITY * len(content)) + 1]
