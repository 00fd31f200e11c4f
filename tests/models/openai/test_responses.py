"""Tests of the Responses API in background mode, against a real server on loopback."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.contracts.messages import Message
from tenure.models.chat import ChatRequest, Completion, ModelCall
from tenure.models.errors import ContextOverflow, ModelError, RequestRejected, TransportError, UnusableAnswer
from tenure.models.factory import create_chat_model
from tenure.models.openai import responses as openai_responses
from tenure.models.openai.responses import OpenAIResponses, to_chat_reply
from tenure.models.usage import TokenUsage
from tenure.role_executor import execute_role
from tenure.roles.base import Evidence, RoleOutput
from tenure.roles.research.router import ROLE, RouterInput
from tenure.settings import Settings
from tenure.settings.models import RoleSettings
from tests.model_server import Fault, ModelServer
from tests.support.waiting import WAIT_SECONDS, wait_until

PROMPT = (Message(role="system", content="You name things."), Message(role="user", content="Name it."))


class Title(RoleOutput):
    title: str = ""
    """A title."""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def chat(server: ModelServer, tmp_path: Path) -> AsyncIterator[OpenAIResponses]:
    made = backend(server, home=tmp_path)
    yield made
    await made.aclose()


def backend(server: ModelServer, **settings: Any) -> OpenAIResponses:
    chosen = Settings(openai_base_url=server.base_url, model="large", model_api="responses", _env_file=None, **settings)
    made = create_chat_model(chosen)
    assert isinstance(made, OpenAIResponses)
    return made


async def ask(chat: OpenAIResponses, call: ModelCall | None = None, **options: Any) -> Completion:
    question = ChatRequest("outliner", "main", PROMPT, Title.model_json_schema(), **options)
    return await chat.complete(question, call or ModelCall())


async def test_asks_in_the_background_with_a_strict_schema(server: ModelServer, tmp_path: Path) -> None:
    """The whole request: model, messages, schema, limits, background and store."""
    roles = {"outliner": RoleSettings(temperature=0.2, reasoning_effort="low", max_output=900)}
    chat = backend(server, roles=roles, home=tmp_path)
    completion = await ask(chat, max_output=700)
    sent = server.requests[0].json
    assert sent["input"] == [message.model_dump(exclude_defaults=True) for message in PROMPT]
    assert (sent["model"], sent["background"], sent["store"]) == ("large", True, True)
    assert (sent["max_output_tokens"], sent["temperature"], sent["reasoning"]) == (700, 0.2, {"effort": "low"})
    declared = sent["text"]["format"]
    assert (declared["type"], declared["name"], declared["strict"]) == ("json_schema", "outliner", True)
    assert Title.model_validate_json(completion.text).title
    assert completion.usage == TokenUsage(*server.tokens)
    await chat.aclose()


async def test_the_id_is_saved_immediately(server: ModelServer, chat: OpenAIResponses) -> None:
    """While the response is in progress, the call contains its id."""
    begun = asyncio.Event()
    ids: list[str] = []

    async def kept(call: ModelCall) -> None:
        ids.append(call.response_id)
        begun.set()

    with server.hold("outliner"):
        asked = asyncio.create_task(ask(chat, ModelCall(on_save=kept)))
        await asyncio.wait_for(begun.wait(), WAIT_SECONDS)
    await asked
    assert ids[0].startswith("resp_")


async def test_a_started_response_is_resumed(server: ModelServer, chat: OpenAIResponses) -> None:
    """A second attempt continues with the first one's response: one request, one bill."""
    first = ModelCall(is_abandoned=lambda: False)
    with server.hold("outliner") as gate:
        asked = asyncio.create_task(ask(chat, first))
        await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
        await wait_until("the id of the response", lambda: first.response_id)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    completion = await ask(chat, ModelCall(response_id=first.response_id))
    assert (len(server.requests), len(server.billed)) == (1, 1)
    assert completion.usage == TokenUsage(*server.tokens)
    assert server.responses.cancelled == []


