"""Recognize questions for tables, and list what tasks with tools can reach."""

import re
from collections.abc import Iterable
from typing import Final

from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.tables import TableInfo
from tenure.contracts.research.tools import McpResource, McpTool

MAX_RESOURCES, MAX_RESOURCE_LENGTH = 40, 300
"""Maximum number of tables and offers of servers that a plan lists, and characters of each."""

# "How many orders …", "revenue by month", "the highest price".
_FIGURE: Final = re.compile(
    r"\b(?:how many|how much|number of|count of|totals?|sum|average|(?:the|a) mean|median|highest|lowest|largest|"
    r"smallest|maximum|minimum|fastest|slowest|grew|growth|per (?:day|week|month|quarter|year)|"
    r"by (?:day|week|month|quarter|year))\b",
    re.IGNORECASE,
)


def is_figure_question(question: str) -> bool:
    """Return whether a question asks for a figure that tables may contain."""
    return bool(_FIGURE.search(question))


def list_resources(
    tables: Iterable[TableInfo], tools: Iterable[McpTool], resources: Iterable[McpResource]
) -> tuple[str, ...]:
    """Return a line for each table, and for each tool and resource of MCP servers, as a plan reads them."""
    lines = (
        *(f"table {table.name}: {', '.join(column.name for column in table.columns)}" for table in tables),
        *(f"tool {tool.name} of the server {tool.server}: {tool.description}" for tool in tools),
        *(f"resource {resource.uri} of the server {resource.server}: {resource.title}" for resource in resources),
    )
    return tuple(shorten(" ".join(line.split()), MAX_RESOURCE_LENGTH) for line in lines[:MAX_RESOURCES])
