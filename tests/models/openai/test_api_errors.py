"""Tests of rejected parameters: omitted and cached, or reported with the setting to change; over real HTTP."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tenure.algorithms.control.budget import estimate_tokens
from tenure.contracts.messages import Message
from tenure.models.chat import ChatRequest, Completion, ModelCall
from tenure.models.errors import ContextOverflow, RequestRejected, TransportError, UnusableAnswer
from tenure.models.openai.backend import CAPABILITIES_FILE
from tenure.models.openai.chat import OpenAIChat
from tenure.models.usage import TokenUsage
from tenure.settings import Settings
from tenure.settings.models import RoleSettings
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes
from tests.support.waiting import WAIT_SECONDS

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
LIMITS = ("max_completion_tokens", "max_tokens")


def complaint(message: str, status: int = 400) -> Fault:
    """Make the server reject a request with this message."""
    return Fault(status, body={"error": {"message": message, "type": "invalid_request_error"}})


async def ask(chat: OpenAIChat, max_output: int | None = None) -> Completion:
    messages = (Message(role="user", content="Name it."),)
    return await chat.complete(ChatRequest("outliner", "fast", messages, SCHEMA, max_output=max_output), ModelCall())


async def asked(server: ModelServer, budget: int | None = None, **settings: Any) -> Completion:
    """Ask once with these settings."""
    chat = OpenAIChat(routes(**settings), base_url=server.base_url)
    try:
        return await ask(chat, budget)
    finally:
        await chat.aclose()


def sent(server: ModelServer, *names: str) -> list[dict[str, Any]]:
    """Return the values of some parameters in each request."""
    return [{name: request.json[name] for name in names if name in request.json} for request in server.requests]


async def test_settings_are_sent() -> None:
    """Temperature, effort and the smaller of both limits are sent; a role's own settings take precedence."""
    own = {"outliner": RoleSettings(temperature=0.1)}
    with ModelServer() as server:
        await asked(server, 900, temperature=1.5, reasoning_effort="low", max_output=700, roles=own)
        names = ("temperature", "reasoning_effort", *LIMITS)

        assert sent(server, *names) == [{"temperature": 0.1, "reasoning_effort": "low", "max_completion_tokens": 700}]


async def test_older_servers_get_max_tokens() -> None:
    """A rejection of the newer name costs one request."""
    with ModelServer(max_completion_tokens=False) as server:
        chat = OpenAIChat(routes(max_output=500), base_url=server.base_url)
        await ask(chat)
        await ask(chat)
        await chat.aclose()

        assert sent(server, *LIMITS) == [{"max_completion_tokens": 500}, {"max_tokens": 500}, {"max_tokens": 500}]


async def test_an_ignored_limit_selects_max_tokens() -> None:
    """An answer longer than allowed means that the newer name was ignored."""
    with ModelServer() as server:
        server.fail(Fault(change=lambda reply: reply["usage"].update(completion_tokens=301)))
        chat = OpenAIChat(routes(), base_url=server.base_url)
        await ask(chat, 300)
        await ask(chat, 300)
        await chat.aclose()

        assert sent(server, *LIMITS) == [{"max_completion_tokens": 300}, {"max_tokens": 300}]


async def test_an_unsupported_limit_is_omitted() -> None:
    """A budget's limit is omitted if the server supports neither name."""
    with ModelServer() as server:
        server.fail(complaint("unknown field max_completion_tokens"), complaint("unknown field max_tokens"))
        await asked(server, 300)

        assert sent(server, *LIMITS) == [{"max_completion_tokens": 300}, {"max_tokens": 300}, {}]


async def test_a_budget_above_the_models_maximum_is_lowered() -> None:
    """If the model's maximum is below the budget, it is the limit of that request and of later ones."""
    said = "max_tokens is too large: 90000. This model supports at most 4096 completion tokens."
    with ModelServer() as server:
        server.fail(complaint(said))
        chat = OpenAIChat(routes(), base_url=server.base_url)
        for budget in (90_000, 300, 5_000):
            await ask(chat, budget)
        await chat.aclose()

        limits = [request["max_completion_tokens"] for request in sent(server, *LIMITS)]
        assert limits == [90_000, 4_096, 300, 4_096]


