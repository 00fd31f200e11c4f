"""Pages of the site: HTML from templates, and forms that call the functions of the API."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, get_args
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tenure.algorithms.text.counts import format_count
from tenure.contracts.choices import ReportLength
from tenure.contracts.result.result import Result
from tenure.contracts.run.control import BudgetBounds, OutlineTopic, RunCommand
from tenure.contracts.run.limits import EFFORT_COSTS
from tenure.report.layout.report import compose_report, compose_summary
from tenure.runs.configuration.changes import is_configurable
from tenure.runs.errors import MissingRun, TenureError
from tenure.runs.formatting import truncate_line
from tenure.runs.listing import MAX_LISTED
from tenure.runs.messages import (
    AskBody,
    ForkBody,
    RepeatBody,
    RunConversation,
    RunFilter,
    RunLabel,
    RunPair,
    SourceRange,
    StartRequest,
    validate_request,
)
from tenure.runs.run_ids import check_run
from tenure.runs.service import Service
from tenure.runs.session.progress_lines import describe_phase, describe_usage
from tenure.runs.start import describe_effort_cost, find_reservation_price
from tenure.site import automation_pages, knowledge_pages, settings_pages
from tenure.site.api import STATUSES, get_status
from tenure.site.findings import list_findings, list_sources
from tenure.site.forms import (
    MAX_UPLOAD_BODY_BYTES,
    Form,
    drop_empty,
    join_query,
    read_form,
    receive_form,
    split_fields,
    split_lines,
    store_upload,
)
from tenure.site.rendering import (
    FormValues,
    can_configure,
    describe_form,
    get_fault_status,
    get_run_path,
    redirect,
    render,
    render_error,
    send_static,
)

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

FORMATS = (
    ("html", "web page (one file)"),
    *(("pdf", "PDF"), ("docx", "Word"), ("md", "Markdown"), ("json", "JSON"), ("bibtex", "BibTeX"), ("csl", "CSL")),
)
"""Formats in which a report is saved, with their names."""

LISTED_RUNS = 50
"""Runs that the list shows at first, and more at each request for more."""

_UPLOADS = {("/runs", "POST"), ("/corpora", "POST")}
"""Requests that may bring files."""

PageHandler = Callable[[Service, Request], Awaitable[Response]]


def build_routes(service: Service) -> list[Route]:
    """Return the routes of the pages."""

    def route(path: str, handler: PageHandler, method: str = "GET") -> Route:
        async def answer(request: Request) -> Response:
            can_configure.set(is_configurable(service.settings))
            try:
                return await handler(service, request)
            except TenureError as error:
                return render_error(str(error), get_status(error))

        largest = MAX_UPLOAD_BODY_BYTES if (path, method) in _UPLOADS else None
        return Route(path, answer, methods=[method], max_body_size=largest)

    # Quotas of a person count single runs, and the settings are those of all.
    installation = () if service.place.is_shared else (*automation_pages.ROUTES, *settings_pages.ROUTES)
    return [
        route("/", _show_start),
        Route("/static/{name}", send_static),
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
        *(route(*page) for page in (*knowledge_pages.ROUTES, *installation)),
    ]


async def _show_start(
    service: Service, request: Request, form: Form | None = None, fault: TenureError | None = None
) -> Response:
    values = FormValues(form if form is not None else join_query(request))
    words, status = request.query_params.get("q", ""), request.query_params.get("status", "")
    runs, more = None, 0  # a form that is shown again needs no server
    if fault is None:
        sought = {"words": words, "status": status, "limit": request.query_params.get("limit") or LISTED_RUNS}
        filter = validate_request(RunFilter, sought)
        runs = (await service.list_runs(filter)).runs
        more = min(filter.limit + LISTED_RUNS, MAX_LISTED) if filter.limit == len(runs) < MAX_LISTED else 0
    chosen = [("corpora", name) for name in split_lines(values["corpora"])]
    return render(
        "start.html.jinja",
        get_fault_status(fault),
        **describe_form(values, fault),
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
    return render("choices.html.jinja", corpora=corpora, chosen=chosen, folders=folders, problem=problem)


async def _send_no_icon(service: Service, request: Request) -> Response:
    return Response(status_code=HTTPStatus.NO_CONTENT)


async def _start_run(service: Service, request: Request) -> Response:
    received = await receive_form(request, service.settings)
    form = received.values
    try:
        if name := await store_upload(received):
            # A form that is shown again names what has arrived, so that it need not be sent again.
            form |= {"corpora": f"{form.get('corpora', '')}\n{name}", "corpus": "", "pasted": ""}
        values = {name: value for name, value in drop_empty(form).items() if name not in ("files", "pasted", "corpus")}
        values |= split_fields(form, "docs", "corpora", "databases", "domains", "filters")
        values |= {name: form.get(name) == "on" for name in ("include_secrets", "approve_plan", "interactive")}
        urls = split_lines(values.pop("urls", ""))
        values |= {"urls": urls, "web": True} if urls or form.get("web") == "on" else {}
        values |= {"memory": True} if form.get("memory") == "on" else {}
        started = await service.start(validate_request(StartRequest, values))
    except TenureError as error:
        return await _show_start(service, request, form, error)
    return redirect(get_run_path(started.id))


async def _show_run(service: Service, request: Request, template: str = "run.html.jinja") -> Response:
    run_id = request.path_params["run"]
    details = await service.describe(run_id)
    is_page = template == "run.html.jinja"
    label = await service.read_label(run_id) if is_page else RunLabel()
    progress, path = details.progress, get_run_path(details.id)
    result = await service.read_result(details.id) if details.is_completed else None
    return render(
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
    return render("found.html.jinja", trace=trace, found=await list_findings(service, trace))


async def _steer_run(service: Service, request: Request) -> Response:
    run_id, form = request.path_params["run"], await read_form(request)
    name = form.get("command", "")
    values: dict[str, Any] = {"name": name}
    if name in ("feedback", "answer"):
        values |= {"text": form.get("text", ""), "topic": form.get("topic") or None}
    topics = split_lines(form.get("outline", ""))
    if name == "outline":
        values["outline"] = _parse_outline(topics)
    elif name == "approve" and topics != split_lines(form.get("shown", "")):
        await service.steer(run_id, RunCommand(name="outline", outline=_parse_outline(topics)))
    if name == "budget":
        bounds = {field: form[field] for field in BudgetBounds.model_fields if form.get(field, "").strip()}
        values["budget"] = validate_request(BudgetBounds, bounds)
    reply = await service.steer(run_id, validate_request(RunCommand, values))
    return _show_effect(run_id, reply.effect)


def _show_effect(run_id: str, effect: str) -> Response:
    """Lead to the page of a run with a sentence on what was done."""
    return redirect(f"{get_run_path(run_id)}?{urlencode({'effect': truncate_line(effect, 300)})}")


async def _show_report(service: Service, request: Request) -> Response:
    run_id = check_run(request.path_params["run"])
    try:
        result = await service.read_result(run_id)
    except MissingRun:
        raise
    except TenureError:
        return redirect(get_run_path(run_id))  # which shows the text as it grows, or the reason of a failure
    label, conversation = await service.read_label(run_id), await service.read_conversation(run_id)
    return await asyncio.to_thread(render_report_page, run_id, result, label, conversation)


def render_report_page(run_id: str, result: Result, label: RunLabel, conversation: RunConversation) -> Response:
    """Return the page of a report with its sources and the conversation about it."""
    return render(
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
    return render("source.html.jinja", run_id=run_id, passage=passage)


async def _show_conversation(service: Service, request: Request) -> Response:
    run_id = check_run(request.path_params["run"])
    return render(
        "conversation.html.jinja",
        run_id=run_id,
        documents=f"{get_run_path(run_id)}/sources",
        conversation=await service.read_conversation(run_id),
    )


async def _ask_question(service: Service, request: Request) -> Response:
    run_id, form = request.path_params["run"], await read_form(request)
    page = form.pop("page", "")
    values = drop_empty(form) | {name: form.get(name) == "on" for name in ("new", "search_again")}
    await service.ask(run_id, validate_request(AskBody, values))
    path = get_run_path(run_id)
    return redirect(f"{page if page == f'{path}/report' else path}#conversation")


async def _show_fork(service: Service, request: Request) -> Response:
    run_id = check_run(request.path_params["run"])
    trace = await service.read_trace(run_id)
    section = truncate_line(request.query_params.get("section", ""), 300)
    question = (await service.describe(run_id)).question
    return render("fork.html.jinja", run_id=run_id, trace=trace, question=question, section=section)


async def _fork_run(service: Service, request: Request) -> Response:
    run_id, form = request.path_params["run"], await read_form(request)
    started = await service.fork(run_id, validate_request(ForkBody, drop_empty(form)))
    return redirect(get_run_path(started.id))


async def _repeat_run(service: Service, request: Request) -> Response:
    form = drop_empty(await read_form(request))
    return redirect(
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
    return redirect(get_run_path(run_id))


async def _delete_run(service: Service, request: Request) -> Response:
    await service.delete(request.path_params["run"])
    return redirect("/")


async def _show_diff(service: Service, request: Request) -> Response:
    a, b = request.query_params.get("a", ""), request.query_params.get("b", "")
    difference = await service.compare(RunPair(a=a, b=b)) if a and b else None
    runs = (await service.list_runs(RunFilter(limit=100))).runs
    return render("diff.html.jinja", a=a, b=b, diff=difference, runs=runs)


def _parse_outline(lines: Sequence[str]) -> tuple[OutlineTopic, ...]:
    return tuple(OutlineTopic.model_validate(line) for line in lines)
