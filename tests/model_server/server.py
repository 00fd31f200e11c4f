"""The server itself: scripts, faults, gates, the ledger, and what it answers at each address."""

import base64
import json
import random
import re
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from tests.model_server.background import Made, Responses, response
from tests.model_server.faults import Fault, Weather
from tests.model_server.streaming import chunks
from tests.model_server.wire import Caller, ClientLeft, Http, Reply
from tests.schema_instance import MARKER, Json, instance, nonsense

Script = str | Json | Callable[[Json], str | Json]
"""An answer, or what makes one from the request's JSON; a dict is sent as JSON, a string as it is."""

_SCHEMA_IN_PROMPT = re.compile(r"JSON schema `([^`]+)`:\n")


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """By lower-case name."""
    json: Json
    schema_name: str = ""
    """The role asked, however the request carries its schema; empty where it carries none."""


@dataclass(eq=False)
class Billed:
    """What one answered request costs."""

    schema_name: str
    model: str
    tokens_in: int
    tokens_out: int
    request: Request
    delivered: bool = True
    """Whether the answer reached its client whole; one that did not is paid all the same."""

    @property
    def usage(self) -> Json:
        """The bill as the protocol writes it."""
        total = self.tokens_in + self.tokens_out
        return {"prompt_tokens": self.tokens_in, "completion_tokens": self.tokens_out, "total_tokens": total}


