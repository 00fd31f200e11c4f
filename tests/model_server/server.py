"""The server itself: scripts, faults, gates, the ledger, and the answers of each endpoint."""

import itertools
import json
import random
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from tests.model_server.background import BackgroundResponse, ResponseStore, build_response
from tests.model_server.completion import build_completion
from tests.model_server.embeddings import build_embeddings, build_rerank_results, count_text_tokens
from tests.model_server.faults import Fault, RandomFaults
from tests.model_server.ledger import BilledRequest, PromptCache
from tests.model_server.recording import Recording
from tests.model_server.request import (
    Request,
    count_message_tokens,
    count_tokens,
    list_images,
    read_format,
    read_functions,
    read_messages,
    read_schema,
    truncate_answer,
)
from tests.model_server.streaming import build_chunks, format_events
from tests.model_server.transcripts import build_transcript
from tests.model_server.wire import ClientConnection, ClientDisconnected, ModelHttpServer, WireReply
from tests.support.report_answers import build_text, render_fields
from tests.support.schema_instance import MARKER, Json, instance, nonsense

Script = str | Json | Callable[[Json], str | Json]
"""An answer, or a function of the request's JSON; a dict is sent as JSON, a string unchanged."""

_NO_FAULT = Fault()

_LETTERS = str.maketrans("0123456789", "ghijklmnop")
"""Letters that number requests, since a report would search a digit in its sources."""


@dataclass(frozen=True)
class Gate:
    """Blocks requests until it is opened."""

    schema_name: str | None
    after_events: int | None = None
    """Number of stream events that are sent before the block; None to block the whole request."""
    blocks_start: bool = False
    """Whether it blocks only the reply to the start of a background response."""
    arrived: threading.Event = field(default_factory=threading.Event)
    """Set as soon as a request is blocked."""
    opened: threading.Event = field(default_factory=threading.Event)
    """Set to release all blocked and later requests."""


