"""Tests of the Chat Completions back-end against a real server on loopback."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest

from tenure.contracts.messages import Message, Tier
from tenure.models.chat import ChatRequest, Completion, ModelCall
from tenure.models.errors import ContextOverflow, ModelError, RequestRejected, TransportError, UnusableAnswer
from tenure.models.openai.chat import OpenAIChat
from tenure.models.usage import TokenUsage
from tenure.roles.base import RoleOutput
from tenure.settings import Settings
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes
from tests.support.waiting import WAIT_SECONDS

KEY = "sk-verysecret123"
PROMPT = (Message(role="system", content="You name things."), Message(role="user", content="Name it."))


class Title(RoleOutput):
    title: str = ""
    """A title."""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(key=KEY) as running:
        yield running


@pytest.fixture
async def chat(server: ModelServer) -> AsyncIterator[OpenAIChat]:
    made = OpenAIChat(routes("large", "small"), api_key=KEY, base_url=server.base_url)
    yield made
    await made.aclose()


async def ask(chat: OpenAIChat, tier: Tier = "main", name: str = "outliner") -> Completion:
    return await chat.complete(ChatRequest(name, tier, PROMPT, Title.model_json_schema()), ModelCall())


async def failure(chat: OpenAIChat) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(chat)
    return caught.value


async def test_asks_once_with_a_strict_schema(server: ModelServer, chat: OpenAIChat) -> None:
    """The whole request: model, messages and a strict schema, under the role's name."""
    completion = await ask(chat)
    (request,) = server.requests
    assert request.json == {
        "model": "large",
        "messages": [message.model_dump(exclude_defaults=True) for message in PROMPT],
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "outliner",
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": {"title": {"type": "string", "description": "A title."}},
                    "required": ["title"],
                    "additionalProperties": False,
                },
            },
        },
    }
    assert Title.model_validate_json(completion.text).title
    assert completion.usage == TokenUsage(*server.tokens)


async def test_tiers_choose_the_model(server: ModelServer, chat: OpenAIChat) -> None:
    """The fast tier asks the fast model."""
    assert [(await ask(chat, "main")).model, (await ask(chat, "fast")).model] == ["large", "small"]


async def test_schema_names_are_sanitised(server: ModelServer, chat: OpenAIChat) -> None:
    """A schema's name is converted to the alphabet and length that servers accept."""
    await ask(chat, name="out liner/" + "x" * 80)
    sent = server.requests[0].json["response_format"]["json_schema"]["name"]
    assert sent.startswith("out_liner_x")
    assert len(sent) == 64


@pytest.mark.parametrize(
    ("json_schema", "json_object", "rungs"),
    [
        (True, True, ["json_schema"]),
        (False, True, ["json_schema", "json_object"]),
        (False, False, ["json_schema", "json_object", "text"]),
    ],
)
async def test_output_modes_are_tried_once(json_schema: bool, json_object: bool, rungs: list[str]) -> None:
    """Each rejected output mode is tried once per model; later calls start with the accepted one."""
    with ModelServer(json_schema=json_schema, json_object=json_object) as server:
        chat = OpenAIChat(routes("large", "small"), base_url=server.base_url)
        first, second, other = await ask(chat), await ask(chat), await ask(chat, "fast")
        tried = [(request.json.get("response_format") or {"type": "text"})["type"] for request in server.requests]
        assert tried == [*rungs, rungs[-1], *rungs]
        assert all(Title.model_validate_json(answer.text).title for answer in (first, second, other))
        assert chat.get_capabilities("outliner", "main").output_mode == rungs[-1]
        await chat.aclose()


async def test_weaker_output_modes_have_the_schema_in_the_prompt() -> None:
    """If the server does not enforce the schema, the end of the prompt contains it."""
    with ModelServer(json_schema=False) as server:
        chat = OpenAIChat(routes("m"), base_url=server.base_url)
        await ask(chat)
        declared, written = (request.json["messages"][-1]["content"] for request in server.requests)
        assert declared == PROMPT[-1].content
        assert json.dumps(Title.model_json_schema(), separators=(",", ":")) in written
        await chat.aclose()


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "This model does not support response format `json_schema`."}},
        {"detail": [{"loc": ["body", "response_format", "type"], "msg": "unexpected value"}]},
        {"object": "error", "message": "guided decoding is not available"},
    ],
)
@pytest.mark.parametrize("status", [400, 422])
async def test_error_messages_of_other_servers(
    server: ModelServer, chat: OpenAIChat, status: int, body: dict[str, Any]
) -> None:
    """Every wording of an error about the format selects the next output mode."""
    server.fail(Fault(status, body=body))
    await ask(chat)
    assert chat.get_capabilities("outliner", "main").output_mode == "json_object"


