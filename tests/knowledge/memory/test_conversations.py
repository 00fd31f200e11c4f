"""Test storing and loading conversations."""

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.messages import Message
from tenure.contracts.run.role_calls import ConversationTurn
from tenure.knowledge.base import KnowledgeBase

RUN = RunId("run-1")
HOSTILE = RunId("it's' OR 'a' = 'a'; --\"")


def turn(number: int, first: int = 0, run: RunId = RUN) -> ConversationTurn:
    return ConversationTurn(run=run, number=number, first=first)


def exchange(name: str) -> tuple[Message, ...]:
    return (Message(role="user", content=f"Is it {name}?"), Message(role="assistant", content=f"“{name}” ü\n'"))


def keep(
    knowledge: KnowledgeBase, number: int, name: str, *, starts_conversation: bool = False, run: RunId = RUN
) -> None:
    knowledge.conversations.save_turn(
        "planner", turn(number, run=run), exchange(name), starts_conversation=starts_conversation
    )


def test_turns_are_loaded_in_order(knowledge: KnowledgeBase) -> None:
    """Messages are returned unchanged up to the requested turn, whatever the order of writing."""
    for number in (2, 0, 1):
        keep(knowledge, number, f"number {number}", starts_conversation=number == 0)

    assert knowledge.conversations.load_turns("planner", turn(2)) == (*exchange("number 0"), *exchange("number 1"))
    assert knowledge.conversations.load_turns("planner", turn(1)) == exchange("number 0")
    assert knowledge.conversations.load_turns("planner", turn(0)) == ()


def test_conversation_starts_with_its_first_turn(knowledge: KnowledgeBase) -> None:
    """Turns before the first one of the conversation are omitted."""
    for number in range(3):
        keep(knowledge, number, f"number {number}", starts_conversation=number == 0)

    assert knowledge.conversations.load_turns("planner", turn(3, first=2)) == exchange("number 2")
    assert knowledge.conversations.load_turns("planner", turn(2, first=2)) == ()


def test_restarted_turn_omits_earlier_turns(knowledge: KnowledgeBase) -> None:
    """The last turn that starts a conversation is its beginning."""
    for number, starts_conversation in enumerate((True, False, True, False)):
        keep(knowledge, number, f"number {number}", starts_conversation=starts_conversation)

    assert knowledge.conversations.load_turns("planner", turn(4)) == (*exchange("number 2"), *exchange("number 3"))


@pytest.mark.parametrize("kept", [(1,), (0,), (0, 2), ()])
def test_conversation_with_a_gap_is_empty(knowledge: KnowledgeBase, kept: tuple[int, ...]) -> None:
    """If a turn is missing, no message is returned."""
    for number in kept:
        keep(knowledge, number, "it")

    assert knowledge.conversations.load_turns("planner", turn(2 if 2 not in kept else 3)) == ()


def test_repeated_turn_is_replaced(knowledge: KnowledgeBase) -> None:
    """A retried activity leaves one turn with its last messages."""
    keep(knowledge, 0, "first", starts_conversation=True)
    keep(knowledge, 0, "second", starts_conversation=True)

    assert knowledge.conversations.load_turns("planner", turn(1)) == exchange("second")


def test_runs_and_roles_are_isolated(knowledge: KnowledgeBase) -> None:
    """A run id that looks like an SQL condition is treated as text."""
    keep(knowledge, 0, "mine", starts_conversation=True)
    keep(knowledge, 0, "hostile", starts_conversation=True, run=HOSTILE)

    assert knowledge.conversations.load_turns("planner", turn(1, run=HOSTILE)) == exchange("hostile")
    assert knowledge.conversations.load_turns("planner", turn(1)) == exchange("mine")
    assert (
        knowledge.conversations.load_turns("synthesizer", turn(1))
        == knowledge.conversations.load_turns("' OR '1' = '1", turn(1))
        == ()
    )


def test_deleted_run_has_no_conversations(knowledge: KnowledgeBase) -> None:
    """The conversations of other runs stay."""
    keep(knowledge, 0, "mine", starts_conversation=True)
    keep(knowledge, 0, "hostile", starts_conversation=True, run=HOSTILE)
    knowledge.conversations.delete_run(HOSTILE)

    assert knowledge.conversations.load_turns("planner", turn(1, run=HOSTILE)) == ()
    assert knowledge.conversations.load_turns("planner", turn(1)) == exchange("mine")
