"""Validate the action of a ReAct step: a known tool with valid arguments, or a final answer.

An invalid action is returned to the model with an error message that also says which form is expected.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from pydantic import ValidationError

from tenure.algorithms.text.questions import shorten
from tenure.contracts.research.tools import ToolArguments

FINISH: Final = "finish"
"""Name of the action that ends the loop."""

MAX_THOUGHT_LENGTH, MAX_ARGUMENTS_LENGTH, MAX_ANSWER_LENGTH, MAX_NAME_LENGTH = 2_000, 12_000, 4_000, 80
"""Maximum lengths in characters of the texts of a step."""

MIN_FINISH_CONFIDENCE: Final = 0.9
"""Confidence from which an answer with citations ends the loop, even if the model also names another action."""

MAX_CONSECUTIVE_ERRORS: Final = 3
"""Number of consecutive invalid actions that ends the loop."""

MAX_STEPS: Final = 10

MAX_ARGUMENT_DEPTH: Final = 32
"""Maximum nesting depth of arguments; deeper ones cannot be serialized."""

MAX_FAULTS_SHOWN, MAX_FAULT_LENGTH = 4, 200
"""Maximum number of validation errors that are reported to the model, and characters of each."""

_CITED = re.compile(r"\[\s*(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\s*\]")  # "[3]", "[1, 4]", "[2; 5]".


class ProposedAction(NamedTuple):
    """Action that a model proposes."""

    action: str
    """Name of a tool, or `finish`; empty if the model names none."""
    arguments: str = ""
    """JSON object of the arguments, or the bare text of a single argument."""
    answer: str = ""
    confidence: float = 0.0


class ActionVerdict(NamedTuple):
    """Result of the validation of an action."""

    tool: str | None = None
    """Tool to call; None at the end of the loop and for invalid actions."""
    arguments: ToolArguments | None = None
    is_final: bool = False
    error: str = ""
    """Error message for the model; empty if the action is valid."""


def validate_action(
    action: ProposedAction, tools: Mapping[str, type[ToolArguments]], completed_calls: Mapping[str, int], passages: int
) -> ActionVerdict:
    """Validate an action.

    Args:
        action: the action.
        tools: tools that may be called, each with the model of its arguments.
        completed_calls: numbers of earlier steps by their `build_call_key`.
        passages: number of passages that the task has seen.
    """
    fault = find_answer_fault(action.answer, passages)
    if action.action == FINISH or (not action.action and action.answer):
        return ActionVerdict(is_final=not fault, error=fault)
    if action.confidence >= MIN_FINISH_CONFIDENCE and extract_citations(action.answer) and not fault:
        return ActionVerdict(is_final=True)
    if not action.action:
        return ActionVerdict(error=f"The answer names no action. {_describe_tools(tools)}")
    name = normalize_tool_name(action.action)
    if name not in tools:
        return ActionVerdict(error=f"There is no tool “{shorten(action.action, 60)}”. {_describe_tools(tools)}")
    return _validate_call(name, tools[name], action.arguments, completed_calls)


def normalize_tool_name(name: str) -> str:
    """Return a tool name in snake case: `VectorSearch`, `vector search` and `VECTOR-SEARCH` become `vector_search`."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^\w]+|_+", "_", split).strip("_").lower()


def extract_citations(answer: str) -> tuple[int, ...]:
    """Return the distinct passage numbers that an answer cites, in order."""
    numbers = (int(number) for group in _CITED.findall(answer) for number in re.split(r"[,;]", group))
    return tuple(dict.fromkeys(numbers))


def find_answer_fault(answer: str, passages: int) -> str:
    """Return the reason why an answer is not acceptable; empty if it is."""
    if not answer.strip():
        return f"`{FINISH}` needs an answer, even a partial one; if nothing was found, say so."
    absent = [number for number in extract_citations(answer) if not 1 <= number <= passages]
    if not absent:
        return ""
    scope = f"passages 1 to {passages} were seen" if passages else "no passage was seen"
    return f"The answer cites passage {', '.join(map(str, absent))}, but {scope}. Cite only passages from observations."


def build_call_key(tool: str, arguments: ToolArguments) -> str:
    """Return a key that is equal for equal calls, ignoring letter case and white space."""
    return " ".join(f"{tool} {arguments.model_dump_json()}".casefold().split())


def _describe_tools(tools: Iterable[str]) -> str:
    return f"Name one of {', '.join(f'`{name}`' for name in (*tools, FINISH))}, with its arguments."


def _validate_call(
    tool: str, model: type[ToolArguments], arguments_text: str, completed_calls: Mapping[str, int]
) -> ActionVerdict:
    try:
        values = json.loads(arguments_text)
    except (ValueError, RecursionError):  # bare text, or nested too deeply
        values = None
    if not isinstance(values, dict):
        values = {next(iter(model.model_fields)): arguments_text} if arguments_text.strip() else {}
    if _is_deeper(values, MAX_ARGUMENT_DEPTH):
        return ActionVerdict(error=f"The arguments of `{tool}` are nested too deeply.")
    try:
        arguments = model.model_validate(values)
    except ValidationError as error:
        return ActionVerdict(
            error=f"Invalid arguments of `{tool}`: {_describe_faults(error)} {_describe_arguments(model)}"
        )
    earlier = completed_calls.get(build_call_key(tool, arguments))
    if earlier:
        return ActionVerdict(
            error=f"Step {earlier} was the same call; its observation is still valid. Choose another action, or finish."
        )
    return ActionVerdict(tool, arguments)


def _is_deeper(value: object, levels: int) -> bool:
    """Return whether nested objects and lists exceed a depth."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(inner) and (levels == 0 or any(_is_deeper(item, levels - 1) for item in inner))


def _describe_faults(error: ValidationError) -> str:
    """Return the location and rule of each validation error, without the value, which may be long."""
    faults = [
        f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return "; ".join(shorten(fault, MAX_FAULT_LENGTH) for fault in faults[:MAX_FAULTS_SHOWN]) + "."


def _describe_arguments(model: type[ToolArguments]) -> str:
    """Return the names of a tool's arguments as a sentence."""
    fields = (
        f"`{name}`" + ("" if field.is_required() else " (optional)") for name, field in model.model_fields.items()
    )
    return f"It takes {', '.join(fields)}."
