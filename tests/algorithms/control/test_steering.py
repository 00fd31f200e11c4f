"""Which words of people a run follows, what it answers, and why it refuses the others."""

from typing import Any

import pytest

from tenure.algorithms.control.steering import (
    MOST_SAID,
    MOST_TEXT,
    Situation,
    answered,
    effect,
    feedback_of,
    read,
    refusal,
    relieved,
    together,
    within,
)
from tenure.contracts.run.budget import Price
from tenure.contracts.run.control import VERBS, Budget, Outline, OutlineTopic, Question, Steering
from tenure.contracts.run.run import Feedback, Limits, Stance, Usage

PRICE = Price(input=1.0, output=1.0)
PLAN = Question(reporter="r/research", number=1, kind="plan", text="Is it right?", assumed="it is")
UNCLEAR = PLAN.model_copy(update={"kind": "clarification"})
LONG = "x" * 1_000_000


def now(**known: Any) -> Situation:
    """A run that researches bread and cheese."""
    given = {"phase": "research", "mode": "RESEARCH", "stance": Stance(), "limits": Limits(), **known}
    return Situation(**{"topics": ("Bread", "Cheese"), **given})


def outline(*lines: str) -> Steering:
    return Steering(verb="outline", outline=tuple(OutlineTopic.model_validate(line) for line in lines))


def budget(**bounds: Any) -> Steering:
    return Steering(verb="budget", budget=Budget(**bounds))


def says(text: str, **others: Any) -> Steering:
    return Steering(verb="feedback", text=text, **others)


@pytest.mark.parametrize(
    ("verb", "given", "read_as"),
    [
        ("feedback", "More on rye", Steering(verb="feedback", text="More on rye")),
        ("feedback", {"text": "x", "topic": "Bread", "verb": "cancel"}, says("x", topic="Bread")),
        ("answer", "Rye", Steering(verb="answer", text="Rye")),
        ("pause", "whatever", Steering(verb="pause")),
        ("cancel", None, Steering(verb="cancel")),
        ("cancel", {"discard": True}, Steering(verb="cancel", discard=True)),
        ("outline", "A\n\nB => C | Why?\n", outline("A", "B => C | Why?")),
        ("outline", ["A", {"heading": "C", "was": "B", "question": "Why?"}], outline("A", "B => C | Why?")),
        ("budget", {"max_tokens": 9}, budget(max_tokens=9)),
    ],
)
def test_a_signal_is_read_as_the_word_it_means(verb: Any, given: Any, read_as: Steering) -> None:
    """What people type as the input of a signal says the same as the update does."""
    assert read(verb, given) == read_as


@pytest.mark.parametrize(
    ("verb", "given", "why"),
    [
        ("feedback", None, "it has to be a text or an object"),
        ("feedback", {"text": "x", "topic": 4}, "topic: input should be a valid string"),
        ("outline", [4], "0: input should be"),
        ("outline", None, "input should be"),
        ("budget", {"max_tokens": -1}, "max_tokens: input should be greater"),
        ("budget", {"max_seconds": float("nan")}, "max_seconds: input should be greater"),
        ("cancel", "now", "it has to be a text or an object"),
    ],
)
def test_garbage_is_refused_in_one_line(verb: Any, given: Any, why: str) -> None:
    """A signal whose input cannot be understood says so, without repeating all of it."""
    with pytest.raises(ValueError, match="its input is not understood") as refused:
        read(verb, given)

    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("phase", ["compose", "assemble", "done"])
def test_nothing_is_taken_in_once_the_sections_are_written(verb: Any, phase: Any) -> None:
    """Every word is refused while the report is put together, and after it."""
    assert refusal(Steering(verb=verb), now(phase=phase)).startswith("the run takes nothing in any more: ")


def test_a_cancelled_run_can_only_be_cancelled_again() -> None:
    """Who has cancelled may still say that nothing is to be delivered; all else comes too late."""
    assert "was cancelled" in refusal(Steering(verb="pause"), now(cancelled=True))
    assert refusal(Steering(verb="cancel", discard=True), now(cancelled=True)) == ""


@pytest.mark.parametrize(
    ("steering", "situation", "why"),
    [
        (says("  "), now(), "the feedback is empty"),
        (says(LONG), now(), "the feedback has 1,000,000 characters, and 4,000 is the most"),
        (says("x", topic="Wine"), now(), "there is no topic “Wine”: the outline has “Bread”, “Cheese”"),
        (says("x", topic=LONG), now(), "has to have 1 to 160 characters"),
        (says("x" * MOST_TEXT), now(wishes=(Feedback(text="y"),) * MOST_SAID), "is the most it can keep in mind"),
        (outline("A"), now(mode="CODE"), "a program has no outline"),
        (outline("A"), now(stance=Stance(finishing=True)), "begins no section any more"),
        (outline(), now(), "an outline has 1 to 12 topics, and this one has 0"),
        (outline(*map(str, range(13))), now(), "and this one has 13"),
        (outline(" "), now(), "needs a heading"),
        (outline("/spiral"), now(), "none begins with a slash"),
        (outline("A", "a"), now(), "has the topic “A” twice"),
        (outline(LONG), now(), "a heading has at most 160 characters"),
        (outline(f"A | {LONG}"), now(), "at most 1,000 characters"),
        (outline("Wine => A"), now(), "there is no topic “Wine” to rename"),
        (outline("Bread => A", "Bread => B"), now(), "two topics were renamed from the same one"),
        (budget(), now(), "no bound was named"),
        (budget(max_cost_usd=1.0), now(), "without the prices of its models"),
        (
            budget(max_tokens=9, max_calls=1),
            now(usage=Usage(tokens_in=8, tokens_out=2, model_calls=2)),
            "10 tokens and 2 model calls are used already",
        ),
        (budget(max_seconds=5.0), now(seconds=9.6), "10 s are used already"),
        (
            budget(max_seconds=1e300),
            now(),
            "no bound may be above 1,000,000,000,000, and none of time above 315,360,000",
        ),
        (budget(max_calls=10**40), now(), "no bound may be above 1,000,000,000,000"),
        (Steering(verb="approve"), now(), "no plan waits for approval"),
        (Steering(verb="approve"), now(question=UNCLEAR), "so `answer` it"),
        (Steering(verb="answer", text="x"), now(), "has not asked anything"),
        (Steering(verb="answer", text="x"), now(question=PLAN), "`approve` it"),
        (Steering(verb="answer"), now(question=UNCLEAR), "the answer is empty"),
        (says("\x00\ud7ff\n"), now(), "the feedback is empty"),
    ],
)
def test_a_word_that_cannot_be_followed_is_refused(steering: Steering, situation: Situation, why: str) -> None:
    """The reason is one line, whatever the word."""
    told = refusal(steering, situation)

    assert why in told
    assert "\n" not in told and len(told) < 600


