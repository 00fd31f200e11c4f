"""The Responses API of the model server: responses that are generated and billed whether or not they are fetched."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from tests.model_server.ledger import BilledRequest
from tests.model_server.request import Request, count_tokens
from tests.support.schema_instance import Json

IN_THE_MAKING = ("queued", "in_progress")


@dataclass
class BackgroundResponse:
    """One response."""

    json: Json
    """Its JSON when it is finished."""
    is_ready: Callable[[], bool] = lambda: True
    """Whether it may be finished by now."""
    on_finish: Callable[[], BilledRequest | None] = lambda: None
    """Callback, called once when it is finished; a failed response has no bill."""
    status: str = "queued"
    fetch_count: int = 0
    """Number of times it was fetched."""
    entry: BilledRequest | None = None
    """Its bill once it is finished."""

    def finish_if_ready(self) -> None:
        """Finish the response if it is ready."""
        if self.status in IN_THE_MAKING and self.is_ready():
            self.status = self.json["status"]
            self.entry = self.on_finish()

    def render(self) -> Json:
        """Return its current JSON."""
        if self.status in (*IN_THE_MAKING, "cancelled"):
            return self.json | {"status": self.status, "output": [], "usage": None, "error": None}
        return self.json


class ResponseStore:
    """All responses of a server."""

    def __init__(self) -> None:
        self._made: dict[str, BackgroundResponse] = {}
        self._lock = threading.Lock()
        self.cancelled: list[str] = []
        """Ids of cancelled responses."""

    def __len__(self) -> int:
        return len(self._made)

    def add(self, response: BackgroundResponse) -> Json:
        """Store a response and return its first state."""
        with self._lock:
            self._made[response.json["id"]] = response
            return response.render()

    def fetch(self, name: str) -> tuple[Json, BilledRequest | None] | None:
        """Return a response and its bill, or None if it does not exist.

        In the background it is always in progress at the first fetch, however fast it is generated.
        """
        with self._lock:
            made = self._made.get(name)
            if made is None:
                return None
            made.fetch_count += 1
            if made.fetch_count > 1:
                made.finish_if_ready()
            elif made.status == "queued":
                made.status = "in_progress"
            if made.status in IN_THE_MAKING:
                return made.render(), None
            if made.entry:
                made.entry.delivered = True
            return made.render(), made.entry

    def cancel(self, name: str) -> Json | None:
        """Cancel a response in progress; a finished one is unchanged."""
        with self._lock:
            made = self._made.get(name)
            if made is not None and made.status in IN_THE_MAKING:
                made.status = "cancelled"
                self.cancelled.append(name)
            return made.render() if made else None

    def finish_ready(self) -> None:
        """Finish all responses that are ready, so that they are billed."""
        with self._lock:
            for made in self._made.values():
                made.finish_if_ready()

    @property
    def ids(self) -> list[str]:
        """Ids of all responses, in the order of their start."""
        return list(self._made)

    @property
    def unfetched(self) -> int:
        """Number of responses that were never fetched."""
        return sum(made.fetch_count == 0 for made in list(self._made.values()))

    def forget(self) -> None:
        """Delete all responses, as a server does after a while."""
        self.finish_ready()
        with self._lock:
            self._made.clear()


def build_response(completion: Json, request: Request, name: str) -> Json:
    """Return a finished response with the content of a chat completion."""
    silence: Json = {"message": {}, "finish_reason": "stop"}
    choice: Json = completion["choices"][0] if completion["choices"] else silence
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    incomplete = reasons.get(choice["finish_reason"])
    error = completion.get("error")
    asked = {field: request.json.get(field) for field in ("instructions", "max_output_tokens", "metadata", "text")}
    return asked | {
        "id": name,
        "object": "response",
        "created_at": 0,
        "model": completion["model"],
        "status": "failed" if error else "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "error": error,
        "background": request.in_background,
        "store": request.json.get("store", True),
        "output": build_items(choice["message"], name, "incomplete" if incomplete else "completed"),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None if error else convert_usage(completion["usage"], choice["message"]),
    }


def build_items(message: Json, name: str, status: str) -> list[Json]:
    """Return a message as items of a response: reasoning, function calls, then the content."""
    thought, parts = message.get("reasoning_content"), _parts(message)
    summary = [{"type": "summary_text", "text": thought}]
    thoughts = [{"id": f"rs_{name}", "type": "reasoning", "summary": summary}] if thought else []
    calls = [
        {"id": f"fc_{name}", "type": "function_call", "call_id": call["id"], "status": status, **call["function"]}
        for call in message.get("tool_calls") or ()
    ]
    said = {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": status, "content": parts}
    return [*thoughts, *calls, *([said] if parts else [])]


def _parts(message: Json) -> list[Json]:
    parts: list[Json] = []
    if message.get("refusal"):
        parts.append({"type": "refusal", "refusal": message["refusal"]})
    if message.get("content"):
        parts.append({"type": "output_text", "text": message["content"], "annotations": []})
    return parts


def convert_usage(usage: Json, message: Json) -> Json:
    """Return the usage in the form of the Responses API; reasoning is part of the output."""
    thought = message.get("reasoning_content")
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {
            "reasoning_tokens": min(usage["completion_tokens"], count_tokens(thought)) if thought else 0
        },
        "total_tokens": usage["total_tokens"],
    }