class ModelServer:
    """The server; start and stop it as a context manager."""

    def __init__(
        self,
        *,
        json_schema: bool = True,
        json_object: bool = True,
        streaming: bool = True,
        stream_options: bool = True,
        max_completion_tokens: bool = True,
        responses_api: bool = True,
        background: bool = True,
        tools: bool = True,
        images: bool = True,
        prompt_cache: bool = False,
        key: str | None = None,
        context_tokens: int | None = None,
        dimensions: int = 64,
        models: Mapping[str, int | None] | None = None,
        random_faults: RandomFaults | None = None,
        nonsense: int | None = None,
        recording: Recording | None = None,
    ) -> None:
        self.json_schema = json_schema
        """Whether `response_format` of this type is supported."""
        self.json_object = json_object
        """Whether `response_format` of this type is supported."""
        self.streaming = streaming
        """Whether `stream` is supported."""
        self.stream_options = stream_options
        """Whether `stream_options` is supported."""
        self.max_completion_tokens = max_completion_tokens
        """Whether this parameter is supported; older servers support `max_tokens` only."""
        self.responses_api = responses_api
        """Whether the server has a Responses API."""
        self.background = background
        """Whether `background` is supported."""
        self.images = images
        """Whether pictures in messages are supported."""
        self.tools = tools
        """Whether `tools` are supported."""
        """Whether a model can be forced to call one of them."""
        self.prompt_cache = PromptCache() if prompt_cache else None
        """Cache of prompts, reported in the usage; None for a server without a cache."""
        self.key = key
        """The required key; None for no check."""
        self.context_tokens = context_tokens
        """Maximum length of a prompt; None for no limit."""
        self.dimensions = dimensions
        """Default length of the embedding vectors."""
        self.offered = dict(models or {MARKER: None})
        """Listed models with their context sizes."""
        self.random_faults = random_faults
        """Source of random faults."""
        self.nonsense = nonsense
        """Seed of valid answers without meaning; None for plain ones."""
        self.recording = recording
        """Recorded answers for roles without a script; None for none."""
        self.transcripts: dict[str, Callable[[bytes], Json]] = {"verbose_json": build_transcript}
        """Transcripts of recordings by the format that is requested; other formats are refused."""
        self.requests: list[Request] = []
        """All POST requests, including failed ones."""
        self.fetches: list[Request] = []
        """All GET requests, including failed ones: model lists and responses."""
        self.in_flight: list[Request] = []
        """Requests without a complete answer."""
        self.abandoned: list[Request] = []
        """Requests whose client disconnected before that."""
        self.responses = ResponseStore()
        """Responses of the Responses API."""
        self.closing = threading.Event()
        self._scripts: dict[str, Script] = {}
        self._faults: list[tuple[str, str | None, Fault]] = []
        self._gates: list[Gate] = []
        self._billed: list[BilledRequest] = []
        self._met: Counter[tuple[str, str]] = Counter()
        self._said: Counter[tuple[str, int]] = Counter()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._http = ModelHttpServer(self)

    def __enter__(self) -> Self:
        self._http.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        for gate in list(self._gates):
            gate.opened.set()
        self._http.stop()

    @property
    def base_url(self) -> str:
        """URL for `OPENAI_BASE_URL`."""
        return self._http.base_url

    @property
    def environment(self) -> dict[str, str]:
        """Environment of a Tenure process that uses this server for every request, without a cache of answers."""
        keyed = {"OPENAI_API_KEY": self.key} if self.key else {}
        return {"OPENAI_BASE_URL": self.base_url, "TENURE_ANSWER_CACHE_MEGABYTES": "0", **keyed}

    @property
    def billed(self) -> list[BilledRequest]:
        """One entry for every generated completion, response or batch of embeddings, fetched or not."""
        self.responses.finish_ready()
        with self._lock:
            return list(self._billed)

    @property
    def tokens(self) -> tuple[int, int]:
        """Billed tokens of all delivered answers, in and out."""
        delivered = [entry for entry in self.billed if entry.delivered]
        return sum(entry.tokens_in for entry in delivered), sum(entry.tokens_out for entry in delivered)

    def requests_of(self, schema_name: str) -> list[Request]:
        """Return the chat requests of one role, in order of arrival."""
        with self._lock:
            return [request for request in self.requests if request.schema_name == schema_name]

    def on(self, schema_name: str, script: Script) -> None:
        """Set the script of a role."""
        with self._lock:
            self._scripts[schema_name] = script

    def fail(self, *faults: Fault, schema: str | None = None, method: str = "POST") -> None:
        """Set the faults of the next requests, in this order: those of one role, or of all if no role is given."""
        with self._lock:
            self._faults.extend((method, schema, fault) for fault in faults)

    @contextmanager
    def hold(
        self, schema: str | None = None, *, after_events: int | None = None, block_start: bool = False
    ) -> Iterator[Gate]:
        """Block requests until the block ends or the gate is opened.

        Args:
            schema: role of the requests; None for all.
            after_events: block a streamed answer after this number of events, and no other request.
            block_start: block the reply to the start of a background response, and no other request.
        """
        gate = Gate(schema, after_events, block_start)
        with self._lock:
            self._gates.append(gate)
        try:
            yield gate
        finally:
            gate.opened.set()
            with self._lock:
                self._gates.remove(gate)

    def receive(self, method: str, path: str, headers: Mapping[str, str], body: Json, caller: ClientConnection) -> None:
        """Answer a request.

        Raises:
            ClientDisconnected: the client disconnected before the end of the answer.
        """
        request = Request(path, headers, body, read_schema(body)[0], method)
        with self._track(request):
            reply = self._answer_or_explain(request, caller)
            if reply:
                caller.send(reply)

    @contextmanager
    def _track(self, request: Request) -> Iterator[None]:
        """Update the lists of requests while one is answered."""
        with self._lock:
            (self.requests if request.method == "POST" else self.fetches).append(request)
            self.in_flight.append(request)
        try:
            yield
        except ClientDisconnected:
            with self._lock:
                self.abandoned.append(request)
            raise
        finally:
            with self._lock:
                self.in_flight.remove(request)

    def _answer_or_explain(self, request: Request, caller: ClientConnection) -> WireReply | None:
        """Return the answer; an error of a script becomes a 500 that shows it in the test."""
        try:
            return self._answer(request, caller)
        except ClientDisconnected:
            raise
        except Exception as error:
            return WireReply(500, _error(f"{type(error).__name__}: {error}"))

    def _answer(self, request: Request, caller: ClientConnection) -> WireReply | None:
        """Return the answer, or None if the connection ends without one."""
        self._wait_at_gates(request, caller)
        fault = self._next_fault(request)
        if not request.in_background:
            caller.pause(fault.delay)
        if fault.hangs:
            caller.wait(lambda: False)
        if fault.reset:
            caller.reset()
            return None
        if fault.drop or fault.hangs:
            caller.hang_up()
            return None
        if fault.is_error:
            return WireReply(fault.status, fault.body or _error(f"scripted {fault.status}"), fault.headers)
        reply = self._reject(request) or self._serve(request, fault)
        if request.in_background:
            for gate in self._select_gates(request, block_start=True):
                gate.arrived.set()
                caller.wait(gate.opened.is_set)
        return reply

    def _wait_at_gates(self, request: Request, caller: ClientConnection, after_events: int | None = None) -> None:
        """Wait at the gates of this point; a background response does not wait."""
        for gate in self._select_gates(request, after_events):
            gate.arrived.set()
            if not request.in_background:
                caller.wait(gate.opened.is_set)

    def _select_gates(
        self, request: Request, after_events: int | None = None, *, block_start: bool = False
    ) -> list[Gate]:
        """Return the gates that block a request at a point; a fetch or a cancellation is never blocked."""
        if request.method != "POST" or request.route.endswith("/cancel"):
            return []
        with self._lock:
            gates = [
                gate for gate in self._gates if (gate.after_events, gate.blocks_start) == (after_events, block_start)
            ]
        return [gate for gate in gates if gate.schema_name in (None, request.schema_name)]

    def _next_fault(self, request: Request) -> Fault:
        with self._lock:
            for at, (method, wanted, fault) in enumerate(self._faults):
                if method == request.method and wanted in (None, request.schema_name):
                    del self._faults[at]
                    return fault
            if self.random_faults is None or not request.schema_name:
                return _NO_FAULT
            met = (self.random_faults.run_of(request.json), request.schema_name)
            self._met[met] += 1
            return self.random_faults.draw_fault(request.json, request.schema_name, self._met[met]) or _NO_FAULT

    def _reject(self, request: Request) -> WireReply | None:
        """Reject the requests that a server with these properties rejects."""
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            shown = request.headers.get("authorization", "")
            return WireReply(401, _error(f"Incorrect API key provided: {shown}", "invalid_api_key"))
        complaint = next(self._iterate_errors(request.json), None)
        return WireReply(400, complaint) if complaint else None

    def _iterate_errors(self, body: Json) -> Iterator[Json]:
        wanted = read_format(body).get("type", "text")
        if not {"text": True, "json_schema": self.json_schema, "json_object": self.json_object}[wanted]:
            yield _error(f"This response_format type is unavailable now: {wanted}")
        if body.get("stream") and not self.streaming:
            yield _error("stream is not supported by this server", param="stream")
        if body.get("stream_options") and not self.stream_options:
            yield _error("Unrecognized request argument supplied: stream_options", param="stream_options")
        if "max_completion_tokens" in body and not self.max_completion_tokens:
            said = "Unsupported parameter: 'max_completion_tokens' is not supported, use 'max_tokens' instead."
            yield _error(said, "unsupported_parameter", "max_completion_tokens")
        if "background" in body and not self.background:
            yield _error("Unknown parameter: 'background'.", "unknown_parameter", "background")
        if not self.images and list_images(body):
            yield _error(f"{body['model']} is not a multimodal model")
        if body.get("tools") and not self.tools:
            yield _error(f"{body['model']} does not support tools")
        if body.get("background") and body.get("store") is False:
            yield _error("A response in the background has to be stored.", param="store")
        prompt = sum(count_message_tokens(body))
        if self.context_tokens is not None and prompt > self.context_tokens:
            said = f"This model's maximum context length is {self.context_tokens} tokens, yours has {prompt}."
            yield _error(said, "context_length_exceeded")

    def _serve(self, request: Request, fault: Fault) -> WireReply:
        if request.route.endswith("/chat/completions"):
            completion, entry = self._complete(request, fault)
            return self._build_reply(request, fault, completion, self._record(entry, completion))
        if request.route.endswith("/embeddings"):
            return self._embed(request, fault)
        if request.route.endswith("/rerank"):
            return self._rerank(request, fault)
        if request.route.endswith("/audio/transcriptions"):
            return self._transcribe(request, fault)
        if request.route.endswith("/models"):
            return _send(self._models(), fault)
        if "/responses" in request.route and self.responses_api:
            return self._serve_response(request, fault)
        return WireReply(404, _error(f"nothing at {request.path}"))

    def _models(self) -> Json:
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "tests"}
            | ({} if size is None else {"max_model_len": size})
            for name, size in self.offered.items()
        ]
        return {"object": "list", "data": listed}

    def _embed(self, request: Request, fault: Fault) -> WireReply:
        entry = BilledRequest("", request.json["model"], count_text_tokens(request.json), 0, request)
        vectors = build_embeddings(request.json, self.dimensions)
        made: Json = {"object": "list", "data": vectors, "model": entry.model, "usage": entry.usage}
        if fault.change:
            fault.change(made)
        return _send(made, fault, self._record(entry, made))

    def _rerank(self, request: Request, fault: Fault) -> WireReply:
        made: Json = {"model": request.json["model"], "results": build_rerank_results(request.json)}
        if fault.change:
            fault.change(made)
        return _send(made, fault)

    def _transcribe(self, request: Request, fault: Fault) -> WireReply:
        wanted, (_, recording) = request.json["response_format"], request.json["file"]
        if wanted not in self.transcripts:
            return WireReply(
                400, _error(f"response_format '{wanted}' is not compatible with model", "unsupported_value")
            )
        made = dict(self.transcripts[wanted](recording))
        if fault.change:
            fault.change(made)
        return _send(made, fault, self._record(BilledRequest("", request.json["model"], 0, 0, request), made))

    def _serve_response(self, request: Request, fault: Fault) -> WireReply:
        if request.route.endswith("/responses"):
            return self._create_response(request, fault)
        if request.route.endswith("/cancel"):
            cancelled = self.responses.cancel(request.route.split("/")[-2])
            return _send(cancelled, fault) if cancelled else WireReply(404, _error("no such response"))
        looked = self.responses.fetch(request.route.rsplit("/", 1)[-1])
        return _send(looked[0], fault, looked[1]) if looked else WireReply(404, _error("no such response"))

    def _create_response(self, request: Request, fault: Fault) -> WireReply:
        """Create a response; a background one is finished at the first fetch after it is ready."""
        completion, entry = self._complete(request, fault)
        made = BackgroundResponse(build_response(completion, request, f"resp_{next(self._numbers)}"))
        made.on_finish = lambda: self._record(entry, completion)
        if request.in_background:
            entry.delivered = False
            gates, due = self._select_gates(request), time.monotonic() + fault.delay
            made.is_ready = lambda: time.monotonic() >= due and all(gate.opened.is_set() for gate in gates)
        else:
            made.finish_if_ready()
        if request.json.get("store") is False:
            return _send(made.render(), fault, made.entry)
        return _send(self.responses.add(made), fault, made.entry)

    def _complete(self, request: Request, fault: Fault) -> tuple[Json, BilledRequest]:
        """Return a completion, changed by the fault, and its bill."""
        with self._lock:
            script = self._scripts.get(request.schema_name)
            if script is None and self.recording:
                script = self.recording.find_answer(request.json)
            cached = self.prompt_cache.read(request.json) if self.prompt_cache else 0
        said = self._build_instance(request) if script is None else script(request.json) if callable(script) else script
        written = said if isinstance(said, str) else render_fields(request.schema_name, said)
        text, finish = truncate_answer(written, request.json)
        model, prompt = request.json["model"], sum(count_message_tokens(request.json))
        entry = BilledRequest(request.schema_name, model, prompt, count_tokens(text), request, tokens_cached=cached)
        call = said if read_functions(request.json) and not isinstance(said, str) else None
        completion = build_completion(f"chatcmpl-{next(self._numbers)}", model, entry.usage, call or text, finish)
        if fault.change:
            fault.change(completion)
        return completion, entry

    def _build_instance(self, request: Request) -> str | Json:
        name, schema = read_schema(request.json)
        about = zlib.crc32(json.dumps(read_messages(request.json)).encode()) & 0xFFFF
        if read_functions(request.json):
            return {"action": "finish", "arguments": instance(schema, f"{about:04x}".translate(_LETTERS))}
        if not schema and name:
            prompt = "\n".join(str(message["content"]) for message in read_messages(request.json))
            return build_text(name, prompt, f"{about:04x}".translate(_LETTERS))
        if not schema:
            return f"{MARKER} {about:04x}"
        if self.nonsense is None:
            return json.dumps(instance(schema, f"{about:04x}".translate(_LETTERS)))
        with self._lock:
            self._said[request.schema_name, about] += 1
            again = self._said[request.schema_name, about]
        return json.dumps(nonsense(schema, random.Random(f"{self.nonsense}/{request.schema_name}/{about}/{again}")))

    def _build_reply(self, request: Request, fault: Fault, completion: Json, entry: BilledRequest | None) -> WireReply:
        """Return a completion in the requested form: as a stream or in one piece."""
        if not request.json.get("stream"):
            return _send(completion, fault, entry)
        told = bool((request.json.get("stream_options") or {}).get("include_usage"))
        written = format_events(build_chunks(completion, with_usage=told))
        reply = _send("", fault, entry, written)
        return replace(reply, before_each_piece=lambda caller, number: self._wait_at_gates(request, caller, number))

    def _record(self, entry: BilledRequest, made: Json) -> BilledRequest | None:
        """Add a bill to the ledger; a failed completion has none."""
        if "error" in made:
            return None
        with self._lock:
            self._billed.append(entry)
        return entry


def _send(
    made: str | Json, fault: Fault, entry: BilledRequest | None = None, stream: Sequence[str] | None = None
) -> WireReply:
    """Return the reply with the effects of the fault."""
    if entry and (fault.cut or fault.mangle):
        entry.mark_undelivered()
    lost = entry.mark_undelivered if entry else lambda: None
    if fault.mangle is None:
        return WireReply(200, made, fault.headers, stream, fault.cut, on_disconnect=lost)
    kind = {} if stream is None else {"content-type": "text/event-stream"}
    whole = json.dumps(made) if stream is None else "".join(stream)
    return WireReply(200, fault.mangle(whole), {**kind, **fault.headers})


def _error(message: str, code: str | None = None, param: str | None = None) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
