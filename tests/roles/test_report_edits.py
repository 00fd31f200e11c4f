"""Tests of the parser of a review: its entries, whatever a model writes around them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tenure.roles.report_edits import (
    MAX_CONSIDERATIONS,
    MAX_CRITIQUE_CHARACTERS,
    MAX_EDITS,
    MAX_QUERY_CHARACTERS,
    ReportReviewerOutput,
    parse_review,
)

REVIEW = """The draft is good, but some things matter.

SECTION Making bread: REWRITE – it gives a wrong time.
SECTION Cheese – NONE – it holds.
WRONG 12 refuted 0.95: passage 3 says two hours.
WRONG 13 neutral
REPLACE 12: It rises for two hours [3, 8].
DELETE 14, 17 and 18 – they repeat others.
OPEN 20 and 21: passage 5 gives the age of wheat only.
ADD 0: It depends on the flour [1, i].
BLOCK 12:
| Flour | Time |
|---|---|
| Rye | long [3] |

SEARCH: ageing of rye bread
CONSIDER: A comparison by region would help.

I hope that helps. REPLACE 99 was not needed.
"""


def read(text: str) -> ReportReviewerOutput:
    return parse_review(f"{text}\nDONE")


def test_conflicts_and_the_verdict_on_the_report_are_read() -> None:
    """Two passages with their words, parts of the question with an answer, and errors that remain; prose is none."""
    review = read(
        "CONFLICT [3, 8] high: levels of priority – “two levels” /\n“32 levels [a]”\n"
        "- **CONFLICT** 4 and 5: the year\nCONFLICT: none\n"
        "CONFLICT [6, 7]: the default\nCONFLICT [6, 9] – low: the port\n"
        "ANSWERED yes: how bread is made\nANSWERED **partly** – what it costs\n\nANSWERED by nobody.\n"
        "ISSUE: It is vague.\nISSUE: none"
    )

    assert [(one.passages, one.severity, one.about, one.quotes) for one in review.conflicts] == [
        ((3, 8), "high", "levels of priority", ("two levels", "32 levels [a]")),
        ((4, 5), "medium", "the year", ()),
        ((6, 7), "medium", "the default", ()),
        ((6, 9), "low", "the port", ()),
    ]
    assert [(one.part, one.answered) for one in review.answered] == [
        ("how bread is made", "yes"),
        ("what it costs", "partly"),
    ]
    assert review.issues == ("It is vague.",)


def test_each_entry_is_read() -> None:
    """Verdicts, edits, searches and considerations are read; other lines are left out."""
    review = parse_review(REVIEW)

    assert [(one.heading, one.action, one.critique) for one in review.sections] == [
        ("Making bread", "REWRITE", "it gives a wrong time."),
        ("Cheese", "NONE", ""),
    ]
    assert [(one.sentence, one.verdict, one.confidence) for one in review.wrong] == [
        (12, "refuted", 0.95),
        (13, "neutral", 0.9),
    ]
    assert [(one.number, one.sentence.text, one.sentence.passages) for one in review.replace] == [
        (12, "It rises for two hours.", (3, 8))
    ]
    assert (review.delete, review.still_open) == ((14, 17, 18), (20, 21))
    assert [(one.number, one.sentence.text, one.sentence.kind) for one in review.add] == [
        (0, "It depends on the flour.", "inference")
    ]
    assert [(one.number, [block.kind for block in one.blocks]) for one in review.blocks] == [(12, ["table"])]
    assert review.queries == ("ageing of rye bread",)
    assert review.considerations == ("A comparison by region would help.",)
    assert review.is_judged


@pytest.mark.parametrize(
    "line",
    [
        "REPLACE 12: It rises [3].",
        "**REPLACE 12:** It rises [3].",
        "**REPLACE** 12: It rises [3].",
        "- REPLACE 12: It rises [3].",
        "  * **REPLACE 12**: It rises [3].",
        "3. REPLACE 12: It rises [3].",
        "### REPLACE 12: It rises [3].",
        "`REPLACE 12:` It rises [3].",
        "> REPLACE [12] It rises [3].",
        "REPLACE 12 – It rises [3].",
        "REPLACE #12:\n\nIt rises\n[3].",
    ],
)
def test_emphasis_bullets_and_numbers_around_a_keyword_do_not_matter(line: str) -> None:
    """Every form in which models write an entry is the same edit."""
    assert read(line) == read("REPLACE 12: It rises [3].")
    assert [one.number for one in read(line).replace] == [12]


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("DELETE 14", (14,)),
        ("DELETE 14, 17 – both repeat sentence 3.", (14, 17)),
        ("DELETE 14; 17 18 and 19", (14, 17, 18, 19)),
        ("DELETE: 20-22, 25", (20, 21, 22, 25)),
        ("DELETE 14 – 20 minutes are stated nowhere.", (14,)),
        ("DELETE 14: 3 of its passages are old.", (14,)),
    ],
)
def test_numbers_to_delete_are_a_list(line: str, numbers: tuple[int, ...]) -> None:
    """Numbers are listed in every form; numbers of a reason after them are not among them."""
    assert read(line).delete == numbers


@pytest.mark.parametrize(
    ("line", "verdicts"),
    [
        ("WRONG 3, 5 neutral 0.8: passage 2 is about wheat.", [(3, "neutral", 0.8), (5, "neutral", 0.8)]),
        ("WRONG 3 REFUTED (1.0)", [(3, "refuted", 1.0)]),
        ("WRONG 3: refuted, 0.7", [(3, "refuted", 0.7)]),
        ("WRONG 3 – its passages do not say so", [(3, "neutral", 0.9)]),
        ("WRONG 3 0.6 neutral", [(3, "neutral", 0.9)]),
        ("WRONG 3 refuted 1.7", [(3, "refuted", 1.0)]),
    ],
)
def test_verdicts_name_sentences(line: str, verdicts: list[tuple[int, str, float]]) -> None:
    """A verdict on several sentences is one on each; the default is `neutral`, with a confidence of 0.9."""
    assert [(one.sentence, one.verdict, one.confidence) for one in read(line).wrong] == verdicts


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("SECTION Bread: SEARCH – no price.", ("Bread", "SEARCH", "no price.")),
        ("SECTION “Bread”: REWRITE it misses the price.", ("Bread", "REWRITE", "it misses the price.")),
        ("**SECTION Bread: a craft** – **REWRITE**: no price.", ("Bread: a craft", "REWRITE", "no price.")),
        ("SECTION Bread, rye: REWRITE, because it is old.", ("Bread, rye", "REWRITE", "because it is old.")),
        ("SECTION Bread – NONE – it holds.", ("Bread", "NONE", "")),
        ("SECTION Bread", ("Bread", "NONE", "")),
        ("SECTION: REWRITE – it does not decide.", ("", "REWRITE", "it does not decide.")),
    ],
)
def test_verdicts_name_sections(line: str, verdict: tuple[str, str, str]) -> None:
    """A heading loses quotes and emphasis; a section that needs nothing has no critique."""
    (found,) = read(line).sections

    assert (found.heading, found.action, found.critique) == verdict


def test_edits_may_take_several_lines() -> None:
    """A sentence ends at a blank line, after which models remark; blocks end at the next entry, code included."""
    review = parse_review(
        "REPLACE 3: It rises\nfor two hours [1].\n\nThis is better.\n"
        "BLOCK 4:\n- One [1]\n\n```sql [2]\nDELETE FROM bread\nADD COLUMN rye\n```\n\nMore [3].\nDELETE 7"
    )

    assert [one.sentence.text for one in review.replace] == ["It rises for two hours."]
    assert [block.kind for block in review.blocks[0].blocks] == ["bullets", "code", "paragraph"]
    assert review.blocks[0].blocks[1].sentences[0].text == "DELETE FROM bread\nADD COLUMN rye"
    assert review.delete == (7,)


def test_entries_without_content_are_left_out() -> None:
    """Entries without a number or a text change nothing, and “none” is no search."""
    review = read(
        "DELETE that\nREPLACE 3:\nADD: It rises [1].\nBLOCK 4:\nSEARCH: none.\nCONSIDER: –\nSEARCH: rye\nSEARCH: rye"
    )

    assert review == ReportReviewerOutput(queries=("rye",))


@pytest.mark.parametrize("text", ["", "The draft is fine.", "Replace 3: it rises.", "DELETE all of it", "UNDONE"])
def test_a_text_without_entries_is_refused(text: str) -> None:
    """The message names the entries that the model has to write."""
    with pytest.raises(ValueError, match="write entries such as REPLACE, DELETE or SEARCH, or DONE alone"):
        parse_review(text)


def test_a_review_is_limited() -> None:
    """No kind of entry has more than its limit, and long texts are shortened."""
    review = parse_review(
        "\n".join(
            f"SECTION S{n}: REWRITE {'y' * 2000}\nWRONG {n} neutral\nREPLACE {n}: x [1].\nDELETE {n}\nADD {n}: x [1].\n"
            f"BLOCK {n}: x [1].\nSEARCH: {n} {'q' * 500}\nCONSIDER: {n} {'c' * 2000}"
            for n in range(100)
        )
    )

    assert {len(review.model_dump()[name]) for name in ("sections", "wrong", "replace", "delete", "add", "blocks")} == {
        MAX_EDITS
    }
    assert (len(review.queries), len(review.considerations)) == (MAX_EDITS, MAX_CONSIDERATIONS)
    assert len(review.sections[0].critique) == len(review.considerations[0]) == MAX_CRITIQUE_CHARACTERS
    assert len(review.queries[0]) == MAX_QUERY_CHARACTERS


PIECES = st.sampled_from(
    [
        *("SECTION ", "WRONG ", "REPLACE ", "DELETE ", "ADD ", "BLOCK ", "SEARCH: ", "CONSIDER ", "DONE", "\n", "\n\n"),
        *(
            "12",
            "3, 5",
            "1-9",
            "9999",
            ": ",
            " – ",
            "[1]",
            "[i]",
            "It rises. ",
            "NONE",
            "REWRITE",
            "refuted",
            "neutral",
        ),
        *("0.9", "1.7", "**", "`", "- ", "1. ", "> ", "| a | b |\n|---|---|\n| c | d |\n", "```", "😀", "\x00", "“"),
    ]
)


@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=60).map("".join)))
@settings(deadline=None, max_examples=400)
def test_every_text_is_a_review_or_refused(text: str) -> None:
    """Whatever a model writes gives a review within all limits or an error with a message for the model."""
    try:
        review = parse_review(text)
    except ValueError as refused:
        assert not isinstance(refused, ValidationError)
        return
    assert review == ReportReviewerOutput.model_validate_json(review.model_dump_json())
    assert len(review.delete) <= MAX_EDITS and all(0 <= one.confidence <= 1 for one in review.wrong)
    assert all(one.sentence.text.strip() for one in (*review.replace, *review.add))
    assert len(review.model_dump_json()) <= 2_000 + 300 * len(text)
