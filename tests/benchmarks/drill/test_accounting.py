"""Test how the drill counts repeated calls and compares rows."""

import json
from collections import Counter

import pytest

from benchmarks.support.drill.accounting import (
    AskedCall,
    Completion,
    Prompt,
    RecordedCall,
    RowDifferences,
    RunHistory,
    compare_rows,
    count_repeated,
)


def prompt(*messages: str, role: str = "router") -> Prompt:
    return Prompt(role, tuple(json.dumps(message) for message in messages))


def asked(*calls: tuple[Prompt, float]) -> list[AskedCall]:
    return [AskedCall(*call) for call in calls]


HISTORY = RunHistory([RecordedCall("router", 0, 10), RecordedCall("router", 5, 20)])
KNOWN = Counter([prompt("a"), prompt("b")])


@pytest.mark.parametrize(
    ("calls", "repeated"),
    [
        ([(prompt("a"), 1), (prompt("b"), 6)], 0),
        ([(prompt("a"), 1), (prompt("a"), 9), (prompt("b"), 6), (prompt("b"), 19)], 0),
        ([(prompt("a"), 1), (prompt("b"), 6), (prompt("a"), 12)], 1),
        ([(prompt("a"), 1), (prompt("b"), 6), (prompt("b"), 21)], 1),
        ([(prompt("a"), 1), (prompt("a", "wrong", "again"), 9), (prompt("b"), 6)], 0),
        ([(prompt("a"), 1), (prompt("b"), 6), (prompt("c"), 7)], 0),
        ([(prompt("a"), 1), (prompt("b"), 6), (prompt("c"), 21)], 1),
    ],
)
def test_a_request_outside_of_its_activity_is_a_repetition(calls: list[tuple[Prompt, float]], repeated: int) -> None:
    """Requests are explained by an activity that is open; corrections belong to the prompt that they correct."""
    assert count_repeated(asked(*calls), HISTORY, KNOWN) == repeated


def test_a_prompt_that_is_asked_twice_needs_an_open_activity_each_time() -> None:
    """The undisturbed run asks it twice, so two activities explain it, and a third request does not count."""
    known = Counter({prompt("a"): 2})
    history = RunHistory([RecordedCall("router", 0, 5), RecordedCall("router", 10, 15)])

    assert count_repeated(asked((prompt("a"), 1), (prompt("a"), 11)), history, known) == 0
    assert count_repeated(asked((prompt("a"), 1), (prompt("a"), 7), (prompt("a"), 11)), history, known) == 1


def test_steps_of_the_ended_worker_do_not_count_as_resumed() -> None:
    """The time to resume ends with the first step of another process after the fault."""
    history = RunHistory(completions=[Completion(9, "7@host"), Completion(11, "7@host"), Completion(14, "8@host")])

    assert history.measure_resume(10, 99) == 1
    assert history.measure_resume(10, 99, ended=7) == 4
    assert history.measure_resume(10, 13, ended=7) is None
    assert history.measure_resume(15, 99) is None


def test_rows_are_compared_by_key() -> None:
    """Lost, doubled, additional and changed rows are counted; small differences of vectors are none."""
    rows = {("t", str(n)): [{"id": str(n), "vector": [1.0, float(n)]}] for n in range(4)}
    close = rows | {("t", "1"): [{"id": "1", "vector": [1.0, 1.0001]}]}
    changed = rows | {("t", "1"): [{"id": "1", "vector": [1.0, 1.5]}], ("t", "2"): rows["t", "2"] * 2}
    changed |= {("t", "9"): [{"id": "9"}]}
    del changed["t", "3"]

    assert compare_rows(rows, close) == RowDifferences(0, 0, 0)
    assert compare_rows(rows, changed) == RowDifferences(lost=1, doubled=2, wrong=1)