@pytest.mark.parametrize(
    ("steering", "situation", "affects"),
    [
        (says("More rye", topic="bread"), now(), "“Bread” will know it, and the next plan of the research."),
        (says("More"), now(phase="write"), "Every section will know it."),
        (says("More"), now(topics=()), "The outline and the research will know it."),
        (says("More", topic="Wine"), now(topics=()), "The outline and the research will know it."),
        (says("More"), now(mode="CODE"), "The next program is written with it."),
        (says("More"), now(wishes=(Feedback(text="More"),)), "It was said before and changes nothing more."),
        (says("Cheese"), now(stance=Stance(finishing=True)), "“Cheese” will know it where it is still being written."),
        (Steering(verb="pause"), now(), "Nothing new starts until it is resumed; its deadline stands still."),
        (Steering(verb="pause"), now(stance=Stance(paused=True)), "It is held already; nothing changes."),
        (
            Steering(verb="answer", text="Rye"),
            now(question=UNCLEAR, phase="route"),
            "The question is read with the answer, and the research begins.",
        ),
        (Steering(verb="resume"), now(), "It was not held; nothing changes."),
        (Steering(verb="resume"), now(stance=Stance(paused=True)), "It goes on."),
        (Steering(verb="finish"), now(), "Nothing new is begun, and what there is gets written up."),
        (Steering(verb="finish"), now(asked_to_finish=True), "It is finishing already; nothing changes."),
        (Steering(verb="cancel"), now(), "It stops at once, and what is written is delivered."),
        (Steering(verb="cancel", discard=True), now(), "It stops at once, and what is written is thrown away."),
        (outline("Bread => Rye", "Wine"), now(), "The outline will have 2 topics: 1 new, 1 dropped."),
        (outline("Wine"), now(topics=()), "The outline will have 1 topic."),
        (budget(max_cost_usd=1.0), now(limits=Limits(dearest=PRICE)), "The new bounds hold from the next call on."),
        (
            budget(max_calls=9),
            now(stance=Stance(finishing=True, spent="calls"), limits=Limits(max_calls=5)),
            "The new bounds hold from the next call on. The run takes up again what the old ones ended.",
        ),
        (
            budget(max_calls=9),
            now(stance=Stance(finishing=True, spent="calls"), limits=Limits(max_calls=5), asked_to_finish=True),
            "The new bounds hold from the next call on. Nothing more is gathered, since a person asked to finish.",
        ),
        (Steering(verb="approve"), now(question=PLAN), "The research begins."),
        (Steering(verb="answer", text="x"), now(question=UNCLEAR), "The research plans anew with the answer."),
    ],
)
def test_a_word_that_is_followed_says_what_it_changes(steering: Steering, situation: Situation, affects: str) -> None:
    """The answer of the run names what will be different."""
    assert (refusal(steering, situation), effect(steering, situation)) == ("", affects)


def test_later_bounds_take_the_place_of_earlier_ones() -> None:
    """A budget changes the bounds it names and leaves the others."""
    both = together(Budget(max_tokens=1, max_calls=2), Budget(max_calls=3))

    assert both == Budget(max_tokens=1, max_calls=3)
    assert within(Limits(max_searches=4), both) == Limits(max_searches=4, max_tokens=1, max_calls=3)
    assert within(Limits(max_searches=4), Budget()) == Limits(max_searches=4)


@pytest.mark.parametrize(
    ("spent", "change", "helps"),
    [
        ("tokens", Budget(max_tokens=11), True),
        ("tokens", Budget(max_tokens=9), False),
        ("tokens", Budget(max_calls=11), False),
        ("time", Budget(max_seconds=1.0), True),
        (None, Budget(max_tokens=11), False),
    ],
)
def test_only_more_of_what_was_used_up_helps(spent: Any, change: Budget, helps: bool) -> None:
    """A run that has ended for want of tokens goes on with more tokens."""
    assert relieved(Stance(spent=spent), Limits(max_tokens=10), change) is helps


def test_an_answer_is_feedback_that_repeats_the_question() -> None:
    """Parts of the run that never saw the question understand the answer."""
    assert answered(UNCLEAR, " Rye. ") == Feedback(text="To “Is it right?” a person answers: Rye.")
    assert feedback_of(says(" x ", topic="Bread")) == Feedback(text="x", topic="Bread")


def test_a_line_is_a_topic_with_its_question_and_its_former_name() -> None:
    """An outline can be written as a plain list."""
    assert Outline(number=1, topics=("Old => New | Why?", {"heading": "X"})).topics == (  # type: ignore[arg-type]
        OutlineTopic(heading="New", question="Why?", was="Old"),
        OutlineTopic(heading="X"),
    )
