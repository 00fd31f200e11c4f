"""Replay recorded answers of a model or a person to requests that need not be the same.

A recording has one JSON object a line, with the role that asked, the prompt without its instructions, and the answer; a
file whose name ends in `.xz` is compressed. A request is answered by the answer to its prompt, or to the nearest one of
the same role and question, since prompts change more often than answers become useless. The numbers of passages in
such an answer are those of the same passages in the new prompt, so that a change of ranking does not make its citations
wrong.
"""

import json
import lzma
import math
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from tests.model_server.request import read_functions, read_messages, read_schema
from tests.support.schema_instance import Json

MatchKind = Literal["exact", "nearest", "none"]
"""Way by which an answer was found: by the prompt, by the nearest one, or not at all."""

_MIN_SIMILARITY = 0.2
"""Least similarity of a prompt without a question, such as that of a coding role."""
_QUESTION = re.compile(r"<question>\n(.*?)\n</question>", re.DOTALL)
_PASSAGE = re.compile(r'^<passage n="(\d+)"[^>]*>\n(.*?)\n</passage>$', re.MULTILINE | re.DOTALL)
_PASSAGE_CHARACTERS = 60
_MARK = re.compile(r"\[(\d{1,3}(?:, \d{1,3})*)((?:, i)?)\]")
"""Citation mark of an answer in text: "[3]", "[3, 8, i]"."""


class RecordedAnswer(NamedTuple):
    """One answer of a recording."""

    role: str
    """Role that asked."""
    prompt: str
    """Messages of the request, without the instructions."""
    answer: str | Json
    """The answer; a text, or an object."""


class Match(NamedTuple):
    """Answer of one request."""

    role: str
    """Role that asked."""
    kind: MatchKind
    """Way by which the answer was found."""


def record_answer(request: Json, text: str) -> RecordedAnswer:
    """Return an answer with the role and the prompt of its request."""
    role, schema = read_schema(request)
    answer = json.loads(text) if schema or read_functions(request) else text
    return RecordedAnswer(role, _read_prompt(request), answer)


def save_recording(path: Path, answers: Iterable[RecordedAnswer]) -> None:
    """Write a recording."""
    lines = (json.dumps(one._asdict(), ensure_ascii=False, separators=(",", ":")) for one in answers)
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME) if path.suffix == ".xz" else content)


class Recording:
    """Answers of a recording, each of which replies to any number of requests."""

    def __init__(self, answers: Iterable[RecordedAnswer]) -> None:
        self._lock = threading.Lock()
        self._answers: dict[str, list[RecordedAnswer]] = defaultdict(list)
        for answer in answers:
            self._answers[answer.role].append(answer)
        self._words = {role: [_list_words(one.prompt) for one in group] for role, group in self._answers.items()}
        self._frequencies = {
            role: Counter(word for one in group for word in one) for role, group in self._words.items()
        }
        self.matches: list[Match] = []
        """Matches of all requests so far, in order of arrival."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a recording from its file."""
        content = path.read_bytes()
        text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode()
        return cls(RecordedAnswer(**json.loads(line)) for line in text.split("\n") if line)

    def find_answer(self, request: Json) -> str | Json | None:
        """Return the answer to a request, or None if no prompt of its role is near enough."""
        role, prompt = read_schema(request)[0], _read_prompt(request)
        found, kind = self._choose(role, prompt)
        with self._lock:
            self.matches.append(Match(role, kind))
        if found is None:
            return None
        answer: str | Json = found.answer if kind == "exact" else _renumber(found, prompt)
        return answer

    def _choose(self, role: str, prompt: str) -> tuple[RecordedAnswer | None, MatchKind]:
        for answer in self._answers.get(role, ()):
            if answer.prompt == prompt:
                return answer, "exact"
        words, question = _list_words(prompt), _find_question(prompt)
        pairs = zip(self._answers.get(role, ()), self._words.get(role, ()), strict=True)
        near = [
            (self._compare(role, words, other), one) for one, other in pairs if _find_question(one.prompt) == question
        ]
        if not near:
            return None, "none"
        similarity, nearest = max(near, key=lambda pair: pair[0])
        # A request with a question is about the same one; the texts of others have to be alike as well.
        return (nearest, "nearest") if question or similarity >= _MIN_SIMILARITY else (None, "none")

    def _compare(self, role: str, words: frozenset[str], other: frozenset[str]) -> float:
        """Return the share of the words that two prompts have in common, weighted by their rareness in the role."""
        frequencies, total = self._frequencies[role], len(self._answers[role]) + 1

        def weigh(group: frozenset[str]) -> float:
            return math.fsum(math.log(total / max(frequencies[word], 1)) for word in group)

        return weigh(words & other) / weigh(words | other)


def _read_prompt(request: Json) -> str:
    """Return the messages of a request without the instructions, and without the schema that some servers need."""
    texts = (
        _read_content(one) for one in read_messages(request) if isinstance(one, dict) and one.get("role") != "system"
    )
    return "\n\n".join(texts)


def _read_content(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content if "text" in part)


def _list_words(prompt: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", prompt.casefold()))


def _find_question(prompt: str) -> str:
    found = _QUESTION.findall(prompt)
    return str(found[0]) if found else ""


def _find_passages(prompt: str) -> dict[int, str]:
    """Return the beginnings of the passages of a prompt by their numbers."""
    return {int(number): passage[:_PASSAGE_CHARACTERS] for number, passage in _PASSAGE.findall(prompt)}


def _renumber(recorded: RecordedAnswer, prompt: str) -> Any:
    """Return an answer with the numbers that its passages have in another prompt; passages it lacks are omitted."""
    numbers = {text: number for number, text in _find_passages(prompt).items()}
    new = {number: numbers.get(text) for number, text in _find_passages(recorded.prompt).items()}

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
