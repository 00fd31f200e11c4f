"""The tools of a reasoning model: what each does, by the calls that every other part of a run makes, too.

A tool that cannot do what it was asked says so in its observation, and what to do about it; a task goes on after
that. Only a cancellation, and what is no tool's doing, goes through.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.research import finding_tools as finding
from workflows.research import reading_tools as reading
from workflows.research.toolbox import Toolbox, UnknownPassage
from workflows.runtime.failures import cause

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.text.questions import shorten
    from tenure.contracts.research.tools import (
        CATALOGUE,
        Arguments,
        Observation,
        ToolInfo,
        ToolName,
    )

LONGEST_PROBLEM = 1_000
"""Characters of what is told of a failure."""

Use = Callable[[Toolbox, Any], Awaitable[Observation]]


@dataclass(frozen=True)
class Tool:
    """A tool that can be used."""

    info: ToolInfo
    """What it is, as a model reads it."""
    use: Use
    """What it does with arguments of its own type."""

    @property
    def name(self) -> ToolName:
        """Its name."""
        return self.info.name

    @property
    def description(self) -> str:
        """What it does and when to use it."""
        return self.info.description

    @property
    def arguments(self) -> type[Arguments]:
        """What it is called with."""
        return self.info.arguments


def available(toolbox: Toolbox) -> Mapping[ToolName, Tool]:
    """Return the tools that a run has what they need for, by name."""
    return {name: tool for name, tool in TOOLS.items() if toolbox.has(tool.info.needs)}


async def use(toolbox: Toolbox, name: ToolName, arguments: Arguments) -> Observation:
    """Use a tool, and number the passages that it has found."""
    try:
        observation = await TOOLS[name].use(toolbox, arguments)
    except UnknownPassage as error:
        return Observation(problem=str(error))
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        return Observation(problem=f"{name} failed: {cause(error)}")
    toolbox.take(observation.passages)
    return observation.model_copy(update={"problem": shorten(observation.problem, LONGEST_PROBLEM)})


_USES: Final[Mapping[ToolName, Use]] = {
    "vector_search": finding.vector_search,
    "hybrid_search": finding.hybrid_search,
    "graph_search": finding.graph_search,
    "sql": finding.sql,
    "web_search": finding.web_search,
    "read_page": finding.read_page,
    "calculate": finding.calculate,
    "run_python": finding.run_python,
    "analyze_document": reading.analyze_document,
    "compare_documents": reading.compare_documents,
    "summarize_results": reading.summarize_results,
    "extract_facts": reading.extract_facts,
    "verify_claim": reading.verify_claim,
    "lookup": finding.lookup,
    "mcp": finding.mcp,
}

TOOLS: Final[Mapping[ToolName, Tool]] = {info.name: Tool(info, _USES[info.name]) for info in CATALOGUE}
"""Every tool by its name."""
