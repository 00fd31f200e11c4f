"""The tool `graph_search`: relations of an entity, and passages along its links."""

from pydantic import Field

from activities.knowledge import KnowledgeActivities
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest
from tenure.contracts.research.tools import Observation, ShortText, ToolArguments
from workflows.research.tool import Tool
from workflows.research.tool_context import ToolContext

MAX_RELATIONS_LENGTH = 900
"""Characters of an observation that relations may take."""


class GraphSearchArguments(ToolArguments):
    """Arguments of `graph_search`."""

    entity: ShortText
    """Name of a person, place, organisation, work, term or identifier, without other words."""
    about: str = Field(default="", max_length=500)
    """Aspect of it that is wanted; empty for everything."""
    k: int = Field(default=8, ge=1, le=20)
    """Relations and passages wanted."""

    @property
    def query(self) -> str:
        """The arguments as one search query."""
        return f"{self.entity} {self.about}".strip()


async def search_graph(context: ToolContext, arguments: GraphSearchArguments) -> Observation:
    """List the relations of an entity, then search along its links."""
    request = RelatedRequest(entity=arguments.entity, corpora=context.task.corpora, limit=arguments.k)
    related = await context.clients.execute_activity(
        KnowledgeActivities.find_relations, request, summary=arguments.entity
    )
    return await context.search(arguments.query, arguments.k, "graph", preface=_render_relations(related))


def _render_relations(reply: RelatedReply) -> str:
    """Render one line for each relation, as many as fit."""
    if not reply.relations:
        return (
            f"Known by a name like it: {', '.join(reply.similar_entities)}."[:MAX_RELATIONS_LENGTH]
            if reply.similar_entities
            else ""
        )
    lines: list[str] = []
    for relation in reply.relations:
        evidence = relation.evidence[0].sentence if relation.evidence else ""
        lines.append(f"{relation.subject} — {relation.predicate} — {relation.object}: {evidence}")
        if sum(map(len, lines)) + len(lines) > MAX_RELATIONS_LENGTH:
            break
    return "\n".join(lines)[:MAX_RELATIONS_LENGTH]


TOOL = Tool(
    name="graph_search",
    description="Says what a named thing is related to, with the sentences that say so, and finds passages that its "
    "links lead to. For the next link of a chain of facts.",
    arguments=GraphSearchArguments,
    bounds="at most 20 relations and 20 passages; counts against the budget of searches",
    use=search_graph,
    query=lambda arguments: arguments.query,
)
