"""The tools of a reasoning model: what each does, by the calls that every other part of a run makes, too.

A tool that cannot do what it was asked says so in its observation, and what to do about it; a task goes on after
that. Only a cancellation, and what is no tool's doing, goes through.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.failures import cause
from workflows.toolbox import Toolbox, UnknownPassage

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.evidence import SearchRequest, Strategy
    from tenure.contracts.graph import RelatedReply, RelatedRequest
    from tenure.contracts.tables import QueryRequest
    from tenure.contracts.tools import (
        CATALOGUE,
        Arguments,
        GraphSearchArguments,
        HybridSearchArguments,
        Observation,
        SqlArguments,
        ToolInfo,
        ToolName,
        VectorSearchArguments,
        WebSearchArguments,
    )

Use = Callable[[Toolbox, Any], Awaitable[Observation]]

RELATIONS = 900
"""Characters that relations may take of an observation."""


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
    return observation


async def vector_search(toolbox: Toolbox, arguments: VectorSearchArguments) -> Observation:
    """Search by meaning."""
    return await _searched(toolbox, arguments.query, arguments.k, "dense")


async def hybrid_search(toolbox: Toolbox, arguments: HybridSearchArguments) -> Observation:
    """Search by words and meaning."""
    return await _searched(toolbox, arguments.query, arguments.k, "hybrid")


async def graph_search(toolbox: Toolbox, arguments: GraphSearchArguments) -> Observation:
    """Say what an entity is related to, and follow its links."""
    wanted = RelatedRequest(entity=arguments.entity, corpora=toolbox.task.corpora, most=arguments.k)
    related = await toolbox.calls.related(wanted, summary=arguments.entity)
    query = f"{arguments.entity} {arguments.about}".strip()
    return await _searched(toolbox, query, arguments.k, "graph", _relations(related))


async def sql(toolbox: Toolbox, arguments: SqlArguments) -> Observation:
    """Ask the tables."""
    if not arguments.statement.strip():
        found = await toolbox.asking(arguments.question).queried()
        return await toolbox.told(found, arguments.question, 1.0)
    task = toolbox.task
    request = QueryRequest(
        sql=arguments.statement,
        corpora=task.corpora,
        databases=task.databases,
        title=arguments.question,
        question=task.question,
    )
    reply = await toolbox.calls.query(request, summary=arguments.question)
    if reply.problem:
        return Observation(problem=f"the query failed: {reply.problem}")
    return await toolbox.told(reply.passages, arguments.question, 1.0)


async def web_search(toolbox: Toolbox, arguments: WebSearchArguments) -> Observation:
    """Read what the web has on a query, and search that."""
    scope = toolbox.task.limits.web
    assert scope  # it is offered only then
    return await _searched(toolbox, arguments.query, 8, "adaptive", corpora=(scope.corpus,), browse=True)


async def _searched(
    toolbox: Toolbox,
    query: str,
    k: int,
    strategy: Strategy,
    before: str = "",
    corpora: tuple[str, ...] = (),
    *,
    browse: bool = False,
) -> Observation:
    limits = toolbox.task.limits
    request = SearchRequest(
        query=query,
        corpora=corpora or toolbox.task.corpora,
        k=k,
        max_per_source=limits.max_per_source,
        strategy=strategy,
    )
    found = await toolbox.calls.search(request, limits.min_relevance, summary=query, browse=browse)
    return await toolbox.told(found, query, before=before)


def _relations(reply: RelatedReply) -> str:
    """Return what an entity is related to, a line for each relation, as far as there is room."""
    if not reply.relations:
        return f"Known by a name like it: {', '.join(reply.alike)}."[:RELATIONS] if reply.alike else ""
    lines: list[str] = []
    for one in reply.relations:
        proof = one.proofs[0].sentence if one.proofs else ""
        lines.append(f"{one.subject} — {one.predicate} — {one.object}: {proof}")
        if sum(map(len, lines)) + len(lines) > RELATIONS:
            break
    return "\n".join(lines)[:RELATIONS]


_USES: Final[Mapping[ToolName, Use]] = {
    "vector_search": vector_search,
    "hybrid_search": hybrid_search,
    "graph_search": graph_search,
    "sql": sql,
    "web_search": web_search,
}

TOOLS: Final[Mapping[ToolName, Tool]] = {
    info.name: Tool(info, _USES[info.name]) for info in CATALOGUE if info.name in _USES
}
"""Every tool by its name."""
