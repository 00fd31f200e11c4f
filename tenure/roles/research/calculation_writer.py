"""Write the calculation of a plan step with the figures that earlier steps have found."""

from collections.abc import Sequence

from pydantic import Field

from tenure.algorithms.calculator.calculator import evaluate
from tenure.algorithms.calculator.quantities import CalculationError
from tenure.algorithms.text.details import extract_numbers, find_missing_numbers
from tenure.algorithms.text.passage import Passage
from tenure.contracts.messages import Message
from tenure.contracts.research.spiral import Operand, PreparedCalculation
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_passages,
    skip,
    wrap_in_tag,
)
from tenure.roles.prompting import join_parts, render_list
from tenure.roles.research.step_preparer import EarlierStep, describe_earlier_steps

SYSTEM = f"""You write a calculation that answers a question with the figures of numbered passages. A calculator
computes it; you do not.

- expression: numbers, + - * / ^, brackets, `mean(3, 5)`, `percent(12, 48)`, `change(40, 50)`, units such as `330 m`,
  and dates such as `date(2024, 3, 1)`. Write 37.4 million as 37.4 * 1000000. Every figure is one of the operands. Empty
  if the passages lack a figure that the calculation needs.
- operands: the figures. For each its subject, the figure exactly as the passage writes it, and the passage's number.

Figures that are put together must measure the same thing, at about the same time if the passages allow it.

{EVIDENCE_RULE}"""

MAX_OPERANDS = 8
"""Maximum number of figures."""
_CONSTANTS = frozenset((1.0, 2.0, 100.0, 60.0, 24.0, 7.0, 12.0, 365.0))
"""Numbers of an expression that need no source, in addition to powers of ten."""


class CalculationWriterInput(RoleInput):
    """Question about figures, and the steps that have searched for them."""

    question: str
    """The question to calculate."""
    earlier: tuple[EarlierStep, ...]
    """The steps that have searched for the figures."""


class WrittenOperand(RoleOutput):
    """A figure."""

    label: str = Field(max_length=120)
    """Its subject."""
    figure: str = Field(min_length=1, max_length=80)
    """The figure exactly as the passage writes it."""
    passage: int
    """Number of the passage."""


class CalculationWriterOutput(RoleOutput):
    """The calculation."""

    expression: str = Field(max_length=500)
    """Expression for the calculator; empty if a figure is missing."""
    operands: tuple[WrittenOperand, ...] = Field(max_length=MAX_OPERANDS)
    """The figures in it."""


def render(input: CalculationWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(
        mark_passages(evidence.passages),
        wrap_in_tag("queries", render_list("Earlier searches", describe_earlier_steps(input.earlier))),
        wrap_in_tag("question", input.question),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def check_operands(
    input: CalculationWriterInput, output: CalculationWriterOutput, evidence: Evidence
) -> PreparedCalculation:
    """Return the calculation if passages have its figures and the calculator accepts it; else the problem."""
    passages, expression = evidence.passages, " ".join(output.expression.split())
    operands = tuple(operand for draft in output.operands if (operand := _check_operand(draft, passages)))
    problem = _find_problem(expression, operands)
    return PreparedCalculation(expression="" if problem else expression, operands=operands, problem=problem)


def _check_operand(draft: WrittenOperand, passages: Sequence[Passage]) -> Operand | None:
    """Return a figure if its passage has it."""
    if not 1 <= draft.passage <= len(passages):
        return None
    passage, figure = passages[draft.passage - 1], " ".join(draft.figure.split())
    if figure not in " ".join(passage.text.split()) or not extract_numbers(figure, include_words=False):
        return None
    return Operand(label=" ".join(draft.label.split()), figure=figure, passage=draft.passage, title=passage.title)


def _find_problem(expression: str, operands: Sequence[Operand]) -> str:
    """Return the reason for refusing a calculation; empty if it is valid."""
    figures = "; ".join(f"{operand.label}: {operand.figure}" for operand in operands)
    if not expression:
        return f"the passages lack a figure of the same kind for each operand (found: {figures or 'none'})"
    missing = {number.value for number in find_missing_numbers(expression, " ".join(o.figure for o in operands))}
    unknown = sorted(number for number in missing if number not in _CONSTANTS and not _is_power_of_ten(number))
    if unknown:
        return f"the passages named as its sources do not have {', '.join(f'{number:g}' for number in unknown)}"
    try:
        evaluate(expression)
    except CalculationError as refusal:
        return f"the calculator refuses {expression!r}: {refusal}"
    return ""


def _is_power_of_ten(number: float) -> bool:
    return number >= 1 and set(f"{number:.0f}"[1:]) <= {"0"} and f"{number:.0f}"[0] == "1"


ROLE = PostprocessedRole(
    "calculation_writer",
    "main",
    CalculationWriterInput,
    CalculationWriterOutput,
    render,
    skip(CalculationWriterOutput(expression="", operands=())),
    check_operands,
    PreparedCalculation,
)
