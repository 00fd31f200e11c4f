"""Render a result document as one self-contained HTML page: no script, font or image is loaded.

Jinja escapes all values without their control and invisible characters, and the page's content security policy allows
only its style sheet, by hash. A script that slipped through would not run, and a style would not be applied.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path, PurePath
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from tenure.algorithms.text.printable import remove_control_characters
from tenure.contracts.result.result import Result
from tenure.report.render.marks import UNSOURCED, CitationStyle
from tenure.report.render.page import Remark, ReportPage
from tenure.report.render.view import build_page

TEMPLATES = Path(__file__).parent / "templates"


def render_html(result: Result, base: PurePath | None = None, style: CitationStyle = "numeric") -> str:
    """Render a result document as one HTML page.

    Args:
        result: the result document.
        base: folder to which paths of sources are shown relative if they are below it.
        style: format of citation marks.
    """
    sheet = load_sheet()
    return render_page(
        make_environment(TEMPLATES).get_template("report.html.jinja"),
        build_page(result, base, style),
        style=sheet,
        policy=build_content_security_policy(sheet),
    )


def render_page(template: Template, page: ReportPage, *, documents: str = "", **values: Any) -> str:
    """Render the view of a result document with the template of the report, or with one that extends it.

    Args:
        template: the template.
        page: the view.
        documents: path below which a server shows the passages of sources; empty for a page without a server.
        values: further values of the template.
    """
    return template.render(page=page, documents=documents, unsourced=UNSOURCED, **values)


@cache
def make_environment(*folders: Path) -> Environment:
    """Return the environment of templates in folders, in which all values are cleaned and escaped."""
    environment = Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        finalize=_clean,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["groupby_kind"] = _group_by_kind
    return environment


@cache
def load_sheet() -> str:
    """Return the style sheet of all pages."""
    return (TEMPLATES / "report.css").read_text(encoding="utf-8")


def build_content_security_policy(sheet: str) -> str:
    """Return the content security policy: nothing is loaded or run, and one style sheet is applied."""
    digest = b64encode(sha256(sheet.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _clean(value: Any) -> Any:
    """Return a value of a template without characters that act on a terminal or hide words."""
    return type(value)(remove_control_characters(value)) if isinstance(value, str) else value


def _group_by_kind(remarks: Iterable[Remark]) -> Iterator[tuple[str, list[Remark]]]:
    """Yield consecutive remarks of one kind together, as a list needs them."""
    for kind, alike in groupby(remarks, key=lambda remark: remark.kind):
        yield kind, list(alike)
