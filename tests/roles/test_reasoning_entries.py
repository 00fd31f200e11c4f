"""Tests of the entries of a line of reasoning."""

import pytest

from tenure.contracts.evidence.reasoning import MAX_REASONING_QUERIES, MAX_REASONING_STEPS, RejectedThought
from tenure.roles.reasoning_entries import parse_reasoning

ANSWER = """Here is my line:

STEP 1 hop: Middlemarch was written by George Eliot [3].
- **STEP 2 hop after 1 via George Eliot:** George Eliot was born in Nuneaton
  in 1819 [4, 5].
REJECTED 20 %: She was born in Coventry. – Passage 7 speaks of her school.
CONCLUSION after 1 and 2: The author of Middlemarch was born in Nuneaton.
ANSWER: Nuneaton
CONFIDENCE: 0.85
SEARCH: Where is Nuneaton?
SEARCH: none

I hope that helps."""


def test_a_line_is_read_by_its_entries() -> None:
    """Steps have kinds, passages, links and what they follow from; remarks around the entries are ignored."""
    line = parse_reasoning(ANSWER)

    assert [(step.number, step.kind, step.sentence.text) for step in line.steps] == [
        (1, "hop", "Middlemarch was written by George Eliot."),
        (2, "hop", "George Eliot was born in Nuneaton in 1819."),
    ]
    assert [(step.sentence.passages, step.follows, step.link) for step in line.steps] == [
        ((3,), (), ""),
        ((4, 5), (1,), "George Eliot"),
    ]
    assert line.conclusion is not None and line.conclusion.follows == (1, 2)
    assert line.conclusion.sentence.text == "The author of Middlemarch was born in Nuneaton."
    assert (line.answer, line.confidence, line.queries) == ("Nuneaton", 0.85, ("Where is Nuneaton?",))
    assert line.rejected == (
        RejectedThought(text="She was born in Coventry.", score=0.2, reason="Passage 7 speaks of her school."),
    )


def test_small_models_write_other_heads() -> None:
    """A dash ends a head as well, an unknown kind is a premise or an inference, and a missing number counts on."""
    line = parse_reasoning(
        "STEP 1 – Bread rises [1].\nSTEP 2 idea after 1: So it takes time.\nSTEP premise: It is old [2]."
    )

    assert [(step.number, step.kind, step.follows) for step in line.steps] == [
        (1, "premise", ()),
        (2, "inference", (1,)),
        (0, "premise", ()),
    ]
    assert (line.conclusion, line.confidence) == (None, 0.5)


def test_no_line_and_no_entry_differ() -> None:
    """NONE is an empty line; a text without entries is returned to the model."""
    assert parse_reasoning("NONE").steps == ()
    with pytest.raises(ValueError, match="no entry"):
        parse_reasoning("Nothing follows from these passages.")


def test_a_long_line_is_limited() -> None:
    """Steps and searches beyond the maximum, steps without a sentence, and repeated searches are left out."""
    steps = [f"STEP {n} premise: Bread {n} rises [1]." for n in range(1, 40)]
    searches = [f"SEARCH: What is {n}?" for n in (1, 1, 2, 3, 4)]
    line = parse_reasoning("\n".join(["STEP 1 premise: [3]", *steps, *searches]))

    assert (len(line.steps), len(line.queries)) == (MAX_REASONING_STEPS, MAX_REASONING_QUERIES)
    assert line.steps[0].sentence.text == "Bread 1 rises."
