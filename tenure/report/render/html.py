"""Write a document tree as one self-contained HTML page, which loads nothing from elsewhere.

Jinja escapes all values, the page has no control and invisible characters, and its content security policy allows only
its style sheet and the script that sorts its tables, by hash. A script that slipped through would not run, and a style
would not be applied.
"""

from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePath
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markdown_it import MarkdownIt
from markupsafe import Markup

from tenure.algorithms.coding.patches import mark_lines
from tenure.algorithms.text.printable import remove_control_characters
from tenure.contracts.choices import CitationStyle, ReportProofs
from tenure.contracts.result.result import Result
from tenure.report.layout.report import compose_report
from tenure.report.layout.tree import BlockNode, ChartNode, TableNode
from tenure.report.render.charts import draw_chart, write_csv
from tenure.report.translation import RIGHT_TO_LEFT, translate, use_language

TEMPLATES = Path(__file__).parent / "templates"
SCRIPT = "sort.js"
"""Script of a report, which sorts its tables."""

_PARSER: Final = (
    MarkdownIt("commonmark", {"html": False})
    .enable("table")
    .disable(["lheading", "link", "image", "autolink", "reference"])
)
"""Parser of Markdown of a model, which shows no foreign image, leads nowhere and contains no HTML."""
_PARSER.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>')
_PARSER.add_render_rule("table_close", lambda *_: "</table></div>")


def render_html(
    result: Result, base: PurePath | None = None, style: CitationStyle = "numeric", proofs: ReportProofs = "full"
) -> str:
    """Render a result document as one HTML page."""
    template = make_environment(TEMPLATES).get_template("report.html.jinja")
    report = compose_report(result, base, style, proofs)
    sheet, script = load_sheet(), (TEMPLATES / SCRIPT).read_text("utf-8") if _has_table(report.blocks) else ""
    policy = build_content_security_policy(sheet, script)
    with use_language(report.language):
        return template.render(report=report, style=sheet, script=script, policy=policy)


def _has_table(blocks: Iterable[BlockNode]) -> bool:
    return any(isinstance(block, TableNode) or _has_table(getattr(block, "blocks", ())) for block in blocks)


@cache
def make_environment(*folders: Path) -> Environment:
    """Return the environment of templates in folders, in which all values are cleaned and escaped.

    The value `documents` is the path below which a server shows the passages of sources, empty without a server, and
    `references` the address of the page with the references, empty for this page. `deeper` is the page on which a
    server continues the research on a section, and `prefix` begins the identifiers of citations of a second text.
    """
    environment = Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters |= {"chart": lambda node: Markup(draw_chart(node)), "chart_data": encode_chart_data}
    environment.template_class = _CleanTemplate
    environment.filters |= {"diff_lines": mark_lines, "code_words": split_code}
    environment.globals |= {
        "documents": "",
        "references": "",
        "deeper": "",
        "prefix": "",
        "translate": translate,
        "right_to_left": RIGHT_TO_LEFT,
    }
    return environment


def convert_markdown(text: str, level: int) -> Markup:
    """Return Markdown as HTML without links, images and markup of its own.

    `level` is that of its first headings among those of the page.
    """
    tokens = _PARSER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + level - 1, 6)}"
        elif token.type in ("th_open", "td_open"):
            token.attrs = {}  # the alignment, a style that the policy of the page forbids
        if token.type in ("heading_open", "paragraph_open", "list_item_open"):
            token.attrSet("dir", "auto")
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return Markup(html.replace("<pre>", '<pre tabindex="0">'))  # wide code is scrolled by keyboard


def encode_chart_data(node: ChartNode) -> str:
    """Return the figures of a chart as the address of a file in the page."""
    return f"data:text/csv;charset=utf-8;base64,{b64encode(write_csv(node).encode()).decode()}"


def split_code(text: str, language: str) -> list[tuple[str, str]]:
    """Return code as pieces with the CSS class of each; one piece without a class if the language is unknown."""
    # Imported when needed: most reports have no code, and pages wait for nothing else of it.
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Token
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return [("", text)]
    kinds = {
        **{Token.Comment: "comment", Token.Keyword: "keyword", Token.Operator.Word: "keyword", Token.Name.Tag: "name"},
        **{Token.Literal.String: "string", Token.Literal.Number: "number", Token.Name.Decorator: "name"},
        **{Token.Name.Function: "name", Token.Name.Class: "name", Token.Name.Builtin: "name"},
    }
    marked = (
        (next((kinds[kind] for kind in reversed(token.split()) if kind in kinds), ""), words)
        for token, words in lexer.get_tokens(text)
    )
    return [(kind, "".join(words for _, words in same)) for kind, same in groupby(marked, key=itemgetter(0))]


@cache
def load_sheet() -> str:
    """Return the style sheet of all pages."""
    return (TEMPLATES / "report.css").read_text(encoding="utf-8")


def build_content_security_policy(sheet: str, script: str = "") -> str:
    """Return the content security policy: only this style sheet, this script and the pictures in the page are used."""
    allowed = f"; script-src {_hash(script)}" if script else ""
    return f"default-src 'none'; img-src data:; style-src {_hash(sheet)}{allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


class _CleanTemplate(Template):
    """Template whose text has no characters that act on a terminal or hide words.

    The whole text is cleaned in one pass: cleaning every value, also the results of nested macros, took
    two thirds of the time of a page.
    """

    def render(self, *args: Any, **kwargs: Any) -> str:
        return remove_control_characters(super().render(*args, **kwargs))
