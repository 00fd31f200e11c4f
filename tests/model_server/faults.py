"""Faults of a model server, each with a name, and random faults drawn from them."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any, Self

from tests.support.schema_instance import Json


@dataclass(frozen=True)
class Fault:
    """One fault of one request.

    With status 200 and no body the regular answer is generated, billed and then passed through `change` and `mangle`;
    otherwise `body` is sent, or an error object if there is none.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | Json | None = None
    change: Callable[[Json], None] | None = None
    """Changes the answer's JSON."""
    mangle: Callable[[str], str] | None = None
    """Changes the answer's text on the wire."""
    drop: bool = False
    """Closes the connection before a byte is sent."""
    reset: bool = False
    """Resets the connection before a byte is sent."""
    cut: bool = False
    """Resets the connection in the middle of the answer."""
    hangs: bool = False
    """Sends nothing until the client leaves."""
    delay: float = 0.0
    """Seconds before anything is sent; in the background, before the response is finished."""

    @classmethod
    def refusal(cls) -> Self:
        """Make the model refuse."""
        return cls.message(content=None, refusal="I cannot.")

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

    @classmethod
    def reasoning_only(cls) -> Self:
        """Return reasoning without an answer."""
        return cls.message(content=None, reasoning_content="Let me see. It might be one or the other.")

    @classmethod
    def as_tool_call(cls) -> Self:
        """Move the answer to the arguments of a tool call that was not offered."""
        return cls(change=_move_to_tool_call)

    @classmethod
    def with_text(cls, text: Callable[[str], str]) -> Self:
        """Change the text of the message."""
        return cls(change=lambda reply: _change_text(reply, text))

    @classmethod
    def wrong_schema(cls) -> Self:
        """Return valid JSON of another shape."""
        return cls.with_text(lambda _: json.dumps({"weather": "rain", "degrees": [4, 7]}))

    @classmethod
    def wrong_types(cls) -> Self:
        """Return the right fields with values of the wrong types."""
        return cls.with_text(lambda said: json.dumps({name: {"not": "this"} for name in json.loads(said)}))

    @classmethod
    def truncated(cls) -> Self:
        """Return half of the JSON."""
        return cls.with_text(lambda said: said[: len(said) // 2])

    @classmethod
    def in_prose(cls) -> Self:
        """Wrap the JSON in prose and a fence."""
        return cls.with_text(lambda said: f"Certainly! Here it is:\n```json\n{said}\n```\nAnything else?")

    @classmethod
    def trailing_comma(cls) -> Self:
        """Leave a comma before the last brace."""
        return cls.with_text(lambda said: f"{said[:-1]},}}")

    @classmethod
    def broken_body(cls) -> Self:
        """Send half of the response as if it were complete."""
        return cls(mangle=lambda body: body[: len(body) // 2])

    @classmethod
    def web_page(cls) -> Self:
        """Send a page of HTML with status 200, as a proxy does."""
        return cls(headers={"content-type": "text/html"}, body="<html><body>Sign in</body></html>")

    @classmethod
    def failed(cls, code: str = "server_error") -> Self:
        """Fail during the generation, which costs nothing: an error with status 200."""
        error = {"code": code, "message": "The model could not finish the answer."}
        return cls(change=lambda reply: reply.update(choices=[], error=error))

    @classmethod
    def too_many(cls, **headers: str) -> Self:
        """Refuse for too many requests; header names are written with underscores."""
        return cls(429, {name.replace("_", "-"): value for name, value in headers.items()})

    @property
    def is_error(self) -> bool:
        """Whether no answer is generated at all."""
        return self.status != 200 or self.body is not None


def _change_text(reply: Json, text: Callable[[str], str]) -> None:
    message = reply["choices"][0]["message"]
    message["content"] = text(message["content"])


def _move_to_tool_call(reply: Json) -> None:
    message = reply["choices"][0]["message"]
    call = {"name": "answer", "arguments": message["content"]}
    message.update(content=None, tool_calls=[{"id": "call_1", "type": "function", "function": call}])
    reply["choices"][0]["finish_reason"] = "tool_calls"


TRANSIENT_FAULTS: tuple[Fault, ...] = (
    Fault.too_many(retry_after="0"),
    Fault.too_many(retry_after_ms="20"),
    Fault.too_many(retry_after=formatdate(0, usegmt=True)),
    Fault.too_many(x_ratelimit_reset_requests="20ms", x_ratelimit_remaining_requests="0"),
    Fault.too_many(x_ratelimit_reset_tokens="0.02s", x_ratelimit_remaining_tokens="0"),
    Fault(500, {"retry-after-ms": "10"}),
    Fault(503, {"retry-after": "0"}),
    Fault(408, {"retry-after-ms": "10"}),
    Fault(409, {"retry-after-ms": "10"}),
    Fault(drop=True),
    Fault(reset=True),
    Fault(cut=True),
    Fault.broken_body(),
    Fault.failed(),
    Fault(delay=0.1),
    Fault(hangs=True),
)
"""Faults after which the same call succeeds."""

UNUSUAL_ANSWERS: tuple[Fault, ...] = (
    Fault.refusal(),
    Fault.no_choices(),
    Fault.finish("length"),
    Fault.finish("content_filter"),
    Fault.reasoning_only(),
    Fault.as_tool_call(),
    Fault.wrong_schema(),
    Fault.wrong_types(),
    Fault.truncated(),
    Fault.in_prose(),
    Fault.trailing_comma(),
)
"""Answers that are billed but have another content or form than requested."""


@dataclass(frozen=True)
class RandomFaults:
    """Faults drawn for a share of the requests; the same for a seed, in any order of arrival."""

    seed: int
    share: float
    """Share of the requests that fail, 0 to 1."""
    kinds: Sequence[Fault] = (*TRANSIENT_FAULTS, *UNUSUAL_ANSWERS)
    run_of: Callable[[Json], str] = lambda request: ""
    """Run of a request, if one server serves several."""

    def draw_fault(self, request: Json, role: str, number: int) -> Fault | None:
        """Draw for the `number`-th request of a role in a run."""
        draw: Any = random.Random(f"{self.seed}/{self.run_of(request)}/{role}/{number}")
        return draw.choice(self.kinds) if draw.random() < self.share else None
