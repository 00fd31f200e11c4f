"""Tests of roles whose answers are cached: an identical request is paid once."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import Field

from tenure.contracts.messages import Message, Tier
from tenure.contracts.run.budget import CallBudget, Price
from tenure.contracts.run.role_calls import ModelAnswer, SavedUsage, StoredAnswer
from tenure.models.chat import ModelCall
from tenure.models.openai.chat import OpenAIChat
from tenure.role_executor import execute_role
from tenure.roles.base import Evidence, Role, RoleInput, RoleOutput
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes


class AskInput(RoleInput):
    question: str


class Decision(RoleOutput):
    text: str = Field(max_length=100)


def render(input: AskInput, evidence: Evidence) -> list[Message]:
    return [Message(role="system", content="Decide."), Message(role="user", content=input.question)]


ROLE = Role("judge", "main", AskInput, Decision, render, lambda input, evidence: Decision(text="fallback"))
INPUT = AskInput(question="Why?")
PRICES = {"m": Price(input=1.0, output=2.0)}


@dataclass
class Memory:
    """Answers in memory."""

    identify: Callable[[str, Tier], str]
    stored: dict[str, StoredAnswer] = field(default_factory=dict)

    def load(self, request: str) -> StoredAnswer | None:
        return self.stored.get(request)

    def save(self, request: str, answer: StoredAnswer) -> None:
        self.stored[request] = answer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def chat(server: ModelServer) -> AsyncIterator[OpenAIChat]:
    made = OpenAIChat(routes(), base_url=server.base_url, prices=PRICES)
    yield made
    await made.aclose()


async def test_an_identical_request_is_paid_once(server: ModelServer, chat: OpenAIChat) -> None:
    """The second call has the same output and model, costs nothing, and reports the savings."""
    answers = Memory(chat.identify)
    first, second = [await execute_role(ROLE, INPUT, Evidence(), chat, answers=answers) for _ in range(2)]

    assert (second.output, second.model, second.prompt) == (first.output, first.model, first.prompt)
    assert (second.model_calls, second.usage.tokens_in, second.cost_usd) == (0, 0, 0.0)
    assert (first.saved, second.saved) == (
        SavedUsage(),
        SavedUsage(
            answers=1,
            model_calls=1,
            tokens_in=first.usage.tokens_in,
            tokens_out=first.usage.tokens_out,
            cost_usd=first.cost_usd,
        ),
    )
    assert len(server.requests) == 1


async def test_a_budget_does_not_matter_to_a_cached_answer(server: ModelServer, chat: OpenAIChat) -> None:
    """A cached answer is used although its prompt exceeds the budget."""
    answers = Memory(chat.identify)
    await execute_role(ROLE, INPUT, Evidence(), chat, answers=answers)
    exhausted = CallBudget(calls=1, tokens_in=1, tokens_out=1)

    cached = await execute_role(ROLE, INPUT, Evidence(), chat, budget=exhausted, answers=answers)

    assert (cached.fallback_reason, len(server.requests)) == (None, 1)


@pytest.mark.parametrize("change", ["question", "model", "temperature", "role"])
async def test_any_other_request_is_asked(change: str, server: ModelServer, chat: OpenAIChat) -> None:
    """Another prompt, role, model or parameter is another request."""
    changed = {"model": routes("other"), "temperature": routes(temperature=0.5)}.get(change, routes())
    other = OpenAIChat(changed, base_url=server.base_url)
    role = Role("other", *ROLE_PARTS) if change == "role" else ROLE
    input = AskInput(question="How?") if change == "question" else INPUT
    answers = Memory(chat.identify)
    await execute_role(ROLE, INPUT, Evidence(), chat, answers=answers)

    answers.identify = other.identify
    await execute_role(role, input, Evidence(), other, answers=answers)
    await other.aclose()

    assert len(server.requests) == len(answers.stored) == 2


ROLE_PARTS: tuple[Any, ...] = ("main", AskInput, Decision, render, ROLE.fallback)


async def test_only_valid_answers_are_stored(server: ModelServer, chat: OpenAIChat) -> None:
    """A corrected answer is stored under the first request, with the cost of both; a fallback is not stored."""
    answers = Memory(chat.identify)
    server.fail(*(Fault.wrong_schema(),) * 3)
    assert (await execute_role(ROLE, INPUT, Evidence(), chat, answers=answers)).fallback_reason
    assert answers.stored == {}

    server.fail(Fault.wrong_schema())
    corrected = await execute_role(ROLE, INPUT, Evidence(), chat, answers=answers)
    cached = await execute_role(ROLE, INPUT, Evidence(), chat, answers=answers)

    assert (corrected.model_calls, cached.saved.model_calls) == (2, 2)
    assert len(server.requests) == 5


async def test_an_answer_of_an_earlier_version_is_not_used(server: ModelServer, chat: OpenAIChat) -> None:
    """A stored answer that the role does not accept any more is replaced."""
    answers = Memory(chat.identify)
    await execute_role(ROLE, INPUT, Evidence(), chat, answers=answers)
    (key,) = answers.stored
    answers.stored[key] = StoredAnswer(text="{}", model="m")

    again = await execute_role(ROLE, INPUT, Evidence(), chat, answers=answers)

    assert (again.model_calls, answers.stored[key].text != "{}") == (1, True)


async def test_a_repeated_attempt_uses_its_paid_answers(server: ModelServer, chat: OpenAIChat) -> None:
    """An attempt that finds paid answers of the attempt before accounts for them, instead of the cache."""
    answers = Memory(chat.identify)
    await execute_role(ROLE, INPUT, Evidence(), chat, answers=answers)
    paid = ModelCall([ModelAnswer(text='{"text": "paid"}', model="m", tokens_in=3, tokens_out=4)])

    repeated = await execute_role(ROLE, INPUT, Evidence(), chat, paid, answers=answers)

    assert (repeated.output.text, repeated.model_calls, repeated.saved) == ("paid", 1, SavedUsage())
