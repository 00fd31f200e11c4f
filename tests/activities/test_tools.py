"""Tool activities: what is told of passages, and what servers of tools are asked."""

from dataclasses import dataclass, field
from typing import Any

from temporalio.testing import ActivityEnvironment

from activities.mcp import LONGEST_WORDS, McpActivities
from activities.tools import ToolActivities
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.tools import (
    CiteRequest,
    McpArguments,
    McpCallRequest,
    McpToolsRequest,
    NumberedPassage,
    ShowRequest,
)
from tenure.knowledge.store.errors import UnknownChunk
from tenure.sources.mcp.servers import Answer, McpServers, ServerFailed, Tool
from tests.worlds import KITCHEN, MemoryKnowledge


def ref(chunk: str) -> PassageRef:
    return PassageRef(chunk=ChunkId(chunk), source=SourceId("bread"), score=1.0, relevance=0.5)


class Forgetful(MemoryKnowledge):
    """A knowledge base that has lost a chunk."""

    def passages(self, refs: Any) -> Any:
        if gone := [one.chunk for one in refs if one.chunk == "gone"]:
            raise UnknownChunk(gone)
        return super().passages(refs)


async def test_passages_that_are_gone_are_left_out() -> None:
    """What an ingestion has replaced is not told, and the others keep their numbers."""
    tools = ToolActivities(Forgetful(dict(KITCHEN)))  # type: ignore[arg-type]
    shown = tuple(NumberedPassage(number=n, passage=ref(name)) for n, name in [(4, "gone"), (7, "bread:0")])
    environment = ActivityEnvironment()

    told = environment.run(tools.show_passages, ShowRequest(passages=shown, about="bread"))
    cited = environment.run(tools.cite_claim, CiteRequest(claim="Bread rises.", passages=(ref("gone"),)))

    assert told.text == "[7] Bread: Bread is made from flour, water, salt and yeast."
    assert cited.status == "missing_citation"


@dataclass
class Servers(McpServers):
    """Servers of which one does not answer."""

    answer: Answer = field(default_factory=Answer)
    called: list[tuple[str, bool]] = field(default_factory=list)

    async def tools(self, server: str) -> tuple[Tool, ...]:
        if server == "down":
            raise ServerFailed("down: it did not answer")
        return (
            Tool("short", "word " * 500, {"type": "object"}),
            Tool("long", "", {"description": "x" * 5000}),
        )

    async def call(self, server: str, tool: str, arguments: Any, *, check: bool = False) -> Answer:
        self.called.append((tool, check))
        return self.answer


async def test_a_server_that_is_down_hides_no_other() -> None:
    """Descriptions are cut, schemas that are too long are left out, and who does not answer is told."""
    servers = McpActivities(Servers(), MemoryKnowledge({}))  # type: ignore[arg-type]
    found = await ActivityEnvironment().run(servers.list_mcp_tools, McpToolsRequest(servers=("down", "up")))

    assert found.problems == ("down: it did not answer",)
    assert [(one.server, one.name, len(one.description), one.parameters) for one in found.tools] == [
        ("up", "short", LONGEST_WORDS, {"type": "object"}),
        ("up", "long", 0, {}),
    ]


async def test_an_answer_without_words_is_a_problem() -> None:
    """A tool is called with checked arguments; an answer of pictures alone cannot be cited."""
    servers = Servers(answer=Answer(texts=(" ",)))
    own = McpActivities(servers, MemoryKnowledge({}))  # type: ignore[arg-type]
    request = McpCallRequest(call=McpArguments(server="up", tool="short"), question="Why?", corpus="kitchen")

    reply = await ActivityEnvironment().run(own.call_mcp_tool, request)

    assert reply.problem == "short answered without any words"
    assert servers.called == [("short", True)]
