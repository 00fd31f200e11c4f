"""The tool `calculate`: exact arithmetic with units, percentages and dates."""

from pydantic import Field

from activities.tools import ToolActivities
from tenure.contracts.research.tools import (
    MAX_EXPRESSION_LENGTH,
    MAX_OBSERVATION_LENGTH,
    CalculateRequest,
    Observation,
    ToolArguments,
)
from workflows.research.tool import Tool
from workflows.research.tool_context import ToolContext


class CalculateArguments(ToolArguments):
    """Arguments of `calculate`."""

    expression: str = Field(min_length=1, max_length=MAX_EXPRESSION_LENGTH)
    """The expression, with numbers and units from passages: `(3.5 km + 120 m) / 2 to m`, `percent(12, 48)`,
    `mean(3, 5, 10)`, `date(2024, 3, 1) - date(2023, 12, 24)`."""
    label: str = Field(default="", max_length=200)
    """Description of the result, in a few words."""


async def calculate(context: ToolContext, arguments: CalculateArguments) -> Observation:
    """Calculate an expression and keep the result as a source."""
    request = CalculateRequest(
        expression=arguments.expression,
        label=arguments.label,
        question=context.task.step.query,
        corpus=context.corpus,
    )
    reply = await context.clients.execute_activity(ToolActivities.calculate, request, summary=arguments.expression)
    if reply.problem:
        return Observation(problem=f"{arguments.expression[:200]!r} was not calculated: {reply.problem}")
    (result, *_) = context.number_passages(reply.passages)
    text = f"[{result.number}] {reply.text}"[:MAX_OBSERVATION_LENGTH]
    return Observation(text=text, passages=reply.passages, reliability=1.0)


TOOL = Tool(
    name="calculate",
    description="Calculates exactly: + - * / // ^, brackets, units with conversion (`5 mi to km`), percentages "
    "(`10%` is 0.1) and dates; sum, mean, median, min, max, round, abs, sqrt, log, percent, change, days, years "
    "and other functions. Take the numbers from passages.",
    arguments=CalculateArguments,
    bounds="an expression of 1,000 characters; numbers of 2,000 digits; what would be larger is refused before it "
    "is calculated",
    use=calculate,
)
