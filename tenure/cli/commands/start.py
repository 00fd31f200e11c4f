"""Command `start`: start what is needed, start a run, follow it and deliver its report."""

import asyncio
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from temporalio.client import Client, WorkflowHandle
from temporalio.common import Priority, SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from tenure.cli.commands.batches import DEFAULT_PARALLEL_RUNS, make_batch_id, read_batch, run_batch
from tenure.cli.commands.corpora import ask_corpora
from tenure.cli.costs import describe_cost, describe_estimate
from tenure.cli.delivery import check_delivery, deliver
from tenure.cli.errors import CommandError, UsageError
from tenure.cli.filter_conditions import parse_filters
from tenure.cli.formatting import truncate_bytes, truncate_line
from tenure.cli.ownership import parse_ownership
from tenure.cli.paths import allow_reading, find_manual, resolve_paths
from tenure.cli.program_files import read_files, read_tests, upload_files
from tenure.cli.progress.display import choose_display
from tenure.cli.run_ids import DEFAULT_CORPUS, check_corpus, check_run, make_corpus_name, make_run_id
from tenure.cli.session.connection import AGENT_WORKFLOW, explain_refusals, open_session, register_search_attributes
from tenure.cli.session.follow import follow_workflow
from tenure.cli.session.run_records import LazyArchive
from tenure.cli.session.server_target import ServerTarget, ensure_server, print_notes
from tenure.cli.terminal import make_stderr_console, print_json, print_note, print_status
from tenure.cli.web_options import parse_web_scope
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.tables import get_database_corpus
from tenure.contracts.evidence.web import WebScope
from tenure.contracts.result.batch import BatchRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.budget import Price
from tenure.contracts.run.limit_fields import LimitFields
from tenure.contracts.run.notifications import NotificationSettings
from tenure.contracts.run.run import RunLimits, RunMode, RunRequest
from tenure.installation import PROGRAM
from tenure.local_models.servers import find_servers
from tenure.prices import PricesError, find_highest_price, find_unpriced_models, load_prices
from tenure.settings import AUTO_MODEL, Settings
from tenure.temporal.namespace_binding import describe_other_base
from workflows.research.strategies import list_search_strategies
from workflows.runtime.search_attributes import MODE, PHASE, STATUS
from workflows.runtime.task_queues import TENURE_QUEUE

REQUEST_MEMO = "request_digest"
"""Key of the memo that holds the digest of the call that has started a run."""


class UsedRunId(UsageError):
    """The id of a new run belongs to another one."""