async def test_a_rejected_schema_affects_one_role(server: ModelServer, chat: OpenAIChat) -> None:
    """A schema that the server rejects changes the output mode of its own role only."""
    said = "Invalid schema for response_format 'outliner': In context=(), 'pattern' is not permitted."
    server.fail(Fault(400, body={"error": {"message": said}}))
    await ask(chat)
    assert [chat.get_capabilities(role, "main").output_mode for role in ("outliner", "planner")] == [
        "json_object",
        "json_schema",
    ]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_retryable_statuses_are_transport_errors(server: ModelServer, chat: OpenAIChat, status: int) -> None:
    """A status after which the same call may succeed is retryable, and the client itself does not retry."""
    server.fail(Fault(status, {"retry-after-ms": "1500"}))
    error = await failure(chat)
    assert isinstance(error, TransportError)
    assert (error.status, error.retry_after) == (status, 1.5)
    assert len(server.requests) == 1


async def test_limits_reset_counts_after_429_only(server: ModelServer, chat: OpenAIChat) -> None:
    """The reset of a rate limit determines the wait after a 429, and not after a server error."""
    headers = {"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0"}
    server.fail(Fault(429, headers), Fault(500, headers))
    waits = [getattr(await failure(chat), "retry_after", "absent") for _ in range(2)]
    assert waits == [360.0, None]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_refused(server: ModelServer, chat: OpenAIChat, status: int) -> None:
    """The prompt and the key stay with the server of the settings; the error names the setting and the target."""
    with ModelServer() as other:
        server.fail(Fault(status=status, headers={"Location": f"{other.base_url}/chat/completions"}))
        error = await failure(chat)

        assert isinstance(error, RequestRejected)
        assert f"it redirects to {other.base_url}/chat/completions" in str(error)
        assert "OPENAI_BASE_URL" in str(error)
        assert other.requests == []


async def test_dropped_connection_is_a_transport_error(server: ModelServer, chat: OpenAIChat) -> None:
    """A connection that ends without a response is retryable and has no status."""
    server.fail(Fault(drop=True))
    error = await failure(chat)
    assert isinstance(error, TransportError)
    assert error.status is None


async def test_unreachable_server_is_a_transport_error() -> None:
    """A closed port is retryable, and the message contains the address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        chat = OpenAIChat(routes("m"), base_url=f"http://user:word@{where}/v1")
        error = await failure(chat)
        await chat.aclose()
    assert isinstance(error, TransportError)
    assert str(error).startswith(f"{where} cannot be reached")
    assert "word@" not in str(error)


async def test_slow_server_is_a_transport_error(server: ModelServer) -> None:
    """A call that exceeds the timeout fails with a retryable error."""
    chat = OpenAIChat(routes("m"), api_key=KEY, base_url=server.base_url, timeout=0.2)
    with server.hold():
        error = await failure(chat)
    await chat.aclose()
    assert isinstance(error, TransportError)
    assert "within 0.2 s" in str(error)


async def test_cancellation_is_propagated(server: ModelServer, chat: OpenAIChat) -> None:
    """Cancelling a call in flight cancels it, and is not reported as a timeout."""
    with server.hold() as gate:
        call = asyncio.create_task(ask(chat))
        assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


@pytest.mark.parametrize("body", ['{"choices": [{"mess', " \n"])
async def test_broken_bodies_are_transport_errors(server: ModelServer, chat: OpenAIChat, body: str) -> None:
    """A truncated or empty response is retryable."""
    server.fail(Fault(body=body))
    assert isinstance(await failure(chat), TransportError)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(headers={"content-type": "text/html"}, body="<html>Welcome</html>"),
        Fault(body={"status": "ok"}),
        Fault(body="[]"),
        Fault(body={"choices": "none"}),
    ],
)
async def test_other_services_are_rejected(server: ModelServer, chat: OpenAIChat, fault: Fault) -> None:
    """HTML or the JSON of another service means a wrong URL, and the advice says so."""
    server.fail(fault)
    error = await failure(chat)
    assert isinstance(error, RequestRejected)
    assert "OPENAI_BASE_URL" in error.advice


async def test_errors_with_status_200(server: ModelServer, chat: OpenAIChat) -> None:
    """An error that a gateway sends with status 200 is classified by its code."""
    server.fail(Fault(body={"error": {"code": 429, "message": "upstream busy"}}))
    error = await failure(chat)
    assert isinstance(error, TransportError)
    assert error.status == 429


@pytest.mark.parametrize(
    ("status", "named"),
    [(400, "scripted 400"), (401, "OPENAI_API_KEY"), (403, "permissions"), (404, "TENURE_MODEL"), (451, "scripted")],
)
async def test_rejections_name_the_setting(server: ModelServer, chat: OpenAIChat, status: int, named: str) -> None:
    """Other client errors are final, and the message names the setting to change."""
    server.fail(Fault(status))
    error = await failure(chat)
    assert isinstance(error, RequestRejected)
    assert error.status == status
    assert named in error.advice
    assert "\n" not in error.advice


async def test_missing_key_is_named(server: ModelServer) -> None:
    """Without a key the advice is to set one, not to correct it; a fast model's setting is named for it."""
    chat = OpenAIChat(routes("m"), base_url=server.base_url)
    assert "set OPENAI_API_KEY" in str(await failure(chat))
    server.fail(Fault(404))
    with pytest.raises(RequestRejected, match="TENURE_FAST_MODEL"):
        await ask(chat, "fast")
    await chat.aclose()


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
async def test_no_error_contains_the_key(server: ModelServer, chat: OpenAIChat, status: int) -> None:
    """If a server echoes the key, no message and no chained error contains it."""
    server.fail(Fault(status, body={"error": {"message": f"bad key {KEY} and sk-other***9876\nsee docs"}}))
    error = await failure(chat)
    assert "secret" not in str(error)
    assert "9876" not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 10 tokens."),
        (400, "the request exceeds the available context size, try increasing it"),
        (400, "prompt is too long: 210000 tokens"),
        (422, "Please reduce the length of the messages."),
        (413, "Request too large"),
    ],
)
async def test_long_prompts_raise_context_overflow(
    server: ModelServer, chat: OpenAIChat, status: int, message: str
) -> None:
    """A prompt beyond the window raises its own error, for the wordings of several servers."""
    server.fail(Fault(status, body={"error": {"message": message}}))
    assert isinstance(await failure(chat), ContextOverflow)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.refusal(), "the model refused"),
        (Fault.no_choices(), "answer without content"),
        (Fault.finish("length"), "answer cut off at the length limit"),
        (Fault.finish("content_filter"), "answer stopped by the content filter"),
        (Fault(400, body={"error": {"message": "x", "code": "json_validate_failed"}}), "answer did not fit the schema"),
    ],
)
async def test_unusable_answers(server: ModelServer, chat: OpenAIChat, fault: Fault, reason: str) -> None:
    """An answer without content is reported with its reason and its billed tokens."""
    server.fail(fault)
    error = await failure(chat)
    assert isinstance(error, UnusableAnswer)
    assert error.reason == reason
    assert (error.usage or TokenUsage()) == TokenUsage(*server.tokens)


