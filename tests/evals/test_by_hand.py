"""Test the model server whose answers are written by hand."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from evals.by_hand.__main__ import main
from evals.by_hand.answers import RefusedAnswer, check_answer
from evals.by_hand.folder import RequestFolder
from evals.by_hand.server import ByHandServer
from tenure.contracts.messages import Message
from tenure.models.chat import ChatRequest, Completion, ModelCall
from tenure.models.errors import UnusableAnswer
from tenure.models.openai.chat import OpenAIChat
from tenure.roles.research.question_rewriter import ROLE
from tests.model_server import Recording
from tests.model_server.recording import RecordedAnswer
from tests.models.routes import routes
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
PROMPT = (Message(role="system", content="You name things."), Message(role="user", content="Name “it”."))
TITLE = json.dumps({"question": "A name", "calculation": ""})


def build_request(**options: Any) -> ChatRequest:
    return ChatRequest(ROLE.name, "main", PROMPT, ROLE.output.model_json_schema(), **options)


@asynccontextmanager
async def connected(base_url: str) -> AsyncIterator[OpenAIChat]:
    chat = OpenAIChat(routes("large"), base_url=base_url)
    try:
        yield chat
    finally:
        await chat.aclose()


async def run(*arguments: str | Path) -> int:
    return await asyncio.to_thread(main, [str(argument) for argument in arguments])


async def ask_and_answer(folder: Path, request: ChatRequest, answer: str) -> Completion:
    """Ask, wait for the request in the folder, and store its answer."""
    with ByHandServer(RequestFolder(folder)) as server:
        async with connected(server.base_url) as chat:
            asked = asyncio.create_task(chat.complete(request, ModelCall()))
            assert await run("next", "--folder", folder, "--wait", "30") == 0
            (folder / "answer").write_text(answer, encoding="utf-8")
            assert await run("answer", "--folder", folder, "1", folder / "answer") == 0
            return await asked


async def test_a_stored_answer_is_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The next request is shown with messages and schema, and its answer reaches the client unchanged."""
    completion = await ask_and_answer(tmp_path, build_request(max_output=500), TITLE)

    assert (completion.text, completion.model) == (TITLE, "large")
    assert completion.usage.tokens_in > 0
    shown = capsys.readouterr().out
    assert shown.startswith("# Request 1: question_rewriter\n")
    assert "at most 500 tokens" in shown
    assert "## user\n\nName “it”.\n" in shown
    assert '"question"' in shown.partition("## Answer: JSON of this schema")[2]


async def test_a_streamed_answer_is_sent(tmp_path: Path) -> None:
    """A client that asks for a stream receives one."""
    completion = await ask_and_answer(tmp_path, build_request(streamed=True), TITLE)

    assert completion.text == TITLE
    assert completion.first_token_seconds is not None


async def test_a_function_call_is_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer to a request with functions, as other systems make them, is sent as a call of one of them."""
    given = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    function = {"name": "search", "description": "Searches.", "parameters": given}
    body = {
        "model": "large",
        "messages": [message.model_dump() for message in PROMPT],
        "tools": [{"type": "function", "function": function}],
    }
    (tmp_path / "answer").write_text(json.dumps({"action": "search", "arguments": {"query": "bread"}}))
    with ByHandServer(RequestFolder(tmp_path)) as server:
        async with httpx.AsyncClient() as client:
            asked = asyncio.create_task(client.post(f"{server.base_url}/chat/completions", json=body, timeout=30))
            assert await run("next", "--folder", tmp_path, "--wait", "30") == 0
            assert await run("answer", "--folder", tmp_path, "1", tmp_path / "answer") == 0
            (choice,) = (await asked).json()["choices"]

    (call,) = choice["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("search", {"query": "bread"})
    assert "### search" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("A name", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "'question' is a required property"),
        ('{"question": "x", "more": 1}', "'more' was unexpected"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused(
    answer: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refused answer is explained and not stored, and the request remains open."""
    with ByHandServer(RequestFolder(tmp_path)) as server:
        async with connected(server.base_url) as chat:
            asked = asyncio.create_task(chat.complete(build_request(), ModelCall()))
            assert await run("next", "--folder", tmp_path, "--wait", "30") == 0
            (tmp_path / "answer").write_text(answer, encoding="utf-8")
            assert await run("answer", "--folder", tmp_path, "1", tmp_path / "answer") == 1
            assert complaint in capsys.readouterr().err
            assert await run("next", "--folder", tmp_path) == 0
            asked.cancel()


