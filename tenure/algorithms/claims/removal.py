"""Remove claims from drafts so that the rest still reads as text.

The sentence after a removed one loses a leading connective such as "However", a lead-in whose sentences are gone is
removed with them, and a single sentence that is left of a paragraph joins the paragraph before it.
"""

from collections.abc import Collection, Sequence

from tenure.algorithms.text.excerpts import make_standalone
from tenure.contracts.evidence.passages import Block, Claim, Draft


def remove_claims(drafts: Sequence[Draft], removed: Collection[int]) -> tuple[Draft, ...]:
    """Return drafts without the claims with some indexes, counted through all drafts in reading order."""
    if not removed:
        return tuple(drafts)
    first = 0
    shortened: list[Draft] = []
    for draft in drafts:
        count = len(draft.claims)
        positions = {index - first for index in removed if first <= index < first + count}
        shortened.append(_remove_from_draft(draft, positions) if positions else draft)
        first += count
    return tuple(shortened)


def _remove_from_draft(draft: Draft, removed: Collection[int]) -> Draft:
    blocks: list[Block] = []
    first = 0
    for number, block in enumerate(draft.blocks):
        positions = range(first, first + len(block.claims))
        first += len(block.claims)
        is_removed = [position in removed for position in positions]
        following = draft.blocks[number + 1] if number + 1 < len(draft.blocks) else None
        loses_next = following is not None and all(p in removed for p in range(first, first + len(following.claims)))
        remaining = _keep_claims(block, is_removed, loses_next=loses_next)
        if not remaining:
            continue
        shortened = block.model_copy(update={"claims": remaining})
        if any(is_removed) and blocks and _is_remainder(block, shortened, blocks[-1]):
            blocks[-1] = blocks[-1].model_copy(update={"claims": (*blocks[-1].claims, *remaining)})
        else:
            blocks.append(shortened)
    return draft.model_copy(update={"blocks": tuple(blocks)})


def _keep_claims(block: Block, is_removed: Sequence[bool], *, loses_next: bool) -> tuple[Claim, ...]:
    """Return the claims of a block that stay, by whether each is removed, and whether the next block is as a whole."""
    remaining: list[Claim] = []
    for index, claim in enumerate(block.claims):
        following = is_removed[index + 1 :]
        introduces_nothing = claim.kind == "lead_in" and (all(following) if following else loses_next)
        if is_removed[index] or introduces_nothing:
            continue
        follows_gap = index > 0 and is_removed[index - 1] and block.kind == "paragraph" and claim.text
        remaining.append(claim.model_copy(update={"text": make_standalone(claim.text, "")}) if follows_gap else claim)
    return tuple(remaining)


def _is_remainder(block: Block, shortened: Block, before: Block) -> bool:
    """Return whether a paragraph has shrunk to one sentence that can join the paragraph before it."""
    has_same_form = block.model_copy(update={"claims": ()}) == before.model_copy(update={"claims": ()})
    return len(shortened.claims) == 1 < len(block.claims) and block.kind == "paragraph" and has_same_form
