"""Tests of the HTML parser."""

import logging

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.html import parse_html, parse_web_page

PAGE = """<!doctype html><html><head><title>Site: A page</title><meta name="author" content="Ann Lee">
<meta property="article:published_time" content="2024-03-01"><script>var hidden = 1;</script></head>
<body><nav><a href="/">Home</a><a href="/x">Elsewhere</a></nav><article><h1>The <b>main</b> thing</h1>
<p>Some text with <code>snake_case_name</code> and a <a href="http://example.org">link</a> in it, which is long
enough to be the main text of the page.</p><h2>Second</h2><ul><li>one</li><li>two</li></ul>
<pre><code>def f():
    return 1
</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<p>The end &amp; thanks to everybody who read this far.</p></article><footer>Imprint</footer></body></html>"""


def test_the_main_text_of_a_page_is_extracted() -> None:
    """Headings, lists, code and tables of the article are parsed without navigation and scripts."""
    document = parse_html(PAGE)

    assert document.text == (
        "# The main thing\n\nSome text with snake_case_name and a link in it, which is long enough to be the main text "
        "of the page.\n\n## Second\n\n- one\n- two\n\n    def f():\n        return 1\n\n| a | b |\n| 1 | 2 |\n\n"
        "The end & thanks to everybody who read this far."
    )
    assert (document.title, document.author, document.published) == ("The main thing", "Ann Lee", "2024-03-01")


def test_a_page_without_main_text_gives_all_its_text() -> None:
    """Without a recognizable main text, all text is used."""
    markup = "<html><head><title>A &amp; B</title></head><body><nav><a href='/'>Only a link</a></nav></body></html>"
    document = parse_html(markup)

    assert (document.title, document.text) == ("A & B", "Only a link")
    assert parse_html("<p>A fragment</p>").text == "A fragment"


@pytest.mark.parametrize("markup", ["<html></html>", "<html><body><script>x()</script></body></html>"])
def test_a_page_without_words_is_unreadable(markup: str, capfd: pytest.CaptureFixture[str]) -> None:
    """An empty page has no text, and the warning of the library is not shown."""
    with pytest.raises(Unreadable, match="has no text"):
        parse_html(markup)

    assert logging.getLogger("trafilatura").handlers
    assert capfd.readouterr() == ("", "")


META = """<html lang="en_GB"><head><title>T</title><meta property="og:site_name" content="The Site">
<meta property="og:url" content="https://example.org/from-graph">{}</head><body><article><p>Main words
that are long enough to be the text of a page.</p></article><p hidden>Hidden words.</p>
<aside>Subscribe to read</aside></body></html>"""


def test_the_metadata_of_a_page_is_parsed() -> None:
    """Canonical URL, visible text and hidden text are returned."""
    page = parse_web_page(
        META.format('<link rel="canonical" href="/one?b=2">'), "https://m.example.org/one?b=2&utm_source=x"
    )

    assert not page.is_paywalled
    assert page.url == "https://example.org/from-graph"
    assert page.hidden_text == "Hidden words."
    assert page.visible_text.endswith("Subscribe to read")
    assert "Hidden" not in page.document.text


def test_the_title_is_the_heading_that_the_tab_names() -> None:
    """The heading of a search box is not the title of a page whose tab names another heading."""
    box = '<div class="results"><h1 class="title">No results</h1></div>'
    text = "Standby servers take over when the active one stops, and read its store."
    main = f"<main><h1>Failover</h1><p>{text}</p><p>{text}</p></main>"
    page = f"<title>Failover · Queue</title><body>{main}<aside>{box}</aside></body>"

    assert parse_html(page).title == "Failover"


@pytest.mark.parametrize(
    ("href", "address"),
    [
        ("/one", "https://www.other.org/one"),
        ("https://other.org/two", "https://other.org/two"),
        ("https://famous.example/article", "https://www.other.org/one?x=1"),
        ("javascript:alert(1)", "https://www.other.org/one?x=1"),
        ("https://[broken", "https://www.other.org/one?x=1"),
    ],
)
def test_a_page_cannot_pose_as_a_page_of_another_site(href: str, address: str) -> None:
    """A canonical link is used only within the same site."""
    markup = META.format(f'<link rel="canonical" href="{href}">')

    assert parse_web_page(markup, "https://www.other.org/one?x=1").url == address


@pytest.mark.parametrize(
    ("head", "locked"),
    [
        ('<script type="application/ld+json">{"isAccessibleForFree": "False"}</script>', True),
        ('<script type="application/ld+json">{"isAccessibleForFree": true}</script>', False),
        ('<meta property="article:content_tier" content="metered">', True),
        ('<meta property="article:content_tier" content="free">', False),
    ],
)
def test_paywalls_are_detected(head: str, locked: bool) -> None:
    """Publishers mark pages for subscribers."""
    assert parse_web_page(META.format(head), "https://example.org/").is_paywalled is locked


def test_the_date_of_a_page_is_normalized() -> None:
    """A date becomes a day in ISO 8601; a page without a date has none."""
    assert parse_web_page(PAGE, "").publication_date == "2024-03-01"
    assert parse_web_page("<p>words</p>", "").publication_date == ""


def test_a_whole_page_has_its_comments() -> None:
    """The main text of a discussion lacks them; navigation and controls are left out of both."""
    answer = '<div class="comment-body"><p>It is the same here.</p><textarea>Write</textarea></div>'
    main = f"<main><h1>A fault</h1><p>It is wrong.</p>{answer}<button>Close</button></main>"
    markup = (
        f"<html><head><title>A fault, issue 1</title></head><body><nav>Home</nav>{main}<p>Imprint</p></body></html>"
    )

    whole = parse_web_page(markup, "", is_whole=True).document
    assert (whole.title, whole.text) == ("A fault, issue 1", "# A fault\n\nIt is wrong.\n\nIt is the same here.")
    assert "the same" not in parse_web_page(markup, "").document.text
    assert parse_web_page("<p>words</p>", "", is_whole=True).document.text == "words"