@dataclass(frozen=True)
class Gate:
    """Holds requests back until it is opened."""

    schema_name: str | None
    after_events: int | None = None
    """Events of a stream that leave before it is held; None to hold the whole request."""
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
        self.billed: list[Billed] = []
        """One entry for every completion or batch of embeddings that was made."""
        self.in_flight: list[Request] = []
        """Requests that are being answered."""
        self.abandoned: list[Request] = []
        """Requests whose client left before they were answered."""
        self.responses = Responses()
        """What the Responses API made."""
        self.closing = threading.Event()
        self._scripts: dict[str, Script] = {}
        self._faults: list[tuple[str | None, Fault]] = []
        self._gates: list[Gate] = []
        self._counts: Counter[tuple[str, str]] = Counter()
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
    def tokens(self) -> tuple[int, int]:
        """Tokens billed so far for answers that reached their client, in and out."""
        with self._lock:
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

    def fail(self, *faults: Fault, schema: str | None = None) -> None:
        """Let the next requests fail in this order: those of one role, or any POST where none is named."""
        with self._lock:
            self._faults.extend((schema, fault) for fault in faults)

    @contextmanager
    def hold(self, schema: str | None = None, *, after_events: int | None = None) -> Iterator[Gate]:
        """Hold requests back until the block ends or the gate is opened.

        Args:
            schema: whose requests; None for all.
            after_events: hold a streamed answer back when so many events have left, and no other request.
        """
        gate = Gate(schema, after_events)
        with self._lock:
            self._gates.append(gate)
        try:
            yield gate
        finally:
            gate.opened.set()
            with self._lock:
                self._gates.remove(gate)

    def receive(self, method: str, path: str, headers: Mapping[str, str], body: Json, caller: Caller) -> Reply | None:
        """Answer a request; None means to close the connection without a word."""
        if method == "GET":
            return self._fetched(path)
        request = Request(path, headers, body, _schema_of(body)[0])
        with self._lock:
            self.requests.append(request)
            self.in_flight.append(request)
        try:
            return self._answered(request, caller)
        except ClientLeft:
            with self._lock:
                self.abandoned.append(request)
            raise
        finally:
            with self._lock:
                self.in_flight.remove(request)

    def failed(self, error: Exception) -> Reply:
        """Answer a request whose script made a mistake."""
        return Reply(500, _error(f"{type(error).__name__}: {error}"))

    def models(self) -> Json:
        """Return the answer of the Models endpoint."""
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "tests"}
            | ({} if size is None else {"max_model_len": size})
            for name, size in self.offered.items()
        ]
        return {"object": "list", "data": listed}

    def _fetched(self, path: str) -> Reply:
        if path.endswith("/models"):
            return Reply(200, self.models())
        made = self.responses.get(path.rsplit("/", 1)[-1]) if "/responses/" in path else None
        return Reply(404, _error(f"nothing at {path}")) if made is None else Reply(200, made)

    def _answered(self, request: Request, caller: Caller) -> Reply | None:
        background = request.path.endswith("/responses") and request.json.get("background")
        for gate in self._held(request):
            gate.arrived.set()
            if not background:
                caller.wait(gate.opened.is_set)
        fault = self._next_fault(request)
        if fault:
            caller.pause(fault.delay)
        if fault and fault.hang:
            caller.wait(lambda: False)
        if fault and (fault.drop or fault.hang):
            return None
        if fault and fault.is_error:
            return Reply(fault.status, fault.body or _error(f"scripted {fault.status}"), fault.headers)
        return self._refusal(request) or self._served(request, fault, caller)

    def _held(self, request: Request) -> list[Gate]:
        with self._lock:
            gates = [gate for gate in self._gates if gate.after_events is None]
        return [gate for gate in gates if gate.schema_name in (None, request.schema_name)]

    def _next_fault(self, request: Request) -> Fault | None:
        with self._lock:
            for at, (wanted, fault) in enumerate(self._faults):
                if wanted in (None, request.schema_name):
                    del self._faults[at]
                    return fault
            if self.weather is None or not request.schema_name:
                return None
            counted = (self.weather.run(request.json), request.schema_name)
            self._counts[counted] += 1
            return self.weather.fault(request.json, request.schema_name, self._counts[counted])

    def _refusal(self, request: Request) -> Reply | None:
        """Refuse what a server with these properties refuses."""
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            shown = request.headers.get("authorization", "")
            return Reply(401, _error(f"Incorrect API key provided: {shown}", "invalid_api_key"))
        body = request.json
        wanted = _format_of(body).get("type", "text")
        taken = {"text": True, "json_schema": self.json_schema, "json_object": self.json_object}
        if not taken[wanted]:
            return Reply(400, _error(f"This response_format type is unavailable now: {wanted}"))
        if body.get("stream") and not self.streaming:
            return Reply(400, _error("stream is not supported by this server", param="stream"))
        if body.get("stream_options") and not self.stream_options:
            return Reply(400, _error("Unrecognized request argument supplied: stream_options", param="stream_options"))
        if "max_completion_tokens" in body and not self.max_completion_tokens:
            said = "Unsupported parameter: 'max_completion_tokens' is not supported, use 'max_tokens' instead."
            return Reply(400, _error(said, "unsupported_parameter", "max_completion_tokens"))
        prompt = _prompt_tokens(body)
        if self.context_tokens is not None and prompt > self.context_tokens:
            said = f"This model's maximum context length is {self.context_tokens} tokens, yours has {prompt}."
            return Reply(400, _error(said, "context_length_exceeded"))
        return None

    def _served(self, request: Request, fault: Fault | None, caller: Caller) -> Reply:
        if request.path.endswith("/cancel"):
            made = self.responses.cancel(request.path.split("/")[-2])
            return Reply(200, made) if made else Reply(404, _error("no such response"))
        if request.path.endswith("/responses"):
            return Reply(200, self._response(request, fault))
        if request.path.endswith("/chat/completions"):
            reply, entry = self._completion(request, delivered=not (fault and fault.cut))
        elif request.path.endswith("/embeddings"):
            reply, entry = self._embeddings(request)
        else:
            return Reply(404, _error(f"nothing at {request.path}"))
        if fault and fault.change:
            fault.change(reply)
        headers, cut = (fault.headers, fault.cut) if fault else ({}, False)
        if request.json.get("stream") and not (fault and fault.mangle):
            told = bool((request.json.get("stream_options") or {}).get("include_usage"))
            hold = self._holding(request, entry, caller)
            return Reply(200, headers=headers, events=chunks(reply, with_usage=told), cut=cut, before_event=hold)
        if fault and fault.mangle:
            entry.delivered = False
            return Reply(200, fault.mangle(json.dumps(reply)), headers)
        return Reply(200, reply, headers, cut=cut)

    def _holding(self, request: Request, entry: "Billed", caller: Caller) -> Callable[[int], None]:
        """Return what holds a stream back at the gates that are set for it."""

        def hold(number: int) -> None:
            with self._lock:
                gates = [gate for gate in self._gates if gate.after_events == number]
            for gate in gates:
                if gate.schema_name in (None, request.schema_name):
                    gate.arrived.set()
                    self._wait_in_stream(request, entry, caller, gate)

        return hold

    def _wait_in_stream(self, request: Request, entry: "Billed", caller: Caller, gate: "Gate") -> None:
        try:
            caller.wait(gate.opened.is_set)
        except ClientLeft:
            entry.delivered = False
            with self._lock:
                self.abandoned.append(request)
            raise

    def _completion(self, request: Request, *, delivered: bool) -> tuple[Json, "Billed"]:
        with self._lock:
            script = self._scripts.get(request.schema_name)
        said = self._unscripted(request) if script is None else script(request.json) if callable(script) else script
        text, finish = _capped(said if isinstance(said, str) else json.dumps(said), request.json)
        entry = self._bill(request, _prompt_tokens(request.json), _tokens(text), delivered=delivered)
        message = {"role": "assistant", "content": text, "refusal": None}
        reply = {
            "id": f"chatcmpl-{len(self.billed)}",
            "object": "chat.completion",
            "created": 0,
            "model": request.json["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
            "usage": entry.usage,
        }
        return reply, entry

    def _unscripted(self, request: Request) -> str:
        _, schema = _schema_of(request.json)
        about = zlib.crc32(json.dumps(_messages(request.json)).encode()) & 0xFFFF
        if not schema:
            return f"{MARKER} {about:04x}"
        if self.nonsense is None:
            return json.dumps(instance(schema, f"{about:04x}"))
        return json.dumps(nonsense(schema, random.Random(f"{self.nonsense}/{about}/{len(self.requests)}")))

    def _response(self, request: Request, fault: Fault | None) -> Json:
        """Make a response; one in the background is done once no gate holds it and it was asked for once."""
        completion, entry = self._completion(request, delivered=False)
        if fault and fault.change:
            fault.change(completion)
        json_made = response(completion, f"resp_{len(self.billed)}_{len(self.responses)}")
        if not request.json.get("background"):
            entry.delivered = True
            return json_made
        asked = iter(range(1, 1_000_000))
        gates = self._held(request)
        made = Made(
            json_made,
            done=lambda: next(asked) > 1 and all(gate.opened.is_set() for gate in gates),
            finished=lambda: setattr(entry, "delivered", True),
            withdrawn=lambda: self.billed.remove(entry),
        )
        return self.responses.add(made)

    def _embeddings(self, request: Request) -> tuple[Json, "Billed"]:
        texts = request.json["input"]
        texts = [texts] if isinstance(texts, str) else texts
        size = request.json.get("dimensions") or self.dimensions
        vectors = [embedding(str(text), size) for text in texts]
        packed = request.json.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": at, "embedding": _packed(vector) if packed else vector.tolist()}
            for at, vector in enumerate(vectors)
        ]
        entry = self._bill(request, sum(_tokens(str(text)) for text in texts), 0)
        return {"object": "list", "data": data, "model": request.json["model"], "usage": entry.usage}, entry

    def _bill(self, request: Request, tokens_in: int, tokens_out: int, *, delivered: bool = True) -> "Billed":
        entry = Billed(request.schema_name, request.json["model"], tokens_in, tokens_out, request, delivered)
        with self._lock:
            self.billed.append(entry)
        return entry


