"""The work in a repository on a real Temporal server: conversation, verification and commands of people."""

import asyncio
import contextlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from temporalio import activity

from tenure.contracts.coding.repositories import (
    ActionResult,
    ChangeSoFar,
    CodeSearchRequest,
    CommandRequest,
    EditRequest,
    EnvironmentRequest,
    IndexReport,
    ListRequest,
    ProjectRepairRequest,
    ProjectTestReport,
    ProjectTestRequest,
    Workspace,
)
from tenure.contracts.repository_task import RepositorySource, RepositoryTask
from tenure.contracts.research.trace import TracedAnswer, TracedTestRun, TracedVerification
from tenure.contracts.run.control import RunCommand
from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.report.traces import trace_run
from tests.support.repositories.memory import MemoryRepository
from tests.support.sandboxes import ScriptedSandbox
from tests.support.waiting import wait_until
from tests.support.worlds import Held, Line, MemoryKnowledge, ScriptedChat, in_turn, says, story
from tests.workflows.run.test_run_memory import remembered
from workflows.coding.repository import RepositoryWorkflow
from workflows.coding.repository_preparation import MAP_TIMEOUT

READ = "I look at it.\n\nREAD src/a.py\nSEARCH where f is\nGREP def f"
FIX = """It returns the wrong word.

PLAN f returns 'wrong' (src/a.py:2); return 'right'.
EDIT src/a.py
<<<<<<< SEARCH
    return 'wrong'
=======
    return 'right'
>>>>>>> REPLACE
RUN pytest -q tests/test_a.py
"""
DONE = """DONE
CAUSE: src/a.py:2 returned the wrong word.
CHANGE: It returns the right one.
MESSAGE: a: return the right word
"""
TASK = RepositoryTask(source=RepositorySource(path="/repo"))


def request(task: RepositoryTask = TASK, **limits: Any) -> RunRequest:
    """Return the request of a run."""
    return RunRequest(question="f is wrong", mode="code", repository=task, limits=RunLimits(**limits))


