"""A Chat Completions response, read tolerantly: servers differ in what they leave out and where text goes.

The client library builds its types without validation, so that a missing field surfaces as an
`AttributeError` far away. Here a response is held against the few fields that a role needs.
"""

from typing import Any

from pydantic import BaseModel, field_validator

from tenure.models.chat import Completion, Finish, Spent, UnusableAnswer

_ENDINGS = {"length": "answer cut off at the length limit", "content_filter": "answer stopped by the content filter"}
_EMPTY = "answer without content"


class Call(BaseModel):
    """A function call; some servers answer with one although no tool was offered."""

    arguments: str | None = None


class ToolCall(BaseModel):
    """A function call in its newer wrapping."""

    function: Call | None = None


class Said(BaseModel):
    """The message of a choice."""

    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Call | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None

    @property
    def text(self) -> str:
        """The answer wherever the server put it: content, a call's arguments, the reasoning; or nothing."""
        calls = [tool.function for tool in self.tool_calls or ()] + [self.function_call]
        places = [_joined(self.content), *(call.arguments for call in calls if call)]
        return next((text for text in (*places, self.reasoning_content, self.reasoning) if text and text.strip()), "")


class Choice(BaseModel):
    """One of the answers; only the first is read."""

    finish_reason: str | None = None
    message: Said = Said()


class PromptDetails(BaseModel):
    """What the prompt tokens consist of."""

    cached_tokens: int | None = 0


class Usage(BaseModel):
    """What is billed."""

    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    prompt_tokens_details: PromptDetails | None = None

    @property
    def spent(self) -> Spent:
        """The same without gaps."""
        cached = self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else 0
        return Spent(self.prompt_tokens or 0, self.completion_tokens or 0, cached or 0)


class Failure(BaseModel):
    """An error in a body with status 200, as gateways send it for the server behind them."""

    message: str = ""
    code: int | str | None = None

    @property
    def status(self) -> int:
        """The status meant by the code; that of a bad gateway where it is none."""
        code = str(self.code)
        status = int(code) if code.isdecimal() else 0
        return status if 400 <= status < 600 else 502


class Reply(BaseModel):
    """A response with status 200."""

    model: str | None = None
    choices: list[Choice] | None = None
    usage: Usage | None = None
    error: Failure | None = None

    @field_validator("error", mode="before")
    @classmethod
    def _worded(cls, error: object) -> object:
        return {"message": error} if isinstance(error, str) else error

    @property
    def is_completion(self) -> bool:
        """Whether this is an answer of the protocol at all, and not some other service's JSON."""
        return "choices" in self.model_fields_set or self.error is not None

    def completion(self, asked_model: str) -> Completion:
        """Return what was said.

        Raises:
            UnusableAnswer: where there is nothing to read; it names the reason and the tokens paid.
        """
        spent = (self.usage or Usage()).spent
        model = self.model or asked_model
        problem = self._problem()
        if problem or not self.choices:
            raise UnusableAnswer(problem, spent=spent, model=model)
        finish: Finish = "tool_calls" if self.choices[0].finish_reason == "tool_calls" else "stop"
        return Completion(self.choices[0].message.text, model, spent, finish)

    def _problem(self) -> str:
        if not self.choices:
            return _EMPTY
        choice = self.choices[0]
        if choice.message.refusal:
            return "the model refused"
        return _ENDINGS.get(choice.finish_reason or "", "" if choice.message.text else _EMPTY)


def _joined(content: str | list[dict[str, Any]] | None) -> str | None:
    """Return content as text; some servers send it as a list of typed parts, thoughts among them."""
    if not isinstance(content, list):
        return content
    return "".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
