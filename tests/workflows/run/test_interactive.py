"""Commands to a run on a real server: in allowed and other phases, twice, concurrently, and after the end."""

import asyncio
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import CancelledError
from temporalio.service import RPCError

from tenure.contracts.run.control import BudgetBounds, OutlineTopic, RunCommand
from tenure.contracts.run.run import Feedback, RunLimits
from tests.conftest import Serving
from tests.histories.recorder import wait_for_signal
from tests.support.tiers import slow
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    Held,
    Line,
    MemoryKnowledge,
    Reply,
    ScriptedChat,
    build_report,
    in_turn,
    plans,
    says,
    search,
    story,
)
from tests.workflows.run.test_agent import REQUEST, until
from workflows.run.agent import AgentWorkflow

Handle = WorkflowHandle[Any, Any]
MEGABYTE = "x" * 2**20


async def told(run: Handle, verb: Any, **given: Any) -> str:
    """Send a command to a run and return its reply or the refusal."""
    try:
        answer = await run.execute_update("steer", RunCommand(name=verb, **given), result_type=str)
    except WorkflowUpdateFailedError as error:
        return f"refused: {error.cause}"
    affects: str = answer
    return affects


def topics(*lines: str) -> tuple[OutlineTopic, ...]:
    return tuple(OutlineTopic.model_validate(line) for line in lines)


def limited(**limits: Any) -> Any:
    return REQUEST.model_copy(update={"limits": REQUEST.limits.model_copy(update=limits)})


@slow
async def test_every_command_is_applied_or_refused(serving: Serving) -> None:
    """A run replies with the effect or the reason for the refusal, applies nothing twice, and survives any input."""
    held = Held(build_report({"Bread": "All about it [1]."}))
    async with serving(ScriptedChat(story(report_writer=held)), MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST)
        await held.reached.wait()
        await until(run, lambda progress: progress.phase == "write")
        said = [
            await told(run, "feedback", text="More on rye", topic="bread"),
            await told(run, "feedback", text="More on rye", topic="bread"),
            await told(run, "feedback", text="More", topic="Wine"),
            await told(run, "feedback", text=MEGABYTE),
            await told(run, "outline", outline=topics(*"abcdefghijklm")),
            await told(run, "budget", budget=BudgetBounds(max_tokens=1)),
            await told(run, "approve"),
            await told(run, "answer", text="Yes."),
        ]
        at_once = await asyncio.gather(*(told(run, "pause") for _ in range(3)), told(run, "resume"))
        with pytest.raises(WorkflowUpdateFailedError, match="Workflow update failed"):
            await run.execute_update("steer", {"name": "explode"})
        for signal, given in (
            ("feedback", MEGABYTE),
            ("feedback", [1, {"x": None}]),
            ("outline", {"no": "list"}),
            ("budget", "much"),
            ("approve", None),
            ("answer", "Yes."),
            ("feedback", {"text": "Blue cheese", "topic": "Cheese"}),
        ):
            await run.signal(signal, *([] if given is None else [given]))
        await told(run, "resume")
        refused = (await run.query(AgentWorkflow.progress)).refused_signals
        held.released.set()
        result = await run.result()
        late = await asyncio.gather(told(run, "pause"), told(run, "feedback", text="x"), return_exceptions=True)

    assert said[:3] == [
        "“Bread” will consider it.",
        "The run has this feedback already; nothing changes.",
        "refused: Refused: there is no topic “Wine”: the outline has “Bread”, “Cheese”",
    ]
    assert all(line.startswith("refused: Refused: ") and "\n" not in line for line in said[3:])
    assert all(line.endswith(("time limit is suspended.", "continues.", "nothing changes.")) for line in at_once)
    assert [word.text for word in result.feedback] == ["More on rye", "Blue cheese"]
    assert len(refused) == 6 and set(refused) <= set(result.notes)
    assert refused[0] == (
        "A signal “feedback” was refused: the feedback has 1,048,576 characters, and the limit is 4,000."
    )
    assert result.status == "done"
    assert all(isinstance(error, RPCError) for error in late)


@slow
async def test_outline_is_set_before_the_research(serving: Serving) -> None:
    """A person's outline replaces the planned one, and no role changes it."""
    held = Held({"mode": "RESEARCH", "complexity": "moderate", "query_type": "factual", "reason": "asked so"})
    added = {"action": "ADD_TO_OUTLINE", "query": "How is wine made?", "target_outline_topic": "Wine"}
    chat = ScriptedChat(story(router=held, planner=in_turn(plans(added), FINISH)))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST)
        await held.reached.wait()
        affects = await told(run, "outline", outline=topics("Cheese | How is cheese made?", "Rye"))
        held.released.set()
        result = await run.result()

    assert affects == "The outline will have 2 topics."
    assert [section.topic for section in result.sections] == ["Cheese", "Rye"]
    assert chat.count("outliner") == 0


