"""Record runs that write programs."""

from typing import Any

from tenure.contracts.run.run import Feedback
from tenure.contracts.sandbox import InputFile, SandboxSelfTest
from tests.histories.recorder import REQUEST, Handle, Recorder, limit, wait_for_signal
from tests.histories.recordings.reports import refuse
from tests.support.sandboxes import ScriptedSandbox
from tests.support.worlds import KITCHEN, Held, MemoryKnowledge, Reply, ScriptedChat, in_turn, says, story
from tests.workflows.run.test_run_memory import remembered
from workflows.run.agent import AgentWorkflow

TESTS = (InputFile(name="test_it.py", text="from solution import f\n\n\ndef test_f():\n    assert f()\n"),)
LESSON = {"failed": "The test.", "cause": "It is wrong.", "change": "Make it right."}
CODE = REQUEST.model_copy(update={"mode": "code", "tests": TESTS})
UNTESTED = CODE.model_copy(update={"tests": ()})


def build_program(text: str, *, path: str = "solution.py", entry: str = "") -> dict[str, Any]:
    """Return a coder's answer that contains a text."""
    files = [{"path": path, "content": f"NOTE = '{text}'\n"}]
    return {"approach": f"It says {text}.", "files": files, "entry": entry, "args": [], "stdin": ""}


async def unsupported(recorder: Recorder) -> None:
    """Record a program that no worker can run."""
    await recorder.run(None, limit(CODE, sandbox_wait_seconds=0.3))


async def code(recorder: Recorder) -> None:
    """Record a program that fails, is repeated, and passes after a reflection."""
    written = in_turn(build_program("wrong"), build_program("wrong"), build_program("right"))
    chat = ScriptedChat(story(coder=written, code_reflector=says(LESSON)))
    await recorder.run(chat, CODE, box=ScriptedSandbox())


async def code_remembered(recorder: Recorder) -> None:
    """Record a run that leaves a lesson, and a run that starts with it."""
    request, knowledge = CODE.model_copy(update={"memory": True}), MemoryKnowledge(dict(KITCHEN))
    written = in_turn(build_program("wrong"), build_program("right"), build_program("right"))
    chat = ScriptedChat(story(coder=written, code_reflector=says(LESSON)))
    async with recorder.serve(chat, knowledge, ScriptedSandbox()):
        first = await recorder.start(AgentWorkflow.run, request)
        await first.result()
        knowledge.memories.recollection = remembered(knowledge)
        await recorder.start(AgentWorkflow.run, request, suffix="-next")
        await recorder.wait_for_end()


async def code_repaired(recorder: Recorder) -> None:
    """Record a search for a small edit of a given file."""
    given = CODE.model_copy(update={"files": (InputFile(name="solution.py", text="def f():\n    return 1\n"),)})
    await recorder.run(None, given, box=ScriptedSandbox(needed=("return 2",)))


async def code_cancel(recorder: Recorder) -> None:
    """Record a run that is cancelled while its first program is written."""
    held = Held(build_program("right"))

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(AgentWorkflow.cancel)
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/code"), "cancel")
        held.released.set()

    await recorder.run(ScriptedChat(story(coder=held)), CODE, act, box=ScriptedSandbox())


async def code_specified(recorder: Recorder) -> None:
    """Record tests that a role writes, several candidates, and a program that is also run alone."""

    async def write(prompt: str) -> Reply:
        return build_program("right" if "candidate 2 of 3" in prompt else "bad", entry="solution.py")

    tests = says(
        {
            "specification": "f is right.",
            "task": "program",
            "tests": [{"path": "test_it.py", "content": TESTS[0].text or ""}],
        }
    )
    await recorder.run(
        ScriptedChat(story(test_writer=tests, coder=write)), limit(UNTESTED, candidates=3), box=ScriptedSandbox()
    )


async def code_untested(recorder: Recorder) -> None:
    """Record a program without tests, which crashes at first."""
    none = says({"specification": "Plot it.", "task": "program", "tests": []})
    coder = in_turn(build_program("crash"), build_program("right"))
    chat = ScriptedChat(story(test_writer=none, coder=coder, code_reflector=says(LESSON)))
    await recorder.run(chat, UNTESTED, box=ScriptedSandbox())


