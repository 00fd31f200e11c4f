"""The registry of tools: finds every module of `workflows.research.tools` and performs calls.

A call that fails becomes an observation that says why, so that the task continues; a cancellation is raised.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from temporalio.exceptions import ActivityError, is_cancelled_exception

from tenure.algorithms.text.questions import shorten
from tenure.contracts.research.tools import Observation, ToolArguments
from tenure.extensions import list_extensions
from workflows.research import tools
from workflows.research.tool import Tool
from workflows.research.tool_context import ToolContext, UnknownPassageError
from workflows.runtime.failures import describe_failure

MAX_PROBLEM_LENGTH = 1_000
"""Characters of the problem of a failed call."""


def load_tools() -> dict[str, Tool[Any]]:
    """Import every module of the package and return the tools by name, in alphabetical order."""
    return {name: import_module(f"{tools.__name__}.{name}").TOOL for name in list_extensions(tools.__name__)}


TOOLS: Final[Mapping[str, Tool[Any]]] = load_tools()
"""Every tool by its name."""


def list_available_tools(context: ToolContext) -> dict[str, Tool[Any]]:
    """Return the tools whose requirements the run meets, by name."""
    return {name: tool for name, tool in TOOLS.items() if tool.requires is None or tool.requires in context.resources}


async def use_tool(context: ToolContext, name: str, arguments: ToolArguments) -> Observation:
    """Perform a call and number the passages that it found."""
    try:
        observation = await TOOLS[name].use(context, arguments)
    except UnknownPassageError as error:
        return Observation(problem=str(error))
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        return Observation(problem=f"{name} failed: {describe_failure(error)}")
    context.add_passages(observation.passages)
    return observation.model_copy(update={"problem": shorten(observation.problem, MAX_PROBLEM_LENGTH)})
