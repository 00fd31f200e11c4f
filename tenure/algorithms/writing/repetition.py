"""Remove repetition from a report: the first occurrence of a statement stays.

Equal sentences are repetition everywhere; between sections, nearly equal ones are too. The citations of a removed
restatement are added to the first sentence. Cells of tables and parts of excerpts are exempt, since they would leave
holes; a section loses an excerpt that an earlier one has, unless it has no other.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from tenure.algorithms.claims.citations import MAX_CITATIONS
from tenure.algorithms.text.sentences import normalize_sentence, split_words, stem_words
from tenure.algorithms.writing.brief import NOT_CERTAIN, NOT_FOUND
from tenure.contracts.base import ChunkId
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
        mark = "" if _is_exempt(claim) else normalize_sentence(claim.statement)
        if mark in seen:
            return None
        seen.update([mark] if mark else [])
        return claim

    return tuple(_replace_claims(draft, [first(claim) for claim in draft.claims]) for draft in drafts)


def _is_exempt(claim: Claim) -> bool:
    """Return whether a claim may be repeated: a cell, a part of an excerpt, or a gap without a subject of its own."""
    return bool(claim.column or claim.part) or claim.text in (NOT_CERTAIN, NOT_FOUND)


def remove_repeated_excerpts(drafts: Sequence[Draft]) -> tuple[Draft, ...]:
    """Remove excerpts of passages that an earlier draft quotes; a draft keeps its first one if it has no other."""
    seen: set[ChunkId] = set()
    shortened: list[Draft] = []
    for draft in drafts:
        excerpts = [block for block in draft.blocks if block.kind == "excerpt"]
        new = [block for block in excerpts if _find_chunk(block) not in seen] or excerpts[:1]
        seen.update(map(_find_chunk, new))
        kept = tuple(block for block in draft.blocks if block.kind != "excerpt" or block in new)
        shortened.append(draft.model_copy(update={"blocks": kept}))
    return tuple(shortened)


def _find_chunk(block: Block) -> ChunkId:
    """Return the passage of an excerpt."""
    return next((citation.chunk for claim in block.claims for citation in claim.citations), ChunkId(""))


def remove_restatements(drafts: Sequence[Draft], subjects: Sequence[str] = ()) -> tuple[Draft, ...]:
    """Remove restatements; their citations are added to the sentence that they restate.

    Args:
        drafts: drafts in reading order.
        subjects: subject of each draft; of two equal statements the one whose draft's subject has more of its words
            stays, and the first one without such a difference.
    """
    stems = [frozenset(stem_words(subject)) for subject in subjects] or [frozenset[str]()] * len(drafts)
    statements: list[_Statement] = []

    def place(claim: Claim, subject: frozenset[str]) -> _Statement:
        statement = _Statement(claim, subject)
        known = next((n for n, earlier in enumerate(statements) if earlier.restates(statement)), None)
        if known is None:
            statements.append(statement)
        elif statement.affinity > statements[known].affinity:
            statement.absorb(statements[known])
            statements[known] = statement
        else:
            statements[known].absorb(statement)
        return statement

    found = [[place(claim, subject) for claim in draft.claims] for draft, subject in zip(drafts, stems, strict=True)]
    return tuple(
        _replace_claims(draft, [statement.merge_citations() if statement.is_kept else None for statement in ones])
        for draft, ones in zip(drafts, found, strict=True)
    )


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


def _replace_claims(draft: Draft, claims: Sequence[Claim | None]) -> Draft:
    """Return a draft with its claims replaced in order; None removes a claim."""
    places = iter(claims)
    blocks: list[Block] = []
    for block in draft.blocks:
        if kept := tuple(claim for claim in itertools.islice(places, len(block.claims)) if claim is not None):
            blocks.append(block.model_copy(update={"claims": kept}))
    return draft.model_copy(update={"blocks": tuple(blocks)})
