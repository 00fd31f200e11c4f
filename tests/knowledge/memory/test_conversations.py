"""Conversations: what a role and its model have said, turn by turn."""

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.run.role_calls import Turn
from tenure.knowledge.base import KnowledgeBase
from tenure.roles.base import Message

RUN = RunId("run-1")
HOSTILE = RunId("it's' OR 'a' = 'a'; --\"")


def turn(number: int, first: int = 0, run: RunId = RUN) -> Turn:
    return Turn(run=run, number=number, first=first)


def exchange(name: str) -> tuple[Message, ...]:
    return (Message(role="user", content=f"Is it {name}?"), Message(role="assistant", content=f"“{name}” ü\n'"))


def keep(knowledge: KnowledgeBase, number: int, name: str, *, anew: bool = False, run: RunId = RUN) -> None:
    knowledge.keep_turn("planner", turn(number, run=run), exchange(name), anew=anew)


def test_turns_are_said_again_in_their_order(knowledge: KnowledgeBase) -> None:
    """What was kept comes back to the letter, up to the turn that is asked for, whatever the order of writing."""
    for number in (2, 0, 1):
        keep(knowledge, number, f"number {number}", anew=number == 0)

    assert knowledge.said("planner", turn(2)) == (*exchange("number 0"), *exchange("number 1"))
    assert knowledge.said("planner", turn(1)) == exchange("number 0")
    assert knowledge.said("planner", turn(0)) == ()


def test_a_conversation_begins_with_its_first_turn(knowledge: KnowledgeBase) -> None:
    """Turns before the one with which it began are no part of it."""
    for number in range(3):
        keep(knowledge, number, f"number {number}", anew=number == 0)

    assert knowledge.said("planner", turn(3, first=2)) == exchange("number 2")
    assert knowledge.said("planner", turn(2, first=2)) == ()


def test_a_turn_that_began_anew_cuts_off_what_was_before(knowledge: KnowledgeBase) -> None:
    """The last such turn is the beginning, also where the workflow does not know of it."""
    for number, anew in enumerate((True, False, True, False)):
        keep(knowledge, number, f"number {number}", anew=anew)

    assert knowledge.said("planner", turn(4)) == (*exchange("number 2"), *exchange("number 3"))


@pytest.mark.parametrize("kept", [(1,), (0,), (0, 2), ()])
def test_a_conversation_with_a_gap_begins_anew(knowledge: KnowledgeBase, kept: tuple[int, ...]) -> None:
    """Where a turn was not kept nothing is said again."""
    for number in kept:
        keep(knowledge, number, "it")

    assert knowledge.said("planner", turn(2 if 2 not in kept else 3)) == ()


def test_a_turn_kept_again_is_replaced(knowledge: KnowledgeBase) -> None:
    """A repeated activity leaves one turn, as it said it last."""
    keep(knowledge, 0, "first", anew=True)
    keep(knowledge, 0, "second", anew=True)

    assert knowledge.said("planner", turn(1)) == exchange("second")


def test_runs_and_roles_do_not_hear_each_other(knowledge: KnowledgeBase) -> None:
    """A name that looks like a condition is a name."""
    keep(knowledge, 0, "mine", anew=True)
    keep(knowledge, 0, "hostile", anew=True, run=HOSTILE)

    assert knowledge.said("planner", turn(1, run=HOSTILE)) == exchange("hostile")
    assert knowledge.said("planner", turn(1)) == exchange("mine")
    assert knowledge.said("synthesizer", turn(1)) == knowledge.said("' OR '1' = '1", turn(1)) == ()
