"""What an acting model has said: as JSON objects, as `verb[argument]`, in labelled lines, or in prose (003, ReAct).

Models that are to name an action speak the protocol they were taught, not the one they are asked for. What can be
read without guessing is read, the first action of an answer counts, and what follows a made-up observation does
not. Whether a tool of that name exists and takes these arguments is not decided here.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

FINISH: Final = "finish"
"""The action that ends the loop."""

LONGEST_THOUGHT, LONGEST_ARGUMENTS, LONGEST_ANSWER, LONGEST_NAME = 2_000, 12_000, 4_000, 80
"""Characters of a thought, of an action's arguments, of an answer and of a tool's name; what is beyond them is cut,
and arguments that are longer are left one character too long, so that nobody takes a part of them for the whole."""

NESTED: Final = 3
"""Wrappings of an action in an action that are opened."""

NO_NUMBER: Final = -1.0
"""A confidence that is no number."""

_ACTION = ("action", "tool", "tool_name", "function", "verb", "name")
_ACTIONS = ("tool_calls", "actions", "calls")
_ARGUMENTS = ("arguments", "action_input", "tool_input", "args", "parameters", "params", "input", "argument")
_THOUGHT = ("thought", "thoughts", "reasoning", "rationale")
_ANSWER = ("answer", "final_answer", "final")
_CONFIDENCE = ("confidence", "certainty")
_KNOWN: Final = frozenset(
    (*_ACTION, *_ACTIONS, *_ARGUMENTS, *_THOUGHT, *_ANSWER, *_CONFIDENCE, "id", "type", "further")
)
_BESIDE: Final = frozenset({"thought", "answer", "confidence"})
_FINISHING: Final = frozenset({"finish", "finalanswer", "final", "answer", "done", "finished"})

_LABEL = re.compile(
    r"^[ \t>*_#`-]*(?P<label>thought|action[ _]input|action|observation|final[ _]answer|answer|confidence)"
    r"[ \t]*\d*[*_`]*[ \t]*[:\uff1a][*_`]*",
    re.IGNORECASE | re.MULTILINE,
)
_VERB = re.compile(
    r"^[ \t>*`-]*(?:\d{1,2}[.)][ \t]*[*`]*)?(?P<name>[^\W\d][\w-]{0,79})(?P<open>[ \t]?\[|\()", re.MULTILINE
)
_NAMED = re.compile(
    r"\s*(?P<key>[A-Za-z_]\w*)\s*=\s*(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[\w.+-]+)\s*(?:,|$)"
)
_FENCE = re.compile(r"```\w*|`")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?\s*%?", re.IGNORECASE)


class Move(NamedTuple):
    """What an answer says is to happen next."""

    thought: str = ""
    """Why."""
    action: str = ""
    """Name of the tool as it was written; `finish` for the end; empty where no action is named."""
    arguments: str = ""
    """The arguments: a JSON object, or the bare text of the only one."""
    answer: str = ""
    """The answer as far as it goes."""
    confidence: float = 0.0
    """How sure the answer is, as it was written; anything that is no number is `NO_NUMBER`."""
    further: int = 0
    """Actions that were named beside the first."""


def read(text: str, objects: Iterable[Mapping[str, Any]] = ()) -> Move:
    """Return what an answer says is to happen.

    Args:
        text: the answer, without the model's hidden thoughts.
        objects: the JSON objects that stand in it, in order.
    """
    moves = [move for one in objects if (move := _of_object(one, NESTED))]
    acting = [move for move in moves if move.action]
    if acting:
        move = acting[0]._replace(further=acting[0].further + len(acting) - 1)
    else:
        move = moves[-1] if moves else _of_text(text)
    if moves and not move.thought:
        move = move._replace(thought=_before(text))
    return _tidy(_ended(_lifted(move)))


def name_of(written: str) -> str:
    """Return a name as tools have it: `VectorSearch`, `vector search` and `VECTOR-SEARCH` are `vector_search`."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", written.strip())
    return re.sub(r"[^\w]+|_+", "_", split).strip("_").lower()


