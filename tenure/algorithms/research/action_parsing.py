"""Parse the action of a ReAct step from a model's answer (Yao et al. 2022, "ReAct").

Models often answer in the format they were trained on instead of the requested one. The parser accepts JSON objects,
`tool[argument]` and `tool(name=value)` calls, labelled lines (`Action:`, `Action Input:`, `Final Answer:`) and prose.
It does not guess. The first action of an answer counts, and text after an `Observation:` that the model invented is
ignored. `action_validation` checks whether the tool exists and accepts the arguments.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

FINISH: Final = "finish"
"""Name of the action that ends the loop."""

MAX_THOUGHT_LENGTH, MAX_ARGUMENTS_LENGTH, MAX_ANSWER_LENGTH, MAX_NAME_LENGTH = 2_000, 12_000, 4_000, 80
"""Maximum lengths in characters. Longer texts are truncated. Arguments and names keep one character more than the
limit, so that validation rejects them instead of using a part of them.
"""

MAX_NESTING: Final = 3
"""Maximum number of nested action objects that are unwrapped."""

INVALID_CONFIDENCE: Final = -1.0
"""Confidence of an answer whose confidence is not a number."""

_ACTION_KEYS = ("action", "tool", "tool_name", "function", "verb", "name")
_ACTION_LIST_KEYS = ("tool_calls", "actions", "calls")
_ARGUMENT_KEYS = ("arguments", "action_input", "tool_input", "args", "parameters", "params", "input", "argument")
_THOUGHT_KEYS = ("thought", "thoughts", "reasoning", "rationale")
_ANSWER_KEYS = ("answer", "final_answer", "final")
_CONFIDENCE_KEYS = ("confidence", "certainty")
_RESERVED_KEYS: Final = frozenset(
    (
        *_ACTION_KEYS,
        *_ACTION_LIST_KEYS,
        *_ARGUMENT_KEYS,
        *_THOUGHT_KEYS,
        *_ANSWER_KEYS,
        *_CONFIDENCE_KEYS,
        "id",
        "type",
        "extra_actions",
    )
)
_METADATA_KEYS: Final = frozenset({"thought", "answer", "confidence"})
_FINISH_NAMES: Final = frozenset({"finish", "finalanswer", "final", "answer", "done", "finished"})

_LABEL = re.compile(
    r"^[ \t>*_#`-]*(?P<label>thought|action[ _]input|action|observation|final[ _]answer|answer|confidence)"
    r"[ \t]*\d*[*_`]*[ \t]*[:\uff1a][*_`]*",
    re.IGNORECASE | re.MULTILINE,
)
_CALL = re.compile(
    r"^[ \t>*`-]*(?:\d{1,2}[.)][ \t]*[*`]*)?(?P<name>[^\W\d][\w-]{0,79})(?P<open>[ \t]?\[|\()", re.MULTILINE
)
_NAMED_ARGUMENT = re.compile(
    r"\s*(?P<key>[A-Za-z_]\w*)\s*=\s*(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[\w.+-]+)\s*(?:,|$)"
)
_FENCE = re.compile(r"```\w*|`")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?\s*%?", re.IGNORECASE)


class ParsedAction(NamedTuple):
    """Action that a model's answer names, as written by the model."""

    thought: str = ""
    """Reasoning before the action."""
    action: str = ""
    """Tool name as written, `finish` for the end of the loop; empty if the answer names no action."""
    arguments: str = ""
    """JSON object of the arguments, or the bare text of a single argument."""
    answer: str = ""
    """Answer so far."""
    confidence: float = 0.0
    """Confidence of the answer as written; `INVALID_CONFIDENCE` if it is not a number."""
    extra_actions: int = 0
    """Number of further actions in the same answer; they are ignored."""


def parse_model_output(text: str, objects: Iterable[Mapping[str, Any]] = ()) -> ParsedAction:
    """Parse the action that an answer names.

    Args:
        text: answer without the model's hidden reasoning.
        objects: JSON objects in the answer, in order.
    """
    moves = [move for found in objects if (move := _parse_object(found, MAX_NESTING))]
    acting = [move for move in moves if move.action]
    if acting:
        move = acting[0]._replace(extra_actions=acting[0].extra_actions + len(acting) - 1)
    else:
        move = moves[-1] if moves else _parse_text(text)
    if moves and not move.thought:
        move = move._replace(thought=_extract_leading_prose(text))
    return _truncate_fields(_normalize_finish(_lift_metadata(move)))


