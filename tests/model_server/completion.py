"""Build a completion of the Chat Completions protocol from an answer."""

import json

from tests.support.schema_instance import Json


def build_completion(
    completion_id: str, model: str, usage: Json, answer: str | Json | None, finish_reason: str
) -> Json:
    """Return a completion; None instead of an answer is a refusal.

    An answer that is an object is the call of a function: `action` with its `arguments`; or it has `calls`, a list of
    these, and possibly a `text`.
    """
    message: Json = {"role": "assistant", "content": answer, "refusal": "no answer" if answer is None else None}
    if isinstance(answer, dict):
        calls = [_build_call(call, number) for number, call in enumerate(answer.get("calls", [answer]), 1)]
        message |= {"content": answer.get("text"), "tool_calls": calls}
        finish_reason = "tool_calls"
    return {
        "id": completion_id,
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}],
        "usage": usage,
    }


def _build_call(answer: Json, number: int) -> Json:
    """Return the function call of an answer, with its arguments as text."""
    arguments = answer["arguments"]
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"call_{number}", "type": "function", "function": {"name": answer["action"], "arguments": written}}