@pytest.mark.parametrize(
    ("answer", "complaint"), [(" \n", "the answer is empty"), ("# Bread", "it contains no report")]
)
def test_an_answer_in_text_is_checked_by_its_role(answer: str, complaint: str) -> None:
    """A role that answers in text reads it as the model layer would; a request of no role takes any text."""
    body, other = (
        {"model": "m", "messages": [{"role": "user", "content": f'<task name="{role}">\nWrite.\n</task>'}]}
        for role in ("report_writer", "namer")
    )
    check_answer(body, "# Bread\n\nIt rises [1].")
    check_answer(other, "# Bread")
    with pytest.raises(RefusedAnswer, match=complaint):
        check_answer(body, answer)


async def test_a_repeated_request_keeps_its_number_and_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A request whose client has left is not shown; it can be answered, and its retry gets the answer immediately."""
    folder = RequestFolder(tmp_path)
    with ByHandServer(folder) as server:
        async with connected(server.base_url) as chat:
            asked = asyncio.create_task(chat.complete(build_request(), ModelCall()))
            assert await run("next", "--folder", tmp_path, "--wait", "30") == 0
            asked.cancel()
            await wait_until("the end of the request", lambda: not folder.find_open())
    assert await run("next", "--folder", tmp_path) == 1
    assert await run("list", "--folder", tmp_path) == 0
    assert "1 question_rewriter        abandoned" in capsys.readouterr().out
    (tmp_path / "answer").write_text(TITLE, encoding="utf-8")
    assert await run("answer", "--folder", tmp_path, "1", tmp_path / "answer") == 0

    with ByHandServer(folder) as server:
        async with connected(server.base_url) as chat:
            assert (await chat.complete(build_request(), ModelCall())).text == TITLE

    assert len(folder.load_all()) == 1


async def test_an_unknown_request_cannot_be_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The number of a request that does not exist is refused."""
    assert await run("answer", "--folder", tmp_path, "7", tmp_path / "answer") == 1
    assert "there is no request 7" in capsys.readouterr().err


async def test_other_paths_are_refused(tmp_path: Path) -> None:
    """A request for another service is rejected immediately, instead of waiting for a person."""
    with ByHandServer(RequestFolder(tmp_path)) as server:
        async with httpx.AsyncClient() as http:
            refused = await http.post(f"{server.base_url}/embeddings", json={"model": "m", "input": "x"}, timeout=30)
            listed = await http.get(f"{server.base_url}/models", timeout=30)

    assert (refused.status_code, listed.json()["data"][0]["id"]) == (404, "by-hand")


async def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    """The process prints the settings of a client, serves, and ends at an interrupt."""
    command = [sys.executable, "-m", "evals.by_hand", "serve", "--folder", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = (await asyncio.to_thread(process.stdout.readline)).split()[0].removeprefix("OPENAI_BASE_URL=")
        async with connected(base_url) as chat:
            asked = asyncio.create_task(chat.complete(build_request(), ModelCall()))
            assert await run("next", "--folder", tmp_path, "--wait", "30") == 0
            (tmp_path / "answer").write_text(TITLE, encoding="utf-8")
            assert await run("answer", "--folder", tmp_path, "1", tmp_path / "answer") == 0
            assert (await asked).text == TITLE
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 30) == 0


