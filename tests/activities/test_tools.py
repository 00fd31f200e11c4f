"""Tool activities: excerpts of passages and calls of MCP servers."""

from dataclasses import dataclass, field
from typing import Any

from temporalio.testing import ActivityEnvironment

from activities.mcp import MAX_DESCRIPTION_LENGTH, McpActivities
from activities.tools import ToolActivities
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.tools import (
    CiteRequest,
    ExcerptsRequest,
    McpCallRequest,
    McpResourceRequest,
    McpStoreRequest,
    PassageWithNumber,
)
from tenure.knowledge.store.errors import UnknownChunk
from tenure.sources.mcp.servers import (
    McpServerError,
    McpServers,
    McpToolDescription,
    ResourceLink,
    ToolResult,
)
from tests.support.worlds import KITCHEN, MemoryKnowledge


def ref(chunk: str) -> PassageRef:
    return PassageRef(chunk=ChunkId(chunk), source=SourceId("bread"), score=1.0, relevance=0.5)


class Forgetful(MemoryKnowledge):
    """A knowledge base that has lost a chunk."""

    def load_passages(self, refs: Any) -> Any:
        if gone := [one.chunk for one in refs if one.chunk == "gone"]:
            raise UnknownChunk(gone)
        return super().load_passages(refs)


async def test_missing_passages_have_no_excerpt() -> None:
    """Replaced passages are omitted, and the others keep their numbers."""
    tools = ToolActivities(Forgetful(dict(KITCHEN)))  # type: ignore[arg-type]
    shown = tuple(PassageWithNumber(number=n, passage=ref(name)) for n, name in [(4, "gone"), (7, "bread:0")])
    environment = ActivityEnvironment()

    told = environment.run(tools.build_excerpts, ExcerptsRequest(passages=shown, topic="bread"))
    cited = environment.run(tools.cite_claim, CiteRequest(claim="Bread rises.", passages=(ref("gone"),)))

    assert told == "[7] Bread: Bread is made from flour, water, salt and yeast."
    assert cited.claim.status == "missing_citation" and not cited.supporting


@dataclass
class Servers(McpServers):
    """MCP servers, one of which does not answer."""

    answer: ToolResult = field(default_factory=ToolResult)
    called: list[tuple[str, bool]] = field(default_factory=list)

    async def list_tools(self, server: str) -> tuple[McpToolDescription, ...]:
        if server == "down":
            raise McpServerError("down: it did not answer")
        return (
            McpToolDescription("short", "word " * 500, {"type": "object"}),
            McpToolDescription("long", "", {"description": "x" * 5000}),
        )

    async def list_resources(self, server: str) -> tuple[ResourceLink, ...]:
        return (ResourceLink("docs://oven", "Oven", "word " * 500), ResourceLink("docs://empty", "Nothing"))

    async def read_resource(self, server: str, uri: str) -> tuple[str, ...]:
        text = "The oven is hot." if uri == "docs://oven" else ""
        return (text,)

    async def call_tool(self, server: str, tool: str, arguments: Any, *, validate: bool = False) -> ToolResult:
        self.called.append((tool, validate))
        return self.answer


async def test_unavailable_server_does_not_hide_others() -> None:
    """Descriptions are cut, long schemas are omitted, and the server that does not answer is named."""
    servers = McpActivities(Servers(), MemoryKnowledge({}))  # type: ignore[arg-type]
    found = await ActivityEnvironment().run(servers.list_mcp_tools, ("down", "up"))

    assert found.problems == ("down: it did not answer",)
    assert [(one.server, one.name, len(one.description), one.parameters) for one in found.tools] == [
        ("up", "short", MAX_DESCRIPTION_LENGTH, {"type": "object"}),
        ("up", "long", 0, {}),
    ]
    assert [(one.server, one.uri, len(one.description)) for one in found.resources] == [
        ("up", "docs://oven", MAX_DESCRIPTION_LENGTH),
        ("up", "docs://empty", 0),
    ]


async def test_the_text_of_a_resource_is_a_source() -> None:
    """The text of a resource is stored under its URI; a resource without text is a problem."""
    knowledge = MemoryKnowledge({})
    servers = McpActivities(Servers(), knowledge)  # type: ignore[arg-type]
    read, empty = [
        await ActivityEnvironment().run(
            servers.read_mcp_resource,
            McpResourceRequest(server="up", uri=uri, title="Oven", question="How hot is it?", corpus="c"),
        )
        for uri in ("docs://oven", "docs://empty")
    ]

    assert [passage.source for passage in read.passages] == ["mcp:up/docs://oven"] and not read.contains_instructions
    assert knowledge.documents["mcp:up/docs://oven"].text == "The oven is hot."
    assert (empty.passages, empty.problem) == ((), "the resource docs://empty of up has no text")


async def test_answer_without_text_is_a_problem() -> None:
    """A tool is called with validated arguments; an answer of images alone cannot be cited."""
    servers = Servers(answer=ToolResult(texts=(" ",)))
    own = McpActivities(servers, MemoryKnowledge({}))  # type: ignore[arg-type]
    request = McpCallRequest(server="up", tool="short", question="Why?", corpus="kitchen")

    answer = await ActivityEnvironment().run(own.call_mcp_tool, request)
    reply = await ActivityEnvironment().run(
        own.store_mcp_answer, McpStoreRequest(**request.model_dump(), text=answer.text)
    )

    assert reply.problem == "short answered without any words"
    assert servers.called == [("short", True)]
