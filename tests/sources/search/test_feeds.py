"""Tests of search results in XML."""

import pytest

from tenure.sources.search.feeds import parse_xml, read_entries
from tenure.sources.search.provider import SearchResult

ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>Results</title>
<link rel="self" href="https://engine.example/self"/>
<entry><title>Rye &amp; spelt</title><id>urn:1</id><updated>2026-02-01T00:00:00Z</updated>
<published>2026-01-05T00:00:00Z</published><link rel="related" href="https://a.org/x.pdf"/>
<link href="https://a.org/x"/><summary type="html">A &lt;b&gt;grass&lt;/b&gt;.</summary></entry></feed>"""

RSS = b"""<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><link>https://engine.example</link>
<item><title>Rye</title><link> https://a.org/x </link><description>A grass.</description>
<content:encoded>Long.</content:encoded><pubDate>Mon, 05 Jan 2026 10:00:00 GMT</pubDate></item>
<item><guid>https://a.org/y</guid></item><item><title>No address</title><guid>7</guid></item></channel></rss>"""

RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
xmlns:dc="http://purl.org/dc/elements/1.1/"><channel/><item><title>Rye</title><link>https://a.org/x</link>
<dc:date>2026-01-05</dc:date></item></rdf:RDF>"""


def test_atom() -> None:
    """The URL is the alternate link; the date of publication precedes that of an update."""
    assert read_entries(parse_xml(ATOM)) == [
        SearchResult("https://a.org/x", "Rye & spelt", "A grass.", "2026-01-05T00:00:00Z")
    ]


def test_rss() -> None:
    """A description is preferred to the full text, and a permanent link replaces a missing one."""
    first, second, third = read_entries(parse_xml(RSS))

    assert first == SearchResult("https://a.org/x", "Rye", "A grass.", "Mon, 05 Jan 2026 10:00:00 GMT")
    assert (second.url, third.url) == ("https://a.org/y", "")


def test_rss_1() -> None:
    """Items outside the channel are found."""
    assert read_entries(parse_xml(RDF)) == [SearchResult("https://a.org/x", "Rye", "", "2026-01-05")]


def test_markup_is_decoded_once_and_never_parsed() -> None:
    """A title may mention a tag, and deep or endless markup of one entry does not make a search fail."""
    title, deep = "How to use &amp;lt;div&amp;gt; well", "&lt;b&gt;" * 500 + "A grass."
    body = f"<rss><item><title>{title}</title><description>{deep}</description></item></rss>"

    assert read_entries(parse_xml(body.encode())) == [SearchResult("", "How to use <div> well", "A grass.")]


def test_names_in_any_letter_case() -> None:
    """Some engines write the names of elements in other letter case."""
    body = b"<RSS><Item><Title>Rye</Title><LINK>https://a.org/x</LINK><pubdate>2026-01-05</pubdate></Item></RSS>"

    assert read_entries(parse_xml(body)) == [SearchResult("https://a.org/x", "Rye", "", "2026-01-05")]


@pytest.mark.parametrize("relation", ["self", "edit", "enclosure"])
def test_an_identifier_precedes_links_to_other_things(relation: str) -> None:
    """An entry without a link to its page is cited by its identifier, not by the address of the API."""
    link = f'<link rel="{relation}" href="https://api.a.org/7"/>'
    body = f'<feed xmlns="http://www.w3.org/2005/Atom"><entry>{link}<id>https://a.org/x</id></entry></feed>'

    assert [result.url for result in read_entries(parse_xml(body.encode()))] == ["https://a.org/x"]


BOMB = b"""<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<feed><entry><title>&b;</title></entry></feed>"""
THIEF = b"""<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><feed><entry><title>&a;</title></entry></feed>"""


@pytest.mark.parametrize(
    "body",
    [BOMB, THIEF, b"", b"<feed>", b"no xml", b'<?xml version="1.0" encoding="odd"?><a/>', b"<!DOCTYPE html><p/>"],
)
def test_unsafe_xml_is_refused(body: bytes) -> None:
    """Entities, document types and invalid XML are refused."""
    with pytest.raises(ValueError, match="no XML that can be trusted"):
        parse_xml(body)
