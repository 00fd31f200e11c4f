"""Pages of scheduled questions and of batches."""

import asyncio
import csv
import hashlib
import io
from pathlib import Path
from typing import Any, Final, get_args

from starlette.requests import Request
from starlette.responses import Response

from tenure.contracts.result.batch import STATUSES_WITH_REPORT, BatchOutcome, BatchReport
from tenure.report.render.charts import guard_cell
from tenure.runs.automation.batches import list_batches, parse_batch, plan_items, read_batch_report, start_batch
from tenure.runs.automation.schedules import (
    ScheduleAction,
    change_schedule,
    create_schedule,
    list_schedules,
    plan_schedule,
)
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.messages import BatchBody, ScheduleBody, validate_request
from tenure.runs.run_ids import check_run
from tenure.runs.service import Service
from tenure.runs.session.connection import BATCH_WORKFLOW
from tenure.runs.session.run_records import open_run
from tenure.site.forms import Form, drop_empty, read_form, split_fields
from tenure.site.rendering import describe_form, get_batch_path, get_fault_status, redirect, render

CRONS: Final = (
    ("0 8 * * *", "every day at 8"),
    ("0 8 * * 1-5", "on working days at 8"),
    ("0 8 * * 1", "on Mondays at 8"),
    ("0 8 1 * *", "on the first of each month at 8"),
    ("0 * * * *", "every hour"),
)
"""Times that the form offers; any other cron expression can be typed."""


async def _show_schedules(
    service: Service, request: Request, form: Form | None = None, fault: TenureError | None = None
) -> Response:
    return render(
        "schedules.html.jinja",
        get_fault_status(fault),
        **describe_form(form or {}, fault),
        schedules=await list_schedules(service) if fault is None else None,
        crons=CRONS,
    )


async def _add_schedule(service: Service, request: Request) -> Response:
    form = await read_form(request)
    try:
        values = {name: value for name, value in drop_empty(form).items() if name not in ("often", "web", "corpora")}
        body = validate_request(ScheduleBody, {"cron": form.get("often", "")} | values | _read_sources(form))
        await create_schedule(service, body, await asyncio.to_thread(plan_schedule, body, service.settings))
    except TenureError as error:
        return await _show_schedules(service, request, form, error)
    return redirect("/schedules")


def _read_sources(form: Form) -> dict[str, Any]:
    """Return the fields of what is read."""
    sources: dict[str, Any] = {**split_fields(form, "corpora")}
    return sources | ({"web": True} if form.get("web") == "on" else {})


async def _change_schedule(service: Service, request: Request) -> Response:
    form = await read_form(request)
    action: ScheduleAction | None = next((one for one in get_args(ScheduleAction) if one == form.get("action")), None)
    if action is None:
        raise InvalidRequest("there is no such action", "action")
    await change_schedule(service, check_run(form.get("name", "")), action)
    return redirect("/schedules")


async def _show_batches(
    service: Service, request: Request, form: Form | None = None, fault: TenureError | None = None
) -> Response:
    return render(
        "batches.html.jinja",
        get_fault_status(fault),
        **describe_form(form or {}, fault),
        batches=await list_batches(service) if fault is None else None,
    )


async def _start_batch(service: Service, request: Request) -> Response:
    form = await read_form(request)
    try:
        # The form of CSV is known by its first line, as a spreadsheet copies it.
        is_csv = form.get("questions", "").lstrip().partition("\n")[0].lower().split(",")[0].strip() == "question"
        items = parse_batch(Path("questions.csv" if is_csv else "questions.txt"), form.get("questions", ""))
        values = {name: form[name] for name in ("parallel", "max_cost_usd") if form.get(name, "").strip()}
        body = validate_request(BatchBody, values | _read_sources(form))
        # Other documents or limits make another batch of the same questions.
        conditions = hashlib.sha256(body.model_dump_json().encode()).hexdigest()[:6]
        planned = await asyncio.to_thread(plan_items, items, f"questions-{conditions}", body, service.settings)
        batch, _ = await start_batch(service, planned)
    except TenureError as error:
        return await _show_batches(service, request, form, error)
    return redirect(get_batch_path(batch.id))


async def _read_batch(service: Service, request: Request) -> tuple[str, bool, BatchReport]:
    """Return the id of a batch, whether it is running, and its state."""
    name = check_run(request.path_params["batch"])
    record = await open_run(service, name)
    if record.workflow_type != BATCH_WORKFLOW:
        raise InvalidRequest(f"{name} is not a batch but a {record.workflow_type}")
    return name, record.is_running, await read_batch_report(service, record)


async def _show_batch(service: Service, request: Request, template: str = "batch.html.jinja") -> Response:
    name, is_running, report = await _read_batch(service, request)
    ended = sum(outcome.status not in ("waiting", "running") for outcome in report.outcomes)
    return render(template, batch=name, is_running=is_running, report=report, ended=ended)


async def _show_live_batch(service: Service, request: Request) -> Response:
    return await _show_batch(service, request, "batch_table.html.jinja")


async def _download_answers(service: Service, request: Request) -> Response:
    """Send the questions of a batch with their answers as CSV, which a spreadsheet opens."""
    name, _, report = await _read_batch(service, request)
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(("question", "status", "short answer", "abstract", "run", "tokens", "USD", "seconds"))
    for outcome in report.outcomes:
        cells = (outcome.question, outcome.status, *await _read_answer(service, outcome), outcome.run)
        numbers = (outcome.tokens, "" if outcome.cost_usd is None else outcome.cost_usd, round(outcome.seconds, 1))
        rows.writerow((*map(guard_cell, cells), *numbers))
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return Response("\ufeff" + text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


async def _read_answer(service: Service, outcome: BatchOutcome) -> tuple[str, str]:
    """Return the short answer of a run, and its abstract, its first excerpt or the reason for a missing report."""
    if outcome.status not in STATUSES_WITH_REPORT:
        return "", outcome.note
    try:
        result = await service.read_result(outcome.run)
    except TenureError as error:
        return "", str(error)
    excerpts = (claim.text for section in result.sections for claim in section.claims if claim.citations)
    is_cited = any(claim.citations for claim in result.abstract_claims)
    abstract = result.abstract if is_cited else next(excerpts, "")
    return result.short_answer.text if result.short_answer else "", abstract


ROUTES: Final = (
    ("/schedules", _show_schedules, "GET"),
    ("/schedules", _add_schedule, "POST"),
    ("/schedules/change", _change_schedule, "POST"),
    ("/batches", _show_batches, "GET"),
    ("/batches", _start_batch, "POST"),
    ("/batches/{batch}/live", _show_live_batch, "GET"),
    ("/batches/{batch}/answers.csv", _download_answers, "GET"),
    ("/batches/{batch}", _show_batch, "GET"),
)
"""Path, handler and method of each page; the first that fits answers."""