class HeldTests(MemoryRepository):
    """A repository whose tests run until the test lets them end."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.released = asyncio.Event(), asyncio.Event()

    @activity.defn
    async def run_project_tests(self, request: ProjectTestRequest) -> ProjectTestReport:
        self.reached.set()
        await self.released.wait()
        return await super().run_project_tests(request)


def script(line: Line) -> ScriptedChat:
    """Return a model that works in a repository."""
    return ScriptedChat(story(repository_engineer=line))


async def test_an_issue_is_resolved_and_proved(serving: Serving) -> None:
    """The model reads, edits and ends; the tests of the commit and those with the change prove it."""
    chat, repository = script(in_turn(READ, FIX, DONE)), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request())).result()

    change = result.repository
    assert change and (result.status, result.mode) == ("done", "CODE")
    assert change.proof and change.proof.verdict == "proved"
    assert [test.id for test in change.proof.fixed] == ["tests/test_a.py::test_f"]
    assert change.cause.startswith("src/a.py:2") and change.message == "a: return the right word"
    assert result.patch == change.patch and "return 'right'" in result.patch
    assert chat.count("repository_engineer") == 3
    assert [step.action for step in change.steps] == [
        *("read src/a.py", "search where f is", "grep def f"),
        *("plan", "edit src/a.py", "run pytest -q tests/test_a.py", "done"),
    ]
    second, third = [prompt for _, prompt in chat.asked][1:]
    assert "return 'wrong'" in second and "ran pytest -q tests/test_a.py" in third


async def test_new_tests_without_the_change_have_less_time(serving: Serving) -> None:
    """A test that never ends on the code of the commit holds up the run for a time that the others decide."""
    fix = FIX.replace("RUN", "WRITE tests/test_b.py\n<<<<<<< CONTENT\nright\n>>>>>>> END\nRUN")
    chat, repository = script(in_turn(fix, DONE)), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request(has_model=True))).result()

    assert result.repository and result.repository.verdict == "proved"
    tests = [one for one in repository.asked if isinstance(one, ProjectTestRequest)]
    assert {round(one.limits.wall_seconds) for one in tests if one.original_code} == {30}
    assert {one.limits.wall_seconds for one in tests if not one.original_code} == {900}


async def test_the_trace_tells_the_work_step_by_step(serving: Serving) -> None:
    """Each answer has its actions with their outcomes and its cost; the test runs and verdicts follow in order."""
    edits = FIX.replace("RUN", "WRITE src/b.py\n<<<<<<< CONTENT\nright\n>>>>>>> END\nDELETE src/b.py\nRUN")
    chat, repository = script(in_turn(READ, edits, DONE)), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request())
        await handle.result()
        trace = await trace_run(stage.client, handle.id)

    answers = [record for record in trace.work if isinstance(record, TracedAnswer)]
    assert [answer.number for answer in answers] == [1, 2, 3]
    assert [(one.action, one.outcome) for one in answers[1].actions] == [
        ("plan", "noted"),
        ("edit src/a.py", "edit 1 of 3"),
        ("write src/b.py", "edit 2 of 3"),
        ("delete src/b.py", "edit 3 of 3"),
        ("run pytest -q tests/test_a.py", "exit code 0"),
    ]
    assert answers[1].files == ("src/a.py",) and answers[1].tokens > 0
    assert sum(answer.tokens for answer in answers) == sum(call.tokens for call in trace.calls)
    runs = [record for record in trace.work if isinstance(record, TracedTestRun)]
    assert (runs[0].state, runs[0].outcome) == ("all tests, before the change", "1 failed in 0 s")
    assert ("all tests, with the change", "1 passed in 0 s") in [(run.state, run.outcome) for run in runs]
    assert isinstance(trace.work[-1], TracedVerification) and trace.work[-1].outcome == "proved: 1 fixed"


async def test_a_change_that_fails_goes_back_to_the_model(serving: Serving) -> None:
    """The failing tests are in the results of its answer, and another verification follows."""
    wrong = FIX.replace("'right'", "'other'")
    again = FIX.replace("'wrong'", "'other'")
    chat, repository = script(in_turn(wrong + DONE, again + DONE)), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request())).result()

    assert result.status == "done" and chat.count("repository_engineer") == 2
    assert "Failed before, still fail" in chat.asked[1][1] and "AssertionError in src/a.py" in chat.asked[1][1]


async def test_an_end_without_a_new_change_is_not_verified_again(serving: Serving) -> None:
    """A model that keeps its change after the result ends the work: the same files would have the same result."""
    breaking = FIX.replace("'right'", "'other'").replace("'wrong'", "'right'") + DONE
    repository = MemoryRepository({"src/a.py": "def f():\n    return 'right'\n"})
    chat = script(in_turn(breaking, "It cannot be otherwise.\n\nDONE"))
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request())
        result = await handle.result()
        trace = await trace_run(stage.client, handle.id)

    assert result.status == "failing_tests" and chat.count("repository_engineer") == 2
    assert "DONE again without a change" in chat.asked[1][1]
    assert result.repository and result.repository.message == "a: return the right word"
    assert "has kept a change with which tests fail" in result.decisions[-1]
    assert len([record for record in trace.work if isinstance(record, TracedVerification)]) == 1


async def test_the_text_of_an_end_behind_a_failed_command_is_kept(serving: Serving) -> None:
    """A command that fails as expected costs an answer of one word, and not the whole text again."""
    repository = MemoryRepository(command=lambda command, files: (1, "1 failed"))
    chat = script(in_turn(FIX + DONE, "DONE"))
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request())).result()

    assert "send DONE alone" in chat.asked[1][1]
    assert result.repository and result.repository.cause == "src/a.py:2 returned the wrong word."
    assert result.repository.message == "a: return the right word"


async def test_reading_and_commands_go_on_behind_a_failed_command(serving: Serving) -> None:
    """A search that finds nothing has an exit code as well; changes, and commands behind them, wait for the model."""
    repository = MemoryRepository(command=lambda command, files: (1, f"ran {command}"))
    chat = script(in_turn(f"RUN grep -rn zzz src\nREAD src/a.py\nRUN true\n{FIX[FIX.index('PLAN') :]}", FIX, DONE))
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        await (await stage.start(request())).result()

    read = chat.asked[1][1]
    assert "ran grep" in read and "return 'wrong'" in read and "ran true" in read
    assert read.count("Not carried out") == 3 and "ran pytest" not in read


class UnhurriedIndex(MemoryRepository):
    """Repository whose index is ready when its files have been listed, or else before the wait for a map would end."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = asyncio.Event()

    @activity.defn
    async def list_files(self, request: ListRequest) -> ActionResult:
        self.listed.set()
        return await super().list_files(request)

    @activity.defn
    async def index_repository(self, workspace: Workspace) -> IndexReport:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.listed.wait(), MAP_TIMEOUT.total_seconds() / 2)
        return await super().index_repository(workspace)


