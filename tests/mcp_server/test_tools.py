"""Test the tools with the official client, against a real Temporal server and a stub worker."""

import json

import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

from tenure.mcp_server.tools import TOOLS
from tests.cli.conftest import CommandLine


def get_text(result: CallToolResult) -> str:
    """Return the text of a result."""
    (first, *_) = result.content
    assert isinstance(first, TextContent)
    return first.text


async def test_tools_are_listed_with_their_arguments(served: Server) -> None:
    """Every tool has a description, described arguments, and a schema of its result."""
    async with Client(served) as client:
        listed = (await client.list_tools()).tools

    names = ["research", "code", "ask", "status", "steer", "label", "search"]
    assert [tool.name for tool in listed] == list(TOOLS) == names
    for tool in listed:
        assert tool.description and tool.output_schema
        assert all("description" in field or "$ref" in field for field in tool.input_schema["properties"].values())
    assert "docs" in listed[0].input_schema["properties"]
    assert not any("include_secrets" in tool.input_schema["properties"] for tool in listed)
    assert {"files", "tests"} <= listed[1].input_schema["properties"].keys()


async def test_a_client_without_tasks_waits_for_the_report(served: Server) -> None:
    """The call returns the report, its resource and the state of the run, with progress on the way."""
    lines: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message or "")

    async with Client(served) as client:
        done = await client.call_tool("research", {"question": "Why?", "id": "mcp-1"}, progress_callback=hear)
        link = done.content[1]
        assert link.type == "resource_link"
        report = await client.read_resource(link.uri)

    assert not done.is_error
    assert get_text(done).startswith("# A stub report")
    assert done.structured_content["run"]["status"] == "done"
    assert report.contents[0].model_dump()["text"] == get_text(done)
    assert lines[0] == "run mcp-1"
    assert len(lines) > 1


async def test_a_run_outlives_its_call(served: Server) -> None:
    """A call that waits no longer names the run, which is steered and read by other calls."""
    async with Client(served) as client:
        begun = await client.call_tool("research", {"question": "wait here", "id": "mcp-2", "wait_seconds": 0})
        told = await client.call_tool("steer", {"run": "mcp-2", "command": "feedback", "text": "more"})
        refused = await client.call_tool("steer", {"run": "mcp-2", "command": "feedback", "text": "nonsense"})
        listed = await client.call_tool("status", {"words": "mcp-2"})
        await client.call_tool("steer", {"run": "mcp-2", "command": "finish"})
        ended = await client.call_tool("status", {"run": "mcp-2", "wait_seconds": 60})

    assert "tool status" in get_text(begun)
    assert begun.structured_content["run"]["is_running"]
    assert get_text(told) == "The stub heard feedback."
    assert (refused.is_error, "no nonsense" in get_text(refused)) == (True, True)
    assert [run["id"] for run in listed.structured_content["runs"]] == ["mcp-2"]
    assert (ended.structured_content["run"]["status"], ended.is_error) == ("finished_early", False)


async def test_a_waiting_run_is_answered_by_a_call(served: Server) -> None:
    """A call returns as soon as the run waits for a person, with the question and the command that replies."""
    async with Client(served) as client:
        asked = await client.call_tool("research", {"question": "clarify this", "id": "mcp-3"})
        await client.call_tool("steer", {"run": "mcp-3", "command": "answer", "text": "2020"})
        ended = await client.call_tool("status", {"run": "mcp-3", "wait_seconds": 60})

    assert asked.structured_content["run"]["waits_for"]["text"] == "Which year is meant?"
    assert "steer, command answer" in get_text(asked)
    assert '"text":"2020"' in get_text(ended)


async def test_follow_up_questions_are_answered(served: Server) -> None:
    """The answer of a question is returned, and again by a call without a question."""
    async with Client(served) as client:
        await client.call_tool("research", {"question": "Why?", "id": "mcp-4", "wait_seconds": 60})
        first = await client.call_tool("ask", {"run": "mcp-4", "question": "And then?"})
        again = await client.call_tool("ask", {"run": "mcp-4"})
        failed = await client.call_tool("ask", {"run": "mcp-4", "question": "fail"})

    assert "This is answer 1." in get_text(first)
    assert again.structured_content == first.structured_content
    assert failed.is_error