async def code_tests(recorder: Recorder) -> None:
    """Record a task to write tests for given code."""
    wanted = says({"specification": "Test it.", "task": "tests", "tests": []})
    given = UNTESTED.model_copy(update={"files": (InputFile(name="given.py", text="VALUE = 'right'\n"),)})
    chat = ScriptedChat(story(test_writer=wanted, coder=says(build_program("x", path="test_given.py"))))
    await recorder.run(chat, given, box=ScriptedSandbox())


async def code_unrepairable(recorder: Recorder) -> None:
    """Record a program that is never right: no small edit is found, and no other program is written."""
    chat = ScriptedChat(story(coder=says(build_program("wrong")), code_reflector=says(LESSON)))
    await recorder.run(chat, limit(CODE, repair_seconds=2.0), box=ScriptedSandbox(breaks=1))


async def code_feedback(recorder: Recorder) -> None:
    """Record feedback, a pause and a finish while a program is tested."""
    box = ScriptedSandbox(held=True)
    coder = in_turn(build_program("right"), build_program("right and kind"))

    async def act(handle: Handle) -> None:
        child = recorder.client.get_workflow_handle(f"{handle.id}/code")
        await box.reached.wait()
        await handle.signal(AgentWorkflow.pause)
        await handle.signal(AgentWorkflow.feedback, Feedback(text="Be kind"))
        await wait_for_signal(child, "feedback")
        box.released.set()
        await handle.signal(AgentWorkflow.resume)

    await recorder.run(ScriptedChat(story(coder=coder)), CODE, act, box=box)


async def code_budget(recorder: Recorder) -> None:
    """Record a run whose budget of calls ends after its first program."""
    chat = ScriptedChat(story(coder=says(build_program("wrong"))))
    await recorder.run(chat, limit(CODE, max_calls=2, repair_seconds=0, max_call_output=256), box=ScriptedSandbox())


async def code_failed(recorder: Recorder) -> None:
    """Record a run whose key expires after its first program: the program is delivered."""
    chat = ScriptedChat(story(coder=says(build_program("wrong")), code_reflector=refuse))
    await recorder.run(chat, CODE, box=ScriptedSandbox())


async def code_refused(recorder: Recorder) -> None:
    """Record a run whose key is refused before there is a program."""
    await recorder.run(ScriptedChat(story(coder=refuse)), CODE, box=ScriptedSandbox())


async def code_unusable(recorder: Recorder) -> None:
    """Record a worker whose sandbox does not work."""
    found = SandboxSelfTest(usable=False, message="bwrap is missing: install bubblewrap")
    await recorder.run(ScriptedChat(story()), CODE, box=ScriptedSandbox(found=found))


async def code_finished(recorder: Recorder) -> None:
    """Record a run that is asked to finish while its first program is tested; its outline is not followed."""
    route = Held({"mode": "CODE", "complexity": "simple", "query_type": "procedural", "reason": "asked so"})
    box = ScriptedSandbox(held=True)

    async def act(handle: Handle) -> None:
        await route.reached.wait()
        await handle.signal(AgentWorkflow.outline, ["Bread"])
        await wait_for_signal(handle, "outline")
        route.released.set()
        await box.reached.wait()
        await handle.signal(AgentWorkflow.finish)
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/code"), "update_control")
        box.released.set()

    routed = CODE.model_copy(update={"mode": "auto"})
    await recorder.run(ScriptedChat(story(router=route, coder=says(build_program("wrong")))), routed, act, box=box)


async def code_limited(recorder: Recorder) -> None:
    """Record unusable tests of a role, a program that changes its tests, and the limit of attempts."""
    tests = says(
        {"specification": "f is right.", "task": "program", "tests": [{"path": "checks.py", "content": "def ("}]}
    )
    coder = in_turn(build_program("crash 1"), build_program("crash 2"), build_program("crash 3"))
    chat = ScriptedChat(story(test_writer=tests, coder=coder, code_reflector=says(LESSON)))
    await recorder.run(chat, limit(UNTESTED, max_code_attempts=2), box=ScriptedSandbox())


async def code_protected(recorder: Recorder) -> None:
    """Record programs that change the tests of the person, which are never run."""
    chat = ScriptedChat(story(coder=says(build_program("right", path="test_it.py")), code_reflector=says(LESSON)))
    await recorder.run(chat, limit(CODE, max_code_attempts=2), box=ScriptedSandbox())
