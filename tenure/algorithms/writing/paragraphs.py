"""Split long paragraphs at the ends of sentences."""

from typing import Final

from tenure.algorithms.text.excerpts import has_back_reference
from tenure.algorithms.text.sentences import split_words
from tenure.contracts.evidence.passages import Block, Claim, Draft

PARAGRAPH_WORDS: Final = 100
"""Length of a paragraph that is easy to read, in words; the prompts of writers name it."""
MAX_WORDS: Final = 130
"""Length in words from which a paragraph is split."""


def split_long_paragraphs(draft: Draft) -> Draft:
    """Split paragraphs of more than `MAX_WORDS` words into parts of similar length.

    A part does not start with a sentence that refers to the one before it.
    """
    blocks = [part for block in draft.blocks for part in _split(block)]
    return draft.model_copy(update={"blocks": tuple(blocks)})


def _split(block: Block) -> list[Block]:
    lengths = [len(split_words(claim.text)) for claim in block.claims]
    total = sum(lengths)
    if block.kind != "paragraph" or total <= MAX_WORDS:
        return [block]
    parts = -(-total // PARAGRAPH_WORDS)
    groups: list[list[Claim]] = [[]]
    written = 0
    for claim, length in zip(block.claims, lengths, strict=True):
        is_due = written + length / 2 > len(groups) * total / parts
        if groups[-1] and is_due and not has_back_reference(claim.text):
            groups.append([])
        groups[-1].append(claim)
        written += length
    return [block.model_copy(update={"claims": tuple(group)}) for group in groups]
