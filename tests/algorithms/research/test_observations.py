"""Observations: what a thought reads of passages, claims and comparisons."""

from tenure.algorithms.research.observations import (
    MIN_PASSAGE_LENGTH,
    NumberedPassage,
    format_claims,
    format_comparison,
    format_passages,
    format_quotes,
    truncate_lines,
)
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Citation, Claim
from tenure.contracts.research.tools import ComparedPoint
from tests.passages import passage

BREAD = "Bread is baked. The oven is hot. The dough of the bread rises for two hours. Cats sleep."


def citation(chunk: str, quote: str = "It rises.") -> Citation:
    return Citation(source=SourceId("bread"), chunk=ChunkId(chunk), start=0, end=len(quote), quote=quote)


def claim(text: str, *chunks: str) -> Claim:
    return Claim(text=text, citations=tuple(map(citation, chunks)))


def test_a_passage_is_told_by_its_sentences_on_the_subject() -> None:
    """Where there is no room for all, the sentences that share most words stay, in their order."""
    found = format_passages([NumberedPassage(3, passage(BREAD))], "How long does the dough of bread rise?", 80)

    assert found == "[3] Bread: Bread is baked. The dough of the bread rises for two hours."


def test_what_is_short_is_told_whole() -> None:
    """With room for it a passage loses nothing; code is told as its words."""
    code = passage("def push(x):\n    return x", kind="code", title="queue.py")

    assert format_passages([NumberedPassage(1, passage(BREAD)), NumberedPassage(2, code)], "oven", 4000) == (
        f"[1] Bread: {BREAD}\n[2] queue.py: def push(x): return x"
    )


def test_passages_without_room_are_left_out() -> None:
    """Each passage that is told gets its least share, and the whole stays within its bounds."""
    many = [NumberedPassage(n, passage(BREAD * 10, start=n)) for n in range(1, 40)]
    text = format_passages(many, "bread", 1000)

    assert len(text) <= 1000
    assert len(text.splitlines()) == 1000 // (MIN_PASSAGE_LENGTH + 1)


def test_nothing_found_is_told_as_nothing() -> None:
    """No passages make no text."""
    assert format_passages([], "bread", 100) == ""


def test_claims_are_marked_by_the_numbers_of_their_passages() -> None:
    """A passage that is cited twice is named once, one without a number is not named."""
    numbers = {ChunkId("a"): 4, ChunkId("b"): 2}

    assert format_claims([claim("It rises.", "a", "b", "a"), claim("It burns.", "z")], numbers) == [
        "It rises. [4][2]",
        "It burns.",
    ]


def test_a_comparison_names_who_says_what() -> None:
    """Each point says what the documents have to do with each other, and both sides."""
    numbers = {ChunkId("a"): 1, ChunkId("b"): 2}
    apart = ComparedPoint(
        relation="different", about="hours", first=claim("It takes two.", "a"), second=claim("It takes nine.", "b")
    )

    assert format_comparison(apart, numbers) == "They differ (hours): It takes two. [1] / It takes nine. [2]"
    assert format_comparison(ComparedPoint(relation="only_second", second=claim("It burns.", "b")), numbers) == (
        "Only the second says: It burns. [2]"
    )


def test_quotes_stand_behind_their_passage() -> None:
    """A quote over several lines is one line; one of a passage without number is left out."""
    assert format_quotes([citation("a", "It\nrises."), citation("z")], {ChunkId("a"): 7}) == ["[7] It rises."]


def test_lines_are_cut_to_what_fits() -> None:
    """Lines stay within their characters."""
    assert truncate_lines(["one two", "three"], 100) == "one two\nthree"
    assert len(truncate_lines(["word " * 50] * 3, 100)) <= 100
