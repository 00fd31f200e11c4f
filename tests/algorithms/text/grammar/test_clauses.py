"""Tests of clauses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.grammar.clauses import (
    MAX_MESSAGE_CHARACTERS,
    has_several_clauses,
    is_direct_question,
    split_clauses,
    strip_request,
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("How is bread made, and why does it rise?", ["How is bread made?", "Why does it rise?"]),
        ("What happens when it rains and when it snows?", ["What happens when it rains and when it snows?"]),
        ("How is bread made, and why?", ["How is bread made, and why?"]),
        ("Who is the man who bakes and who sells bread?", ["Who is the man who bakes and who sells bread?"]),
        ("Is rye old, and is it good?", ["Is rye old?", "Is it good?"]),
        ("Is rye old and are grown men fond of bread?", ["Is rye old and are grown men fond of bread?"]),
        ("Tell me how rye grows and is it old.", ["Tell me how rye grows and is it old."]),
        ("How old is rye, and is baked in ovens?", ["How old is rye, and is baked in ovens?"]),
        ("Tell me how rye grows and why it is old.", ["Tell me how rye grows.", "Tell me why it is old."]),
        ("List two towns and describe the older one.", ["List two towns.", "Describe the older one."]),
        ("What is rye, which grows here, and how old is it?", ["What is rye, which grows here?", "How old is it?"]),
        ("Hello! What is rye? Thanks a lot.", ["What is rye?"]),
        ("We bake. What is rye?", ["We bake. What is rye?"]),
        ("What is rye? We bake", ["What is rye? We bake"]),
        ("1. How old is rye?\n2. How old is bread?", ["How old is rye?", "How old is bread?"]),
        ("why does bread rise\nhow is rye grown", ["Why does bread rise?", "How is rye grown?"]),
        ("rye and oats", ["rye and oats"]),
        ("Hello!", ["Hello!"]),
    ],
)
def test_messages_are_split_into_clauses(message: str, expected: list[str]) -> None:
    """Questions and requests are clauses, and other text stays with the nearest clause."""
    assert [clause.question for clause in split_clauses(message)] == expected


def test_a_long_message_is_one_clause() -> None:
    """Pasted text is not searched for questions."""
    assert len(split_clauses("What is rye? Is it old? " + "x" * MAX_MESSAGE_CHARACTERS)) == 1


@given(st.text(max_size=300))
@settings(deadline=None)
def test_any_text_has_a_clause(text: str) -> None:
    """For any text there is at least one clause."""
    assert split_clauses(text)


def test_requests_are_removed() -> None:
    """The words of a request are removed, other words are not."""
    assert strip_request("Could you please tell me about rye?") == "rye?"
    assert strip_request("What is rye?") == "What is rye?"


def test_joined_questions_are_detected() -> None:
    """A second question after a conjunction counts, a subordinate clause does not."""
    assert has_several_clauses("What is rye and what are the risks?")
    assert not has_several_clauses("What happens when it rains and when it snows?")


def test_direct_questions_are_detected() -> None:
    """The word order decides, not the mark."""
    assert is_direct_question("why does bread rise")
    assert not is_direct_question("why bread rises")
    assert not is_direct_question("how to bake")
