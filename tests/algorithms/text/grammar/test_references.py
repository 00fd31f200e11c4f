"""Tests of references between questions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.grammar.references import (
    find_reference,
    has_unresolvable_reference,
    is_standalone,
    resolve_by_antecedent,
)


@pytest.mark.parametrize(
    ("question", "earlier", "expected"),
    [
        ("What does it cost?", "How did gradual typing come to Python?", "What does gradual typing cost?"),
        ("What are its uses?", "What is rye?", "What are rye's uses?"),
        ("What are their uses?", "What are oats?", "What are oats' uses?"),
        ("When did she die?", "When was Marie Curie born?", "When did Marie Curie die?"),
        ("When did he die?", "When was the director of Alien born?", "When did the director of Alien die?"),
        ("When did he die?", "How is bread made?", ""),
        ("Why did it fail?", "How did Apple beat Nokia?", ""),
        ("Is it biased?", "How large is the error of the method?", ""),
        ("How is it enforced?", "What is the purpose of PEP 8?", "How is PEP 8 enforced?"),
        ("How does this compare to oats?", "What is the price of rye?", "How does the price of rye compare to oats?"),
        ("How does this compare to oats?", "Who bakes rye?", ""),
        ("How old is this oven?", "Who bought the oven?", "How old is the oven?"),
        ("How old is this cat?", "Who bought the oven?", ""),
        ("Which one is older?", "What is rye?", ""),
        ("What can I see there?", "What is rye?", ""),
        ("What are they called?", "How many moons does Mars have?", ""),
        ("How do they compare?", "What is the price of rye and oats?", "How do rye and oats compare?"),
        ("It costs how much?", "What is the price of rye?", "The price of rye costs how much?"),
        ("Why does it raise them?", "How does the bank set rates?", "Why does the bank raise rates?"),
        ("Is it possible to bake rye?", "What is bread?", "Is it possible to bake rye?"),
        ("Who says that prices fall?", "What is bread?", "Who says that prices fall?"),
        ("Why did Marie Curie leave her town?", "What is bread?", "Why did Marie Curie leave her town?"),
    ],
)
def test_references_are_resolved(question: str, earlier: str, expected: str) -> None:
    """A reference becomes the only noun phrase that agrees with it; an uncertain one gives no question."""
    assert resolve_by_antecedent(question, earlier) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which of them is older?", True),
        ("Where is the company based?", True),
        ("Where is the company of Ford based?", False),
        ("What does it cost?", False),
    ],
)
def test_unresolvable_references_are_detected(question: str, expected: bool) -> None:
    """A choice among several things and a general noun have no single antecedent."""
    assert has_unresolvable_reference(question) is expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where was Frank Herbert born?", True),
        ("Where was that author born?", False),
        ("What do they cost?", False),
        ("How do rye and wheat differ?", True),
    ],
)
def test_a_question_without_references_is_standalone(question: str, expected: bool) -> None:
    """A question that points to no earlier one needs no rewriting."""
    assert is_standalone(question) is expected


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_is_searched(text: str) -> None:
    """For any text a reference is inside the text, or none exists."""
    match = find_reference(text)

    assert match is None or 0 <= match.start() < match.end() <= len(text)