def normalize_tool_name(name: str) -> str:
    """Return a tool name in snake case: `VectorSearch`, `vector search` and `VECTOR-SEARCH` become `vector_search`."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^\w]+|_+", "_", split).strip("_").lower()


def parse_arguments(arguments: str) -> dict[str, Any] | None:
    """Parse arguments as a JSON object, also if it is encoded as a JSON string; None for bare text."""
    found: Any = arguments
    for _ in range(3):
        if not isinstance(found, str):
            break
        found = _decode_json(found)
    return found if isinstance(found, dict) else None


def _parse_object(data: Mapping[str, Any], depth: int) -> ParsedAction | None:
    """Return the action of a JSON object; None if the object has neither an action nor an answer."""
    given = {_normalize_key(key): value for key, value in data.items()}
    calls = _find_calls(given)
    if calls and depth:
        inner = _parse_object(calls[0], depth - 1)
        thought = _to_text(_get_first(given, _THOUGHT_KEYS))
        return inner and inner._replace(thought=thought or inner.thought, extra_actions=len(calls) - 1)
    answer, action = _get_first(given, _ANSWER_KEYS), _get_first(given, _ACTION_KEYS)
    if answer is None and action is None:
        return None
    return ParsedAction(
        thought=_to_text(_get_first(given, _THOUGHT_KEYS)),
        action=_to_text(action),
        arguments=_extract_arguments(given) if action else "",
        answer=_to_text(answer),
        confidence=_parse_confidence(_get_first(given, _CONFIDENCE_KEYS)),
        extra_actions=given["extra_actions"] if isinstance(given.get("extra_actions"), int) else 0,
    )


def _find_calls(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the objects inside an object that describe its actions."""
    for key in (*_ACTION_LIST_KEYS, *_ACTION_KEYS):
        value = given.get(key)
        inner = [value] if isinstance(value, Mapping) else value if isinstance(value, list) else []
        if calls := [call for call in inner if isinstance(call, Mapping)]:
            return calls
    return []


def _lift_metadata(action: ParsedAction) -> ParsedAction:
    """Move thought, answer and confidence out of the arguments, if a model put them there."""
    given = parse_arguments(action.arguments)
    if given is None or not given.keys() & _METADATA_KEYS:
        return action
    kept = {key: value for key, value in given.items() if key not in _METADATA_KEYS}
    return action._replace(
        thought=_to_text(given.get("thought")) or action.thought,
        answer=_to_text(given.get("answer")) or action.answer,
        confidence=_parse_confidence(given["confidence"]) if "confidence" in given else action.confidence,
        arguments=_to_text(kept),
    )


def _extract_arguments(given: Mapping[str, Any]) -> str:
    """Return the arguments of an object; without a key for them, all keys that have no other meaning."""
    arguments = _get_first(given, _ARGUMENT_KEYS)
    if arguments is None:
        arguments = {key: value for key, value in given.items() if key not in _RESERVED_KEYS} or None
    return _to_text(arguments)


def _parse_text(text: str) -> ParsedAction:
    """Parse plain text: labelled lines first, then a call at the start of a line."""
    pieces = _split_labels(text)
    labels = [label for label, _ in pieces]
    acts = labels.count("action")
    before_observation = pieces[: labels.index("observation")] if "observation" in labels else pieces
    fields = {label: words for label, words in reversed(before_observation)}
    answer = fields.get("final answer") or fields.get("answer", "")
    thought, confidence = fields.get("thought", fields.get("", "")), _parse_confidence(fields.get("confidence"))
    if "action" in fields:
        name, arguments, more = _parse_call(fields["action"])
        arguments = fields.get("action input", "") or arguments
        return ParsedAction(thought, name, _strip_quotes(arguments), answer, confidence, acts - 1 + more)
    if answer:
        return ParsedAction(thought, FINISH if "final answer" in fields else "", "", answer, confidence)
    name, arguments, more = _parse_call(text) if _CALL.search(text) else ("", "", 0)
    return ParsedAction(
        _extract_leading_prose(text) if name else thought or text, name, _strip_quotes(arguments), "", confidence, more
    )


def _split_labels(text: str) -> list[tuple[str, str]]:
    """Split a text at its labels; the text before the first label has an empty label."""
    found = list(_LABEL.finditer(text))
    starts = [match.start() for match in found] + [len(text)]
    labelled = [
        (re.sub(r"[ _]+", " ", match["label"].lower()), text[match.end() : end].strip())
        for match, end in zip(found, starts[1:], strict=True)
    ]
    return [("", text[: starts[0]].strip()), *labelled]


