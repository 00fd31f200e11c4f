"""Repetition: what a report says a second time is taken out at its second place.

The same words are repetition anywhere. Between sections, so is the same thing in nearly the same words; there the
second source is kept as further support of the first sentence.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from tenure.algorithms.claims.citations import MAX_CITATIONS
from tenure.algorithms.text.sentences import fingerprint, stems, words
from tenure.contracts.evidence.passages import Block, Claim, Draft

_ALIKE = 0.9
"""Share of content words, in the same order, from which two sentences say the same."""
_LEAST_WORDS = 5
"""Content words of a sentence that can be told from another by them."""
_TURNING = frozenset("no not never neither nor none without cannot only except unless".split())
"""Words that change what the others say."""


def without_repeats(drafts: Sequence[Draft]) -> tuple[Draft, ...]:
    """Return the drafts with every sentence kept only where it stands first, blocks left empty dropped."""
    said: set[str] = set()

    def first(claim: Claim) -> Claim | None:
        mark = fingerprint(claim.text)
        if mark in said:
            return None
        said.update([mark] if mark else [])
        return claim

    return tuple(_with(draft, [first(claim) for claim in draft.claims]) for draft in drafts)


def without_restatements(drafts: Sequence[Draft]) -> tuple[Draft, ...]:
    """Return the drafts with everything said only once; what a restatement cites supports what it restates."""
    said: list[_Said] = []

    def first(claim: Claim) -> _Said | None:
        one = _Said(claim)
        known = next((earlier for earlier in said if earlier.says(one)), None)
        if known is None:
            said.append(one)
            return one
        known.also.append(claim)
        return None

    found = [[first(claim) for claim in draft.claims] for draft in drafts]
    return tuple(
        _with(draft, [one.supported() if one else None for one in ones])
        for draft, ones in zip(drafts, found, strict=True)
    )


@dataclass
class _Said:
    """A sentence that was said, and those that said it again."""

    claim: Claim
    also: list[Claim] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mark = fingerprint(self.claim.text)
        self.stems = stems(self.claim.text)
        self.content = frozenset(self.stems)
        self.turning = [word for word in words(self.claim.text) if word in _TURNING or word.endswith(("n't", "n’t"))]
        self.figures = [word for word in words(self.claim.text) if any(letter.isdigit() for letter in word)]

    def says(self, other: "_Said") -> bool:
        """Tell whether another sentence says the same."""
        if not self.mark or self.mark == other.mark:
            return bool(self.mark)
        if min(len(self.stems), len(other.stems)) < _LEAST_WORDS:
            return False
        shared = len(self.content & other.content) / len(self.content | other.content)
        return (
            shared >= _ALIKE
            and (self.turning, self.figures) == (other.turning, other.figures)
            and SequenceMatcher(None, self.stems, other.stems, autojunk=False).ratio() >= _ALIKE
        )

    def supported(self) -> Claim:
        """Return the sentence with what the others cite beside its own citations."""
        own = {(c.source, c.start, c.end): c for claim in (self.claim, *self.also) for c in claim.citations}
        return self.claim.model_copy(update={"citations": tuple(own.values())[:MAX_CITATIONS]})


def _with(draft: Draft, claims: Sequence[Claim | None]) -> Draft:
    """Return a draft with other claims in the places of its own; None leaves a place empty."""
    places = iter(claims)
    blocks: list[Block] = []
    for block in draft.blocks:
        if kept := tuple(claim for claim in itertools.islice(places, len(block.claims)) if claim is not None):
            blocks.append(block.model_copy(update={"claims": kept}))
    return draft.model_copy(update={"blocks": tuple(blocks)})
