"""Tests of the normal form."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tenure.sources.document.normal_form import NormalFormWriter, clean_text, collapse_whitespace, strip_lines


def test_blocks_are_separated_by_one_blank_line() -> None:
    """Blocks of every kind are separated by one blank line."""
    form = NormalFormWriter()
    form.add_heading(2, "  Title\n here ")
    form.add_paragraph("one\n two")
    form.add_literal("\n\nif x:\n\ty()  \n\n\nz\n")
    form.add_row(["a", "b\nc"])
    form.add_row(["1", ""])
    form.add_lines(["first", "", "second "])

    assert form.text == (
        "## Title here\n\none two\n\n    if x:\n        y()\n\n    z\n\n| a | b c |\n| 1 |  |\n\nfirst\nsecond"
    )
    assert form.first_heading == "Title here"


def test_length_is_the_length_of_the_text() -> None:
    """The length is known after every block."""
    form = NormalFormWriter()
    writes: list[Callable[[], None]] = [
        lambda: form.add_heading(1, "Title"),
        lambda: form.add_row(["a", "b"]),
        lambda: form.add_row(["c"]),
        lambda: form.add_lines(["one", "two"]),
        lambda: form.add_literal("x\n\ny"),
        form.open_list,
        form.open_item,
        lambda: form.add_paragraph("item"),
        form.close_list,
        lambda: form.add_paragraph("end"),
    ]
    assert form.length == 0
    for write in writes:
        write()
        assert form.length == len(form.text)


def test_list_items_are_one_line_and_indented_by_depth() -> None:
    """Paragraphs of an item share its line, nested items are indented, and numbers count up."""
    form = NormalFormWriter()
    form.open_list(3)
    form.open_item()
    form.add_paragraph("three")
    form.add_paragraph("more")
    form.open_list()
    form.open_item()
    form.add_paragraph("nested")
    form.close_item()
    form.close_list()
    form.close_item()
    form.open_item()
    form.add_paragraph("four")
    form.add_literal("code")
    form.add_paragraph("after")
    form.close_item()
    form.close_list()

    assert form.text == "3. three more\n  - nested\n4. four\n\n    code\n\nafter"


def test_a_paragraph_never_reads_as_a_heading() -> None:
    """Leading hashes of a paragraph are removed; other hashes remain."""
    form = NormalFormWriter()
    form.add_paragraph("## not a heading")
    form.add_paragraph("#include <a.h>")

    assert form.text == "not a heading\n\n#include <a.h>"


def test_empty_blocks_are_omitted() -> None:
    """Blocks without words are not written."""
    form = NormalFormWriter()
    form.add_heading(1, " ")
    form.add_paragraph("\u200b")
    form.add_literal(" \n")
    form.add_row(["", " "])
    form.add_lines([""])
    form.open_list()
    form.open_item()
    form.close_item()
    form.close_list()

    assert form.text == ""


def test_clean_text_removes_invisible_characters() -> None:
    """NUL, control characters, soft hyphens, zero-width spaces and marks are removed, and the rest is NFC."""
    assert clean_text("a\x00b\u00adc\u200bd\ufeffe\x07\r\nf\u2028g e\u0301") == "abcde\nf\ng \u00e9"
    assert collapse_whitespace("a\u00a0b\n\tc") == "a b c"
    assert strip_lines("\n\n  a \n\tb\t\n\n") == "  a\n\tb"


@given(st.text())
def test_clean_text_is_idempotent(text: str) -> None:
    """Cleaning a cleaned text changes nothing."""
    assert clean_text(clean_text(text)) == clean_text(text)
