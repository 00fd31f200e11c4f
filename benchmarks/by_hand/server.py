"""Serve chat completions that people write: each request waits in a folder until it is answered."""

import json
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from benchmarks.by_hand.folder import RequestFolder, RequestInbox, StoredRequest
from tests.model_server.completion import build_completion
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
    """

    def __init__(self, folder: RequestFolder, port: int = 0) -> None:
        self._inbox = RequestInbox(folder)
        self.closing = threading.Event()
        self._http = ModelHttpServer(self, port)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="by-hand")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.hang_up()
        self._http.server_close()

    @property
    def base_url(self) -> str:
        """URL for `OPENAI_BASE_URL`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

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
            caller.wait(lambda: request.answer is not None)
            answer = request.answer
        if answer is None:  # the server stops
            raise ClientDisconnected
        completion = _build_completion(request, body, answer)
        if not body.get("stream"):
            caller.send(WireReply(200, completion))
            return
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        caller.send(WireReply(200, stream=format_events(build_chunks(completion, with_usage=with_usage))))


def _build_completion(request: StoredRequest, body: Json, answer: str) -> Json:
    tokens_in, tokens_out = sum(count_message_tokens(body)), count_tokens(answer)
    usage: Json = {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
    }
    call: Any = json.loads(answer) if read_functions(body) else answer
    return build_completion(f"by-hand-{request.number}", body["model"], usage, call, "stop")
