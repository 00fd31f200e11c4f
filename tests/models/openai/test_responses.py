"""The Responses API in the background, against a real server on loopback."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.models.chat import (
    Ask,
    Completion,
    ContextOverflow,
    InFlight,
    ModelError,
    RequestRejected,
    Spent,
    TransportError,
    UnusableAnswer,
)
from tenure.models.factory import chat_model
from tenure.models.openai import responses as openai_responses
from tenure.models.openai.responses import OpenAIResponses, as_reply
from tenure.models.structured import answer
from tenure.roles.base import Evidence, Message, RoleOutput
from tenure.roles.research.router import ROLE, RouterInput
from tenure.settings import RoleSettings, Settings
from tests.model_server import Fault, ModelServer

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
    made = chat_model(chosen)
    assert isinstance(made, OpenAIResponses)
    return made


async def ask(chat: OpenAIResponses, call: InFlight | None = None, **options: Any) -> Completion:
    question = Ask("title_writer", "main", PROMPT, Title.model_json_schema(), **options)
    return await chat.complete(question, call or InFlight())


async def test_asks_in_the_background_with_a_strict_schema(server: ModelServer, tmp_path: Path) -> None:
    """The whole request: model, messages, schema, limits, and the wish to be made in the background and kept."""
    roles = {"title_writer": RoleSettings(temperature=0.2, reasoning_effort="low", max_output=900)}
    chat = backend(server, roles=roles, home=tmp_path)
    completion = await ask(chat, max_output=700)
    sent = server.requests[0].json
    assert sent["input"] == [message.model_dump() for message in PROMPT]
    assert (sent["model"], sent["background"], sent["store"]) == ("large", True, True)
    assert (sent["max_output_tokens"], sent["temperature"], sent["reasoning"]) == (700, 0.2, {"effort": "low"})
    declared = sent["text"]["format"]
    assert (declared["type"], declared["name"], declared["strict"]) == ("json_schema", "title_writer", True)
    assert Title.model_validate_json(completion.text).title
    assert completion.spent == Spent(*server.tokens)
    await chat.aclose()


async def test_the_id_is_kept_as_soon_as_there_is_one(server: ModelServer, chat: OpenAIResponses) -> None:
    """While the response is in the making, whoever follows the call knows its id."""
    begun = asyncio.Event()
    ids: list[str] = []

    async def kept(call: InFlight) -> None:
        ids.append(call.response)
        begun.set()

    with server.hold("title_writer"):
        asked = asyncio.create_task(ask(chat, InFlight(kept=kept)))
        await asyncio.wait_for(begun.wait(), 10)
    await asked
    assert ids[0].startswith("resp_")


async def test_a_response_that_was_begun_is_picked_up(server: ModelServer, chat: OpenAIResponses) -> None:
    """A second attempt goes on with the first one's response: one request, one bill."""
    first = InFlight(abandoned=lambda: False)
    with server.hold("title_writer") as gate:
        asked = asyncio.create_task(ask(chat, first))
        await asyncio.to_thread(gate.arrived.wait, 10)
        while not first.response:  # noqa: ASYNC110 - the call has no event of its own
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    completion = await ask(chat, InFlight(response=first.response))
    assert (len(server.requests), len(server.billed)) == (1, 1)
    assert completion.spent == Spent(*server.tokens)
    assert server.responses.cancelled == []


async def test_an_abandoned_call_stops_its_response(server: ModelServer, chat: OpenAIResponses) -> None:
    """A call that nobody wants any more is cancelled at the server, and nothing is billed."""
    call = InFlight()
    with server.hold("title_writer"):
        asked = asyncio.create_task(ask(chat, call))
        while not call.response:  # noqa: ASYNC110 - the call has no event of its own
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    assert server.responses.cancelled == [call.response]
    assert server.billed == []


async def cancelled_while_it_begins(chat: OpenAIResponses, server: ModelServer, call: InFlight) -> None:
    """Cancel a call whose response is begun, but whose id is still on its way."""
    with server.hold("title_writer"), server.hold("title_writer", begun=True) as news:
        asked = asyncio.create_task(ask(chat, call))
        assert await asyncio.to_thread(news.arrived.wait, 30)
        asked.cancel()
        news.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await asked


