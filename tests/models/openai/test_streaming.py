"""Answers that come in as they are made, over real HTTP and byte by byte."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.control.budget import estimated_tokens
from tenure.models.chat import (
    Ask,
    Completion,
    ContextOverflow,
    InFlight,
    ModelError,
    Spent,
    TransportError,
    UnusableAnswer,
)
from tenure.models.openai.chat import OpenAIChat
from tenure.models.openai.reply import Reply
from tenure.models.openai.streaming import BrokenStream, Events, Stream
from tenure.roles.base import Message
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes

SAID = {"text": "A loaf needs flour, water, salt and time. " * 5}
SSE = {"content-type": "text/event-stream"}


def question(**fields: Any) -> Ask:
    """Return a question whose answer is wanted as it is made."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return Ask("section_writer", "main", (Message(role="user", content="Write."),), schema, streamed=True, **fields)


def stream(*events: Any, done: bool = True) -> Fault:
    """Make the server send these events; a text is sent as it is."""
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return Fault(headers=SSE, body="".join(f"data: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])]))


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return an event that adds to the message."""
    return {"model": "m-1", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


BILL = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 22}}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        running.on("section_writer", SAID)
        yield running


@pytest.fixture
async def chat(server: ModelServer) -> AsyncIterator[OpenAIChat]:
    made = OpenAIChat(routes("m"), base_url=server.base_url)
    yield made
    await made.aclose()


async def ask(chat: OpenAIChat, call: InFlight | None = None) -> Completion:
    return await chat.complete(question(), call or InFlight())


async def failure(chat: OpenAIChat) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(chat)
    return caught.value


async def test_a_long_answer_is_streamed(server: ModelServer, chat: OpenAIChat) -> None:
    """Text, model and bill are those of an answer in one piece, with the time to the first token."""
    given = await ask(chat)

    assert json.loads(given.text) == SAID
    assert (given.model, given.finish) == ("m", "stop")
    assert given.spent == Spent(*server.tokens)
    assert given.first_token_seconds is not None
    assert server.requests[0].json["stream"] is True
    assert server.requests[0].json["stream_options"] == {"include_usage": True}


async def test_tokens_are_told_while_they_come(server: ModelServer, chat: OpenAIChat) -> None:
    """The first tokens are told while the server still holds the others back."""
    told: asyncio.Queue[int] = asyncio.Queue()
    with server.hold("section_writer", after_events=3) as gate:
        call = asyncio.create_task(ask(chat, InFlight(changed=lambda call: told.put_nowait(call.tokens))))
        first = await told.get()
        gate.opened.set()
        given = await call

    assert 0 < first < estimated_tokens(given.text)


async def test_more_tokens_are_told_as_time_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told again a while later counts all that has arrived by then."""
    monkeypatch.setattr("tenure.models.openai.streaming.TOLD_SECONDS", 0.0)
    told: list[int] = []
    events = (delta(content="some words "), delta(content="and more of them"), delta("stop"))
    await Stream(told.append, 1.0).read(pieces(*(f"data: {json.dumps(event)}\n\n".encode() for event in events)))

    assert told[0] < told[1]
    assert told[-1] == estimated_tokens("some words and more of them")


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
async def test_the_answer_is_found_wherever_it_comes(server: ModelServer, chat: OpenAIChat, fault: Fault) -> None:
    """Pieces of calls, parts and thoughts are put together; so is what a server sends whole after all."""
    server.fail(fault)

    assert json.loads((await ask(chat)).text) == SAID


async def test_reasoning_alone_comes_marked(server: ModelServer, chat: OpenAIChat) -> None:
    """Streamed thoughts are put together, and do not pass for an answer."""
    server.fail(Fault.message(content=None, reasoning_content=json.dumps(SAID)))
    given = await ask(chat)

    assert given.text == f"<think>{json.dumps(SAID)}</think>"
    assert given.spent == Spent(*server.tokens)


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
    """What holds nothing to read is told with its reason and the bill."""
    server.fail(fault)
    error = await failure(chat)

    assert isinstance(error, UnusableAnswer)
    assert error.reason == reason
    assert error.spent == (Spent(*server.tokens) if server.billed else Spent(11, 22))


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
async def test_streams_that_break_may_be_whole_next_time(server: ModelServer, chat: OpenAIChat, fault: Fault) -> None:
    """A reset, an early end, garbage and an error in the middle are retryable, and the next call is answered."""
    server.fail(fault)

    assert isinstance(await failure(chat), TransportError)
    assert json.loads((await ask(chat)).text) == SAID


async def test_an_error_in_a_stream_counts_as_what_it_is(server: ModelServer, chat: OpenAIChat) -> None:
    """A refusal that comes as an event is read like one that comes with a status."""
    message = "This model's maximum context length is 10 tokens."
    server.fail(stream({"error": {"message": message, "type": "invalid_request_error"}}))

    assert isinstance(await failure(chat), ContextOverflow)


async def test_a_stream_that_falls_silent_is_given_up(server: ModelServer) -> None:
    """After the first token a silence ends the call, long before its time is over."""
    chat = OpenAIChat(routes("m"), base_url=server.base_url, idle=0.2)
    with server.hold("section_writer", after_events=3):
        error = await failure(chat)
    await chat.aclose()

    assert isinstance(error, TransportError)
    assert "fell silent" in str(error)


async def test_the_call_as_a_whole_has_its_time(server: ModelServer) -> None:
    """A stream that goes on for too long is a call without an answer."""
    chat = OpenAIChat(routes("m"), base_url=server.base_url, timeout=0.3)
    with server.hold("section_writer", after_events=3):
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
async def test_a_server_without_streaming_is_asked_without(
    streaming: bool, stream_options: bool, sent: list[tuple[bool, bool]]
) -> None:
    """What it refuses is left out at once, and from the next call on without asking."""
    with ModelServer(streaming=streaming, stream_options=stream_options) as server:
        chat = OpenAIChat(routes("m"), base_url=server.base_url)
        await ask(chat)
        await ask(chat)
        await chat.aclose()

        assert [("stream" in request.json, "stream_options" in request.json) for request in server.requests] == sent


async def test_without_a_bill_tokens_are_estimated(server: ModelServer, chat: OpenAIChat) -> None:
    """A budget holds on servers that report no usage, too."""
    server.fail(stream(delta(content=json.dumps(SAID)), delta("stop")))
    given = await ask(chat)

    assert given.spent == Spent(question().prompt_tokens, estimated_tokens(given.text))


async def test_cancelling_hangs_up(server: ModelServer, chat: OpenAIChat) -> None:
    """A call that is cancelled in the middle of its stream closes the connection."""
    told: asyncio.Queue[int] = asyncio.Queue()
    with server.hold("section_writer", after_events=3):
        call = asyncio.create_task(ask(chat, InFlight(changed=lambda call: told.put_nowait(call.tokens))))
        await told.get()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1), max_size=6), st.data())
