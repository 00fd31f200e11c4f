"""Tests of the transcript with its rolling summary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.control.budget import estimate_tokens
from tenure.algorithms.research.transcript import append_step, estimate_step_tokens
from tenure.contracts.evidence.react import ReactStep, Transcript

TASK = "How long does rye dough rise?"


def step(n: int, observation: str = "", arguments: str = "") -> ReactStep:
    return ReactStep(n=n, thought="On.", tool="lookup", arguments=arguments or f"dough{n}", observation=observation)


def after(steps: list[ReactStep], most: int = 200) -> Transcript:
    transcript = Transcript()
    for one in steps:
        transcript = append_step(transcript, one, TASK, most)
    return transcript


def size(transcript: Transcript) -> int:
    return sum(map(estimate_tokens, transcript.summaries)) + sum(map(estimate_step_tokens, transcript.steps))


def test_steps_within_the_limit_stay_verbatim() -> None:
    """Steps within the limit stay verbatim."""
    steps = [step(1, "It rises."), step(2, "It bakes.")]

    assert after(steps) == Transcript(steps=tuple(steps))


def test_oldest_step_is_summarized() -> None:
    """The summary has the call and the sentence nearest to the task."""
    long = "Bakers get up early. Rye dough rises for two hours. They sleep." + " Nothing else." * 20
    transcript = after([step(1, long), step(2, "y " * 60)])

    assert transcript.summaries == ("1. lookup dough1 → Rye dough rises for two hours.",)
    assert [one.n for one in transcript.steps] == [2]


def test_summary_of_invalid_and_empty_steps() -> None:
    """Summary of invalid and empty steps."""
    wrong = ReactStep(n=1, tool="", observation="There is no such tool. " * 30, corrected=True)
    transcript = after([wrong, step(2, ""), step(3, "y " * 440)], 400)

    assert transcript.summaries == ("1. no action → not done", "2. lookup dough2 → nothing")


def test_summary_is_trimmed_from_the_oldest_line() -> None:
    """Old lines first lose their sentence, then are only counted."""
    transcript = after([step(n, f"Rye dough number {n} rises. " * 12) for n in range(1, 40)])

    assert transcript.omitted > 0 and transcript.omitted + len(transcript.summaries) + len(transcript.steps) == 39
    assert "→" not in transcript.summaries[0]
    assert size(transcript) <= 200


def test_long_step_is_truncated() -> None:
    """The newest step is always kept, its call first."""
    transcript = after([step(1, "é" * 5000)])
    whole = after([step(1, "x", arguments="a" * 5000)])

    assert transcript.steps[0].arguments == "dough1" and 0 < len(transcript.steps[0].observation) < 5000
    assert whole.steps[0].observation == "" and whole.steps[0].tool == "lookup"
    assert max(size(transcript), size(whole)) <= 200


@pytest.mark.parametrize("most", [12, 40, 300])
@given(st.lists(st.tuples(st.text(max_size=300), st.text(max_size=40), st.booleans()), min_size=1, max_size=12))
def test_token_limit_is_never_exceeded(most: int, drawn: list[tuple[str, str, bool]]) -> None:
    """The transcript ends with the newest step and counts every step."""
    steps = [
        ReactStep(n=n, tool=tool, observation=text, corrected=wrong) for n, (text, tool, wrong) in enumerate(drawn, 1)
    ]
    transcript = after(steps, most)

    assert size(transcript) <= most
    assert transcript.steps[-1].n == len(steps)
    assert transcript.omitted + len(transcript.summaries) + len(transcript.steps) == len(steps)