async def test_a_large_repository_waits_for_no_map(serving: Serving) -> None:
    """The first answer begins with a list of its files, since its index takes longer than the wait."""
    few, many = UnhurriedIndex(), UnhurriedIndex()
    many.files |= {f"lib/m{number}.py": "" for number in range(1_000)}
    for repository in (few, many):
        chat = script(in_turn(FIX, DONE))
        async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
            await (await stage.start(request())).result()

    listed = [sum(isinstance(one, ListRequest) for one in repository.asked) for repository in (few, many)]
    assert listed == [0, 1]


async def test_only_checks_that_run_are_announced(serving: Serving) -> None:
    """A linter that the project declares and that is not installed is not mentioned to the model."""
    repository = MemoryRepository()
    environment = repository.setup.environment.model_copy(update={"checks": ("mypy src", "lint src")})
    repository.setup = repository.setup.model_copy(update={"environment": environment})
    # An answer that waits for a command can be faster than the checks of the commit; a verification waits for them.
    wrong = FIX.replace("'right'", "'other'") + DONE
    chat = script(in_turn(wrong, READ, FIX.replace("'wrong'", "'other'") + DONE))
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request())).result()

    prompts = [prompt for _, prompt in chat.asked]
    assert any("Checks of the project: `mypy src`." in prompt for prompt in prompts)
    assert not any("lint src" in prompt for prompt in prompts)
    assert result.repository and result.repository.proof
    assert any(check.startswith("lint src: not run") for check in result.repository.proof.checks)


async def test_the_conversation_only_grows(serving: Serving) -> None:
    """Every prompt begins with the one before, so that a provider has it in its cache."""
    prompts: list[list[str]] = []
    chat, repository = script(in_turn(READ, READ, FIX, DONE)), MemoryRepository()
    complete = chat.complete

    async def record(asked: Any, call: Any) -> Any:
        prompts.append([message.content for message in asked.messages])
        return await complete(asked, call)

    chat.complete = record  # type: ignore[assignment, method-assign]
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        await (await stage.start(request())).result()

    assert len(prompts) == 4
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(prompts))


async def test_actions_that_cannot_be_read_are_explained(serving: Serving) -> None:
    """A malformed edit and an answer without an action cost an answer, and nothing is changed by them."""
    broken = FIX.replace("=======\n", "")
    chat, repository = script(in_turn("I think about it.", broken, FIX, DONE)), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request())).result()

    asked = [prompt for _, prompt in chat.asked]
    assert result.status == "done"
    assert "No action was found" in asked[1]
    assert "has no line of 7 `=`" in asked[2] and "Not carried out" in asked[2]
    assert len([one for one in repository.asked if isinstance(one, EditRequest)]) == 1
    assert len([one for one in repository.asked if isinstance(one, CommandRequest)]) == 1