async def test_an_abandoned_call_cancels_its_response(server: ModelServer, chat: OpenAIResponses) -> None:
    """A call without a later attempt is cancelled at the server, and nothing is billed."""
    call = ModelCall()
    with server.hold("outliner"):
        asked = asyncio.create_task(ask(chat, call))
        await wait_until("the id of the response", lambda: call.response_id)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    assert server.responses.cancelled == [call.response_id]
    assert server.billed == []


async def cancelled_while_it_begins(chat: OpenAIResponses, server: ModelServer, call: ModelCall) -> None:
    """Cancel a call whose response is started before its id has arrived."""
    with server.hold("outliner"), server.hold("outliner", block_start=True) as news:
        asked = asyncio.create_task(ask(chat, call))
        assert await asyncio.to_thread(news.arrived.wait, WAIT_SECONDS)
        asked.cancel()
        news.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await asked


async def test_an_abandoned_call_cancels_a_response_without_id(server: ModelServer, chat: OpenAIResponses) -> None:
    """A cancellation before the id waits for it, so that no response continues unused."""
    await cancelled_while_it_begins(chat, server, ModelCall())
    assert server.responses.cancelled == server.responses.ids != []
    assert server.billed == []


async def test_a_stopping_worker_saves_the_id(server: ModelServer, chat: OpenAIResponses) -> None:
    """A call that is passed on while its response starts is resumed by the next attempt: one bill."""
    call = ModelCall(is_abandoned=lambda: False)
    await cancelled_while_it_begins(chat, server, call)
    assert [call.response_id] == server.responses.ids
    await ask(chat, call)
    assert (len(server.billed), server.responses.cancelled) == (1, [])


