"""HTTP API: one table of operations, from which the routes and the OpenAPI description are made."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tenure.contracts.choices import ListedStatus, ReportFormat
from tenure.contracts.result.result import Result
from tenure.runs.errors import InvalidRequest, MissingCorpus, MissingRun, QuotaReached, TenureError, Unreachable
from tenure.runs.messages import ErrorReply, ReportQuery, RunDetails, UploadReply, validate_request
from tenure.runs.run_ids import slugify
from tenure.runs.service import Service
from tenure.site.forms import MAX_UPLOAD_BODY_BYTES, ReceivedForm, receive_form

PREFIX = "/api/v1"

MEDIA_TYPES: dict[ReportFormat, tuple[str, str]] = {
    "md": ("text/markdown; charset=utf-8", "md"),
    "html": ("text/html; charset=utf-8", "html"),
    "pdf": ("application/pdf", "pdf"),
    "docx": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    "json": ("application/json", "json"),
    "bibtex": ("application/x-bibtex; charset=utf-8", "bib"),
    "csl": ("application/vnd.citationstyles.csl+json", "csl.json"),
}
"""Media type and file name suffix of every format of a report."""

PATCH_TYPE = "text/x-diff"
"""Media type of a patch."""

STATUSES: tuple[str, ...] = get_args(ListedStatus)

MAX_FILE_NAME = 60
"""Characters of a question in the name of a file."""

KEEP_ALIVE_SECONDS = 15.0
"""Longest silence of a stream of events."""


@dataclass(frozen=True)
class ApiOperation:
    """An operation of the API; its request and its reply are those of the function that performs it."""

    method: str
    """HTTP method."""
    path: str
    """Path below the prefix; its placeholders are parameters of the function."""
    name: str
    """Name, unique in the API."""
    summary: str
    """Effect in a sentence."""
    function: Callable[..., Awaitable[BaseModel | Response]]
    """Function that performs it: of the service, the placeholders and a request, which `GET` has in its query."""
    sent: type[BaseModel] | None = None
    """Model of the content or of the events, if the function returns a response."""
    media_types: tuple[str, ...] = ("application/json",)
    """Media types of the reply."""

    @cached_property
    def request(self) -> tuple[str, type[BaseModel]] | None:
        """Name and model of the request of the function, or None if it has none."""
        for name, parameter in inspect.signature(self.function).parameters.items():
            if hasattr(parameter.annotation, "model_fields"):
                return name, parameter.annotation
        return None

    @property
    def has_files(self) -> bool:
        """Whether its request is a form with files."""
        return "form" in inspect.signature(self.function).parameters

    @property
    def reply(self) -> type[BaseModel]:
        """Model of the reply, or of the events of a stream."""
        returned: type[BaseModel] = inspect.signature(self.function).return_annotation
        return self.sent or returned

    @property
    def status(self) -> HTTPStatus:
        """Status of a success."""
        makes = self.method == "POST" and not self.path.endswith(("steer", "search", "forget"))
        return HTTPStatus.CREATED if makes else HTTPStatus.OK


async def _follow(service: Service, run: str) -> Response:
    await service.describe(run)  # an unknown run is an error, not an empty stream
    return StreamingResponse(_stream(service, run), media_type="text/event-stream")


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


async def _report(service: Service, run: str, query: ReportQuery) -> Response:
    content = await service.render_report(run, query.format, query.citations, query.proofs)
    media = MEDIA_TYPES[query.format][0]
    headers = {}
    if query.format not in ("json", "md"):
        # A document that a browser would show has its own policy; it is saved instead.
        name = make_file_name((await service.read_result(run)).question, query.format)
        headers["content-disposition"] = f'attachment; filename="{name}"'
    return Response(content, media_type=media, headers=headers)


async def _patch(service: Service, run: str) -> Response:
    patch, question = await service.read_patch(run), (await service.read_result(run)).question
    headers = {"content-disposition": f'attachment; filename="{make_file_name(question, "patch")}"'}
    return Response(patch, media_type=PATCH_TYPE, headers=headers)


def make_file_name(question: str, kind: ReportFormat | Literal["patch"]) -> str:
    """Return the name of a file that is saved from a run, made from its question."""
    suffix = "patch" if kind == "patch" else MEDIA_TYPES[kind][1]
    return f"{slugify(question, MAX_FILE_NAME)}.{suffix}"


async def _upload(service: Service, corpus: str, form: ReceivedForm) -> UploadReply:
    try:
        if form.problem:
            raise form.problem
        return await service.upload(form.upload, corpus)
    finally:
        await asyncio.to_thread(form.upload.discard)


_RUN = "/runs/{run:path}"
_CORPUS = "/corpora/{corpus:path}"

OPERATIONS = (
    ApiOperation("POST", "/runs", "start_run", "Start a run.", Service.start),
    ApiOperation("GET", "/runs", "list_runs", "List the latest runs.", Service.list_runs),
    ApiOperation("GET", f"{_RUN}/state", "read_state", "Return everything that a run reports.", Service.read_state),
    ApiOperation("GET", f"{_RUN}/trace", "read_trace", "Return the trace of a run.", Service.read_trace),
    ApiOperation(
        "GET",
        f"{_RUN}/events",
        "follow_run",
        "Send the state of a run after each change as server-sent events `state`, and `end` at its end.",
        _follow,
        RunDetails,
        ("text/event-stream",),
    ),
    ApiOperation("POST", f"{_RUN}/steer", "steer_run", "Send a command to a run.", Service.steer),
    ApiOperation(
        "GET",
        f"{_RUN}/report",
        "read_report",
        "Return the report of a finished run.",
        _report,
        Result,
        tuple(dict.fromkeys(media.partition(";")[0] for media, _ in MEDIA_TYPES.values())),
    ),
    ApiOperation(
        "GET",
        f"{_RUN}/patch",
        "read_patch",
        "Return the changes of a finished run as a patch for `git apply`.",
        _patch,
        Result,
        (PATCH_TYPE,),
    ),
    ApiOperation(
        "GET",
        f"{_RUN}/sources/{{number:int}}",
        "read_source",
        "Return a part of a source of a report, with the text around it.",
        Service.read_source,
    ),
    ApiOperation("POST", f"{_RUN}/questions", "ask_question", "Ask a follow-up question about a run.", Service.ask),
    ApiOperation(
        "GET",
        f"{_RUN}/questions",
        "read_conversation",
        "Return the conversation about a run.",
        Service.read_conversation,
    ),
    ApiOperation(
        "POST", f"{_RUN}/forks", "fork_run", "Start a new run from a cycle or an answer of a run.", Service.fork
    ),
    ApiOperation("POST", f"{_RUN}/again", "repeat_run", "Ask the question of a run again.", Service.repeat),
    ApiOperation("PUT", f"{_RUN}/label", "label_run", "Give a title and tags to a run.", Service.label),
    ApiOperation("GET", _RUN, "describe_run", "Return the present state of a run.", Service.describe),
    ApiOperation("DELETE", _RUN, "delete_run", "Delete a finished run.", Service.delete),
    ApiOperation("GET", "/diff", "compare_runs", "Compare the reports of two runs.", Service.compare),
    ApiOperation("GET", "/corpora", "list_corpora", "List corpora and running ingestions.", Service.list_corpora),
    ApiOperation("POST", "/corpora", "ingest_documents", "Start reading documents into a corpus.", Service.ingest),
    ApiOperation(
        "POST",
        "/corpora/search",
        "search_corpora",
        "Search corpora and return the best passages.",
        Service.search,
    ),
    ApiOperation(
        "GET", _CORPUS, "describe_corpus", "Return the state of a corpus, with its documents.", Service.describe_corpus
    ),
    ApiOperation(
        "DELETE", _CORPUS, "drop_corpus", "Delete a corpus, with its uploaded documents.", Service.drop_corpus
    ),
    ApiOperation(
        "POST",
        f"{_CORPUS}/files",
        "upload_documents",
        "Add the files of a form (`multipart/form-data`) to a corpus and start reading it.",
        _upload,
    ),
    ApiOperation("GET", "/memories", "list_memories", "List or search memories.", Service.list_memories),
    ApiOperation("POST", "/memories", "remember", "Store a memory.", Service.remember),
    ApiOperation("POST", "/memories/forget", "forget_memories", "Forget memories by id.", Service.forget),
)
"""Operations in the order in which their paths are compared."""


def build_routes(service: Service) -> list[Route]:
    """Return the routes of the API."""
    return [
        Route(
            PREFIX + call.path,
            _build_endpoint(service, call),
            methods=[call.method],
            name=call.name,
            max_body_size=MAX_UPLOAD_BODY_BYTES if call.has_files else None,
        )
        for call in OPERATIONS
    ]


def _build_endpoint(service: Service, operation: ApiOperation) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            reply = await operation.function(service, **await _read_arguments(service, request, operation))
        except TenureError as error:
            return JSONResponse(ErrorReply(error=str(error)).model_dump(), get_status(error))
        if isinstance(reply, Response):
            return reply
        return Response(reply.model_dump_json(), operation.status, media_type="application/json")

    return answer


async def _read_arguments(service: Service, request: Request, operation: ApiOperation) -> dict[str, Any]:
    arguments: dict[str, Any] = dict(request.path_params)
    if operation.has_files:
        return arguments | {"form": await receive_form(request, service.settings)}
    if operation.request is None:
        return arguments
    name, kind = operation.request
    if operation.method == "GET":
        return arguments | {name: validate_request(kind, dict(request.query_params))}
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise InvalidRequest("the body must be of the type application/json")
    try:
        return arguments | {name: kind.model_validate_json(await request.body())}
    except ValidationError as error:
        raise InvalidRequest.explain(error) from error


def get_status(error: TenureError) -> HTTPStatus:
    """Return the HTTP status of an error of a command."""
    if isinstance(error, MissingRun | MissingCorpus):
        return HTTPStatus.NOT_FOUND
    if isinstance(error, InvalidRequest):
        return HTTPStatus.UNPROCESSABLE_ENTITY
    if isinstance(error, QuotaReached):
        return HTTPStatus.TOO_MANY_REQUESTS
    return HTTPStatus.SERVICE_UNAVAILABLE if isinstance(error, Unreachable) else HTTPStatus.CONFLICT
