"""Use tools within a search session."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import JsonValue, ValidationError

from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.react import MAX_RECORDED_CHARS, ReactStep
from tenure.contracts.research.tools import Observation, ToolArguments
from workflows.research.search_session import SearchSession
from workflows.research.tool import Tool
from workflows.research.tool_registry import TOOLS, use_tool


class ToolUse(NamedTuple):
    """A call of a tool."""

    name: str
    """Name of the tool."""
    arguments: Mapping[str, JsonValue]
    """Arguments of the call."""
    thought: str
    """Reason for the call, for people who follow the run."""
    observation: Observation = Observation()
    """Result of the call once it was made, or why it failed."""


async def make_calls(session: SearchSession, calls: Iterable[ToolUse]) -> list[ToolUse]:
    """Make the calls whose tools the run has, until a person or a budget says stop."""
    results: list[ToolUse] = []
    for call in calls:
        if session.is_stopped():
            break
        requirement = TOOLS[call.name].requires
        if requirement:
            await session.tools.discover((requirement,))
        if requirement is None or requirement in session.tools.resources:
            results.append(await make_call(session, call))
    return results


async def make_call(session: SearchSession, call: ToolUse) -> ToolUse:
    """Make a call and record it as a step; a call with invalid arguments has the problem as its result."""
    try:
        arguments = TOOLS[call.name].arguments.model_validate(call.arguments)
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{call.name}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        return call._replace(observation=Observation(problem=problem))
    session.tools.add_passages(retrieved.passage for retrieved in session.rank_passages())
    observation, new = await perform_call(session, call.name, arguments)
    record_call(session, call.name, arguments, observation, new, call.thought)
    return call._replace(observation=observation)


def record_call(
    session: SearchSession,
    name: str,
    arguments: ToolArguments | None,
    observation: Observation,
    new: int = 0,
    thought: str = "",
) -> None:
    """Record a call as a step of the task; its arguments are None if it could not be made."""
    step = ReactStep(
        n=len(session.steps) + 1,
        thought=thought,
        tool=name,
        arguments=arguments.model_dump_json(exclude_defaults=True) if arguments else "",
        observation="\n".join(filter(None, (observation.text, observation.problem))),
        reliability=observation.reliability,
        passages=new,
    )
    session.steps.append(shorten_step(step))


async def perform_call(
    session: SearchSession, name: str, arguments: ToolArguments, query: str = ""
) -> tuple[Observation, int]:
    """Call a tool with valid arguments; return its observation and the number of new passages.

    The passages join the results of the session under a query, or that of the call.
    """
    observation = await use_tool(session.tools, name, arguments)
    session.artifacts += observation.artifacts
    if not observation.passages:
        return observation, 0
    query = query or _describe_call(TOOLS[name], arguments)
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
