"""An answer that comes in as it is made: server-sent events, put together to what a whole response would be."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from pydantic import ValidationError

from tenure.algorithms.control.budget import estimated_tokens
from tenure.models.openai.reply import Call, Choice, Failure, Reply, Said, ToolCall, Usage

TOLD_SECONDS: Final = 0.5
"""How often it is told how much has arrived."""

_DONE: Final = "[DONE]"


class BrokenStream(Exception):
    """A stream that did not come to its end; the message continues a sentence that begins with the server's name."""


class Events:
    """The data of server-sent events, out of bytes in pieces of any length.

    Lines end at line feeds only: JSON may hold the other characters that Python takes for the end of a line.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[str]:
        """Take a piece; return the data of the events that are now complete."""
        complete: list[str] = []
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in (line.removesuffix(b"\r") for line in lines):
            if line.startswith(b"data:"):
                self._data.append(line.removeprefix(b"data:").removeprefix(b" "))
            elif not line and self._data:
                complete.append(b"\n".join(self._data).decode(errors="replace"))
                self._data = []
        return complete

    def end(self) -> list[str]:
        """Return the event that was not closed by an empty line, if there is one."""
        return self.feed(b"\n\n")


class Assembly:
    """The answer as far as it is there."""

    def __init__(self) -> None:
        self._model: str | None = None
        self._usage: Usage | None = None
        self._error: Failure | None = None
        self._finish: str | None = None
        self._spoken: list[str] = []
        self._refused: list[str] = []
        self._thought: list[str] = []
        self._calls: dict[int, list[str]] = {}
        self._has_choice = False

    @property
    def said(self) -> Said:
        """The message so far."""
        calls = [ToolCall(function=Call(arguments="".join(parts))) for _, parts in sorted(self._calls.items())]
        return Said(
            content="".join(self._spoken),
            refusal="".join(self._refused),
            tool_calls=calls,
            reasoning_content="".join(self._thought),
        )

    @property
    def has_begun(self) -> bool:
        """Whether the first token is there."""
        return bool(self._spoken or self._refused or self._thought or self._calls)

    @property
    def is_finished(self) -> bool:
        """Whether it was told how the answer ended, or that there is none."""
        return self._finish is not None or self._error is not None

    @property
    def is_billed(self) -> bool:
        """Whether it was told what the answer costs."""
        return self._usage is not None

    def add(self, event: Reply) -> None:
        """Take in an event."""
        self._model = event.model or self._model
        self._usage = event.usage if event.billed else self._usage
        self._error = event.failure or self._error
        for choice in event.choices or ():
            if choice and not choice.index:
                self._has_choice = True
                self._finish = choice.finish_reason or self._finish
                self._hear(choice.delta or Said())

    def _hear(self, piece: Said) -> None:
        said = ((self._spoken, piece.spoken), (self._refused, piece.refused), (self._thought, piece.thought))
        for heard, text in said:
            if text:
                heard.append(text)
        for at, call in enumerate(piece.calls):
            if call.function and call.function.text:
                self._calls.setdefault(at if call.index is None else call.index, []).append(call.function.text)

    def reply(self) -> Reply:
        """Return what a response in one piece would have been."""
        choices: list[Choice | None] = (
            [Choice(finish_reason=self._finish, message=self.said)] if self._has_choice else []
        )
        return Reply(model=self._model, choices=choices, usage=self._usage, error=self._error)


class Stream:
    """One streamed answer.

    Args:
        arrived: told now and then how many tokens there are, about.
        idle: seconds of silence after the first token that mean that nothing more will come.
    """

    def __init__(self, arrived: Callable[[int], None], idle: float) -> None:
        self._arrived = arrived
        self._idle = idle
        self._began = self._told = time.monotonic()
        self._answer = Assembly()
        self.first_token_seconds: float | None = None
        """Time to the first token; None until it is there."""

    async def read(self, body: AsyncIterator[bytes]) -> Reply:
        """Read to the end.

        Raises:
            BrokenStream: the stream fell silent, cannot be read, or ended before the answer did.
        """
        events, is_over = Events(), False
        while not is_over and (piece := await self._next(body)) is not None:
            is_over = self._take(events.feed(piece))
        is_over = is_over or self._take(events.end())
        if not (self._answer.is_finished or (is_over and self._answer.is_billed)):
            raise BrokenStream("ended its answer in the middle")
        return self._answer.reply()

    async def _next(self, body: AsyncIterator[bytes]) -> bytes | None:
        """Return the next piece, None at the end."""
        try:
            async with asyncio.timeout(self._idle if self._answer.has_begun else None):
                return await anext(body, None)
        except TimeoutError:
            raise BrokenStream("fell silent in the middle of its answer") from None

    def _take(self, events: list[str]) -> bool:
        """Take events in; tell whether the last of them said that there are no more."""
        for data in events:
            if data.strip() == _DONE:
                return True
            try:
                self._answer.add(Reply.model_validate_json(data))
            except ValidationError:
                raise BrokenStream("sent a broken stream") from None
        self._tell()
        return False

    def _tell(self) -> None:
        """Note the first token, and tell how many there are if that was not done a moment ago."""
        now = time.monotonic()
        if not self._answer.has_begun:
            return
        if self.first_token_seconds is None:
            self.first_token_seconds = now - self._began
        elif now - self._told < TOLD_SECONDS:
            return
        self._told = now
        self._arrived(estimated_tokens(self._answer.said.everything))
