"""Responses of servers that each leave something out."""

from typing import Any

import pytest

from tenure.algorithms.control.budget import estimated_tokens
from tenure.models.chat import Completion, Spent, UnusableAnswer
from tenure.models.openai.reply import Reply


def reply(message: dict[str, Any], finish: str | None = "stop") -> Reply:
    return Reply.model_validate(
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
def test_text_is_found_wherever_it_is(message: dict[str, Any]) -> None:
    """Content comes first, then a call's arguments; reasoning beside them is left out."""
    assert reply(message).completion("m", 7) == Completion("said", "m-1", Spent(3, 4))


@pytest.mark.parametrize(
    "message", [{"content": None, "reasoning_content": "thought"}, {"content": "  ", "reasoning": "thought"}]
)
def test_reasoning_alone_is_marked(message: dict[str, Any]) -> None:
    """Where nothing else is said the reasoning is there to be looked through, and cannot pass for the answer."""
    assert reply(message).completion("m", 7) == Completion("<think>thought</think>", "m-1", Spent(3, 4))


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
def test_unusable_answers_have_a_reason_and_a_price(message: dict[str, Any], finish: str, reason: str) -> None:
    """An answer with nothing to read says why, and what it cost."""
    with pytest.raises(UnusableAnswer) as unusable:
        reply(message, finish).completion("m", 7)
    error = unusable.value
    assert (error.reason, error.model, error.spent) == (reason, "m-1", Spent(3, 4))


def test_missing_parts_have_defaults() -> None:
    """A server that names neither model nor usage nor ending is read all the same, its tokens estimated."""
    bare = Reply.model_validate({"choices": [{"message": {"content": "said"}}]})
    assert bare.completion("asked", 7) == Completion("said", "asked", Spent(7, estimated_tokens("said")))


@pytest.mark.parametrize("choices", [[], None, [{}]])
def test_no_choice_is_unusable(choices: object) -> None:
    """Choices that are empty, null or without a message hold nothing to read."""
    with pytest.raises(UnusableAnswer, match="answer without content"):
        Reply.model_validate({"choices": choices}).completion("m", 7)


def test_tool_calls_are_told_apart() -> None:
    """The completion keeps that the answer came as a tool call."""
    message = {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
    assert reply(message, "tool_calls").completion("m", 7).finish == "tool_calls"


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
    """A gateway's error is given the status its code means, a bad gateway's where it means none."""
    failure = Reply.model_validate({"error": error}).error
    assert failure is not None
    assert failure.status == status


def test_other_services_are_recognised() -> None:
    """JSON without choices and without an error is not of this protocol."""
    assert not Reply.model_validate({"status": "ok"}).is_completion
