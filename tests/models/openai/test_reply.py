"""Tests of the parser for replies of servers that omit fields."""

from typing import Any

import pytest

from tenure.algorithms.control.budget import estimate_tokens
from tenure.models.chat import Completion
from tenure.models.errors import UnusableAnswer
from tenure.models.openai.reply import ChatReply
from tenure.models.usage import TokenUsage


def reply(message: dict[str, Any], finish: str | None = "stop") -> ChatReply:
    return ChatReply.model_validate(
        {
            "model": "m-1",
            "choices": [{"finish_reason": finish, "message": message}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        }
    )


@pytest.mark.parametrize(
    "message",
    [
        {"content": "said"},
        {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "said"}]},
        {"content": None, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "said"}}]},
        {"content": "", "function_call": {"name": "f", "arguments": "said"}},
        {"content": "said", "reasoning_content": "thought"},
    ],
)
def test_text_is_found_in_every_field(message: dict[str, Any]) -> None:
    """Content comes first, then a call's arguments; reasoning next to them is omitted."""
    assert reply(message).to_completion("m", 7) == Completion("said", "m-1", TokenUsage(3, 4))


@pytest.mark.parametrize(
    "message", [{"content": None, "reasoning_content": "thought"}, {"content": "  ", "reasoning": "thought"}]
)
def test_reasoning_alone_is_marked(message: dict[str, Any]) -> None:
    """If there is nothing else, the reasoning is returned with a mark, so that it does not count as the answer."""
    assert reply(message).to_completion("m", 7) == Completion("<think>thought</think>", "m-1", TokenUsage(3, 4))


@pytest.mark.parametrize(
    ("message", "finish", "reason"),
    [
        ({"content": None}, "stop", "answer without content"),
        ({"content": "  \n"}, "stop", "answer without content"),
        ({"content": '{"a": '}, "length", "answer cut off at the length limit"),
        ({"content": ""}, "content_filter", "answer stopped by the content filter"),
        ({"content": None, "refusal": "No."}, "stop", "the model refused"),
    ],
)
def test_unusable_answers_have_a_reason_and_usage(message: dict[str, Any], finish: str, reason: str) -> None:
    """An answer without content carries the reason and its token usage."""
    with pytest.raises(UnusableAnswer) as unusable:
        reply(message, finish).to_completion("m", 7)
    error = unusable.value
    assert (error.reason, error.model, error.usage) == (reason, "m-1", TokenUsage(3, 4))


def test_missing_fields_have_defaults() -> None:
    """A reply without model, usage and finish reason is parsed, its tokens estimated."""
    bare = ChatReply.model_validate({"choices": [{"message": {"content": "said"}}]})
    assert bare.to_completion("asked", 7) == Completion("said", "asked", TokenUsage(7, estimate_tokens("said")))


@pytest.mark.parametrize("choices", [[], None, [{}]])
def test_no_choice_is_unusable(choices: object) -> None:
    """Choices that are empty, null or without a message are unusable."""
    with pytest.raises(UnusableAnswer, match="answer without content"):
        ChatReply.model_validate({"choices": choices}).to_completion("m", 7)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 429, "message": "x"}, 429),
        ({"code": "503"}, 503),
        ({"code": "overloaded"}, 502),
        ({"code": "context_length_exceeded", "message": None}, 400),
        ({"type": "invalid_request_error"}, 400),
        ({"code": None, "type": "rate_limit_error"}, 429),
        ({"code": ["odd"], "type": {}}, 502),
        ("loading", 502),
    ],
)
def test_errors_in_a_body_have_a_status(error: object, status: int) -> None:
    """A gateway's error gets the status of its code, or 502 if it has none."""
    failure = ChatReply.model_validate({"error": error}).error
    assert failure is not None
    assert failure.status == status


def test_other_services_are_recognised() -> None:
    """JSON without choices and without an error is not of this protocol."""
    assert not ChatReply.model_validate({"status": "ok"}).is_completion
