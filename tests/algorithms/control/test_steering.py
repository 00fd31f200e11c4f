"""Tests of the commands of users: parsing, refusals and effects."""

from typing import Any

import pytest

from tenure.algorithms.control.steering import (
    MAX_FEEDBACK_ITEMS,
    MAX_FEEDBACK_LENGTH,
    MAX_TOTAL_FEEDBACK_BYTES,
    RunSituation,
    apply_bounds,
    convert_answer,
    convert_to_feedback,
    describe_effect,
    find_refusal,
    is_exhausted_limit_raised,
    merge_bounds,
    parse_command,
)
from tenure.contracts.run.budget import Price
from tenure.contracts.run.control import (
    COMMAND_NAMES,
    BudgetBounds,
    InputRequest,
    OutlineRevision,
    OutlineTopic,
    RunCommand,
)
from tenure.contracts.run.run import ControlState, Feedback, RunLimits, Usage

PRICE = Price(input=1.0, output=1.0)
PLAN = InputRequest(reporter="r/research", number=1, kind="plan", text="Is it right?", assumption="it is")
UNCLEAR = PLAN.model_copy(update={"kind": "clarification"})
LONG = "x" * 1_000_000


def now(**known: Any) -> RunSituation:
    """Return a run that researches bread and cheese."""
    given = {"phase": "research", "mode": "RESEARCH", "control": ControlState(), "limits": RunLimits(), **known}
    return RunSituation(**{"topics": ("Bread", "Cheese"), **given})


def outline(*lines: str) -> RunCommand:
    return RunCommand(name="outline", outline=tuple(OutlineTopic.model_validate(line) for line in lines))


def budget(**bounds: Any) -> RunCommand:
    return RunCommand(name="budget", budget=BudgetBounds(**bounds))


def says(text: str, **others: Any) -> RunCommand:
    return RunCommand(name="feedback", text=text, **others)


@pytest.mark.parametrize(
    ("verb", "given", "read_as"),
    [
        ("feedback", "More on rye", RunCommand(name="feedback", text="More on rye")),
        ("feedback", {"text": "x", "topic": "Bread", "name": "cancel"}, says("x", topic="Bread")),
        ("answer", "Rye", RunCommand(name="answer", text="Rye")),
        ("pause", "whatever", RunCommand(name="pause")),
        ("cancel", None, RunCommand(name="cancel")),
        ("cancel", {"discard": True}, RunCommand(name="cancel", discard=True)),
        ("outline", "A\n\nB => C | Why?\n", outline("A", "B => C | Why?")),
        ("outline", ["A", {"heading": "C", "renamed_from": "B", "question": "Why?"}], outline("A", "B => C | Why?")),
        ("budget", {"max_tokens": 9}, budget(max_tokens=9)),
    ],
)
def test_signal_input_is_parsed(verb: Any, given: Any, read_as: RunCommand) -> None:
    """The input of a signal gives the same command as the update."""
    assert parse_command(verb, given) == read_as


@pytest.mark.parametrize(
    ("verb", "given", "why"),
    [
        ("feedback", None, "expected a text or an object"),
        ("feedback", {"text": "x", "topic": 4}, "topic: input should be a valid string"),
        ("outline", [4], "0: input should be"),
        ("outline", None, "input should be"),
        ("budget", {"max_tokens": -1}, "max_tokens: input should be greater"),
        ("budget", {"max_seconds": float("nan")}, "max_seconds: input should be greater"),
        ("cancel", "now", "expected a text or an object"),
    ],
)
def test_invalid_input_is_refused_in_one_line(verb: Any, given: Any, why: str) -> None:
    """The message does not repeat the whole input."""
    with pytest.raises(ValueError, match="its input is invalid") as refused:
        parse_command(verb, given)

    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("verb", COMMAND_NAMES)
@pytest.mark.parametrize("phase", ["compose", "assemble", "done"])
def test_commands_are_refused_after_the_sections_are_written(verb: Any, phase: Any) -> None:
    """Commands are refused after the sections are written."""
    assert find_refusal(RunCommand(name=verb), now(phase=phase)).startswith("the run no longer accepts commands: ")


