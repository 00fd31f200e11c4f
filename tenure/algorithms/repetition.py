"""Repetition: the same sentence twice in one report is taken out at its second place."""

from collections.abc import Sequence

from tenure.algorithms.text import fingerprint
from tenure.contracts.evidence import Block, Draft


def without_repeats(drafts: Sequence[Draft]) -> tuple[Draft, ...]:
    """Return the drafts with every sentence kept only where it stands first, blocks left empty dropped."""
    said: set[str] = set()
    return tuple(_once(draft, said) for draft in drafts)


def _once(draft: Draft, said: set[str]) -> Draft:
    blocks: list[Block] = []
    for block in draft.blocks:
        kept = []
        for claim in block.claims:
            mark = fingerprint(claim.text)
            if not mark or mark not in said:
                said.add(mark)
                kept.append(claim)
        if kept:
            blocks.append(block.model_copy(update={"claims": tuple(kept)}))
    return draft.model_copy(update={"blocks": tuple(blocks)})