async def test_each_change_has_its_own_result(serving: Serving) -> None:
    """A refused path is named under its own action, and the others say that they were not made."""
    outside = "WRITE /srv/try.py\n<<<<<<< CONTENT\nx\n>>>>>>> END\n"
    chat, repository = script(in_turn(FIX.replace("RUN", f"{outside}RUN"), FIX, DONE)), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        await (await stage.start(request())).result()

    results = chat.asked[1][1]
    edit, write = (results.split(f'<results of="{name}">\n')[1] for name in ("edit src/a.py", "write /srv/try.py"))
    assert edit.startswith("Not made, because another change of the answer was refused")
    assert write.startswith("'/srv/try.py' is not a relative path")


async def test_three_answers_without_an_action_end_the_work(serving: Serving) -> None:
    """A model that only talks is not asked for ever."""
    chat, repository = script(says("I would look at src/a.py.")), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request())).result()

    assert result.status == "no_evidence" and chat.count("repository_engineer") == 3
    assert result.decisions == ("Ended because the model named no action.",)


async def test_without_a_model_the_places_are_located(serving: Serving) -> None:
    """No change is written; the report has the failing tests and what a search finds."""
    repository = MemoryRepository()
    async with serving(None, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request())).result()

    assert result.status == "no_evidence" and result.repository and not result.patch
    assert result.repository.places == ("src/a.py:2 f", "tests/test_a.py::test_f (fails)", "src/a.py:1 f")
    assert "a search without one has found no edit" in result.decisions[-1]
    assert any("7 were tried, then the 180 s were over" in note for note in result.notes)


async def test_without_a_model_an_edit_is_searched_for_and_proved(serving: Serving) -> None:
    """The edit is verified and delivered like the change of a model, with its limits in words."""
    repository = MemoryRepository(repair=("'wrong'", "'right'"))
    async with serving(None, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request())).result()

    change = result.repository
    assert change and change.proof and (result.status, change.proof.verdict) == ("done", "proved")
    assert "return 'right'" in result.patch and "only as good as the tests" in change.change
    assert [step.action for step in change.steps] == ["search for a repair among 7 edits"]
    (asked,) = [one for one in repository.asked if isinstance(one, ProjectRepairRequest)]
    assert asked.failing == ("tests/test_a.py::test_f",) and asked.targets == ()


async def test_a_repair_that_its_verification_rejects_is_not_delivered(serving: Serving) -> None:
    """The tests of the verification decide, the places remain, and the page shows no change any more."""
    repository = MemoryRepository(repair=("'wrong'", "'other'"))
    async with serving(None, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request())
        result = await handle.result()
        work = stage.client.get_workflow_handle(f"{handle.id}/repository")
        shown = await work.query(RepositoryWorkflow.change)

    assert result.status == "no_evidence" and result.repository and not result.patch
    assert "tests/test_a.py::test_f (fails)" in result.repository.places
    assert shown == ChangeSoFar()


@pytest.mark.parametrize("passing", [True, False], ids=["nothing fails", "no search"])
async def test_nothing_is_searched_for_without_need(serving: Serving, passing: bool) -> None:
    """Tests that all pass, and a search of no seconds, end with the located places."""
    repository = MemoryRepository(files={"src/a.py": "right" if passing else "wrong"})
    limits: dict[str, Any] = {} if passing else {"repair_seconds": 0}
    async with serving(None, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request(**limits))).result()

    assert result.status == "no_evidence"
    assert not [one for one in repository.asked if isinstance(one, ProjectRepairRequest)]


async def test_without_a_sandbox_the_patch_is_unproved(serving: Serving) -> None:
    """Nothing is run, and the change is delivered and marked as unproved."""
    chat, repository = script(in_turn(FIX.replace("RUN pytest -q tests/test_a.py\n", DONE))), MemoryRepository()
    box = ScriptedSandbox(found=replace_usable())
    async with serving(chat, MemoryKnowledge({}), box, others=[repository]) as stage:
        result = await (await stage.start(request())).result()

    change = result.repository
    assert change and change.proof and change.proof.verdict == "unproved" and result.patch
    assert result.status == "done" and any("No command of the project was run" in note for note in result.notes)


