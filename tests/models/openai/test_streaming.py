"""Tests of streamed answers, over real HTTP and byte by byte."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.control.budget import estimate_tokens
from tenure.contracts.messages import Message
from tenure.models.chat import ChatRequest, Completion, ModelCall, PartialAnswer
from tenure.models.errors import ContextOverflow, ModelError, TransportError, UnusableAnswer
from tenure.models.openai.chat import OpenAIChat
from tenure.models.openai.reply import ChatReply
from tenure.models.openai.streaming import BrokenStream, EventParser, StreamedReply
from tenure.models.usage import TokenUsage
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes
from tests.support.waiting import wait_until

SAID = {"text": "A loaf needs flour, water, salt and time. " * 5}
SSE = {"content-type": "text/event-stream"}


def question(**fields: Any) -> ChatRequest:
    """Return a request with a streamed answer."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return ChatRequest("reasoner", "main", (Message(role="user", content="Write."),), schema, streamed=True, **fields)


def stream(*events: Any, done: bool = True) -> Fault:
    """Make the server send these events; a string is sent unchanged."""
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return Fault(headers=SSE, body="".join(f"data: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])]))


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return an event that extends the message."""
    return {"model": "m-1", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


BILL = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 22}}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        running.on("reasoner", SAID)
        yield running


@pytest.fixture
async def chat(server: ModelServer) -> AsyncIterator[OpenAIChat]:
    made = OpenAIChat(routes("m"), base_url=server.base_url)
    yield made
    await made.aclose()


async def ask(chat: OpenAIChat, call: ModelCall | None = None) -> Completion:
    return await chat.complete(question(), call or ModelCall())


async def failure(chat: OpenAIChat) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(chat)
    return caught.value


async def test_a_long_answer_is_streamed(server: ModelServer, chat: OpenAIChat) -> None:
    """Text, model and usage equal those of a whole answer, with the time to the first token."""
    given = await ask(chat)

    assert json.loads(given.text) == SAID
    assert given.model == "m"
    assert given.usage == TokenUsage(*server.tokens)
    assert given.first_token_seconds is not None
    assert server.requests[0].json["stream"] is True
    assert server.requests[0].json["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(("first", "connections"), [(SAID, 1), ({"text": "again and again, " * 400}, 2)])
async def test_a_complete_answer_keeps_its_connection(
    server: ModelServer, first: dict[str, str], connections: int
) -> None:
    """The next call uses the same connection, unless the stream was closed because its text repeated itself."""
    ports: list[int] = []

    async def note(response: httpx.Response) -> None:
        ports.append(response.extensions["network_stream"].get_extra_info("client_addr")[1])

    async with httpx.AsyncClient(event_hooks={"response": [note]}) as client:
        chat = OpenAIChat(routes("m"), base_url=server.base_url, http_client=client)
        server.on("reasoner", first)
        with suppress(UnusableAnswer):
            await ask(chat)
        server.on("reasoner", SAID)
        await ask(chat)

    assert len(ports) == 2 and len(set(ports)) == connections


async def test_an_answer_is_returned_although_its_body_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the body is awaited only for a moment."""
    monkeypatch.setattr("tenure.models.openai.chat._CLOSING_SECONDS", 0.01)
    events = stream(delta(content="A loaf."), delta("stop"), BILL).body

    async def write() -> AsyncIterator[bytes]:
        yield str(events).encode()
        await asyncio.Event().wait()

    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=SSE, content=write()))
    async with httpx.AsyncClient(transport=transport) as client:
        chat = OpenAIChat(routes("m"), base_url="http://model.test/v1", http_client=client)

        assert (await ask(chat)).text == "A loaf."


async def receive(call: ModelCall) -> PartialAnswer:
    """Wait until a part of an answer has been received."""

    def read() -> PartialAnswer:
        return call.read_partial()  # each attempt has its own function

    return await wait_until("a part of an answer", read, lambda partial: partial.tokens)


async def test_an_answer_is_read_while_it_arrives(server: ModelServer, chat: OpenAIChat) -> None:
    """Its first part is known while the server delays the others."""
    with server.hold("reasoner", after_events=3) as gate:
        call = ModelCall()
        asked = asyncio.create_task(ask(chat, call))
        first = await receive(call)
        gate.opened.set()
        given = await asked

    assert 0 < first.tokens < estimate_tokens(given.text)
    assert given.text.startswith(first.text)
    assert call.read_partial() == (estimate_tokens(given.text), given.text)


