"""Fake search server on the loopback interface: it sends scripted responses, records requests, and can misbehave."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

WITHDRAWN = 30.0
"""Seconds after which an endless response ends if its test does not end it."""


@dataclass(frozen=True)
class RecordedRequest:
    """Recorded request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class FakeResponse:
    """Scripted response."""

    body: object = b""
    """Bytes or text unchanged, anything else as JSON."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    """Whether no response is sent."""
    breaks: bool = False
    """Whether the connection closes before the end of the body."""
    endless: bytes = b""
    """Bytes that are sent after the body until the client disconnects."""

    @property
    def payload(self) -> bytes:
        """Bytes of the body."""
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class FakeSearchServer:
    """Server of one test, used as a context manager."""

    def __init__(self, *answers: FakeResponse | Callable[[RecordedRequest], FakeResponse]) -> None:
        """Send these responses in order, and the last one from then on."""
        self._answers = list(answers)
        self._lock = threading.Lock()
        self._withdrawn = threading.Event()
        self.requests: list[RecordedRequest] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exit: object) -> None:
        self._withdrawn.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _said(self, asked: RecordedRequest) -> FakeResponse:
        with self._lock:
            self.requests.append(asked)
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer(asked) if callable(answer) else answer

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        engine = self

        class Handler(BaseHTTPRequestHandler):
            """One connection."""

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(headers.get("content-length", "0")))
                self._say(engine._said(RecordedRequest(self.command, parts.path, query, headers, body)))

            do_POST = do_GET

            def _say(self, said: FakeResponse) -> None:
                if said.hangs:
                    engine._withdrawn.wait(WITHDRAWN)
                    return
                self.send_response(said.status)
                for name, value in {"Content-Type": "application/json", **said.headers}.items():
                    self.send_header(name, value)
                if not said.endless:
                    self.send_header("Content-Length", str(len(said.payload) + said.breaks))
                self.end_headers()
                try:
                    self.wfile.write(said.payload)
                    while said.endless and not engine._withdrawn.is_set():
                        self.wfile.write(said.endless)
                except OSError:
                    self.close_connection = True  # the client has had enough

            def log_message(self, format: str, *args: object) -> None:
                """Keep quiet."""

        return Handler
