"""The server itself: scripts, faults, gates, the ledger, and what it answers at each address."""

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

from tests.model_server.background import Made, Responses, response
from tests.model_server.embeddings import embedded, reranked, text_tokens
from tests.model_server.faults import Fault, Weather
from tests.model_server.ledger import Billed, PromptCache
from tests.model_server.request import (
    Request,
    capped,
    format_of,
    functions,
    message_tokens,
    messages,
    schema_of,
    tokens,
)
from tests.model_server.streaming import chunks, lines
from tests.model_server.wire import Caller, ClientLeft, Http, Reply
from tests.schema_instance import MARKER, Json, instance, nonsense

Script = str | Json | Callable[[Json], str | Json]
"""An answer, or what makes one from the request's JSON; a dict is sent as JSON, a string as it is."""

_NO_FAULT = Fault()

_IN_LETTERS = str.maketrans("0123456789", "ghijklmnop")
"""Tells requests apart without a figure, which a report would look for in its sources."""


@dataclass(frozen=True)
class Gate:
    """Holds requests back until it is opened."""

    schema_name: str | None
    after_events: int | None = None
    """Events of a stream that leave before it is held; None to hold the whole request."""
    begun: bool = False
    """Whether it holds nothing but the news that a response in the background was begun."""
    arrived: threading.Event = field(default_factory=threading.Event)
    """Set once a request is being held."""
    opened: threading.Event = field(default_factory=threading.Event)
    """Set to let all of them, and all later ones, go on."""


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
        tool_choice_required: bool = True,
        prompt_cache: bool = False,
        key: str | None = None,
        context_tokens: int | None = None,
        dimensions: int = 64,
        models: Mapping[str, int | None] | None = None,
        weather: Weather | None = None,
        nonsense: int | None = None,
    ) -> None:
        self.json_schema = json_schema
        """Whether `response_format` of this type is taken."""
        self.json_object = json_object
        """Whether `response_format` of this type is taken."""
        self.streaming = streaming
        """Whether `stream` is taken."""
        self.stream_options = stream_options
        """Whether `stream_options` is taken."""
        self.max_completion_tokens = max_completion_tokens
        """Whether the parameter of this name is taken; servers of older days know `max_tokens` only."""
        self.responses_api = responses_api
        """Whether there is a Responses API."""
        self.background = background
        """Whether it takes `background`."""
        self.tools = tools
        """Whether `tools` are taken."""
        self.tool_choice_required = tool_choice_required
        """Whether a model can be made to call one of them."""
        self.prompt_cache = PromptCache() if prompt_cache else None
        """What was read before, told in the bills; None for a server that reads everything anew."""
        self.key = key
        """The key to be shown; None for no check."""
        self.context_tokens = context_tokens
        """Longest prompt taken; None for any."""
        self.dimensions = dimensions
        """Length of the embedding vectors where a request does not say."""
        self.offered = dict(models or {MARKER: None})
        """Models listed, with the context size that the list tells."""
        self.weather = weather
        """Where faults come from that nobody asked for one by one."""
        self.nonsense = nonsense
        """Seed of answers that fit their schema and mean nothing; None for plain ones."""
        self.requests: list[Request] = []
        """Everything that was posted, faulted requests included."""
        self.fetches: list[Request] = []
        """Everything that was fetched, likewise: lists of models and responses."""
        self.in_flight: list[Request] = []
        """Requests whose answer has not left as a whole."""
        self.abandoned: list[Request] = []
        """Requests whose client left before that."""
        self.responses = Responses()
        """What the Responses API made."""
        self.closing = threading.Event()
        self._scripts: dict[str, Script] = {}
        self._faults: list[tuple[str, str | None, Fault]] = []
        self._gates: list[Gate] = []
        self._billed: list[Billed] = []
        self._met: Counter[tuple[str, str]] = Counter()
        self._said: Counter[tuple[str, int]] = Counter()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._http = Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="model-server")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        for gate in list(self._gates):
            gate.opened.set()
        self._http.shutdown()
        self._thread.join()
        self._http.hang_up()
        self._http.server_close()

    @property
    def base_url(self) -> str:
        """Address for `OPENAI_BASE_URL`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """Environment that points a process of Tenure at this server."""
        keyed = {"OPENAI_API_KEY": self.key} if self.key else {}
        return {"OPENAI_BASE_URL": self.base_url, **keyed}

    @property
    def billed(self) -> list[Billed]:
        """One entry for every completion, response or batch of embeddings that was made, fetched or not."""
        self.responses.settle()
        with self._lock:
            return list(self._billed)

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens billed so far for answers that reached their client, in and out."""
        delivered = [entry for entry in self.billed if entry.delivered]
        return sum(entry.tokens_in for entry in delivered), sum(entry.tokens_out for entry in delivered)

    def asked(self, schema_name: str) -> list[Request]:
        """Return the chat requests of one role, in order of arrival."""
        with self._lock:
            return [request for request in self.requests if request.schema_name == schema_name]

    def on(self, schema_name: str, script: Script) -> None:
        """Answer a role in a scripted way from now on."""
        with self._lock:
            self._scripts[schema_name] = script

    def fail(self, *faults: Fault, schema: str | None = None, method: str = "POST") -> None:
        """Let the next requests fail in this order: those of one role, or any where none is named."""
        with self._lock:
            self._faults.extend((method, schema, fault) for fault in faults)

    @contextmanager
    def hold(
        self, schema: str | None = None, *, after_events: int | None = None, begun: bool = False
    ) -> Iterator[Gate]:
        """Hold requests back until the block ends or the gate is opened.

        Args:
            schema: whose requests; None for all.
            after_events: hold a streamed answer back when so many events have left, and no other request.
            begun: hold back the id of a response in the background that is begun by then, and no other request.
        """
        gate = Gate(schema, after_events, begun)
        with self._lock:
            self._gates.append(gate)
        try:
            yield gate
        finally:
            gate.opened.set()
            with self._lock:
                self._gates.remove(gate)

    def receive(self, method: str, path: str, headers: Mapping[str, str], body: Json, caller: Caller) -> None:
        """Answer a request.

        Raises:
            ClientLeft: its client did not wait for the end of it.
        """
        request = Request(path, headers, body, schema_of(body)[0], method)
        with self._attended(request):
            reply = self._explained(request, caller)
            if reply:
                caller.send(reply)

    @contextmanager
    def _attended(self, request: Request) -> Iterator[None]:
        """Keep the lists of requests while one is answered."""
        with self._lock:
            (self.requests if request.method == "POST" else self.fetches).append(request)
            self.in_flight.append(request)
        try:
            yield
        except ClientLeft:
            with self._lock:
                self.abandoned.append(request)
            raise
        finally:
            with self._lock:
                self.in_flight.remove(request)

    def _explained(self, request: Request, caller: Caller) -> Reply | None:
        """Return the answer; a mistake of a script becomes one, so that it shows in the test that made it."""
        try:
            return self._answered(request, caller)
        except ClientLeft:
            raise
        except Exception as error:
            return Reply(500, _error(f"{type(error).__name__}: {error}"))

    def _answered(self, request: Request, caller: Caller) -> Reply | None:
        """Return the answer; None where the connection just ends."""
        self._wait(request, caller)
        fault = self._next_fault(request)
        if not request.in_background:
            caller.pause(fault.delay)
        if fault.hang:
            caller.wait(lambda: False)
        if fault.reset:
            caller.reset()
            return None
        if fault.drop or fault.hang:
            caller.hang_up()
            return None
        if fault.is_error:
            return Reply(fault.status, fault.body or _error(f"scripted {fault.status}"), fault.headers)
        reply = self._refusal(request) or self._served(request, fault)
        if request.in_background:
            for gate in self._held(request, begun=True):
                gate.arrived.set()
                caller.wait(gate.opened.is_set)
        return reply

    def _wait(self, request: Request, caller: Caller, after_events: int | None = None) -> None:
        """Wait at the gates that are set there; a response in the background waits for nobody."""
        for gate in self._held(request, after_events):
            gate.arrived.set()
            if not request.in_background:
                caller.wait(gate.opened.is_set)

    def _held(self, request: Request, after_events: int | None = None, *, begun: bool = False) -> list[Gate]:
        """Return the gates that hold a request back at a point; what fetches or cancels is never held."""
        if request.method != "POST" or request.route.endswith("/cancel"):
            return []
        with self._lock:
            gates = [gate for gate in self._gates if (gate.after_events, gate.begun) == (after_events, begun)]
        return [gate for gate in gates if gate.schema_name in (None, request.schema_name)]

    def _next_fault(self, request: Request) -> Fault:
        with self._lock:
            for at, (method, wanted, fault) in enumerate(self._faults):
                if method == request.method and wanted in (None, request.schema_name):
                    del self._faults[at]
                    return fault
            if self.weather is None or not request.schema_name:
                return _NO_FAULT
            met = (self.weather.run(request.json), request.schema_name)
            self._met[met] += 1
            return self.weather.fault(request.json, request.schema_name, self._met[met]) or _NO_FAULT

    def _refusal(self, request: Request) -> Reply | None:
        """Refuse what a server with these properties refuses."""
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            shown = request.headers.get("authorization", "")
            return Reply(401, _error(f"Incorrect API key provided: {shown}", "invalid_api_key"))
        complaint = next(self._complaints(request.json), None)
        return Reply(400, complaint) if complaint else None

    def _complaints(self, body: Json) -> Iterator[Json]:
        wanted = format_of(body).get("type", "text")
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
        if body.get("tools") and not self.tools:
            yield _error(f"{body['model']} does not support tools")
        if body.get("tool_choice") == "required" and not self.tool_choice_required:
            yield _error("tool_choice must be 'auto' or 'none'", param="tool_choice")
        if body.get("background") and body.get("store") is False:
            yield _error("A response in the background has to be stored.", param="store")
        prompt = sum(message_tokens(body))
        if self.context_tokens is not None and prompt > self.context_tokens:
            said = f"This model's maximum context length is {self.context_tokens} tokens, yours has {prompt}."
            yield _error(said, "context_length_exceeded")

    def _served(self, request: Request, fault: Fault) -> Reply:
        if request.route.endswith("/chat/completions"):
            completion, entry = self._completion(request, fault)
            return self._streamed(request, fault, completion, self._entered(entry, completion))
        if request.route.endswith("/embeddings"):
            return self._embeddings(request, fault)
        if request.route.endswith("/rerank"):
            return self._reranked(request, fault)
        if request.route.endswith("/models"):
            return _sent(self._models(), fault)
        if "/responses" in request.route and self.responses_api:
            return self._of_responses(request, fault)
        return Reply(404, _error(f"nothing at {request.path}"))

    def _models(self) -> Json:
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "tests"}
            | ({} if size is None else {"max_model_len": size})
            for name, size in self.offered.items()
        ]
        return {"object": "list", "data": listed}

    def _embeddings(self, request: Request, fault: Fault) -> Reply:
        entry = Billed("", request.json["model"], text_tokens(request.json), 0, request)
        vectors = embedded(request.json, self.dimensions)
        made: Json = {"object": "list", "data": vectors, "model": entry.model, "usage": entry.usage}
        if fault.change:
            fault.change(made)
        return _sent(made, fault, self._entered(entry, made))

    def _reranked(self, request: Request, fault: Fault) -> Reply:
        made: Json = {"model": request.json["model"], "results": reranked(request.json)}
        if fault.change:
            fault.change(made)
        return _sent(made, fault)

    def _of_responses(self, request: Request, fault: Fault) -> Reply:
        if request.route.endswith("/responses"):
            return self._response(request, fault)
        if request.route.endswith("/cancel"):
            cancelled = self.responses.cancel(request.route.split("/")[-2])
            return _sent(cancelled, fault) if cancelled else Reply(404, _error("no such response"))
        looked = self.responses.look(request.route.rsplit("/", 1)[-1])
        return _sent(looked[0], fault, looked[1]) if looked else Reply(404, _error("no such response"))

    def _response(self, request: Request, fault: Fault) -> Reply:
        """Make a response; one in the background is done once it may be and somebody looks."""
        completion, entry = self._completion(request, fault)
        made = Made(response(completion, request, f"resp_{next(self._numbers)}"))
        made.bill = lambda: self._entered(entry, completion)
        if request.in_background:
            entry.delivered = False
            gates, due = self._held(request), time.monotonic() + fault.delay
            made.ready = lambda: time.monotonic() >= due and all(gate.opened.is_set() for gate in gates)
        else:
            made.settle()
        if request.json.get("store") is False:
            return _sent(made.shown(), fault, made.entry)
        return _sent(self.responses.add(made), fault, made.entry)

    def _completion(self, request: Request, fault: Fault) -> tuple[Json, Billed]:
        """Return a completion as the fault leaves it, and its bill."""
        with self._lock:
            script = self._scripts.get(request.schema_name)
            cached = self.prompt_cache.read(request.json) if self.prompt_cache else 0
        said = self._unscripted(request) if script is None else script(request.json) if callable(script) else script
        text, finish = capped(said if isinstance(said, str) else json.dumps(said), request.json)
        model, prompt = request.json["model"], sum(message_tokens(request.json))
        entry = Billed(request.schema_name, model, prompt, tokens(text), request, tokens_cached=cached)
        message: Json = {"role": "assistant", "content": text, "refusal": None}
        if functions(request.json) and not isinstance(said, str):
            message |= {"content": None, "tool_calls": [_call(said)]}
            finish = "tool_calls"
        completion: Json = {
            "id": f"chatcmpl-{next(self._numbers)}",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
            "usage": entry.usage,
        }
        if fault.change:
            fault.change(completion)
        return completion, entry

    def _unscripted(self, request: Request) -> str | Json:
        _, schema = schema_of(request.json)
        about = zlib.crc32(json.dumps(messages(request.json)).encode()) & 0xFFFF
        if functions(request.json):
            return {"action": "finish", "arguments": instance(schema, f"{about:04x}".translate(_IN_LETTERS))}
        if not schema:
            return f"{MARKER} {about:04x}"
        if self.nonsense is None:
            return json.dumps(instance(schema, f"{about:04x}".translate(_IN_LETTERS)))
        with self._lock:
            self._said[request.schema_name, about] += 1
            again = self._said[request.schema_name, about]
        return json.dumps(nonsense(schema, random.Random(f"{self.nonsense}/{request.schema_name}/{about}/{again}")))

    def _streamed(self, request: Request, fault: Fault, completion: Json, entry: Billed | None) -> Reply:
        """Return a completion as it was asked for: as a stream or in one piece."""
        if not request.json.get("stream"):
            return _sent(completion, fault, entry)
        told = bool((request.json.get("stream_options") or {}).get("include_usage"))
        written = lines(chunks(completion, with_usage=told))
        reply = _sent("", fault, entry, written)
        return replace(reply, before_piece=lambda caller, number: self._wait(request, caller, number))

    def _entered(self, entry: Billed, made: Json) -> Billed | None:
        """Enter a bill into the ledger; what failed has none."""
        if "error" in made:
            return None
        with self._lock:
            self._billed.append(entry)
        return entry


def _sent(made: str | Json, fault: Fault, entry: Billed | None = None, stream: Sequence[str] | None = None) -> Reply:
    """Return what was made, as far as the fault lets it through."""
    if entry and (fault.cut or fault.mangle):
        entry.lost()
    lost = entry.lost if entry else lambda: None
    if fault.mangle is None:
        return Reply(200, made, fault.headers, stream, fault.cut, lost=lost)
    kind = {} if stream is None else {"content-type": "text/event-stream"}
    whole = json.dumps(made) if stream is None else "".join(stream)
    return Reply(200, fault.mangle(whole), {**kind, **fault.headers})


def _call(said: Json) -> Json:
    """Return what a script says to do as a call of a function, whose arguments are text as everywhere."""
    arguments = said["arguments"]
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": "call_1", "type": "function", "function": {"name": said["action"], "arguments": written}}


def _error(message: str, code: str | None = None, param: str | None = None) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