async def test_reasoning_counts_and_is_no_content() -> None:
    """The tokens of a partial answer include those of its reasoning, and its text does not."""
    stream = StreamedReply(1.0)
    events = (delta(reasoning="Hm. "), delta(content="some words "), delta(content="and more of them"), delta("stop"))
    await stream.read(pieces(*(f"data: {json.dumps(event)}\n\n".encode() for event in events)))

    text = "some words and more of them"
    assert stream.read_partial() == (estimate_tokens(f"{text}Hm. "), text)


@pytest.mark.parametrize(
    "fault",
    [
        Fault.as_tool_call(),
        stream(
            delta(tool_calls=[{"function": {"arguments": '{"text": '}}]),
            delta(tool_calls=[{"function": {"arguments": f"{json.dumps(SAID['text'])}}}"}}]),
            delta("tool_calls"),
            BILL,
        ),
        stream(delta(function_call={"arguments": json.dumps(SAID)}), delta("stop"), BILL),
        stream(delta(content=[{"type": "text", "text": json.dumps(SAID)}]), delta("stop"), BILL),
        stream(delta(content=json.dumps(SAID)), delta("stop"), BILL, done=False),
        stream(delta(content=json.dumps(SAID)), BILL),
        stream(delta(reasoning="Hm."), delta(content=json.dumps(SAID)), {"choices": [{"index": 1}]}, delta("stop")),
        Fault(body={"choices": [{"message": {"content": json.dumps(SAID)}, "finish_reason": "stop"}]}),
    ],
)
async def test_the_answer_is_found_in_every_field(server: ModelServer, chat: OpenAIChat, fault: Fault) -> None:
    """Deltas of calls, parts and reasoning are joined; a whole reply from the server is accepted."""
    server.fail(fault)

    assert json.loads((await ask(chat)).text) == SAID


async def test_reasoning_alone_is_marked(server: ModelServer, chat: OpenAIChat) -> None:
    """Streamed reasoning is joined, and does not count as an answer."""
    server.fail(Fault.message(content=None, reasoning_content=json.dumps(SAID)))
    given = await ask(chat)

    assert given.text == f"<think>{json.dumps(SAID)}</think>"
    assert given.usage == TokenUsage(*server.tokens)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.refusal(), "the model refused"),
        (Fault.no_choices(), "answer without content"),
        (Fault.finish("length"), "answer cut off at the length limit"),
        (Fault.finish("content_filter"), "answer stopped by the content filter"),
        (stream(delta("stop"), BILL), "answer without content"),
    ],
)
async def test_unusable_answers(server: ModelServer, chat: OpenAIChat, fault: Fault, reason: str) -> None:
    """An answer without content is reported with its reason and usage."""
    server.fail(fault)
    error = await failure(chat)

    assert isinstance(error, UnusableAnswer)
    assert error.reason == reason
    assert error.usage == (TokenUsage(*server.tokens) if server.billed else TokenUsage(11, 22))


@pytest.mark.parametrize(
    "fault",
    [
        Fault(cut=True),
        Fault(drop=True),
        stream(delta(content='{"text"'), done=False),
        stream(delta(content='{"text"')),
        stream(delta(content='{"text"'), '{"choices": [{"del'),
        stream(delta(content='{"text"'), "7"),
        stream({"error": {"message": "overloaded"}}),
        stream(delta(content='{"text"'), {"error": {"message": "slow down", "code": 429}}),
        stream(delta(content='{"text"'), delta("error")),
        stream(delta(content='{"text"'), {"choices": [{"error": {"code": 502, "message": "upstream died"}}]}),
    ],
)
async def test_broken_streams_are_retryable(server: ModelServer, chat: OpenAIChat, fault: Fault) -> None:
    """A reset, an early end, garbage and an error in the middle are retryable, and the next call is answered."""
    server.fail(fault)

    assert isinstance(await failure(chat), TransportError)
    assert json.loads((await ask(chat)).text) == SAID


