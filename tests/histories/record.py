"""Record the histories that `tests/test_replay.py` replays: `python -m tests.histories.record [NAME]…`.

There is one run for each path through the workflows, on a real server, with a scripted model. Record again only if a
change of a workflow is meant to break running runs; otherwise the old histories must replay.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Feedback, RunLimits, RunRequest
from tenure.contracts.sandbox import InputFile
from tenure.temporal.converter import DATA_CONVERTER
from tests.conftest import EVERYWHERE, SERVER_OPTIONS, temporal_binary
from tests.support.sandboxes import ScriptedSandbox
from tests.support.worlds import (
    ENOUGH,
    KITCHEN,
    NO_CRITIQUE,
    Held,
    Line,
    Reply,
    Reticent,
    ScriptedChat,
    in_turn,
    plans,
    says,
    search,
    story,
    text,
)
from worker import WORKFLOWS, build_activities, build_sandbox_activities, create_workflow_runner
from workflows.run.agent import AgentWorkflow
from workflows.runtime import search_attributes
from workflows.runtime.task_queues import SANDBOX_QUEUE, TENURE_QUEUE

HERE = Path(__file__).parent
SLASH = "__"
"""Replacement for the slash of a workflow id in a file name; replay needs the original id."""
Handle = WorkflowHandle[Any, Result]
Act = Callable[[Handle, Held], Awaitable[None]]

REQUEST = RunRequest(
    question="How are bread and cheese made?",
    ingest=(IngestRequest(corpus="kitchen", paths=("/kitchen",)),),
    corpora=("kitchen",),
    limits=RunLimits(min_relevance=0.05),
)


TESTS = (InputFile(name="test_it.py", text="from solution import f\n\n\ndef test_f():\n    assert f()\n"),)
LESSON = {"failed": "The test.", "cause": "It is wrong.", "change": "Make it right."}


def program(text: str) -> dict[str, Any]:
    """Return a coder's answer that prints a word."""
    files = [{"path": "solution.py", "content": f"NOTE = '{text}'\n"}]
    return {"approach": f"It says {text}.", "files": files, "entry": "", "args": [], "stdin": ""}


async def _wait(handle: Handle, held: Held) -> None:
    held.released.set()


async def _feedback(handle: Handle, held: Held) -> None:
    await held.reached.wait()
    await handle.signal(AgentWorkflow.feedback, Feedback(text="More on mould", topic="Cheese"))
    await asyncio.sleep(0.5)  # the signal must reach the history; recordings need not be fast
    held.released.set()


async def _pause(handle: Handle, held: Held) -> None:
    await held.reached.wait()
    await handle.signal(AgentWorkflow.pause)
    held.released.set()
    await asyncio.sleep(0.5)
    await handle.signal(AgentWorkflow.resume)


async def _finish(handle: Handle, held: Held) -> None:
    await held.reached.wait()
    await handle.signal(AgentWorkflow.finish)
    await asyncio.sleep(0.5)
    held.released.set()


async def _cancel(handle: Handle, held: Held) -> None:
    await held.reached.wait()
    await handle.signal(AgentWorkflow.cancel)
    await asyncio.sleep(0.5)
    held.released.set()


def _revised() -> dict[str, Any]:
    review = in_turn({"critique": "No mould.", "action": "SEARCH", "query": "mould"}, NO_CRITIQUE)
    wanted = {"critiques": [{"topic": "Bread", "critique": "Too short.", "query": ""}], "further_considerations": []}
    return story(
        section_reviewer=review, report_reflector=in_turn(wanted, {"critiques": [], "further_considerations": []})
    )


def _first(held: Held, after: Line) -> Line:
    """A line that waits the first time it is asked for, and another one afterwards."""
    lines: list[Line] = [held, after]

    async def line(prompt: str) -> Reply:
        return await (lines.pop(0) if len(lines) > 1 else lines[0])(prompt)

    return line


def _cycles(held: Held) -> dict[str, Any]:
    """Record a research of two cycles; feedback during the first decision reaches the second plan."""
    added = {"action": "ADD_TO_OUTLINE", "query": "How is wine made?", "target_outline_topic": "Wine"}
    first = plans(
        search("How long does the dough rise?", id="a"),
        search("How long does dough rise?", id="b"),
        search("Which milk curdles?", "Cheese", id="c", depends_on=["a"]),
        added,
    )
    second = plans(
        search("How long does dough rise?"),
        search("What does the mould of blue cheese need?", "Cheese", id="d"),
        {"action": "DROP_TOPIC", "target_outline_topic": "Wine"},
    )
    return story(planner=in_turn(first, second), decider=_first(held, says(ENOUGH)))


