"""Test the bounds of the conversation of a model that works in a repository."""

from tenure.algorithms.coding.engineer_conversation import (
    MAX_CONVERSATION_TOKENS,
    compact_turns,
    limit_results,
    summarize_turn,
)
from tenure.contracts.coding.engineering import ConversationTurn, EngineerAction


def turn(n: int, size: int = 9_000) -> ConversationTurn:
    """Return a turn of a size in characters."""
    return ConversationTurn(answer=f"READ {n}.py", results="x" * size, summary=f"- read {n}.py → {n} lines")


def test_short_results_stay_and_long_ones_share_the_rest() -> None:
    """The middle of the longest is left out with a note; together they are within the limit, the notes aside."""
    lines = "".join(f"line {n}\n" for n in range(1_000))
    short, one, other = limit_results(["short", lines, lines], 6_000)

    assert short == "short"
    assert one == other and one.startswith("line 0\n") and one.endswith("line 999\n") and "left out" in one
    assert len(one) < 3_200


def test_lines_of_a_file_that_are_left_out_have_their_numbers() -> None:
    """The model can read exactly what is missing."""
    numbered = "a.py, lines 1–900 of 900\n" + "\n".join(f"{n}|x = {n}" for n in range(1, 901))
    (shown,) = limit_results([numbered], 3_000)

    head, _, tail = shown.partition("\n[lines ")
    first, last = tail.split(" ")[0].split("-")
    assert head.endswith(f"\n{int(first) - 1}|x = {int(first) - 1}")
    assert f"\n{int(last) + 1}|x" in tail and "READ them" in tail


def test_a_text_slightly_longer_than_its_room_stays_whole() -> None:
    """A model that asks for ten lines pays for the whole conversation."""
    lines = "".join(f"line {n}\n" for n in range(100))

    assert limit_results([lines], len(lines) - 60) == (lines,)


def test_a_short_conversation_is_unchanged() -> None:
    """Nothing is compacted below the limit, so that the beginning stays the same."""
    turns = (turn(1), turn(2))

    assert compact_turns("", turns) == ("", turns)


def test_a_long_conversation_keeps_its_latest_turns() -> None:
    """Older turns become lines; a later compaction keeps those lines."""
    turns = tuple(turn(n) for n in range(20))
    summary, kept = compact_turns("", turns)
    again, last = compact_turns(summary, (*kept, turn(20, 3 * MAX_CONVERSATION_TOKENS)))

    assert kept == turns[-1:] and summary.splitlines()[0] == "- read 0.py → 0 lines"
    assert again == f"{summary}\n{turns[-1].summary}" and len(last) == 1


def test_a_turn_is_summarized_by_its_actions() -> None:
    """Thought, action and outcome are a line each."""
    action = EngineerAction(kind="run", subject="make")

    assert summarize_turn("I test.", [action], ["exit code 2"]) == "I test.\n- run make → exit code 2"
