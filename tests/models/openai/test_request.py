"""Functions offered to a model: as calls where the server can, in words where it cannot; over real HTTP."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tenure.contracts.base import ChunkId
from tenure.models.chat import RequestRejected, TransportError
from tenure.models.openai.backend import MEMORY_FILE, OpenAIBackend
from tenure.models.openai.chat import OpenAIChat
from tenure.models.openai.responses import OpenAIResponses
from tenure.models.structured import answer
from tenure.roles.base import Evidence
from tenure.roles.reasoning import react
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes

INPUT = react.ReactInput(
    question="What is bread?", task="What is rye?", tools=("hybrid_search", "lookup"), seen=(ChunkId("a"),), left=3
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
        return (await answer(react.ROLE, INPUT, Evidence(), chat)).output


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
    """Return in which way each request asked for an action."""
    found = []
    for request in server.requests:
        said = request.json["messages"][0]["content"]
        kind = (request.json.get("response_format") or {}).get("type")
        found.append(request.json.get("tool_choice") or kind or ("plain" if react.PLAIN in said else "nothing"))
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
async def test_a_server_is_asked_in_the_way_it_can_be(able: dict[str, bool], said: Any, expected: list[str]) -> None:
    """Each way that is refused is left once; every way brings the same output, and the next call starts there."""

    def script(body: dict[str, Any]) -> Any:
        return said

    with ModelServer(**able) as server:  # type: ignore[arg-type]  # flags by name
        for name in ("react", ""):
            server.on(name, script)
        async with backend(server) as chat:
            first = await answer(react.ROLE, INPUT, Evidence(), chat)
            second = await answer(react.ROLE, INPUT, Evidence(), chat)

        assert first.output == second.output == MEANT
        assert ways(server) == [*expected, expected[-1]]


async def test_what_was_found_outlives_the_process(tmp_path: Path) -> None:
    """Another worker does not offer functions to a server that refused them."""
    memory = tmp_path / MEMORY_FILE
    with ModelServer(tools=False) as server:
        server.on("react", OBJECT)
        await asked(server, memory=memory)
        await asked(server, memory=memory)

        assert ways(server) == ["required", "auto", "json_schema", "json_schema"]


async def test_a_server_that_breaks_at_functions_is_asked_without() -> None:
    """Some servers answer functions they cannot offer with a status of their own failure; others only fail."""
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


async def test_a_complaint_about_something_else_is_no_complaint_about_functions() -> None:
    """A request that is refused for another reason is refused, and functions are offered again."""
    with ModelServer() as server:
        server.fail(Fault(400, body={"error": {"message": "this account is closed"}}))
        with pytest.raises(RequestRejected):
            await asked(server)
        assert ways(server) == ["required"]


async def test_a_model_that_speaks_instead_of_calling_is_read() -> None:
    """A server may take functions and heed none: what its model says in words counts."""
    with ModelServer() as server:
        server.on("react", PLAIN)
        assert await asked(server) == MEANT

        server.on("react", json.dumps(OBJECT))
        assert await asked(server) == MEANT


async def test_reasoning_alone_is_asked_again() -> None:
    """Hidden thoughts are no step; they are sent back like those of any role."""
    replies = ["<think>lookup[rye]</think>", PLAIN]
    with ModelServer() as server:
        server.on("react", lambda body: replies.pop(0))
        assert await asked(server) == MEANT
        assert "reasoning and no answer" in server.requests[1].json["messages"][-1]["content"]


async def test_several_calls_are_one_and_a_count() -> None:
    """Of calls at the same time the first is read, the others are counted, and what is said beside is the thought."""

    def twice(completion: dict[str, Any]) -> None:
        message = completion["choices"][0]["message"]
        message |= {"content": "Both.", "tool_calls": message["tool_calls"] * 2}

    with ModelServer() as server:
        server.on("react", {"action": "lookup", "arguments": {"term": "rye"}})
        server.fail(Fault(change=twice))
        output = await asked(server)

    assert (output.thought, output.action, output.further) == ("Both.", "lookup", 1)


async def test_a_call_without_arguments_is_a_call() -> None:
    """A model that calls a function with nothing has named it all the same."""

    def bare(completion: dict[str, Any]) -> None:
        completion["choices"][0]["message"]["tool_calls"] = [{"function": {"name": "lookup"}}]

    with ModelServer() as server:
        server.on("react", LOOKUP)
        server.fail(Fault(change=bare))
        output = await asked(server)

    assert (output.action, output.arguments) == ("lookup", "{}")


def test_the_twin_needs_no_server() -> None:
    """Without a model the role answers in the same form."""
    assert react.offline(INPUT, Evidence()).action == "hybrid_search"
