"""Render the draft of a report, which a model is writing, as HTML."""

from typing import Final

from markdown_it import MarkdownIt
from markupsafe import Markup

FIRST_LEVEL: Final = 3
"""Level of the draft's title among the headings of a run's page."""

# Text of a model shows no foreign image, leads nowhere and contains no HTML.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["lheading", "link", "image", "autolink"])
_PARSER.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>')
_PARSER.add_render_rule("table_close", lambda *_: "</table></div>")


def render_draft(text: str) -> Markup:
    """Return Markdown as HTML without links, images and markup of its own."""
    tokens = _PARSER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + FIRST_LEVEL - 1, 6)}"
        elif token.type in ("th_open", "td_open"):
            token.attrs = {}  # the alignment, a style that the policy of the page forbids
    return Markup(_PARSER.renderer.render(tokens, _PARSER.options, {}))
