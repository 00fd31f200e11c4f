"""Parse Chat Completions responses leniently: servers differ in the fields they omit and in the place of the text.

The client library builds its types without validation, so that a missing field would raise an `AttributeError` far
away. Here a response is validated against the few fields that a role needs. A field of a wrong type counts as missing.
"""

import json
from typing import Annotated, Any, Final

from pydantic import (
    AliasPath,
    BaseModel,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)

from tenure.algorithms.control.budget import estimate_tokens
from tenure.algorithms.control.stream_repetition import is_repetitive
from tenure.models.chat import Completion
from tenure.models.errors import CUT_OFF, EMPTY_ANSWER, REPEATED_ITSELF, UnusableAnswer
from tenure.models.usage import TokenUsage

REPETITION: Final = "repetition"
"""Finish reason of a stream that was closed because its text repeated itself; no server sends it."""

_FILTERED = "answer stopped by the content filter"
_ENDINGS = {
    REPETITION: REPEATED_ITSELF,
    "length": CUT_OFF,
    "max_tokens": CUT_OFF,
    "model_length": CUT_OFF,
    "content_filter": _FILTERED,
    "safety": _FILTERED,
}
_FAILURE_ENDINGS: Final = frozenset({"error", "insufficient_system_resource"})
"""Finish reasons that gateways report for a model that failed in the middle of its answer."""

_UNEXPECTED_TYPE = "answer of an unexpected type"

_STATUS_BY_CODE = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
}
"""HTTP statuses of codes in an error object."""


