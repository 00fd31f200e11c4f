"""Tests of questions for tables, and of the list of what tools can reach."""

from tenure.algorithms.research.tool_choice import (
    MAX_RESOURCE_LENGTH,
    MAX_RESOURCES,
    is_figure_question,
    list_resources,
)
from tenure.contracts.evidence.tables import ColumnInfo, TableInfo
from tenure.contracts.research.tools import McpResource, McpTool


def test_figures_are_asked_of_tables() -> None:
    """A total, a count or an extreme is a figure of a table; how something is done is none."""
    assert is_figure_question("Which region grew fastest?") and is_figure_question(
        "What is the total revenue per year?"
    )
    assert not is_figure_question("How is bread made?")


def test_a_plan_reads_what_tools_can_reach() -> None:
    """Tables are listed with their columns, tools and resources of servers with their descriptions, all cut."""
    table = TableInfo(
        name="sales", columns=(ColumnInfo(name="day", kind="number"), ColumnInfo(name="sold", kind="number"))
    )
    tool = McpTool(server="cellar", name="get_heat", description=f"Return the\nheat {'of a room ' * 99}")
    resource = McpResource(server="cellar", uri="docs://cheese", title="Cheese")
    first, second, third, *more = list_resources([table], [tool], [resource] * 99)

    assert first == "table sales: day, sold"
    assert second.startswith("tool get_heat of the server cellar: Return the heat of a room")
    assert third == "resource docs://cheese of the server cellar: Cheese"
    assert len(second) <= MAX_RESOURCE_LENGTH and 3 + len(more) == MAX_RESOURCES
