"""Tests of the loopback model server with the real client."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import httpx2
import numpy as np
import openai
import pytest
from openai.types.chat import ChatCompletion

from tests.model_server import UNUSUAL_ANSWERS, Fault, ModelServer, RandomFaults
from tests.support.schema_instance import MARKER
from tests.support.tiers import slow
from tests.support.waiting import WAIT_SECONDS, wait_until

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}
TEXT_FORMAT: Any = {"format": {"type": "json_schema", "name": "title", "schema": SCHEMA, "strict": True}}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def client(server: ModelServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as made:
        yield made


async def ask(client: openai.AsyncOpenAI, name: str = "outliner", text: str = "Name it.") -> ChatCompletion:
    return await client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": text}],
        response_format={"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": SCHEMA}},
    )


async def test_any_schema_is_answered(client: openai.AsyncOpenAI) -> None:
    """Without a script the answer is an instance of the request's schema with the marker."""
    answer = json.loads((await ask(client)).choices[0].message.content or "")
    assert list(answer) == ["title"]
    assert answer["title"].startswith(MARKER)


async def test_the_schema_is_found_in_the_prompt(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A schema in the last message names the role like a declared one."""
    prompt = f"Be brief.\n\nFollow the JSON schema `outliner`:\n{json.dumps(SCHEMA)}\nThank you."
    reply = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    assert "title" in json.loads(reply.choices[0].message.content or "")
    assert len(server.requests_of("outliner")) == 1


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
    assert (request.json["model"], request.schema_name) == ("m", "outliner")


async def test_the_ledger_matches_the_reported_usage(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """The ledger contains the reported tokens per role."""
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
    """A scripted body is sent unchanged."""
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
    """An answer that is refused, empty or truncated is billed."""
    server.fail(fault)
    found: Any = (await ask(client)).model_dump()
    for step in path:
        found = found[step]
    assert value == found
    assert len(server.billed) == 1


async def test_unsupported_formats_are_rejected() -> None:
    """A server without structured output rejects it with status 400."""
    with ModelServer(json_schema=False, json_object=False) as server:
        async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client:
            with pytest.raises(openai.BadRequestError, match="response_format"):
                await ask(client)


async def test_wrong_keys_and_long_prompts_are_rejected() -> None:
    """A wrong key gives 401 with the key in the message, as on some servers; a prompt beyond the window gives 400."""
    with ModelServer(key="right", context_tokens=10) as server:
        async with openai.AsyncOpenAI(api_key="wrong", base_url=server.base_url, max_retries=0) as client:
            with pytest.raises(openai.AuthenticationError, match="wrong"):
                await ask(client)
            right = client.with_options(api_key="right")
            with pytest.raises(openai.BadRequestError) as long:
                await ask(right, text="word " * 50)
            assert long.value.code == "context_length_exceeded"
            assert (await ask(right)).choices


async def test_a_gate_blocks_a_call_in_flight(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A blocked request arrives and stays unanswered until its gate opens; others pass."""
    with server.hold("b") as gate:
        held = asyncio.create_task(ask(client, "b"))
        assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
        await ask(client, "a")
        assert not held.done()
        assert [entry.schema_name for entry in server.billed] == ["a"]
    assert (await held).choices


async def test_the_server_stops_with_a_call_in_flight() -> None:
    """Leaving the block stops the server even while a request is blocked."""
    with ExitStack() as late, ModelServer() as server:
        gate = late.enter_context(server.hold())
        async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client:
            held = asyncio.create_task(ask(client))
            assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
            held.cancel()
            await asyncio.wait([held])
    async with httpx.AsyncClient() as client_after:
        with pytest.raises(httpx.ConnectError):
            await client_after.get(f"{server.base_url}/models")


async def test_script_errors_are_reported(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """An error in a script becomes a 500 that names it."""
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
    """A request can set the length of a vector."""
    reply = await client.embeddings.create(model="e", input="one", dimensions=16)
    assert len(reply.data[0].embedding) == 16


async def test_models_are_listed(client: openai.AsyncOpenAI) -> None:
    """The Models endpoint lists one model."""
    assert [model.id async for model in client.models.list()] == [MARKER]


async def test_unknown_path_is_404(server: ModelServer) -> None:
    """Other endpoints do not exist."""
    async with httpx.AsyncClient() as client:
        assert (await client.post(f"{server.base_url}/images", json={})).status_code == 404
        assert (await client.get(f"{server.base_url}/files")).status_code == 404


@slow
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


async def streamed(client: openai.AsyncOpenAI, **options: Any) -> list[Any]:
    asked = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "Write."}],
        response_format={"type": "json_schema", "json_schema": {"name": "title", "schema": SCHEMA}},
        stream=True,
        **options,
    )
    return [chunk async for chunk in await asked]


