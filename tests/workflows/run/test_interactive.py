"""Words of people to a run on a real server: in the right phase and the wrong ones, twice, at once, after the end."""

import asyncio
from typing import Any

import pytest
from temporalio.client import WorkflowHandle, WorkflowUpdateFailedError
from temporalio.service import RPCError

from tenure.contracts.run.control import Acknowledged, Budget, OutlineTopic, Steering
from tenure.contracts.run.run import Feedback, Limits
from tests.conftest import Serving
from tests.workflows.run.test_agent import REQUEST, until, until_signalled
from tests.worlds import (
    ENOUGH,
    FINISH,
    KITCHEN,
    Held,
    Line,
    MemoryKnowledge,
    ScriptedChat,
    in_turn,
    plans,
    says,
    search,
    story,
    text,
)
from workflows.run.agent import AgentWorkflow

Handle = WorkflowHandle[Any, Any]
MEGABYTE = "x" * 2**20


async def told(run: Handle, verb: Any, **given: Any) -> str:
    """Say something to a run and return what it answers, be it a refusal."""
    try:
        answer = await run.execute_update("steer", Steering(verb=verb, **given), result_type=Acknowledged)
    except WorkflowUpdateFailedError as error:
        return f"refused: {error.cause}"
    affects: str = answer.affects
    return affects


def topics(*lines: str) -> tuple[OutlineTopic, ...]:
    return tuple(OutlineTopic.model_validate(line) for line in lines)


def limited(**limits: Any) -> Any:
    return REQUEST.model_copy(update={"limits": REQUEST.limits.model_copy(update=limits)})


async def test_every_word_is_answered_or_refused(serving: Serving) -> None:
    """A run says what a word changes or why it does not follow it, hears nothing twice, and survives any input."""
    held = Held(text(("All about it.", 1)))
    async with serving(ScriptedChat(story(section_writer=held)), MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST)
        await held.reached.wait()
        said = [
            await told(run, "feedback", text="More on rye", topic="bread"),
            await told(run, "feedback", text="More on rye", topic="bread"),
            await told(run, "feedback", text="More", topic="Wine"),
            await told(run, "feedback", text=MEGABYTE),
            await told(run, "outline", outline=topics(*"abcdefghijklm")),
            await told(run, "budget", budget=Budget(max_tokens=1)),
            await told(run, "approve"),
            await told(run, "answer", text="Yes."),
        ]
        at_once = await asyncio.gather(*(told(run, "pause") for _ in range(3)), told(run, "resume"))
        with pytest.raises(WorkflowUpdateFailedError, match="Workflow update failed"):
            await run.execute_update("steer", {"verb": "explode"})
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
        refused = (await run.query(AgentWorkflow.progress)).refused
        held.released.set()
        result = await run.result()
        late = await asyncio.gather(told(run, "pause"), told(run, "feedback", text="x"), return_exceptions=True)

    assert said[:3] == [
        "“Bread” will know it.",
        "It was said before and changes nothing more.",
        "refused: Refused: there is no topic “Wine”: the outline has “Bread”, “Cheese”",
    ]
    assert all(line.startswith("refused: Refused: ") and "\n" not in line for line in said[3:])
    assert all(line.endswith(("deadline stands still.", "goes on.", "nothing changes.")) for line in at_once)
    assert [word.text for word in result.feedback] == ["More on rye", "Blue cheese"]
    assert len(refused) == 6 and set(refused) <= set(result.notes)
    assert refused[0] == (
        "A signal “feedback” was refused: the feedback has 1,048,576 characters, and 4,000 is the most."
    )
    assert result.status == "done"
    assert all(isinstance(error, RPCError) for error in late)


async def test_an_outline_is_set_before_the_research(serving: Serving) -> None:
    """A person's outline takes the place of the planned one, and no role changes it."""
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


async def test_an_outline_is_changed_while_the_research_goes_on(serving: Serving) -> None:
    """Topics are added, dropped and renamed between two cycles; the research goes on with the new ones."""
    held = Held(ENOUGH)
    planner = in_turn(plans(search("How long does the dough rise?")), plans(search("What is wine?", "Wine")), FINISH)
    chat = ScriptedChat(story(planner=planner, decider=held))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST)
        await held.reached.wait()
        affects = await told(run, "outline", outline=topics("Bread => Loaves", "Wine"))
        held.released.set()
        result = await run.result()

    assert affects == "The outline will have 2 topics: 1 new, 1 dropped."
    assert chat.count("planner") == 2
    assert [section.topic for section in result.sections] == ["Loaves", "Wine"]
    assert "“Cheese” was taken out of the outline by a person." in result.notes


