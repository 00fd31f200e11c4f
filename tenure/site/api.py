"""HTTP API: one table of operations, from which the routes and the OpenAPI description are made."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tenure.contracts.choices import ListedStatus
from tenure.contracts.evidence.corpora import StoredPassage
from tenure.contracts.research.report import RunState
from tenure.contracts.research.trace import Trace
from tenure.contracts.result.diff import RunDiff
from tenure.contracts.result.result import Result
from tenure.contracts.run.control import RunCommand
from tenure.runs.errors import InvalidRequest, MissingRun, TenureError, Unreachable
from tenure.runs.messages import (
    AskBody,
    CitationFormat,
    CorpusList,
    ErrorReply,
    ForgetAnswer,
    ForgetBody,
    ForkBody,
    IngestBody,
    MemoryFilter,
    MemoryList,
    PassageList,
    RememberBody,
    ReportFormat,
    RunConversation,
    RunDetails,
    RunFilter,
    RunList,
    SearchBody,
    StartReply,
    StartRequest,
    SteerReply,
    validate_request,
)
from tenure.runs.service import Service

PREFIX = "/api/v1"

MEDIA_TYPES: dict[ReportFormat, tuple[str, str]] = {
    "md": ("text/markdown; charset=utf-8", "md"),
    "html": ("text/html; charset=utf-8", "html"),
    "pdf": ("application/pdf", "pdf"),
    "docx": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    "json": ("application/json", "json"),
    "bibtex": ("application/x-bibtex; charset=utf-8", "bib"),
    "csl": ("application/vnd.citationstyles.csl+json", "json"),
}
"""Media type and file name suffix of every format of a report."""

STYLES: tuple[CitationFormat, ...] = ("numeric", "author-year")

STATUSES: tuple[str, ...] = get_args(ListedStatus)

KEEP_ALIVE_SECONDS = 15.0
"""Longest silence of a stream of events."""

OperationHandler = Callable[[Service, Request, Any], Awaitable[BaseModel | Response]]


@dataclass(frozen=True)
class ApiOperation:
    """An operation of the API."""

    method: str
    """HTTP method."""
    path: str
    """Path below the prefix."""
    name: str
    """Name, unique in the API."""
    summary: str
    """Effect in a sentence."""
    handler: OperationHandler
    """Function that performs it."""
    reply: type[BaseModel]
    """Model of the reply, or of the events of a stream."""
    body: type[BaseModel] | None = None
    """Model of the request body; None for no body."""
    query: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Query parameters: name, meaning, and allowed values if they are fixed."""
    status: HTTPStatus = HTTPStatus.OK
    """Status of a success."""
    media_types: tuple[str, ...] = ("application/json",)
    """Media types of the reply."""


async def _start(service: Service, request: Request, body: StartRequest) -> BaseModel:
    return await service.start(body)


async def _list(service: Service, request: Request, body: None) -> BaseModel:
    query = request.query_params
    values = {"words": query.get("q"), "status": query.get("status"), "limit": query.get("limit")}
    return RunList(runs=await service.list_runs(validate_request(RunFilter, values)))


async def _describe(service: Service, request: Request, body: None) -> BaseModel:
    return await service.describe(request.path_params["run"])


async def _state(service: Service, request: Request, body: None) -> BaseModel:
    return await service.read_state(request.path_params["run"])


async def _trace(service: Service, request: Request, body: None) -> BaseModel:
    return await service.read_trace(request.path_params["run"])


async def _events(service: Service, request: Request, body: None) -> Response:
    run_id = request.path_params["run"]
    await service.describe(run_id)  # an unknown run is an error, not an empty stream
    return StreamingResponse(_stream(service, run_id), media_type="text/event-stream")


async def _stream(service: Service, run_id: str) -> AsyncIterator[str]:
    """Yield the states of a run as server-sent events, and comments while nothing happens."""
    states = aiter(service.follow(run_id))
    following = asyncio.ensure_future(anext(states, None))
    try:
        while True:
            done, _ = await asyncio.wait({following}, timeout=KEEP_ALIVE_SECONDS)
            if not done:
                yield ": waiting\n\n"
                continue
            details = following.result()
            if details is None:
                yield "event: end\ndata: {}\n\n"
                return
            yield f"event: state\ndata: {details.model_dump_json()}\n\n"
            following = asyncio.ensure_future(anext(states, None))
    except TenureError as error:
        yield f"event: problem\ndata: {ErrorReply(error=str(error)).model_dump_json()}\n\n"
    finally:
        following.cancel()


