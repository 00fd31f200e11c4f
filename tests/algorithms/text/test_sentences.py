"""Sentences and words of stored text."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.sentences import MAX_ITEM_WORDS, fingerprint, foreign, sentences, stems, words

LINES = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="aB. !?-*1)#|é中😀", max_size=30),
    st.sampled_from(
        [
            "",
            "# A heading",
            "- An item of a list.",
            "1. First.",
            "    code = 1",
            "| a | b |",
            "Dr. Lee said so. It is.",
            "- ",
            "C\u00a0. B",
        ]
    ),
    st.integers(1, 90).map(lambda n: "- " + "Some words here. " * n),
)
TEXTS = st.lists(LINES, max_size=12).map("\n".join)


@given(TEXTS)
@settings(deadline=None)
def test_sentences_are_verbatim_and_in_order(text: str) -> None:
    """Each sentence is the text between its offsets, to the letter, and none overlaps the next."""
    found = sentences(text)

    assert all(text[s.start : s.end] == s.text == s.text.strip() != "" for s in found)
    assert all(before.end <= after.start for before, after in pairwise(found))
    assert all(before.block <= after.block for before, after in pairwise(found))


def test_headings_code_and_tables_have_no_sentences() -> None:
    """Only prose and list items are read as sentences."""
    text = "# A heading. Of two sentences.\n\nProse.\n\n    code = 1. And more.\n\n\tx.\n\n| a cell. | b. |\n\n- Item."

    assert [(s.text, s.kind) for s in sentences(text)] == [("Prose.", "prose"), ("Item.", "item")]


def test_a_paragraph_is_cut_into_sentences_of_one_block() -> None:
    """Full stops of abbreviations do not end a sentence."""
    found = sentences("Dr. Lee bakes, e.g. on Mondays. He sells on Tuesdays.\n\nAnother paragraph.")

    assert [(s.text, s.block) for s in found] == [
        ("Dr. Lee bakes, e.g. on Mondays.", 1),
        ("He sells on Tuesdays.", 1),
        ("Another paragraph.", 2),
    ]


def test_the_items_of_a_list_share_a_block() -> None:
    """Items belong together, also with blank lines between them, and lose their markers."""
    found = sentences("What it takes:\n\n- Flour. White or brown.\n\n* Water\n2) Salt\n\nThen wait.")

    assert [(s.text, s.block, s.kind) for s in found] == [
        ("What it takes:", 1, "prose"),
        ("Flour. White or brown.", 2, "item"),
        ("Water", 2, "item"),
        ("Salt", 2, "item"),
        ("Then wait.", 3, "prose"),
    ]


def test_a_long_item_is_cut_like_prose() -> None:
    """An item too long for one sentence is cut at its full stops."""
    found = sentences("- " + "Flour is milled here. " * MAX_ITEM_WORDS)

    assert len(found) == MAX_ITEM_WORDS
    assert {(s.text, s.kind) for s in found} == {("Flour is milled here.", "item")}


def test_an_item_without_words_is_no_sentence() -> None:
    """A marker with nothing behind it has no sentence, and does not part the list."""
    assert [(s.text, s.block) for s in sentences("- Flour\n- \n- Water")] == [("Flour", 1), ("Water", 1)]


@pytest.mark.parametrize("blank", ["\u00a0", "\u202f", "\u3000"])
def test_blanks_of_several_bytes_do_not_stop_the_cutting(blank: str) -> None:
    """Text with typographic blanks before its marks is cut like any other, to the letter."""
    text = f"Take vitamin C{blank}. Then bake for{blank}an hour."

    assert "".join(s.text for s in sentences(text)).replace(" ", "") == text.replace(" ", "")


def test_words_keep_hyphens_and_apostrophes() -> None:
    """A word is letters and digits, joined by hyphens or apostrophes, in lower case."""
    assert words("The baker's sour-dough – 2 days_old!") == ["the", "baker's", "sour-dough", "2", "days", "old"]


def test_stems_are_content_words_reduced() -> None:
    """Stop words and single letters go, digits stay, forms of a word become one."""
    assert stems("How are the breads baked and the bread baking in x 2 ovens?") == [
        "bread",
        "bake",
        "bread",
        "bake",
        "2",
        "oven",
    ]


@pytest.mark.parametrize("other", ["BREAD is good", "“Bread” is: good!", "  bread\nis   good."])
def test_a_fingerprint_is_blind_to_case_marks_and_spacing(other: str) -> None:
    """Sentences of the same words have the same fingerprint."""
    assert fingerprint("Bread is good.") == fingerprint(other)


@given(st.text())
@settings(deadline=None)
def test_a_fingerprint_is_its_own_fingerprint(text: str) -> None:
    """Taking it twice changes nothing."""
    assert fingerprint(text) == fingerprint(fingerprint(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The bread is baked.", False),
        ("Bread rises slowly.", False),
        ("Das Brot wird im Ofen gebacken.", True),
        ("面包由面粉制成。", True),
        ("", False),
    ],
)
def test_a_statement_in_another_language_is_told(text: str, expected: bool) -> None:
    """Sentences without an English function word, or in another script, are foreign; short ones are not judged."""
    assert foreign(text) is expected