def _error(message: str, code: str | None = None, param: str | None = None) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def _format_of(request: Json) -> Json:
    """Return the format that a request asks for, in either protocol; empty for none."""
    return request.get("response_format") or (request.get("text") or {}).get("format") or {}


def _messages(request: Json) -> list[Any]:
    """Return the prompt's messages, in either protocol."""
    given = request.get("messages") or request.get("input") or []
    told = request.get("instructions")
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
    return [{"role": "system", "content": told}, *messages] if told else messages


def _schema_of(request: Json) -> tuple[str, Json]:
    """Return the name and the JSON schema that a chat request carries, in its format or in its prompt."""
    asked = _format_of(request)
    declared = asked.get("json_schema") or (asked if "schema" in asked else None)
    if declared:
        return declared["name"], declared["schema"]
    for message in [] if "encoding_format" in request else _messages(request):
        content = str(message.get("content", "")) if isinstance(message, dict) else ""
        written = _SCHEMA_IN_PROMPT.search(content)
        if written and message["role"] in ("system", "developer"):
            schema, _ = json.JSONDecoder().raw_decode(content, written.end())
            return written[1], cast(Json, schema)
    return "", {}


def _capped(text: str, request: Json) -> tuple[str, str]:
    """Return the part of an answer that its request leaves room for, and how it ends."""
    caps = [request.get(name) for name in ("max_completion_tokens", "max_tokens", "max_output_tokens")]
    cap = next((cap for cap in caps if cap), None)
    if cap is None or _tokens(text) <= cap:
        return text, "stop"
    return text[: (cap - 1) * 4], "length"


def _tokens(text: str) -> int:
    return len(text) // 4 + 1


def _prompt_tokens(request: Json) -> int:
    return sum(_tokens(str(message["content"])) for message in _messages(request) if isinstance(message, dict))


def embedding(text: str, size: int) -> NDArray[np.float32]:
    """Return a unit vector of a text: the sum of a fixed random direction for each of its words."""
    words = re.findall(r"\w+", text.lower()) or [""]
    total = sum(np.random.default_rng(zlib.crc32(word.encode())).standard_normal(size) for word in words)
    return cast(NDArray[np.float32], (total / np.linalg.norm(total)).astype("<f4"))


def _packed(vector: NDArray[np.float32]) -> str:
    return base64.b64encode(vector.tobytes()).decode()
