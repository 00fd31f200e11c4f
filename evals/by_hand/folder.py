"""Keep requests and their answers in a folder that people can read and write.

Each request has a folder of its own, such as `0007-outliner`, with the files `prompt.md` (readable), `request.json` (as
it arrived) and, once answered, `answer.json`. The file `waiting` exists while a client waits for the answer.
"""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.by_hand.answers import check_answer
from tests.model_server.request import count_message_tokens, read_functions, read_messages, read_schema

_ANSWER = "answer.json"
_PROMPT = "prompt.md"
_REQUEST = "request.json"
_WAITING = "waiting"


@dataclass(frozen=True)
class StoredRequest:
    """One request in the folder."""

    path: Path
    """Folder of the request."""

    @property
    def number(self) -> int:
        """Number of the request, from 1."""
        return int(self.path.name.split("-")[0])

    @property
    def role(self) -> str:
        """Role that asks; empty for a request without a schema."""
        return read_schema(self.body)[0]

    @property
    def body(self) -> dict[str, Any]:
        """JSON of the request."""
        body: dict[str, Any] = json.loads((self.path / _REQUEST).read_text(encoding="utf-8"))
        return body

    @property
    def prompt(self) -> str:
        """The request in readable form."""
        return (self.path / _PROMPT).read_text(encoding="utf-8")

    def render_continuation(self, earlier: "StoredRequest") -> str:
        """Return the messages that follow those of an earlier request; the whole request if it does not continue it."""
        messages, known = (read_messages(request.body) for request in (self, earlier))
        shared = [one for one, other in zip(messages, known, strict=False) if one == other]
        if len(shared) < len(known) or read_schema(self.body) != read_schema(earlier.body):
            return self.prompt
        head = f"# Request {self.number}: {self.role or 'text'}, continues request {earlier.number}"
        return "\n\n".join((head, *map(render_message, messages[len(known) :]))) + "\n"

    @property
    def answer(self) -> str | None:
        """Text of the answer, or None if there is none yet."""
        path = self.path / _ANSWER
        return path.read_text(encoding="utf-8") if path.exists() else None

    @property
    def is_open(self) -> bool:
        """Whether a client waits for an answer that does not exist yet."""
        return (self.path / _WAITING).exists() and not (self.path / _ANSWER).exists()

    def save_answer(self, text: str) -> None:
        """Check an answer and store it.

        Raises:
            RefusedAnswer: the answer does not fit the request.
        """
        check_answer(self.body, text)
        temporary = self.path / f"{_ANSWER}.new"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.path / _ANSWER)


class RequestFolder:
    """All requests of a folder."""

    def __init__(self, path: Path) -> None:
        """Create the folder if it does not exist."""
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def load_all(self) -> list[StoredRequest]:
        """Return all requests in order of arrival."""
        return [StoredRequest(path.parent) for path in sorted(self.path.glob(f"*/{_PROMPT}"))]

    def find_open(self) -> StoredRequest | None:
        """Return the oldest request whose client waits, or None if no client waits."""
        return next((request for request in self.load_all() if request.is_open), None)

    def load(self, number: int) -> StoredRequest:
        """Return a request by its number.

        Raises:
            KeyError: no request has this number.
        """
        return {request.number: request for request in self.load_all()}[number]


class RequestInbox:
    """Write requests to a folder for as long as a server runs; the only writer of new requests.

    A request that arrives again, such as the retry of a call that timed out, keeps its number and its answer.
    """

    def __init__(self, folder: RequestFolder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._known = {_hash_request(request.body): request for request in folder.load_all()}
        self._clients: Counter[Path] = Counter()
        for request in self._known.values():
            (request.path / _WAITING).unlink(missing_ok=True)  # left by a server that was killed

    @contextmanager
    def receive(self, body: dict[str, Any]) -> Iterator[StoredRequest]:
        """Return the stored form of a request, which is open until the block ends or it is answered."""
        with self._lock:
            request = self._known.get(_hash_request(body)) or self._add(body)
            self._clients[request.path] += 1
            (request.path / _WAITING).touch()
        try:
            yield request
        finally:
            with self._lock:
                self._clients[request.path] -= 1
                if not self._clients[request.path]:
                    (request.path / _WAITING).unlink()

    def _add(self, body: dict[str, Any]) -> StoredRequest:
        number = max((request.number for request in self._known.values()), default=0) + 1
        path = self._folder.path / f"{number:04}-{read_schema(body)[0] or 'text'}"
        path.mkdir()
        (path / _REQUEST).write_text(json.dumps(body, indent=1, ensure_ascii=False), encoding="utf-8")
        # Last, because a request without its readable form is not listed.
        (path / _PROMPT).write_text(render_request(body, number), encoding="utf-8")
        self._known[_hash_request(body)] = StoredRequest(path)
        return self._known[_hash_request(body)]


def _hash_request(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def render_request(body: dict[str, Any], number: int) -> str:
    """Return a request as text for people: its messages, and the format of its answer."""
    role, schema = read_schema(body)
    functions = read_functions(body)
    limit = next((body[name] for name in ("max_completion_tokens", "max_tokens") if name in body), None)
    facts = (
        f"# Request {number}: {role or 'text'}",
        f"model {body['model']}, {sum(count_message_tokens(body))} prompt tokens"
        + (f", at most {limit} tokens for the answer" if limit else ""),
    )
    messages = map(render_message, read_messages(body))
    return "\n\n".join((*facts, *messages, _render_format(schema, functions))) + "\n"


def render_message(message: dict[str, Any]) -> str:
    """Return a message as text for people, with the functions that it calls."""
    calls = (call["function"] for call in message.get("tool_calls") or ())
    texts = (f"{call['name']} {call['arguments']}" for call in calls)
    return "\n\n".join((f"## {message['role']}", str(message.get("content") or ""), *texts))


def _render_format(schema: dict[str, Any], functions: dict[str, dict[str, Any]]) -> str:
    if functions:
        calls = (f"### {name}\n\n{json.dumps(given, indent=2)}" for name, given in functions.items())
        order = (
            'Write {"action": NAME, "arguments": {…}} with one of these functions, or {"text": …, "calls": […]} '
            "with a list of such objects and a text before them."
        )
        return "\n\n".join(("## Answer: a function call", order, *calls))
    if schema:
        return f"## Answer: JSON of this schema\n\n{json.dumps(schema, indent=2, ensure_ascii=False)}"
    return "## Answer: text"
