"""Tests of splitting long paragraphs."""

from tenure.algorithms.text.sentences import split_words
from tenure.algorithms.writing.paragraphs import MAX_WORDS, split_long_paragraphs
from tenure.contracts.evidence.passages import Block, Claim, Draft


def sentence(number: int, start: str = "Bread") -> Claim:
    return Claim(text=f"{start} number {number} " + "is made of good flour and of clean water " * 2 + ".")


def split(*claims: Claim, kind: str = "paragraph") -> list[list[Claim]]:
    block = Block.model_validate({"kind": kind, "heading": "Part", "claims": claims})
    blocks = split_long_paragraphs(Draft(blocks=(block,))).blocks
    assert all((part.kind, part.heading) == (kind, "Part") for part in blocks)
    return [list(part.claims) for part in blocks]


def test_a_long_paragraph_is_split_into_similar_parts() -> None:
    """All sentences remain in order, and no part is long."""
    claims = [sentence(number) for number in range(15)]

    parts = split(*claims)

    assert [claim for part in parts for claim in part] == claims
    lengths = [sum(len(split_words(claim.text)) for claim in part) for part in parts]
    assert len(parts) > 1 and max(lengths) <= MAX_WORDS and min(lengths) >= max(lengths) / 2


def test_a_part_does_not_start_with_a_back_reference() -> None:
    """A sentence that refers to the one before it stays with it."""
    parts = split(*(sentence(number, "This" if number == 4 else "Bread") for number in range(8)))

    assert [part[0].text.split()[0] for part in parts] == ["Bread"] * len(parts)
    assert len(parts) == 2


def test_short_paragraphs_and_lists_are_kept() -> None:
    """A short paragraph, a single long sentence and a list are not split."""
    assert len(split(sentence(1), sentence(2))) == 1
    assert len(split(Claim(text="very " * 300))) == 1
    assert len(split(*(sentence(number) for number in range(15)), kind="bullets")) == 1
