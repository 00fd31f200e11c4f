"""Pages of the site: HTML from templates, and forms that call the functions of the API."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tenure.contracts.result.result import Result
from tenure.contracts.run.control import BudgetBounds, OutlineTopic, RunCommand
from tenure.report.layout.answer import compose_answer
from tenure.report.layout.report import compose_report, compose_summary
from tenure.report.render.html import TEMPLATES as REPORT_TEMPLATES
from tenure.report.render.html import convert_markdown, make_environment
from tenure.runs.errors import InvalidRequest, MissingRun, TenureError
from tenure.runs.formatting import format_count, format_duration, truncate_line
from tenure.runs.listing import MAX_LISTED
from tenure.runs.memories import describe_status
from tenure.runs.messages import (
    AskBody,
    ForgetBody,
    ForkBody,
    IngestBody,
    MemoryFilter,
    RememberBody,
    RepeatBody,
    RunConversation,
    RunFilter,
    RunLabel,
    RunPair,
    RunRow,
    SourceRange,
    StartRequest,
    validate_request,
)
from tenure.runs.run_ids import check_run
from tenure.runs.service import Service
from tenure.runs.session.progress_lines import describe_ingestion, describe_phase, describe_usage
from tenure.site.api import STATUSES, get_status, make_file_name
from tenure.site.findings import list_findings, list_sources

FOLDER = Path(__file__).parent
STATIC = {
    "site.css": (FOLDER / "static" / "site.css", "text/css"),
    "site.js": (FOLDER / "static" / "site.js", "text/javascript"),
    "sort.js": (REPORT_TEMPLATES / "sort.js", "text/javascript"),
    "report.css": (REPORT_TEMPLATES / "report.css", "text/css"),
}
"""Files that pages load, by name; nothing else of the machine is served."""

_PATHS = {
    **{"start.html.jinja": "/", "corpora.html.jinja": "/corpora"},
    **{"memories.html.jinja": "/memories", "diff.html.jinja": "/diff", "run.html.jinja": ""},
    **{"report_page.html.jinja": "/report", "fork.html.jinja": "/fork"},
}
"""Path of the page of a template, for those of a run below its own; the tabs mark it."""

FORMATS = (
    ("html", "web page (one file)"),
    *(("pdf", "PDF"), ("docx", "Word"), ("md", "Markdown"), ("json", "JSON"), ("bibtex", "BibTeX"), ("csl", "CSL")),
)
"""Formats in which a report is saved, with their names."""

LISTED_RUNS = 50
"""Runs that the list shows at first, and more at each request for more."""

_YEAR = 365 * 24 * 3600

Form = dict[str, str]
PageHandler = Callable[[Service, Request], Awaitable[Response]]


def build_routes(service: Service) -> list[Route]:
    """Return the routes of the pages."""

    def route(path: str, handler: PageHandler, method: str = "GET") -> Route:
        async def answer(request: Request) -> Response:
            try:
                return await handler(service, request)
            except TenureError as error:
                return render_error(str(error), get_status(error))

        return Route(path, answer, methods=[method])

    return [
        route("/", _show_start),
        route("/static/{name}", _send_static),
        route("/favicon.ico", _send_no_icon),
        route("/runs", _start_run, "POST"),
        route("/runs/{run:path}/live", partial(_show_run, template="live.html.jinja")),
        route("/runs/{run:path}/found", _show_found),
        route("/runs/{run:path}/steer", _steer_run, "POST"),
        route("/runs/{run:path}/report", _show_report),
        route("/runs/{run:path}/sources/{number:int}", _show_source),
        route("/runs/{run:path}/questions", _ask_question, "POST"),
        route("/runs/{run:path}/conversation", _show_conversation),
        route("/runs/{run:path}/fork", _show_fork),
        route("/runs/{run:path}/fork", _fork_run, "POST"),
        route("/runs/{run:path}/again", _repeat_run, "POST"),
        route("/runs/{run:path}/apply", _apply_change, "POST"),
        route("/runs/{run:path}/label", _label_run, "POST"),
        route("/runs/{run:path}/delete", _delete_run, "POST"),
        route("/runs/{run:path}", _show_run),
        route("/diff", _show_diff),
        route("/corpora", _show_corpora),
        route("/corpora", _ingest, "POST"),
        route("/corpora/live", partial(_show_corpora, template="ingestions.html.jinja")),
        route("/memories", _show_memories),
        route("/memories", _remember, "POST"),
        route("/memories/forget", _forget, "POST"),
    ]


def render_error(words: str, status: HTTPStatus) -> Response:
    """Return the page of an error."""
    return _render("error.html.jinja", status, words=words, phrase=status.phrase)


async def _show_start(service: Service, request: Request) -> Response:
    words, status = request.query_params.get("q", ""), request.query_params.get("status", "")
    chosen = {"words": words, "status": status, "limit": request.query_params.get("limit") or LISTED_RUNS}
    filter = validate_request(RunFilter, chosen)
    runs = (await service.list_runs(filter)).runs
    more = min(filter.limit + LISTED_RUNS, MAX_LISTED) if filter.limit == len(runs) < MAX_LISTED else 0
    return _render("start.html.jinja", runs=runs, more=more, words=words, status=status, statuses=STATUSES)


async def _send_static(service: Service, request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        return render_error("not found", HTTPStatus.NOT_FOUND)
    content, media = _read_static(name)
    headers = {"cache-control": f"private, max-age={_YEAR}, immutable"}
    return Response(content, media_type=media, headers=headers)


async def _send_no_icon(service: Service, request: Request) -> Response:
    return Response(status_code=HTTPStatus.NO_CONTENT)


async def _start_run(service: Service, request: Request) -> Response:
    form = await _read_form(request)
    values = _drop_empty(form) | _split(form, "docs", "corpora", "databases", "domains", "filters")
    values |= {name: form.get(name) == "on" for name in ("include_secrets", "approve_plan", "interactive")}
    values |= {"web": True} if form.get("web") == "on" else {}
    values |= {"memory": True} if form.get("memory") == "on" else {}
    started = await service.start(validate_request(StartRequest, values))
    return _redirect(get_run_path(started.id))


async def _show_run(service: Service, request: Request, template: str = "run.html.jinja") -> Response:
    run_id = request.path_params["run"]
    details = await service.describe(run_id)
    is_page = template == "run.html.jinja"
    label = await service.read_label(run_id) if is_page else RunLabel()
    progress, path = details.progress, get_run_path(details.id)
    result = await service.read_result(details.id) if details.is_completed else None
    return _render(
        template,
        run_id=details.id,
        details=details,
        label=label,
        heading=label.title or details.question,
        conversation=await service.read_conversation(run_id) if is_page else None,
        summary=await asyncio.to_thread(compose_summary, result, Path.cwd()) if result else None,
        has_patch=bool(result and result.patch),
        documents=f"{path}/sources",
        references=f"{path}/report",
        progress=progress,
        phase=describe_phase(progress) if progress else "",
        usage=describe_usage(progress) if progress else "",
        temporal="" if details.is_archived else service.place.build_run_link(details.id),
        effect=request.query_params.get("effect", ""),
    )


async def _show_found(service: Service, request: Request) -> Response:
    run_id = request.path_params["run"]
    trace = await service.read_trace(run_id)
    return _render("found.html.jinja", trace=trace, found=await list_findings(service, trace))


async def _steer_run(service: Service, request: Request) -> Response:
    run_id, form = request.path_params["run"], await _read_form(request)
    name = form.get("command", "")
    values: dict[str, Any] = {"name": name}
    if name in ("feedback", "answer"):
        values |= {"text": form.get("text", ""), "topic": form.get("topic") or None}
    topics = _split_lines(form.get("outline", ""))
    if name == "outline":
        values["outline"] = _parse_outline(topics)
    elif name == "approve" and topics != _split_lines(form.get("shown", "")):
        await service.steer(run_id, RunCommand(name="outline", outline=_parse_outline(topics)))
    if name == "budget":
        bounds = {field: form[field] for field in BudgetBounds.model_fields if form.get(field, "").strip()}
        values["budget"] = validate_request(BudgetBounds, bounds)
    reply = await service.steer(run_id, validate_request(RunCommand, values))
    return _show_effect(run_id, reply.effect)


def _show_effect(run_id: str, effect: str) -> Response:
    """Lead to the page of a run with a sentence on what was done."""
    return _redirect(f"{get_run_path(run_id)}?{urlencode({'effect': truncate_line(effect, 300)})}")


async def _show_report(service: Service, request: Request) -> Response:
    run_id = check_run(request.path_params["run"])
    try:
        result = await service.read_result(run_id)
    except MissingRun:
        raise
    except TenureError:
        return _redirect(get_run_path(run_id))  # which shows the text as it grows, or the reason of a failure
    label, conversation = await service.read_label(run_id), await service.read_conversation(run_id)
    return await asyncio.to_thread(render_report_page, run_id, result, label, conversation)


def render_report_page(run_id: str, result: Result, label: RunLabel, conversation: RunConversation) -> Response:
    """Return the page of a report with its sources and the conversation about it."""
    return _render(
        "report_page.html.jinja",
        report=compose_report(result, Path.cwd()),
        documents=f"{get_run_path(run_id)}/sources",
        deeper=f"{get_run_path(run_id)}/fork",
        formats=FORMATS,
        run_id=run_id,
        question=result.question,
        has_patch=bool(result.patch),
        is_ended=True,
        label=label,
        sources=list_sources(result),
        conversation=conversation,
    )


async def _show_source(service: Service, request: Request) -> Response:
    run_id = check_run(request.path_params["run"])
    part = validate_request(SourceRange, dict(request.query_params))
    passage = await service.read_source(run_id, request.path_params["number"], part, with_picture=True)
    return _render("source.html.jinja", run_id=run_id, passage=passage)


async def _show_conversation(service: Service, request: Request) -> Response:
    run_id = check_run(request.path_params["run"])
    return _render(
        "conversation.html.jinja",
        run_id=run_id,
        documents=f"{get_run_path(run_id)}/sources",
        conversation=await service.read_conversation(run_id),
    )


async def _ask_question(service: Service, request: Request) -> Response:
    run_id, form = request.path_params["run"], await _read_form(request)
    page = form.pop("page", "")
    values = _drop_empty(form) | {name: form.get(name) == "on" for name in ("new", "search_again")}
    await service.ask(run_id, validate_request(AskBody, values))
    path = get_run_path(run_id)
    return _redirect(f"{page if page == f'{path}/report' else path}#conversation")


async def _show_fork(service: Service, request: Request) -> Response:
    run_id = check_run(request.path_params["run"])
    trace = await service.read_trace(run_id)
    section = truncate_line(request.query_params.get("section", ""), 300)
    question = (await service.describe(run_id)).question
    return _render("fork.html.jinja", run_id=run_id, trace=trace, question=question, section=section)


async def _fork_run(service: Service, request: Request) -> Response:
    run_id, form = request.path_params["run"], await _read_form(request)
    started = await service.fork(run_id, validate_request(ForkBody, _drop_empty(form)))
    return _redirect(get_run_path(started.id))


async def _repeat_run(service: Service, request: Request) -> Response:
    form = _drop_empty(await _read_form(request))
    return _redirect(
        get_run_path((await service.repeat(request.path_params["run"], validate_request(RepeatBody, form))).id)
    )


async def _apply_change(service: Service, request: Request) -> Response:
    run_id = request.path_params["run"]
    names = ", ".join(map(str, await service.apply(run_id)))
    return _show_effect(run_id, f"Written: {names}" if names else "The files are as the change has them already.")


async def _label_run(service: Service, request: Request) -> Response:
    run_id, form = request.path_params["run"], await _read_form(request)
    label = {"title": form.get("title", ""), "tags": [tag.lstrip("#") for tag in form.get("tags", "").split()]}
    await service.label(run_id, validate_request(RunLabel, label))
    return _redirect(get_run_path(run_id))


async def _delete_run(service: Service, request: Request) -> Response:
    await service.delete(request.path_params["run"])
    return _redirect("/")


async def _show_diff(service: Service, request: Request) -> Response:
    a, b = request.query_params.get("a", ""), request.query_params.get("b", "")
    difference = await service.compare(RunPair(a=a, b=b)) if a and b else None
    runs = (await service.list_runs(RunFilter(limit=100))).runs
    return _render("diff.html.jinja", a=a, b=b, diff=difference, runs=runs)


async def _show_corpora(service: Service, request: Request, template: str = "corpora.html.jinja") -> Response:
    return _render(template, listed=await service.list_corpora())


async def _ingest(service: Service, request: Request) -> Response:
    form = await _read_form(request)
    values = _drop_empty(form) | _split(form, "paths") | {"include_secrets": form.get("include_secrets") == "on"}
    await service.ingest(validate_request(IngestBody, values))
    return _redirect("/corpora")


async def _show_memories(service: Service, request: Request) -> Response:
    words = request.query_params.get("q", "")
    return _render(
        "memories.html.jinja", listed=await service.list_memories(MemoryFilter(words=words, limit=100)), words=words
    )


async def _remember(service: Service, request: Request) -> Response:
    await service.remember(validate_request(RememberBody, _drop_empty(await _read_form(request))))
    return _redirect("/memories")


async def _forget(service: Service, request: Request) -> Response:
    await service.forget(validate_request(ForgetBody, _split(await _read_form(request), "ids")))
    return _redirect("/memories")


def get_run_path(run_id: str) -> str:
    """Return the path of a run's page."""
    return f"/runs/{quote(run_id, safe='')}"


