"""Read a streamed answer: parse server-sent events and assemble the reply that a whole response would contain."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

from pydantic import ValidationError

from tenure.algorithms.control.budget import estimate_tokens
from tenure.algorithms.control.stream_repetition import TAIL_CHARACTERS, is_repetitive
from tenure.models.chat import PartialAnswer
from tenure.models.openai.reply import (
    REPETITION,
    AssistantMessage,
    ChatReply,
    CompletionChoice,
    ErrorDetail,
    FunctionCall,
    ReplyUsage,
    ToolCall,
)

_CHECK_CHARACTERS: Final = 500  # Characters between two searches for repetition in an answer.
_DONE: Final = "[DONE]"


class BrokenStream(Exception):
    """An incomplete stream; the message continues a sentence that begins with the server's name."""


class EventParser:
    """Parser of server-sent events that accepts bytes in pieces of any length.

    Lines end at line feeds only: JSON may contain the other characters that Python treats as line ends.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[str]:
        """Parse a piece; return the data of the events that it completes."""
        complete: list[str] = []
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in (line.removesuffix(b"\r") for line in lines):
            if line.startswith(b"data:"):
                self._data.append(line.removeprefix(b"data:").removeprefix(b" "))
            elif not line and self._data:
                complete.append(b"\n".join(self._data).decode(errors="replace"))
                self._data = []
        return complete

    def flush(self) -> list[str]:
        """Return the last event if no empty line closed it."""
        return self.feed(b"\n\n")


class ReplyAssembler:
    """The part of the answer that has been received."""

    def __init__(self) -> None:
        self._model: str | None = None
        self.usage: ReplyUsage | None = None
        self._error: ErrorDetail | None = None
        self._finish_reason: str | None = None
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, list[str]] = {}
        self._has_choice = False
        self.tail = ""
        """End of the generated text."""
        self.length = 0
        """Characters of the generated text."""

    @property
    def message(self) -> AssistantMessage:
        """Message so far."""
        calls = [ToolCall(function=FunctionCall(arguments="".join(parts))) for _, parts in sorted(self._calls.items())]
        return AssistantMessage(
            content="".join(self._content),
            refusal="".join(self._refusal),
            tool_calls=calls,
            reasoning_content="".join(self._reasoning),
        )

    @property
    def has_started(self) -> bool:
        """Whether the first token has been received."""
        return bool(self._content or self._refusal or self._reasoning or self._calls)

    @property
    def is_finished(self) -> bool:
        """Whether a finish reason or an error has been received."""
        return self._finish_reason is not None or self._error is not None

    def close_repetition(self) -> None:
        """End the answer, whose text repeats itself."""
        self._finish_reason = REPETITION

    def add(self, event: ChatReply) -> None:
        """Add an event: the part of the first choice, and the model, usage or error that it reports."""
        self._model = event.model or self._model
        self.usage = event.usage if event.reported_usage else self.usage
        self._error = event.failure or self._error
        for choice in event.choices or ():
            if choice and not choice.index:
                self._has_choice = True
                self._finish_reason = choice.finish_reason or self._finish_reason
                self._append_delta(choice.delta or AssistantMessage())

    def _append_delta(self, piece: AssistantMessage) -> None:
        parts = (
            (self._content, piece.content_text),
            (self._refusal, piece.refusal_text),
            (self._reasoning, piece.reasoning_text),
        )
        for received, text in parts:
            if text:
                received.append(text)
                self._extend_tail(text)
        for position, call in enumerate(piece.function_calls):
            if call.function and call.function.text:
                self._calls.setdefault(position if call.index is None else call.index, []).append(call.function.text)
                self._extend_tail(call.function.text)

    def _extend_tail(self, text: str) -> None:
        self.length += len(text)
        self.tail = (self.tail + text)[-TAIL_CHARACTERS:]

    def build_reply(self) -> ChatReply:
        """Return the reply that a whole response would contain."""
        choices: list[CompletionChoice | None] = (
            [CompletionChoice(finish_reason=self._finish_reason, message=self.message)] if self._has_choice else []
        )
        return ChatReply(model=self._model, choices=choices, usage=self.usage, error=self._error)


class StreamedReply:
    """One streamed answer, which may be silent for `idle_timeout` seconds after its first token."""

    def __init__(self, idle_timeout: float) -> None:
        self._idle_timeout = idle_timeout
        self._started_at = time.monotonic()
        self._assembler = ReplyAssembler()
        self._checked_length = 0
        self.is_complete = False
        """Whether the server has said that the answer is complete."""
        self.first_token_seconds: float | None = None
        """Time to the first token; None before it."""

    def read_partial(self) -> PartialAnswer:
        """Return the part that has been received."""
        message = self._assembler.message
        return PartialAnswer(estimate_tokens(message.full_text), message.content_text)

    async def read(self, body: AsyncIterator[bytes]) -> ChatReply:
        """Read the stream to its end, or until its text repeats itself.

        Raises:
            BrokenStream: the stream was silent for too long, is malformed, or ended before the answer did.
        """
        events, is_over = EventParser(), False
        try:
            # One limit that moves: a limit of its own for each piece takes more time than the piece.
            async with asyncio.timeout(None) as silence:
                while not is_over and (piece := await anext(body, None)) is not None:
                    is_over = self._add_events(events.feed(piece))
                    if self._assembler.has_started:
                        silence.reschedule(asyncio.get_running_loop().time() + self._idle_timeout)
        except TimeoutError:
            raise BrokenStream("stopped sending in the middle of its answer") from None
        is_over = is_over or self._add_events(events.flush())
        if not (self._assembler.is_finished or (is_over and self._assembler.usage)):
            raise BrokenStream("ended its answer in the middle")
        return self._assembler.build_reply()

    def _add_events(self, events: list[str]) -> bool:
        """Add events; return whether the stream is over, because it says so or because its text repeats itself."""
        for data in events:
            if data.strip() == _DONE:
                self.is_complete = True
                return True
            try:
                self._assembler.add(ChatReply.model_validate_json(data))
            except ValidationError:
                raise BrokenStream("sent a broken stream") from None
            if self._is_repetitive():
                self._assembler.close_repetition()
                return True
        if self.first_token_seconds is None and self._assembler.has_started:
            self.first_token_seconds = time.monotonic() - self._started_at
        return False

    def _is_repetitive(self) -> bool:
        """Examine the end of the text each time that it has grown enough."""
        if self._assembler.length - self._checked_length < _CHECK_CHARACTERS:
            return False
        self._checked_length = self._assembler.length
        return is_repetitive(self._assembler.tail)
