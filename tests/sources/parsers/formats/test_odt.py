"""Tests of the parser of OpenDocument texts and presentations."""

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.odt import parse_odp, parse_odt
from tests.sources.packages import LAUGHS, pack_zeros, package

LIMIT = 10_000_000
NAMES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
BODY = """<text:tracked-changes><text:p>Deleted.</text:p></text:tracked-changes>
<text:h text:outline-level="1">A <text:span>study</text:span></text:h>
<text:section><text:p>Some<text:s/>words<text:note>
<text:p>a note</text:p></text:note> and<text:tab/>more<text:line-break/>here.<!-- no --></text:p></text:section>
<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list>
</text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p>
</table:table-cell><table:table-cell/></table:table-row></table:table>"""
META = f"""<office:document-meta {NAMES}><office:meta><dc:title>Named</dc:title><dc:creator>Bo Ek</dc:creator>
<meta:initial-creator>Ann Lee</meta:initial-creator><meta:creation-date>2024-05-06T10:00:00</meta:creation-date>
</office:meta></office:document-meta>"""


def make_odt(body: str = BODY, manifest: str = "<manifest/>", before: str = "", **more: str) -> bytes:
    content = f"<office:body><office:text>{body}</office:text></office:body>"
    return package(
        **{
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"{before}<office:document-content {NAMES}>{content}</office:document-content>",
            "META-INF__manifest.xml": manifest,
            **more,
        }
    )


def test_structure_is_parsed() -> None:
    """Headings, paragraphs, nested lists and tables are parsed without deleted text; a note follows its paragraph."""
    document = parse_odt(make_odt(**{"meta.xml": META}), LIMIT)

    assert (
        document.text == "# A study\n\nSome words and more here.\n\nFootnote: a note\n\n- one\n  - deep\n\n| a b |  |"
    )
    assert (document.title, document.author, document.published) == ("Named", "Ann Lee", "2024-05-06")


def test_comments_headers_and_footers_are_parsed() -> None:
    """Comments and endnotes follow their block; headers and footers come last, each once and not as a number alone."""
    head = "<text:p>Annual report</text:p>"
    styles = f"<o:s xmlns:o='o' xmlns:style='s' {NAMES}>" + "".join(
        f"<style:{kind}>{words}</style:{kind}>"
        for kind, words in (("header", head), ("header", head), ("footer", "<text:p>12</text:p>"))
    )
    body = (
        "<text:p>Costs<office:annotation><dc:creator>Bo</dc:creator><text:p>Really?</text:p></office:annotation> rose."
        '<text:note text:note-class="endnote"><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>By half.</text:p></text:note-body></text:note></text:p>"
    )

    document = parse_odt(make_odt(body, **{"styles.xml": f"{styles}</o:s>"}), LIMIT)

    assert document.text == "Costs rose.\n\nComment: Really?\n\nEndnote: By half.\n\nHeader: Annual report"


def make_odp(*slides: str) -> bytes:
    names = (
        f'{NAMES} xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
        'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
    )
    pages = "".join(f"<draw:page>{slide}</draw:page>" for slide in slides)
    content = f"<office:body><office:presentation>{pages}</office:presentation></office:body>"
    return package(
        mimetype="application/vnd.oasis.opendocument.presentation",
        **{"content.xml": f"<office:document-content {names}>{content}</office:document-content>", "meta.xml": META},
    )


def test_slides_of_presentations_are_pages() -> None:
    """The title of a slide is a heading; its shapes, tables and notes follow, and each slide is a page."""
    document = parse_odp(
        make_odp(
            "<draw:frame><draw:text-box><text:p>Rye needs six hours.</text:p></draw:text-box></draw:frame>"
            '<draw:frame presentation:class="title"><draw:text-box><text:p>Bread</text:p></draw:text-box></draw:frame>'
            "<presentation:notes><draw:frame><draw:text-box><text:p>Say it.</text:p></draw:text-box></draw:frame>"
            "</presentation:notes>",
            "<draw:frame><table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
            "</table:table-row></table:table></draw:frame>",
        ),
        LIMIT,
    )

    assert document.text == "# Bread\n\nRye needs six hours.\n\nSay it.\n\n# Slide 2\n\n| a |"
    assert [document.text[start:].split("\n")[0] for start in document.pages] == ["# Bread", "# Slide 2"]
    assert document.author == "Ann Lee"


def test_a_presentation_without_words_has_no_text() -> None:
    """The numbers of slides are no text."""
    with pytest.raises(Unreadable, match="has no text"):
        parse_odp(make_odp("", "<draw:frame/>"), LIMIT)


def test_the_first_heading_is_the_title_without_metadata() -> None:
    """Without metadata, the first heading is the title."""
    assert parse_odt(make_odt(), LIMIT).title == "A study"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no package", "is not a valid OpenDocument file"),
        (package(a="x"), "is not a valid OpenDocument file"),
        (make_odt("<text:p>"), "is not a valid OpenDocument file"),
        (make_odt("<text:p>&e;</text:p>", before=LAUGHS), "is not a valid OpenDocument file"),
        (make_odt(manifest="<m><encryption-data/></m>"), "is encrypted"),
        (make_odt("<text:section>" * 210 + "</text:section>" * 210), "is nested too deeply"),
    ],
)
def test_unreadable_files_have_a_reason(data: bytes, reason: str) -> None:
    """Encrypted, damaged and deep texts are unreadable, each with its reason."""
    with pytest.raises(Unreadable) as caught:
        parse_odt(data, LIMIT)

    assert caught.value.reason == reason


def test_an_exploding_file_is_unreadable() -> None:
    """The content is measured before it is unpacked."""
    with pytest.raises(Unreadable, match="unpacks to far more than a document"):
        parse_odt(pack_zeros(LIMIT * 10 + 1), LIMIT)
