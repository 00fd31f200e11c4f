"""Tests of linked questions."""

import pytest

from tenure.algorithms.text.grammar.chain import LinkedQuestion, link_questions


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("What is rye?", [("What is rye?", ())]),
        ("What is rye, and how old is it?", [("What is rye?", ()), ("How old is rye?", ())]),
        ("Who wrote Dune, and where was he born?", [("Who wrote Dune?", ()), ("Where was he born?", (1,))]),
        ("Who bakes oats and how do they taste?", [("Who bakes oats?", ()), ("How do oats taste?", ())]),
        ("Who bakes rye and how do they live?", [("Who bakes rye?", ()), ("How do they live?", (1,))]),
        ("What is rye, and which one is older?", [("What is rye, and which one is older?", ())]),
        ("What is this? Is it it?", [("What is this? Is it it?", ())]),
        ("How is rye grown? How is rye grown?", [("How is rye grown?", ())]),
        ("What is rye? We bake. How old is it?", [("What is rye?", ()), ("We bake. How old is it?", ())]),
    ],
)
def test_questions_are_linked(message: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    """References are replaced or linked to the question that they need; without either the message stays whole."""
    assert link_questions(message) == tuple(LinkedQuestion(*pair) for pair in expected)
