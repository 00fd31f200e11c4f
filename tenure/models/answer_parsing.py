"""Parse the JSON objects in a model's answer and validate them against a schema.

Models wrap JSON in prose, code fences, reasoning and tool calls, and omit commas. Everything that can be parsed without
guessing is accepted. An object that is never closed is not, since parts of it may be missing. For an answer that
does not fit, the exception lists the errors for the model.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar

from json_repair import repair_json
from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)

SCHEMA_MISMATCH: Final = "answer did not fit the schema"
REASONING_ONLY: Final = "the model reasoned and did not answer"
"""Reasons of an unusable answer, as reports show them."""

# "<think>First … </think>" before an answer; the end is missing if the answer was cut off.
_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_ENVELOPES = ("arguments", "parameters", "input")
_MAX_SPANS = 32
_MAX_REPAIRED_CHARACTERS = 32_000  # As many of '"a":"b" "c"' are repaired in 0.4 s.
_MAX_BRACKET_FAULTS = 48  # Without this limit, a repair of 8,000 characters of '"[' takes 17 s.
_MAX_LISTED_ERRORS = 8


class InvalidAnswer(ValueError):
    """A text without a JSON object that fits the schema; the message is addressed to the model."""

    def __init__(self, message: str, reason: str = SCHEMA_MISMATCH) -> None:
        super().__init__(message)
        self.reason = reason
        """One phrase for the report."""


def parse_answer(text: str, output: type[M]) -> M:
    """Return the first object in a model's answer that fits the schema.

    Raises:
        InvalidAnswer: no object fits; the message lists the errors of the likeliest one.
    """
    first: ValidationError | None = None
    for candidate in _iterate_candidates(text, frozenset(output.model_fields)):
        try:
            return output.model_validate(candidate)
        except ValidationError as error:
            first = first or error
    if text.strip():
        strip_reasoning(text)
    if first:
        raise InvalidAnswer(_list_errors(first))
    raise InvalidAnswer("its JSON object is not closed." if "{" in text else "it contains no JSON object.")


def strip_reasoning(text: str) -> str:
    """Return the answer without marked reasoning.

    Raises:
        InvalidAnswer: there is nothing but reasoning.
    """
    answer = _REASONING.sub("", text)
    if not answer.strip():
        raise InvalidAnswer("it contains reasoning and no answer.", REASONING_ONLY)
    return answer


def _list_errors(error: ValidationError) -> str:
    """List each error by place and rule, without the values, which the model has just written."""
    errors = [
        f"- {'.'.join(map(str, detail['loc'])) or 'the object'}: {detail['msg']}"
        for detail in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return "\n".join(["it does not fit the schema:", *errors[:_MAX_LISTED_ERRORS]])


def _iterate_candidates(text: str, fields: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects that an answer may mean, likeliest first, unwrapped from tool calls.

    Valid JSON comes before repaired JSON, and later objects before earlier ones, since a model that explains itself
    ends with its answer. Reasoning counts only if there is no object outside it.
    """
    outside = _REASONING.sub("", text)
    spans = list(_iterate_spans(outside if "{" in outside else text))[: -_MAX_SPANS - 1 : -1]
    for decode in (_decode, _repair):
        for span in spans:
            decoded = decode(span)
            if isinstance(decoded, dict) and (decoded or decode is _decode):
                yield _unwrap(decoded, fields)


def _unwrap(decoded: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    """Extract an answer from a tool call or a single wrapping key, unless the schema has such a field."""
    for key in (*_ENVELOPES, *(decoded if len(decoded) == 1 else ())):
        inner = decoded.get(key)
        inner = _decode(inner) if isinstance(inner, str) else inner
        if key not in fields and isinstance(inner, dict):
            return inner
    return decoded


def _iterate_spans(text: str) -> Iterator[str]:
    """Yield the outermost braced parts of a text.

    The time is linear in the length of the text, also for a hostile text of nothing but braces.
    """
    depth, start, quoted, escaped = 0, 0, False, False
    for position, char in enumerate(text):
        if quoted:
            quoted, escaped = (char != '"' or escaped), (char == "\\" and not escaped)
        elif char == "{":
            start, depth = (start if depth else position), depth + 1
        elif depth and char == '"':
            quoted = True
        elif depth and char == "}":
            depth -= 1
            if not depth:
                yield text[start : position + 1]


def _decode(span: str) -> object:
    try:
        return json.loads(span)
    except (ValueError, RecursionError):  # invalid JSON, or nested too deeply
        return None


def _repair(span: str) -> object:
    if len(span) > _MAX_REPAIRED_CHARACTERS or _has_bracket_faults(span):
        return None
    try:
        return repair_json(span, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None


def _has_bracket_faults(span: str) -> bool:
    """Return whether brackets are nested too deeply or unmatched too often for a typing error.

    The time of a repair grows with the square of such faults. Brackets within strings count as well, since broken
    quotes leave the end of a string open.
    """
    open_brackets: list[str] = []
    faults = 0
    for char in span:
        if char in "{[":
            open_brackets.append("}" if char == "{" else "]")
        elif char in "}]":
            matched = bool(open_brackets) and open_brackets.pop() == char
            faults += not matched
        if faults + len(open_brackets) > _MAX_BRACKET_FAULTS:
            return True
    return False