def _parse_call(text: str) -> tuple[str, str, int]:
    """Return the name and the arguments of the first call in a text, and the number of later calls."""
    first = _CALL.search(text)
    if first is None:
        words = text.strip().strip("`*\"' ").split("\n")[0].strip()
        return (words[: MAX_NAME_LENGTH + 1], "", 0)
    inside, end = _read_brackets(text, first.end() - 1)
    more = sum(match["open"] != "(" for match in _CALL.finditer(text, end))
    return first["name"], _parse_named_arguments(inside) if first["open"] == "(" else inside, more


def _read_brackets(text: str, start: int) -> tuple[str, int]:
    """Return the text inside the bracket that opens at `start`, and its end; an unclosed bracket ends with the text."""
    opening = text[start]
    closing = {"[": "]", "(": ")"}[opening]
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if not depth:
            return text[start + 1 : at].strip(), at
    return text[start + 1 :].strip(), len(text)


def _parse_named_arguments(inside: str) -> str:
    """Return the content of round brackets as a JSON object of named values, or as bare text."""
    found: dict[str, Any] = {}
    at = 0
    while at < len(inside) and (match := _NAMED_ARGUMENT.match(inside, at)):
        found[match["key"]] = _parse_literal(match["value"])
        at = match.end()
    return json.dumps(found, ensure_ascii=False) if found and at >= len(inside) else inside


def _parse_literal(value: str) -> Any:
    """Return a value without quotes, or as a number or constant if it is one."""
    if value[0] in "\"'":
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    decoded = _decode_json(value)
    return value if decoded is None else decoded


def _normalize_finish(action: ParsedAction) -> ParsedAction:
    """Rename the final action to `finish`, whatever its name, and move its answer out of the arguments."""
    if re.sub(r"[^a-z]", "", action.action.lower()) not in _FINISH_NAMES:
        return action
    given = parse_arguments(action.arguments)
    if given is None:
        return action._replace(action=FINISH, arguments="", answer=action.answer or action.arguments)
    answer = _get_first(
        {_normalize_key(key): value for key, value in given.items()}, (*_ANSWER_KEYS, *_ARGUMENT_KEYS, "text")
    )
    return action._replace(action=FINISH, arguments="", answer=_to_text(answer) or action.answer)


def _truncate_fields(action: ParsedAction) -> ParsedAction:
    """Truncate all texts to their limits and remove control characters."""
    return ParsedAction(
        _remove_control_characters(action.thought)[:MAX_THOUGHT_LENGTH],
        _remove_control_characters(action.action)[: MAX_NAME_LENGTH + 1],
        _remove_control_characters(action.arguments)[: MAX_ARGUMENTS_LENGTH + 1],
        _remove_control_characters(action.answer)[:MAX_ANSWER_LENGTH],
        action.confidence,
        action.extra_actions,
    )


def _remove_control_characters(text: str) -> str:
    """Remove control characters and unpaired surrogates, which cannot be encoded."""
    return _CONTROL.sub("", text.encode("utf-8", "ignore").decode()).strip()


def _parse_confidence(value: object) -> float:
    """Return a confidence as a number; 0 if it is missing, `INVALID_CONFIDENCE` if it is not a number."""
    if value is None or value == "":
        return 0.0
    if isinstance(value, str):
        found = _NUMBER.match(value.strip())
        if not found:
            return INVALID_CONFIDENCE
        value = float(found.group().rstrip("% ")) / (100 if found.group().endswith("%") else 1)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return INVALID_CONFIDENCE
    return float(value) if abs(value) < 1e9 and math.isfinite(value) else INVALID_CONFIDENCE


def _to_text(value: object) -> str:
    """Return a value as text; other types than strings as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _strip_quotes(text: str) -> str:
    """Remove quotes and code marks around an argument."""
    bare = text.strip().removeprefix("```json").strip("`").strip()
    quoted = len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'“”" and not bare[1:-1].count(bare[0])
    return bare[1:-1] if quoted else bare


def _extract_leading_prose(text: str) -> str:
    """Return the prose before the first object or call."""
    ends = [at for at in (text.find("{"), *(match.start() for match in _CALL.finditer(text))) if at >= 0]
    words = text[: min(ends, default=0)]
    found = _LABEL.search(words)
    words = words[found.end() :] if found and found["label"].lower() == "thought" else words
    return _FENCE.sub("", words).strip()


def _normalize_key(key: object) -> str:
    return str(key).strip().lower().replace(" ", "_")


def _get_first(given: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """Return the first value that is not None among some keys."""
    return next((given[key] for key in keys if given.get(key) is not None), None)


def _decode_json(text: str) -> Any:
    """Return the value of a JSON text; None if it is invalid or nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