async def test_an_abandoned_call_stops_the_response_it_is_about_to_begin(
    server: ModelServer, chat: OpenAIResponses
) -> None:
    """A cancellation that comes before the id waits for it: nothing goes on being made and billed."""
    await cancelled_while_it_begins(chat, server, InFlight())
    assert server.responses.cancelled == server.responses.ids != []
    assert server.billed == []


async def test_a_stopping_worker_keeps_the_id_it_waits_for(server: ModelServer, chat: OpenAIResponses) -> None:
    """A call that is handed over while its response begins is picked up by the next attempt: one bill."""
    call = InFlight(abandoned=lambda: False)
    await cancelled_while_it_begins(chat, server, call)
    assert [call.response] == server.responses.ids
    await ask(chat, call)
    assert (len(server.billed), server.responses.cancelled) == (1, [])


async def test_a_server_that_does_not_tell_the_id_is_left(
    server: ModelServer, chat: OpenAIResponses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled call waits for the id for a bounded time; then it hangs up."""
    monkeypatch.setattr(openai_responses, "PARTING", 0.01)
    with server.hold("title_writer", begun=True) as news:
        asked = asyncio.create_task(ask(chat))
        assert await asyncio.to_thread(news.arrived.wait, 30)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        while not server.abandoned:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)


async def test_a_response_whose_id_cannot_be_kept_is_stopped(server: ModelServer, chat: OpenAIResponses) -> None:
    """What no later attempt would find is cancelled at the server, and the call is to be made again."""

    async def kept(call: InFlight) -> None:
        raise TransportError("not kept")

    with server.hold("title_writer"), pytest.raises(TransportError, match="not kept"):
        await ask(chat, InFlight(kept=kept))
    assert server.responses.cancelled == server.responses.ids != []
    assert server.billed == []


async def test_a_stopped_response_is_not_picked_up(server: ModelServer, chat: OpenAIResponses) -> None:
    """An attempt that finds its predecessor's response cancelled asks anew at once."""
    call = InFlight()
    with server.hold("title_writer"):
        asked = asyncio.create_task(ask(chat, call))
        while not call.response:  # noqa: ASYNC110 - the call has no event of its own
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    stopped = call.response
    await ask(chat, call)
    assert stopped in server.responses.cancelled
    assert server.responses.ids == [stopped, call.response]


async def test_a_response_that_is_lost_in_the_making_may_be_asked_for_anew(
    server: ModelServer, chat: OpenAIResponses
) -> None:
    """A server that forgets what it makes fails the attempt, with the reason, and the next one starts over."""
    call = InFlight()
    with server.hold("title_writer"):
        asked = asyncio.create_task(ask(chat, call))
        while not call.response:  # noqa: ASYNC110 - the call has no event of its own
            await asyncio.sleep(0.01)
        server.responses.forget()
        with pytest.raises(TransportError, match="lost the response it was making; it is asked for anew"):
            await asked
    assert call.response == ""
    await ask(chat, call)
    assert len(server.billed) == 1


async def test_a_response_the_server_has_lost_is_asked_for_anew(server: ModelServer, chat: OpenAIResponses) -> None:
    """An id that the server does not know any more costs nothing but the question."""
    call = InFlight(response="resp_of_yesterday")
    await ask(chat, call)
    assert len(server.requests) == 1
    assert call.response.startswith("resp_")
    assert call.response != "resp_of_yesterday"


async def test_the_time_limit_leaves_the_response_to_the_next_attempt(server: ModelServer, tmp_path: Path) -> None:
    """A response that takes longer than a call may is kept, since it is paid anyway."""
    chat = backend(server, model_timeout=0.5, home=tmp_path)
    call = InFlight(abandoned=lambda: False)
    with server.hold("title_writer"), pytest.raises(TransportError, match="gave no answer within"):
        await ask(chat, call)
    assert call.response
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
async def test_errors_mean_what_they_mean_elsewhere(
    server: ModelServer, chat: OpenAIResponses, fault: Fault, kind: type[ModelError]
) -> None:
    """Statuses and odd endings are told apart in the same way as with Chat Completions."""
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
    """What the server could not make is not looked at again by the next attempt."""
    failed: dict[str, Any] = {"id": "resp_1", "status": "failed", "error": error, "output": []}
    server.fail(Fault(body=failed))
    call = InFlight()
    with pytest.raises(kind):
        await ask(chat, call)
    assert call.response == ""


async def test_a_weaker_form_is_tried_where_a_schema_is_refused(tmp_path: Path) -> None:
    """A server that takes no schema is asked with the schema in the prompt, and that is remembered."""
    with ModelServer(json_schema=False) as server:
        chat = backend(server, home=tmp_path)
        completion = await ask(chat)
        await chat.aclose()
    assert Title.model_validate_json(completion.text).title
    assert [request.json["text"]["format"]["type"] for request in server.requests] == ["json_schema", "json_object"]


def response(*items: dict[str, Any]) -> dict[str, Any]:
    """Return a finished response of these items."""
    usage = {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 5}}
    return {"id": "resp_1", "model": "m", "status": "completed", "output": list(items), "usage": usage}


