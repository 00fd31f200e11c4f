"""The loopback model server, spoken to by the real client."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import numpy as np
import openai
import pytest
from openai.types.chat import ChatCompletion

from tests.model_server import Fault, ModelServer
from tests.schema_instance import MARKER

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def client(server: ModelServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as made:
        yield made


async def ask(client: openai.AsyncOpenAI, name: str = "title_writer", text: str = "Name it.") -> ChatCompletion:
    return await client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": text}],
        response_format={"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": SCHEMA}},
    )


async def test_answers_any_schema(client: openai.AsyncOpenAI) -> None:
    """Without a script the answer is an instance of the request's schema, carrying the marker."""
    answer = json.loads((await ask(client)).choices[0].message.content or "")
    assert list(answer) == ["title"]
    assert answer["title"].startswith(MARKER)


async def test_finds_the_schema_in_the_prompt(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A schema written into the system message names the role as well as a declared one."""
    prompt = f"Be brief.\n\nFollow the JSON schema `outliner`:\n{json.dumps(SCHEMA)}\nThank you."
    reply = await client.chat.completions.create(model="m", messages=[{"role": "system", "content": prompt}])
    assert "title" in json.loads(reply.choices[0].message.content or "")
    assert len(server.asked("outliner")) == 1


async def test_scripts_answer_their_schema(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """Scripts are strings, objects or functions of the request, one for each schema name."""
    server.on("a", "just words")
    server.on("b", {"title": "B"})
    server.on("c", lambda request: {"title": request["messages"][0]["content"]})
    said = [(await ask(client, name, "hello")).choices[0].message.content for name in "abc"]
    assert said == ["just words", '{"title": "B"}', '{"title": "hello"}']


async def test_records_requests(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """Every request is recorded with its headers, body and role."""
    await ask(client)
    (request,) = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/chat/completions", "Bearer k")
    assert (request.json["model"], request.schema_name) == ("m", "title_writer")


async def test_bills_what_it_reports(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """The ledger holds the tokens that responses report, per role."""
    usages = [(await ask(client, "a")).usage, (await ask(client, "b")).usage]
    assert [entry.schema_name for entry in server.billed] == ["a", "b"]
    reported = [(usage.prompt_tokens, usage.completion_tokens) for usage in usages if usage]
    assert reported == [(entry.tokens_in, entry.tokens_out) for entry in server.billed]
    assert server.tokens == tuple(map(sum, zip(*reported, strict=True)))


async def test_status_faults_come_in_order_and_once(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A scripted status comes with its headers, bills nothing, and only once."""
    server.fail(Fault(429, {"retry-after": "7"}), Fault(503))
    with pytest.raises(openai.RateLimitError) as busy:
        await ask(client)
    with pytest.raises(openai.InternalServerError):
        await ask(client)
    assert busy.value.response.headers["retry-after"] == "7"
    assert server.billed == []
    assert (await ask(client)).choices


async def test_faults_wait_for_their_role(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A fault for one role leaves the others alone."""
    server.fail(Fault(500), schema="b")
    await ask(client, "a")
    with pytest.raises(openai.InternalServerError):
        await ask(client, "b")


async def test_dropped_connection(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A drop closes the connection without a response."""
    server.fail(Fault(drop=True))
    with pytest.raises(openai.APIConnectionError):
        await ask(client)


async def test_malformed_body(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A scripted body is sent to the letter."""
    server.fail(Fault(body='{"choices": ['))
    raw = await client.chat.completions.with_raw_response.create(model="m", messages=[])
    assert raw.text == '{"choices": ['


@pytest.mark.parametrize(
    ("fault", "path", "value"),
    [
        (Fault.refusal(), ("choices", 0, "message", "refusal"), "I cannot."),
        (Fault.no_choices(), ("choices",), []),
        (Fault.finish("length"), ("choices", 0, "finish_reason"), "length"),
        (Fault.message(content=None), ("choices", 0, "message", "content"), None),
    ],
)
async def test_changed_answers_are_billed(
    server: ModelServer, client: openai.AsyncOpenAI, fault: Fault, path: tuple[str | int, ...], value: object
) -> None:
    """An answer that is refused, empty or cut off is one that was paid for."""
    server.fail(fault)
    found: Any = (await ask(client)).model_dump()
    for step in path:
        found = found[step]
    assert value == found
    assert len(server.billed) == 1


async def test_refuses_formats_it_does_not_have() -> None:
    """A server without structured output says so with status 400."""
    with ModelServer(json_schema=False, json_object=False) as server:
        async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client:
            with pytest.raises(openai.BadRequestError, match="response_format"):
                await ask(client)


async def test_refuses_wrong_keys_and_long_prompts() -> None:
    """A wrong key is 401 and echoes it, as some servers do; a prompt beyond the window is 400."""
    with ModelServer(key="right", context_tokens=10) as server:
        async with openai.AsyncOpenAI(api_key="wrong", base_url=server.base_url, max_retries=0) as client:
            with pytest.raises(openai.AuthenticationError, match="wrong"):
                await ask(client)
            right = client.with_options(api_key="right")
            with pytest.raises(openai.BadRequestError) as long:
                await ask(right, text="word " * 50)
            assert long.value.code == "context_length_exceeded"
            assert (await ask(right)).choices


async def test_gate_holds_a_call_in_flight(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A held role's request arrives and stays unanswered until its gate opens; others pass."""
    with server.hold("b") as gate:
        held = asyncio.create_task(ask(client, "b"))
        assert await asyncio.to_thread(gate.arrived.wait, 20)
        await ask(client, "a")
        assert not held.done()
        assert [entry.schema_name for entry in server.billed] == ["a"]
    assert (await held).choices


async def test_stops_with_a_call_in_flight() -> None:
    """Leaving the block ends the server even while a request is held."""
    with ExitStack() as late, ModelServer() as server:
        gate = late.enter_context(server.hold())
        async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client:
            held = asyncio.create_task(ask(client))
            assert await asyncio.to_thread(gate.arrived.wait, 20)
            held.cancel()
            await asyncio.wait([held])
    async with httpx.AsyncClient() as client_after:
        with pytest.raises(httpx.ConnectError):
            await client_after.get(f"{server.base_url}/models")


async def test_script_errors_show(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A mistake in a script becomes a 500 that names it."""
    server.on("a", lambda request: {"title": request["absent"]})
    with pytest.raises(openai.InternalServerError, match="KeyError"):
        await ask(client, "a")


@pytest.mark.parametrize("encoding", ["float", openai.omit], ids=["float", "packed"])
async def test_embeddings(server: ModelServer, client: openai.AsyncOpenAI, encoding: Any) -> None:
    """Texts that share words are closer than texts that do not, in either encoding; tokens are billed."""
    texts = ["the red house", "the red car", "quantum field theory"]
    reply = await client.embeddings.create(model="e", input=texts, encoding_format=encoding)
    first, second, third = (np.array(item.embedding) for item in reply.data)
    assert pytest.approx(1.0, abs=1e-5) == float(first @ first)
    assert float(first @ second) > float(first @ third)
    assert (reply.usage.prompt_tokens, 0) == server.tokens


async def test_embedding_dimensions(client: openai.AsyncOpenAI) -> None:
    """The length of a vector is the request's where it says one."""
    reply = await client.embeddings.create(model="e", input="one", dimensions=16)
    assert len(reply.data[0].embedding) == 16


async def test_models_are_listed(client: openai.AsyncOpenAI) -> None:
    """The Models endpoint lists one model."""
    assert [model.id async for model in client.models.list()] == [MARKER]


async def test_unknown_path_is_404(server: ModelServer) -> None:
    """Other endpoints do not exist."""
    async with httpx.AsyncClient() as client:
        assert (await client.post(f"{server.base_url}/responses", json={})).status_code == 404
        assert (await client.get(f"{server.base_url}/files")).status_code == 404


async def test_serves_other_processes() -> None:
    """A subprocess with the server's environment reaches it by the client's own defaults."""
    program = "import openai; print(openai.OpenAI(max_retries=0).models.list().data[0].id)"
    with ModelServer(key="secret") as server:
        run = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", program],
            env={**os.environ, **server.environment},
            capture_output=True,
            text=True,
            timeout=50,
        )
    assert run.stdout.strip() == MARKER, run.stderr
