"""Citations by construction: whatever a writer wrote, the quote is the source's own words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.claims.citations import MAX_QUOTE, cite
from tests.passages import passage

RISES = "The dough rises for two hours."
OVEN = "Then the oven is heated. It must be very hot."
DOUGH = passage(f"{RISES} {OVEN}", start=100)
PIECES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["# Title", "- An item of it.", "One sentence. Another one!", "    code = 1", "| a | b |", ""]),
    st.integers(1, 300).map(lambda n: "word " * n),
)
TEXTS = st.lists(PIECES, min_size=1, max_size=6).map("\n".join).filter(lambda text: bool(text.strip()))


@given(TEXTS, st.integers(0, 5000), st.one_of(st.text(max_size=80), PIECES), st.lists(st.integers(-3, 5), max_size=4))
@settings(deadline=None)
def test_every_quote_is_verbatim(text: str, start: int, claim: str, numbers: list[int]) -> None:
    """For any passage, claim and numbers, the quote is the source's text at the quote's offsets."""
    found = cite(claim, numbers, [passage(text, start=start), passage(text, "other", start)])

    stored = "#" * start + text
    assert found.text == claim
    assert [c.source for c in found.citations] == [
        ("bread", "other")[n - 1] for n in dict.fromkeys(numbers) if n in (1, 2)
    ]
    for citation in found.citations:
        assert citation.quote == stored[citation.start : citation.end]
        assert len(citation.quote) <= MAX_QUOTE


def test_the_quote_is_the_sentence_that_says_it() -> None:
    """Of several sentences the one with the claim's own words is quoted, and the claim is supported."""
    claim = cite("then the OVEN is heated", [1], [DOUGH])

    assert [(c.start, c.quote) for c in claim.citations] == [(131, "Then the oven is heated.")]
    assert (claim.status, claim.confidence) == ("supported", 1.0)


def test_two_neighbouring_sentences_can_be_one_quote() -> None:
    """A claim that runs over a full stop is quoted with both sentences."""
    assert [c.quote for c in cite(f"{RISES} Then the oven is heated.", [1], [DOUGH]).citations] == [
        f"{RISES} Then the oven is heated."
    ]


def test_other_words_for_the_same_are_not_called_supported() -> None:
    """A paraphrase is quoted with the nearest sentence and left to a verifier."""
    claim = cite("Two hours is what a rising dough takes.", [1], [DOUGH])

    assert [c.quote for c in claim.citations] == [RISES]
    assert (claim.status, claim.confidence) == ("unverified", None)


def test_a_sentence_that_names_its_source_is_still_its_words() -> None:
    """Where the twin put the title for "this document", the rest is the quote."""
    words = "This guide treats the baking of rye bread."
    claim = cite("“Rye” treats the baking of rye bread.", [1], [passage(words, title="Rye")])

    assert claim.status == "supported"


@pytest.mark.parametrize(("numbers", "status"), [((), "missing_citation"), ((0, 7, -1), "invalid_source")])
def test_a_claim_without_a_passage_says_why(numbers: tuple[int, ...], status: str) -> None:
    """Naming nothing and naming what was never given are told apart."""
    claim = cite("Bread is old.", numbers, [DOUGH])

    assert (claim.status, claim.citations) == (status, ())


def test_a_wrong_number_beside_a_right_one_is_left_out() -> None:
    """The passages that exist are cited once each, in the order named."""
    second = passage("Milk curdles.", "cheese")

    assert [c.source for c in cite("Both.", [2, 9, 1, 2], [DOUGH, second]).citations] == ["cheese", "bread"]


def test_code_and_tables_are_quoted_by_line() -> None:
    """Where there is no prose a line is quoted, without its indentation."""
    claim = cite("bake sets degrees", [1], [passage("    def bake(degrees):\n        return 1\n\n", kind="code")])

    assert [(c.start, c.quote) for c in claim.citations] == [(4, "def bake(degrees):")]


def test_a_passage_of_blanks_is_quoted_as_it_is() -> None:
    """Nothing but white space is still a verbatim quote, and supports nothing it does not say."""
    claim = cite("Bread is old.", [1], [passage("   \n ")])

    assert [c.quote for c in claim.citations] == ["   \n "]
    assert claim.status == "unverified"


def test_a_very_long_sentence_is_quoted_up_to_the_limit() -> None:
    """A quote ends where the limit is, in the middle of a sentence if need be."""
    assert [len(c.quote) for c in cite("word", [1], [passage("word " * 500)]).citations] == [MAX_QUOTE]


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("X is safe.", "It is not true that X is safe."),
        ("art is made", "Smart is made by hand."),
        ("…!", "Bread is made from flour."),
        ("Rye.", "Bread is made from rye flour."),
    ],
)
def test_words_cut_out_of_a_sentence_are_not_its_support(claim: str, said: str) -> None:
    """A claim is verbatim only if it is whole sentences: a piece of one may say the opposite."""
    cited = cite(claim, [1], [passage(said, title="Rye")])

    assert (cited.status, cited.confidence) == ("unverified", None)


def test_an_opening_sentence_may_name_its_document() -> None:
    """A sentence about "this document" is still its own words when the document is named instead."""
    cited = cite("PEP 8 gives conventions.", [1], [passage("This PEP gives conventions.", title="PEP 8: Style")])

    assert (cited.status, cited.citations[0].quote) == ("supported", "This PEP gives conventions.")