def paths() -> dict[str, tuple[ScriptedChat | None, RunRequest, Act, Held]]:
    """Return every recorded path: its model, request, user action, and the answer at which the model waits."""
    held = {name: Held(text(("All about it.", 1))) for name in ("feedback", "pause", "finish", "cancel")}
    more = Held({"needs_more_research": True, "reasoning": "Mould is missing.", "key_factors": ["mould"]})
    plain, coding = Held({}), Held(program("right"))
    code = REQUEST.model_copy(update={"mode": "code", "tests": TESTS})
    alone = code.model_copy(update={"limits": RunLimits(min_relevance=0.05, sandbox_wait_seconds=0.3)})
    given = code.model_copy(update={"files": (InputFile(name="solution.py", text="def f():\n    return 1\n"),)})
    written = in_turn(program("wrong"), program("wrong"), program("right"))
    nothing = REQUEST.model_copy(update={"question": "Quantum chromodynamics?"})
    return {
        "offline": (None, REQUEST, _wait, plain),
        "revised": (ScriptedChat(_revised()), REQUEST, _wait, plain),
        "no_evidence": (None, nothing, _wait, plain),
        "unsupported": (None, alone, _wait, plain),
        "code": (ScriptedChat(story(coder=written, code_reflector=says(LESSON))), code, _wait, plain),
        "code_repaired": (None, given, _wait, plain),
        "code_cancel": (ScriptedChat(story(coder=coding)), code, _cancel, coding),
        "fallback": (ScriptedChat(story(outliner=says("no"))), REQUEST, _wait, plain),
        "cycles": (ScriptedChat(_cycles(more)), REQUEST, _feedback, more),
        **{
            name: (ScriptedChat(story(section_writer=held[name])), REQUEST, act, held[name])
            for name, act in (("feedback", _feedback), ("pause", _pause), ("finish", _finish), ("cancel", _cancel))
        },
    }


async def record(client: Client, name: str) -> None:
    """Run one path and write the histories of the run and of its children."""
    chat, request, act, held = paths()[name]
    methods = build_activities(
        chat,
        Reticent(KITCHEN, whole=REQUEST.question),  # type: ignore[arg-type]
        roots=EVERYWHERE,
    )
    if name.startswith("code"):
        needed = "return 2" if name == "code_repaired" else "right"
        methods[SANDBOX_QUEUE] = build_sandbox_activities(ScriptedSandbox(needed=(needed,)), Path("artifacts"))
    run = f"recorded-{name}"
    async with AsyncExitStack() as stack:
        threads = stack.enter_context(ThreadPoolExecutor(8))
        for queue in methods:
            worker = Worker(
                client,
                task_queue=queue,
                workflows=WORKFLOWS if queue == TENURE_QUEUE else [],
                activities=methods[queue],
                activity_executor=threads,
                workflow_runner=create_workflow_runner(),
            )
            await stack.enter_async_context(worker)
        handle = await client.start_workflow(AgentWorkflow.run, request, id=run, task_queue=TENURE_QUEUE)
        await act(handle, held)
        await handle.result()
    for workflow_id in (run, f"{run}/research", f"{run}/spiral", f"{run}/section-1", f"{run}/section-2", f"{run}/code"):
        await _write(client, workflow_id)


async def _write(client: Client, workflow_id: str) -> None:
    async for execution in client.list_workflows(f"WorkflowId = '{workflow_id}'"):
        history = await client.get_workflow_handle(execution.id, run_id=execution.run_id).fetch_history()
        compact = json.dumps(history.to_json_dict(), separators=(",", ":"), ensure_ascii=False)
        (HERE / f"{workflow_id.replace('/', SLASH)}.json").write_text(compact + "\n")


async def main(names: Sequence[str]) -> None:
    """Record the named runs, or all of them."""
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=temporal_binary(),
        data_converter=DATA_CONVERTER,
        search_attributes=list(search_attributes.ALL),
        dev_server_extra_args=SERVER_OPTIONS,
    ) as environment:
        for name in names or paths():
            await record(environment.client, name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