async def test_a_budget_that_leaves_no_room_for_the_prompt_is_omitted() -> None:
    """If limit and prompt exceed the context together, the limit is omitted, and nothing is cached."""
    said = "max_tokens is too large: 90000. This model's maximum context length is 4096 tokens."
    with ModelServer() as server:
        server.fail(complaint(said))
        chat = OpenAIChat(routes(), base_url=server.base_url)
        await ask(chat, 90_000)
        await ask(chat, 300)
        await chat.aclose()

        assert sent(server, *LIMITS) == [{"max_completion_tokens": 90_000}, {}, {"max_completion_tokens": 300}]


@pytest.mark.parametrize(
    ("said", "settings", "variable"),
    [
        ("Unsupported value: 'temperature' does not support 0.5", {"temperature": 0.5}, "TENURE_TEMPERATURE"),
        (
            "Unrecognized request argument supplied: reasoning_effort",
            {"roles": {"outliner": RoleSettings(reasoning_effort="high")}},
            "TENURE_ROLES__OUTLINER__REASONING_EFFORT",
        ),
        ("max_tokens is too large: 9000; at most 4096", {"max_output": 9000}, "TENURE_MAX_OUTPUT"),
    ],
)
async def test_a_rejected_setting_is_named(said: str, settings: dict[str, Any], variable: str) -> None:
    """A configured parameter is not dropped silently: the message names the variable."""
    with ModelServer() as server:
        server.fail(complaint(said))
        with pytest.raises(RequestRejected, match=variable) as refused:
            await asked(server, **settings)

        assert "\n" not in refused.value.advice
        assert len(server.requests) == 1


async def test_an_unsupported_configured_limit_is_named() -> None:
    """A configured limit that the server does not support is reported like any other parameter."""
    with ModelServer() as server:
        server.fail(complaint("unknown field max_completion_tokens"), complaint("unknown field max_tokens"))
        with pytest.raises(RequestRejected, match="TENURE_MAX_OUTPUT"):
            await asked(server, max_output=300)


async def test_an_unsent_parameter_is_not_named() -> None:
    """An error about a temperature that was not sent is not attributed to a setting."""
    with ModelServer() as server:
        server.fail(complaint("temperature of the coolant is too high"))
        with pytest.raises(RequestRejected, match="refused the request to m with 400"):
            await asked(server)


async def test_prompt_and_limit_together_too_long_is_a_long_prompt() -> None:
    """With a configured limit the evidence is reduced, and the limit is kept."""
    said = "input length and `max_tokens` exceed context limit: the context window is 8192; reduce the length"
    with ModelServer() as server:
        server.fail(complaint(said))
        with pytest.raises(ContextOverflow):
            await asked(server, max_output=4000)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            Fault(400, body={"error": {"message": "content management policy", "code": "content_filter"}}),
            "prompt stopped by the content filter",
        ),
        (Fault.finish("model_length"), "answer cut off at the length limit"),
        (Fault.finish("SAFETY"), "answer stopped by the content filter"),
        (Fault.message(content=7), "answer of an unexpected type"),
        (Fault.message(content=[{"type": "refusal", "refusal": "No."}]), "the model refused"),
        (Fault(change=lambda reply: reply.update(choices=["said"])), "answer without content"),
        (Fault(change=lambda reply: reply["choices"][0].update(message="said")), "answer without content"),
    ],
)
async def test_unusual_answers_have_a_reason(fault: Fault, reason: str) -> None:
    """Filters, finish reasons, refusals and wrong types of several servers are distinguished."""
    with ModelServer() as server:
        server.fail(fault)
        with pytest.raises(UnusableAnswer) as unusable:
            await asked(server)

        assert unusable.value.reason == reason
        assert (unusable.value.usage or TokenUsage()) == TokenUsage(*server.tokens)