def test_events_survive_any_cut(texts: list[str], data: st.DataObject) -> None:
    """Wherever the network cuts the bytes, the events are the same; comments and other fields do not disturb."""
    wire = "".join(f": ping\r\nevent: message\ndata: {text}\r\n\r\n" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    events = Events()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        found += events.feed(wire[start:end])

    assert found + events.end() == texts


def test_an_event_may_have_several_lines_and_no_end() -> None:
    """Lines of data are joined, and the last event needs no empty line behind it."""
    events = Events()

    assert events.feed(b"data: {\ndata:}\n\n\n\ndata: [DONE]") == ["{\n}"]
    assert events.end() == ["[DONE]"]


async def pieces(*said: bytes) -> AsyncIterator[bytes]:
    for piece in said:
        yield piece


async def test_nothing_at_all_is_a_broken_stream() -> None:
    """A body without an event is not an answer."""
    with pytest.raises(BrokenStream, match="in the middle"):
        await Stream(lambda tokens: None, 1.0).read(pieces(b": ping\n\n"))


async def test_an_event_of_another_kind_is_passed_over() -> None:
    """Values of wrong types in single events do not spoil the answer."""
    odd = {"choices": [None, {"delta": 7}, {"delta": {"content": 7, "tool_calls": "x"}}], "usage": "free", "model": 1}
    wire = [f"data: {json.dumps(event)}\n\n".encode() for event in (odd, delta("stop", content="{}"), BILL)]
    reply: Reply = await Stream(lambda tokens: None, 1.0).read(pieces(*wire))

    assert reply.completion("m", 1) == Completion("{}", "m-1", Spent(11, 22))