async def _read_form(request: Request) -> Form:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise InvalidRequest("the body must be a form")
    try:
        text = (await request.body()).decode()
    except UnicodeDecodeError:
        raise InvalidRequest("the form is not valid UTF-8") from None
    return dict(parse_qsl(text, keep_blank_values=True))


def _drop_empty(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields that were filled in."""
    return {name: value for name, value in form.items() if value.strip()}


def _split(form: Form, *names: str) -> dict[str, Sequence[str]]:
    """Return fields with one value on each line."""
    return {name: _split_lines(form.get(name, "")) for name in names}


def _parse_outline(lines: Sequence[str]) -> tuple[OutlineTopic, ...]:
    return tuple(OutlineTopic.model_validate(line) for line in lines)


def _split_lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _redirect(path: str) -> Response:
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)


def _render(template: str, code: HTTPStatus = HTTPStatus.OK, **values: Any) -> Response:
    here = (get_run_path(values["run_id"]) if "run_id" in values else "") + _PATHS.get(template, "?")
    text = _environment().get_template(template).render(**values, here=here)
    return Response(text, code, media_type="text/html")


@cache
def _environment() -> Environment:
    environment = make_environment(FOLDER / "templates", REPORT_TEMPLATES)
    environment.globals |= {"asset": _build_asset_path, "run_path": get_run_path, "file_name": make_file_name}
    environment.filters |= {"answer": compose_answer, "draft": convert_markdown, "ingestion": describe_ingestion}
    environment.filters |= {"count": format_count, "title": _get_title}
    environment.filters |= {"duration": format_duration, "line": truncate_line, "memory_note": describe_status}
    return environment


def _get_title(run: RunRow) -> str:
    return run.label.title or run.question or run.id


@cache
def _read_static(name: str) -> tuple[bytes, str]:
    path, media = STATIC[name]
    return path.read_bytes(), media


def _build_asset_path(name: str) -> str:
    """Return the path of a file; it changes with the content, so that browsers may keep the file."""
    return f"/static/{name}?{sha256(_read_static(name)[0]).hexdigest()[:12]}"
