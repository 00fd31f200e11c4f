"""Replay recorded conversations: answers of a model or a person, by the requests that they belong to.

A recording is a file of JSON lines, one for each answer in order of arrival, with the role and a hash of the prompt.
A request is answered by the answer to exactly this prompt, or by the next unused answer of its role, since prompts
change more often than answers become useless; an answer on the same topic or task comes first, since sections and
searches are asked concurrently. The numbers of passages in such an answer are those of the same passages in the new
prompt, so that a change of ranking does not make its citations wrong.
"""

import hashlib
import json
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

from tests.model_server.request import read_functions, read_messages, read_schema
from tests.support.schema_instance import Json

MatchKind = Literal["exact", "subject", "order", "none"]
"""Way by which an answer was found: by the prompt, by role and subject, by role and order, or not at all."""

_KEY_CHARACTERS = 16
_SUBJECT = re.compile(r"^<(?:topic|task)>\n(.+)$", re.MULTILINE)
"""First line of what a request is about."""
_PASSAGE = re.compile(r'^<passage n="(\d+)"[^>]*>\n(.*?)\n</passage>$', re.MULTILINE | re.DOTALL)
_PASSAGE_CHARACTERS = 60
_MARK = re.compile(r"\[(\d{1,3}(?:, \d{1,3})*)((?:, i)?)\]")
"""Citation mark of an answer in text: "[3]", "[3, 8, i]"."""


class RecordedAnswer(NamedTuple):
    """One answer of a recording."""

    role: str
    """Role that asked."""
    key: str
    """Hash of the prompt."""
    answer: str | Json
    """The answer; a text, or an object."""
    subject: str = ""
    """Topic or task of the request; empty if it names none."""
    passages: Mapping[str, str] = MappingProxyType({})
    """Beginnings of the passages that the answer names, by their numbers."""


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
    shown = _find_passages(request)
    numbers = _list_marked_numbers(answer) if isinstance(answer, str) else _list_passage_numbers(answer)
    named = {str(n): shown[n] for n in sorted(numbers) if n in shown}
    return RecordedAnswer(role, _hash_prompt(request), answer, _find_subject(request), named)


def save_recording(path: Path, answers: Iterable[RecordedAnswer]) -> None:
    """Write a recording."""
    named = ({name: value for name, value in one._asdict().items() if value or name == "answer"} for one in answers)
    lines = (json.dumps(fields, ensure_ascii=False, separators=(",", ":"), default=dict) for fields in named)
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
        role, key, subject = read_schema(request)[0], _hash_prompt(request), _find_subject(request)
        with self._lock:
            number, kind = self._choose(role, key, subject)
            self.matches.append(Match(role, kind))
            if number is None:
                return None
            self._used.add(number)
            found = self._answers[number]
            return found.answer if kind == "exact" else _renumber(found, _find_passages(request))

    def _choose(self, role: str, key: str, subject: str) -> tuple[int | None, MatchKind]:
        same_prompt = [n for n, answer in enumerate(self._answers) if answer.key == key]
        if same_prompt:
            return next((n for n in same_prompt if n not in self._used), same_prompt[-1]), "exact"
        unused = [n for n, answer in enumerate(self._answers) if answer.role == role and n not in self._used]
        same_subject = [n for n in unused if subject and self._answers[n].subject == subject]
        if same_subject:
            return same_subject[0], "subject"
        return (unused[0], "order") if unused else (None, "none")


def _find_subject(request: Json) -> str:
    """Return the last topic or task of the messages; a conversation keeps it."""
    text = "\n".join(message.get("content") or "" for message in read_messages(request))
    found = _SUBJECT.findall(text)
    return str(found[-1]) if found else ""


def _find_passages(request: Json) -> dict[int, str]:
    """Return the beginnings of the passages of a request by their numbers."""
    text = "\n".join(message.get("content") or "" for message in read_messages(request))
    return {int(number): passage[:_PASSAGE_CHARACTERS] for number, passage in _PASSAGE.findall(text)}


def _list_passage_numbers(answer: Any) -> set[int]:
    """List all numbers in fields `passages` of an answer."""
    if isinstance(answer, list):
        return {number for part in answer for number in _list_passage_numbers(part)}
    if not isinstance(answer, dict):
        return set()
    own = set(answer.get("passages") or ())
    return own.union(*(_list_passage_numbers(part) for name, part in answer.items() if name != "passages"))


def _list_marked_numbers(answer: str) -> set[int]:
    """List all numbers in the citation marks of an answer in text."""
    return {int(number) for mark in _MARK.finditer(answer) for number in mark[1].split(", ")}


def _renumber(recorded: RecordedAnswer, shown: Mapping[int, str]) -> Any:
    """Return an answer with the numbers that its passages have in another prompt; passages it lacks are omitted."""
    numbers = {text: number for number, text in shown.items()}
    new = {int(number): numbers.get(text) for number, text in recorded.passages.items()}

    def rewrite(part: Any) -> Any:
        if isinstance(part, list):
            return [rewrite(one) for one in part]
        if not isinstance(part, dict):
            return part
        return {
            name: [new.get(n, n) for n in value if new.get(n, n) is not None] if name == "passages" else rewrite(value)
            for name, value in part.items()
        }

    def rewrite_mark(mark: re.Match[str]) -> str:
        left = [str(number) for old in mark[1].split(", ") if (number := new.get(int(old), int(old))) is not None]
        return f"[{', '.join(left)}{mark[2]}]" if left else ""

    answer = recorded.answer
    return _MARK.sub(rewrite_mark, answer) if isinstance(answer, str) else rewrite(answer)


def _hash_prompt(request: Json) -> str:
    """Return the hash of messages, schema and functions, without the model and its parameters."""
    content = [read_messages(request), *read_schema(request), read_functions(request)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_KEY_CHARACTERS]
