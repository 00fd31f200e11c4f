"""The coding path on a real Temporal server: phases, attempts, stop reasons and commands of people."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tenure.contracts.knowledge.memory import Memory
from tenure.contracts.run.run import Feedback, RunLimits, RunRequest
from tenure.contracts.sandbox import InputFile, SandboxSelfTest
from tests.conftest import Serving
from tests.histories.recorder import wait_for_signal
from tests.support.sandboxes import ScriptedSandbox
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.support.worlds import (
    KITCHEN,
    Held,
    KnownMemories,
    Line,
    MemoryKnowledge,
    Reply,
    ScriptedChat,
    in_turn,
    says,
    story,
)
from tests.workflows.run.test_run_memory import Forgetful, memory_of, owning, remembered
from workflows.run.agent import AgentWorkflow

TESTS = (InputFile(name="test_it.py", text="from solution import f\n\n\ndef test_right():\n    assert f()\n"),)
TASK = RunRequest(question="Write a function f that is right", mode="code", tests=TESTS)


def code(text: str, *, path: str = "solution.py", entry: str = "", args: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a coder's answer with one file."""
    return {
        "approach": f"It says {text}.",
        "files": [{"path": path, "content": f"NOTE = '{text}'\n"}],
        "entry": entry,
        "args": list(args),
        "stdin": "",
    }


def learned(change: str) -> dict[str, str]:
    """Return a reflector's answer."""
    return {"failed": "The test.", "cause": "It is wrong.", "change": change}


def script(**lines: Line) -> ScriptedChat:
    """Return a model whose first program is correct, with other answers for some roles."""
    route = {"mode": "CODE", "complexity": "simple", "query_type": "procedural", "reason": "asked so"}
    tests = [{"path": "test_it.py", "content": TESTS[0].text}]
    made: dict[str, Line] = {
        "router": says(route),
        "test_writer": says({"specification": "f is right.", "task": "program", "tests": tests}),
        "coder": says(code("right")),
        "code_reflector": says(learned("Say right.")),
    }
    return ScriptedChat(story(**(made | lines)))


@slow
async def test_failing_program_is_reflected_on_and_repaired(serving: Serving) -> None:
    """A failure leads to a reflection and another generation, which receives the failure and the lesson.

    The mode was requested, so that no router is asked.
    """
    chat, box = script(coder=in_turn(code("wrong"), code("right"))), ScriptedSandbox()
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK)).result()

    second = [prompt for role, prompt in chat.asked if role == "coder"][1]
    assert result.status == "done" and result.mode == "CODE"
    assert result.code == "NOTE = 'right'\n"
    assert [(attempt.n, attempt.error) for attempt in result.attempts] == [(1, "test_right: no right"), (2, None)]
    assert result.attempts[0].reflection and result.attempts[0].reflection.change == "Say right."
    assert "no right" in second and "Say right." in second and "NOTE = 'wrong'" in second
    assert chat.count("test_writer") == chat.count("router") == 0
    assert result.verification and (
        result.verification.test_author,
        result.verification.passed,
        result.verification.total,
    ) == ("person", 1, 1)


@slow
@pytest.mark.parametrize("memories", [Forgetful(), owning()], ids=["failing", "known"])
async def test_a_question_that_is_taken_for_a_program_mentions_no_earlier_research(
    serving: Serving, memories: KnownMemories
) -> None:
    """A plain question recalls earlier runs while it is routed; a program is written without them."""
    knowledge = MemoryKnowledge({}, memories=memories)
    async with serving(script(), knowledge, ScriptedSandbox()) as stage:
        result = await (await stage.start(RunRequest(question="What is right?", memory=True))).result()

    assert (result.status, result.mode) == ("done", "CODE")
    assert len(memories.asked) > 1
    assert not [note for note in result.notes if note.startswith(("Earlier runs", "Recalled"))]


@slow
async def test_failing_run_delivers_its_best_attempt(serving: Serving) -> None:
    """After the last generation the best program is delivered with its failing tests, and no other role is asked."""
    chat = script(coder=in_turn(code("nothing"), code("good"), code("bad")))
    box = ScriptedSandbox(needed=("good", "right"))
    limits = RunLimits(max_code_attempts=3, repair_seconds=0)
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK.model_copy(update={"limits": limits}))).result()

    assert result.status == "failing_tests"
    assert result.code == "NOTE = 'good'\n"
    assert result.verification and [failure.test for failure in result.verification.failures] == ["test_right"]
    assert chat.count("coder") == 3 and chat.count("code_reflector") == 2


