"""Questions about a change of a repository, from a finished run to the answer."""

import pytest

from tenure.report.render.markdown import render_answer
from tenure.runs.ask import start_answer
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.messages import AskBody
from tenure.runs.session.connection import Session
from tenure.runs.session.server_target import ServerTarget
from tenure.settings import Settings
from tests.conftest import Serving, Stage
from tests.support.repositories.memory import MemoryRepository
from tests.support.sandboxes import ScriptedSandbox
from tests.support.worlds import Held, MemoryKnowledge, ScriptedChat, in_turn, says, story
from tests.workflows.coding.test_repository import DONE, FIX, READ, request


def connect(stage: Stage) -> Session:
    """Return a session on the server of a test."""
    return Session(ServerTarget(Settings(_env_file=None), "", "default", False, ""), stage.client)


async def test_a_change_answers_questions(serving: Serving) -> None:
    """The answer cites the change of the file, and what the report states is known to it."""
    chat = ScriptedChat(
        story(
            repository_engineer=in_turn(READ, FIX, DONE),
            question_rewriter=says({"question": "Why was f changed?"}),
            answerer=says("It returned the wrong word [1], which the patch replaces [2]."),
        )
    )
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[MemoryRepository()]) as stage:
        run = await stage.start(request())
        await run.result()
        handle = await start_answer(connect(stage), run.id, AskBody(question="Why was it changed?"))
        stage.adopt(handle)
        answer = await handle.result()

    assert answer.status == "answered" and all(source.derived for source in answer.sources)
    prompt = next(prompt for role, prompt in chat.asked if role == "answerer")
    assert "Its report answered: src/a.py:2 returned the wrong word. It returns the right one." in prompt
    assert 'source="The change of src/a.py"' in prompt and 'source="The work"' in prompt
    assert f"run:{run.id}/The task" in render_answer(answer)


async def test_a_change_that_is_not_finished_or_has_failed_is_refused(serving: Serving) -> None:
    """One line says why there is nothing to ask about."""
    held = Held(DONE)
    chat = ScriptedChat(story(repository_engineer=held))
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[MemoryRepository()]) as stage:
        run = await stage.start(request())
        await held.reached.wait()
        with pytest.raises(InvalidRequest, match=r"has no change to ask about yet: .*watch"):
            await start_answer(connect(stage), run.id, AskBody(question="Why?"))
        await run.terminate(reason="enough")
        with pytest.raises(TenureError, match="enough"):
            await start_answer(connect(stage), run.id, AskBody(question="Why?"))
        held.released.set()
        stage.forget()
