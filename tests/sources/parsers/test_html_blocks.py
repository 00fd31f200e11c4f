"""Markup to the normal form as it stands."""

from tenure.sources.document.normal_form import NormalFormWriter
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import parse_html_tree


def _text(markup: str) -> str:
    form = NormalFormWriter()
    write_blocks(form, parse_html_tree(markup))
    return form.text


def test_blocks_keep_what_they_are() -> None:
    """Headings, paragraphs, lists in lists, code and tables come out; scripts, comments and pictures do not."""
    markup = """<h2>A <i>title</i></h2><!-- no --><p>One<br>line <b>bo</b>ld.</p>Loose <a href="#">words</a>.
    <script>x()</script>
    <ol><li>first<ul><li>deep</li></ul></li><li><p>second</p><p>more</p></li>stray</ol><pre>a
  b</pre><table><caption>Of</caption><tr><th>h<td>1<script>y</script></tr></table><div>In <div>a</div> div</div>"""

    assert _text(markup) == (
        "## A title\n\nOne line bold.\n\nLoose words.\n\n1. first\n  - deep\n2. second more\n\nstray\n\n"
        "    a\n      b\n\nOf\n\n| h | 1 |\n\nIn\n\na\n\ndiv"
    )


def test_parts_outside_their_whole_are_read() -> None:
    """Markup that is not in order loses no words."""
    assert _text("<li>alone</li><tr><td>cell</td></tr>") == "alone\n\n| cell |"
