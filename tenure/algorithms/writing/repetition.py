"""Remove repetition from a report: the first occurrence of a statement stays.

Equal sentences are repetition everywhere; between sections, nearly equal ones are too. The citations of a removed
restatement are added to the first sentence. Cells of tables are exempt: a table without them would have holes.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from tenure.algorithms.claims.citations import MAX_CITATIONS
from tenure.algorithms.text.sentences import normalize_sentence, split_words, stem_words
from tenure.contracts.evidence.passages import Block, Claim, Draft

_MIN_SIMILARITY = 0.9
"""Minimum share of common content words, and of their common order, of restatements."""
_MIN_WORDS = 5
"""Minimum number of content words of a sentence to compare it by them."""
_NEGATIONS = frozenset("no not never neither nor none without cannot only except unless".split())
"""Words that change the meaning of a sentence."""


def remove_repeats(drafts: Sequence[Draft]) -> tuple[Draft, ...]:
    """Remove sentences that occur earlier, and blocks that become empty."""
    seen: set[str] = set()

    def first(claim: Claim) -> Claim | None:
        mark = "" if claim.column else normalize_sentence(claim.statement)
        if mark in seen:
            return None
        seen.update([mark] if mark else [])
        return claim

    return tuple(_replace_claims(draft, [first(claim) for claim in draft.claims]) for draft in drafts)


def remove_restatements(drafts: Sequence[Draft]) -> tuple[Draft, ...]:
    """Remove restatements; their citations are added to the sentence that they restate."""
    statements: list[_Statement] = []

    def first(claim: Claim) -> _Statement | None:
        statement = _Statement(claim)
        known = next((earlier for earlier in statements if earlier.restates(statement)), None)
        if known is None:
            statements.append(statement)
            return statement
        known.restatements.append(claim)
        return None

    found = [[first(claim) for claim in draft.claims] for draft in drafts]
    return tuple(
        _replace_claims(draft, [statement.merge_citations() if statement else None for statement in ones])
        for draft, ones in zip(drafts, found, strict=True)
    )


@dataclass
class _Statement:
    """Sentence with its restatements."""

    claim: Claim
    restatements: list[Claim] = field(default_factory=list)

    def __post_init__(self) -> None:
        text = self.claim.statement
        self.mark = "" if self.claim.column else normalize_sentence(text)
        self.stems = stem_words(text)
        self.content = frozenset(self.stems)
        self.turning = [word for word in split_words(text) if word in _NEGATIONS or word.endswith(("n't", "n’t"))]
        self.figures = [word for word in split_words(text) if any(letter.isdigit() for letter in word)]

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


def _replace_claims(draft: Draft, claims: Sequence[Claim | None]) -> Draft:
    """Return a draft with its claims replaced in order; None removes a claim."""
    places = iter(claims)
    blocks: list[Block] = []
    for block in draft.blocks:
        if kept := tuple(claim for claim in itertools.islice(places, len(block.claims)) if claim is not None):
            blocks.append(block.model_copy(update={"claims": kept}))
    return draft.model_copy(update={"blocks": tuple(blocks)})