def test_thoughts_stay_apart_from_the_answer() -> None:
    """Reasoning in full or summed up is no part of what a message says; what the server had cached is counted."""
    thought = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "content": [{"type": "reasoning_text", "text": 'Perhaps {"title": "draft"}?'}],
    }
    message = {"type": "message", "content": [{"type": "output_text", "text": '{"title": "t"}'}]}
    completion = as_reply(response(thought, message)).completion("m", 9)
    assert (completion.text, completion.spent) == ('{"title": "t"}', Spent(9, 4, 5))


@pytest.mark.parametrize("field", ["summary", "content"])
def test_thoughts_alone_are_marked_as_such(field: str) -> None:
    """A response without a message is looked through for an object, but does not pass for an answer."""
    thought = {"type": "reasoning", field: [{"text": "It might be one or the other."}]}
    completion = as_reply(response(thought)).completion("m", 9)
    assert completion.text == "<think>It might be one or the other.</think>"


async def test_a_response_of_thoughts_alone_has_its_name(server: ModelServer, chat: OpenAIResponses) -> None:
    """The twin answers after two re-asks, and the report says that the model only reasoned; all of it is counted."""
    server.fail(*[Fault.reasoning_only()] * 3)
    decided = await answer(ROLE, RouterInput(question="Why?"), Evidence(), chat)
    assert (decided.model, decided.degraded) == ("offline", "the model reasoned and did not answer")
    assert (decided.model_calls, decided.spent) == (3, Spent(*server.tokens))


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
async def test_a_server_without_background_is_told_apart(
    server: ModelServer, chat: OpenAIResponses, refused: Fault
) -> None:
    """A server that does not know the API, or makes nothing in the background, gives the line with the setting."""
    server.fail(refused)
    with pytest.raises(RequestRejected, match="set TENURE_MODEL_API=chat") as caught:
        await ask(chat)
    assert "\n" not in caught.value.advice


@pytest.mark.parametrize("able", [{"background": False}, {"responses_api": False}])
async def test_the_setting_is_named_by_a_server_of_its_own(able: dict[str, bool], tmp_path: Path) -> None:
    """A whole server of Chat Completions alone, or of responses while one waits, gives the same line."""
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
    """A 404 that is about the model names the model's setting."""
    server.fail(refused)
    with pytest.raises(RequestRejected, match="no model large there; check TENURE_MODEL and"):
        await ask(chat)


async def test_a_request_that_is_repeated_says_nothing_of_background(
    server: ModelServer, chat: OpenAIResponses
) -> None:
    """A complaint about something else is not misread for the request that the server shows behind it."""
    server.fail(Fault(400, body=error('Bad temperature in {"background": true}')))
    with pytest.raises(RequestRejected, match="refused the request to large with 400"):
        await ask(chat)


async def test_an_answer_in_the_shape_of_a_tool_call_is_read(server: ModelServer, chat: OpenAIResponses) -> None:
    """Arguments of a call that nobody offered are the answer, as they are with Chat Completions."""
    server.fail(Fault.as_tool_call())
    completion = await ask(chat)
    assert Title.model_validate_json(completion.text).title
    assert completion.spent == Spent(*server.tokens)