async def test_a_stream_has_the_same_content(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A stream's deltas form the answer; the usage comes last, and only on request."""
    server.on("title", {"title": "a title that is longer than one piece"})
    chunks = await streamed(client, stream_options={"include_usage": True})
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert json.loads(said) == {"title": "a title that is longer than one piece"}
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == server.tokens
    assert not any(chunk.usage for chunk in await streamed(client))


async def test_a_stream_stops_at_a_gate(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A streamed answer can be blocked after some events; a client that disconnects then is detected."""
    server.on("title", {"title": "a title that is longer than one piece"})
    with server.hold("title", after_events=2) as gate:
        asked = asyncio.create_task(streamed(client))
        assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await wait_until("an abandoned request", lambda: server.abandoned)
    assert server.tokens == (0, 0)
    assert len(server.billed) == 1


async def test_a_disconnected_client_is_detected(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A request whose client disconnects before the answer is abandoned, and nothing is billed for it."""
    server.fail(Fault(hangs=True))
    asked = asyncio.create_task(streamed(client))
    await wait_until("a request", lambda: server.in_flight)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await wait_until("an abandoned request", lambda: server.abandoned)
    assert (server.abandoned[0].schema_name, server.billed) == ("title", [])


@pytest.mark.parametrize("stream", [True, False])
async def test_resets_in_the_middle(server: ModelServer, client: openai.AsyncOpenAI, stream: bool) -> None:
    """A truncated answer is an error to its client, and billed as not delivered."""
    server.fail(Fault(cut=True))
    with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
        if stream:
            await streamed(client)
        else:
            await ask(client)
    assert [entry.delivered for entry in server.billed] == [False]


@pytest.mark.parametrize("fault", UNUSUAL_ANSWERS)
async def test_unusual_answers_are_billed(server: ModelServer, client: openai.AsyncOpenAI, fault: Fault) -> None:
    """An unusual answer has status 200, streamed or not, and the usual cost."""
    server.fail(fault, fault)
    server.on("title", {"title": "t"})
    await streamed(client)
    await ask(client)
    assert len(server.billed) == 2
    assert server.tokens[0] > 0


async def test_answers_beyond_the_limit_are_truncated(client: openai.AsyncOpenAI) -> None:
    """A limit of the answer's tokens truncates it, with the finish reason."""
    said = await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "Write."}], max_completion_tokens=2
    )
    assert (said.choices[0].finish_reason, said.choices[0].message.content) == ("length", MARKER[:4])