def test_cancelled_run_accepts_only_cancel() -> None:
    """The second cancel may discard the result."""
    assert "was cancelled" in find_refusal(RunCommand(name="pause"), now(is_cancelled=True))
    assert find_refusal(RunCommand(name="cancel", discard=True), now(is_cancelled=True)) == ""


@pytest.mark.parametrize(
    ("steering", "situation", "why"),
    [
        (says("  "), now(), "the feedback is empty"),
        (says(LONG), now(), "the feedback has 1,000,000 characters, and the limit is 4,000"),
        (says("x", topic="Wine"), now(), "there is no topic “Wine”: the outline has “Bread”, “Cheese”"),
        (says("x", topic=LONG), now(), "must have 1 to 160 characters"),
        (
            says("x" * MAX_FEEDBACK_LENGTH),
            now(feedback=(Feedback(text="y" * (MAX_TOTAL_FEEDBACK_BYTES // 20)),) * 20),
            "bytes of feedback already, and the limit is 64,000",
        ),
        (
            says("x"),
            now(feedback=(Feedback(text="y"),) * MAX_FEEDBACK_ITEMS),
            "the run has 200 pieces of feedback already, and the limit is 200",
        ),
        (outline("A"), now(mode="CODE"), "a program has no outline"),
        (outline("A"), now(control=ControlState(finishing=True)), "starts no new section"),
        (outline(), now(), "an outline has 1 to 12 topics, and this one has 0"),
        (outline(*map(str, range(13))), now(), "and this one has 13"),
        (outline(" "), now(), "needs a heading"),
        (outline("/spiral"), now(), "does not start with a slash"),
        (outline("A", "a"), now(), "has the topic “A” twice"),
        (outline(LONG), now(), "a heading has at most 160 characters"),
        (outline(f"A | {LONG}"), now(), "at most 1,000 characters"),
        (outline("Wine => A"), now(), "there is no topic “Wine” to rename"),
        (outline("Bread => A", "Bread => B"), now(), "two topics are renamed from the same topic"),
        (budget(), now(), "no budget was given"),
        (budget(max_cost_usd=1.0), now(), "without the prices of its models"),
        (
            budget(max_tokens=9, max_calls=1),
            now(usage=Usage(tokens_in=8, tokens_out=2, model_calls=2)),
            "10 tokens and 2 model calls are used already",
        ),
        (budget(max_seconds=5.0), now(elapsed_seconds=9.6), "10 s are used already"),
        (
            budget(max_seconds=1e300),
            now(),
            "a budget is at most 1,000,000,000,000, and a time budget at most 315,360,000",
        ),
        (budget(max_calls=10**40), now(), "a budget is at most 1,000,000,000,000"),
        (RunCommand(name="approve"), now(), "no plan waits for approval"),
        (RunCommand(name="approve"), now(phase="outline"), "no plan waits for approval"),
        (
            RunCommand(name="approve"),
            now(phase="outline", limits=RunLimits(approve_plan=True)),
            "the plan is not made yet",
        ),
        (RunCommand(name="approve"), now(input_request=UNCLEAR), "so `answer` it"),
        (RunCommand(name="answer", text="x"), now(), "has not asked anything"),
        (RunCommand(name="answer", text="x"), now(input_request=PLAN), "`approve` it"),
        (RunCommand(name="answer"), now(input_request=UNCLEAR), "the answer is empty"),
        (says("\x00\ud7ff\n"), now(), "the feedback is empty"),
    ],
)
def test_invalid_commands_are_refused(steering: RunCommand, situation: RunSituation, why: str) -> None:
    """The reason is one line."""
    told = find_refusal(steering, situation)

    assert why in told
    assert "\n" not in told and len(told) < 600


@pytest.mark.parametrize(
    ("steering", "situation", "affects"),
    [
        (says("More rye", topic="bread"), now(), "“Bread” and the next research plan will consider it."),
        (says("More"), now(phase="write"), "Every section will consider it."),
        (says("More"), now(topics=()), "The outline and the research will consider it."),
        (says("More", topic="Wine"), now(topics=()), "The outline and the research will consider it."),
        (says("More"), now(mode="CODE"), "The next program will consider it."),
        (says("More"), now(feedback=(Feedback(text="More"),)), "The run has this feedback already; nothing changes."),
        (
            says("Cheese"),
            now(control=ControlState(finishing=True)),
            "“Cheese” will consider it if it is still being written.",
        ),
        (RunCommand(name="pause"), now(), "No new work starts until it is resumed; its time limit is suspended."),
        (RunCommand(name="pause"), now(control=ControlState(paused=True)), "It is paused already; nothing changes."),
        (
            RunCommand(name="answer", text="Rye"),
            now(input_request=UNCLEAR, phase="route"),
            "The answer is added to the question, and the research starts.",
        ),
        (RunCommand(name="resume"), now(), "It was not paused; nothing changes."),
        (RunCommand(name="resume"), now(control=ControlState(paused=True)), "It continues."),
        (RunCommand(name="finish"), now(), "No new research starts; the report is written from the findings so far."),
        (RunCommand(name="finish"), now(finish_requested=True), "It is finishing already; nothing changes."),
        (RunCommand(name="cancel"), now(), "It stops immediately, and written sections are delivered."),
        (RunCommand(name="cancel", discard=True), now(), "It stops immediately, and written sections are discarded."),
        (outline("Bread => Rye", "Wine"), now(), "The outline will have 2 topics: 1 new, 1 dropped."),
        (outline("Wine"), now(topics=()), "The outline will have 1 topic."),
        (
            budget(max_cost_usd=1.0),
            now(limits=RunLimits(highest_price=PRICE)),
            "The new budgets apply from the next call.",
        ),
        (
            budget(max_calls=9),
            now(control=ControlState(finishing=True, exhausted="calls"), limits=RunLimits(max_calls=5)),
            "The new budgets apply from the next call. The run resumes the work that the old budgets ended.",
        ),
        (
            budget(max_calls=9),
            now(
                control=ControlState(finishing=True, exhausted="calls"),
                limits=RunLimits(max_calls=5),
                finish_requested=True,
            ),
            "The new budgets apply from the next call. No more research starts, because a user asked to finish.",
        ),
        (RunCommand(name="approve"), now(input_request=PLAN), "The research starts."),
        (RunCommand(name="answer", text="x"), now(input_request=UNCLEAR), "The research is replanned with the answer."),
    ],
)
def test_effect_of_valid_commands_is_described(steering: RunCommand, situation: RunSituation, affects: str) -> None:
    """Effect of valid commands is described."""
    assert (find_refusal(steering, situation), describe_effect(steering, situation)) == ("", affects)


def test_later_bounds_replace_earlier_ones() -> None:
    """Only the given bounds change."""
    both = merge_bounds(BudgetBounds(max_tokens=1, max_calls=2), BudgetBounds(max_calls=3))

    assert both == BudgetBounds(max_tokens=1, max_calls=3)
    assert apply_bounds(RunLimits(max_searches=4), both) == RunLimits(max_searches=4, max_tokens=1, max_calls=3)
    assert apply_bounds(RunLimits(max_searches=4), BudgetBounds()) == RunLimits(max_searches=4)


@pytest.mark.parametrize(
    ("spent", "change", "helps"),
    [
        ("tokens", BudgetBounds(max_tokens=11), True),
        ("tokens", BudgetBounds(max_tokens=9), False),
        ("tokens", BudgetBounds(max_calls=11), False),
        ("time", BudgetBounds(max_seconds=1.0), True),
        (None, BudgetBounds(max_tokens=11), False),
    ],
)
def test_only_a_higher_exhausted_limit_helps(spent: Any, change: BudgetBounds, helps: bool) -> None:
    """Only a higher exhausted limit helps."""
    assert is_exhausted_limit_raised(ControlState(exhausted=spent), RunLimits(max_tokens=10), change) is helps


def test_answer_becomes_feedback_with_its_question() -> None:
    """Parts of the run that have not seen the question understand the answer."""
    assert convert_answer(UNCLEAR, " Rye. ") == Feedback(text="The user answers “Is it right?”: Rye.")
    assert convert_to_feedback(says(" x ", topic="Bread")) == Feedback(text="x", topic="Bread")


def test_outline_lines_are_parsed() -> None:
    """A line has a heading, a question and a former name."""
    assert OutlineRevision(number=1, topics=("Old => New | Why?", {"heading": "X"})).topics == (  # type: ignore[arg-type]
        OutlineTopic(heading="New", question="Why?", renamed_from="Old"),
        OutlineTopic(heading="X"),
    )
