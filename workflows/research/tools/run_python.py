"""The tool `run_python`: a program in the sandbox over results of SELECT statements."""

from typing import Annotated

from pydantic import Field, StringConstraints

from tenure.contracts.research.tools import Observation, ShortText, ToolArguments
from tenure.roles.coding.analyst import AnalystOutput
from workflows.research.tool import Tool
from workflows.research.tool_context import COMPUTED_RELIABILITY, ToolContext


class RunPythonArguments(ToolArguments):
    """Arguments of `run_python`."""

    goal: ShortText
    """Description of the result that is wanted, in words."""
    inputs: tuple[Annotated[str, StringConstraints(min_length=1, max_length=4_000)], ...] = Field(
        default=(), max_length=4
    )
    """SELECT statements whose results the program finds as input1.csv, input2.csv, …"""
    code: str = Field(default="", max_length=20_000)
    """The program, which reads these files and prints what is wanted; empty to have both written from the goal."""


async def run_python(context: ToolContext, arguments: RunPythonArguments) -> Observation:
    """Run the given program, or let the analyst write one for the goal."""
    tables = context.create_table_questions(arguments.goal)
    if arguments.code.strip():
        program = AnalystOutput(shows=arguments.goal, inputs=arguments.inputs, code=arguments.code)
        computation = await tables.run_program(context.create_program_id(), program)
    else:
        await tables.find_tables()
        tables.open_computation = arguments.goal
        computation = await tables.compute(context.create_program_id(), ())
    if computation.notes:
        return Observation(problem=" ".join(computation.notes))
    observation = await context.observe_passages(computation.passages, arguments.goal, COMPUTED_RELIABILITY)
    return observation.model_copy(update={"artifacts": computation.artifacts})


TOOL = Tool(
    name="run_python",
    description="Runs a Python program over results of SELECT statements, for what neither `sql` nor `calculate` "
    "can: correlations, trends, groups.",
    arguments=RunPythonArguments,
    bounds="the sandbox, without network; `TENURE_PROGRAM_SECONDS` and `TENURE_PROGRAM_MEMORY_MIB`; 180 kB of "
    "tables; 12,000 characters of output",
    use=run_python,
    requires="sandbox",
)
