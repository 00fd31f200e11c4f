"""Serve chat completions that people write or have written: each request waits in a folder until it is answered."""

import json
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from evals.by_hand.answers import RefusedAnswer
from evals.by_hand.folder import RequestFolder, RequestInbox, StoredRequest
from tests.model_server.completion import build_completion
from tests.model_server.recording import Recording
from tests.model_server.request import count_message_tokens, count_tokens, read_functions
from tests.model_server.streaming import build_chunks, format_events
from tests.model_server.wire import ClientConnection, ClientDisconnected, ModelHttpServer, WireReply
from tests.support.schema_instance import Json

MODEL = "by-hand"
"""Name of the listed model; any other name is accepted as well."""


class ByHandServer:
    """The server; start and stop it as a context manager.

    Args:
        folder: folder of the requests and answers.
        port: port on the loopback interface; 0 for a free one.
        recording: answers that are sent without waiting for a person.
        waits: whether a request without a recorded answer waits for a person; otherwise it is refused as a model
            refuses, so that its role continues without an answer.

    Attributes:
        missed: roles of the requests to which no recorded answer fits, in order of arrival.
    """

    def __init__(
        self, folder: RequestFolder, port: int = 0, recording: Recording | None = None, *, waits: bool = True
    ) -> None:
        self._inbox = RequestInbox(folder)
        self._recording = recording
        self._waits = waits
        self.missed: list[str] = []
        self.closing = threading.Event()
        self._http = ModelHttpServer(self, port)

    def __enter__(self) -> Self:
        self._http.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._http.stop()

    @property
    def base_url(self) -> str:
        """URL for `OPENAI_BASE_URL`."""
        return self._http.base_url

    def receive(self, method: str, path: str, headers: Mapping[str, str], body: Json, caller: ClientConnection) -> None:
        """Answer a request; a chat request waits until a person has answered it.

        Raises:
            ClientDisconnected: the client disconnected before the end of the answer.
        """
        route = path.partition("?")[0]
        if route.endswith("/models"):
            caller.send(WireReply(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]}))
        elif route.endswith("/chat/completions") and method == "POST":
            self._answer(body, caller)
        else:
            caller.send(WireReply(404, {"error": {"message": f"nothing at {route}", "type": "invalid_request_error"}}))

    def _answer(self, body: Json, caller: ClientConnection) -> None:
        with self._inbox.receive(body) as request:
            if self._recording is not None and request.answer is None:
                self._replay(self._recording, request)
            if self._waits:
                caller.wait(lambda: request.answer is not None)
            answer = request.answer
        if self._waits and answer is None:  # the server stops
            raise ClientDisconnected
        completion = _build_completion(request, body, answer)
        if not body.get("stream"):
            caller.send(WireReply(200, completion))
            return
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        caller.send(WireReply(200, stream=format_events(build_chunks(completion, with_usage=with_usage))))

    def _replay(self, recording: Recording, request: StoredRequest) -> None:
        """Store the recorded answer to a request as its answer, if there is one that fits."""
        found = recording.find_answer(request.body)
        if found is not None:
            try:
                request.save_answer(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))
            except RefusedAnswer:  # the schema has changed since
                found = None
        if found is None:
            self.missed.append(request.role)


def _build_completion(request: StoredRequest, body: Json, answer: str | None) -> Json:
    """Return the completion of an answer, or a refusal without one."""
    tokens_in, tokens_out = sum(count_message_tokens(body)), count_tokens(answer or "")
    usage: Json = {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
    }
    call: Any = json.loads(answer) if answer and read_functions(body) else answer
    return build_completion(f"by-hand-{request.number}", body["model"], usage, call, "stop")