async def test_the_wait_for_the_id_is_limited(
    server: ModelServer, chat: OpenAIResponses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled call waits for the id for a limited time and then disconnects."""
    monkeypatch.setattr(openai_responses, "CANCEL_TIMEOUT_SECONDS", 0.01)
    with server.hold("outliner", block_start=True) as news:
        asked = asyncio.create_task(ask(chat))
        assert await asyncio.to_thread(news.arrived.wait, WAIT_SECONDS)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await wait_until("an abandoned request", lambda: server.abandoned)


async def test_a_response_without_saved_id_is_cancelled(server: ModelServer, chat: OpenAIResponses) -> None:
    """A response that no later attempt would find is cancelled at the server, and the call can be retried."""

    async def kept(call: ModelCall) -> None:
        raise TransportError("not kept")

    with server.hold("outliner"), pytest.raises(TransportError, match="not kept"):
        await ask(chat, ModelCall(on_save=kept))
    assert server.responses.cancelled == server.responses.ids != []
    assert server.billed == []


async def test_a_cancelled_response_is_not_resumed(server: ModelServer, chat: OpenAIResponses) -> None:
    """If the response of an earlier attempt is cancelled, a new one is requested."""
    call = ModelCall()
    with server.hold("outliner"):
        asked = asyncio.create_task(ask(chat, call))
        await wait_until("the id of the response", lambda: call.response_id)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    stopped = call.response_id
    await ask(chat, call)
    assert stopped in server.responses.cancelled
    assert server.responses.ids == [stopped, call.response_id]


async def test_a_response_lost_in_progress_is_retryable(server: ModelServer, chat: OpenAIResponses) -> None:
    """If a server loses a response, the attempt fails with the reason, and the next one starts over."""
    call = ModelCall()
    with server.hold("outliner"):
        asked = asyncio.create_task(ask(chat, call))
        await wait_until("the id of the response", lambda: call.response_id)
        server.responses.forget()
        with pytest.raises(TransportError, match="lost a response in progress; it is requested again"):
            await asked
    assert call.response_id == ""
    await ask(chat, call)
    assert len(server.billed) == 1


async def test_a_lost_response_is_requested_again(server: ModelServer, chat: OpenAIResponses) -> None:
    """If the server does not know the id, a new response is requested."""
    call = ModelCall(response_id="resp_of_yesterday")
    await ask(chat, call)
    assert len(server.requests) == 1
    assert call.response_id.startswith("resp_")
    assert call.response_id != "resp_of_yesterday"


async def test_the_time_limit_leaves_the_response_to_the_next_attempt(server: ModelServer, tmp_path: Path) -> None:
    """A response that exceeds the time limit of a call continues, since it is paid for."""
    chat = backend(server, model_timeout=2, home=tmp_path)
    call = ModelCall(is_abandoned=lambda: False)
    with server.hold("outliner"), pytest.raises(TransportError, match="gave no answer within"):
        await ask(chat, call)
    assert call.response_id
    await ask(chat, call)
    assert len(server.requests) == 1
    await chat.aclose()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(429, {"retry-after": "2"}), TransportError),
        (Fault(503), TransportError),
        (Fault(drop=True), TransportError),
        (Fault(body="{}"), RequestRejected),
        (Fault(body='{"id": '), TransportError),
        (Fault(401), RequestRejected),
        (Fault(404), RequestRejected),
        (Fault(400, body={"error": {"message": "maximum context length is 9 tokens"}}), ContextOverflow),
        (Fault.refusal(), UnusableAnswer),
        (Fault.finish("length"), UnusableAnswer),
        (Fault.finish("content_filter"), UnusableAnswer),
        (Fault.no_choices(), UnusableAnswer),
    ],
)
async def test_errors_are_classified_like_chat_errors(
    server: ModelServer, chat: OpenAIResponses, fault: Fault, kind: type[ModelError]
) -> None:
    """Statuses and finish reasons are classified as with Chat Completions."""
    server.fail(fault)
    with pytest.raises(kind):
        await ask(chat)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "server_error", "message": "sorry"}, TransportError),
        ({"code": "rate_limit_exceeded", "message": "slow down"}, TransportError),
        ({"code": "invalid_prompt", "message": "no"}, RequestRejected),
        (None, TransportError),
    ],
)
async def test_a_failed_response_is_forgotten(
    server: ModelServer, chat: OpenAIResponses, error: dict[str, str] | None, kind: type[ModelError]
) -> None:
    """The next attempt does not retrieve a failed response."""
    failed: dict[str, Any] = {"id": "resp_1", "status": "failed", "error": error, "output": []}
    server.fail(Fault(body=failed))
    call = ModelCall()
    with pytest.raises(kind):
        await ask(chat, call)
    assert call.response_id == ""


async def test_a_rejected_schema_is_moved_to_the_prompt(tmp_path: Path) -> None:
    """A server that rejects schemas gets the schema in the prompt, and that is cached."""
    with ModelServer(json_schema=False) as server:
        chat = backend(server, home=tmp_path)
        completion = await ask(chat)
        await chat.aclose()
    assert Title.model_validate_json(completion.text).title
    assert [request.json["text"]["format"]["type"] for request in server.requests] == ["json_schema", "json_object"]


def response(*items: dict[str, Any]) -> dict[str, Any]:
    """Return a finished response with these items."""
    usage = {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 5}}
    return {"id": "resp_1", "model": "m", "status": "completed", "output": list(items), "usage": usage}


def test_reasoning_is_separate_from_the_answer() -> None:
    """Full or summarised reasoning is not part of the message; cached tokens are counted."""
    thought = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "content": [{"type": "reasoning_text", "text": 'Perhaps {"title": "draft"}?'}],
    }
    message = {"type": "message", "content": [{"type": "output_text", "text": '{"title": "t"}'}]}
    completion = to_chat_reply(response(thought, message)).to_completion("m", 9)
    assert (completion.text, completion.usage) == ('{"title": "t"}', TokenUsage(9, 4, 5))


@pytest.mark.parametrize("field", ["summary", "content"])
def test_reasoning_alone_is_marked(field: str) -> None:
    """A response without a message is searched for an object, but does not count as an answer."""
    thought = {"type": "reasoning", field: [{"text": "It might be one or the other."}]}
    completion = to_chat_reply(response(thought)).to_completion("m", 9)
    assert completion.text == "<think>It might be one or the other.</think>"


async def test_reasoning_alone_has_its_own_reason(server: ModelServer, chat: OpenAIResponses) -> None:
    """The fallback answers after two corrections, and the reason is reported; all tokens are counted."""
    server.fail(*[Fault.reasoning_only()] * 3)
    decided = await execute_role(ROLE, RouterInput(question="Why?"), Evidence(), chat)
    assert (decided.model, decided.fallback_reason) == ("offline", "the model reasoned and did not answer")
    assert (decided.model_calls, decided.usage) == (3, TokenUsage(*server.tokens))


def error(message: str, **fields: str) -> dict[str, Any]:
    """Return the body of an error."""
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    "refused",
    [
        Fault(400, body=error("Unknown parameter: 'background'.", code="unknown_parameter", param="background")),
        Fault(400, body=error("Background mode is not supported for this organization.")),
        Fault(422, body={"detail": [{"type": "extra_forbidden", "loc": ["body", "background"], "input": True}]}),
        Fault(404, body={"detail": "Not Found"}),
        Fault(405, body={"detail": "Method Not Allowed"}),
        Fault(404, body="404 page not found"),
        Fault(body={"status": "ok"}),
    ],
)
async def test_a_server_without_background_names_the_setting(
    server: ModelServer, chat: OpenAIResponses, refused: Fault
) -> None:
    """A server without the API or without background mode is reported with the setting."""
    server.fail(refused)
    with pytest.raises(RequestRejected, match="set TENURE_MODEL_API=chat") as caught:
        await ask(chat)
    assert "\n" not in caught.value.advice


@pytest.mark.parametrize("able", [{"background": False}, {"responses_api": False}])
async def test_the_setting_is_named_for_a_whole_server(able: dict[str, bool], tmp_path: Path) -> None:
    """A server of Chat Completions only, or without background mode, gives the same message."""
    with ModelServer(**able) as server:  # type: ignore[arg-type]
        chat = backend(server, home=tmp_path)
        with pytest.raises(RequestRejected, match="set TENURE_MODEL_API=chat"):
            await ask(chat)
        await chat.aclose()


@pytest.mark.parametrize(
    "refused",
    [
        Fault(404, body=error("The model `large` does not exist or you do not have access.", code="model_not_found")),
        Fault(404, body=error("The API deployment for this resource does not exist.", code="DeploymentNotFound")),
    ],
)
async def test_an_unknown_model_is_still_named(server: ModelServer, chat: OpenAIResponses, refused: Fault) -> None:
    """A 404 about the model names the model's setting."""
    server.fail(refused)
    with pytest.raises(RequestRejected, match="model large not found; check TENURE_MODEL and"):
        await ask(chat)


async def test_a_repeated_request_is_not_searched(server: ModelServer, chat: OpenAIResponses) -> None:
    """An error about something else is not attributed to the request that the server repeats."""
    server.fail(Fault(400, body=error('Bad temperature in {"background": true}')))
    with pytest.raises(RequestRejected, match="refused the request to large with 400"):
        await ask(chat)


async def test_an_unrequested_tool_call_is_parsed(server: ModelServer, chat: OpenAIResponses) -> None:
    """Arguments of a call that was not offered are the answer, as with Chat Completions."""
    server.fail(Fault.as_tool_call())
    completion = await ask(chat)
    assert Title.model_validate_json(completion.text).title
    assert completion.usage == TokenUsage(*server.tokens)


async def test_a_redirect_is_refused(server: ModelServer, chat: OpenAIResponses) -> None:
    """Neither the prompt nor a later question about the response reaches another server."""
    with ModelServer() as other:
        for method in ("POST", "GET"):
            server.fail(Fault(status=307, headers={"Location": f"{other.base_url}/responses"}), method=method)
            with pytest.raises(RequestRejected, match=f"it redirects to {other.base_url}/responses"):
                await ask(chat)
        assert other.requests == []