def replace_usable() -> Any:
    """Return the self-test of a sandbox that is not usable."""
    return ScriptedSandbox().found.model_copy(update={"usable": False, "message": "bwrap is missing"})


@pytest.mark.parametrize("approved", [True, False])
async def test_a_plan_waits_for_approval(serving: Serving, approved: bool) -> None:
    """An approved plan costs no call; an objection reaches the model, and nothing was changed before."""
    chat, repository = script(in_turn(FIX, DONE) if approved else in_turn(FIX, FIX, DONE)), MemoryRepository()
    task = TASK.model_copy(update={"approve": "plan"})
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request(task))
        await wait_for_question(handle, "Is this the right plan?")
        assert not [one for one in repository.asked if isinstance(one, EditRequest)]
        if not approved:
            await handle.execute_update("steer", RunCommand(name="feedback", text="Keep the old word."))
            await wait_for_question(handle, "Is this the right plan?")
        await handle.execute_update("steer", RunCommand(name="approve"))
        result = await handle.result()

    assert result.status == "done" and chat.count("repository_engineer") == 2 + (not approved)
    assert approved or "the person objects to the plan: Keep the old word." in chat.asked[1][1]
    assert chat.asked[1][1].count("Keep the old word.") == (not approved)


async def test_a_patch_waits_for_approval(serving: Serving) -> None:
    """Feedback on the patch continues the work, and an approval delivers it."""
    chat, repository = script(in_turn(FIX + DONE, READ, DONE)), MemoryRepository()
    task = TASK.model_copy(update={"approve": "patch"})
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request(task))
        await wait_for_question(handle, "Is this change right?")
        await handle.execute_update("steer", RunCommand(name="feedback", text="Look again."))
        await wait_for_question(handle, "Is this change right?")
        await handle.execute_update("steer", RunCommand(name="approve"))
        result = await handle.result()

    assert result.status == "done" and "objects to the change: Look again." in chat.asked[1][1]


async def wait_for_question(handle: Any, text: str) -> None:
    """Wait until the run asks a person a question that has not been answered."""
    async with asyncio.timeout(30):
        while True:
            progress = await handle.query("progress")
            asked = (progress["input_request"] if isinstance(progress, dict) else progress.input_request) or {}
            said = asked.get("text", "") if isinstance(asked, dict) else asked.text
            if said.startswith(text):
                return


async def test_feedback_is_read_with_the_next_results(serving: Serving) -> None:
    """Feedback during an answer is part of the results that follow it."""
    held = Held(READ)
    answers: Iterator[Line] = iter([held, says(FIX), says(DONE)])

    async def line(prompt: str) -> Any:
        return await next(answers)(prompt)

    chat, repository = script(line), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request())
        await held.reached.wait()
        await handle.execute_update("steer", RunCommand(name="feedback", text="Use the word right."))
        held.released.set()
        result = await handle.result()

    assert "Use the word right." in chat.asked[1][1]
    assert [(one.text, one.outcome) for one in result.feedback] == [("Use the word right.", "The model has read it.")]


@pytest.mark.parametrize(("command", "status"), [("finish", "finished_early"), ("cancel", "cancelled")])
async def test_what_there_is_can_be_had_at_any_time(serving: Serving, command: Any, status: str) -> None:
    """Finishing delivers the change so far with its proof, and cancelling without another test."""
    held = Held(DONE)
    answers: Iterator[Line] = iter([says(FIX), held])

    async def line(prompt: str) -> Any:
        return await next(answers)(prompt)

    chat, repository = script(line), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request())
        await held.reached.wait()
        await handle.execute_update("steer", RunCommand(name=command))
        held.released.set()
        result = await handle.result()

    assert result.status == status and "return 'right'" in result.patch
    assert result.repository and (result.repository.proof is not None) == (command == "finish")


