"""Apply the edits of a reviewer to a draft, whose sentences are numbered from 1 in reading order.

An edit that names a sentence that does not exist is refused and reported; every sentence that no edit names stays.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tenure.contracts.evidence.passages import Block, Claim, Draft

_FORM = frozenset(Claim.model_fields) - {"text", "kind", "status", "confidence", "citations", "tainted", "query"}
"""Fields with the place of a claim in its block; a replacement keeps them."""
_RUNNING_TEXT = ("paragraph", "bullets", "numbered")
"""Kinds of blocks that take further sentences."""


class Addition(NamedTuple):
    """New sentence of a draft."""

    after: int
    """Number of the sentence before it; 0 for the start of the text."""
    claim: Claim


class BlockAddition(NamedTuple):
    """New block of a draft."""

    after: int
    """Number of a sentence of the block before it; 0 for the start of the text."""
    block: Block


@dataclass(frozen=True)
class DraftEdits:
    """Edits of a draft, by the numbers of its sentences."""

    replacements: Mapping[int, Claim] = field(default_factory=dict)
    """New sentences by the numbers of those that they replace."""
    deletions: Collection[int] = ()
    """Numbers of sentences to delete; a sentence that is replaced as well stays."""
    additions: Sequence[Addition] = ()
    """New sentences; those after the same sentence keep their order."""
    blocks: Sequence[BlockAddition] = ()
    """New blocks; those after the same block keep their order."""


class EditedDraft(NamedTuple):
    """Draft after edits."""

    draft: Draft
    refused: tuple[int, ...]
    """Numbers without a sentence that edits named, in ascending order."""


def apply_edits(draft: Draft, edits: DraftEdits) -> EditedDraft:
    """Return a draft with all edits that name sentences of it, and the numbers that do not exist."""
    count = len(draft.claims)
    targets = {*edits.replacements, *edits.deletions}
    anchors = {*(addition.after for addition in edits.additions), *(addition.after for addition in edits.blocks)}
    refused = {n for n in targets if not 1 <= n <= count} | {n for n in anchors if not 0 <= n <= count}
    blocks = [*(addition.block for addition in edits.blocks if addition.after == 0)]
    opening = tuple(addition.claim for addition in edits.additions if addition.after == 0)
    first = 1
    for block in draft.blocks:
        numbers = range(first, first + len(block.claims))
        first += len(block.claims)
        blocks += _edit_block(block, numbers, edits, opening)
        opening = ()
        blocks += [addition.block for addition in edits.blocks if addition.after in numbers]
    if opening:
        blocks.insert(0, Block(claims=opening))
    edited = draft.model_copy(update={"blocks": tuple(block for block in blocks if block.claims)})
    return EditedDraft(edited, tuple(sorted(refused)))


def _edit_block(block: Block, numbers: range, edits: DraftEdits, opening: tuple[Claim, ...]) -> list[Block]:
    """Return a block with its edits and the opening sentences; those that it cannot take form paragraphs around it."""
    takes_sentences = block.kind in _RUNNING_TEXT
    claims: list[Claim] = [*(opening if takes_sentences else ())]
    apart: list[Claim] = []
    for number, claim in zip(numbers, block.claims, strict=True):
        if (replacement := edits.replacements.get(number)) is not None:
            claims.append(replacement.model_copy(update={name: getattr(claim, name) for name in _FORM}))
        elif number not in edits.deletions:
            claims.append(claim)
        added = [addition.claim for addition in edits.additions if addition.after == number]
        (claims if takes_sentences else apart).extend(added)
    return [
        *([Block(claims=opening)] if opening and not takes_sentences else []),
        block.model_copy(update={"claims": tuple(claims)}),
        *([Block(claims=tuple(apart))] if apart else []),
    ]


def list_named_sentences(edits: DraftEdits) -> frozenset[int]:
    """Return the numbers of the sentences that edits replace or delete."""
    return frozenset((*edits.replacements, *edits.deletions))
