"""Tests of the conversion of markup to the normal form."""

from tenure.sources.document.normal_form import NormalFormWriter
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import parse_html_tree


def _text(markup: str) -> str:
    form = NormalFormWriter()
    write_blocks(form, parse_html_tree(markup))
    return form.text


def test_every_kind_of_block_is_converted() -> None:
    """Headings, paragraphs, nested lists, code and tables are converted without scripts, comments and images."""
    markup = """<h2>A <i>title</i></h2><!-- no --><p>One<br>line <b>bo</b>ld.</p>Loose <a href="#">words</a>.
    <script>x()</script>
    <ol><li>first<ul><li>deep</li></ul></li><li><p>second</p><p>more</p></li>stray</ol><pre>a
  b</pre><table><caption>Of</caption><tr><th>h<td>1<script>y</script></tr></table><div>In <div>a</div> div</div>"""

    assert _text(markup) == (
        "## A title\n\nOne line bold.\n\nLoose words.\n\n1. first\n  - deep\n2. second more\n\nstray\n\n"
        "    a\n      b\n\nOf\n\n| h | 1 |\n\nIn\n\na\n\ndiv"
    )


def test_invalid_nesting_keeps_all_words() -> None:
    """Invalid markup loses no words."""
    assert _text("<li>alone</li><tr><td>cell</td></tr>") == "alone\n\n| cell |"
