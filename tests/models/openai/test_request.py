"""Tests of functions offered to a model: as calls if the server supports them, otherwise in words; over real HTTP."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tenure.models.errors import RequestRejected, TransportError
from tenure.models.openai.backend import CAPABILITIES_FILE, OpenAIBackend
from tenure.models.openai.chat import OpenAIChat
from tenure.models.openai.responses import OpenAIResponses
from tenure.role_executor import execute_role
from tenure.roles.base import Evidence
from tenure.roles.reasoning import react
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes
from workflows.research.tool_registry import TOOLS

INPUT = react.ReactInput(
    question="What is bread?",
    task="What is rye?",
    tools=tuple(TOOLS[name].describe() for name in ("hybrid_search", "lookup")),
    steps_left=3,
)
LOOKUP = {"action": "lookup", "arguments": {"thought": "Look.", "confidence": 0.5, "term": "rye"}}
MEANT = react.ReactOutput(thought="Look.", action="lookup", arguments='{"term": "rye"}', confidence=0.5)


@asynccontextmanager
async def backend(
    server: ModelServer, kind: Callable[..., OpenAIBackend] = OpenAIChat, **options: Any
) -> AsyncIterator[OpenAIBackend]:
    made = kind(routes("large", "small"), base_url=server.base_url, **options)
    try:
        yield made
    finally:
        await made.aclose()


async def asked(
    server: ModelServer, kind: Callable[..., OpenAIBackend] = OpenAIChat, **options: Any
) -> react.ReactOutput:
    """Ask the role once."""
    async with backend(server, kind, **options) as chat:
        return (await execute_role(react.ROLE, INPUT, Evidence(), chat)).output


@pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses])
async def test_a_model_calls_a_function(kind: Callable[..., OpenAIBackend]) -> None:
    """In both protocols the tools are offered, one has to be called, and the call is the answer."""
    with ModelServer() as server:
        server.on("react", LOOKUP)
        assert await asked(server, kind) == MEANT

        (request,) = (one for one in server.requests if one.schema_name == "react")
        tools = [tool.get("function", tool) for tool in request.json["tools"]]
        assert [tool["name"] for tool in tools] == ["hybrid_search", "lookup", "finish"]
        assert all(tool["description"] and tool["parameters"]["properties"]["thought"] for tool in tools)
        assert request.json["tool_choice"] == "required"
        assert "response_format" not in request.json and "text" not in request.json


def ways(server: ModelServer) -> list[str]:
    """Return the form in which each request asked for an action."""
    found = []
    for request in server.requests:
        said = request.json["messages"][-1]["content"]
        kind = (request.json.get("response_format") or {}).get("type")
        found.append(request.json.get("tool_choice") or kind or ("plain" if react.PLAIN_FORMAT in said else "nothing"))
    return found


PLAIN = 'Thought: Look.\nConfidence: 0.5\nAction: lookup[{"term": "rye"}]'
OBJECT = {"thought": "Look.", "action": "lookup", "arguments": '{"term": "rye"}', "answer": "", "confidence": 0.5}


@pytest.mark.parametrize(
    ("able", "said", "expected"),
    [
        ({"tool_choice_required": False}, LOOKUP, ["required", "auto"]),
        ({"tools": False}, OBJECT, ["required", "auto", "json_schema"]),
        ({"tools": False, "json_schema": False}, OBJECT, ["required", "auto", "json_schema", "json_object"]),
        (
            {"tools": False, "json_schema": False, "json_object": False},
            PLAIN,
            ["required", "auto", "json_schema", "json_object", "plain"],
        ),
    ],
)
async def test_the_form_depends_on_the_server(able: dict[str, bool], said: Any, expected: list[str]) -> None:
    """Each rejected form is tried once, every form gives the same output, and the accepted form is cached."""

    def script(body: dict[str, Any]) -> Any:
        return said

    with ModelServer(**able) as server:  # type: ignore[arg-type]  # flags by name
        for name in ("react", ""):
            server.on(name, script)
        async with backend(server) as chat:
            first = await execute_role(react.ROLE, INPUT, Evidence(), chat)
            second = await execute_role(react.ROLE, INPUT, Evidence(), chat)

        assert first.output == second.output == MEANT
        assert ways(server) == [*expected, expected[-1]]


async def test_limits_are_cached_across_processes(tmp_path: Path) -> None:
    """Another worker does not offer functions to a server that rejected them."""
    capabilities_file = tmp_path / CAPABILITIES_FILE
    with ModelServer(tools=False) as server:
        server.on("react", OBJECT)
        await asked(server, capabilities_file=capabilities_file)
        await asked(server, capabilities_file=capabilities_file)

        assert ways(server) == ["required", "auto", "json_schema", "json_schema"]


async def test_functions_that_cause_server_errors_are_omitted() -> None:
    """Some servers answer unsupported functions with a 5xx status; other 5xx errors are not attributed to functions."""
    broken = Fault(500, body={"error": {"message": "tools param requires --jinja flag"}})
    with ModelServer() as server:
        server.on("react", OBJECT)
        server.fail(broken, broken)
        assert await asked(server) == MEANT
        assert ways(server) == ["required", "auto", "json_schema"]

    with ModelServer() as server:
        server.fail(Fault(500))
        with pytest.raises(TransportError):
            await asked(server)


async def test_other_errors_do_not_concern_functions() -> None:
    """After a rejection for another reason, functions are offered again."""
    with ModelServer() as server:
        server.fail(Fault(400, body={"error": {"message": "this account is closed"}}))
        with pytest.raises(RequestRejected):
            await asked(server)
        assert ways(server) == ["required"]


async def test_text_instead_of_a_call_is_parsed() -> None:
    """If a model answers in text although functions are offered, the text is parsed."""
    with ModelServer() as server:
        server.on("react", PLAIN)
        assert await asked(server) == MEANT

        server.on("react", json.dumps(OBJECT))
        assert await asked(server) == MEANT


async def test_reasoning_alone_is_corrected() -> None:
    """Reasoning without an action is sent back like an invalid answer of any role."""
    replies = ["<think>lookup[rye]</think>", PLAIN]
    with ModelServer() as server:
        server.on("react", lambda body: replies.pop(0))
        assert await asked(server) == MEANT
        assert "reasoning and no answer" in server.requests[1].json["messages"][-1]["content"]


async def test_further_calls_are_counted() -> None:
    """Of concurrent calls the first is parsed, the others are counted, and the content is the thought."""

    def twice(completion: dict[str, Any]) -> None:
        message = completion["choices"][0]["message"]
        message |= {"content": "Both.", "tool_calls": message["tool_calls"] * 2}

    with ModelServer() as server:
        server.on("react", {"action": "lookup", "arguments": {"term": "rye"}})
        server.fail(Fault(change=twice))
        output = await asked(server)

    assert (output.thought, output.action, output.extra_actions) == ("Both.", "lookup", 1)


async def test_a_call_without_arguments_is_a_call() -> None:
    """A function call without arguments is a valid action."""

    def bare(completion: dict[str, Any]) -> None:
        completion["choices"][0]["message"]["tool_calls"] = [{"function": {"name": "lookup"}}]

    with ModelServer() as server:
        server.on("react", LOOKUP)
        server.fail(Fault(change=bare))
        output = await asked(server)

    assert (output.action, output.arguments) == ("lookup", "{}")


async def test_a_server_that_ignores_the_choice_gets_a_schema() -> None:
    """If a model that has to call a function answers in words, the next request enforces a schema instead."""
    with ModelServer() as server:
        server.on("react", "I would rather talk about the weather.")
        async with backend(server) as chat:
            first = await execute_role(react.ROLE, INPUT, Evidence(), chat)
            assert first.output.action == ""
            server.on("react", MEANT.model_dump())
            second = await execute_role(react.ROLE, INPUT, Evidence(), chat)

        assert second.output == MEANT
        first_sent, last_sent = server.requests[0].json, server.requests[-1].json
        assert "tools" in first_sent and "tools" not in last_sent
        assert last_sent["response_format"]["type"] == "json_schema"
