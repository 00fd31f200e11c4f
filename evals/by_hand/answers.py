"""Check answers that people write by hand as the model layer would read them."""

import json
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator

from tenure.models.answer_parsing import InvalidAnswer, parse_answer
from tenure.roles.registry import load_roles
from tests.model_server.request import read_functions, read_schema

_MAX_ERRORS = 20


class RefusedAnswer(ValueError):
    """An answer that does not fit its request; the message has one line for each error."""


def check_answer(request: dict[str, Any], text: str) -> None:
    """Check an answer against the functions or the schema of its request, and against the rules of its role.

    Raises:
        RefusedAnswer: the answer does not fit.
    """
    role, schema = read_schema(request)
    functions = read_functions(request)
    if not schema and not functions:
        _check_text(role, text)
        return
    answer = _read_object(text)
    errors = list(_iterate_call_errors(answer, functions) if functions else _iterate_errors(answer, schema))
    if errors:
        raise RefusedAnswer("\n".join(errors[:_MAX_ERRORS]))
    if not functions and role in load_roles():
        _check_role_rules(role, text)


def _check_text(role: str, text: str) -> None:
    """Apply the rules of a role that answers in text."""
    if not text.strip():
        raise RefusedAnswer("the answer is empty")
    known = load_roles().get(role)
    try:
        if known and known.parse_text:
            known.parse_text(text)
    except ValueError as error:
        raise RefusedAnswer(str(error)) from None


def _read_object(text: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError as error:
        raise RefusedAnswer(f"the answer is not JSON: {error}") from None
    if not isinstance(answer, dict):
        raise RefusedAnswer("the answer is not a JSON object")
    return answer


def _iterate_call_errors(answer: dict[str, Any], functions: dict[str, Any]) -> Iterator[str]:
    """Yield the errors of a function call, or of several in a list of `calls` with a `text`."""
    calls = answer.get("calls", [answer])
    if not isinstance(calls, list) or not calls or not all(isinstance(call, dict) for call in calls):
        yield "calls: is a list of objects with action and arguments"
        return
    if not isinstance(answer.get("text", ""), str):
        yield "text: is a text"
    for call in calls:
        action, arguments = call.get("action"), call.get("arguments")
        if action not in functions:
            yield f"action: is one of {', '.join(functions)}"
        elif not isinstance(arguments, dict):
            yield "arguments: is an object with the arguments of the action"
        else:
            yield from _iterate_errors(arguments, functions[action], "arguments")


def _iterate_errors(answer: object, schema: dict[str, Any], place: str = "the answer") -> Iterator[str]:
    for error in Draft202012Validator(schema).iter_errors(answer):
        path = ".".join(map(str, error.absolute_path))
        yield f"{path or place}: {error.message}"


def _check_role_rules(role: str, text: str) -> None:
    """Apply the rules that a JSON schema does not express."""
    try:
        parse_answer(text, load_roles()[role].output)
    except InvalidAnswer as invalid:
        raise RefusedAnswer(str(invalid)) from None
