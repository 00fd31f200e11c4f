"""Tests of the execution of roles: parsing, corrections, and the fallback."""

import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest
from pydantic import Field

from tenure.algorithms.control.answer_size import MAX_ANSWER_TOKENS, compute_answer_limit
from tenure.algorithms.text.passage import Passage
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.messages import Message
from tenure.contracts.run.budget import CallBudget
from tenure.models.answer_parsing import SCHEMA_MISMATCH
from tenure.models.errors import RequestRejected, TransportError
from tenure.models.openai.chat import OpenAIChat
from tenure.models.openai.request import REASONING_TOKENS
from tenure.models.openai.responses import OpenAIResponses
from tenure.models.usage import TokenUsage
from tenure.role_executor import RoleAnswer, execute_role
from tenure.roles.base import Evidence, Role, RoleInput, RoleOutput, mark_passages
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes
from tests.roles.cases import CASES


class JudgeInput(RoleInput):
    question: str


class Verdict(RoleOutput):
    mode: Literal["RESEARCH", "CODE"]
    why: str = Field(min_length=1)
    passages: tuple[int, ...] = ()


def render(input: JudgeInput, evidence: Evidence) -> list[Message]:
    return [
        Message(role="system", content="Decide."),
        Message(role="user", content=f"{input.question}\n{mark_passages(evidence.passages)}"),
    ]


def fallback(input: JudgeInput, evidence: Evidence) -> Verdict:
    thread = "aside" if threading.current_thread() is not threading.main_thread() else "in the loop"
    return Verdict(mode="RESEARCH", why=f"fallback {thread}", passages=tuple(range(1, len(evidence.passages) + 1)))


ROLE = Role(name="judge", tier="main", output=Verdict, input=JudgeInput, render=render, fallback=fallback)
GOOD = {"mode": "CODE", "why": "it says so", "passages": [1]}


def passage(n: int, length: int = 400) -> Passage:
    text = f"number {n} " + "x" * length
    return Passage(ChunkId(f"c{n}"), SourceId("s"), "T", "t.md", (), text, 0, len(text))


def evidence(count: int = 0) -> Evidence:
    return Evidence(passages=tuple(passage(n) for n in range(1, count + 1)))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def chat(server: ModelServer) -> AsyncIterator[OpenAIChat]:
    made = OpenAIChat(routes("m"), base_url=server.base_url)
    yield made
    await made.aclose()


async def decide(chat: OpenAIChat | None, given: Evidence | None = None) -> RoleAnswer[Verdict]:
    return await execute_role(ROLE, JudgeInput(question="Which?"), given or evidence(), chat)


async def test_without_a_model_the_fallback_answers() -> None:
    """The fallback runs in a thread of its own, costs nothing, and has no fallback reason."""
    decided = await decide(None, evidence(2))
    assert decided == RoleAnswer(Verdict(mode="RESEARCH", why="fallback aside", passages=(1, 2)), "offline")


async def test_a_prompt_is_rendered_aside(server: ModelServer, chat: OpenAIChat) -> None:
    """The event loop serves all other runs while a prompt of many passages is rendered."""
    rendered: list[bool] = []

    def render_aside(input: JudgeInput, evidence: Evidence) -> list[Message]:
        rendered.append(threading.current_thread() is threading.main_thread())
        return render(input, evidence)

    server.on("judge", GOOD)
    await execute_role(replace(ROLE, render=render_aside), JudgeInput(question="Which?"), evidence(), chat)

    assert rendered == [False]


async def test_the_model_answers(server: ModelServer, chat: OpenAIChat) -> None:
    """A valid answer is the decision, with the model's name and the billed tokens."""
    server.on("judge", GOOD)
    decided = await decide(chat)
    asked = tuple(Message.model_validate(message) for message in server.requests[0].json["messages"])
    assert decided == RoleAnswer(Verdict.model_validate(GOOD), "m", 1, TokenUsage(*server.tokens), prompt=asked)


async def test_any_role_is_answered_by_the_bare_server(chat: OpenAIChat) -> None:
    """An unscripted test server answers a role through structured output."""
    decided = await decide(chat, evidence(1))
    assert decided.output.why.startswith("model-server")
    assert decided.output.passages == (1,)