async def test_a_budget_ends_the_work(serving: Serving) -> None:
    """When the calls are used up, the change so far is tested and delivered."""
    chat, repository = script(in_turn(FIX, READ)), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (await stage.start(request(max_calls=1))).result()

    assert chat.count("repository_engineer") == 1
    assert result.status == "finished_early" and "return 'right'" in result.patch
    assert result.repository and result.repository.proof and result.repository.proof.verdict == "proved"


async def test_a_long_history_continues_in_a_new_one(serving: Serving) -> None:
    """The conversation continues where it was, and nothing is prepared twice."""
    chat, repository = script(in_turn(READ, FIX, DONE)), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request(max_history_events=20))
        result = await handle.result()

    assert result.status == "done" and chat.count("repository_engineer") == 3
    assert len([one for one in repository.asked if isinstance(one, CodeSearchRequest)]) == 2
    assert len([one for one in repository.asked if isinstance(one, EnvironmentRequest)]) == 1
    assert result.usage.model_calls == 3


async def test_the_best_attempt_is_chosen_by_its_proof(serving: Serving) -> None:
    """Attempts share preparation and budget, each changes its own files, and the proved one is delivered."""
    wrong = (FIX + DONE).replace("'right'", "'other'")
    answers = {1: wrong, 2: FIX + DONE, 3: "Nothing is wrong.\n\nDONE\nCAUSE: none\nCHANGE: none"}

    async def answer(prompt: str) -> str:
        return next(text for n, text in answers.items() if f"This is attempt {n} of 3" in prompt)

    chat, repository = script(answer), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        result = await (
            await stage.start(request(candidates=3, max_code_attempts=1, max_calls=40, has_model=True))
        ).result()

    change = result.repository
    assert change and result.status == "done" and "return 'right'" in result.patch
    assert [(one.n, one.verdict, one.is_chosen) for one in change.attempts] == [
        *((1, "unproved", False), (2, "proved", True), (3, "nothing", False)),
    ]
    assert "'other'" in change.attempts[0].patch and result.decisions[0].startswith("Attempt 2 of 3 was chosen")
    kinds = [type(one).__name__ for one in repository.asked]
    assert kinds.count("OpenRequest") == kinds.count("EnvironmentRequest") == 1
    tests = [one for one in repository.asked if isinstance(one, ProjectTestRequest)]
    assert len([one for one in tests if not (one.workspace.patch or one.ids or one.original_code)]) == 1
    edits = [one.workspace.candidate for one in repository.asked if isinstance(one, EditRequest)]
    assert sorted(edits) == [1, 2]
    assert result.usage.model_calls == chat.count("repository_engineer")
    assert "1 failed" in chat.asked[0][1]


def answer_attempts(held: Held, *ended: int) -> Line:
    """Return a model that changes a file in each attempt and then waits, or is done immediately in those that end."""

    async def line(prompt: str) -> Any:
        if "This is attempt" not in prompt:
            return await held(prompt)
        return FIX + DONE if any(f"This is attempt {n} of" in prompt for n in ended) else FIX

    return line


@pytest.mark.parametrize(("command", "status"), [("finish", "finished_early"), ("cancel", "cancelled")])
async def test_commands_reach_all_attempts(serving: Serving, command: Any, status: str) -> None:
    """Finishing delivers an attempt with its proof, cancelling one without."""
    held = Held(READ)
    chat, repository = script(answer_attempts(held)), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request(candidates=2, max_calls=40, has_model=True))
        await wait_until("both attempts wait for an answer", lambda: len(chat.asked), lambda count: count == 4)
        await handle.execute_update("steer", RunCommand(name=command))
        held.released.set()
        result = await handle.result()

    change, verdict = result.repository, "proved" if command == "finish" else "unproved"
    assert change and result.status == status and "return 'right'" in result.patch
    assert [(one.n, one.verdict) for one in change.attempts] == [(1, verdict), (2, verdict)]
    assert len(chat.asked) <= 6, "the command may reach an attempt after its answer, and then it asks once more"