async def test_sections_that_are_written_stay_when_the_outline_changes(serving: Serving) -> None:
    """While sections are written a dropped one is given up, a written one keeps its text, and a new one is written."""
    held = Held(text(("Too late.", 1)))
    lines: list[Line] = [says(text(("Bread is what it is.", 1))), held]
    chat = ScriptedChat(story(section_writer=lambda prompt: (lines.pop(0) if lines else late)(prompt)))
    late = says(text(("Butter is what it is.", 2)))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(parallel_sections=1))
        await held.reached.wait()
        affects = await told(run, "outline", outline=topics("Butter | How is cheese made?", "Bread => Loaves"))
        result = await run.result()
        held.released.set()

    assert affects == "The outline will have 2 topics: 1 new, 1 dropped."
    assert [(section.topic, section.claims[0].text) for section in result.sections] == [
        ("Butter", "Butter is what it is."),
        ("Loaves", "Bread is what it is."),
    ]
    assert chat.count("section_writer") == 3


async def test_a_higher_budget_takes_a_spent_run_up_again(serving: Serving) -> None:
    """A run that is to write up for want of searches researches on when it may make more."""
    held = Held({"topics": [{"heading": "Bread", "question": "How is bread made?"}]})
    chat = ScriptedChat(story(outliner=held))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(max_searches=1))
        await held.reached.wait()
        spent = await run.query(AgentWorkflow.state)
        affects = await told(run, "budget", budget=Budget(max_searches=200))
        held.released.set()
        result = await run.result()

    assert spent.finishing
    assert affects == "The new bounds hold from the next call on. The run takes up again what the old ones ended."
    assert (result.status, result.limits["searches"]) == ("done", 200)
    assert chat.count("planner") == 1 and result.usage.searches > 1


async def test_a_lower_budget_binds_at_once(serving: Serving) -> None:
    """A run that nothing limited makes no call more than it may from now on."""
    held = Held(text(("All about it.", 1)))
    chat = ScriptedChat(story(section_writer=held))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(parallel_sections=1))
        await held.reached.wait()
        used = (await until(run, lambda progress: progress.phase == "write")).usage.model_calls
        low = await told(run, "budget", budget=Budget(max_calls=used - 1))
        await told(run, "budget", budget=Budget(max_calls=used + 4))
        await until_signalled(stage.client.get_workflow_handle(f"{run.id}/section-1"), "take")
        held.released.set()
        result = await run.result()

    assert low == f"refused: Refused: {used} model calls are used already"
    assert result.status == "finished_early"
    assert result.usage.model_calls <= used + 4
    assert result.decisions[-1] == f"Ended because the budget of {used + 4} model calls was used up."


async def test_a_pause_stops_the_clock_and_starts_nothing(serving: Serving) -> None:
    """A held run is not ended by its deadline, however long it is held, and a longer one holds for the rest."""
    held = Held(text(("All about it.", 1)))
    chat = ScriptedChat(story(section_writer=held))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(max_seconds=600.0))
        await held.reached.wait()
        await told(run, "pause")
        await until_signalled(stage.client.get_workflow_handle(f"{run.id}/section-1"), "take")
        held.released.set()
        shorter = await told(run, "budget", budget=Budget(max_seconds=0.01))
        longer = await told(run, "budget", budget=Budget(max_seconds=6_000.0))
        reviewed = chat.count("section_reviewer")
        stood = await run.query(AgentWorkflow.progress)
        await told(run, "resume")
        result = await run.result()

    assert (stood.status, reviewed) == ("paused", 0)
    assert shorter.endswith("are used already")
    assert longer == "The new bounds hold from the next call on."
    assert (result.status, result.limits["time"]) == ("done", 6_000.0)


async def test_a_cancelled_run_can_be_discarded(serving: Serving) -> None:
    """With --discard nothing of what is written is delivered, and the report says so."""
    held = Held({"critiques": [], "further_considerations": []})
    async with serving(ScriptedChat(story(report_reflector=held)), MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST)
        await held.reached.wait()
        affects = await told(run, "cancel", discard=True)
        result = await run.result()
        held.released.set()

    assert affects == "It stops at once, and what is written is thrown away."
    assert (result.status, result.sections) == ("cancelled", ())
    assert "Cancelled by a person, who wanted nothing of it to be delivered." in result.notes


async def test_a_plan_waits_for_approval_and_may_be_changed_meanwhile(serving: Serving) -> None:
    """Nothing is researched before a person approves the outline; a change of it is shown at once."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(approve_plan=True))
        asked = await until(run, lambda progress: progress.waiting)
        await told(run, "outline", outline=topics("Cheese"))
        await until(run, lambda progress: [topic.topic for topic in progress.topics] == ["Cheese"])
        planned = chat.count("planner")
        affects = await told(run, "approve")
        again = await told(run, "approve")
        result = await run.result()

    assert asked.waiting
    assert (asked.status, asked.phase, asked.waiting.kind) == ("waiting", "outline", "plan")
    assert asked.waiting.assumed == "the outline is followed as it is" and asked.waiting.until
    assert (planned, affects) == (0, "The research begins.")
    assert again.startswith("refused: ")
    assert [section.topic for section in result.sections] == ["Cheese"]


async def test_nobody_answering_leaves_what_was_assumed(serving: Serving) -> None:
    """When the time is up the plan is followed as it is; a person is reminded once before."""
    async with serving(ScriptedChat(story()), MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(limited(approve_plan=True, answer_seconds=0.2))).result()

    assert result.status == "done"
    assert sum("still waits for a person" in note.lower() for note in result.notes) == 1
    assert "Nobody answered “Is this the right outline?”; assumed: the outline is followed as it is" in result.notes


async def test_the_answer_to_a_question_is_planned_with(serving: Serving) -> None:
    """A planner's question holds an interactive run; the answer is in the next plan and in the report."""
    question = {"action": "ASK_HUMAN", "query": "Which cheese?", "expected_output": "any cheese"}
    chat = ScriptedChat(story(planner=in_turn(plans(question, search("Which cheese is blue?", "Cheese")), FINISH)))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(interactive=True))
        asked = await until(run, lambda progress: progress.waiting)
        affects = await told(run, "answer", text="Blue cheese.")
        result = await run.result()

    assert asked.waiting
    assert (asked.status, asked.waiting.text, asked.waiting.assumed) == ("waiting", "Which cheese?", "any cheese")
    assert affects == "The research plans anew with the answer."
    assert "a person answers: Blue cheese." in [prompt for role, prompt in chat.asked if role == "planner"][1]
    assert [word.text for word in result.feedback] == ["To “Which cheese?” a person answers: Blue cheese."]
    assert "Asked of people: Which cheese? A person answered." in result.notes