@slow
async def test_same_program_is_never_tried_twice(serving: Serving) -> None:
    """A program that differs only in layout is requested again once, and then the run ends."""
    same = {**code("wrong"), "files": [{"path": "solution.py", "content": "NOTE  =  'wrong'  # again\n"}]}
    chat, box = script(coder=in_turn(code("wrong"), same)), ScriptedSandbox()
    limits = RunLimits(repair_seconds=0)
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK.model_copy(update={"limits": limits}))).result()

    assert len(box.trials) == 1 and chat.count("coder") == 3
    assert result.status == "failing_tests"
    assert "Ended because there was no program left to try." in result.decisions


async def test_candidates_are_tested_concurrently(serving: Serving) -> None:
    """Each generation has several programs; the one that passes most tests is reflected on and delivered."""

    async def by_candidate(prompt: str) -> Reply:
        return code("good right" if "candidate 2 of 3" in prompt else "good" if "candidate 3" in prompt else "bad")

    chat, box = script(coder=by_candidate), ScriptedSandbox(needed=("good", "right"))
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK.model_copy(update={"limits": RunLimits(candidates=3)}))).result()

    assert [attempt.passed for attempt in result.attempts] == [0, 2, 1]
    assert [attempt.generation for attempt in result.attempts] == [1, 1, 1]
    assert result.status == "done" and result.code == "NOTE = 'good right'\n"


async def test_own_tests_are_reported_as_such(serving: Serving) -> None:
    """Without a person's tests a role writes them before the program, and the report names their author."""
    chat, box = script(), ScriptedSandbox()
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK.model_copy(update={"tests": ()}))).result()

    assert result.verification and result.verification.test_author == "test_writer"
    assert result.tests[0].path == "test_it.py" and result.specification == "f is right."
    assert box.trials[0].tests[0].name == "test_it.py"


async def test_program_that_changes_the_tests_fails(serving: Serving) -> None:
    """A file with the name of a test file never reaches the sandbox, and the attempt gives the reason."""
    chat = script(coder=in_turn(code("right", path="test_it.py"), code("right")))
    box = ScriptedSandbox()
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK)).result()

    assert result.attempts[0].error == "test_it.py belongs to the tests and cannot be changed"
    assert result.status == "done" and len(box.trials) == 1


async def test_script_runs_with_its_arguments_after_its_tests(serving: Serving) -> None:
    """Its output is delivered, and a crash of this run is a failure."""
    chat = script(
        coder=in_turn(code("right crash", entry="solution.py"), code("right", entry="solution.py", args=("-v",)))
    )
    box = ScriptedSandbox()
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK)).result()

    assert [attempt.error for attempt in result.attempts] == ["it ended with exit code 3: ValueError: crash", None]
    assert result.attempts[-1].stdout == "args -v\n"


async def test_program_without_tests_has_to_run_successfully(serving: Serving) -> None:
    """If no tests are written, the exit code decides, and the report says so."""
    none = says({"specification": "Plot it.", "task": "program", "tests": []})
    async with serving(script(test_writer=none), MemoryKnowledge({}), box := ScriptedSandbox()) as stage:
        result = await (await stage.start(TASK.model_copy(update={"tests": ()}))).result()

    assert result.status == "done" and result.verification and result.verification.test_author == "none"
    assert box.trials == [] and len(box.programs) == 1
    assert any("no tests" in note for note in result.notes)


@slow
async def test_requested_tests_run_against_the_given_code(serving: Serving) -> None:
    """If the task is to write tests, the coder's files are the tests, next to the given code."""
    wanted = says({"specification": "Test it.", "task": "tests", "tests": []})
    given = (InputFile(name="given.py", text="VALUE = 'right'\n"),)
    chat, box = script(test_writer=wanted, coder=says(code("x", path="test_given.py"))), ScriptedSandbox()
    task = TASK.model_copy(update={"tests": (), "files": given})
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(task)).result()

    assert [file.name for file in box.trials[0].tests] == ["test_given.py"]
    assert [file.name for file in box.trials[0].files] == ["given.py"]
    assert result.status == "done" and result.verification and result.verification.test_author == "coder"