async def test_an_invalid_answer_is_corrected(server: ModelServer, chat: OpenAIChat) -> None:
    """The model receives its answer and the errors; the tokens of both calls count."""
    said: Iterator[dict[str, Any]] = iter([{"mode": "DANCE", "why": ""}, GOOD])
    server.on("judge", lambda _: next(said))
    decided = await decide(chat)
    assert (decided.output.mode, decided.fallback_reason) == ("CODE", None)
    assert decided.usage == TokenUsage(*server.tokens)
    *prompt, bad, complaint = server.requests[1].json["messages"]
    assert prompt == server.requests[0].json["messages"]
    assert bad == {"role": "assistant", "content": '{"mode": "DANCE", "why": ""}'}
    assert complaint["role"] == "user"
    assert "- mode: Input should be 'RESEARCH' or 'CODE'" in complaint["content"]
    assert "- why: String should have at least 1 character" in complaint["content"]
    assert "DANCE" not in complaint["content"]


async def test_after_two_corrections_the_fallback_answers(server: ModelServer, chat: OpenAIChat) -> None:
    """After three invalid answers the fallback decides, with the reason and the usage."""
    server.on("judge", "I would rather talk about something else.")
    decided = await decide(chat)
    assert len(server.requests) == 3
    assert (decided.model, decided.output.why) == ("offline", "fallback aside")
    assert decided.fallback_reason == "answer did not fit the schema"
    assert decided.usage == TokenUsage(*server.tokens)


class Sized(RoleOutput):
    text: str = Field(max_length=4_000)


SIZED = Role("judge", "main", JudgeInput, Sized, render, lambda input, evidence: Sized(text="fallback"), streamed=True)
SIZED_LIMIT = compute_answer_limit(Sized.model_json_schema())


def read_limits(server: ModelServer) -> list[int]:
    return [request.json["max_completion_tokens"] for request in server.requests]


async def test_every_answer_has_a_limit(server: ModelServer, chat: OpenAIChat) -> None:
    """The limit follows from the schema, and budget and settings may lower it."""
    await execute_role(SIZED, JudgeInput(question="?"), evidence(), chat)
    budget = CallBudget(calls=1, tokens_in=90_000, tokens_out=500)
    await execute_role(SIZED, JudgeInput(question="?"), evidence(), chat, budget=budget)
    own = OpenAIChat(routes(max_output=90_000), base_url=server.base_url)
    await execute_role(SIZED, JudgeInput(question="?"), evidence(), own)
    await own.aclose()

    assert read_limits(server) == [SIZED_LIMIT, 500, 90_000]


@pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses])
async def test_a_model_that_reasons_gets_room_for_it(kind: type[OpenAIChat], server: ModelServer) -> None:
    """An answer cut off by hidden reasoning is asked for again, and later answers of the model have room as well."""
    chat = kind(routes(), base_url=server.base_url)
    server.fail(Fault(change=cut_off_while_reasoning))
    answers = [await execute_role(SIZED, JudgeInput(question="?"), evidence(), chat) for _ in range(2)]
    await chat.aclose()

    assert [(answer.fallback_reason, answer.model_calls) for answer in answers] == [(None, 2), (None, 1)]
    names = ("max_completion_tokens", "max_output_tokens")
    limits = [next(request.json[name] for name in names if name in request.json) for request in server.requests]
    assert limits == [SIZED_LIMIT, *(SIZED_LIMIT + REASONING_TOKENS[None],) * 2]


def cut_off_while_reasoning(completion: dict[str, Any]) -> None:
    completion["choices"][0]["message"] |= {"content": "", "reasoning_content": "Let me think."}
    completion["choices"][0]["finish_reason"] = "length"


@pytest.mark.parametrize("streamed", [True, False])
async def test_an_answer_that_repeats_itself_is_asked_for_once_more(
    streamed: bool, server: ModelServer, chat: OpenAIChat
) -> None:
    """The model is ordered to be brief; a stream is cut while it repeats itself, any other answer at its limit."""
    role = replace(SIZED, streamed=streamed)
    answers: Iterator[str | dict[str, Any]] = iter(
        ['{"text": "' + "It rises and falls. " * 5_000, {"text": "It rises."}]
    )
    server.on("judge", lambda request: next(answers))

    answer = await execute_role(role, JudgeInput(question="Why?"), evidence(), chat)

    assert (answer.output, answer.model_calls) == (Sized(text="It rises."), 2)
    first, second = (request.json["messages"] for request in server.requests)
    assert [message["role"] for message in second] == ["system", "user"]
    assert second[-1]["content"].startswith(first[-1]["content"])
    assert "repeated itself" in second[-1]["content"]
    assert (answer.usage.tokens_out < SIZED_LIMIT) is streamed


