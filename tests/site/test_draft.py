"""Test the HTML of a draft, whose text comes from a model."""

import re

from tenure.site.draft import render_draft
from tests.cli.stub_worker import DRAFT


def test_a_draft_has_the_form_of_a_report() -> None:
    """Headings follow those of the page, marks stay, and a wide table is in a box of its own."""
    html = render_draft(DRAFT + "\n## Baking\n\n- **Hot** `oven` [4]\n")

    assert html.startswith("<h3>Rye rises for two hours [1]</h3>")
    assert "<h4>Baking</h4>" in html
    assert "<li><strong>Hot</strong> <code>oven</code> [4]</li>" in html
    assert '<div class="wide" tabindex="0"><table>' in html and "</table></div>" in html


def test_a_draft_loads_and_runs_nothing() -> None:
    """HTML, links, images and the styles of columns are text or left out."""
    html = render_draft(
        DRAFT + "\n<script>x</script> <https://example.org> [here](javascript:x) [it][it]\n\n[it]: http://example.org\n"
    )

    assert set(re.findall(r"<(\w+)", html)) == {"h3", "p", "div", "table", "thead", "tbody", "tr", "th", "td"}
    assert "style=" not in html and "href=" not in html