@slow
async def test_outline_is_changed_during_the_research(serving: Serving) -> None:
    """Topics are added, removed and renamed between two cycles, and the research continues with the new ones."""
    held = Held(FINISH)
    lines: list[Line] = [
        says(plans(search("How long does the dough rise?"))),
        held,
        says(plans(search("What is wine?", "Wine"))),
        says(FINISH),
    ]

    async def planner(prompt: str) -> Reply:
        return await lines.pop(0)(prompt)

    chat = ScriptedChat(story(planner=planner))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(has_model=False, max_cycles=4))
        await held.reached.wait()
        await until(run, lambda progress: progress.topics)
        affects = await told(run, "outline", outline=topics("Bread => Loaves", "Wine"))
        held.released.set()
        result = await run.result()

    assert affects == "The outline will have 2 topics: 1 new, 1 dropped."
    assert chat.count("planner") == 3
    assert [section.topic for section in result.sections] == ["Loaves", "Wine"]
    assert "“Cheese” was taken out of the outline by a person." in result.notes


@slow
async def test_written_sections_survive_an_outline_change(serving: Serving) -> None:
    """An outline that changes during the writing drops a section, renames one that keeps its text, and adds one."""
    held = Held(build_report({"Bread": "Bread is what it is [1].", "Cheese": "Too late [1]."}))
    lines: list[Line] = [held, says("## Butter\n\nButter is what it is [2].")]
    chat = ScriptedChat(story(report_writer=lambda prompt: lines.pop(0)(prompt)))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited())
        await held.reached.wait()
        affects = await told(run, "outline", outline=topics("Butter | How is cheese made?", "Bread => Loaves"))
        await wait_for_signal(stage.client.get_workflow_handle(f"{run.id}/research"), "update_control")
        held.released.set()
        result = await run.result()

    assert affects == "The outline will have 2 topics: 1 new, 1 dropped."
    assert [(section.topic, section.claims[0].text) for section in result.sections] == [
        ("Butter", "Butter is what it is."),
        ("Loaves", "Bread is what it is."),
    ]
    assert chat.count("report_writer") == 2 and result.usage.model_calls == len(chat.asked)


@slow
async def test_higher_budget_resumes_an_exhausted_run(serving: Serving) -> None:
    """A run that is finishing because of its search budget continues the research when the budget is raised."""
    held = Held({"topics": [{"heading": "Bread", "question": "How is bread made?"}]})
    chat = ScriptedChat(story(outliner=held))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(max_searches=1, has_model=False))
        await held.reached.wait()
        spent = await run.query(AgentWorkflow.state)
        affects = await told(run, "budget", budget=BudgetBounds(max_searches=200))
        held.released.set()
        result = await run.result()

    assert spent.finishing
    assert affects == "The new budgets apply from the next call. The run resumes the work that the old budgets ended."
    assert (result.status, result.limits["searches"]) == ("done", 200)
    assert chat.count("planner") == 1 and result.usage.searches > 1


@slow
async def test_lower_budget_applies_immediately(serving: Serving) -> None:
    """A run without limits makes no call beyond a new limit."""
    held = Held(build_report({"Bread": "All about it [1]."}))
    chat = ScriptedChat(story(report_writer=held))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited())
        await held.reached.wait()
        used = (await until(run, lambda progress: progress.phase == "write")).usage.model_calls
        low = await told(run, "budget", budget=BudgetBounds(max_calls=used - 1))
        await told(run, "budget", budget=BudgetBounds(max_calls=used + 1))
        await wait_for_signal(stage.client.get_workflow_handle(f"{run.id}/research"), "update_control")
        held.released.set()
        result = await run.result()

    assert low == f"refused: Refused: {used} model calls are used already"
    assert result.status == "finished_early"
    assert result.usage.model_calls <= used + 1
    assert result.decisions[-1].startswith(f"Ended because the budget of {used + 1} model calls was used up.")


