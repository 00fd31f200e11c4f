"""An OpenAI-compatible server on loopback: real HTTP, scripted answers, scripted faults, a ledger.

It speaks Chat Completions (not streamed), Embeddings and Models. Without a script it answers every
role, since it makes a minimal instance of the JSON schema that came with the request. It runs in
threads of the test's process and serves other processes just as well:

    with ModelServer() as server:
        server.on("router", {"mode": "RESEARCH"})
        server.fail(Fault(429, {"retry-after": "2"}), schema="outliner")
        with server.hold("section_writer") as gate:
            ...                       # start something
            gate.arrived.wait(30)     # a call is in flight, and stays so until the block ends
"""

import base64
import json
import re
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from tests.schema_instance import MARKER, Json, instance

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


@dataclass(frozen=True)
class Billed:
    """What one answered request costs."""

    schema_name: str
    model: str
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong, once.

    With a status of 200 and no body the regular completion is made, billed and then passed through
    `change`; else `body` is sent, an error object where none is given. `drop` closes the connection.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | Json | None = None
    change: Callable[[Json], None] | None = None
    drop: bool = False

    @classmethod
    def refusal(cls) -> Self:
        """Make the model refuse."""
        return cls(change=lambda reply: reply["choices"][0]["message"].update(content=None, refusal="I cannot."))

    @classmethod
    def no_choices(cls) -> Self:
        """Answer with an empty list of choices."""
        return cls(change=lambda reply: reply.update(choices=[]))

    @classmethod
    def finish(cls, reason: str) -> Self:
        """End the answer for a reason such as `length` or `content_filter`."""
        return cls(change=lambda reply: reply["choices"][0].update(finish_reason=reason))

    @classmethod
    def message(cls, **fields: object) -> Self:
        """Change fields of the answer's message."""
        return cls(change=lambda reply: reply["choices"][0]["message"].update(fields))

    @property
    def is_error(self) -> bool:
        """Whether no completion is made at all."""
        return self.status != 200 or self.body is not None


@dataclass(frozen=True)
class Gate:
    """Holds requests back until it is opened."""

    schema_name: str | None
    arrived: threading.Event = field(default_factory=threading.Event)
    """Set once a request is being held."""
    opened: threading.Event = field(default_factory=threading.Event)
    """Set to let all of them, and all later ones, go on."""

    def hold(self) -> None:
        """Keep the calling thread until the gate opens."""
        self.arrived.set()
        self.opened.wait()


class ModelServer:
    """The server; start and stop it as a context manager."""

    def __init__(
        self,
        *,
        json_schema: bool = True,
        json_object: bool = True,
        key: str | None = None,
        context_tokens: int | None = None,
        dimensions: int = 64,
    ) -> None:
        self.json_schema = json_schema
        """Whether `response_format` of this type is taken."""
        self.json_object = json_object
        """Whether `response_format` of this type is taken."""
        self.key = key
        """The key to be shown; None for no check."""
        self.context_tokens = context_tokens
        """Longest prompt taken; None for any."""
        self.dimensions = dimensions
        """Length of the embedding vectors where a request does not say."""
        self.requests: list[Request] = []
        """Everything that arrived, faulted requests included."""
        self.billed: list[Billed] = []
        """One entry for every completion or batch of embeddings that was made."""
        self._scripts: dict[str, Script] = {}
        self._faults: list[tuple[str | None, Fault]] = []
        self._gates: list[Gate] = []
        self._lock = threading.Lock()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="model-server")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            gates = list(self._gates)
        for gate in gates:
            gate.opened.set()
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self._thread.join()

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
        """Tokens billed so far, in and out."""
        with self._lock:
            return sum(entry.tokens_in for entry in self.billed), sum(entry.tokens_out for entry in self.billed)

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
    def hold(self, schema: str | None = None) -> Iterator[Gate]:
        """Hold requests back until the block ends or the gate is opened."""
        gate = Gate(schema)
        with self._lock:
            self._gates.append(gate)
        try:
            yield gate
        finally:
            gate.opened.set()
            with self._lock:
                self._gates.remove(gate)

    def receive(self, path: str, headers: Mapping[str, str], body: Json) -> "Reply | None":
        """Answer a POST; None means to close the connection without a word."""
        request = Request(path, headers, body, _schema_of(body)[0])
        with self._lock:
            self.requests.append(request)
            gates = [gate for gate in self._gates if gate.schema_name in (None, request.schema_name)]
        for gate in gates:
            gate.hold()
        fault = self._next_fault(request.schema_name)
        if fault and fault.drop:
            return None
        if fault and fault.is_error:
            return Reply(fault.status, fault.body or _error(f"scripted {fault.status}"), fault.headers)
        return self._refusal(request) or self._served(request, fault)

    def models(self) -> Json:
        """Return the answer of the Models endpoint."""
        return {"object": "list", "data": [{"id": MARKER, "object": "model", "created": 0, "owned_by": "tests"}]}

    def _next_fault(self, schema_name: str) -> Fault | None:
        with self._lock:
            for at, (wanted, fault) in enumerate(self._faults):
                if wanted in (None, schema_name):
                    del self._faults[at]
                    return fault
        return None

    def _refusal(self, request: Request) -> "Reply | None":
        """Refuse what a server with these properties refuses."""
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            shown = request.headers.get("authorization", "")
            return Reply(401, _error(f"Incorrect API key provided: {shown}", "invalid_api_key"))
        wanted = (request.json.get("response_format") or {}).get("type", "text")
        taken = {"text": True, "json_schema": self.json_schema, "json_object": self.json_object}
        if not taken[wanted]:
            return Reply(400, _error(f"This response_format type is unavailable now: {wanted}"))
        prompt = _prompt_tokens(request.json)
        if self.context_tokens is not None and prompt > self.context_tokens:
            said = f"This model's maximum context length is {self.context_tokens} tokens, yours has {prompt}."
            return Reply(400, _error(said, "context_length_exceeded"))
        return None

    def _served(self, request: Request, fault: Fault | None) -> "Reply":
        if request.path.endswith("/chat/completions"):
            reply = self._completion(request)
        elif request.path.endswith("/embeddings"):
            reply = self._embeddings(request)
        else:
            return Reply(404, _error(f"nothing at {request.path}"))
        if fault and fault.change:
            fault.change(reply)
        return Reply(200, reply, fault.headers if fault else {})

    def _completion(self, request: Request) -> Json:
        with self._lock:
            script = self._scripts.get(request.schema_name)
        said = _unscripted(request.json) if script is None else script(request.json) if callable(script) else script
        text = said if isinstance(said, str) else json.dumps(said)
        usage = self._bill(request, _prompt_tokens(request.json), _tokens(text))
        message = {"role": "assistant", "content": text, "refusal": None}
        return {
            "id": f"chatcmpl-{len(self.billed)}",
            "object": "chat.completion",
            "created": 0,
            "model": request.json["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
            "usage": usage,
        }

    def _embeddings(self, request: Request) -> Json:
        texts = request.json["input"]
        texts = [texts] if isinstance(texts, str) else texts
        size = request.json.get("dimensions") or self.dimensions
        vectors = [embedding(str(text), size) for text in texts]
        packed = request.json.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": at, "embedding": _packed(vector) if packed else vector.tolist()}
            for at, vector in enumerate(vectors)
        ]
        usage = self._bill(request, sum(_tokens(str(text)) for text in texts), 0)
        return {"object": "list", "data": data, "model": request.json["model"], "usage": usage}

    def _bill(self, request: Request, tokens_in: int, tokens_out: int) -> Json:
        with self._lock:
            self.billed.append(Billed(request.schema_name, request.json["model"], tokens_in, tokens_out))
        return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