async def test_concurrent_calls_share_the_output_mode() -> None:
    """Concurrent first calls all succeed and agree on the output mode."""
    with ModelServer(json_schema=False) as server:
        chat = OpenAIChat(routes("m"), base_url=server.base_url)
        answers = await asyncio.gather(*(ask(chat) for _ in range(5)))
        assert len(answers) == 5
        assert chat.get_capabilities("outliner", "main").output_mode == "json_object"
        await chat.aclose()


async def test_injected_client_carries_the_calls(server: ModelServer) -> None:
    """An httpx client given from outside, with its own hooks, is the one that is used."""
    seen: list[str] = []

    async def note(request: httpx.Request) -> None:
        seen.append(request.url.path)

    async with httpx.AsyncClient(event_hooks={"request": [note]}) as client:
        chat = OpenAIChat(routes("m"), api_key=KEY, base_url=server.base_url, http_client=client)
        await ask(chat)
    assert seen == ["/v1/chat/completions"]


async def test_settings_make_the_back_end(server: ModelServer) -> None:
    """Key, address, models and timeout come from the settings; no fast model means the same for both."""
    settings = Settings.model_validate({"openai_api_key": KEY, "openai_base_url": server.base_url, "model": "only"})
    chat = OpenAIChat.from_settings(settings)
    assert [(await ask(chat, "main")).model, (await ask(chat, "fast")).model] == ["only", "only"]
    assert chat.name == "openai"
    await chat.aclose()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: OpenAIChat(routes("m"), base_url="localhost:8000"), "OPENAI_BASE_URL"),
        (lambda: OpenAIChat(routes("m"), api_key="sk-…"), "OPENAI_API_KEY"),
        (lambda: OpenAIChat(routes("m"), api_key="sk-a\nb"), "OPENAI_API_KEY"),
    ],
)
def test_invalid_settings_are_rejected(make: Callable[[], OpenAIChat], named: str) -> None:
    """A URL without a scheme or a key that no header can carry is an error before any call."""
    with pytest.raises(ValueError, match=named):
        make()


async def test_a_reset_is_reported_by_type(server: ModelServer, chat: OpenAIChat) -> None:
    """A connection error without a message is reported by its type."""
    server.fail(Fault(reset=True))
    assert str(await failure(chat)).endswith("cannot be reached (ReadError): start it, or check OPENAI_BASE_URL")