async def _steer(service: Service, request: Request, body: RunCommand) -> BaseModel:
    return SteerReply(effect=await service.steer(request.path_params["run"], body))


async def _report(service: Service, request: Request, body: None) -> Response:
    kind, style = request.query_params.get("format", "json"), request.query_params.get("citations", "numeric")
    if kind not in MEDIA_TYPES or style not in STYLES:
        raise InvalidRequest(f"format is one of {', '.join(MEDIA_TYPES)}, and citations one of {', '.join(STYLES)}")
    run_id = request.path_params["run"]
    content = await service.render_report(run_id, kind, style)
    media, suffix = MEDIA_TYPES[kind]
    headers = {}
    if kind not in ("json", "md"):
        # A document that a browser would show has its own policy; it is saved instead.
        headers["content-disposition"] = f'attachment; filename="report.{suffix}"'
    return Response(content, media_type=media, headers=headers)


async def _passage(service: Service, request: Request, body: None) -> BaseModel:
    start, end = read_span(request)
    return await service.read_source(request.path_params["run"], request.path_params["number"], start, end)


def read_span(request: Request) -> tuple[int, int]:
    """Return the offsets in the query of a request.

    Raises:
        InvalidRequest: one of them is missing.
    """
    given = request.query_params.get("start", ""), request.query_params.get("end", "")
    if not all(text.isdecimal() and len(text) <= 12 for text in given):
        raise InvalidRequest("start and end are offsets in the text of the source")
    return int(given[0]), int(given[1])


async def _ask(service: Service, request: Request, body: AskBody) -> BaseModel:
    return await service.ask(request.path_params["run"], body)


async def _conversation(service: Service, request: Request, body: None) -> BaseModel:
    return await service.read_conversation(request.path_params["run"])


async def _fork(service: Service, request: Request, body: ForkBody) -> BaseModel:
    return await service.fork(request.path_params["run"], body)


async def _diff(service: Service, request: Request, body: None) -> BaseModel:
    a, b = request.query_params.get("a", ""), request.query_params.get("b", "")
    return await service.compare(a, b)


async def _corpora(service: Service, request: Request, body: None) -> BaseModel:
    return await service.list_corpora()


async def _search(service: Service, request: Request, body: SearchBody) -> BaseModel:
    return await service.search(body)


async def _ingest(service: Service, request: Request, body: IngestBody) -> BaseModel:
    return await service.ingest(body)


async def _memories(service: Service, request: Request, body: None) -> BaseModel:
    return await service.list_memories(MemoryFilter(words=request.query_params.get("q", ""), limit=100))


async def _remember(service: Service, request: Request, body: RememberBody) -> BaseModel:
    return StartReply(id=await service.remember(body))


async def _forget(service: Service, request: Request, body: ForgetBody) -> BaseModel:
    return ForgetAnswer(forgotten=await service.forget(body))


_WORDS = ("q", "words to search for", ())
_RUN = "/runs/{run:path}"