@slow
async def test_pause_stops_the_clock(serving: Serving) -> None:
    """The deadline does not end a paused run, and a later deadline applies to the rest."""
    held = Held(build_report({"Bread": "All about it [1]."}))
    chat = ScriptedChat(story(report_writer=held))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(max_seconds=600.0))
        await held.reached.wait()
        await told(run, "pause")
        await wait_for_signal(stage.client.get_workflow_handle(f"{run.id}/research"), "update_control")
        held.released.set()
        shorter = await told(run, "budget", budget=BudgetBounds(max_seconds=0.01))
        longer = await told(run, "budget", budget=BudgetBounds(max_seconds=6_000.0))
        reviewed = chat.count("report_reviewer")
        stood = await run.query(AgentWorkflow.progress)
        await told(run, "resume")
        result = await run.result()

    assert (stood.status, reviewed) == ("paused", 0)
    assert shorter.endswith("are used already")
    assert longer == "The new budgets apply from the next call."
    assert (result.status, result.limits["time"]) == ("done", 6_000.0)


@slow
async def test_cancelled_run_can_be_discarded(serving: Serving) -> None:
    """With `discard` nothing is delivered, and the report says so."""
    held = Held("DONE")
    async with serving(ScriptedChat(story(report_reviewer=held)), MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST)
        await held.reached.wait()
        affects = await told(run, "cancel", discard=True)
        result = await run.result()
        held.released.set()

    assert affects == "It stops immediately, and written sections are discarded."
    assert (result.status, result.sections) == ("cancelled", ())
    assert "Cancelled by a person, who wanted nothing of it to be delivered." in result.notes


@slow
async def test_plan_waits_for_approval_and_can_be_changed(serving: Serving) -> None:
    """No research starts before the approval of the outline; a change of the outline is displayed immediately."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(approve_plan=True))
        asked = await until(run, lambda progress: progress.input_request)
        await told(run, "outline", outline=topics("Cheese"))
        await until(run, lambda progress: [topic.topic for topic in progress.topics] == ["Cheese"])
        planned = chat.count("planner")
        affects = await told(run, "approve")
        again = await told(run, "approve")
        result = await run.result()

    assert asked.input_request
    assert (asked.status, asked.phase, asked.input_request.kind) == ("waiting", "outline", "plan")
    assert asked.input_request.assumption == "the outline is followed as it is" and asked.input_request.deadline
    assert (planned, affects) == (0, "The research starts.")
    assert again.startswith("refused: ")
    assert [section.topic for section in result.sections] == ["Cheese"]


@slow
async def test_missing_approval_leads_to_the_assumption(serving: Serving) -> None:
    """After the deadline the plan is followed unchanged; the person is reminded once before."""
    async with serving(ScriptedChat(story()), MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(limited(approve_plan=True, answer_seconds=0.2))).result()

    assert result.status == "done"
    assert sum("still waits for an answer" in note.lower() for note in result.notes) == 1
    assert "No answer to “Is this the right outline?”; assumed: the outline is followed as it is" in result.notes


@slow
async def test_answer_reaches_the_plan_and_the_report(serving: Serving) -> None:
    """The planner's question stops an interactive run; the answer is in the next plan and in the report."""
    question = {"action": "ASK_HUMAN", "query": "Which cheese?", "expected_output": "any cheese"}
    chat = ScriptedChat(story(planner=in_turn(plans(question, search("Which cheese is blue?", "Cheese")), FINISH)))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(interactive=True, has_model=False))
        asked = await until(run, lambda progress: progress.input_request)
        affects = await told(run, "answer", text="Blue cheese.")
        result = await run.result()

    assert asked.input_request
    assert (asked.status, asked.input_request.text, asked.input_request.assumption) == (
        "waiting",
        "Which cheese?",
        "any cheese",
    )
    assert affects == "The research is replanned with the answer."
    assert (
        "The user answers “Which cheese?”: Blue cheese."
        in [prompt for role, prompt in chat.asked if role == "planner"][1]
    )
    assert [word.text for word in result.feedback] == ["The user answers “Which cheese?”: Blue cheese."]
    assert "Question to the user: Which cheese? A user answered." in result.notes


WHICH = {"question": "What does ‘it’ stand for?", "assumption": "bread"}


@slow
async def test_ambiguous_question_is_clarified_once(serving: Serving) -> None:
    """Before the outline the run asks for the meaning, uses the answer, and searches again."""
    chat, knowledge = ScriptedChat(story(clarifier=says(WHICH))), MemoryKnowledge(KITCHEN)
    async with serving(chat, knowledge) as stage:
        run = await stage.start(limited(interactive=True).model_copy(update={"question": "How is it made?"}))
        asked = await until(run, lambda progress: progress.input_request)
        drawn_up = chat.count("outliner")
        affects = await told(run, "answer", text="rye bread")
        result = await run.result()

    assert asked.input_request
    assert (asked.status, asked.phase, asked.input_request.kind) == ("waiting", "route", "clarification")
    assert (asked.input_request.text, asked.input_request.assumption) == (WHICH["question"], "bread")
    assert (drawn_up, chat.count("clarifier")) == (0, 1)
    assert affects == "The answer is added to the question, and the research starts."
    assert [search.query for search in knowledge.searches[:2]] == ["How is it made?", "How is it made (rye bread)?"]
    assert "How is it made (rye bread)?" in next(prompt for role, prompt in chat.asked if role == "outliner")
    assert (result.status, result.question) == ("done", "How is it made (rye bread)?")
    assert [(word.text, word.outcome) for word in result.feedback] == [
        ("The user answers “What does ‘it’ stand for?”: rye bread", "The question was read with it.")
    ]