@pytest.mark.parametrize(
    "fault",
    [
        Fault.message(content={"title": "T"}),
        Fault.message(content=None, tool_calls=[{"function": {"arguments": {"title": "T"}}}]),
        Fault.message(content='{"title": "T"}', refusal=False, tool_calls="none", reasoning=7),
        Fault(
            change=lambda reply: reply["choices"][0].update(
                message={"content": '{"title": "T"}'}, finish_reason=1, index="0"
            )
        ),
    ],
)
async def test_content_of_other_types_is_parsed(fault: Fault) -> None:
    """An object in place of text is parsed, and other fields of wrong types are ignored."""
    with ModelServer() as server:
        server.fail(fault)

        assert json.loads((await asked(server)).text) == {"title": "T"}


@pytest.mark.parametrize("usage", [None, {}, "free", {"prompt_tokens": 0, "completion_tokens": 0}])
async def test_tokens_are_estimated_without_usage(usage: object) -> None:
    """For a server that reports no usage, tokens are estimated from the transferred text."""
    with ModelServer() as server:
        server.fail(Fault(change=lambda reply: reply.update(usage=usage)))
        given = await asked(server)

        assert given.usage.tokens_out == estimate_tokens(given.text)
        assert given.usage.tokens_in > estimate_tokens("Name it.")


QUOTA = "You exceeded your current quota, please check your plan and billing details."


EMPTY = {"message": QUOTA, "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}


@pytest.mark.parametrize(
    "fault",
    [
        Fault(429, {"retry-after": "1"}, body={"error": EMPTY}),
        Fault(body={"error": EMPTY}),
        Fault(402, body={"error": {"message": "Insufficient Balance", "code": "invalid_request_error"}}),
    ],
    ids=["OpenAI", "gateway", "DeepSeek"],
)
async def test_an_empty_account_is_a_permanent_error(fault: Fault) -> None:
    """A missing credit is not retried, and the message names it."""
    with ModelServer() as server:
        server.fail(fault)
        with pytest.raises(RequestRejected, match="check its plan and billing") as empty:
            await asked(server)

        assert "\n" not in empty.value.advice


async def test_an_exceeded_quota_is_retried() -> None:
    """The same message without the code of an empty account means a rate limit, with the server's delay."""
    with ModelServer() as server:
        server.fail(Fault(429, {"retry-after": "30"}, body={"error": {"message": QUOTA, "code": 429}}))
        with pytest.raises(TransportError) as busy:
            await asked(server)

        assert busy.value.retry_after == 30.0


async def test_limits_are_cached_across_workers(tmp_path: Path) -> None:
    """A worker that restarts asks in the cached form, without a rejection."""
    with ModelServer(json_schema=False, max_completion_tokens=False) as server:
        settings = Settings(home=tmp_path, openai_base_url=server.base_url, model="m", max_output=500)
        for _ in range(2):
            chat = OpenAIChat.from_settings(settings)
            await ask(chat)
            await chat.aclose()

        kinds = [request.json["response_format"]["type"] for request in server.requests]
        assert kinds[-2:] == ["json_object", "json_object"]
        assert len(server.requests) == len(server.billed) + 2
        assert server.base_url.removeprefix("http://") in (tmp_path / CAPABILITIES_FILE).read_text()


async def test_a_429_halves_the_concurrency() -> None:
    """No more requests than the limit are in flight, and a wave of 429s halves it once."""
    with ModelServer() as server:
        chat = OpenAIChat(routes(), base_url=server.base_url, concurrency=4)
        server.fail(*[Fault(429)] * 4)
        with server.hold() as gate:
            calls = [asyncio.create_task(ask(chat)) for _ in range(9)]
            assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
        answers = await asyncio.gather(*calls, return_exceptions=True)
        await chat.aclose()

        assert sum(isinstance(answer, TransportError) for answer in answers) == 4
        assert sum(isinstance(answer, Completion) for answer in answers) == 5
        assert 1 <= chat.concurrency < 4
