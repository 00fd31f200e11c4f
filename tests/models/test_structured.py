"""From role to decision: reading, asking again, and the twin."""

import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from tenure.algorithms.text.passage import Passage
from tenure.contracts.base import ChunkId, SourceId
from tenure.models.chat import Answer, RequestRejected, Spent, TransportError
from tenure.models.openai.chat import OpenAIChat
from tenure.models.structured import NotReadable, answer, read
from tenure.roles.base import Evidence, Message, Role, RoleInput, RoleOutput, mark_passages
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes


class Ask(RoleInput):
    question: str


class Verdict(RoleOutput):
    mode: Literal["RESEARCH", "CODE"]
    why: str = Field(min_length=1)
    passages: tuple[int, ...] = ()


def render(input: Ask, evidence: Evidence) -> list[Message]:
    return [
        Message(role="system", content="Decide."),
        Message(role="user", content=f"{input.question}\n{mark_passages(evidence.passages)}"),
    ]


def offline(input: Ask, evidence: Evidence) -> Verdict:
    thread = "aside" if threading.current_thread() is not threading.main_thread() else "in the loop"
    return Verdict(mode="RESEARCH", why=f"twin {thread}", passages=tuple(range(1, len(evidence.passages) + 1)))


ROLE = Role(name="judge", tier="main", output=Verdict, render=render, offline=offline)
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


async def decide(chat: OpenAIChat | None, given: Evidence | None = None) -> Answer[Verdict]:
    return await answer(ROLE, Ask(question="Which?"), given or evidence(), chat)


async def test_without_a_model_the_twin_answers() -> None:
    """The twin decides in a thread of its own, costs nothing, and that is not a degradation."""
    decided = await decide(None, evidence(2))
    assert decided == Answer(Verdict(mode="RESEARCH", why="twin aside", passages=(1, 2)), "offline")


async def test_the_model_answers(server: ModelServer, chat: OpenAIChat) -> None:
    """A fitting answer is the decision, with the model's name and the tokens billed."""
    server.on("judge", GOOD)
    decided = await decide(chat)
    asked = tuple(Message.model_validate(message) for message in server.requests[0].json["messages"])
    assert decided == Answer(Verdict.model_validate(GOOD), "m", 1, Spent(*server.tokens), prompt=asked)


async def test_any_role_is_answered_by_the_bare_server(chat: OpenAIChat) -> None:
    """An unscripted test server drives a role through structured output."""
    decided = await decide(chat, evidence(1))
    assert decided.output.why.startswith("model-server")
    assert decided.output.passages == (1,)


async def test_an_invalid_answer_is_asked_again(server: ModelServer, chat: OpenAIChat) -> None:
    """The model is shown its answer and what is wrong with it; the tokens of both calls count."""
    said: Iterator[dict[str, Any]] = iter([{"mode": "DANCE", "why": ""}, GOOD])
    server.on("judge", lambda _: next(said))
    decided = await decide(chat)
    assert (decided.output.mode, decided.degraded) == ("CODE", None)
    assert decided.spent == Spent(*server.tokens)
    *prompt, bad, complaint = server.requests[1].json["messages"]
    assert prompt == server.requests[0].json["messages"]
    assert bad == {"role": "assistant", "content": '{"mode": "DANCE", "why": ""}'}
    assert complaint["role"] == "user"
    assert "- mode: Input should be 'RESEARCH' or 'CODE'" in complaint["content"]
    assert "- why: String should have at least 1 character" in complaint["content"]
    assert "DANCE" not in complaint["content"]


async def test_after_two_re_asks_the_twin_answers(server: ModelServer, chat: OpenAIChat) -> None:
    """Three bad answers are enough: the twin decides, and the answer says why and what was spent."""
    server.on("judge", "I would rather talk about something else.")
    decided = await decide(chat)
    assert len(server.requests) == 3
    assert (decided.model, decided.output.why) == ("offline", "twin aside")
    assert decided.degraded == "answer did not fit the schema"
    assert decided.spent == Spent(*server.tokens)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.refusal(), "the model refused"),
        (Fault.no_choices(), "answer without content"),
        (Fault.finish("length"), "answer cut off at the length limit"),
        (Fault.message(content="on and on " * 10_001), "answer longer than a role can have"),
    ],
)
async def test_an_unusable_answer_is_not_asked_again(
    server: ModelServer, chat: OpenAIChat, fault: Fault, reason: str
) -> None:
    """A refusal or a cut-off goes to the twin at once, with its reason and its price."""
    server.fail(fault)
    decided = await decide(chat)
    assert (decided.model, decided.degraded, len(server.requests)) == ("offline", reason, 1)
    assert decided.spent == Spent(*server.tokens)


@pytest.mark.parametrize(("fault", "kind"), [(Fault(503), TransportError), (Fault(401), RequestRejected)])
async def test_other_errors_go_to_the_caller(
    server: ModelServer, chat: OpenAIChat, fault: Fault, kind: type[Exception]
) -> None:
    """What Temporal or a person has to deal with is not hidden behind the twin."""
    server.fail(fault)
    with pytest.raises(kind):
        await decide(chat)


async def test_too_much_evidence_is_halved_from_the_tail() -> None:
    """A prompt that is too long is asked again with the best half, under the same numbers."""
    with ModelServer(context_tokens=500) as server:
        chat = OpenAIChat(routes("m"), base_url=server.base_url)
        decided = await decide(chat, evidence(14))
        await chat.aclose()
    sent = [request.json["messages"][1]["content"] for request in server.requests]
    assert [content.count("<passage") for content in sent] == [14, 7, 3]
    assert [f'<passage n="{n}"' in sent[-1] and f"number {n} " in sent[-1] for n in (1, 2, 3)] == [True] * 3
    assert decided.degraded is None