async def test_a_run_gets_a_title_and_tags(served: Server) -> None:
    """A call changes what it gives, lists find the run by it, and a call without either returns both."""
    async with Client(served) as client:
        await client.call_tool("research", {"question": "Why?", "id": "mcp-5", "wait_seconds": 60})
        await client.call_tool("label", {"run": "mcp-5", "title": "On reasons", "tags": ["causes"]})
        await client.call_tool("label", {"run": "mcp-5", "title": "Of reasons"})
        read = await client.call_tool("label", {"run": "mcp-5"})
        listed = await client.call_tool("status", {"words": "#causes"})

    assert read.structured_content == {"run": "mcp-5", "title": "Of reasons", "tags": ["causes"]}
    assert [run["id"] for run in listed.structured_content["runs"]] == ["mcp-5"]


async def test_passages_are_searched(served: Server) -> None:
    """A search without corpora covers all of them."""
    async with Client(served) as client:
        found = await client.call_tool("search", {"words": "rye bread", "limit": 3})
        none = await client.call_tool("search", {"words": "nothing"})

    assert get_text(found) == "[1] Rye (/shelf/rye.md)\nrye bread in shelf, adaptive, at most 3"
    assert found.structured_content["passages"][0]["title"] == "Rye"
    assert get_text(none) == "No passage was found."


async def test_errors_are_results_for_the_model(served: Server) -> None:
    """A wrong argument, an unknown run and a failed run are explained in the result; an unknown tool is an error."""
    async with Client(served) as client:
        wrong = await client.call_tool("research", {"question": " "})
        unknown = await client.call_tool("status", {"run": "none"})
        relative = await client.call_tool("code", {"question": "Repair it", "files": ["median.py"]})
        failed = await client.call_tool("research", {"question": "fail now", "wait_seconds": 60})
        secret = await client.call_tool("research", {"question": "Why?", "include_secrets": True})
        with pytest.raises(MCPError, match="there is no tool"):
            await client.call_tool("cook", {})

    assert get_text(wrong).startswith("question: ")
    assert get_text(unknown).startswith("there is no run none")
    assert "absolute path" in get_text(relative)
    assert "told to fail" in get_text(failed)
    assert get_text(secret).startswith("include_secrets: ")
    assert all(result.is_error for result in (wrong, unknown, relative, failed, secret))


async def test_clients_of_earlier_protocols_are_served(served: Server, running: CommandLine) -> None:
    """A client with the handshake of 2025 calls tools and reads runs; it is not offered tasks."""
    async with Client(served, mode="legacy") as client:
        done = await client.call_tool("research", {"question": "Why?", "id": "mcp-5", "wait_seconds": 60})
        state = await client.read_resource("tenure://runs/mcp-5")
        extensions = client.server_capabilities.extensions

    assert get_text(done).startswith("# A stub report")
    assert json.loads(state.contents[0].model_dump()["text"])["status"] == "done"
    assert not extensions


async def test_runs_are_resources(served: Server) -> None:
    """The list of resources leads to reports, and templates to state, result, trace and questions of every run."""
    async with Client(served) as client:
        await client.call_tool("research", {"question": "Why?", "id": "mcp/6", "wait_seconds": 60})
        listed = [one.uri for one in (await client.list_resources()).resources]
        kinds = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        texts = {
            kind: (await client.read_resource(kind.replace("{run}", "mcp%2F6"))).contents[0].model_dump()["text"]
            for kind in kinds
        }
        with pytest.raises(MCPError, match="there is no resource"):
            await client.read_resource("tenure://runs/mcp%2F6/secrets")
        with pytest.raises(MCPError, match="there is no run"):
            await client.read_resource("tenure://runs/none/report")

    assert {"tenure://runs", "tenure://runs/mcp%2F6/report"} <= set(listed)
    assert texts["tenure://runs/{run}/report"].startswith("# A stub report")
    assert json.loads(texts["tenure://runs/{run}/result"])["title"] == "A stub report"
    assert json.loads(texts["tenure://runs/{run}"])["id"] == "mcp/6"