WHICH = {"question": "What does ‘it’ stand for?", "assumption": "bread"}


async def test_an_unclear_question_is_asked_back_once(serving: Serving) -> None:
    """Before the outline is drawn up the run asks what is meant, reads the question so, and looks again for that."""
    chat, knowledge = ScriptedChat(story(clarifier=says(WHICH))), MemoryKnowledge(KITCHEN)
    async with serving(chat, knowledge) as stage:
        run = await stage.start(limited(interactive=True).model_copy(update={"question": "How is it made?"}))
        asked = await until(run, lambda progress: progress.waiting)
        drawn_up = chat.count("outliner")
        affects = await told(run, "answer", text="rye bread")
        result = await run.result()

    assert asked.waiting
    assert (asked.status, asked.phase, asked.waiting.kind) == ("waiting", "route", "clarification")
    assert (asked.waiting.text, asked.waiting.assumed) == (WHICH["question"], "bread")
    assert (drawn_up, chat.count("clarifier")) == (0, 1)
    assert affects == "The question is read with the answer, and the research begins."
    assert [search.query for search in knowledge.searches[:2]] == ["How is it made?", "How is rye bread made?"]
    assert "How is rye bread made?" in next(prompt for role, prompt in chat.asked if role == "outliner")
    assert (result.status, result.question) == ("done", "How is rye bread made?")
    assert [(word.text, word.outcome) for word in result.feedback] == [
        ("To “What does ‘it’ stand for?” a person answers: rye bread", "The question was read with it.")
    ]


async def test_what_is_assumed_of_a_question_holds_where_nobody_answers(serving: Serving) -> None:
    """When the time is up the question is read with the assumption, and the report says so."""
    chat = ScriptedChat(story(clarifier=says(WHICH)))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        asked = limited(interactive=True, answer_seconds=0.2).model_copy(update={"question": "How is it made?"})
        result = await (await stage.start(asked)).result()

    assert (result.status, result.question, result.feedback) == ("done", "How is bread made?", ())
    assert "Nobody answered “What does ‘it’ stand for?”; assumed: bread" in result.notes


@pytest.mark.parametrize(("verb", "status"), [("finish", "finished_early"), ("cancel", "cancelled")])
async def test_a_question_back_does_not_hold_a_run_that_is_to_end(serving: Serving, verb: str, status: str) -> None:
    """Who wants the run to end need not answer first; it asks nothing any more."""
    async with serving(ScriptedChat(story(clarifier=says(WHICH))), MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(interactive=True))
        await until(run, lambda progress: progress.waiting)
        await told(run, verb)
        result = await run.result()
        after = await run.query(AgentWorkflow.progress)

    assert (result.status, result.question, after.waiting) == (status, REQUEST.question, None)


async def test_a_question_is_asked_back_only_where_somebody_wants_to_be_asked(serving: Serving) -> None:
    """Neither a run that is not interactive nor one whose outline a person has set asks what is meant."""
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


async def test_finishing_ends_the_waiting(serving: Serving) -> None:
    """A run that waits for a person and is asked to finish goes on at once."""
    async with serving(ScriptedChat(story()), MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(limited(approve_plan=True))
        await until(run, lambda progress: progress.waiting)
        await told(run, "finish")
        result = await run.result()

    assert result.status == "finished_early"
    assert not any("Nobody answered" in note for note in result.notes)


async def test_words_at_the_moment_of_a_new_history_are_heard(serving: Serving) -> None:
    """While the research begins its history anew after every cycle, no word that is said gets lost."""
    numbers = iter(range(100))

    async def planner(prompt: str) -> Any:
        return plans(search(f"How long does dough {next(numbers)} rise?"))

    more = {"needs_more_research": True, "reasoning": "More.", "key_factors": []}
    chat = ScriptedChat(story(planner=planner, decider=says(more)))
    limits = Limits(min_relevance=0.05, max_reflexions=0, max_revisions=0, max_cycles=6, long_history=1)
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