async def test_unusable_sandbox_ends_the_run(serving: Serving) -> None:
    """An unusable sandbox ends the run without a program or a wait, with its own message."""
    box = ScriptedSandbox(found=SandboxSelfTest(usable=False, message="bwrap is missing: install bubblewrap"))
    async with serving(script(), MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK)).result()

    assert result.status == "unsupported"
    assert "bwrap is missing: install bubblewrap" in result.notes


@slow
async def test_missing_sandbox_worker_ends_the_run(serving: Serving) -> None:
    """A sandbox queue that no worker polls is detected instead of waited for indefinitely."""
    async with serving(script(), MemoryKnowledge({})) as stage:
        task = TASK.model_copy(update={"limits": RunLimits(sandbox_wait_seconds=0.3)})
        result = await (await stage.start(task)).result()

    assert result.status == "unsupported"
    assert any("No worker runs programs" in note for note in result.notes)


@slow
async def test_sandbox_setup_failure_is_retried(serving: Serving) -> None:
    """A transient fault of the machine costs a retry and no attempt."""
    box = ScriptedSandbox(breaks=1)
    async with serving(script(), MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK)).result()

    assert result.status == "done" and len(result.attempts) == 1 and len(box.trials) == 2


async def test_feedback_reaches_the_next_generation(serving: Serving) -> None:
    """Feedback during a test starts another generation, even if the program passes."""
    chat, box = script(coder=in_turn(code("right"), code("right and kind"))), ScriptedSandbox(held=True)
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        handle = await stage.start(TASK)
        await box.reached.wait()
        await handle.signal(AgentWorkflow.feedback, Feedback(text="Be kind"))
        await wait_until("the feedback", lambda: handle.query(AgentWorkflow.progress), lambda known: known.feedback)
        box.released.set()
        result = await handle.result()

    assert any(role == "coder" and "Be kind" in prompt for role, prompt in chat.asked)
    assert result.code == "NOTE = 'right and kind'\n"
    assert [said.outcome for said in result.feedback] == ["Attempt 2 was written with it."]


async def test_finish_delivers_the_tested_program(serving: Serving) -> None:
    """A run that is asked to finish during a test ends with that program and writes no other."""
    chat, box = script(coder=says(code("wrong"))), ScriptedSandbox(held=True)
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        handle = await stage.start(TASK)
        await box.reached.wait()
        await handle.signal(AgentWorkflow.finish)
        await wait_for_signal(stage.client.get_workflow_handle(f"{handle.id}/code"), "update_control")
        box.released.set()
        result = await handle.result()

    assert result.status == "failing_tests" and chat.count("coder") == 1


async def test_cancel_delivers_the_program_tested_before(serving: Serving) -> None:
    """A run cancelled while it writes the second program delivers the first."""
    held = Held(code("right"))
    lines: list[Line] = [says(code("wrong")), held]

    async def in_order(prompt: str) -> Reply:
        return await (lines.pop(0) if len(lines) > 1 else lines[0])(prompt)

    async with serving(script(coder=in_order), MemoryKnowledge({}), ScriptedSandbox()) as stage:
        handle = await stage.start(TASK)
        await held.reached.wait()
        await handle.signal(AgentWorkflow.cancel)
        result = await handle.result()
        held.released.set()

    assert result.status == "cancelled" and result.code == "NOTE = 'wrong'\n"


@slow
async def test_paused_run_starts_nothing_new(serving: Serving) -> None:
    """A pause during a test delays the reflection until the run is resumed."""
    chat, box = script(coder=in_turn(code("wrong"), code("right"))), ScriptedSandbox(held=True)
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        handle = await stage.start(TASK)
        await box.reached.wait()
        await handle.signal(AgentWorkflow.pause)
        await wait_for_signal(stage.client.get_workflow_handle(f"{handle.id}/code"), "update_control")
        box.released.set()
        await wait_until("an attempt", lambda: handle.query(AgentWorkflow.state), lambda state: state.attempts)
        assert chat.count("code_reflector") == 0
        await handle.signal(AgentWorkflow.resume)
        result = await handle.result()

    assert result.status == "done"