async def test_a_second_repetitive_answer_leads_to_the_fallback(server: ModelServer, chat: OpenAIChat) -> None:
    """A model that repeats itself twice is not asked a third time."""
    server.on("judge", '{"text": "' + "It rises and falls. " * 5_000)

    answer = await execute_role(SIZED, JudgeInput(question="Why?"), evidence(), chat)

    assert (answer.output.text, answer.model_calls) == ("fallback", 2)
    assert answer.fallback_reason == "answer that repeated itself"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.refusal(), "the model refused"),
        (Fault.finish("length"), "answer cut off at the length limit"),
        (Fault.message(content="on and on " * 10_001), "answer longer than a role can have"),
    ],
)
async def test_an_unusable_answer_is_not_corrected(
    server: ModelServer, chat: OpenAIChat, fault: Fault, reason: str
) -> None:
    """After a refusal or a truncated answer the fallback decides immediately, with the reason and the usage."""
    server.fail(fault)
    decided = await decide(chat)
    assert (decided.model, decided.fallback_reason, len(server.requests)) == ("offline", reason, 1)
    assert decided.usage == TokenUsage(*server.tokens)


async def test_an_empty_answer_is_asked_for_once_more(server: ModelServer, chat: OpenAIChat) -> None:
    """One answer without content does not decide; after the second one the fallback does. Both are counted."""
    server.fail(Fault.no_choices())
    decided = await decide(chat)
    assert (decided.model != "offline", decided.model_calls, len(server.requests)) == (True, 2, 2)

    server.fail(Fault.no_choices(), Fault.no_choices())
    again = await decide(chat)
    assert (again.model, again.fallback_reason, again.model_calls) == ("offline", "answer without content", 2)


@pytest.mark.parametrize(("fault", "kind"), [(Fault(503), TransportError), (Fault(401), RequestRejected)])
async def test_other_errors_are_raised(
    server: ModelServer, chat: OpenAIChat, fault: Fault, kind: type[Exception]
) -> None:
    """Errors that Temporal or a person has to handle do not lead to the fallback."""
    server.fail(fault)
    with pytest.raises(kind):
        await decide(chat)


async def test_too_much_evidence_is_halved() -> None:
    """A prompt that is too long is sent again with the best half, under the same numbers."""
    with ModelServer(context_tokens=500) as server:
        chat = OpenAIChat(routes("m"), base_url=server.base_url)
        decided = await decide(chat, evidence(14))
        await chat.aclose()
    sent = [request.json["messages"][1]["content"] for request in server.requests]
    assert [content.count("<passage") for content in sent] == [14, 7, 3]
    assert [f'<passage n="{n}"' in sent[-1] and f"number {n} " in sent[-1] for n in (1, 2, 3)] == [True] * 3
    assert decided.fallback_reason is None


@pytest.mark.parametrize("count", [0, 1, 5])
async def test_a_prompt_that_never_fits_is_rejected(count: int) -> None:
    """If one passage is left and the prompt is still too long, the advice is another model."""
    with ModelServer(context_tokens=3) as server:
        chat = OpenAIChat(routes("m"), base_url=server.base_url)
        with pytest.raises(RequestRejected, match="longer context"):
            await decide(chat, evidence(count))
        await chat.aclose()
        assert "<passage" in server.requests[-1].json["messages"][1]["content"] or not count


@pytest.mark.parametrize(
    "fault",
    [Fault.reasoning_only(), Fault.message(content="<think>Let me see."), Fault.message(content="<think></think> ")],
)
async def test_reasoning_without_an_answer_has_its_own_reason(
    server: ModelServer, chat: OpenAIChat, fault: Fault
) -> None:
    """A model that only reasons gets a correction; finally the reason is reported."""
    server.fail(*[fault] * 3)
    decided = await decide(chat)
    assert "it contains reasoning and no answer" in server.requests[1].json["messages"][-1]["content"]
    assert len(server.requests) == 3
    assert decided.fallback_reason == "the model reasoned and did not answer"