def start(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    if arguments.batch is not None:
        return _start_batch(arguments, settings)
    if arguments.question is None or arguments.parallel is not None:
        raise UsageError(
            "give a question, or a file of questions with --batch FILE; --parallel N sets the number of concurrent runs"
        )
    _suggest_models(arguments, settings)
    request = build_request(arguments, settings)
    chosen = check_run(arguments.id) if arguments.id else make_id(request.question, request.mode, settings)
    check_delivery(arguments)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    allow_reading(settings, request.ingest, chosen, request.files)
    return asyncio.run(_run(arguments, place, add_notifications(request, place), chosen))


def _start_batch(arguments: Namespace, settings: Settings) -> int:
    """Ask the questions of a file.

    Raises:
        UsageError: a question or an output file is given as well.
    """
    if arguments.question is not None:
        raise UsageError("--batch FILE and a question exclude each other")
    if arguments.output is not None or arguments.format is not None:
        raise UsageError(f"a batch ends in a summary: `{PROGRAM} report RUN -o FILE` writes the report of a run")
    items = read_batch(arguments.batch)
    arguments.question = items[0].question
    _suggest_models(arguments, settings)
    shared = build_request(arguments, settings)
    if any(item.max_cost_usd for item in items):
        find_reservation_price(settings, limited=True)
    request = BatchRequest(shared=shared, items=items, max_parallel=arguments.parallel or DEFAULT_PARALLEL_RUNS)
    chosen = check_run(arguments.id) if arguments.id else make_batch_id(arguments.batch, items)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    allow_reading(settings, shared.ingest, chosen, shared.files)
    request = request.model_copy(update={"shared": add_notifications(shared, place)})
    return asyncio.run(_run_batch(arguments, place, request, chosen))


def _suggest_models(arguments: Namespace, settings: Settings) -> None:
    """Name the model servers of this machine if no model is configured."""
    if settings.has_model or settings.model == AUTO_MODEL:
        return
    for server in find_servers():
        print_status(server.describe(f"{PROGRAM} start"), arguments.verbosity)


def add_notifications(request: RunRequest, place: ServerTarget) -> RunRequest:
    """Return a request with notifications if the settings configure them."""
    if not place.settings.has_notifications:
        return request
    return request.model_copy(update={"notifications": NotificationSettings(ui_url_prefix=place.build_run_url(""))})


def build_request(arguments: Namespace, settings: Settings) -> RunRequest:
    """Build the request from the arguments.

    Raises:
        UsageError: a path does not exist, or a value is out of range.
    """
    named = tuple(dict.fromkeys(check_corpus(name, made=True) for name in arguments.corpus))
    ingest: list[IngestRequest] = []
    if arguments.docs:
        paths = resolve_paths(arguments.docs)
        ingest.append(
            IngestRequest(
                corpus=make_corpus_name(paths, include_secrets=arguments.include_secrets),
                paths=tuple(str(path) for path in paths),
                include_secrets=arguments.include_secrets,
            )
        )
    databases = tuple(dict.fromkeys(arguments.database))
    tests = read_tests(arguments.tests, include_secrets=arguments.include_secrets)
    # Tests and files of a program imply a coding task, for which the manual of Tenure is no source.
    implies_code = bool(tests or arguments.files)
    mode: RunMode = "code" if implies_code and arguments.mode == "auto" else arguments.mode
    web = parse_web_scope(arguments, settings)
    if DEFAULT_CORPUS in named or not (arguments.docs or named or databases or web or mode == "code"):
        ingest.append(IngestRequest(corpus=DEFAULT_CORPUS, paths=(str(find_manual()),)))
    corpora = dict.fromkeys((*(one.corpus for one in ingest), *named, *map(get_database_corpus, databases)))
    try:
        return RunRequest(
            question=arguments.question.strip(),
            mode=mode,
            ingest=tuple(ingest),
            corpora=tuple(corpora),
            databases=databases,
            files=upload_files(read_files(arguments.files, include_secrets=arguments.include_secrets), settings),
            tests=tests,
            limits=_build_limits(arguments, settings, web),
            memory=settings.memory if arguments.memory is None else arguments.memory,
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{first['loc'][-1]}: {first['msg'].lower()}") from error


def make_id(question: str, mode: RunMode, settings: Settings, *, suffix: str = "") -> str:
    """Return an id for a run, with a suffix in place of random digits."""
    private = settings.encryption_keys is not None or bool(settings.owner)
    return make_run_id(question, mode, private=private, suffix=suffix)


def render_details(request: RunRequest, chosen: str) -> str:
    """Return the text that the web UI shows with the run: the question, and how to steer the run."""
    sources = "\n".join(f"- `{path}`" for one in request.ingest for path in one.paths)
    web = request.limits.web
    engines = f"**Web** {', '.join(web.providers) or 'every configured provider'}\n\n" if web else ""
    only = truncate_line("; ".join(map(str, request.limits.filters)), 2000)
    filtered = f"**Only passages with** {only}\n\n" if only else ""
    files = [f"`{file.name}`" for file in (*request.files, *request.tests)]
    given = f"**Files and tests** {', '.join(files)[:4000]}\n\n" if files else ""
    return (
        f"{truncate_line(request.question, 4000)}\n\n"
        f"**Corpora** {', '.join(request.corpora)}\n\n{sources[:8000]}\n\n{engines}{given}"
        f"{filtered}"
        f'**Steer** `{PROGRAM} feedback {chosen} "TEXT"`, '
        "`outline`, `budget`, `pause`, `resume`, `finish`, `cancel`\n"
    )


def _build_limits(arguments: Namespace, settings: Settings, web: WebScope | None) -> RunLimits:
    """Return the limits of the settings, overridden by the command line."""
    values = {name: getattr(settings, name) for name in LimitFields.model_fields}
    given = {name: getattr(arguments, name, None) for name in values}
    chosen = values | {name: value for name, value in given.items() if value is not None}
    names = list_search_strategies()
    if chosen["strategy"] not in (None, *names):
        raise UsageError(f"TENURE_STRATEGY is {chosen['strategy']!r}: choose one of {', '.join(names)}")
    chosen["filters"] = parse_filters(arguments.filter)
    chosen["web"] = web
    chosen["has_model"] = settings.has_model
    chosen["mcp"] = tuple(dict.fromkeys(arguments.mcp))
    if not settings.has_model:
        _refuse_what_needs_a_model(chosen)
    chosen["rerank"] = settings.rerank_options
    chosen["rerank_listwise"] = settings.rerank_listwise and settings.has_model
    if settings.max_output:
        chosen["max_call_output"] = settings.max_output
    return RunLimits.model_validate(
        chosen | {"highest_price": find_reservation_price(settings, limited=bool(chosen["max_cost_usd"]))}
    )


def _refuse_what_needs_a_model(chosen: Mapping[str, Any]) -> None:
    """Refuse the options that only a model carries out.

    Raises:
        UsageError: such an option is given.
    """
    given = {
        f"--reasoning {chosen['reasoning']}": chosen["reasoning"] not in (None, "none"),
        "--mcp": bool(chosen["mcp"]),
    }
    if option := next((option for option, is_given in given.items() if is_given), ""):
        raise UsageError(f"{option} needs a chat model, which OPENAI_API_KEY or OPENAI_BASE_URL names")


def find_reservation_price(settings: Settings, *, limited: bool) -> Price | None:
    """Return the prices by which money is reserved.

    Raises:
        UsageError: money is limited and the price of a model is unknown.
    """
    try:
        prices = load_prices(settings)
    except PricesError as error:
        raise UsageError(str(error)) from error
    if limited and (unknown := find_unpriced_models(settings, prices)):
        raise UsageError(
            f"money cannot be limited while the price of {unknown[0]} is unknown: "
            f"add it to {settings.prices_file}, or limit tokens with --max-tokens"
        )
    return find_highest_price(settings, prices)


async def _run(arguments: Namespace, place: ServerTarget, request: RunRequest, chosen: str) -> int:
    """Start the run and follow it to its end."""
    client = await open_session(place)
    await _print_other_base(client, place)
    handle = await launch_run(arguments, place, client, request, chosen)
    return await follow_started_run(arguments, place, client, handle)


async def _print_other_base(client: Client, place: ServerTarget) -> None:
    """Warn if the run uses another knowledge base than this home's; the server of this home has no other workers."""
    if not place.is_local and (other := await describe_other_base(client, place.settings)):
        print_note(f"warning: {other}")


async def launch_run(
    arguments: Namespace, place: ServerTarget, client: Client, request: RunRequest, chosen: str, *, digest: str = ""
) -> WorkflowHandle[object, Result]:
    """Start a run after the checks that need a connection.

    Args:
        arguments: arguments of the command.
        place: server.
        client: connection to it.
        request: the request.
        chosen: id of the run.
        digest: digest of the call of a client, by which its repetition is recognized; empty for none.

    Raises:
        UsageError: a corpus does not exist, or the id is in use.
    """
    await register_search_attributes(client, place)
    await check_corpora(client, request)
    if arguments.id:
        await refuse_archived_id(place, chosen)
    if request.limits.has_model and request.mode != "code":
        print_status(describe_estimate(request.limits), arguments.verbosity)
    return await start_workflow(client, request, chosen, parse_ownership(arguments), digest=digest)


async def follow_started_run(
    arguments: Namespace, place: ServerTarget, client: Client, handle: WorkflowHandle[object, Result]
) -> int:
    """Follow a started run to its end, unless the command is detached."""
    chosen = handle.id
    print_status(
        f"run {chosen}" + (f", web UI: {place.build_run_link(chosen)}" if place.ui else ""), arguments.verbosity
    )
    if arguments.detach:
        if arguments.json:
            print_json({"id": chosen, "url": place.build_run_link(chosen), "status": "running"})
        else:
            print_status(f"follow it with `{PROGRAM} watch {chosen}`", arguments.verbosity)
        return 0
    with choose_display(make_stderr_console(), arguments.verbosity) as display:
        result = await follow_workflow(client, place, handle, display)
    code = deliver(result, arguments)
    if result.usage.model_calls:
        print_status(describe_cost(result.usage), arguments.verbosity)
    link = f", or {place.build_run_link(chosen)}" if place.ui else ""
    print_status(f"again: `{PROGRAM} report {chosen}`{link}", arguments.verbosity)
    return code


async def _run_batch(arguments: Namespace, place: ServerTarget, request: BatchRequest, chosen: str) -> int:
    """Check the corpora of a batch, then run it."""
    client = await open_session(place)
    await _print_other_base(client, place)
    await register_search_attributes(client, place)
    await check_corpora(client, request.shared)
    return await run_batch(arguments, place, client, request, chosen)


async def check_corpora(client: Client, request: RunRequest) -> None:
    """Check that every corpus exists that the run does not create itself."""
    made = {one.corpus for one in request.ingest} | set(map(get_database_corpus, request.databases))
    wanted = set(request.corpora) - made
    if not wanted:
        return
    known = [stats.corpus for stats in (await ask_corpora(client, "list")).corpora]
    missing = sorted(wanted - set(known))
    if missing:
        raise UsageError(
            f"there is no corpus {missing[0]!r} ({', '.join(known) or 'no corpus exists yet'}): "
            f"create it with `{PROGRAM} ingest PATH --corpus {missing[0]}`"
        )


async def start_workflow(
    client: Client, request: RunRequest, chosen: str, priority: Priority, *, digest: str = ""
) -> WorkflowHandle[object, Result]:
    """Start the workflow of a run or a fork.

    Raises:
        UsedRunId: the id is in use, also by a finished run, whose report would be hidden.
    """
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
                priority=priority,
                search_attributes=TypedSearchAttributes(
                    [
                        SearchAttributePair(MODE, "UNDEFINED"),
                        SearchAttributePair(PHASE, "ingest"),
                        SearchAttributePair(STATUS, "running"),
                    ]
                ),
            )
    except WorkflowAlreadyStartedError as error:
        raise _describe_used_id(chosen) from error
    return handle


async def refuse_archived_id(place: ServerTarget, chosen: str) -> None:
    """Refuse the id of an archived run, whose report would be hidden; the server knows only the ids that it still has.

    Raises:
        UsedRunId: there is such a run.
    """
    try:
        found = await LazyArchive(place.settings, chosen).load()
    except CommandError as error:
        print_note(f"the archive was not searched for a run {chosen}: {error}")
        return
    if found is not None:
        raise _describe_used_id(chosen)


def _describe_used_id(chosen: str) -> UsedRunId:
    return UsedRunId(f"the id {chosen} is in use: see it with `{PROGRAM} report {chosen}`, or choose another --id")
