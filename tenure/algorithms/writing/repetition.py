"""Remove repetition from a report: the first occurrence of a statement stays.

Equal and nearly equal sentences are repetition. The citations of a removed restatement are added to the first
sentence. Cells of tables and parts of excerpts are exempt, since they would leave holes.
"""

import itertools
from collections.abc import Sequence
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
"""Maximum number of earlier sentences that a sentence is compared with word by word. Sentences with the same words are
few: without this limit, 800 orders of the same twenty words took 10 s."""
_NEGATIONS = frozenset("no not never neither nor none without cannot only except unless".split())
"""Words that change the meaning of a sentence."""


def _is_exempt(claim: Claim) -> bool:
    """Return whether a claim may be repeated: a cell, a part of an excerpt, or a gap without a subject of its own."""
    return bool(claim.column or claim.part) or claim.text in (NOT_CERTAIN, NOT_FOUND)


def remove_restatements(drafts: Sequence[Draft], subjects: Sequence[str] = ()) -> tuple[Draft, ...]:
    """Remove restatements; their citations are added to the sentence that they restate.

    Of two equal statements the one stays whose draft's subject has more of its words, without such a difference the
    first one.
    """
    stems = [frozenset(stem_words(subject)) for subject in subjects] or [frozenset[str]()] * len(drafts)
    statements = [
        _Statement(claim, subject) for draft, subject in zip(drafts, stems, strict=True) for claim in draft.claims
    ]
    distinct = _Statements()
    for statement in statements:
        distinct.add(statement)
    merged = (statement.merge_citations() if statement.is_kept else None for statement in statements)
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
        words = split_words(text)
        self.turning = tuple(word for word in words if word in _NEGATIONS or word.endswith(("n't", "n’t")))
        self.figures = tuple(word for word in words if any(letter.isdigit() for letter in word))

    @property
    def affinity(self) -> int:
        """Number of its words that belong to the subject of its draft."""
        return len(self.content & self.subject)

    def absorb(self, other: "_Statement") -> None:
        """Take the place of a restatement."""
        other.is_kept = False
        self.restatements += [other.claim, *other.restatements]

    def has_words_of(self, other: "_Statement") -> bool:
        """Return whether two sentences have nearly the same content words."""
        is_long = min(len(self.stems), len(other.stems)) >= _MIN_WORDS
        return is_long and len(self.content & other.content) >= _MIN_SIMILARITY * len(self.content | other.content)

    def has_order_of(self, other: "_Statement") -> bool:
        """Return whether two sentences have nearly the same words in the same order."""
        return SequenceMatcher(None, self.stems, other.stems, autojunk=False).ratio() >= _MIN_SIMILARITY

    def merge_citations(self) -> Claim:
        """Return the claim with the citations of its restatements."""
        cited = {(c.source, c.start, c.end): c for claim in (self.claim, *self.restatements) for c in claim.citations}
        return self.claim.model_copy(update={"citations": tuple(cited.values())[:MAX_CITATIONS]})


class _Statements:
    """The sentences that stay; those with the same figures and negations are compared."""

    def __init__(self) -> None:
        self._kept: list[_Statement] = []
        self._by_mark: dict[str, int] = {}
        self._by_details: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[int, None]] = {}

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
            self._by_details.setdefault((statement.turning, statement.figures), {})[position] = None

    def _find(self, statement: _Statement) -> int | None:
        """Return the position of the first sentence that states the same; None if none does."""
        if not statement.mark:
            return None
        comparable = self._by_details.get((statement.turning, statement.figures), ())
        similar = (n for n in comparable if self._kept[n].has_words_of(statement))
        near = (n for n in itertools.islice(similar, _MAX_COMPARED) if self._kept[n].has_order_of(statement))
        equal = self._by_mark.get(statement.mark)
        return min((n for n in (next(near, None), equal) if n is not None), default=None)
