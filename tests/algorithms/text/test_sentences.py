"""Tests of sentence splitting, words and stems."""

from itertools import pairwise

import pytest
import sentencex
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.sentences import (
    MAX_ITEM_WORDS,
    guess_language,
    is_non_english,
    normalize_sentence,
    split_sentences,
    split_words,
    stem_words,
)

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
    """Each sentence is the text between its offsets, and sentences do not overlap."""
    found = split_sentences(text)

    assert all(text[s.start : s.end] == s.text == s.text.strip() != "" for s in found)
    assert all(before.end <= after.start for before, after in pairwise(found))
    assert all(before.block <= after.block for before, after in pairwise(found))


def test_headings_code_and_tables_have_no_sentences() -> None:
    """Only prose and list items have sentences."""
    text = "# A heading. Of two sentences.\n\nProse.\n\n    code = 1. And more.\n\n\tx.\n\n| a cell. | b. |\n\n- Item."

    assert [(s.text, s.kind) for s in split_sentences(text)] == [("Prose.", "prose"), ("Item.", "item")]


def test_sentences_of_a_paragraph_share_a_block() -> None:
    """Full stops of abbreviations do not end a sentence."""
    found = split_sentences("Dr. Lee bakes, e.g. on Mondays. He sells on Tuesdays.\n\nAnother paragraph.")

    assert [(s.text, s.block) for s in found] == [
        ("Dr. Lee bakes, e.g. on Mondays.", 1),
        ("He sells on Tuesdays.", 1),
        ("Another paragraph.", 2),
    ]


def test_list_items_share_a_block() -> None:
    """Items belong together, also with blank lines between them, and lose their markers."""
    found = split_sentences("What it takes:\n\n- Flour. White or brown.\n\n* Water\n2) Salt\n\nThen wait.")

    assert [(s.text, s.block, s.kind) for s in found] == [
        ("What it takes:", 1, "prose"),
        ("Flour. White or brown.", 2, "item"),
        ("Water", 2, "item"),
        ("Salt", 2, "item"),
        ("Then wait.", 3, "prose"),
    ]


def test_long_list_item_is_split() -> None:
    """An item too long for one sentence is split at its full stops."""
    found = split_sentences("- " + "Flour is milled here. " * MAX_ITEM_WORDS)

    assert len(found) == MAX_ITEM_WORDS
    assert {(s.text, s.kind) for s in found} == {("Flour is milled here.", "item")}


def test_empty_list_item_has_no_sentence() -> None:
    """A marker without text has no sentence and does not split the list."""
    assert [(s.text, s.block) for s in split_sentences("- Flour\n- \n- Water")] == [("Flour", 1), ("Water", 1)]


@pytest.mark.parametrize("blank", ["\u00a0", "\u202f", "\u3000"])
def test_multi_byte_blanks_are_supported(blank: str) -> None:
    """Text with typographic blanks before punctuation is split verbatim."""
    text = f"Take vitamin C{blank}. Then bake for{blank}an hour."

    assert "".join(s.text for s in split_sentences(text)).replace(" ", "") == text.replace(" ", "")


def test_words_keep_hyphens_and_apostrophes() -> None:
    """A word consists of letters and digits, joined by hyphens or apostrophes, in lower case."""
    assert split_words("The baker's sour-dough – 2 days_old!") == ["the", "baker's", "sour-dough", "2", "days", "old"]


def test_stems_of_content_words() -> None:
    """Stop words and single letters are omitted, digits stay, forms of a word share a stem."""
    assert stem_words("How are the breads baked and the bread baking in x 2 ovens?") == [
        "bread",
        "bake",
        "bread",
        "bake",
        "2",
        "oven",
    ]


@pytest.mark.parametrize("other", ["BREAD is good", "“Bread” is: good!", "  bread\nis   good."])
def test_normalised_sentence_ignores_case_and_punctuation(other: str) -> None:
    """Sentences of the same words have the same normal form."""
    assert normalize_sentence("Bread is good.") == normalize_sentence(other)


@given(st.text())
@settings(deadline=None)
def test_sentence_normalisation_is_idempotent(text: str) -> None:
    """Normalising twice changes nothing."""
    assert normalize_sentence(text) == normalize_sentence(normalize_sentence(text))


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
def test_non_english_statements_are_detected(text: str, expected: bool) -> None:
    """Text without an English function word or in another script is not English; short text is not classified."""
    assert is_non_english(text) is expected


def test_no_sentence_ends_inside_a_word() -> None:
    """A version such as 3.X is one word; a sentence that ends with a number ends there."""
    text = "An extension for 3.X works with 3.Y and later. It was made in 3. Nothing follows."

    assert [sentence.text for sentence in split_sentences(text)] == [
        "An extension for 3.X works with 3.Y and later.",
        "It was made in 3.",
        "Nothing follows.",
    ]


@pytest.mark.parametrize("name", ["io.TextIOWrapper", "dict.__setitem__", "asyncio.Lock()", "ssl.SSLContext()"])
def test_no_sentence_ends_inside_a_name(name: str) -> None:
    """A name of code with a point is one word, and a missing blank after a sentence is none."""
    assert [one.text for one in split_sentences(f"It calls {name} at once.Nothing follows.")] == [
        f"It calls {name} at once.",
        "Nothing follows.",
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Seit dem 1. Januar gilt das auch für alle. Es ist neu.", ["Seit dem 1. Januar gilt das auch für alle."]),
        ("Véase la pág. 5 para los detalles. Fin.", ["Véase la pág. 5 para los detalles."]),
        ("В 2024 г. он приехал сюда. Конец.", ["В 2024 г. он приехал сюда."]),
        ("备份保存30天。然后删除。", ["备份保存30天。"]),
    ],
)
def test_sentences_end_as_in_their_language(text: str, sentences: list[str]) -> None:
    """An ordinal number of German and an abbreviation of Spanish or Russian end no sentence."""
    assert [sentence.text for sentence in split_sentences(text)][:1] == sentences


def test_a_line_without_a_mark_inside_is_one_sentence() -> None:
    """No language ends a sentence in a Latin line without a full stop, exclamation or question mark inside."""
    letters = [*map(chr, (*range(0x20, 0x370), *range(0x2010, 0x2020)))]
    lines = [f"Eins zwei{c} Drei{c}vier {c}Fünf{c}{c} Sechs." for c in letters if not c.isspace() and c not in ".!?"]

    for language in ("en", "de", "fr", "es", "pt", "it", "nl", "pl"):
        for line in lines:
            assert len(sentencex.get_sentence_boundaries(language, line)) == 1, (language, line)
    assert all(
        [sentence.text for sentence in split_sentences(f"Ein Wort: {line}")] == [f"Ein Wort: {line}"] for line in lines
    )


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The backups are kept in the data centre for thirty days."),
        ("en", "Rotate logs nightly."),
        ("de", "Das Öl wird alle 400 Betriebsstunden gewechselt."),
        ("fr", "L'huile est changée toutes les 500 heures."),
        ("es", "El aceite se cambia cada 500 horas."),
        ("it", "L'olio si cambia ogni 500 ore con la pompa ferma."),
        ("pl", "Olej jest wymieniany co 500 godzin przez serwis."),
        ("ru", "Масло меняют каждые 500 часов."),
        ("ja", "オイルは500時間ごとに交換します。"),
        ("zh", "机油每500小时更换一次。"),
    ],
)
def test_the_language_of_a_sentence_is_guessed(language: str, text: str) -> None:
    """Two function words or the script decide; a text without them is read as English."""
    assert guess_language(text) == language
