"""A result document as one HTML page that needs nothing else: no script, no font, no picture from elsewhere.

Jinja escapes whatever is printed, and the page's own policy forbids everything but its style sheet, which
is named by its hash. So a script that might slip through is not run, and a style is not applied.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path, PurePath

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from tenure.contracts.result.result import Result
from tenure.report.render.marks import UNSOURCED, Style
from tenure.report.render.view import Remark, page

TEMPLATES = Path(__file__).parent / "templates"


def render_html(result: Result, base: PurePath | None = None, style: Style = "numeric") -> str:
    """Set a result document as one HTML page.

    Args:
        result: the result document.
        base: folder to which paths of sources are shown relative, where they are under it.
        style: how marks name sources.
    """
    sheet = _sheet()
    return _template().render(page=page(result, base, style), style=sheet, policy=_policy(sheet), unsourced=UNSOURCED)


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["groupby_kind"] = _by_kind
    return environment.get_template("report.html.jinja")


@cache
def _sheet() -> str:
    return (TEMPLATES / "report.css").read_text(encoding="utf-8")


def _policy(sheet: str) -> str:
    """Return the content security policy: nothing is loaded or run, and one style sheet is applied."""
    digest = b64encode(sha256(sheet.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _by_kind(remarks: Iterable[Remark]) -> Iterator[tuple[str, list[Remark]]]:
    """Yield remarks that follow each other and are of one kind together, as a list needs them."""
    for kind, alike in groupby(remarks, key=lambda remark: remark.kind):
        yield kind, list(alike)