def _validate_or_none(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    try:
        return handler(value)
    except ValidationError:
        return None


LENIENT = WrapValidator(_validate_or_none)
"""Validator that treats a value of a wrong type as missing."""

OptionalText = Annotated[str | None, LENIENT]
OptionalCount = Annotated[int | None, LENIENT]


class FunctionCall(BaseModel):
    """A function call; some servers return one although no tool was offered."""

    arguments: Annotated[str | dict[str, Any] | None, LENIENT] = None

    @property
    def text(self) -> str:
        """Arguments as JSON; some servers send them parsed."""
        return json.dumps(self.arguments) if isinstance(self.arguments, dict) else self.arguments or ""


class ToolCall(BaseModel):
    """A function call in its newer wrapping."""

    index: OptionalCount = None
    """Index among several calls, in a stream."""
    function: Annotated[FunctionCall | None, LENIENT] = None


class AssistantMessage(BaseModel):
    """Message of a choice, or a part of it in a stream."""

    content: Any = None
    refusal: OptionalText = None
    tool_calls: Annotated[list[ToolCall] | None, LENIENT] = None
    function_call: Annotated[FunctionCall | None, LENIENT] = None
    reasoning_content: OptionalText = None
    reasoning: OptionalText = None

    @property
    def content_text(self) -> str:
        """Content as text; some servers send typed parts, including reasoning, or the object itself."""
        if isinstance(self.content, list):
            return "".join(_read_part(part, "text") for part in self.content)
        if isinstance(self.content, dict):
            return json.dumps(self.content)
        return self.content if isinstance(self.content, str) else ""

    @property
    def refusal_text(self) -> str:
        """Text of a refusal; empty for none."""
        parts = self.content if isinstance(self.content, list) else []
        return self.refusal or "".join(_read_part(part, "refusal") for part in parts)

    @property
    def reasoning_text(self) -> str:
        """Reasoning, which servers send under two names; empty without any."""
        return self.reasoning_content or self.reasoning or ""

    @property
    def function_calls(self) -> list[ToolCall]:
        """Function calls: those of `tool_calls`, and that of its older form `function_call`."""
        older = [ToolCall(function=self.function_call)] if self.function_call else []
        return [*(self.tool_calls or ()), *older]

    @property
    def text(self) -> str:
        """Answer: the content or the arguments of a call; reasoning without an answer is wrapped in `<think>`."""
        texts = (self.content_text, *(call.function.text for call in self.function_calls if call.function))
        reasoning = f"<think>{self.reasoning_text}</think>" if self.reasoning_text.strip() else ""
        return next((text for text in texts if text.strip()), reasoning)

    @property
    def full_text(self) -> str:
        """All generated text."""
        arguments = [call.function.text for call in self.function_calls if call.function]
        return "".join((self.content_text, self.refusal_text, *arguments, self.reasoning_text))


class ErrorDetail(BaseModel):
    """Error in a body with status 200, as gateways send it for the server behind them."""

    message: OptionalText = None
    code: Annotated[int | str | None, LENIENT] = None
    type: OptionalText = None

    @property
    def status(self) -> int:
        """HTTP status of the code or type; 502 if they have none."""
        code = str(self.code)
        status = int(code) if code.isdecimal() else 0
        listed = next((_STATUS_BY_CODE[word] for word in (code, self.type or "") if word in _STATUS_BY_CODE), 502)
        return status if 400 <= status < 600 else listed


class CompletionChoice(BaseModel):
    """One of the answers; only the first is used."""

    index: OptionalCount = None
    finish_reason: OptionalText = None
    message: Annotated[AssistantMessage | None, LENIENT] = None
    delta: Annotated[AssistantMessage | None, LENIENT] = None
    """Addition of a stream event to the message."""
    error: Annotated[ErrorDetail | None, LENIENT] = None

    @property
    def failure(self) -> ErrorDetail | None:
        """Error during the generation of the answer; None for none."""
        broke = (self.finish_reason or "") in _FAILURE_ENDINGS
        return self.error or (ErrorDetail(message="the model broke down while it answered") if broke else None)


class ReplyUsage(BaseModel):
    """Token usage as the server reports it."""

    prompt_tokens: OptionalCount = None
    completion_tokens: OptionalCount = None
    cached_tokens: OptionalCount = Field(None, validation_alias=AliasPath("prompt_tokens_details", "cached_tokens"))
    reasoning_tokens: OptionalCount = Field(
        None, validation_alias=AliasPath("completion_tokens_details", "reasoning_tokens")
    )

    @property
    def token_usage(self) -> TokenUsage:
        """Token usage with zeros for missing values."""
        return TokenUsage(self.prompt_tokens or 0, self.completion_tokens or 0, self.cached_tokens or 0)


class ChatReply(BaseModel):
    """A response with status 200, or one event of a stream."""

    model: OptionalText = None
    choices: list[Annotated[CompletionChoice | None, LENIENT]] | None = None
    usage: Annotated[ReplyUsage | None, LENIENT] = None
    error: ErrorDetail | None = None

    @field_validator("error", mode="before")
    @classmethod
    def _wrap_error_text(cls, error: object) -> object:
        return {"message": error} if isinstance(error, str) else error

    @property
    def is_completion(self) -> bool:
        """Whether this is a reply of the protocol, and not the JSON of another service."""
        return "choices" in self.model_fields_set or self.error is not None

    @property
    def failure(self) -> ErrorDetail | None:
        """Error in place of an answer, or in the middle of it; None for none."""
        first = self.choices[0] if self.choices else None
        return self.error or (first.failure if first else None)

    @property
    def reported_usage(self) -> TokenUsage | None:
        """Token usage that the server reports; None if it reports none."""
        usage = self.usage.token_usage if self.usage else TokenUsage()
        return usage if usage.tokens_in or usage.tokens_out else None

    @property
    def has_reasoning(self) -> bool:
        """Whether the model reasoned before its answer, visibly or not."""
        choice = self.choices[0] if self.choices else None
        message = (choice.message if choice else None) or AssistantMessage()
        is_shown = bool(message.reasoning_text.strip()) or message.content_text.lstrip().startswith("<think")
        return is_shown or bool(self.usage and self.usage.reasoning_tokens)

    def to_completion(self, requested_model: str, prompt_tokens: int) -> Completion:
        """Return the completion.

        Args:
            requested_model: for servers that do not name the model.
            prompt_tokens: estimate for servers that report no usage, so that budgets work there, too.

        Raises:
            UnusableAnswer: there is nothing to parse; it carries the reason and the token usage.
        """
        choice = (self.choices[0] if self.choices else None) or CompletionChoice()
        answer = choice.message or AssistantMessage()
        usage = self.reported_usage or TokenUsage(prompt_tokens, estimate_tokens(answer.full_text))
        model = self.model or requested_model
        if problem := _describe_problem(choice.finish_reason or "", answer):
            raise UnusableAnswer(problem, usage=usage, model=model)
        return Completion(answer.text, model, usage)


def _describe_problem(ending: str, answer: AssistantMessage) -> str:
    """Return the reason why an answer cannot be used; empty for none."""
    if answer.refusal_text:
        return "the model refused"
    problem = _ENDINGS.get(ending.lower(), "")
    if problem == CUT_OFF and is_repetitive(answer.full_text):
        return REPEATED_ITSELF
    if problem:
        return problem
    if answer.text:
        return ""
    return EMPTY_ANSWER if answer.content is None or isinstance(answer.content, str | list) else _UNEXPECTED_TYPE


def _read_part(part: object, kind: str) -> str:
    """Return the text of a content part of one kind; empty for any other."""
    if not isinstance(part, dict) or part.get("type") != kind:
        return ""
    return str(part.get(kind, ""))
