"""Pages of the site: HTML from templates, and forms that call the functions of the API."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args
from urllib.parse import quote, urlencode

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tenure.algorithms.text.counts import format_count
from tenure.contracts.choices import MemoryKind, ReportLength, WritableKind
from tenure.contracts.result.result import Result
from tenure.contracts.run.control import BudgetBounds, OutlineTopic, RunCommand
from tenure.contracts.run.limits import EFFORT_COSTS
from tenure.report.layout.answer import compose_answer
from tenure.report.layout.report import compose_report, compose_summary
from tenure.report.render.html import TEMPLATES as REPORT_TEMPLATES
from tenure.report.render.html import convert_markdown, make_environment
from tenure.runs.errors import InvalidRequest, MissingCorpus, MissingRun, TenureError, Unreachable, add_field
from tenure.runs.formatting import format_duration, truncate_line
from tenure.runs.listing import MAX_LISTED
from tenure.runs.memories import describe_status
from tenure.runs.messages import (
    AskBody,
    DocumentFilter,
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
    SearchBody,
    SourceRange,
    StartRequest,
    validate_request,
)
from tenure.runs.run_ids import check_run
from tenure.runs.service import PAGE_ROWS, Service
from tenure.runs.session.progress_lines import describe_ingestion, describe_phase, describe_usage
from tenure.runs.start import describe_effort_cost, find_reservation_price
from tenure.runs.uploads import MAX_FILE_BYTES, MAX_UPLOAD_BYTES, MAX_UPLOAD_FILES, find_upload
from tenure.site.api import STATUSES, get_status, make_file_name
from tenure.site.findings import list_findings, list_sources
from tenure.site.forms import MAX_UPLOAD_BODY_BYTES, Form, ReceivedForm, read_form, receive_form

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
    **{"memories.html.jinja": "/memories", "diff.html.jinja": "/diff", "run.html.jinja": ""},
    **{"report_page.html.jinja": "/report", "fork.html.jinja": "/fork"},
}
"""Path of the page of a template, for those of a run below its own; the tabs mark it."""

TEMPLATES: Final = (
    ("Summary", "Summarize the documents: what do they state, with which evidence, and what do they leave open?"),
    ("Comparison", "Compare the documents: on which points do they agree, and on which do they differ?"),
    ("Figures", "Which figures do the documents give, by year and subject, and how were they measured?"),
    ("Decision", "Which options do the documents describe, and what speaks for and against each?"),
    ("Contradictions", "Which statements of the documents contradict each other, and which is supported better?"),
)
"""Questions to begin with."""

MAX_CHOICES: Final = 12
"""Corpora and folders that the first page offers; the others are found on the page of corpora."""

DOCUMENT_CHARACTERS: Final = 4_000
"""Characters of a document on one page, the maximum length of a part of a source."""

_SHOWN_FIELDS: Final = frozenset(
    "question files corpus corpora docs urls paths effort length language mode max_cost_usd max_tokens "
    "max_seconds repo test domains text kind".split()
)
"""Fields at which forms show a fault."""

FORMATS = (
    ("html", "web page (one file)"),
    *(("pdf", "PDF"), ("docx", "Word"), ("md", "Markdown"), ("json", "JSON"), ("bibtex", "BibTeX"), ("csl", "CSL")),
)
"""Formats in which a report is saved, with their names."""

LISTED_RUNS = 50
"""Runs that the list shows at first, and more at each request for more."""

_YEAR = 365 * 24 * 3600

PageHandler = Callable[[Service, Request], Awaitable[Response]]


def build_routes(service: Service) -> list[Route]:
    """Return the routes of the pages."""

    def route(path: str, handler: PageHandler, method: str = "GET") -> Route:
        async def answer(request: Request) -> Response:
            try:
                return await handler(service, request)
            except TenureError as error:
                return render_error(str(error), get_status(error))

        largest = MAX_UPLOAD_BODY_BYTES if handler in (_start_run, _ingest) else None
        return Route(path, answer, methods=[method], max_body_size=largest)

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
        route("/choices", _show_choices),
        route("/corpora", _show_corpora),
        route("/corpora", _ingest, "POST"),
        route("/corpora/live", partial(_show_corpora, template="ingestions.html.jinja")),
        route("/corpora/{corpus:path}/documents/{source}", _show_document),
        route("/corpora/{corpus:path}/read", _read_again, "POST"),
        route("/corpora/{corpus:path}/watch", _watch, "POST"),
        route("/corpora/{corpus:path}/delete", _drop_corpus, "POST"),
        route("/corpora/{corpus:path}", _show_corpus),
        route("/memories", _show_memories),
        route("/memories", _remember, "POST"),
        route("/memories/forget", _forget, "POST"),
    ]


def render_error(words: str, status: HTTPStatus) -> Response:
    """Return the page of an error."""
    return _render("error.html.jinja", status, words=words, phrase=status.phrase)


async def _show_start(
    service: Service, request: Request, form: Form | None = None, fault: TenureError | None = None
) -> Response:
    values = _FormValues(form if form is not None else _join_query(request))
    words, status = request.query_params.get("q", ""), request.query_params.get("status", "")
    runs, more = None, 0  # a form that is shown again needs no server
    if fault is None:
        sought = {"words": words, "status": status, "limit": request.query_params.get("limit") or LISTED_RUNS}
        filter = validate_request(RunFilter, sought)
        runs = (await service.list_runs(filter)).runs
        more = min(filter.limit + LISTED_RUNS, MAX_LISTED) if filter.limit == len(runs) < MAX_LISTED else 0
    chosen = [("corpora", name) for name in _split_lines(values["corpora"])]
    return _render(
        "start.html.jinja",
        _get_fault_status(fault),
        **_describe_form(values, fault),
        **_list_options(service),
        templates=TEMPLATES,
        is_open=fault is not None or len(values.keys() - {"question", "corpora", "q", "status", "limit"}) > 0,
        corpora=[(name, "") for _, name in chosen],
        chosen=[name for _, name in chosen],
        chosen_query=urlencode(chosen),
        folders=(),
        problem="",
        runs=runs,
        more=more,
        words=words,
        status=status,
        statuses=STATUSES,
    )


def _list_options(service: Service) -> dict[str, Any]:
    """Return the choices of the first page, with the typical cost of each effort if a model answers."""
    settings = service.settings
    price = find_reservation_price(settings, limited=False) if settings.has_model else None
    efforts = [("", "chosen by the question")]
    for effort, cost in EFFORT_COSTS.items():
        typical = f": {describe_effort_cost(cost, price)}" if settings.has_model else ""
        efforts.append((effort, f"{effort}{typical}"))
    return {
        "model": settings.model if settings.has_model else "",
        "efforts": efforts,
        "lengths": [("", "as the settings say"), *((name, name) for name in get_args(ReportLength))],
        "modes": [("auto", "chosen by the question"), ("research", "research"), ("code", "program")],
    }


async def _show_choices(service: Service, request: Request) -> Response:
    """Return the corpora and folders that a question may be asked over, latest first, after those that are chosen."""
    chosen = request.query_params.getlist("corpora")
    problem, corpora, folders = "", [(name, "") for name in chosen], list[str]()
    try:
        listed = await service.list_corpora()
        latest = sorted(listed.corpora, key=lambda one: one.updated_at, reverse=True)
        notes = {one.corpus: format_count(one.sources, "document") for one in latest}
        names = dict.fromkeys((*chosen, *[one.corpus for one in latest][:MAX_CHOICES], *listed.unread[:MAX_CHOICES]))
        corpora = [(name, notes.get(name, "not read yet")) for name in names]
        folders = service.list_folders([one.corpus for one in latest])[:MAX_CHOICES]
    except TenureError as error:
        problem = str(error)
    return _render("choices.html.jinja", corpora=corpora, chosen=chosen, folders=folders, problem=problem)


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
    received = await receive_form(request, service.settings)
    form = received.values
    try:
        if name := await _store_upload(received):
            # A form that is shown again names what has arrived, so that it need not be sent again.
            form |= {"corpora": f"{form.get('corpora', '')}\n{name}", "corpus": "", "pasted": ""}
        values = {name: value for name, value in _drop_empty(form).items() if name not in ("files", "pasted", "corpus")}
        values |= _split(form, "docs", "corpora", "databases", "domains", "filters")
        values |= {name: form.get(name) == "on" for name in ("include_secrets", "approve_plan", "interactive")}
        urls = _split_lines(values.pop("urls", ""))
        values |= {"urls": urls, "web": True} if urls or form.get("web") == "on" else {}
        values |= {"memory": True} if form.get("memory") == "on" else {}
        started = await service.start(validate_request(StartRequest, values))
    except TenureError as error:
        return await _show_start(service, request, form, error)
    return _redirect(get_run_path(started.id))


async def _store_upload(received: ReceivedForm) -> str:
    """Put the files and the pasted text of a form into a corpus; return its name, empty if there are none.

    Raises:
        TenureError: they cannot be stored.
    """
    upload, form = received.upload, received.values
    try:
        if received.problem:
            raise received.problem
        if text := form.get("pasted", "").strip():
            await asyncio.to_thread(upload.add_text, text)
        return await asyncio.to_thread(upload.publish, form.get("corpus", "").strip()) if upload.files else ""
    finally:
        await asyncio.to_thread(upload.discard)


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
    run_id, form = request.path_params["run"], await read_form(request)
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
    run_id, form = request.path_params["run"], await read_form(request)
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
    run_id, form = request.path_params["run"], await read_form(request)
    started = await service.fork(run_id, validate_request(ForkBody, _drop_empty(form)))
    return _redirect(get_run_path(started.id))


async def _repeat_run(service: Service, request: Request) -> Response:
    form = _drop_empty(await read_form(request))
    return _redirect(
        get_run_path((await service.repeat(request.path_params["run"], validate_request(RepeatBody, form))).id)
    )


async def _apply_change(service: Service, request: Request) -> Response:
    run_id = request.path_params["run"]
    names = ", ".join(map(str, await service.apply(run_id)))
    return _show_effect(run_id, f"Written: {names}" if names else "The files are as the change has them already.")


async def _label_run(service: Service, request: Request) -> Response:
    run_id, form = request.path_params["run"], await read_form(request)
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


async def _show_corpora(
    service: Service,
    request: Request,
    form: Form | None = None,
    fault: TenureError | None = None,
    template: str = "corpora.html.jinja",
) -> Response:
    words, page = request.query_params.get("words", ""), _read_page(request)
    listed = await service.list_corpora() if fault is None else None
    found = [one for one in listed.corpora if words.casefold() in one.corpus.casefold()] if listed else []
    return _render(
        template,
        _get_fault_status(fault),
        **_describe_form(form or {}, fault),
        **_describe_pages(page, len(found), words=words),
        listed=listed,
        shown=found[(page - 1) * PAGE_ROWS : page * PAGE_ROWS],
        words=words,
    )


async def _ingest(service: Service, request: Request) -> Response:
    received = await receive_form(request, service.settings)
    form = received.values
    secrets = form.get("include_secrets") == "on"
    try:
        paths = _split_lines(form.get("paths", ""))
        if name := await _store_upload(received):
            await service.read_again(name, include_secrets=secrets)
        if paths or not name:
            body = {
                "paths": paths,
                "corpus": name or form.get("corpus", "").strip() or None,
                "include_secrets": secrets,
            }
            with add_field("paths"):
                await service.ingest(validate_request(IngestBody, body))
    except TenureError as error:
        return await _show_corpora(service, request, form, error)
    return _redirect(get_corpus_path(name) if name else "/corpora")


async def _show_corpus(service: Service, request: Request, fault: TenureError | None = None) -> Response:
    corpus, page, query = request.path_params["corpus"], _read_page(request), request.query_params
    words, q = query.get("words", ""), query.get("q", "").strip()
    details = await service.describe_corpus(corpus, DocumentFilter(words=words, page=page))
    passages = (
        (await service.search(validate_request(SearchBody, {"words": q, "corpora": [corpus]}))).passages if q else ()
    )
    return _render(
        "corpus.html.jinja",
        _get_fault_status(fault),
        **_describe_form({}, fault),
        **_describe_pages(page, details.documents_total, words=words),
        corpus=details,
        passages=passages,
        words=words,
        q=q,
        sent=str(find_upload(service.settings, corpus) or ""),
    )


async def _show_document(service: Service, request: Request) -> Response:
    corpus, query, page = request.path_params["corpus"], request.query_params, _read_page(request)
    size = validate_request(SourceRange, {"start": 0, "end": query.get("of", "")}).end
    part = {"start": (page - 1) * DOCUMENT_CHARACTERS, "end": min(page * DOCUMENT_CHARACTERS, size)}
    passage = await service.read_document(request.path_params["source"], validate_request(SourceRange, part))
    pages: dict[str, Any] = {"page": page, "pages": -(-size // DOCUMENT_CHARACTERS), "query": urlencode({"of": size})}
    return _render("document.html.jinja", corpus=corpus, passage=passage, **pages)


async def _read_again(service: Service, request: Request) -> Response:
    secrets = (await read_form(request)).get("include_secrets") == "on"
    return await _change_corpus(service, request, partial(service.read_again, include_secrets=secrets))


async def _watch(service: Service, request: Request) -> Response:
    every = (await read_form(request)).get("every", "")
    if every and not every.isdecimal():
        raise InvalidRequest("the interval is a number of seconds", "every")
    return await _change_corpus(service, request, partial(service.watch_corpus, every=int(every) if every else None))


async def _drop_corpus(service: Service, request: Request) -> Response:
    return await _change_corpus(service, request, service.drop_corpus, "/corpora")


async def _change_corpus(
    service: Service, request: Request, change: Callable[[str], Awaitable[Any]], path: str = ""
) -> Response:
    """Change a corpus and lead to a path, by default its page, which says why if it could not be changed."""
    corpus = request.path_params["corpus"]
    try:
        await change(corpus)
    except (MissingCorpus, Unreachable):
        raise
    except TenureError as error:
        return await _show_corpus(service, request, error)
    return _redirect(path or get_corpus_path(corpus))


async def _show_memories(
    service: Service, request: Request, form: Form | None = None, fault: TenureError | None = None
) -> Response:
    query = request.query_params
    words, shown = query.get("q", ""), query.get("shown", "")
    listed = None
    if fault is None:
        chosen = {
            "words": words,
            "kinds": [shown] if shown else [],
            "after": query.get("after", ""),
            "limit": PAGE_ROWS,
        }
        listed = await service.list_memories(validate_request(MemoryFilter, chosen))
    return _render(
        "memories.html.jinja",
        _get_fault_status(fault),
        **_describe_form(form or {}, fault),
        listed=listed,
        after=listed.memories[-1].id if listed and not words and len(listed.memories) == PAGE_ROWS else "",
        words=words,
        shown=shown,
        kinds=get_args(MemoryKind),
        writable=[("", "chosen by the text"), *((kind, kind.replace("_", " ")) for kind in get_args(WritableKind))],
    )


async def _remember(service: Service, request: Request) -> Response:
    form = await read_form(request)
    try:
        await service.remember(validate_request(RememberBody, _drop_empty(form)))
    except InvalidRequest as error:
        return await _show_memories(service, request, form, error)
    return _redirect("/memories")


async def _forget(service: Service, request: Request) -> Response:
    await service.forget(validate_request(ForgetBody, _split(await read_form(request), "ids")))
    return _redirect("/memories")


class _FormValues(dict[str, str]):
    """Values of a form; a field without one is empty."""

    def __missing__(self, name: str) -> str:
        return ""


class _Fault(NamedTuple):
    """Fault of a form."""

    field: str
    """Field at which it is shown; empty for the form as a whole."""
    message: str


def _describe_form(form: Form, fault: TenureError | None) -> dict[str, Any]:
    """Return the values of a form, the fault in it, and the bounds of files."""
    field = fault.field.partition(".")[0] if isinstance(fault, InvalidRequest) else ""
    shown = None
    if fault is not None:
        is_shown = field in _SHOWN_FIELDS
        message = fault.message if isinstance(fault, InvalidRequest) and is_shown else str(fault)
        shown = _Fault(field if is_shown else "", message)
    bounds = {"files": MAX_UPLOAD_FILES, "file": MAX_FILE_BYTES, "total": MAX_UPLOAD_BYTES}
    return {"values": _FormValues(form), "fault": shown, "bounds": bounds}


def _get_fault_status(fault: TenureError | None) -> HTTPStatus:
    return HTTPStatus.OK if fault is None else get_status(fault)


def _describe_pages(page: int, rows: int, **query: str) -> dict[str, Any]:
    """Return the present page of a list, the number of its pages, and the query of the links between them."""
    return {"page": page, "pages": -(-rows // PAGE_ROWS), "query": urlencode(query)}


def _read_page(request: Request) -> int:
    return validate_request(DocumentFilter, {"page": request.query_params.get("page", 1)}).page


def _join_query(request: Request) -> Form:
    """Return the values of a query as those of a form."""
    query = request.query_params
    return {name: "\n".join(query.getlist(name)) for name in query}


def get_corpus_path(corpus: str) -> str:
    """Return the path of the page of a corpus."""
    return f"/corpora/{quote(corpus, safe='')}"


def get_run_path(run_id: str) -> str:
    """Return the path of a run's page."""
    return f"/runs/{quote(run_id, safe='')}"


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
    environment.globals |= {"asset": _build_asset_path, "run_path": get_run_path, "corpus_path": get_corpus_path}
    environment.globals |= {"file_name": make_file_name}
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
