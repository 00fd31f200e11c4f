"""Tests of headings and footnotes by their type."""

from tenure.sources.parsers.formats.pdf import parse_pdf
from tests.sources.pdfs import SENTENCES, typeset


def test_headings_are_told_by_their_type() -> None:
    """Larger type is a higher level, bold type of the size of the text a lower one; a bold sentence is text."""
    body = (
        f"#text(16pt)[Bees of the County]\n\n{SENTENCES[0]}\n\n*Methods*\n\n{SENTENCES[1]}\n\n"
        f"*Results*\n\n{SENTENCES[2]}\n\n*Nothing else was counted.*\n\n{SENTENCES[3]}"
    )
    text = parse_pdf(typeset(f"{body}\n\n" + "\n\n".join(SENTENCES * 2))).text

    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Bees of the County",
        "## Methods",
        "## Results",
    ]
    assert "\n\nNothing else was counted.\n\n" in text


def test_a_footnote_does_not_interrupt_the_sentence_of_two_pages() -> None:
    """A paragraph that continues on the next page is whole, with the footnote before it, on its page."""
    filler = "\n\n".join(SENTENCES[n % 4] for n in range(12))
    body = f"{filler}\n\n" + " ".join(SENTENCES[:2]) + "#footnote[Counted by hand, as in the years before.] "
    document = parse_pdf(typeset(body + " ".join(SENTENCES * 2)))

    assert len(document.pages) == 2
    note = document.text.index("Counted by hand")
    paragraph = document.text.index(SENTENCES[0], note)
    assert document.pages[0] < note < paragraph < document.pages[1]
    assert "\n" not in document.text[paragraph : document.pages[1] + 20]
