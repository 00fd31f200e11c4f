"""The Responses API of the model server: responses that are made and paid whether anybody fetches them or not."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from tests.model_server.ledger import Billed
from tests.model_server.request import Request, tokens
from tests.schema_instance import Json

IN_THE_MAKING = ("queued", "in_progress")


@dataclass
class Made:
    """One response."""

    json: Json
    """What it looks like when it is done."""
    ready: Callable[[], bool] = lambda: True
    """Whether it may be done by now."""
    bill: Callable[[], Billed | None] = lambda: None
    """Told once, when it is done; a response that failed has no bill."""
    status: str = "queued"
    looks: int = 0
    """How often it was asked for."""
    entry: Billed | None = None
    """What it cost, once it is done."""

    def settle(self) -> None:
        """Be done, where it may be."""
        if self.status in IN_THE_MAKING and self.ready():
            self.status = self.json["status"]
            self.entry = self.bill()

    def shown(self) -> Json:
        """Return it as it is now."""
        if self.status in (*IN_THE_MAKING, "cancelled"):
            return self.json | {"status": self.status, "output": [], "usage": None, "error": None}
        return self.json


class Responses:
    """All responses of a server."""

    def __init__(self) -> None:
        self._made: dict[str, Made] = {}
        self._lock = threading.Lock()
        self.cancelled: list[str] = []
        """Ids that were cancelled."""

    def __len__(self) -> int:
        return len(self._made)

    def add(self, made: Made) -> Json:
        """Take a response in and return what its creator is told."""
        with self._lock:
            self._made[made.json["id"]] = made
            return made.shown()

    def look(self, name: str) -> tuple[Json, Billed | None] | None:
        """Return a response and its bill; None for one that is not there.

        In the background it is always in progress at the first look, however fast it is made.
        """
        with self._lock:
            made = self._made.get(name)
            if made is None:
                return None
            made.looks += 1
            if made.looks > 1:
                made.settle()
            elif made.status == "queued":
                made.status = "in_progress"
            if made.status in IN_THE_MAKING:
                return made.shown(), None
            if made.entry:
                made.entry.delivered = True
            return made.shown(), made.entry

    def cancel(self, name: str) -> Json | None:
        """Stop a response in the making; one that is done stays as it is."""
        with self._lock:
            made = self._made.get(name)
            if made is not None and made.status in IN_THE_MAKING:
                made.status = "cancelled"
                self.cancelled.append(name)
            return made.shown() if made else None

    def settle(self) -> None:
        """Let everything be done that may be, so that it is billed."""
        with self._lock:
            for made in self._made.values():
                made.settle()

    @property
    def ids(self) -> list[str]:
        """Those of all of them, in the order in which they were begun."""
        return list(self._made)

    @property
    def unseen(self) -> int:
        """How many nobody has looked at yet."""
        return sum(made.looks == 0 for made in list(self._made.values()))

    def forget(self) -> None:
        """Lose all of them, as a server does after a while."""
        self.settle()
        with self._lock:
            self._made.clear()


def response(completion: Json, request: Request, name: str) -> Json:
    """Return a response, done, that says what a chat completion says."""
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
        "output": _items(choice["message"], name, "incomplete" if incomplete else "completed"),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None if error else _usage(completion["usage"], choice["message"]),
    }


def _items(message: Json, name: str, status: str) -> list[Json]:
    """Return what a message holds as the items of a response: thoughts, calls of tools, then what is said."""
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


def _usage(usage: Json, message: Json) -> Json:
    """Return a bill as the Responses API writes it; thoughts are a part of the output."""
    thought = message.get("reasoning_content")
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {
            "reasoning_tokens": min(usage["completion_tokens"], tokens(thought)) if thought else 0
        },
        "total_tokens": usage["total_tokens"],
    }
