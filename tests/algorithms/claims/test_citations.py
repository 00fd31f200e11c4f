"""Tests of citations."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.claims.citations import (
    MAX_CITATIONS,
    MAX_CODE_CHARACTERS,
    MAX_GAP_WORDS,
    MAX_LEAD_IN_WORDS,
    MAX_PASSAGE_CHARACTERS,
    MAX_QUOTE_CHARACTERS,
    cite_claim,
    cite_code,
    cite_nearest,
)
from tenure.contracts.evidence.passages import ClaimKind
from tests.support.passages import passage

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
    """For any passage, claim and numbers, the quote is the source text at its offsets."""
    found = cite_claim(claim, numbers, [passage(text, start=start), passage(text, "other", start)])

    stored = "#" * start + text
    assert found.text == claim
    assert [c.source for c in found.citations] == [
        ("bread", "other")[n - 1] for n in dict.fromkeys(numbers) if n in (1, 2)
    ]
    for citation in found.citations:
        assert citation.quote == stored[citation.start : citation.end]
        assert len(citation.quote) <= MAX_PASSAGE_CHARACTERS


def test_verbatim_sentence_is_quoted() -> None:
    """The sentence with the words of the claim is quoted, and the claim is supported."""
    claim = cite_claim("then the OVEN is heated", [1], [DOUGH])

    assert [(c.start, c.quote) for c in claim.citations] == [(131, "Then the oven is heated.")]
    assert (claim.status, claim.confidence) == ("supported", 1.0)


def test_adjacent_sentences_can_be_one_quote() -> None:
    """A claim that spans two sentences is quoted with both."""
    assert [c.quote for c in cite_claim(f"{RISES} Then the oven is heated.", [1], [DOUGH]).citations] == [
        f"{RISES} Then the oven is heated."
    ]


def test_items_of_a_list_can_be_one_quote() -> None:
    """A claim on several rows is quoted with all of them, a claim on one row with that row."""
    rows = [
        f"For branch {name}, the change in loans is {change}" for name, change in (("Hill", 7), ("Sea", 9), ("Weir", 4))
    ]
    source = passage("Loans by branch:\n\n" + "\n".join(f"- {row}" for row in rows))

    both = cite_claim("The loans of Hill changed by 7 and those of Sea by 9.", [1], [source])
    one = cite_claim("The change in loans of the branch Weir is 4.", [1], [source])

    assert both.citations[0].quote == f"{rows[0]}\n- {rows[1]}"
    assert one.citations[0].quote == rows[2]


def test_paraphrase_is_not_yet_supported() -> None:
    """A paraphrase is quoted with the nearest sentence and left to a verifier."""
    claim = cite_claim("Two hours is what a rising dough takes.", [1], [DOUGH])

    assert [c.quote for c in claim.citations] == [RISES]
    assert (claim.status, claim.confidence) == ("unverified", None)


def test_claim_with_title_is_verbatim() -> None:
    """A claim with the title instead of "this document" is verbatim."""
    words = "This guide treats the baking of rye bread."
    claim = cite_claim("“Rye” treats the baking of rye bread.", [1], [passage(words, title="Rye")])

    assert claim.status == "supported"


@pytest.mark.parametrize(("numbers", "status"), [((), "missing_citation"), ((0, 7, -1), "invalid_source")])
def test_claim_without_citation_has_a_reason(numbers: tuple[int, ...], status: str) -> None:
    """A claim without passage numbers and one with invalid numbers have different statuses."""
    claim = cite_claim("Bread is old.", numbers, [DOUGH])

    assert (claim.status, claim.citations) == (status, ())


def test_invalid_passage_numbers_are_ignored() -> None:
    """Existing passages are cited once each, in the given order."""
    second = passage("Milk curdles.", "cheese")

    assert [c.source for c in cite_claim("Both.", [2, 9, 1, 2], [DOUGH, second]).citations] == ["cheese", "bread"]


def test_code_and_tables_are_quoted_by_line() -> None:
    """Text without prose is quoted by line, without indentation."""
    claim = cite_claim("bake sets degrees", [1], [passage("    def bake(degrees):\n        return 1\n\n", kind="code")])

    assert [(c.start, c.quote) for c in claim.citations] == [(4, "def bake(degrees):")]


def test_blank_passage_is_quoted() -> None:
    """White space is a verbatim quote and supports no claim."""
    claim = cite_claim("Bread is old.", [1], [passage("   \n ")])

    assert [c.quote for c in claim.citations] == ["   \n "]
    assert claim.status == "unverified"


def test_long_sentence_quote_is_truncated() -> None:
    """A quote ends at the limit, even inside a sentence."""
    assert [len(c.quote) for c in cite_claim("word", [1], [passage("word " * 500)]).citations] == [MAX_QUOTE_CHARACTERS]


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("X is safe.", "It is not true that X is safe."),
        ("art is made", "Smart is made by hand."),
        ("…!", "Bread is made from flour."),
        ("Rye.", "Bread is made from rye flour."),
    ],
)
def test_part_of_a_sentence_is_not_verbatim(claim: str, said: str) -> None:
    """Only whole sentences are verbatim: a part of one may state the opposite."""
    cited = cite_claim(claim, [1], [passage(said, title="Rye")])

    assert (cited.status, cited.confidence) == ("unverified", None)


def test_title_replaces_this_document() -> None:
    """A sentence about "this document" is verbatim with the title instead."""
    cited = cite_claim("PEP 8 gives conventions.", [1], [passage("This PEP gives conventions.", title="PEP 8: Style")])

    assert (cited.status, cited.citations[0].quote) == ("supported", "This PEP gives conventions.")


def test_citations_are_limited_to_what_the_prompts_name() -> None:
    """Of very many passages only the first are cited."""
    assert len(cite_claim(RISES, range(1, 20), [DOUGH] * 20).citations) == MAX_CITATIONS


@pytest.mark.parametrize(
    ("text", "kind", "kept"),
    [
        ("The passages do not say how hot the oven is.", "gap", True),
        ("These are the steps of baking:", "lead_in", True),
        ("The oven has 230 degrees.", "gap", False),
        ("word " * (MAX_LEAD_IN_WORDS + 1), "lead_in", False),
        ("word " * (MAX_GAP_WORDS + 1), "gap", False),
        ("Bake it for two hours.", "inference", True),
    ],
)
def test_a_claim_that_may_state_facts_is_a_fact(text: str, kind: ClaimKind, kept: bool) -> None:
    """A gap or a lead-in with a figure of its own, or a long one, is a fact and needs a passage."""
    claim = cite_claim(text, [], [DOUGH], kind=kind)

    assert claim.kind == (kind if kept else "fact")
    assert claim.status == ("unverified" if kept and kind != "inference" else "missing_citation")


def test_a_gap_may_name_a_figure_of_a_passage() -> None:
    """A figure that a passage contains does not make a gap a fact."""
    claim = cite_claim("Why it takes 48 hours is not said.", [], [passage("It takes 48 hours.")], kind="gap")

    assert claim.kind == "gap"


def test_a_gap_may_name_a_figure_of_a_title() -> None:
    """A document that is named by its number does not make a gap a fact."""
    claim = cite_claim(
        "Whether PEP 751 is final is not said.", [], [passage("It locks.", title="PEP 751: Locks")], kind="gap"
    )

    assert claim.kind == "gap"


def test_words_of_the_title_do_not_choose_a_quote() -> None:
    """A claim on a document is quoted by what it says of it, and not by the shortest sentence that names it."""
    listed = passage("- PEP: 751\n- Title: A lock file\n- Status: Final\n- Created: 2024", title="PEP 751: A lock file")
    prose = passage(
        "Rye breads keep. Rye breads help because the same loaf is baked every week and no other one can slip in."
    )

    assert cite_claim("PEP 751 is final.", [1], [listed]).citations[0].quote == "Status: Final"
    bread = cite_claim("Bread of rye is baked as the same loaf, and no other can slip in.", [1], [prose])
    assert "same loaf" in bread.citations[0].quote


def test_a_cell_is_quoted_with_its_row_and_column() -> None:
    """Of several places with the words of a cell, the one that also names its row is quoted, also in a table."""
    text = "Kafka allows 2 MB.\nRedis allows 2 MB.\n\n| Valkey | 2 MB |\n| KeyDB | 4 MB |\n"

    quotes = [
        cite_claim(cell, [1], [passage(text)], label=row, column="Limit").citations[0].quote
        for row, cell in (("Redis", "2 MB"), ("Valkey", "2 MB"), ("KeyDB", "four"))
    ]

    assert quotes == ["Redis allows 2 MB.", "| Valkey | 2 MB |", "| KeyDB | 4 MB |"]
    assert cite_claim("2 MB", [1], [passage("2 MB.")], label="Redis").status == "unverified"


CODE = "Bake it so:\n\n    def bake(dough):\n        return oven(\n            dough)\n\nThen eat."


def test_code_is_quoted_verbatim() -> None:
    """Code with other white space is that of the passage without its indentation, and needs no check."""
    claim = cite_code(
        "```python\ndef bake(dough):\n  return oven( dough)\n```", [1], [passage("x"), passage(CODE, "s", 7)]
    )

    assert claim is not None
    assert claim.text == "def bake(dough):\n    return oven(\n        dough)"
    assert (claim.status, claim.citations[0].source) == ("supported", "s")
    assert claim.citations[0].quote == CODE[claim.citations[0].start - 7 : claim.citations[0].end - 7]


def test_code_in_the_middle_of_a_line_is_quoted() -> None:
    """Code after other words starts where it starts."""
    claim = cite_code("bake(dough)", [1, 9], [passage("Call bake(dough) twice.")])

    assert claim is not None
    assert claim.citations[0].quote == "bake(dough)"


@pytest.mark.parametrize("code", ["", "``` ```", "def burn(dough): pass", "x " * MAX_CODE_CHARACTERS])
def test_invented_code_is_no_quote(code: str) -> None:
    """Code that no passage contains, very long code and no code are not quoted."""
    assert cite_code(code, [1], [passage(CODE), passage("x " * MAX_CODE_CHARACTERS)]) is None


GERMAN = "Das Brot ruht über Nacht. Der Ofen wird auf 250 Grad geheizt. Dann wird das Brot eine Stunde gebacken."
JAPANESE = "パンは一晩休ませます。オーブンは250度に温めます。その後、パンを一時間焼きます。"


@pytest.mark.parametrize(
    ("claim", "text", "quote"),
    [
        ("Es wird eine Stunde lang gebacken, und das ist nicht lang.", GERMAN, GERMAN[62:]),
        ("パンを焼く時間は一時間です。", JAPANESE, "その後、パンを一時間焼きます。"),
        ("The oven has to be at 250 °C.", GERMAN, "Der Ofen wird auf 250 Grad geheizt."),
        ("The oven has to be at 250 °C.", JAPANESE, "オーブンは250度に温めます。"),
        ("It is baked for one hour.", GERMAN, GERMAN),
        ("It is baked for one hour.", JAPANESE, JAPANESE),
    ],
)
def test_a_quote_in_another_language_has_the_sentence_or_the_whole_passage(claim: str, text: str, quote: str) -> None:
    """Words of the same language choose a sentence, and numbers in another one; without any, the passage is quoted."""
    assert cite_nearest(claim, passage(text)).quote == quote
