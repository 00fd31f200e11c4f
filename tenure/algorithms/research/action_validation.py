"""What of a model's move is carried out: a known tool with valid arguments, or a finish with an answer (003, ReAct).

A move that is not in order is sent back with what is wrong and what would be right, in words for the model.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import ValidationError

from tenure.algorithms.research.action_parsing import FINISH, LONGEST_ARGUMENTS, Move, as_object, name_of
from tenure.algorithms.text.questions import shorten
from tenure.contracts.research.tools import CATALOGUE, Arguments, ToolInfo, ToolName

TOOLS: Final[Mapping[str, ToolInfo]] = {tool.name: tool for tool in CATALOGUE}
"""Every tool by its name."""

SURE: Final = 0.9
"""Confidence from which an answer that cites passages ends the loop, whatever action stands beside it."""

MISTAKES: Final = 3
"""Moves in a row that cannot be carried out and end the loop."""

MOST_STEPS: Final = 10
"""Steps of a loop at the most (document 003, ReAct)."""

DEEPEST: Final = 32
"""Levels of objects and lists within arguments; what is nested deeper could not be written down any more."""

SHOWN_FAULTS, LONGEST_FAULT = 4, 200
"""Faults of arguments that are told, and characters of each."""

_CITED = re.compile(r"\[\s*(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\s*\]")


class Judged(NamedTuple):
    """What is done about a move."""

    tool: ToolName | None = None
    """The tool to be used; None for an end, or for a move that is sent back."""
    arguments: Arguments | None = None
    """What it is called with."""
    ends: bool = False
    """Whether the loop ends here."""
    wrong: str = ""
    """What is wrong with the move, for the model; empty where it is in order."""
    remark: str = ""
    """What the model is told beside what comes of the move."""


def steps_of(hops: int) -> int:
    """Return how many steps a task may have that goes so many hops."""
    return min(MOST_STEPS, 2 * hops + 2)


def judged(move: Move, offered: Sequence[ToolName], done: Mapping[str, int], passages: int) -> Judged:
    """Return what is done about a move.

    Args:
        move: what the model said.
        offered: tools that this run has.
        done: steps that were carried out, by their `mark`.
        passages: how many passages the task has seen; they are numbered from 1.
    """
    remark = " ".join(_remarks(move))
    unsound = fault_of(move.answer, passages)
    if move.action == FINISH or (not move.action and move.answer):
        return Judged(ends=not unsound, wrong=unsound, remark=remark)
    if SURE <= move.confidence <= 1 and cited(move.answer) and not unsound:
        return Judged(ends=True, remark=remark)
    if not move.action:
        return Judged(wrong=f"No action was named. {_form(offered)}")
    name = name_of(move.action)
    if name not in offered:
        return Judged(wrong=f"{_unknown(move.action, name)} {_form(offered)}")
    return _called(TOOLS[name], move.arguments, done)._replace(remark=remark)


def sure(confidence: float) -> float:
    """Return a confidence as it counts: one that is none counts as none."""
    return confidence if 0 <= confidence <= 1 else 0.0


def cited(answer: str) -> tuple[int, ...]:
    """Return the numbers of the passages that an answer names, each once."""
    found = (int(number) for group in _CITED.findall(answer) for number in re.split(r"[,;]", group))
    return tuple(dict.fromkeys(found))


def fault_of(answer: str, passages: int) -> str:
    """Say why an answer cannot stand; empty where it can."""
    if not answer.strip():
        return f"`{FINISH}` needs the answer, or what there is of one; say so where nothing was found."
    absent = [number for number in cited(answer) if not 1 <= number <= passages]
    if not absent:
        return ""
    there = f"passages 1 to {passages} were seen" if passages else "no passage was seen"
    return f"The answer names passage {', '.join(map(str, absent))}, but {there}. Name only what observations showed."


def mark(tool: ToolName, arguments: Arguments) -> str:
    """Return what two uses of a tool share when they are the same, letter case and spacing left out."""
    return " ".join(f"{tool} {arguments.model_dump_json()}".casefold().split())


def _remarks(move: Move) -> list[str]:
    """Return what is to be said of a move that is in order otherwise."""
    found = []
    if sure(move.confidence) != move.confidence:
        found.append("A confidence lies between 0 and 1; yours was taken as 0.")
    if move.further:
        found.append("One action at a time: only the first was carried out.")
    return found


def _unknown(written: str, name: str) -> str:
    """Say why no tool of a name is used."""
    tool = TOOLS.get(name)
    if tool is None:
        return f"There is no tool “{shorten(written, 60)}”."
    needs = f": it needs {tool.needs}" if tool.needs else ""
    return f"`{name}` is not to be had in this run{needs}."


def _form(offered: Sequence[ToolName]) -> str:
    return f"Name one of {', '.join(f'`{name}`' for name in (*offered, FINISH))}, with its arguments."


def _called(tool: ToolInfo, written: str, done: Mapping[str, int]) -> Judged:
    """Return the use of a tool with the arguments that were written."""
    if len(written) > LONGEST_ARGUMENTS:
        return Judged(wrong=f"The arguments of `{tool.name}` are longer than {LONGEST_ARGUMENTS} characters.")
    given = as_object(written)
    if given is None:
        given = {next(iter(tool.arguments.model_fields)): written} if written.strip() else {}
    if _deeper(given, DEEPEST):
        return Judged(wrong=f"The arguments of `{tool.name}` are nested too deeply.")
    try:
        arguments = tool.arguments.model_validate(given)
    except ValidationError as error:
        return Judged(wrong=f"These are no arguments of `{tool.name}`: {_faults(error)} {_signature(tool)}")
    earlier = done.get(mark(tool.name, arguments))
    if earlier:
        return Judged(wrong=f"Step {earlier} did exactly this; its observation stands. Do something else, or finish.")
    return Judged(tool.name, arguments)


def _deeper(given: object, levels: int) -> bool:
    """Tell whether objects and lists lie within each other deeper than so many levels."""
    inner = given.values() if isinstance(given, dict) else given if isinstance(given, list) else ()
    return bool(inner) and (levels == 0 or any(_deeper(one, levels - 1) for one in inner))


def _faults(error: ValidationError) -> str:
    """Name each fault by place and rule, without the value, which may be of any length."""
    faults = [
        f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return "; ".join(shorten(fault, LONGEST_FAULT) for fault in faults[:SHOWN_FAULTS]) + "."


def _signature(tool: ToolInfo) -> str:
    """Say what a tool is called with."""
    fields = (
        f"`{name}`" + ("" if field.is_required() else " (may be left out)")
        for name, field in tool.arguments.model_fields.items()
    )
    return f"It takes {', '.join(fields)}."
