"""`start`: bring up what is needed, start a run, follow it, hand its report over."""

import asyncio
from argparse import Namespace

from pydantic import ValidationError
from temporalio.client import Client, WorkflowHandle
from temporalio.common import Priority, SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from tenure.cli.commands.batches import PARALLEL, batch_id, read_batch, run_batch
from tenure.cli.commands.corpora import ask_corpora
from tenure.cli.delivery import check_delivery, deliver
from tenure.cli.display import display_for
from tenure.cli.errors import UsageError
from tenure.cli.filter_conditions import filters_of
from tenure.cli.formatting import one_line, within_bytes
from tenure.cli.ownership import turn
from tenure.cli.paths import existing, manual
from tenure.cli.program_files import given_files, given_tests
from tenure.cli.run_ids import DEFAULT_CORPUS, check_corpus, check_run, corpus_of, run_id
from tenure.cli.session.connection import AGENT_WORKFLOW, explained, open_session, register_search_attributes
from tenure.cli.session.follow import follow
from tenure.cli.session.server_target import Place, announce, ensure
from tenure.cli.terminal import print_json, say, stderr_console
from tenure.cli.web_options import web_scope
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.tables import database_corpus
from tenure.contracts.evidence.web import WebScope
from tenure.contracts.result.batch import BatchRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.budget import Price
from tenure.contracts.run.notifications import Notices
from tenure.contracts.run.run import Limits, Mode, RunRequest
from tenure.prices import PricesError, dearest, load_prices, unpriced
from tenure.settings import Settings
from workflows.runtime.search_attributes import MODE, PHASE, STATUS
from workflows.runtime.task_queues import TENURE_QUEUE


