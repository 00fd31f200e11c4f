"""Replay recorded conversations: answers of a model or a person, by the requests that they belong to.

A recording is a file of JSON lines, one for each answer in order of arrival, with the role and a hash of the prompt.
A request is answered by the answer to exactly this prompt, or by the next unused answer of its role, since prompts
change more often than answers become useless.
"""

import hashlib
import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple, Self

from tests.model_server.request import read_functions, read_messages, read_schema
from tests.support.schema_instance import Json

MatchKind = Literal["exact", "order", "none"]
"""Way by which an answer was found: by the prompt, by role and order, or not at all."""

_KEY_CHARACTERS = 16


class RecordedAnswer(NamedTuple):
    """One answer of a recording."""

    role: str
    """Role that asked."""
    key: str
    """Hash of the prompt."""
    answer: str | Json
    """The answer; a text, or an object."""


class Match(NamedTuple):
    """Answer of one request."""

    role: str
    """Role that asked."""
    kind: MatchKind
    """Way by which the answer was found."""


def record_answer(request: Json, text: str) -> RecordedAnswer:
    """Return an answer with the role and the key of its request."""
    role, schema = read_schema(request)
    answer = json.loads(text) if schema or read_functions(request) else text
    return RecordedAnswer(role, _hash_prompt(request), answer)


def save_recording(path: Path, answers: Iterable[RecordedAnswer]) -> None:
    """Write a recording."""
    lines = (json.dumps(answer._asdict(), ensure_ascii=False, separators=(",", ":")) for answer in answers)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


class Recording:
    """Answers of a recording, each of which replies to one request by its order, or to any number by its prompt."""

    def __init__(self, answers: Iterable[RecordedAnswer]) -> None:
        self._answers = tuple(answers)
        self._used: set[int] = set()
        self._lock = threading.Lock()
        self.matches: list[Match] = []
        """Matches of all requests so far, in order of arrival."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a recording from its file."""
        lines = path.read_text(encoding="utf-8").splitlines()
        return cls(RecordedAnswer(**json.loads(line)) for line in lines)

    def find_answer(self, request: Json) -> str | Json | None:
        """Return the answer to a request, or None if no answer of its role is left."""
        role, key = read_schema(request)[0], _hash_prompt(request)
        with self._lock:
            number, kind = self._choose(role, key)
            self.matches.append(Match(role, kind))
            if number is None:
                return None
            self._used.add(number)
            return self._answers[number].answer

    def _choose(self, role: str, key: str) -> tuple[int | None, MatchKind]:
        same_prompt = [n for n, answer in enumerate(self._answers) if answer.key == key]
        if same_prompt:
            return next((n for n in same_prompt if n not in self._used), same_prompt[-1]), "exact"
        unused = [n for n, answer in enumerate(self._answers) if answer.role == role and n not in self._used]
        return (unused[0], "order") if unused else (None, "none")


def _hash_prompt(request: Json) -> str:
    """Return the hash of messages, schema and functions, without the model and its parameters."""
    content = [read_messages(request), *read_schema(request), read_functions(request)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_KEY_CHARACTERS]
