"""Runs without a model whose question calls for a tool: every strategy has the tools, and the report cites them."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from activities.mcp import McpActivities
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.settings import McpServer
from tenure.sources.mcp.servers import McpServers
from tests.conftest import Serving
from tests.support.tiers import exhaustive, slow
from tests.support.worlds import KITCHEN, MemoryKnowledge

pytestmark = pytest.mark.timeout(150)

ROOT = Path(__file__).parents[3]
LIMITS: dict[str, Any] = {"min_relevance": 0.05, "max_cycles": 1, "max_sections": 1, "strategy": "direct"}


def build_request(question: str, **limits: Any) -> RunRequest:
    return RunRequest(question=question, corpora=("kitchen",), limits=RunLimits(**{**LIMITS, **limits}))


def serve_bakery(knowledge: MemoryKnowledge, calls: Path, **allowed: Any) -> list[Callable[..., Any]]:
    """Return the MCP activities of a worker that knows the bakery."""
    calls.touch()
    server = McpServer.model_validate(
        {
            "command": (sys.executable, "-m", "tests.sources.mcp_bakery"),
            "environment": {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "CALLS": str(calls)},
            "tools": ("*",),
            "resources": ("docs://*",),
            **allowed,
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


@pytest.mark.parametrize(
    "strategy", ["direct", *(pytest.param(one, marks=exhaustive) for one in ("multi_hop", "react"))]
)
async def test_a_server_answers_what_no_document_does(serving: Serving, tmp_path: Path, strategy: str) -> None:
    """A question that only a server can answer is answered by its tool, which the report cites."""
    knowledge = MemoryKnowledge({})
    web = serve_bakery(knowledge, tmp_path / "calls")
    question = "What is the status of order A-1042?"
    async with serving(None, knowledge, web=web) as stage:
        result: Result = await (await stage.start(build_request(question, mcp=("bakery",), strategy=strategy))).result()

    assert result.status == "done"
    assert (tmp_path / "calls").read_text().splitlines() == ["get_order_status {'order_id': 'A-1042'}"]
    quotes = quote_sources(result)
    (uri,) = [uri for uri in quotes if uri.startswith("mcp:bakery/get_order_status?")]
    assert "baked and ready for the customer" in quotes[uri]


@slow
async def test_a_matching_resource_is_evidence(serving: Serving, tmp_path: Path) -> None:
    """A resource whose name matches the question is read and cited; a forbidden resource is not read."""
    knowledge = MemoryKnowledge({})
    web = serve_bakery(knowledge, tmp_path / "calls")
    question = "How long is the oven heated before the first loaf?"
    async with serving(None, knowledge, web=web) as stage:
        result: Result = await (await stage.start(build_request(question, mcp=("bakery",)))).result()

    assert "heated with beech wood for three hours" in quote_sources(result)["mcp:bakery/docs://oven"]
    assert set((tmp_path / "calls").read_text().splitlines()) == {"docs://oven"}


@slow
async def test_rules_call_only_tools_that_read(serving: Serving, tmp_path: Path) -> None:
    """Without a model, a tool that is not declared read-only is called only if the settings allow rules to call it."""
    calls = tmp_path / "calls"
    for question, allowed, expected in (
        ("Cancel order A-1042, please.", {}, ""),
        ("What does the price list say about the loaf “rye”?", {}, ""),
        ("What does the price list say about the loaf “rye”?", {"automatic": ("price_*",)}, "price_list"),
    ):
        knowledge = MemoryKnowledge(dict(KITCHEN))
        async with serving(None, knowledge, web=serve_bakery(knowledge, calls, **allowed)) as stage:
            result: Result = await (await stage.start(build_request(question, mcp=("bakery",)))).result()
        assert calls.read_text().partition(" ")[0] == expected
    assert "price 4.2" in quote_sources(result)['mcp:bakery/price_list?{"loaf": "rye"}']


@slow
async def test_a_failed_call_is_told(serving: Serving, tmp_path: Path) -> None:
    """A call that fails leaves a note with the reason, and the run continues."""
    knowledge = MemoryKnowledge(dict(KITCHEN))
    web = serve_bakery(knowledge, tmp_path / "calls")
    request = build_request("What is the status of order B-7?", mcp=("bakery", "missing"))
    async with serving(None, knowledge, web=web) as stage:
        result: Result = await (await stage.start(request)).result()

    assert "get_order_status of the server bakery was of no use: bakery: there is no such order." in result.notes
    assert any("TENURE_MCP_SERVERS contains no server 'missing'" in note for note in result.notes)


@slow
async def test_claims_terms_and_documents_are_examined(serving: Serving) -> None:
    """The wording of a question calls for the claim check, the lookup or the comparison; people see the calls."""
    async with serving(None, MemoryKnowledge(dict(KITCHEN))) as stage:
        checked = await stage.start(build_request("Is it true that bread is made from flour, water, salt and yeast?"))
        result: Result = await checked.result()
        defined = await stage.start(build_request("Define sourdough."))
        await defined.result()
        compared = await stage.start(build_request("Compare the documents Bread and Cheese."))
        await compared.result()
        states = [await one.query("state") for one in (checked, defined, compared)]

    assert "Claim check: A source supports this: Bread is made from flour, water, salt and yeast." in result.notes
    assert [state["tasks"][0]["steps"][0]["tool"] for state in states] == [
        "verify_claim",
        "lookup",
        "compare_documents",
    ]
