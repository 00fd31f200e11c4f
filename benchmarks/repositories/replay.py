"""Replay the answers of a play, and list what the requests of the replay have otherwise than those of the play."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from evals.by_hand.folder import RequestFolder
from tests.model_server import ModelServer
from tests.model_server.request import read_messages, read_schema

# Durations and times of a run: "(exit code 0, 30.0 s)", "4 passed in 15.11s", "2026-11-13T00:29:02.094739".
_UNSTABLE: Final = re.compile(r"\b\d+(\.\d+)? ?m?s\b|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d(\.\d+)?")
_SHOWN_LINES: Final = 8


class RecordedRequest(NamedTuple):
    """An answered request of a play."""

    body: dict[str, Any]
    answer: str
    arrived: float
    """Time of its arrival, in seconds since 1970."""
    answered: float
    """Time of its answer."""

    @property
    def key(self) -> tuple[str, str]:
        """Role, and the last answer that the conversation contains; a long conversation loses its first ones."""
        return _build_key(self.body)


def _build_key(body: dict[str, Any]) -> tuple[str, str]:
    answers = [message["content"] for message in read_messages(body) if message["role"] == "assistant"]
    return read_schema(body)[0], answers[-1].strip() if answers else ""


class Replay:
    """The answers of a play by the place of a request in its conversation, whatever observations it contains.

    Args:
        recorded: answered requests of the play, in order of arrival.
    """

    def __init__(self, recorded: Sequence[RecordedRequest]) -> None:
        self._recorded = tuple(recorded)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the requests of a play."""
        return cls(
            [
                RecordedRequest(
                    request.body,
                    request.answer,
                    (request.path / "prompt.md").stat().st_mtime,
                    (request.path / "answer.json").stat().st_mtime,
                )
                for request in RequestFolder(folder).load_all()
                if request.answer is not None
            ]
        )

    @property
    def recorded(self) -> tuple[RecordedRequest, ...]:
        """Answered requests of the play."""
        return self._recorded

    def prepare(self, model: ModelServer) -> None:
        """Set the answers of a model server."""
        for role in {request.key[0] for request in self._recorded}:
            model.on(role, self.answer)

    def answer(self, body: dict[str, Any]) -> str:
        """Return the answer of the play; the last one for a request that the play has not, so that the run ends."""
        position = self.find(body)
        return self._recorded[-1 if position is None else position].answer

    def find(self, body: dict[str, Any]) -> int | None:
        """Return the position of the recorded request that follows the same answer, or None if there is none."""
        key, length = _build_key(body), len(read_messages(body))
        matches = [number for number, request in enumerate(self._recorded) if request.key == key]
        # Two answers of a play can be alike, such as DONE without a text.
        return min(matches, key=lambda n: abs(len(read_messages(self._recorded[n].body)) - length), default=None)

    def count_repetitions(self, bodies: Sequence[dict[str, Any]]) -> int:
        """Return the number of requests whose answer had been delivered before."""
        return sum(count - 1 for count in Counter(map(self.find, bodies)).values())

    def list_differences(self, bodies: Sequence[dict[str, Any]]) -> list[str]:
        """Return a text for each request that differs from the recorded one in more than durations and times."""
        return [text for body in bodies if (text := self._compare(body))]

    def _compare(self, body: dict[str, Any]) -> str:
        position = self.find(body)
        if position is None:
            return f"unknown request of {read_schema(body)[0]}"
        lines = difflib.unified_diff(
            list(_iterate_lines(self._recorded[position].body)), list(_iterate_lines(body)), "play", "replay", n=0
        )
        changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
        return "\n".join([f"request {position + 1}:", *changed[:_SHOWN_LINES]]) if changed else ""


def _iterate_lines(body: dict[str, Any]) -> Iterator[str]:
    for message in read_messages(body):
        content = message.get("content") or ""
        text = content if isinstance(content, str) else json.dumps(content)
        yield from _UNSTABLE.sub("TIME", text).splitlines()