async def test_several_function_calls_are_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer may have a text and several calls; the request that continues it is shown without what was seen."""
    given = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    tools = [{"type": "function", "function": {"name": "bash", "parameters": given}}]
    body = {"model": "large", "messages": [{"role": "user", "content": "Look."}], "tools": tools}
    calls = [{"action": "bash", "arguments": {"command": name}} for name in ("ls", "pwd")]
    answers = [{"text": "I look.", "calls": calls}, {"action": "bash", "arguments": {"command": "true"}}]
    with ByHandServer(RequestFolder(tmp_path)) as server:
        async with httpx.AsyncClient() as client:
            for number, answer in enumerate(answers, 1):
                (tmp_path / "answer").write_text(json.dumps(answer))
                asked = asyncio.create_task(client.post(f"{server.base_url}/chat/completions", json=body, timeout=30))
                assert await run("next", "--folder", tmp_path, "--wait", "30", "--new") == 0
                assert await run("answer", "--folder", tmp_path, str(number), tmp_path / "answer") == 0
                message = (await asked).json()["choices"][0]["message"]
                replies = [
                    {"role": "tool", "tool_call_id": call["id"], "content": "done"}
                    for call in message.get("tool_calls", ())
                ]
                body = {**body, "messages": [*body["messages"], message, *replies]}

    first, second = capsys.readouterr().out.split("# Request 2")
    assert "Look." in first
    assert "Look." not in second
    assert 'I look.\n\nbash {"command": "ls"}\n\nbash {"command": "pwd"}\n\n## tool\n\ndone' in second
    assert [call["id"] for call in body["messages"][1]["tool_calls"]] == ["call_1", "call_2"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"calls": []}, "calls: is a list"),
        ({"calls": [{"action": "ls", "arguments": {}}]}, "action: is one of bash"),
        ({"text": 1, "calls": [{"action": "bash", "arguments": {}}]}, "text: is a text"),
    ],
)
def test_function_calls_that_do_not_fit_are_refused(answer: dict[str, Any], complaint: str) -> None:
    """Each call of a list is checked."""
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    with pytest.raises(RefusedAnswer, match=complaint):
        check_answer({"model": "m", "messages": [], "tools": tools}, json.dumps(answer))


def recorded(question: str, answer: dict[str, Any]) -> Recording:
    """Return a recording of one answer to a question."""
    return Recording([RecordedAnswer(ROLE.name, f"<question>\n{question}\n</question>", answer)])


def question_request(question: str) -> ChatRequest:
    prompt = (PROMPT[0], Message(role="user", content=f"<question>\n{question}\n</question>\nBriefly."))
    return ChatRequest(ROLE.name, "main", prompt, ROLE.output.model_json_schema())


async def test_a_recording_answers_what_it_can(tmp_path: Path) -> None:
    """A request of a recorded question is answered and kept; another one is refused as a model refuses, and counted."""
    recording = recorded("What is rye?", json.loads(TITLE))
    with ByHandServer(RequestFolder(tmp_path), recording=recording, waits=False) as server:
        async with connected(server.base_url) as chat:
            completion = await chat.complete(question_request("What is rye?"), ModelCall())
            with pytest.raises(UnusableAnswer, match="refused"):
                await chat.complete(question_request("What is oat?"), ModelCall())

    assert json.loads(completion.text) == json.loads(TITLE)
    assert server.missed == [ROLE.name]
    assert [request.answer is not None for request in RequestFolder(tmp_path).load_all()] == [True, False]


async def test_what_a_recording_lacks_can_be_answered_by_hand(tmp_path: Path) -> None:
    """An answer that no longer fits the schema is not sent; the request waits for a person."""
    recording = recorded("What is rye?", {"title": "of an older schema"})
    with ByHandServer(RequestFolder(tmp_path), recording=recording) as server:
        async with connected(server.base_url) as chat:
            asked = asyncio.create_task(chat.complete(question_request("What is rye?"), ModelCall()))
            assert await run("next", "--folder", tmp_path, "--wait", "30") == 0
            (tmp_path / "answer").write_text(TITLE, encoding="utf-8")
            assert await run("answer", "--folder", tmp_path, "1", tmp_path / "answer") == 0
            assert (await asked).text == TITLE

    assert server.missed == [ROLE.name]