@slow
async def test_missing_clarification_leads_to_the_assumption(serving: Serving) -> None:
    """After the deadline the question is read with the assumption, and the report says so."""
    chat = ScriptedChat(story(clarifier=says(WHICH)))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        asked = limited(interactive=True, answer_seconds=0.2).model_copy(update={"question": "How is it made?"})
        result = await (await stage.start(asked)).result()

    assert (result.status, result.question, result.feedback) == ("done", "How is it made (bread)?", ())
    assert "No answer to “What does ‘it’ stand for?”; assumed: bread" in result.notes


@pytest.mark.parametrize(("verb", "status"), [("finish", "finished_early"), ("cancel", "cancelled")])
async def test_open_question_does_not_delay_the_end(serving: Serving, verb: str, status: str) -> None:
    """A run that is asked to finish needs no answer and asks nothing more."""
    async with serving(ScriptedChat(story(clarifier=says(WHICH))), MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(interactive=True))
        await until(run, lambda progress: progress.input_request)
        await told(run, verb)
        result = await run.result()
        after = await run.query(AgentWorkflow.progress)

    assert (result.status, result.question, after.input_request) == (status, REQUEST.question, None)


async def test_open_question_does_not_delay_a_cancellation_from_outside(serving: Serving) -> None:
    """A run that Temporal cancels ends although the handler of a child's question waits for a person."""
    question = {"action": "ASK_HUMAN", "query": "Which cheese?", "expected_output": "any cheese"}
    chat = ScriptedChat(story(planner=says(plans(question))))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(interactive=True))
        await until(run, lambda progress: progress.input_request)
        await run.cancel()
        with pytest.raises(WorkflowFailureError) as end:
            await run.result()

    assert isinstance(end.value.cause, CancelledError)


@slow
async def test_only_interactive_runs_ask_for_clarification(serving: Serving) -> None:
    """Neither a non-interactive run nor a run with a person's outline asks for the meaning."""
    held = Held({"mode": "RESEARCH", "complexity": "moderate", "query_type": "factual", "reason": "asked so"})
    chat = ScriptedChat(story(clarifier=says(WHICH), router=held))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        runs = [await stage.start(limited(interactive=True)), await stage.start(REQUEST)]
        await held.reached.wait()
        await told(runs[0], "outline", outline=topics("Cheese"))
        held.released.set()
        results = [await run.result() for run in runs]

    assert [result.status for result in results] == ["done", "done"]
    assert chat.count("clarifier") == 0


@slow
async def test_finish_ends_the_wait_for_a_person(serving: Serving) -> None:
    """A run that waits for a person continues immediately when it is asked to finish."""
    async with serving(ScriptedChat(story()), MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(approve_plan=True))
        await until(run, lambda progress: progress.input_request)
        await told(run, "finish")
        result = await run.result()

    assert result.status == "finished_early"
    assert not any("No answer to" in note for note in result.notes)


@slow
async def test_commands_during_continue_as_new_are_applied(serving: Serving) -> None:
    """No command is lost while the research continues as new after every cycle."""
    numbers = iter(range(100))

    async def planner(prompt: str) -> Any:
        return plans(search(f"How long does dough {next(numbers)} rise?"))

    chat = ScriptedChat(story(planner=planner))
    limits = RunLimits(min_relevance=0.05, max_report_revisions=0, max_cycles=6, max_history_events=1)
    texts = [f"Mind matter {n} of the dough." for n in range(40)]
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST.model_copy(update={"limits": limits}))
        await until(run, lambda progress: progress.phase == "research")
        sent = 0
        for said in texts:
            if (await run.query(AgentWorkflow.progress)).phase != "research":
                break
            await run.signal("feedback", Feedback(text=said))
            sent += 1
        result = await run.result()

    shown = "\n".join(prompt for role, prompt in chat.asked if role == "planner")
    assert sent and [one.text for one in result.feedback] == texts[:sent]
    assert "Mind matter 0 of" in shown
