"""The Responses API of the model server: responses that are made in the background and paid whoever fetches them."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.schema_instance import Json

IN_THE_MAKING = ("queued", "in_progress")


@dataclass
class Made:
    """One response."""

    json: Json
    """What a completed one looks like."""
    done: Callable[[], bool]
    """Whether it may be completed by now."""
    finished: Callable[[], None]
    """Told once, when it is fetched completed."""
    withdrawn: Callable[[], None]
    """Told once, when it is cancelled before that."""
    status: str = "queued"
    fetched: bool = field(default=False)

    def shown(self) -> Json:
        """Return it as it is now."""
        if self.status in IN_THE_MAKING:
            return self.json | {"status": self.status, "output": [], "usage": None, "error": None}
        return self.json | {"status": self.status}


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

    def get(self, name: str) -> Json | None:
        """Return a response, one step further than before; None for one that is not there."""
        with self._lock:
            made = self._made.get(name)
            if made is None:
                return None
            if made.status in IN_THE_MAKING:
                made.status = made.json["status"] if made.done() else "in_progress"
            if made.status not in IN_THE_MAKING and made.status != "cancelled" and not made.fetched:
                made.fetched = True
                made.finished()
            return made.shown()

    def cancel(self, name: str) -> Json | None:
        """Stop a response in the making."""
        with self._lock:
            made = self._made.get(name)
            if made is not None and made.status in IN_THE_MAKING:
                made.status = "cancelled"
                made.withdrawn()
                self.cancelled.append(name)
            return made.shown() if made else None

    def forget(self) -> None:
        """Lose all of them, as a server does after a while."""
        with self._lock:
            self._made.clear()


def response(completion: Json, name: str) -> Json:
    """Return a completed response that says what a chat completion says."""
    silence: Json = {"message": {}, "finish_reason": "stop"}
    choice: Json = completion["choices"][0] if completion["choices"] else silence
    message = choice["message"]
    parts: list[Json] = []
    if message.get("refusal"):
        parts.append({"type": "refusal", "refusal": message["refusal"]})
    if message.get("content"):
        parts.append({"type": "output_text", "text": message["content"], "annotations": []})
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    incomplete = reasons.get(choice["finish_reason"])
    usage = completion["usage"]
    output = {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": "completed", "content": parts}
    return {
        "id": name,
        "object": "response",
        "created_at": 0,
        "model": completion["model"],
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "error": None,
        "background": True,
        "output": [output] if parts else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        },
    }