@pytest.mark.parametrize(("command", "status"), [("finish", "finished_early"), ("cancel", "cancelled")])
async def test_an_attempt_that_has_ended_is_delivered(serving: Serving, command: Any, status: str) -> None:
    """Feedback and commands after the end of the first attempt concern the second, and the first one is not lost."""
    held = Held(READ)
    chat, repository = script(answer_attempts(held, 1)), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request(candidates=2, max_calls=40, has_model=True))
        await wait_until("both attempts began", lambda: len(chat.asked), lambda count: count == 3)
        await stage.client.get_workflow_handle(f"{handle.id}/repository/1").result()
        await handle.execute_update("steer", RunCommand(name="feedback", text="Use the word right."))
        await handle.execute_update("steer", RunCommand(name=command))
        held.released.set()
        result = await handle.result()

    change = result.repository
    assert change and change.proof and (result.status, change.proof.verdict) == (status, "proved")
    assert [one.is_chosen for one in change.attempts] == [True, False]
    assert [one.outcome for one in result.feedback] == ["It came too late to be read."]


async def test_feedback_reaches_all_attempts(serving: Serving) -> None:
    """Each attempt reads it with its next results."""
    held = Held(READ)
    done = iter([DONE, DONE])

    async def line(prompt: str) -> Any:
        return next(done) if "Use the word right." in prompt else await answer_attempts(held)(prompt)

    chat, repository = script(line), MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request(candidates=2, max_calls=40, has_model=True))
        await wait_until("both attempts wait for an answer", lambda: len(chat.asked), lambda count: count == 4)
        await handle.execute_update("steer", RunCommand(name="feedback", text="Use the word right."))
        held.released.set()
        result = await handle.result()

    assert len(chat.asked) == 6 and next(done, None) is None
    assert [one.outcome for one in result.feedback] == ["The model has read it."]


async def test_a_cancelled_run_waits_for_no_tests_before_its_attempts(serving: Serving) -> None:
    """The tests of the commit, on which attempts wait, do not delay the end."""
    repository = HeldTests()
    async with serving(script(says(FIX)), MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        handle = await stage.start(request(candidates=2, max_calls=40, has_model=True))
        await repository.reached.wait()
        await handle.execute_update("steer", RunCommand(name="cancel"))
        result = await handle.result()
        repository.released.set()

    assert (result.status, result.patch) == ("cancelled", "")


async def test_the_lesson_of_a_run_reaches_the_next_one_in_the_repository(serving: Serving) -> None:
    """The first request of a run has the lesson of an earlier one, unless it uses no memory or another repository."""
    told = DONE + "LESSON: run tests with -p no:cacheprovider."
    chat, repository, knowledge = script(in_turn(FIX + told)), MemoryRepository(), MemoryKnowledge({})
    remembers = request().model_copy(update={"memory": True})
    elsewhere = TASK.model_copy(update={"source": RepositorySource(path="/other")})
    async with serving(chat, knowledge, ScriptedSandbox(), others=[repository]) as stage:
        await (await stage.start(remembers)).result()
        knowledge.memories.recollection = remembered(knowledge)
        first = len(chat.asked)
        await (await stage.start(remembers)).result()
        second = len(chat.asked)
        await (await stage.start(remembers.model_copy(update={"memory": False}))).result()
        third = len(chat.asked)
        await (await stage.start(remembers.model_copy(update={"repository": elsewhere}))).result()

    lesson = "In the repository /repo: run tests with -p no:cacheprovider. Tests: `pytest -q`."
    prompts = [prompt for _, prompt in chat.asked]
    assert [lesson in prompts[n] for n in (0, first, second, third)] == [False, True, False, False]
    assert "-p no:cacheprovider" not in prompts[third]
    assert {one.query for one in knowledge.memories.asked} == {"In the repository /repo", "In the repository /other"}