def as_object(arguments: str) -> dict[str, Any] | None:
    """Return arguments as an object, unwrapped where they are JSON within a JSON string; None for bare text."""
    found: Any = arguments
    for _ in range(3):
        if not isinstance(found, str):
            break
        found = _decoded(found)
    return found if isinstance(found, dict) else None


def _of_object(found: Mapping[str, Any], depth: int) -> Move | None:
    """Return what an object says; None where it names neither an action nor an answer."""
    given = {_key(key): value for key, value in found.items()}
    calls = _calls(given)
    if calls and depth:
        inner = _of_object(calls[0], depth - 1)
        thought = _words(_first(given, _THOUGHT))
        return inner and inner._replace(thought=thought or inner.thought, further=len(calls) - 1)
    said, named = _first(given, _ANSWER), _first(given, _ACTION)
    if said is None and named is None:
        return None
    return Move(
        thought=_words(_first(given, _THOUGHT)),
        action=_words(named),
        arguments=_arguments(given) if named else "",
        answer=_words(said),
        confidence=_number(_first(given, _CONFIDENCE)),
        further=given["further"] if isinstance(given.get("further"), int) else 0,
    )


def _calls(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the objects within an object that name its actions."""
    for key in (*_ACTIONS, *_ACTION):
        value = given.get(key)
        inner = [value] if isinstance(value, Mapping) else value if isinstance(value, list) else []
        if calls := [one for one in inner if isinstance(one, Mapping)]:
            return calls
    return []


def _lifted(move: Move) -> Move:
    """Return a move whose arguments are the tool's alone, where a call carries what is thought among them."""
    given = as_object(move.arguments)
    if given is None or not given.keys() & _BESIDE:
        return move
    kept = {key: value for key, value in given.items() if key not in _BESIDE}
    return move._replace(
        thought=_words(given.get("thought")) or move.thought,
        answer=_words(given.get("answer")) or move.answer,
        confidence=_number(given["confidence"]) if "confidence" in given else move.confidence,
        arguments=_words(kept),
    )


def _arguments(given: Mapping[str, Any]) -> str:
    """Return an object's arguments: those it calls so, else whatever it holds that is nothing else."""
    told = _first(given, _ARGUMENTS)
    if told is None:
        told = {key: value for key, value in given.items() if key not in _KNOWN} or None
    return _words(told)


def _of_text(text: str) -> Move:
    """Return what plain text says: labelled lines first, then an action at the beginning of a line."""
    pieces = _pieces(text)
    labels = [label for label, _ in pieces]
    acts = labels.count("action")
    heard = pieces[: labels.index("observation")] if "observation" in labels else pieces
    told = {label: words for label, words in reversed(heard)}
    answer = told.get("final answer") or told.get("answer", "")
    thought, confidence = told.get("thought", told.get("", "")), _number(told.get("confidence"))
    if "action" in told:
        name, arguments, more = _verb(told["action"])
        arguments = told.get("action input", "") or arguments
        return Move(thought, name, _bare(arguments), answer, confidence, acts - 1 + more)
    if answer:
        return Move(thought, FINISH if "final answer" in told else "", "", answer, confidence)
    name, arguments, more = _verb(text) if _VERB.search(text) else ("", "", 0)
    return Move(_before(text) if name else thought or text, name, _bare(arguments), "", confidence, more)


def _pieces(text: str) -> list[tuple[str, str]]:
    """Return a text cut at its labels, what stands before the first under no label."""
    found = list(_LABEL.finditer(text))
    starts = [match.start() for match in found] + [len(text)]
    labelled = [
        (re.sub(r"[ _]+", " ", match["label"].lower()), text[match.end() : end].strip())
        for match, end in zip(found, starts[1:], strict=True)
    ]
    return [("", text[: starts[0]].strip()), *labelled]


def _verb(text: str) -> tuple[str, str, int]:
    """Return the name and the arguments of the first action in a text, and how many more there are."""
    first = _VERB.search(text)
    if first is None:
        words = text.strip().strip("`*\"' ").split("\n")[0].strip()
        return (words[: LONGEST_NAME + 1], "", 0)
    inside, end = _inside(text, first.end() - 1)
    more = sum(one["open"] != "(" for one in _VERB.finditer(text, end))
    return first["name"], _named_arguments(inside) if first["open"] == "(" else inside, more


def _inside(text: str, start: int) -> tuple[str, int]:
    """Return what stands within the bracket that opens at a place, and where it ends; to the end where none closes."""
    opening = text[start]
    closing = {"[": "]", "(": ")"}[opening]
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if not depth:
            return text[start + 1 : at].strip(), at
    return text[start + 1 :].strip(), len(text)


def _named_arguments(inside: str) -> str:
    """Return what stands in round brackets: an object of named values, or the bare text of one."""
    found: dict[str, Any] = {}
    at = 0
    while at < len(inside) and (match := _NAMED.match(inside, at)):
        found[match["key"]] = _plain(match["value"])
        at = match.end()
    return json.dumps(found, ensure_ascii=False) if found and at >= len(inside) else inside


def _plain(value: str) -> Any:
    """Return a written value: without its quotes, or as a number where it is one."""
    if value[0] in "\"'":
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    decoded = _decoded(value)
    return value if decoded is None else decoded


def _ended(move: Move) -> Move:
    """Return a move whose end, however it is called, is `finish`, with its answer taken out of the arguments."""
    if re.sub(r"[^a-z]", "", move.action.lower()) not in _FINISHING:
        return move
    given = as_object(move.arguments)
    if given is None:
        return move._replace(action=FINISH, arguments="", answer=move.answer or move.arguments)
    said = _first({_key(key): value for key, value in given.items()}, (*_ANSWER, *_ARGUMENTS, "text"))
    return move._replace(action=FINISH, arguments="", answer=_words(said) or move.answer)


def _tidy(move: Move) -> Move:
    """Return a move within its bounds, without characters that no text has."""
    return Move(
        _clean(move.thought)[:LONGEST_THOUGHT],
        _clean(move.action)[: LONGEST_NAME + 1],
        _clean(move.arguments)[: LONGEST_ARGUMENTS + 1],
        _clean(move.answer)[:LONGEST_ANSWER],
        move.confidence,
        move.further,
    )


def _clean(text: str) -> str:
    """Return a text without control characters and halves of characters, which cannot be written down."""
    return _CONTROL.sub("", text.encode("utf-8", "ignore").decode()).strip()


def _number(value: object) -> float:
    """Return a written confidence; 0 where none is, and no number where it is none."""
    if value is None or value == "":
        return 0.0
    if isinstance(value, str):
        found = _NUMBER.match(value.strip())
        if not found:
            return NO_NUMBER
        value = float(found.group().rstrip("% ")) / (100 if found.group().endswith("%") else 1)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NO_NUMBER
    return float(value) if abs(value) < 1e9 and math.isfinite(value) else NO_NUMBER


def _words(value: object) -> str:
    """Return a value as text, one that is no text as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _bare(text: str) -> str:
    """Return an argument without the marks that set it off from the prose around it."""
    bare = text.strip().removeprefix("```json").strip("`").strip()
    quoted = len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'“”" and not bare[1:-1].count(bare[0])
    return bare[1:-1] if quoted else bare


def _before(text: str) -> str:
    """Return the prose that stands before an object or an action."""
    ends = [at for at in (text.find("{"), *(match.start() for match in _VERB.finditer(text))) if at >= 0]
    words = text[: min(ends, default=0)]
    found = _LABEL.search(words)
    words = words[found.end() :] if found and found["label"].lower() == "thought" else words
    return _FENCE.sub("", words).strip()


def _key(key: object) -> str:
    return str(key).strip().lower().replace(" ", "_")


def _first(given: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """Return the first of some values that is there."""
    return next((given[key] for key in keys if given.get(key) is not None), None)


def _decoded(text: str) -> Any:
    """Return what a text means as JSON; None where it is none, or nested beyond reading."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