@dataclass(frozen=True)
class Reply:
    """What goes back over the wire; a string body is sent as it is."""

    status: int
    body: str | Json
    headers: Mapping[str, str] = field(default_factory=dict)


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # joined by server_close, so that no test leaves a thread or a socket behind

    def __init__(self, model_server: ModelServer) -> None:
        self.model_server = model_server
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def hang_up(self) -> None:
        """End the connections that clients keep open."""
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # its other end was faster
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body leave in one packet
    disable_nagle_algorithm = True
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        try:
            super().finish()
        except OSError:  # the client went away, as clients under test do
            self.close_connection = True

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the same, while reading or writing
            self.close_connection = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or "{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            reply = self.server.model_server.receive(self.path, headers, body)
        except Exception as error:  # a script's mistake must show in the test that wrote it
            reply = Reply(500, _error(f"{type(error).__name__}: {error}"))
        if reply is None:
            self.close_connection = True
        else:
            self._send(reply)

    def do_GET(self) -> None:
        found = self.path.endswith("/models")
        self._send(Reply(200, self.server.model_server.models()) if found else Reply(404, _error("nothing there")))

    def _send(self, reply: Reply) -> None:
        body = (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
        headers = {"content-type": "application/json", **reply.headers, "content-length": str(len(body))}
        self.send_response(reply.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


def _error(message: str, code: str | None = None) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def _schema_of(request: Json) -> tuple[str, Json]:
    """Return the name and the JSON schema that a chat request carries, in its format or in its prompt."""
    declared = (request.get("response_format") or {}).get("json_schema")
    if declared:
        return declared["name"], declared["schema"]
    for message in request.get("messages", ()):
        written = _SCHEMA_IN_PROMPT.search(str(message.get("content", "")))
        if message["role"] == "system" and written:
            schema, _ = json.JSONDecoder().raw_decode(message["content"], written.end())
            return written[1], cast(Json, schema)
    return "", {}


def _unscripted(request: Json) -> str:
    _, schema = _schema_of(request)
    about = zlib.crc32(json.dumps(request["messages"]).encode()) & 0xFFFF
    return json.dumps(instance(schema, f"{about:04x}")) if schema else f"{MARKER} {about:04x}"


def _tokens(text: str) -> int:
    return len(text) // 4 + 1


def _prompt_tokens(request: Json) -> int:
    return sum(_tokens(str(message["content"])) for message in request.get("messages", ()))


def embedding(text: str, size: int) -> NDArray[np.float32]:
    """Return a unit vector of a text: the sum of a fixed random direction for each of its words."""
    words = re.findall(r"\w+", text.lower()) or [""]
    total = sum(np.random.default_rng(zlib.crc32(word.encode())).standard_normal(size) for word in words)
    return cast(NDArray[np.float32], (total / np.linalg.norm(total)).astype("<f4"))


def _packed(vector: NDArray[np.float32]) -> str:
    return base64.b64encode(vector.tobytes()).decode()
