"""A Chat Completions response, read tolerantly: servers differ in what they leave out and where text goes.

The client library builds its types without validation, so that a missing field surfaces as an
`AttributeError` far away. Here a response is held against the few fields that a role needs; a field of
a wrong type counts as missing, since one that matters shows by what is then not there.
"""

import json
from typing import Annotated, Any, Final

from pydantic import BaseModel, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, field_validator

from tenure.algorithms.control.budget import estimated_tokens
from tenure.models.chat import Completion, Finish, Spent, UnusableAnswer

CUT_OFF = "answer cut off at the length limit"
"""Why an answer ends in the middle, or before it has begun."""

_FILTERED = "answer stopped by the content filter"
_ENDINGS = {
    "length": CUT_OFF,
    "max_tokens": CUT_OFF,
    "model_length": CUT_OFF,
    "content_filter": _FILTERED,
    "safety": _FILTERED,
}
_FAILED: Final = frozenset({"error", "insufficient_system_resource"})
"""Endings that gateways report for a model that broke down in the middle of its answer."""

_EMPTY = "answer without content"
_MISSHAPEN = "answer of an unexpected type"

_MEANT = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
}
"""Statuses that words in an error object stand for."""


def _or_nothing(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    try:
        return handler(value)
    except ValidationError:
        return None


FORGIVING = WrapValidator(_or_nothing)
"""Makes a value of a wrong type count as missing."""

Word = Annotated[str | None, FORGIVING]
Count = Annotated[int | None, FORGIVING]


class Call(BaseModel):
    """A function call; some servers answer with one although no tool was offered."""

    name: Word = None
    arguments: Annotated[str | dict[str, Any] | None, FORGIVING] = None

    @property
    def text(self) -> str:
        """The arguments as JSON; some servers send them parsed."""
        return json.dumps(self.arguments) if isinstance(self.arguments, dict) else self.arguments or ""


class ToolCall(BaseModel):
    """A function call in its newer wrapping."""

    index: Count = None
    """Which of several calls, in a stream."""
    function: Annotated[Call | None, FORGIVING] = None


class Said(BaseModel):
    """The message of a choice, or a piece of it in a stream."""

    content: Any = None
    refusal: Word = None
    tool_calls: Annotated[list[ToolCall] | None, FORGIVING] = None
    function_call: Annotated[Call | None, FORGIVING] = None
    reasoning_content: Word = None
    reasoning: Word = None

    @property
    def spoken(self) -> str:
        """The content as text; some servers send typed parts, thoughts among them, or the object itself."""
        if isinstance(self.content, list):
            return "".join(_part(part, "text") for part in self.content)
        if isinstance(self.content, dict):
            return json.dumps(self.content)
        return self.content if isinstance(self.content, str) else ""

    @property
    def refused(self) -> str:
        """The words of a refusal, empty for none."""
        parts = self.content if isinstance(self.content, list) else []
        return self.refusal or "".join(_part(part, "refusal") for part in parts)

    @property
    def thought(self) -> str:
        """The reasoning."""
        return self.reasoning_content or self.reasoning or ""

    @property
    def calls(self) -> list[ToolCall]:
        """All function calls."""
        older = [ToolCall(function=self.function_call)] if self.function_call else []
        return [*(self.tool_calls or ()), *older]

    @property
    def text(self) -> str:
        """The answer wherever the server put it: content, a call's arguments; reasoning alone is marked as such."""
        places = (self.spoken, *(call.function.text for call in self.calls if call.function))
        thought = f"<think>{self.thought}</think>" if self.thought.strip() else ""
        return next((text for text in places if text.strip()), thought)

    @property
    def action(self) -> str:
        """The first call as an object that names it, with what was said beside it; empty where no call has a name."""
        named = [call.function for call in self.calls if call.function and call.function.name]
        if not named:
            return ""
        said = {"thought": self.spoken or self.thought, "action": named[0].name, "arguments": named[0].text or "{}"}
        return json.dumps({**said, "further": len(named) - 1})

    @property
    def everything(self) -> str:
        """All that was generated."""
        arguments = [call.function.text for call in self.calls if call.function]
        return "".join((self.spoken, self.refused, *arguments, self.thought))


class Failure(BaseModel):
    """An error in a body with status 200, as gateways send it for the server behind them."""

    message: Word = None
    code: Annotated[int | str | None, FORGIVING] = None
    type: Word = None

    @property
    def status(self) -> int:
        """The status meant by code or type; that of a bad gateway where they mean none."""
        code = str(self.code)
        status = int(code) if code.isdecimal() else 0
        named = next((_MEANT[word] for word in (code, self.type or "") if word in _MEANT), 502)
        return status if 400 <= status < 600 else named


class Choice(BaseModel):
    """One of the answers; only the first is read."""

    index: Count = None
    finish_reason: Word = None
    message: Annotated[Said | None, FORGIVING] = None
    delta: Annotated[Said | None, FORGIVING] = None
    """What a stream adds to the message."""
    error: Annotated[Failure | None, FORGIVING] = None

    @property
    def failure(self) -> Failure | None:
        """What went wrong while the answer was made, if anything did."""
        broke = (self.finish_reason or "") in _FAILED
        return self.error or (Failure(message="the model broke down while it answered") if broke else None)


class PromptDetails(BaseModel):
    """What the prompt tokens consist of."""

    cached_tokens: Count = None


class Usage(BaseModel):
    """What is billed."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: Annotated[PromptDetails | None, FORGIVING] = None

    @property
    def spent(self) -> Spent:
        """The same without gaps."""
        cached = self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else None
        return Spent(self.prompt_tokens or 0, self.completion_tokens or 0, cached or 0)


class Reply(BaseModel):
    """A response with status 200, or one event of a stream."""

    model: Word = None
    choices: list[Annotated[Choice | None, FORGIVING]] | None = None
    usage: Annotated[Usage | None, FORGIVING] = None
    error: Failure | None = None

    @field_validator("error", mode="before")
    @classmethod
    def _worded(cls, error: object) -> object:
        return {"message": error} if isinstance(error, str) else error

    @property
    def is_completion(self) -> bool:
        """Whether this is an answer of the protocol at all, and not some other service's JSON."""
        return "choices" in self.model_fields_set or self.error is not None

    @property
    def failure(self) -> Failure | None:
        """The error that came instead of an answer, or in the middle of it."""
        first = self.choices[0] if self.choices else None
        return self.error or (first.failure if first else None)

    @property
    def billed(self) -> Spent | None:
        """What the server says it bills; None where it does not say."""
        spent = self.usage.spent if self.usage else Spent()
        return spent if spent.tokens_in or spent.tokens_out else None

    def completion(self, asked_model: str, prompt_tokens: int, *, acting: bool = False) -> Completion:
        """Return what was said.

        Args:
            asked_model: for servers that do not name the model.
            prompt_tokens: of the prompt, about, for servers that bill nothing: a budget has to hold there, too.
            acting: whether functions were offered, so that a call is the answer and not only what it is given.

        Raises:
            UnusableAnswer: where there is nothing to read; it names the reason and the tokens paid.
        """
        choice = (self.choices[0] if self.choices else None) or Choice()
        said = choice.message or Said()
        spent = self.billed or Spent(prompt_tokens, estimated_tokens(said.everything))
        model = self.model or asked_model
        text = (said.action if acting else "") or said.text
        if problem := _problem(choice.finish_reason or "", said, text):
            raise UnusableAnswer(problem, spent=spent, model=model)
        finish: Finish = "tool_calls" if choice.finish_reason == "tool_calls" else "stop"
        return Completion(text, model, spent, finish)


def _problem(ending: str, said: Said, text: str) -> str:
    """Name what keeps an answer from being read; empty where nothing does."""
    if said.refused:
        return "the model refused"
    if ending.lower() in _ENDINGS:
        return _ENDINGS[ending.lower()]
    if text:
        return ""
    return _EMPTY if said.content is None or isinstance(said.content, str | list) else _MISSHAPEN


def _part(part: object, kind: str) -> str:
    """Return the text of a content part of one kind, nothing for any other."""
    if not isinstance(part, dict) or part.get("type") != kind:
        return ""
    return str(part.get(kind, ""))
