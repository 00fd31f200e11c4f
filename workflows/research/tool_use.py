"""Use tools within a search session.

The passages that a tool found join the results of the session, and every call is recorded as a step.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import JsonValue, ValidationError

from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.react import MAX_RECORDED_CHARS, ReactStep
from tenure.contracts.research.tools import Observation, ToolArguments
from workflows.research.search_session import SearchSession
from workflows.research.tool import Tool
from workflows.research.tool_registry import TOOLS, list_available_tools, use_tool


class UsedTool(NamedTuple):
    """A call of a tool and what it brought."""

    name: str
    """Name of the tool."""
    arguments: Mapping[str, JsonValue]
    """Arguments of the call."""
    observation: Observation
    """Result of the call, or why it failed."""


class PreparedCall(NamedTuple):
    """A call of a tool that is to be made."""

    name: str
    """Name of the tool."""
    arguments: Mapping[str, JsonValue]
    """Arguments of the call."""
    thought: str
    """Reason for the call."""


async def make_calls(session: SearchSession, calls: Iterable[PreparedCall]) -> tuple[UsedTool, ...]:
    """Call the tools that the run has, until a person or a budget says stop."""
    used: list[UsedTool] = []
    for name, arguments, thought in calls:
        if session.is_stopped():
            break
        requirement = TOOLS[name].requires
        if requirement:
            await session.tools.discover((requirement,))
        if requirement is None or requirement in session.tools.resources:
            used.append(UsedTool(name, arguments, await call_tool(session, name, arguments, thought)))
    return tuple(used)


async def call_tool(
    session: SearchSession, name: str, arguments: Mapping[str, JsonValue], thought: str = ""
) -> Observation:
    """Call a tool by its name; a call that cannot be made returns an observation with the problem.

    Passages join the session, and the call is recorded with its reason.
    """
    if name not in TOOLS:
        return Observation(problem=f"there is no tool {name!r}; there are {', '.join(TOOLS)}")
    tool = TOOLS[name]
    if tool.requires:
        await session.tools.discover((tool.requires,))
    if name not in list_available_tools(session.tools):
        return Observation(problem=f"this run cannot use {name}: it has no {tool.requires}")
    try:
        validated = tool.arguments.model_validate(arguments)
    except ValidationError as error:
        first = error.errors()[0]
        return Observation(problem=f"{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}")
    session.tools.add_passages(retrieved.passage for retrieved in session.rank_passages())
    observation, new = await perform_call(session, name, validated)
    session.steps.append(
        shorten_step(
            ReactStep(
                n=len(session.steps) + 1,
                thought=thought,
                tool=name,
                arguments=validated.model_dump_json(exclude_defaults=True),
                observation="\n".join(filter(None, (observation.text, observation.problem))),
                reliability=observation.reliability,
                passages=new,
            )
        )
    )
    return observation


async def perform_call(session: SearchSession, name: str, arguments: ToolArguments) -> tuple[Observation, int]:
    """Call a tool with valid arguments; return its observation and the number of new passages."""
    observation = await use_tool(session.tools, name, arguments)
    session.artifacts += observation.artifacts
    if not observation.passages:
        return observation, 0
    query = _describe_call(TOOLS[name], arguments)
    return observation, session.add_results(observation.passages, query, observation.cited)


def _describe_call(tool: Tool[Any], arguments: ToolArguments) -> str:
    """Return the query of a call; a call that is no search is named by its tool and its first text."""
    if tool.query:
        return tool.query(arguments)
    texts = (value for value in dict(arguments).values() if isinstance(value, str) and value)
    return shorten(f"{tool.name}: {next(texts, '')}", MAX_RECORDED_CHARS)


def shorten_step(step: ReactStep) -> ReactStep:
    """Return a step as it is recorded."""
    texts = {
        field: shorten(getattr(step, field), MAX_RECORDED_CHARS) for field in ("thought", "arguments", "observation")
    }
    return step.model_copy(update=texts)
