"""Record the work in a repository."""

from dataclasses import replace
from typing import Any

from tenure.contracts.base import RunId
from tenure.contracts.research.fork import RepositoryCheckpoint, RepositoryForkRequest, RepositoryOrigin
from tenure.contracts.run.run import Feedback, RunRequest
from tests.histories.recorder import Act, Handle, Recorder, limit, wait_for_signal
from tests.support.repositories.memory import MemoryRepository
from tests.support.sandboxes import ScriptedSandbox
from tests.support.worlds import Held, Line, MemoryKnowledge, Reply, ScriptedChat, in_turn, says, story
from tests.workflows.coding.test_repository import DONE, FIX, READ, TASK, request
from tests.workflows.runtime.test_web_client import BREAD, PAGES, Outside
from workflows.run.agent import AgentWorkflow

LOOK = f"{READ}\nLIST src"


def _make_repository(repair: tuple[str, str] | None = None) -> MemoryRepository:
    """Return a repository with a linter, in which a search finds a repair."""
    repository = MemoryRepository(repair=repair)
    environment = repository.setup.environment.model_copy(update={"checks": ("ruff check",)})
    return replace(repository, setup=repository.setup.model_copy(update={"environment": environment}))


def _chain(*lines: Line) -> Line:
    """Return lines that answer one after the other."""
    left = list(lines)

    async def line(prompt: str) -> Reply:
        return await left.pop(0)(prompt)

    return line


async def _record(recorder: Recorder, engineer: Line, asked: RunRequest, act: Act | None = None) -> None:
    """Record one run in a repository, in which `act` does what people do."""
    chat = ScriptedChat(story(repository_engineer=engineer))
    async with recorder.serve(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[_make_repository()]):
        handle = await recorder.start(AgentWorkflow.run, asked)
        if act:
            await act(handle)
        await recorder.wait_for_end()


async def repository(recorder: Recorder) -> None:
    """Record an issue that is resolved and proved."""
    await _record(recorder, in_turn(LOOK, FIX, DONE), request())


async def repository_page(recorder: Recorder) -> None:
    """Record a task that is the address of a page."""
    task = TASK.model_copy(update={"web": True})
    asked = request(task).model_copy(update={"question": BREAD})
    chat = ScriptedChat(story(repository_engineer=in_turn(DONE)))
    worlds: Any = {"web": [Outside().fetch_pages], "others": [_make_repository()]}
    async with recorder.serve(chat, MemoryKnowledge({}, pages=PAGES), ScriptedSandbox(), **worlds):
        await recorder.start(AgentWorkflow.run, asked)
        await recorder.wait_for_end()


async def repository_failed(recorder: Recorder) -> None:
    """Record changes that fail until the attempts are used up, and a conversation in two histories."""
    wrong = FIX.replace("'right'", "'other'") + DONE
    asked = limit(request(), max_code_attempts=2, max_history_events=100)
    await _record(recorder, in_turn(LOOK, wrong, LOOK, LOOK, DONE), asked)


async def repository_feedback(recorder: Recorder) -> None:
    """Record feedback and a pause while the model reads."""
    held = Held(LOOK)

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(AgentWorkflow.pause)
        await handle.signal(AgentWorkflow.feedback, Feedback(text="Be kind"))
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/repository"), "feedback")
        held.released.set()
        await handle.signal(AgentWorkflow.resume)

    await _record(recorder, _chain(held, says(FIX), says(DONE)), request(), act)


async def repository_cancel(recorder: Recorder) -> None:
    """Record a run that is cancelled after its first change."""
    held = Held(DONE)

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(AgentWorkflow.cancel)
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/repository"), "cancel")
        held.released.set()

    await _record(recorder, _chain(says(FIX), held), request(), act)


async def repository_repaired(recorder: Recorder) -> None:
    """Record a search for a repair without a model."""
    others = [_make_repository(("'wrong'", "'right'"))]
    async with recorder.serve(None, MemoryKnowledge({}), ScriptedSandbox(), others=others):
        await recorder.start(AgentWorkflow.run, request())
        await recorder.wait_for_end()


async def repository_attempts(recorder: Recorder) -> None:
    """Record two attempts, of which the proved one is delivered."""
    asked = limit(request(), candidates=2, max_code_attempts=1, max_calls=40, has_model=True)

    async def engineer(prompt: str) -> str:
        return FIX + DONE if "This is attempt 2 of 2" in prompt else READ + DONE

    await _record(recorder, engineer, asked)


async def repository_without_model(recorder: Recorder) -> None:
    """Record a run whose model answers nothing that can be read: the places are named."""
    await _record(recorder, says("I do not know."), request())


async def repository_fork(recorder: Recorder) -> None:
    """Record an issue that is resolved, and a fork that continues after its first answer."""

    async def act(handle: Handle) -> None:
        await handle.result()
        part = recorder.client.get_workflow_handle(f"{handle.id}/repository")
        found = await part.query("checkpoint", 1, result_type=RepositoryCheckpoint)
        assert found.request
        feedback = (Feedback(text="Mind the tests."),)
        origin = RepositoryOrigin(run=RunId(handle.id), request=found.request.model_copy(update={"feedback": feedback}))
        forked = RepositoryForkRequest(**dict(request()), origin=origin)
        await recorder.start(AgentWorkflow.run, forked, suffix="-fork")

    await _record(recorder, in_turn(LOOK, FIX + DONE, FIX + DONE), request(), act)
