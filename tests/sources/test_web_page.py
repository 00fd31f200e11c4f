"""HTML to the normal form."""

import logging

import pytest

from tenure.sources.document import Unreadable
from tenure.sources.web_page import parse_html

PAGE = """<!doctype html><html><head><title>Site: A page</title><meta name="author" content="Ann Lee">
<meta property="article:published_time" content="2024-03-01"><script>var hidden = 1;</script></head>
<body><nav><a href="/">Home</a><a href="/x">Elsewhere</a></nav><article><h1>The <b>main</b> thing</h1>
<p>Some text with <code>snake_case_name</code> and a <a href="http://example.org">link</a> in it, which is long
enough to be the main text of the page.</p><h2>Second</h2><ul><li>one</li><li>two</li></ul>
<pre><code>def f():
    return 1
</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<p>The end &amp; thanks to everybody who read this far.</p></article><footer>Imprint</footer></body></html>"""


def test_the_main_text_of_a_page_is_read() -> None:
    """Headings, lists, code and tables of the article come out, navigation and scripts do not."""
    document = parse_html(PAGE)

    assert document.text == (
        "# The main thing\n\nSome text with snake_case_name and a link in it, which is long enough to be the main text "
        "of the page.\n\n## Second\n\n- one\n- two\n\n    def f():\n        return 1\n\n| a | b |\n| 1 | 2 |\n\n"
        "The end & thanks to everybody who read this far."
    )
    assert (document.title, document.author, document.published) == ("The main thing", "Ann Lee", "2024-03-01")


def test_a_page_without_main_text_gives_its_words() -> None:
    """Where nothing stands out all words are taken."""
    markup = "<html><head><title>A &amp; B</title></head><body><nav><a href='/'>Only a link</a></nav></body></html>"
    document = parse_html(markup)

    assert (document.title, document.text) == ("A & B", "Only a link")
    assert parse_html("<p>A fragment</p>").text == "A fragment"


@pytest.mark.parametrize("markup", ["<html></html>", "<html><body><script>x()</script></body></html>"])
def test_a_page_without_words_is_unreadable(markup: str, capfd: pytest.CaptureFixture[str]) -> None:
    """An empty page is said to have no text, and the library's complaint about it is not shown."""
    with pytest.raises(Unreadable, match="has no text"):
        parse_html(markup)

    assert logging.getLogger("trafilatura").handlers
    assert capfd.readouterr() == ("", "")