async def test_a_correction_that_exceeds_the_window_leads_to_the_fallback() -> None:
    """An invalid answer that is too long to be sent back does not reduce the evidence."""
    with ModelServer(context_tokens=100) as server:
        server.on("judge", "blah " * 400)
        chat = OpenAIChat(routes("m"), base_url=server.base_url)
        decided = await decide(chat)
        await chat.aclose()
    assert (decided.model, decided.fallback_reason) == ("offline", "answer did not fit the schema")
    assert len(server.requests) == 2


class Lines(RoleOutput):
    lines: tuple[str, ...]


def parse_lines(text: str) -> Lines:
    lines = tuple(line.removeprefix("- ") for line in text.splitlines() if line.startswith("- "))
    if not lines:
        raise ValueError("it contains no line: begin each with a dash.")
    return Lines(lines=lines)


def ask_for_lines(input: JudgeInput, evidence: Evidence) -> list[Message]:
    return [
        Message(role="system", content="List."),
        Message(role="user", content=f'<task name="lister">\n{input.question}\n</task>'),
    ]


LISTER = Role(
    "lister",
    "main",
    JudgeInput,
    Lines,
    ask_for_lines,
    lambda input, evidence: Lines(lines=("fallback",)),
    parse_text=parse_lines,
)


async def list_lines(chat: OpenAIChat) -> RoleAnswer[Lines]:
    return await execute_role(LISTER, JudgeInput(question="Which?"), evidence(), chat)


@pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses])
async def test_a_role_that_answers_in_text_is_asked_for_no_format(kind: type[OpenAIChat], server: ModelServer) -> None:
    """The request has the prompt of the role and the largest limit, without any schema; reasoning is no answer."""
    server.on("lister", "<think>\n- not this\n</think>\n- rye\n- wheat")
    chat = kind(routes(), base_url=server.base_url)
    answer = await list_lines(chat)
    await chat.aclose()

    assert (answer.output.lines, answer.fallback_reason, answer.model_calls) == (("rye", "wheat"), None, 1)
    (sent,) = (request.json for request in server.requests)
    messages = [
        message.model_dump(exclude_defaults=True)
        for message in ask_for_lines(JudgeInput(question="Which?"), evidence())
    ]
    assert (sent.get("messages") or sent.get("input")) == messages
    assert not {"response_format", "text", "tools", "tool_choice"} & sent.keys() and "schema" not in str(sent).lower()
    assert MAX_ANSWER_TOKENS in sent.values()


async def test_an_answer_in_text_is_corrected(server: ModelServer, chat: OpenAIChat) -> None:
    """The model receives its answer and what is wrong with it, and is not asked for JSON."""
    said = iter(["There are two.", "- rye"])
    server.on("lister", lambda _: next(said))
    answer = await list_lines(chat)

    assert (answer.output.lines, answer.fallback_reason, answer.model_calls) == (("rye",), None, 2)
    *prompt, bad, complaint = server.requests[1].json["messages"]
    assert prompt == server.requests[0].json["messages"] and bad["content"] == "There are two."
    assert complaint["content"] == (
        "That answer cannot be used: it contains no line: begin each with a dash.\n"
        "Answer again in the form that was asked for."
    )


async def test_after_two_corrections_of_a_text_the_fallback_answers(server: ModelServer, chat: OpenAIChat) -> None:
    """Three answers without anything to parse lead to the fallback, with the reason and the usage."""
    server.on("lister", "There are two.")
    answer = await list_lines(chat)

    assert (answer.output.lines, answer.model, answer.model_calls) == (("fallback",), "offline", 3)
    assert (answer.fallback_reason, answer.usage) == (SCHEMA_MISMATCH, TokenUsage(*server.tokens))


@pytest.mark.parametrize("name", ["report_writer", "report_reviewer"])
async def test_the_bare_server_answers_the_roles_of_a_report(server: ModelServer, name: str) -> None:
    """The answer of an unscripted test server to a role that answers in text needs no correction."""
    chat, case = OpenAIChat(routes("m"), base_url=server.base_url), CASES[name]
    answer = await execute_role(case.role, case.input, case.evidence, chat)
    await chat.aclose()

    assert (answer.model, answer.model_calls, answer.fallback_reason) == ("m", 1, None)
    assert server.requests[0].schema_name == name and server.requests[0].json["stream"]