async def test_a_background_response_is_delivered_once_it_is_fetched(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    """A background response is queued, in progress, then finished; its bill counts as delivered when it was fetched."""
    with server.hold("title"):
        made = await client.responses.create(model="m", input="Write.", background=True, text=TEXT_FORMAT)
        states = [made.status, (await client.responses.retrieve(made.id)).status]
    assert states == ["queued", "in_progress"]
    assert server.tokens == (0, 0)
    done = await client.responses.retrieve(made.id)
    assert json.loads(done.output_text)["title"].startswith(MARKER)
    assert done.usage is not None
    assert (done.status, (done.usage.input_tokens, done.usage.output_tokens)) == ("completed", server.tokens)


async def test_a_cancelled_response_costs_nothing(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A response that is cancelled in progress is not billed; an unknown one is not found."""
    with server.hold("title"):
        made = await client.responses.create(model="m", input="Write.", background=True, text=TEXT_FORMAT)
        assert (await client.responses.cancel(made.id)).status == "cancelled"
    assert (server.billed, server.responses.cancelled) == ([], [made.id])
    server.responses.forget()
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(made.id)


async def test_an_unfetched_response_is_billed(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A background response is billed once when it is finished, even if no client fetches it, and not before."""
    with server.hold("title"):
        made = await client.responses.create(model="m", input="Write.", background=True, text=TEXT_FORMAT)
        assert server.billed == []
    assert [entry.delivered for entry in server.billed] == [False]
    for _ in range(3):
        await client.responses.retrieve(made.id)
    assert [entry.delivered for entry in server.billed] == [True]
    assert (await client.responses.cancel(made.id)).status == "completed"
    assert len(server.billed) == 1


async def test_a_background_response_can_be_delayed(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """With a delay a background response stays in progress for a while, and its creation returns immediately."""
    server.fail(Fault(delay=0.1), Fault(delay=3600))
    made, endless = [
        await client.responses.create(model="m", input="Write.", background=True, text=TEXT_FORMAT) for _ in range(2)
    ]
    statuses = [made.status]
    async with asyncio.timeout(20):
        while statuses[-1] != "completed":
            statuses.append((await client.responses.retrieve(made.id)).status)
    assert list(dict.fromkeys(statuses)) == ["queued", "in_progress", "completed"]
    assert [(await client.responses.retrieve(endless.id)).status for _ in range(2)] == ["in_progress"] * 2
    assert len(server.billed) == 1


async def test_a_foreground_response_is_complete(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A foreground response is complete, contains its input, and can be fetched later unless `store` is false."""
    made = await client.responses.create(model="m", input="Write.", text=TEXT_FORMAT, metadata={"call": "7"})
    fleeting = await client.responses.create(model="m", input="Write.", text=TEXT_FORMAT, store=False)
    assert (made.status, made.background, made.metadata) == ("completed", False, {"call": "7"})
    assert json.loads(made.output_text)["title"].startswith(MARKER)
    assert (await client.responses.retrieve(made.id)).output_text == made.output_text
    assert [entry.delivered for entry in server.billed] == [True, True]
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(fleeting.id)
    with pytest.raises(openai.BadRequestError, match="stored"):
        await client.responses.create(model="m", input="Write.", background=True, store=False)


@pytest.mark.parametrize(
    ("fault", "status", "kinds"),
    [
        (Fault.refusal(), "completed", ["message"]),
        (Fault.finish("length"), "incomplete", ["message"]),
        (Fault.finish("content_filter"), "incomplete", ["message"]),
        (Fault.no_choices(), "completed", []),
        (Fault.reasoning_only(), "completed", ["reasoning"]),
        (Fault.as_tool_call(), "completed", ["function_call"]),
    ],
)
async def test_unusual_responses(
    server: ModelServer, client: openai.AsyncOpenAI, fault: Fault, status: str, kinds: list[str]
) -> None:
    """Unusual answers are the same in the Responses API, in its own shape, and billed."""
    server.fail(fault)
    made = await client.responses.create(model="m", input="Write.", text=TEXT_FORMAT)
    assert (made.status, [item.type for item in made.output]) == (status, kinds)
    assert made.usage is not None
    assert (made.usage.input_tokens, made.usage.output_tokens) == server.tokens
    assert (made.usage.output_tokens_details.reasoning_tokens > 0) == (kinds == ["reasoning"])


async def test_a_truncated_response_is_incomplete(client: openai.AsyncOpenAI) -> None:
    """A limit of the output's tokens ends a response early, with the reason."""
    made = await client.responses.create(model="m", input="Write.", max_output_tokens=2)
    assert made.incomplete_details is not None
    assert (made.status, made.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert (made.output_text, made.usage and made.usage.output_tokens) == (MARKER[:4], 2)


async def test_failed_generation_costs_nothing(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A failed response has a reason and no bill; a chat reports the same with status 200 or in its stream."""
    server.fail(*[Fault.failed()] * 3)
    made = await client.responses.create(model="m", input="Write.", background=True, text=TEXT_FORMAT)
    await client.responses.retrieve(made.id)
    failed = await client.responses.retrieve(made.id)
    assert failed.error is not None
    assert (failed.status, failed.error.code, failed.usage) == ("failed", "server_error", None)
    assert (await ask(client)).choices == []
    with pytest.raises(openai.APIError, match="could not finish"):
        await streamed(client)
    assert server.billed == []


async def test_fetches_have_their_own_faults(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """Faults for fetches do not affect posts; a response whose fetch was cut off can be fetched again."""
    server.fail(Fault(503), Fault(cut=True), method="GET")
    made = await client.responses.create(model="m", input="Write.", background=True, text=TEXT_FORMAT)
    with pytest.raises(openai.InternalServerError):
        await client.responses.retrieve(made.id)
    await wait_until("a billed request", lambda: server.billed)
    with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
        await client.responses.retrieve(made.id)
    assert [entry.delivered for entry in server.billed] == [False]
    assert (await client.responses.retrieve(made.id)).status == "completed"
    assert [entry.delivered for entry in server.billed] == [True]
    assert [request.path for request in server.fetches] == [f"/v1/responses/{made.id}"] * 3


async def test_servers_without_responses_return_404() -> None:
    """A server with Chat Completions only returns 404 for a response."""
    with ModelServer(responses_api=False) as server:
        async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client:
            with pytest.raises(openai.NotFoundError):
                await client.responses.create(model="m", input="Write.")


async def test_earlier_prompts_are_reported_as_cached() -> None:
    """Messages of an earlier prompt's prefix are cached tokens for the same model; others are not."""
    begun: Any = [{"role": "system", "content": "Be brief. " * 9}, {"role": "user", "content": "One."}]
    with ModelServer(prompt_cache=True) as server:
        async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client:
            for messages in (begun, [*begun, {"role": "user", "content": "Two."}], begun[1:]):
                said = await client.chat.completions.create(model="m", messages=messages)
            await client.chat.completions.create(model="other", messages=begun)
            response = await client.responses.create(model="m", instructions="Be brief. " * 9, input="Three.")
    assert [entry.tokens_cached for entry in server.billed] == [0, server.billed[0].tokens_in, 0, 0, 23]
    assert said.usage is not None
    assert said.usage.prompt_tokens_details is None
    assert response.usage is not None
    assert response.usage.input_tokens_details.cached_tokens == 23


async def test_a_reset_differs_from_a_drop(server: ModelServer) -> None:
    """A reset breaks the connection, before a byte or in the middle; a drop closes it."""
    async with httpx.AsyncClient() as client:
        for fault in (Fault(reset=True), Fault(cut=True)):
            server.fail(fault)
            with pytest.raises(httpx.ReadError):
                await client.post(f"{server.base_url}/embeddings", json={"model": "e", "input": "x"})
        server.fail(Fault(drop=True))
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(f"{server.base_url}/embeddings", json={"model": "e", "input": "x"})
    assert [entry.delivered for entry in server.billed] == [False]


async def test_a_stream_can_end_early_without_an_error(server: ModelServer) -> None:
    """A broken body of a stream is half of its events, sent as if they were all."""
    server.fail(Fault.broken_body())
    asked = {"model": "m", "messages": [{"role": "user", "content": "Write."}], "stream": True}
    async with httpx.AsyncClient() as client:
        said = await client.post(f"{server.base_url}/chat/completions", json=asked)
    assert said.headers["content-type"] == "text/event-stream"
    assert said.text.startswith("data: ")
    assert "[DONE]" not in said.text
    assert [entry.delivered for entry in server.billed] == [False]


async def test_a_streamed_request_is_in_flight_to_its_end(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    """A partly answered request is in flight; a completely answered one is neither in flight nor abandoned."""
    with server.hold("title", after_events=2) as gate:
        asked = asyncio.create_task(streamed(client))
        assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
        assert [request.schema_name for request in server.in_flight] == ["title"]
    await asked
    await wait_until("the end of the request", lambda: not server.in_flight)
    assert server.abandoned == []
    assert [entry.delivered for entry in server.billed] == [True]


async def test_random_faults_do_not_depend_on_the_order(client: openai.AsyncOpenAI) -> None:
    """Each role has its own faults, in any order of requests."""
    met = []
    for order in ("ab" * 10, "a" * 10 + "b" * 10):
        with ModelServer(random_faults=RandomFaults(5, 0.5, kinds=(Fault(500), Fault(503)))) as server:
            there = client.with_options(base_url=server.base_url)
            found: dict[str, list[int]] = {"a": [], "b": []}
            for role in order:
                found[role].append(await status(there, role))
            met.append(found)
    assert met[0] == met[1]
    assert set(met[0]["a"]) == {200, 500, 503}


async def status(client: openai.AsyncOpenAI, role: str) -> int:
    try:
        await ask(client, role)
    except openai.APIStatusError as error:
        return error.status_code
    return 200


async def test_random_faults_are_reproducible() -> None:
    """The failing requests depend on seed, run, role and number, not on the order of arrival."""
    weather = RandomFaults(7, 0.3)
    drawn = [weather.draw_fault({}, role, number) for role in ("router", "title") for number in range(200)]
    again = [weather.draw_fault({}, role, number) for role in ("router", "title") for number in range(200)]
    assert drawn == again
    assert 0.2 < sum(fault is not None for fault in drawn) / len(drawn) < 0.4
    other = RandomFaults(8, 0.3)
    assert drawn != [other.draw_fault({}, role, number) for role in ("router", "title") for number in range(200)]


async def test_nonsense_fits_its_schema() -> None:
    """An answer of a server with a nonsense seed is valid, another one each time, and the same for a seed."""
    runs = []
    for _ in range(2):
        with ModelServer(nonsense=3) as server:
            async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client:
                runs.append([json.loads((await ask(client)).choices[0].message.content or "") for _ in range(5)])
    said = runs[0]
    assert said == runs[1]
    assert all(set(one) == {"title"} for one in said)
    assert len({one["title"] for one in said}) > 1
