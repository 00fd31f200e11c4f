"""Tests of the feed parser."""

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.feed import parse_feed
from tests.sources.packages import LAUGHS

RSS = """<?xml version="1.0" encoding="latin-1"?><rss version="2.0"
 xmlns:content="http://purl.org/rss/1.0/modules/content/"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>News &amp; more</title>
<description>All of it.</description>
<item><title>One &lt;b&gt;thing&lt;/b&gt;</title><link>https://example.org/1</link><dc:creator>Ann Lee</dc:creator>
<pubDate>Tue, 03 Nov 2026 10:00:00 GMT</pubDate><description>Short.</description>
<content:encoded><![CDATA[<p>Longer <i>words</i>.</p><ul><li>a</li></ul><p hidden>Secret.</p>
]]></content:encoded></item>
<item><pubDate>some day</pubDate><description>Plain words.</description></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>A log</title><author><name>Bo Ek</name></author>
<entry><title>Entry one</title><updated>2026-01-02T00:00:00Z</updated><link rel="self" href="https://example.org/self"/>
<link href="https://example.org/e1"/><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><h2>In</h2><p>It.</p>
</div></content></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel>
<title>Old</title></channel><item><title>T</title><link>https://example.org/t</link><description>D.</description></item></rdf:RDF>"""


def test_entries_of_rss_are_parsed() -> None:
    """Title, date, author, URL and the longest content of each entry are parsed without hidden text."""
    document = parse_feed(RSS)

    assert document.text == (
        "# News & more\n\nAll of it.\n\n## One thing\n\n2026-11-03, Ann Lee, https://example.org/1\n\nLonger words."
        "\n\n- a\n\n## Entry\n\nPlain words."
    )
    assert (document.title, document.published) == ("News & more", "2026-11-03")


def test_entries_of_atom_are_parsed() -> None:
    """Inline markup is parsed, and the URL of an entry is its alternate link."""
    document = parse_feed(ATOM)

    assert document.text == "# A log\n\n## Entry one\n\n2026-01-02, https://example.org/e1\n\n## In\n\nIt."
    assert document.author == "Bo Ek"


def test_entries_outside_the_channel_are_parsed() -> None:
    """Entries of RSS 1.0 are siblings of the channel."""
    assert parse_feed(RDF).text == "# Old\n\n## T\n\nhttps://example.org/t\n\nD."


def test_a_damaged_feed_is_parsed_in_part() -> None:
    """An unescaped character or a wrong name affects only itself; custom entities are not expanded."""
    assert "D." in parse_feed(RDF.replace("<title>T</title>", "<dc:c:reator>T</dc:c:reator>")).text
    assert "Tom Jerry" in " ".join(parse_feed(RDF.replace("D.", "Tom & Jerry")).text.split())
    assert len(parse_feed(LAUGHS + RDF.replace("D.", "&e;")).text) < 200


def test_text_without_elements_is_unreadable() -> None:
    """Text without any element is unreadable."""
    with pytest.raises(Unreadable, match="is not a valid feed"):
        parse_feed("words")