def start(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    if arguments.batch is not None:
        return _start_batch(arguments, settings)
    if arguments.question is None or arguments.parallel is not None:
        raise UsageError("ask a question, or many with --batch FILE, of which --parallel N are answered at a time")
    request = build_request(arguments, settings)
    chosen = check_run(arguments.id) if arguments.id else new_id(request, settings)
    check_delivery(arguments)
    place = ensure(settings)
    announce(place)
    return asyncio.run(_run(arguments, place, telling(request, place), chosen))


def _start_batch(arguments: Namespace, settings: Settings) -> int:
    """Ask the questions of a file.

    Raises:
        UsageError: there is a question as well, or where its report is to go.
    """
    if arguments.question is not None:
        raise UsageError("the questions come from the file of --batch: leave the other one out")
    if arguments.output is not None or arguments.format is not None:
        raise UsageError("a batch ends in a summary: `python client.py report RUN -o FILE` writes the report of a run")
    items = read_batch(arguments.batch)
    arguments.question = items[0].question
    shared = build_request(arguments, settings)
    if any(item.max_cost_usd for item in items):
        dearest_price(settings, limited=True)
    request = BatchRequest(shared=shared, items=items, parallel=arguments.parallel or PARALLEL)
    chosen = check_run(arguments.id) if arguments.id else batch_id(arguments.batch, items)
    place = ensure(settings)
    announce(place)
    request = request.model_copy(update={"shared": telling(shared, place)})
    return asyncio.run(_run_batch(arguments, place, request, chosen))


def telling(request: RunRequest, place: Place) -> RunRequest:
    """Return a request whose run tells people outside, where the settings set that up."""
    if not place.settings.tells:
        return request
    return request.model_copy(update={"notices": Notices(ui=place.url(""))})


def build_request(arguments: Namespace, settings: Settings) -> RunRequest:
    """Turn the command line into a request.

    Raises:
        UsageError: a path does not exist, or a value is out of its range.
    """
    named = tuple(dict.fromkeys(check_corpus(name, made=True) for name in arguments.corpus))
    ingest: list[IngestRequest] = []
    if arguments.docs:
        paths = existing(arguments.docs)
        ingest.append(IngestRequest(corpus=corpus_of(paths), paths=tuple(str(path) for path in paths)))
    databases = tuple(dict.fromkeys(arguments.database))
    tests = given_tests(arguments.tests)
    # Who gives tests wants a program; and the manual of this one has nothing to say on the program of a person.
    mode: Mode = "code" if tests and arguments.mode == "auto" else arguments.mode
    web = web_scope(arguments, settings)
    if DEFAULT_CORPUS in named or not (arguments.docs or named or databases or web or mode == "code"):
        ingest.append(IngestRequest(corpus=DEFAULT_CORPUS, paths=(str(manual()),)))
    corpora = dict.fromkeys((*(one.corpus for one in ingest), *named, *map(database_corpus, databases)))
    try:
        return RunRequest(
            question=arguments.question.strip(),
            mode=mode,
            ingest=tuple(ingest),
            corpora=tuple(corpora),
            databases=databases,
            files=given_files(arguments.files),
            tests=tests,
            limits=_limits(arguments, settings, web),
            memory=settings.memory if arguments.memory is None else arguments.memory,
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{first['loc'][-1]}: {first['msg'].lower()}") from error


def new_id(request: RunRequest, settings: Settings) -> str:
    """Make up an id for a run."""
    return run_id(request.question, request.mode, private=settings.encryption_keys is not None)


def details(request: RunRequest, chosen: str) -> str:
    """Write the page that the web UI shows with the run: what was asked, and how to steer it."""
    sources = "\n".join(f"- `{path}`" for one in request.ingest for path in one.paths)
    web = request.limits.web
    engines = f"**Web** {', '.join(web.providers) or 'every engine that is set up'}\n\n" if web else ""
    only = one_line("; ".join(map(str, request.limits.filters)), 2000)
    filtered = f"**Only passages with** {only}\n\n" if only else ""
    files = [f"`{file.name}`" for file in (*request.files, *request.tests)]
    given = f"**Files and tests** {', '.join(files)[:4000]}\n\n" if files else ""
    return (
        f"{one_line(request.question, 4000)}\n\n"
        f"**Corpora** {', '.join(request.corpora)}\n\n{sources[:8000]}\n\n{engines}{given}"
        f"{filtered}"
        f'**Steer** `python client.py feedback {chosen} "TEXT"`, '
        "`outline`, `budget`, `pause`, `resume`, `finish`, `cancel`\n"
    )


def _limits(arguments: Namespace, settings: Settings, web: WebScope | None) -> Limits:
    """Take the limits from the settings and, over them, from the command line."""
    derived = {"call_output", "dearest", "filters", "long_history", "mcp", "web"}
    values = {name: getattr(settings, name) for name in Limits.model_fields if name not in derived}
    given = {name: getattr(arguments, name, None) for name in values}
    chosen = values | {name: value for name, value in given.items() if value is not None}
    chosen["filters"] = filters_of(arguments.filter)
    chosen["web"] = web
    chosen["mcp"] = tuple(dict.fromkeys(arguments.mcp))
    chosen["rerank"] = settings.second_stage
    chosen["rerank_listwise"] = settings.rerank_listwise and settings.uses_model
    if settings.max_output:
        chosen["call_output"] = settings.max_output
    return Limits.model_validate(chosen | {"dearest": dearest_price(settings, limited=bool(chosen["max_cost_usd"]))})


def dearest_price(settings: Settings, *, limited: bool) -> Price | None:
    """Return the prices by which money is reserved.

    Raises:
        UsageError: money is limited, and what a model costs is not known.
    """
    try:
        prices = load_prices(settings)
    except PricesError as error:
        raise UsageError(str(error)) from error
    if limited and (unknown := unpriced(settings, prices)):
        raise UsageError(
            f"money cannot be limited while the price of {unknown[0]} is not known: "
            f"add it to {settings.prices_file}, or limit tokens with --max-tokens"
        )
    return dearest(settings, prices)


async def _run(arguments: Namespace, place: Place, request: RunRequest, chosen: str) -> int:
    """Start the run and see it to its end."""
    client = await open_session(place)
    await register_search_attributes(client, place)
    await check_corpora(client, request)
    handle = await begin(client, request, chosen, turn(arguments))
    return await see(arguments, place, client, handle)


async def see(arguments: Namespace, place: Place, client: Client, handle: WorkflowHandle[object, Result]) -> int:
    """See a run that was started to its end, unless nobody wants to wait for that."""
    chosen = handle.id
    say(f"run {chosen}" + (f", web UI: {place.url(chosen)}" if place.ui else ""))
    if arguments.detach:
        if arguments.json:
            print_json({"id": chosen, "url": place.url(chosen), "status": "running"})
        else:
            say(f"follow it with `python client.py watch {chosen}`")
        return 0
    with display_for(stderr_console()) as display:
        result = await follow(client, place, handle, display)
    code = deliver(result, arguments)
    say(f"again: `python client.py report {chosen}`" + (f", or {place.url(chosen)}" if place.ui else ""))
    return code


async def _run_batch(arguments: Namespace, place: Place, request: BatchRequest, chosen: str) -> int:
    """Make sure that the runs of a batch can begin, and see to it."""
    client = await open_session(place)
    await register_search_attributes(client, place)
    await check_corpora(client, request.shared)
    return await run_batch(arguments, place, client, request, chosen)


async def check_corpora(client: Client, request: RunRequest) -> None:
    """Make sure that every corpus the run will not make itself is there."""
    made = {one.corpus for one in request.ingest} | set(map(database_corpus, request.databases))
    wanted = set(request.corpora) - made
    if not wanted:
        return
    known = [stats.corpus for stats in (await ask_corpora(client, "list")).corpora]
    missing = sorted(wanted - set(known))
    if missing:
        raise UsageError(
            f"there is no corpus {missing[0]!r} ({', '.join(known) or 'there is none yet'}): "
            f"make it with `python client.py ingest PATH --corpus {missing[0]}`"
        )


async def begin(client: Client, request: RunRequest, chosen: str, priority: Priority) -> WorkflowHandle[object, Result]:
    """Start the workflow of a run, or of a fork.

    Raises:
        UsageError: the id is in use, also by a run that is over: its report would be lost to sight.
    """
    try:
        with explained(chosen):
            handle: WorkflowHandle[object, Result] = await client.start_workflow(
                AGENT_WORKFLOW,
                request,
                id=chosen,
                task_queue=TENURE_QUEUE,
                result_type=Result,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                memo={"question": one_line(request.question, 500)},
                static_summary=within_bytes(request.question),
                static_details=details(request, chosen),
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
        raise UsageError(
            f"the id {chosen} is in use: see it with `python client.py report {chosen}`, or choose another --id"
        ) from error
    return handle
