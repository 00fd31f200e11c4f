"""Definition of a tool of a task."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from tenure.contracts.research.tools import Observation, ToolArguments, ToolDescription
from workflows.research.tool_context import ToolContext, ToolRequirement

A = TypeVar("A", bound=ToolArguments)


@dataclass(frozen=True)
class Tool(Generic[A]):
    """One tool; a module of `workflows.research.tools` defines it as `TOOL`."""

    name: str
    """Name by which a model calls it: the name of its module."""
    description: str
    """Purpose and use, for the model and for the documentation."""
    arguments: type[A]
    """Model of its arguments; the docstrings of its fields are descriptions for the model."""
    bounds: str
    """Limits, for the documentation."""
    use: Callable[[ToolContext, A], Awaitable[Observation]]
    """Function that performs a call; a call that cannot be performed returns an observation with a problem."""
    requires: ToolRequirement | None = None
    """Resource that a run must have; None if every run can use the tool."""
    query: Callable[[A], str] | None = None
    """Function that returns the search query of a call; None if a call is no search of passages."""

    def describe(self) -> ToolDescription:
        """Return the description that a model reads."""
        schema = self.arguments.model_json_schema()
        return ToolDescription(name=self.name, description=self.description, parameters=schema)
