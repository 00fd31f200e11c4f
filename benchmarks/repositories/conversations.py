"""Count the tokens of the requests of a run, from the folder of the server whose answers are written by hand.

Both systems are counted alike: the characters of a request are those of its messages, calls of functions included, and
of the functions or the schema that it offers; a token has four characters, as for the test server. A provider caches
the longest beginning that a request shares with an earlier one, in whole messages.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evals.by_hand.folder import StoredRequest
from tests.model_server.request import count_tokens, read_format, read_messages


@dataclass(frozen=True)
class Usage:
    """Calls of a model and their tokens."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Tokens of the prompts that a provider's cache has."""
    answer_tokens: int = 0
    repeated: int = 0
    """Calls whose request is the same as an earlier one."""

    @property
    def new_tokens(self) -> int:
        """Tokens of the prompts that no cache has."""
        return self.prompt_tokens - self.cached_tokens


def _list_parts(body: dict[str, Any]) -> list[str]:
    """Return the parts of a request in the order in which providers cache them: functions, format, messages."""
    head = [json.dumps([body.get("tools") or [], read_format(body)], ensure_ascii=False)]
    return head + [_render(message) for message in read_messages(body)]


def _render(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    calls = message.get("tool_calls")
    return f"{message.get('role', '')}\n{text}" + (json.dumps(calls, ensure_ascii=False) if calls else "")


def count_usage(requests: Iterable[StoredRequest]) -> Usage:
    """Return the sums over the answered requests, in order of arrival."""
    earlier: list[list[str]] = []
    calls = prompt = cached = answered = repeated = 0
    for request in requests:
        if request.answer is None:
            continue
        parts = _list_parts(request.body)
        sizes = [count_tokens(part) for part in parts]
        shared = max((_count_shared(parts, other) for other in earlier), default=0)
        calls, prompt, cached = calls + 1, prompt + sum(sizes), cached + sum(sizes[:shared])
        answered += count_tokens(request.answer)
        repeated += parts in earlier
        earlier.append(parts)
    return Usage(calls, prompt, cached, answered, repeated)


def _count_shared(parts: list[str], other: list[str]) -> int:
    """Return the number of parts with which two requests begin alike; the last part of a request is always new."""
    shared = 0
    for one, two in zip(parts[:-1], other, strict=False):
        if one != two:
            break
        shared += 1
    return shared