@pytest.mark.parametrize("count", [0, 1, 5])
async def test_a_prompt_that_never_fits_is_rejected(count: int) -> None:
    """When one passage is left and it still does not fit, the advice is another model."""
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
async def test_reasoning_without_an_answer_has_its_name(server: ModelServer, chat: OpenAIChat, fault: Fault) -> None:
    """A model that only reasons is told so and asked again; in the end the report says what was missing."""
    server.fail(*[fault] * 3)
    decided = await decide(chat)
    assert "it holds reasoning and no answer" in server.requests[1].json["messages"][-1]["content"]
    assert len(server.requests) == 3
    assert decided.degraded == "the model reasoned and did not answer"


async def test_a_re_ask_that_outgrows_the_window_goes_to_the_twin() -> None:
    """A bad answer so long that it does not fit back in does not cost the role its evidence."""
    with ModelServer(context_tokens=100) as server:
        server.on("judge", "blah " * 400)
        chat = OpenAIChat(routes("m"), base_url=server.base_url)
        decided = await decide(chat)
        await chat.aclose()
    assert (decided.model, decided.degraded) == ("offline", "answer did not fit the schema")
    assert len(server.requests) == 2


RAW = json.dumps(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        RAW,
        f"  \ufeff{RAW}\n",
        f"```json\n{RAW}\n```",
        f"```\n{RAW}\n```\nI hope this helps.",
        f"Sure! Here's the verdict you asked for: {RAW} Let me know.",
        f'An example is {{"mode": "CODE"}}, and the schema {{a, b}}. My answer:\n\n{RAW}',
        f'First I thought {{"mode": "RESEARCH", "why": "no"}}. Then: {RAW}',
        f"<think>Perhaps {{'mode': 'RESEARCH', 'why': 'no'}}?</think>\n{RAW}",
        f"<think>Only thoughts, cut off: {RAW}",
        json.dumps({"name": "judge", "arguments": GOOD}),
        json.dumps({"name": "judge", "arguments": RAW}),
        json.dumps({"name": "judge", "parameters": GOOD}),
        f"<tool_call>\n{json.dumps({'name': 'judge', 'arguments': GOOD})}\n</tool_call>",
        json.dumps({"Verdict": GOOD}),
        json.dumps({"answer": RAW}),
        '{"mode": "CODE", "why": "it says so", "passages": [1],}',
        "{'mode': 'CODE', 'why': 'it says so', 'passages': [1]}",
        '{mode: "CODE", why: "it says so", passages: [1]}',
        '{"mode": "CODE", "why": "it says so", "passages": [1]',
        '{"mode": "CODE", // the mode\n "why": "it says so", "passages": ["1"]}',
        '{"mode": "CODE" "why": "it says so" "passages": [1]}',
    ],
)
def test_reads_what_models_write(text: str) -> None:
    """Raw, fenced, embedded, thought, called, wrapped and almost-JSON all give the same decision."""
    assert read(text, Verdict) == Verdict.model_validate(GOOD)


def test_braces_within_strings_are_text() -> None:
    """A string may hold braces, quotes and fences without ending the object."""
    why = 'use {"a": 1} or `}` with "quotes" \\ and ```json {}```'
    assert read(f"So: {json.dumps({**GOOD, 'why': why})} done", Verdict).why == why


def test_a_field_of_an_envelopes_name_is_no_envelope() -> None:
    """A schema that has a field called `input` keeps it."""

    class Call(RoleOutput):
        input: dict[str, int]

    assert read('{"input": {"a": 1}}', Call).input == {"a": 1}


def test_an_empty_object_may_be_an_answer() -> None:
    """Where every field has a default, the empty object is valid."""

    class Critiques(RoleOutput):
        critiques: tuple[str, ...] = ()

    assert read("{}", Critiques) == Critiques()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON object"),
        ("I cannot say.", "no JSON object"),
        ('["CODE"]', "no JSON object"),
        ('{"mode": "CODE"}', "- why: Field required"),
        (json.dumps({**GOOD, "extra": 1}), "- extra: Extra inputs are not permitted"),
        ('{"mode": "CODE", "why": "\\ud800"}', "- why: "),
    ],
)
def test_says_what_is_wrong(text: str, said: str) -> None:
    """What cannot be read is refused with the faults by place."""
    with pytest.raises(NotReadable, match=said):
        read(text, Verdict)


@pytest.mark.parametrize(
    "shape", ["{", '{"a":', "{}", '{"', '"', "[{", "{'a': [", "{[}]", '{"mode": "CODE", "why": {"']
)
def test_hostile_shapes_are_refused(shape: str) -> None:
    """Endless nesting, endless objects and endless quotes end in a refusal, not in a crash."""
    with pytest.raises(NotReadable):
        read(shape * 20_000, Verdict)


def test_faults_are_listed_up_to_a_bound() -> None:
    """A model that got everything wrong is told a few faults, not hundreds."""
    with pytest.raises(NotReadable) as problem:
        read(json.dumps({**GOOD, "passages": ["x"] * 100}), Verdict)
    assert str(problem.value).count("\n- ") == 8


@settings(deadline=None, max_examples=60)
@given(st.text(), st.fixed_dictionaries({"mode": st.just("CODE"), "why": st.text(min_size=1)}))
def test_any_valid_object_survives_its_wrapping(prose: str, made: dict[str, Any]) -> None:
    """Whatever brace-free prose stands before and after it, a valid object is read as it is."""
    clean = prose.replace("{", "").replace("}", "").replace("<", "")
    expected = Verdict.model_validate(made)
    assert read(f"{clean}\n{json.dumps(made)}\n{clean}", Verdict) == expected