OPERATIONS = (
    ApiOperation(
        "POST", "/runs", "start_run", "Start a run.", _start, StartReply, StartRequest, status=HTTPStatus.CREATED
    ),
    ApiOperation(
        "GET",
        "/runs",
        "list_runs",
        "List the latest runs.",
        _list,
        RunList,
        query=(_WORDS, ("status", "status of the runs", STATUSES), ("limit", "maximum number of runs", ())),
    ),
    ApiOperation("GET", f"{_RUN}/state", "read_state", "Return everything that a run reports.", _state, RunState),
    ApiOperation("GET", f"{_RUN}/trace", "read_trace", "Return the trace of a run.", _trace, Trace),
    ApiOperation(
        "GET",
        f"{_RUN}/events",
        "follow_run",
        "Send the state of a run after each change as server-sent events `state`, and `end` at its end.",
        _events,
        RunDetails,
        media_types=("text/event-stream",),
    ),
    ApiOperation("POST", f"{_RUN}/steer", "steer_run", "Send a command to a run.", _steer, SteerReply, RunCommand),
    ApiOperation(
        "GET",
        f"{_RUN}/report",
        "read_report",
        "Return the report of a finished run.",
        _report,
        Result,
        query=(
            ("format", "format of the report, json without it", tuple(MEDIA_TYPES)),
            ("citations", "format of citation marks", STYLES),
        ),
        media_types=tuple(dict.fromkeys(media.partition(";")[0] for media, _ in MEDIA_TYPES.values())),
    ),
    ApiOperation(
        "GET",
        f"{_RUN}/sources/{{number:int}}",
        "read_source",
        "Return a part of a source of a report, with the text around it.",
        _passage,
        StoredPassage,
        query=(("start", "offset of the first character", ()), ("end", "offset after the last character", ())),
    ),
    ApiOperation(
        "POST",
        f"{_RUN}/questions",
        "ask_question",
        "Ask a follow-up question about a run.",
        _ask,
        StartReply,
        AskBody,
        status=HTTPStatus.CREATED,
    ),
    ApiOperation(
        "GET",
        f"{_RUN}/questions",
        "read_conversation",
        "Return the conversation about a run.",
        _conversation,
        RunConversation,
    ),
    ApiOperation(
        "POST",
        f"{_RUN}/forks",
        "fork_run",
        "Start a new run from a cycle of a run.",
        _fork,
        StartReply,
        ForkBody,
        status=HTTPStatus.CREATED,
    ),
    ApiOperation("GET", _RUN, "describe_run", "Return the present state of a run.", _describe, RunDetails),
    ApiOperation(
        "GET",
        "/diff",
        "compare_runs",
        "Compare the reports of two runs.",
        _diff,
        RunDiff,
        query=(("a", "id of the first run", ()), ("b", "id of the second run", ())),
    ),
    ApiOperation("GET", "/corpora", "list_corpora", "List corpora and running ingestions.", _corpora, CorpusList),
    ApiOperation(
        "POST",
        "/corpora",
        "ingest_documents",
        "Start reading documents into a corpus.",
        _ingest,
        StartReply,
        IngestBody,
        status=HTTPStatus.CREATED,
    ),
    ApiOperation(
        "POST",
        "/corpora/search",
        "search_corpora",
        "Search corpora and return the best passages.",
        _search,
        PassageList,
        SearchBody,
    ),
    ApiOperation(
        "GET", "/memories", "list_memories", "List or search memories.", _memories, MemoryList, query=(_WORDS,)
    ),
    ApiOperation(
        "POST",
        "/memories",
        "remember",
        "Store a memory.",
        _remember,
        StartReply,
        RememberBody,
        status=HTTPStatus.CREATED,
    ),
    ApiOperation(
        "POST", "/memories/forget", "forget_memories", "Forget memories by id.", _forget, ForgetAnswer, ForgetBody
    ),
)
"""Operations in the order in which their paths are compared."""


def build_routes(service: Service) -> list[Route]:
    """Return the routes of the API."""
    return [
        Route(PREFIX + one.path, _build_endpoint(service, one), methods=[one.method], name=one.name)
        for one in OPERATIONS
    ]


def _build_endpoint(service: Service, operation: ApiOperation) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            body = await _read_body(request, operation.body)
            found = await operation.handler(service, request, body)
        except TenureError as error:
            return JSONResponse(ErrorReply(error=str(error)).model_dump(), get_status(error))
        if isinstance(found, Response):
            return found
        return Response(found.model_dump_json(), operation.status, media_type="application/json")

    return answer


async def _read_body(request: Request, kind: type[BaseModel] | None) -> BaseModel | None:
    """Return the body of a request.

    Raises:
        InvalidRequest: it is not JSON, or does not fit the model.
    """
    if kind is None:
        return None
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise InvalidRequest("the body must be of the type application/json")
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        raise InvalidRequest.explain(error) from error


def get_status(error: TenureError) -> HTTPStatus:
    """Return the HTTP status of an error of a command."""
    if isinstance(error, MissingRun):
        return HTTPStatus.NOT_FOUND
    if isinstance(error, InvalidRequest):
        return HTTPStatus.UNPROCESSABLE_ENTITY
    return HTTPStatus.SERVICE_UNAVAILABLE if isinstance(error, Unreachable) else HTTPStatus.CONFLICT
