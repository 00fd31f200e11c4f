"""Start a run: turn a request into the input of its workflow, check it, and start the workflow."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from temporalio.client import Client, WorkflowHandle
from temporalio.common import Priority, SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from tenure.algorithms.control.budget import compute_cost
from tenure.contracts.choices import RunMode
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.tables import get_database_corpus
from tenure.contracts.evidence.web import WebScope
from tenure.contracts.result.result import Result
from tenure.contracts.run.budget import Price
from tenure.contracts.run.limit_fields import LimitFields
from tenure.contracts.run.limits import EffortCost
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.installation import PROGRAM
from tenure.ownership import MAX_FAIRNESS_KEY_BYTES
from tenure.prices import PricesError, find_highest_price, find_unpriced_models, load_prices
from tenure.runs.corpora import ask_corpora
from tenure.runs.errors import InvalidRequest, TenureError, UsedRunId, add_field
from tenure.runs.filter_conditions import parse_filters
from tenure.runs.formatting import truncate_bytes, truncate_line
from tenure.runs.messages import StartRequest
from tenure.runs.options import TurnOptions
from tenure.runs.paths import allow_reading, find_manual, plan_ingestion
from tenure.runs.programs.files import read_files, read_tests, upload_files
from tenure.runs.programs.repository import (
    build_repository_task,
    is_server_url,
    is_uploaded,
    upload_repository,
)
from tenure.runs.run_ids import DEFAULT_CORPUS, check_corpus, check_run, make_run_id
from tenure.runs.session.connection import AGENT_WORKFLOW, Session, explain_refusals, register_search_attributes
from tenure.runs.session.run_records import load_archived
from tenure.runs.session.server_target import ServerTarget
from tenure.runs.uploads import find_upload
from tenure.runs.web_scope import build_web_scope
from tenure.settings import ClientSettings
from tenure.settings.home import ConnectionSettings
from tenure.settings.models import ChatModelSettings
from workflows.research.strategies import list_search_strategies
from workflows.runtime.search_attributes import MODE, PHASE, STATUS
from workflows.runtime.task_queues import TENURE_QUEUE

REQUEST_MEMO = "request_digest"
"""Key of the memo that holds the digest of the call that has started a run."""


@dataclass(frozen=True)
class PlannedRun:
    """Checked run that has not been started."""

    id: str
    is_named: bool
    """Whether a person has chosen the id."""
    request: RunRequest
    """Input of its workflow."""
    priority: Priority
    """Its priority and owner."""
    notes: tuple[str, ...]
    """Notes for the person, such as files that are left out."""


def plan_run(request: StartRequest, settings: ClientSettings) -> PlannedRun:
    """Return the run of a request after all checks that need no server.

    Raises:
        InvalidRequest: a path does not exist, or a value does not fit.
    """
    notes: list[str] = []
    built = build_request(request, settings, notes.append)
    chosen = check_run(request.id) if request.id else make_id(built.question, built.mode, settings)
    return PlannedRun(chosen, request.id is not None, built, build_priority(request), tuple(notes))


def build_priority(options: TurnOptions, before: Priority | None = None) -> Priority:
    """Return the priority and fairness key of a request, or else those of an earlier run; the server passes them on.

    Raises:
        InvalidRequest: the owner's name is too long.
    """
    if options.owner is not None and len(options.owner.encode()) > MAX_FAIRNESS_KEY_BYTES:
        raise InvalidRequest(f"a name has at most {MAX_FAIRNESS_KEY_BYTES} bytes", "owner")
    before = before or Priority()
    return Priority(
        priority_key=options.priority or before.priority_key, fairness_key=options.owner or before.fairness_key
    )


def build_request(request: StartRequest, settings: ClientSettings, note: Callable[[str], None]) -> RunRequest:
    """Return the input of the workflow; `note` receives a line for each file that is left out.

    Raises:
        InvalidRequest: a path does not exist, or a value does not fit.
    """
    secrets = request.include_secrets
    with add_field("corpora"):
        requested = tuple(dict.fromkeys(check_corpus(name, is_existing=True) for name in request.corpora))
    with add_field("docs"):
        ingest = [plan_ingestion(request.docs, include_secrets=secrets)] if request.docs else []
    for name in requested:
        if folder := find_upload(settings, name):
            ingest.append(IngestRequest(corpus=name, paths=(str(folder),), include_secrets=secrets))
    databases = tuple(dict.fromkeys(request.databases))
    tests = read_tests(request.tests, note, include_secrets=secrets)
    # Tests and files of a program imply a coding task, for which the manual of Tenure is no source.
    is_program = bool(tests or request.files or request.repo)
    mode: RunMode = "code" if is_program and request.mode == "auto" else request.mode
    web = build_web_scope(request, settings)
    empty = [str(path) for path in request.docs if _is_empty_folder(Path(path).expanduser())]
    if empty and len(empty) == len(request.docs) and not (requested or databases or web):
        raise InvalidRequest(f"{', '.join(empty)}: nothing is in it: put documents there, or name others", "docs")
    for path in empty:
        note(f"{path} is empty")
    if repository := build_repository_task(request, reads_web=web is not None):
        if request.domains and not is_server_url(str(request.repo)):
            note("work in a repository reads no web pages: the web domains have no effect")
        web = None  # which allows the URL of the repository, and no searches
        if is_uploaded(repository.source, settings):
            note("the commit is stored for workers on other machines first, which takes a minute if it is large")
    if DEFAULT_CORPUS in requested or not (request.docs or requested or databases or web or mode == "code"):
        ingest.append(IngestRequest(corpus=DEFAULT_CORPUS, paths=(str(find_manual()),)))
    corpora = dict.fromkeys((*(read.corpus for read in ingest), *requested, *map(get_database_corpus, databases)))
    try:
        return RunRequest(
            question=request.question,
            mode=mode,
            ingest=tuple(ingest),
            corpora=tuple(corpora),
            databases=databases,
            files=upload_files(read_files(request.files, note, include_secrets=secrets), settings),
            tests=tests,
            repository=repository,
            limits=_build_limits(request, settings, web),
            memory=settings.memory if request.memory is None else request.memory,
        )
    except ValidationError as error:
        raise InvalidRequest.explain(error) from error


def make_id(question: str, mode: RunMode, settings: ConnectionSettings, *, suffix: str = "") -> str:
    """Return an id for a run, with a suffix in place of random digits."""
    private = settings.encryption_keys is not None or bool(settings.owner)
    return make_run_id(question, mode, private=private, suffix=suffix)


def render_details(request: RunRequest, chosen: str) -> str:
    """Return the text that the web UI shows with the run: the question, and how to steer the run."""
    sources = "\n".join(f"- `{path}`" for ingestion in request.ingest for path in ingestion.paths)
    web = request.limits.web
    engines = f"**Web** {', '.join(web.providers) or 'every configured provider'}\n\n" if web else ""
    only = truncate_line("; ".join(map(str, request.limits.filters)), 2000)
    filtered = f"**Only passages with** {only}\n\n" if only else ""
    files = [f"`{file.name}`" for file in (*request.files, *request.tests)]
    file_names = f"**Files and tests** {', '.join(files)[:4000]}\n\n" if files else ""
    if request.repository:
        source = request.repository.source
        file_names = f"**Repository** `{source.path}` at `{source.revision}`\n\n"
    return (
        f"{truncate_line(request.question, 4000)}\n\n"
        f"**Corpora** {', '.join(request.corpora)}\n\n{sources[:8000]}\n\n{engines}{file_names}"
        f"{filtered}"
        f'**Steer** `{PROGRAM} feedback {chosen} "TEXT"`, '
        "`outline`, `budget`, `pause`, `resume`, `finish`, `cancel`\n"
    )


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _build_limits(request: StartRequest, settings: ClientSettings, web: WebScope | None) -> RunLimits:
    """Return the limits of the settings, with those that the request gives in their place."""
    chosen: dict[str, Any] = {
        name: getattr(request if name in request.model_fields_set else settings, name)
        for name in LimitFields.model_fields
    }
    names = list_search_strategies()
    if chosen["strategy"] not in (None, *names):
        raise InvalidRequest(f"{chosen['strategy']!r} is not one of {', '.join(names)}", "strategy")
    chosen["filters"] = parse_filters(request.filters)
    chosen["web"] = web
    chosen["has_model"] = settings.has_model
    chosen["chat_model"] = request.model or ""
    chosen["mcp"] = tuple(dict.fromkeys(request.mcp))
    if not settings.has_model:
        _refuse_what_needs_a_model(chosen)
    chosen["rerank"] = settings.rerank_options
    if settings.max_output:
        chosen["max_call_output"] = settings.max_output
    price = find_reservation_price(settings, chosen["chat_model"], limited=bool(chosen["max_cost_usd"]))
    return RunLimits.model_validate(chosen | {"highest_price": price})


def _refuse_what_needs_a_model(chosen: Mapping[str, Any]) -> None:
    """Refuse the options that only a model carries out."""
    if chosen["chat_model"] or chosen["mcp"] or chosen["reasoning"] not in (None, "none"):
        field = "model" if chosen["chat_model"] else "mcp" if chosen["mcp"] else "reasoning"
        raise InvalidRequest("it needs a chat model, which OPENAI_API_KEY or OPENAI_BASE_URL names", field)


def find_reservation_price(settings: ChatModelSettings, model: str = "", *, limited: bool) -> Price | None:
    """Return the prices by which money is reserved, with the chat model of a run in place of that of the settings.

    Raises:
        InvalidRequest: money is limited and the price of a model is unknown.
    """
    if model:
        settings = settings.model_copy(update={"model": model})
    try:
        prices = load_prices(settings)
    except PricesError as error:
        raise InvalidRequest(str(error)) from error
    if limited and (unknown := find_unpriced_models(settings, prices)):
        raise InvalidRequest(
            f"money cannot be limited while the price of {unknown[0]} is unknown: "
            f"add it to {settings.prices_file}, or limit tokens",
            "max_cost_usd",
        )
    return find_highest_price(settings, prices)


def describe_effort_cost(cost: EffortCost, price: Price | None) -> str:
    """Return the typical cost of an effort in words, in money if the price is known."""
    return cost.describe() + (f", {compute_cost(price, cost.tokens_in, cost.tokens_out):.2f} USD" if price else "")


async def launch_run(
    session: Session, planned: PlannedRun, *, digest: str = ""
) -> tuple[WorkflowHandle[object, Result], tuple[str, ...]]:
    """Start a run after the checks that need a connection, and return it with notes.

    By the `digest` of a client's call, its repetition is recognized.

    Raises:
        InvalidRequest: a corpus does not exist.
        UsedRunId: the id is in use.
    """
    planned = await prepare_run(session, planned)
    notes = await refuse_archived_id(session.settings, planned.id) if planned.is_named else ()
    return await start_workflow(await session.connect(), planned, digest=digest), notes


async def prepare_run(session: Session, planned: PlannedRun, readers: Sequence[str] = ()) -> PlannedRun:
    """Return a run with its notifications, after letting the worker read its documents and checking its corpora.

    The commit of a repository is stored for workers on other machines, if there is an object store.

    Args:
        session: connection.
        planned: the run.
        readers: ids of the runs that read its files, such as those of a batch; by default that of the run.

    Raises:
        InvalidRequest: a corpus does not exist, or a commit cannot be worked on.
        Unreachable: the object store does not answer.
    """
    request = _add_notifications(planned.request, session.place)
    given = [file.path for file in request.files if file.path is not None]
    if request.repository:
        repository = await asyncio.to_thread(upload_repository, request.repository, session.settings)
        request = request.model_copy(update={"repository": repository})
        if not repository.source.packed and not is_server_url(repository.source.path):
            given.append(repository.source.path)
    allow_reading(session.place, request.ingest, readers or (planned.id,), given)
    await register_search_attributes(session)
    await _check_corpora(session, request)
    return replace(planned, request=request)


def _add_notifications(request: RunRequest, server: ServerTarget) -> RunRequest:
    """Return a request with notifications if the settings configure them."""
    if not server.settings.has_notifications:
        return request
    return request.model_copy(update={"notifications": server.build_run_url("")})


async def _check_corpora(session: Session, request: RunRequest) -> None:
    """Check that every corpus exists that the run does not create itself."""
    new = {ingestion.corpus for ingestion in request.ingest} | set(map(get_database_corpus, request.databases))
    requested = set(request.corpora) - new
    if not requested:
        return
    existing = [stats.corpus for stats in (await ask_corpora(session, "list")).corpora]
    missing = sorted(requested - set(existing))
    if missing:
        raise InvalidRequest(
            f"there is no corpus {missing[0]!r} ({', '.join(existing) or 'no corpus exists yet'}): "
            f"create it with `{PROGRAM} corpus add PATH --corpus {missing[0]}`",
            "corpora",
        )


async def start_workflow(client: Client, planned: PlannedRun, *, digest: str = "") -> WorkflowHandle[object, Result]:
    """Start the workflow of a run or a fork.

    Raises:
        UsedRunId: the id is in use, also by a finished run, whose report would be hidden.
    """
    chosen, request = planned.id, planned.request
    try:
        with explain_refusals(chosen):
            handle: WorkflowHandle[object, Result] = await client.start_workflow(
                AGENT_WORKFLOW,
                request,
                id=chosen,
                task_queue=TENURE_QUEUE,
                result_type=Result,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                memo={"question": truncate_line(request.question, 500)} | ({REQUEST_MEMO: digest} if digest else {}),
                static_summary=truncate_bytes(request.question),
                static_details=render_details(request, chosen),
                priority=planned.priority,
                search_attributes=TypedSearchAttributes(
                    [
                        SearchAttributePair(MODE, "UNDEFINED"),
                        SearchAttributePair(PHASE, "ingest"),
                        SearchAttributePair(STATUS, "running"),
                    ]
                ),
            )
    except WorkflowAlreadyStartedError as error:
        raise UsedRunId(chosen) from error
    return handle


async def refuse_archived_id(settings: ConnectionSettings, chosen: str) -> tuple[str, ...]:
    """Refuse the id of an archived run, whose report would be hidden; the server knows only the ids that it still has.

    Returns:
        A note if the archive could not be searched.

    Raises:
        UsedRunId: there is such a run.
    """
    try:
        archived = await load_archived(settings, chosen)
    except TenureError as error:
        return (f"the archive was not searched for a run {chosen}: {error}",)
    if archived is not None:
        raise UsedRunId(chosen)
    return ()