async def test_exhausted_budget_leaves_the_rest_to_the_fallbacks(serving: Serving) -> None:
    """After the last call within the budget the run ends with its program and names the exhausted budget."""
    chat, box = script(coder=says(code("wrong"))), ScriptedSandbox()
    limits = RunLimits(max_calls=2, repair_seconds=0)
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK.model_copy(update={"limits": limits}))).result()

    assert len(chat.asked) <= 2
    assert result.status in ("failing_tests", "no_evidence", "finished_early")
    assert any("model calls was used up" in note for note in result.notes)


async def test_progress_and_state_show_attempts(serving: Serving) -> None:
    """A person sees the generation, the number of passed tests, and every attempt with its error."""
    async with serving(
        script(coder=in_turn(code("wrong"), code("right"))), MemoryKnowledge({}), ScriptedSandbox()
    ) as s:
        handle = await s.start(TASK)
        await handle.result()
        state = await handle.query(AgentWorkflow.state)

    assert (state.progress.tests_passed, state.progress.tests, state.progress.revision) == (1, 1, 2)
    assert [attempt.error for attempt in state.attempts] == ["test_right: no right", None]


async def test_given_file_is_repaired_without_a_model(serving: Serving) -> None:
    """The fallback offers the given program, a search finds the edit that passes, and the report describes it."""
    given = (InputFile(name="solution.py", text="def f():\n    return 1\n"),)
    box = ScriptedSandbox(needed=("return 2",))
    async with serving(None, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK.model_copy(update={"files": given}))).result()

    assert result.status == "done" and result.code == "def f():\n    return 2\n"
    assert [attempt.maker for attempt in result.attempts] == ["coder", "repair"]
    assert "line 2: `1` became `2`" in result.attempts[1].approach


async def test_code_of_the_documents_is_tried_without_a_model(serving: Serving) -> None:
    """Without a model the program comes from the documents, found by the name that the tests import."""
    text = "Here is how.\n\n```python\ndef f():\n    return 'right'\n```"
    source = KITCHEN["bread"].__class__(uri="a.md", title="A", text=text.replace("\n\n", "\n"))
    task = TASK.model_copy(update={"corpora": ("a",), "limits": RunLimits(min_relevance=0)})
    async with serving(None, MemoryKnowledge({"a": source}), ScriptedSandbox()) as stage:
        result = await (await stage.start(task)).result()

    assert result.status == "done" and result.code == "def f():\n    return 'right'\n"


async def test_missing_code_is_reported_without_a_model(serving: Serving) -> None:
    """Without a model or code to start from there is no program, not even an invented one."""
    async with serving(None, MemoryKnowledge({}), ScriptedSandbox()) as stage:
        result = await (await stage.start(TASK)).result()

    assert result.status == "no_evidence" and result.code == "" and result.attempts == ()


async def test_lessons_and_preferences_reach_the_next_program(serving: Serving) -> None:
    """A coding run leaves its lessons; the next one gives them and the preferences to its coder, and says so."""
    request = TASK.model_copy(update={"memory": True})
    units = Memory(id="u", kind="preference", text="Write type hints", created_at=datetime(2030, 1, 1, tzinfo=UTC))
    knowledge = MemoryKnowledge({})
    chat, box = script(coder=in_turn(code("wrong"), code("right"), code("right"))), ScriptedSandbox()
    async with serving(chat, knowledge, box) as stage:
        first = await stage.start(request)
        await first.result()
        knowledge.memories.recollection = remembered(knowledge).model_copy(update={"preferences": (units,)})
        second = await stage.start(request)
        result = await second.result()
        traced = await memory_of(stage, second)

    lesson = f"A program for “{TASK.question}”: The test. It is wrong. Say right. Then passed: It says right."
    prompts = [prompt for role, prompt in chat.asked if role == "coder"]
    assert result.status == "done" and len(prompts) == 3
    assert [lesson in prompt and "- Write type hints" in prompt for prompt in prompts] == [False, False, True]
    assert any(lesson in note for note in result.notes)
    assert any("“Write type hints”" in note for note in result.notes)
    assert traced and (traced.advice, traced.preferences, len(traced.kept)) == ((lesson,), ("Write type hints",), 1)
    assert [(one.kinds, one.used_by) for one in knowledge.memories.asked] == [
        (("procedural",), first.id),
        (("procedural",), second.id),
    ]
