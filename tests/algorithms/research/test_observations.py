"""Tests of the formatting of observations."""

from tenure.algorithms.research.observations import (
    MIN_PASSAGE_LENGTH,
    NumberedPassage,
    format_claim,
    format_comparison,
    format_passages,
    format_quotes,
    list_cited_chunks,
)
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Citation, Claim
from tenure.contracts.research.tools import ComparedPoint
from tests.support.passages import passage

BREAD = "Bread is baked. The oven is hot. The dough of the bread rises for two hours. Cats sleep."


def citation(chunk: str, quote: str = "It rises.") -> Citation:
    return Citation(source=SourceId("bread"), chunk=ChunkId(chunk), start=0, end=len(quote), quote=quote)


def claim(text: str, *chunks: str) -> Claim:
    return Claim(text=text, citations=tuple(map(citation, chunks)))


def test_relevant_sentences_are_kept() -> None:
    """The sentences that share most words with the topic stay, in their order."""
    found = format_passages([NumberedPassage(3, passage(BREAD))], "How long does the dough of bread rise?", 80)

    assert found == "[3] Bread: Bread is baked. The dough of the bread rises for two hours."


def test_short_passages_are_complete() -> None:
    """A passage that fits is complete; code is joined to one line."""
    code = passage("def push(x):\n    return x", kind="code", title="queue.py")

    assert format_passages([NumberedPassage(1, passage(BREAD)), NumberedPassage(2, code)], "oven", 4000) == (
        f"[1] Bread: {BREAD}\n[2] queue.py: def push(x): return x"
    )


def test_passages_without_room_are_left_out() -> None:
    """Every passage gets its minimum length, within the total limit."""
    many = [NumberedPassage(n, passage(BREAD * 10, start=n)) for n in range(1, 40)]
    text = format_passages(many, "bread", 1000)

    assert len(text) <= 1000
    assert len(text.splitlines()) == 1000 // (MIN_PASSAGE_LENGTH + 1)


def test_no_passages_give_an_empty_text() -> None:
    """No passages give an empty text."""
    assert format_passages([], "bread", 100) == ""


def test_claims_show_their_passage_numbers() -> None:
    """Each number appears once; passages without a number are left out."""
    numbers = {ChunkId("a"): 4, ChunkId("b"): 2}

    assert format_claim(claim("It rises.", "a", "b", "a"), numbers) == "It rises. [4][2]"
    assert format_claim(claim("It burns.", "z"), numbers) == "It burns."


def test_comparison_shows_relation_and_both_sides() -> None:
    """Comparison shows relation and both sides."""
    numbers = {ChunkId("a"): 1, ChunkId("b"): 2}
    apart = ComparedPoint(
        relation="different", about="hours", first=claim("It takes two.", "a"), second=claim("It takes nine.", "b")
    )

    assert format_comparison(apart, numbers) == "They differ (hours): It takes two. [1] / It takes nine. [2]"
    assert format_comparison(ComparedPoint(relation="only_second", second=claim("It burns.", "b")), numbers) == (
        "Found in the second only: It burns. [2]"
    )


def test_quotes_follow_their_passage_number() -> None:
    """Quotes are joined to one line; a quote of a passage without a number is left out."""
    assert format_quotes([citation("a", "It\nrises."), citation("z")], {ChunkId("a"): 7}) == ["[7] It rises."]


def test_cited_chunks_are_listed_once() -> None:
    """Each chunk is listed once, in the order of the claims."""
    assert list_cited_chunks((claim("Both are old.", "b", "a"), claim("Bread is old.", "b"))) == ("b", "a")
