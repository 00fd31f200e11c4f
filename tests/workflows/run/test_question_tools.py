"""Runs whose question calls for a tool, whose results the report cites."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from activities.mcp import McpActivities
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.settings.web import McpServer
from tenure.sources.mcp.servers import McpServers
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, says, story

ROOT = Path(__file__).parents[3]
LIMITS: dict[str, Any] = {"min_relevance": 0.05, "max_cycles": 1, "max_sections": 1, "strategy": "direct"}


def build_request(question: str, **limits: Any) -> RunRequest:
    return RunRequest(question=question, corpora=("kitchen",), limits=RunLimits(**{**LIMITS, **limits}))


def serve_bakery(knowledge: MemoryKnowledge, calls: Path) -> list[Callable[..., Any]]:
    """Return the MCP activities of a worker that knows the bakery."""
    calls.touch()
    server = McpServer.model_validate(
        {
            "command": (sys.executable, "-m", "tests.sources.mcp_bakery"),
            "environment": {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "CALLS": str(calls)},
            "tools": ("*",),
            "resources": ("docs://*",),
        }
    )
    activities = McpActivities(McpServers({"bakery": server}, timeout_seconds=60), knowledge)  # type: ignore[arg-type]
    return [
        *(activities.list_mcp_tools, activities.call_mcp_tool, activities.store_mcp_answer),
        activities.read_mcp_resource,
    ]


def quote_sources(result: Result) -> dict[str, str]:
    """Return the quotes of a report by the URI of their source."""
    claims = [*result.abstract_claims, *(claim for section in result.sections for claim in section.claims)]
    quotes: dict[str, str] = {}
    for citation in (citation for claim in claims for citation in claim.citations):
        uri = result.sources[citation.source - 1].uri
        quotes[uri] = f"{quotes.get(uri, '')} {citation.quote}".strip()
    return quotes


async def test_a_calculation_is_the_whole_answer(serving: Serving) -> None:
    """A question that is only a calculation ends with the calculation, and nothing is researched."""
    knowledge = MemoryKnowledge({})
    async with serving(None, knowledge) as stage:
        result: Result = await (await stage.start(build_request("What is 15 % of 2,400?"))).result()

    assert result.status == "done" and len(result.sections) == 1
    assert "360" in result.sections[0].markdown
    assert result.short_answer and result.short_answer.text == "360"
    assert list(quote_sources(result)) == ["calculation: 15% of 2400"]
    assert len(knowledge.searches) == 1 and "research" not in {role for role in result.usage.by_role}
    assert result.usage.by_role.keys() == {"router"}


def select(*calls: dict[str, Any], resources: tuple[int, ...] = ()) -> ScriptedChat:
    """Return a model that selects calls and resources for the question."""
    return ScriptedChat(story(tool_selector=says({"calls": list(calls), "resources": list(resources)})))


@slow
async def test_a_server_answers_what_no_document_does(serving: Serving, tmp_path: Path) -> None:
    """A selected tool is called and a selected resource is read, both once, and the report cites them."""
    knowledge = MemoryKnowledge({})
    chat = select({"tool": 1, "arguments": '{"order_id": "A-1042"}'}, resources=(1,))
    web = serve_bakery(knowledge, tmp_path / "calls")
    async with serving(chat, knowledge, web=web) as stage:
        request = build_request("What is the status of order A-1042, and how is the oven heated?", mcp=("bakery",))
        result: Result = await (await stage.start(request)).result()

    assert result.status == "done"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == ["get_order_status {'order_id': 'A-1042'}", "docs://oven"]
    prompts = " ".join(prompt for role, prompt in chat.asked if role == "report_writer")
    assert "baked and ready for the customer" in prompts and "heated with beech wood for three hours" in prompts
    assert any(uri.startswith("mcp:bakery/") for uri in quote_sources(result))


@slow
async def test_a_failed_call_is_reported(serving: Serving, tmp_path: Path) -> None:
    """A call that fails leaves a note with the reason, and the run continues."""
    knowledge = MemoryKnowledge(dict(KITCHEN))
    web = serve_bakery(knowledge, tmp_path / "calls")
    request = build_request("What is the status of order B-7?", mcp=("bakery", "missing"))
    chat = select({"tool": 1, "arguments": '{"order_id": "B-7"}'})
    async with serving(chat, knowledge, web=web) as stage:
        result: Result = await (await stage.start(request)).result()

    assert "get_order_status of the server bakery was of no use: bakery: there is no such order." in result.notes
    assert any("TENURE_MCP_SERVERS contains no server 'missing'" in note for note in result.notes)