async def test_an_error_event_is_classified(server: ModelServer, chat: OpenAIChat) -> None:
    """An error event is classified like an error status."""
    message = "This model's maximum context length is 10 tokens."
    server.fail(stream({"error": {"message": message, "type": "invalid_request_error"}}))

    assert isinstance(await failure(chat), ContextOverflow)


async def test_a_silent_stream_fails(server: ModelServer) -> None:
    """A silence after the first token ends the call, long before its time limit."""
    chat = OpenAIChat(routes("m"), base_url=server.base_url, idle_timeout=0.2)
    with server.hold("reasoner", after_events=3):
        error = await failure(chat)
    await chat.aclose()

    assert isinstance(error, TransportError)
    assert "stopped sending" in str(error)


async def test_the_whole_call_has_a_time_limit(server: ModelServer) -> None:
    """A stream that exceeds the time limit is a failed call."""
    chat = OpenAIChat(routes("m"), base_url=server.base_url, timeout=0.3)
    with server.hold("reasoner", after_events=3):
        error = await failure(chat)
    await chat.aclose()

    assert isinstance(error, TransportError)
    assert "within 0.3 s" in str(error)


@pytest.mark.parametrize(
    ("streaming", "stream_options", "sent"),
    [
        (False, True, [(True, True), (False, False), (False, False)]),
        (True, False, [(True, True), (True, False), (True, False)]),
    ],
)
async def test_unsupported_streaming_is_omitted(
    streaming: bool, stream_options: bool, sent: list[tuple[bool, bool]]
) -> None:
    """Rejected streaming is omitted immediately, and in later calls without a rejection."""
    with ModelServer(streaming=streaming, stream_options=stream_options) as server:
        chat = OpenAIChat(routes("m"), base_url=server.base_url)
        await ask(chat)
        await ask(chat)
        await chat.aclose()

        assert [("stream" in request.json, "stream_options" in request.json) for request in server.requests] == sent


async def test_tokens_are_estimated_without_usage(server: ModelServer, chat: OpenAIChat) -> None:
    """Budgets apply to servers that report no usage, too."""
    server.fail(stream(delta(content=json.dumps(SAID)), delta("stop")))
    given = await ask(chat)

    assert given.usage == TokenUsage(question().prompt_tokens, estimate_tokens(given.text))


async def test_cancelling_closes_the_connection(server: ModelServer, chat: OpenAIChat) -> None:
    """A call that is cancelled during its stream closes the connection."""
    with server.hold("reasoner", after_events=3):
        call = ModelCall()
        asked = asyncio.create_task(ask(chat, call))
        await receive(call)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1), max_size=6), st.data())
def test_events_can_be_split_anywhere(texts: list[str], data: st.DataObject) -> None:
    """The events do not depend on the boundaries of the received pieces; comments and other fields are ignored."""
    wire = "".join(f": ping\r\nevent: message\ndata: {text}\r\n\r\n" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    events = EventParser()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        found += events.feed(wire[start:end])

    assert found + events.flush() == texts


def test_an_event_may_have_several_lines_and_no_end() -> None:
    """Lines of data are joined, and the last event needs no empty line after it."""
    events = EventParser()

    assert events.feed(b"data: {\ndata:}\n\n\n\ndata: [DONE]") == ["{\n}"]
    assert events.flush() == ["[DONE]"]


async def pieces(*said: bytes) -> AsyncIterator[bytes]:
    for piece in said:
        yield piece


async def test_an_empty_body_is_a_broken_stream() -> None:
    """A body without an event is not an answer."""
    with pytest.raises(BrokenStream, match="in the middle"):
        await StreamedReply(1.0).read(pieces(b": ping\n\n"))


async def test_malformed_values_are_ignored() -> None:
    """Values of wrong types in single events do not break the answer."""
    odd = {"choices": [None, {"delta": 7}, {"delta": {"content": 7, "tool_calls": "x"}}], "usage": "free", "model": 1}
    wire = [f"data: {json.dumps(event)}\n\n".encode() for event in (odd, delta("stop", content="{}"), BILL)]
    reply: ChatReply = await StreamedReply(1.0).read(pieces(*wire))

    assert reply.to_completion("m", 1) == Completion("{}", "m-1", TokenUsage(11, 22))
