"""Render the pages from templates, with what all of them share: paths, static files, faults of forms."""

from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tenure.algorithms.text.counts import format_count
from tenure.report.layout.answer import compose_answer
from tenure.report.render.html import TEMPLATES as REPORT_TEMPLATES
from tenure.report.render.html import convert_markdown, make_environment
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.formatting import format_duration, truncate_line
from tenure.runs.memories import describe_status
from tenure.runs.messages import DocumentFilter, RunRow, validate_request
from tenure.runs.service import PAGE_ROWS
from tenure.runs.session.progress_lines import describe_ingestion
from tenure.runs.uploads import MAX_FILE_BYTES, MAX_UPLOAD_BYTES, MAX_UPLOAD_FILES
from tenure.site.api import get_status, make_file_name
from tenure.site.forms import Form
from tenure.site.person import PERSON

FOLDER = Path(__file__).parent
STATIC = {
    "site.css": (FOLDER / "static" / "site.css", "text/css"),
    "site.js": (FOLDER / "static" / "site.js", "text/javascript"),
    "sort.js": (REPORT_TEMPLATES / "sort.js", "text/javascript"),
    "report.css": (REPORT_TEMPLATES / "report.css", "text/css"),
}
"""Files that pages load, by name; nothing else of the machine is served."""

_PATHS = {
    **{"start.html.jinja": "/", "corpora.html.jinja": "/corpora", "corpus.html.jinja": "/corpora"},
    "settings.html.jinja": "/settings",
    "schedules.html.jinja": "/schedules",
    "batches.html.jinja": "/batches",
    "batch.html.jinja": "/batches",
    **{"memories.html.jinja": "/memories", "diff.html.jinja": "/diff", "run.html.jinja": ""},
    "account.html.jinja": "/account",
    **{"report_page.html.jinja": "/report", "fork.html.jinja": "/fork"},
}
"""Path of the page of a template, for those of a run below its own; the tabs mark it."""

can_configure: ContextVar[bool] = ContextVar("can_configure", default=False)
"""Whether the visitor of the present request may change the settings, which the pages then link to."""

_YEAR: Final = 365 * 24 * 3600

_SHOWN_FIELDS: Final = frozenset(
    "question model files corpus corpora docs urls paths effort length language mode max_cost_usd max_tokens "
    "max_seconds repo test domains text kind".split()
)
"""Fields at which forms show a fault."""


def render_error(words: str, status: HTTPStatus) -> Response:
    """Return the page of an error."""
    return render("error.html.jinja", status, words=words, phrase=status.phrase)


async def send_static(request: Request) -> Response:
    """Return a file that pages load, by its name in the path."""
    name = request.path_params["name"]
    if name not in STATIC:
        return render_error("not found", HTTPStatus.NOT_FOUND)
    content, media = read_static(name)
    headers = {"cache-control": f"private, max-age={_YEAR}, immutable"}
    return Response(content, media_type=media, headers=headers)


def redirect(path: str) -> Response:
    """Return the answer that leads a browser to another page."""
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)


def render(template: str, code: HTTPStatus = HTTPStatus.OK, **values: Any) -> Response:
    """Return a page; with a `run_id` among the values it is one of that run."""
    here = (get_run_path(values["run_id"]) if "run_id" in values else "") + _PATHS.get(template, "?")
    text = _environment().get_template(template).render(**values, here=here)
    return Response(text, code, media_type="text/html")


@cache
def _environment() -> Environment:
    environment = make_environment(FOLDER / "templates", REPORT_TEMPLATES)
    environment.globals |= {"asset": _build_asset_path, "run_path": get_run_path, "corpus_path": get_corpus_path}
    environment.globals["can_configure"] = can_configure.get
    environment.globals |= {"get_person": PERSON.get, "file_name": make_file_name, "batch_path": get_batch_path}
    environment.filters |= {"answer": compose_answer, "draft": convert_markdown, "ingestion": describe_ingestion}
    environment.filters |= {"count": format_count, "title": _get_title}
    environment.filters |= {"duration": format_duration, "line": truncate_line, "memory_note": describe_status}
    return environment


def _get_title(run: RunRow) -> str:
    return run.label.title or run.question or run.id


@cache
def read_static(name: str) -> tuple[bytes, str]:
    """Return the content and the media type of a file."""
    path, media = STATIC[name]
    return path.read_bytes(), media


def _build_asset_path(name: str) -> str:
    """Return the path of a file; it changes with the content, so that browsers may keep the file."""
    return f"/static/{name}?{sha256(read_static(name)[0]).hexdigest()[:12]}"


def get_corpus_path(corpus: str) -> str:
    """Return the path of the page of a corpus."""
    return f"/corpora/{quote(corpus, safe='')}"


def get_run_path(run_id: str) -> str:
    """Return the path of a run's page."""
    return f"/runs/{quote(run_id, safe='')}"


def get_batch_path(batch: str) -> str:
    """Return the path of the page of a batch."""
    return f"/batches/{quote(batch, safe='')}"


class FormValues(dict[str, str]):
    """Values of a form; a field without one is empty."""

    def __missing__(self, name: str) -> str:
        return ""


class _Fault(NamedTuple):
    """Fault of a form."""

    field: str
    """Field at which it is shown; empty for the form as a whole."""
    message: str


def describe_form(form: Form, fault: TenureError | None) -> dict[str, Any]:
    """Return the values of a form, the fault in it, and the bounds of files."""
    field = fault.field.partition(".")[0] if isinstance(fault, InvalidRequest) else ""
    shown = None
    if fault is not None:
        is_shown = field in _SHOWN_FIELDS
        message = fault.message if isinstance(fault, InvalidRequest) and is_shown else str(fault)
        shown = _Fault(field if is_shown else "", message)
    bounds = {"files": MAX_UPLOAD_FILES, "file": MAX_FILE_BYTES, "total": MAX_UPLOAD_BYTES}
    return {"values": FormValues(form), "fault": shown, "bounds": bounds}


def get_fault_status(fault: TenureError | None) -> HTTPStatus:
    """Return the status of a page that shows a form with a fault, or without one."""
    return HTTPStatus.OK if fault is None else get_status(fault)


def describe_pages(page: int, rows: int, **query: str) -> dict[str, Any]:
    """Return the present page of a list, the number of its pages, and the query of the links between them."""
    return {"page": page, "pages": -(-rows // PAGE_ROWS), "query": urlencode(query)}


def read_page(request: Request) -> int:
    """Return the number of the page of a list that a request names, the first one by default."""
    return validate_request(DocumentFilter, {"page": request.query_params.get("page", 1)}).page
