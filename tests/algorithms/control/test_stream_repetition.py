"""Tests of the detection of text that repeats itself."""

import json

import pytest

from tenure.algorithms.control.stream_repetition import TAIL_CHARACTERS, is_repetitive

SENTENCES = "".join(f"Sentence {n} tells something about subject {n * n}. " for n in range(200))


@pytest.mark.parametrize(
    "segment",
    ["\n", " ", "a", "very ", "\\n", "The dough rises in the oven and then it rises again. ", "word " * 50 + "end. "],
)
def test_a_repeated_segment_is_found(segment: str) -> None:
    """White space, words and sentences that are repeated at the end of a text are found."""
    assert is_repetitive(SENTENCES + segment * (TAIL_CHARACTERS // len(segment)))


@pytest.mark.parametrize("segment", ['{"label": "neutral"}, ', "false, ", '"x",'])
def test_equal_items_need_more_repetitions(segment: str) -> None:
    """A list of labels may consist of equal items; hundreds of them are a repetition."""
    assert not is_repetitive(SENTENCES + segment * (1_000 // len(segment)))
    assert is_repetitive(SENTENCES + segment * (5_000 // len(segment)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "word " * 100,
        SENTENCES,
        "very " * 300 + SENTENCES,
        "-" * 120,
        "The refrain is sung five times in this song of the sea and its harbours.\n" * 5,
        json.dumps([{"question": n, "verdict": "supported"} for n in range(300)]),
    ],
)
def test_other_text_is_not_repetitive(text: str) -> None:
    """Short repetitions, repetitions before the end, and items that differ are accepted."""
    assert not is_repetitive(text)
