"""Reading what an acting model says, in whatever form it says it."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.research.action_parsing import (
    LONGEST_ANSWER,
    LONGEST_ARGUMENTS,
    LONGEST_NAME,
    LONGEST_THOUGHT,
    NO_NUMBER,
    Move,
    as_object,
    name_of,
    read,
)

QUERY = '{"query": "bread"}'


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("hybrid_search[bread]", Move("", "hybrid_search", "bread")),
        ("hybrid_search [bread]", Move("", "hybrid_search", "bread")),
        ("1. `hybrid_search[bread]`", Move("", "hybrid_search", "bread")),
        ("Bread first.\nhybrid_search[a [b] c]", Move("Bread first.", "hybrid_search", "a [b] c")),
        ("calculate[(1 + 2", Move("", "calculate", "(1 + 2")),
        ('lookup("bread")', Move("", "lookup", "bread")),
        ("vector_search(query='bread', k=5)", Move("", "vector_search", '{"query": "bread", "k": 5}')),
        ("vector_search(query=bread)", Move("", "vector_search", QUERY)),
        ("vector_search(query='bread', k=)", Move("", "vector_search", "query='bread', k=")),
        ("Thought: Go.\nAction: hybrid_search[bread]", Move("Go.", "hybrid_search", "bread")),
        ("**Thought 2:** Go.\n**Action 2:** hybrid_search[“bread”]", Move("Go.", "hybrid_search", "“bread”")),
        ('Go.\nAction: hybrid_search\nAction Input: "bread"', Move("Go.", "hybrid_search", "bread")),
        (f"Action: hybrid_search\nAction_Input: ```json\n{QUERY}\n```", Move("", "hybrid_search", QUERY)),
        ("Action: I look for bread\nConfidence: 40%", Move("", "I look for bread", "", "", 0.4)),
        ("Action: lookup[a]\nObservation: b\nAction: lookup[c]", Move("", "lookup", "a", further=1)),
        ("lookup[a]\nlookup[b]\nlookup[c]", Move("", "lookup", "a", further=2)),
        ("Observation: it is so\nFinal Answer: yes", Move("Observation: it is so\nFinal Answer: yes", "")),
        ("Thought: Done.\nFinal Answer: Rye [1].", Move("Done.", "finish", "", "Rye [1].")),
        ("Answer: Rye [1].\nConfidence: 0.95", Move("", "", "", "Rye [1].", 0.95)),
        ("finish[Rye [1].]", Move("", "finish", "", "Rye [1].")),
        ("Action: Final Answer[Rye.]", Move("", "Final Answer[Rye.]", "")),
        ("Thought: I only think.", Move("I only think.")),
        ("Bread is made of flour [1].", Move("Bread is made of flour [1].")),
        ("", Move()),
    ],
)
def test_text_is_read(text: str, move: Move) -> None:
    """Labels, brackets and prose around them are told apart; the first action counts, and nothing after it."""
    assert read(text) == move


@pytest.mark.parametrize(
    ("found", "move"),
    [
        ({"thought": "t", "action": "lookup", "arguments": {"term": "x"}}, Move("t", "lookup", '{"term": "x"}')),
        ({"Action": "lookup", "Action Input": "x"}, Move("", "lookup", "x")),
        ({"name": "lookup", "arguments": '{"term": "x"}'}, Move("", "lookup", '{"term": "x"}')),
        ({"action": "lookup", "term": "x", "confidence": 1}, Move("", "lookup", '{"term": "x"}', confidence=1.0)),
        ({"action": "lookup"}, Move("", "lookup")),
        ({"action": ["lookup", "sql"]}, Move("", '["lookup", "sql"]')),
        ({"action": {"name": "lookup", "args": {"term": "x"}}}, Move("", "lookup", '{"term": "x"}')),
        (
            {"reasoning": "r", "tool_calls": [{"function": {"name": "lookup", "arguments": {}}}, {"name": "sql"}]},
            Move("r", "lookup", "{}", further=1),
        ),
        ({"tool_calls": [{"term": "x"}]}, None),
        ({"tool_calls": "lookup", "answer": "a"}, Move("", "", "", "a")),
        ({"action": "finish", "answer": "a [1]", "confidence": "95 %"}, Move("", "finish", "", "a [1]", 0.95)),
        ({"action": "Final_Answer", "action_input": "a"}, Move("", "finish", "", "a")),
        ({"action": "finish", "arguments": {"text": "a"}}, Move("", "finish", "", "a")),
        ({"action": "finish", "answer": "a", "arguments": {}}, Move("", "finish", "", "a")),
        (
            {"action": "lookup", "arguments": {"term": "x", "thought": "t", "answer": "a", "confidence": 0.2}},
            Move("t", "lookup", '{"term": "x"}', "a", 0.2),
        ),
        (
            {"action": "lookup", "thought": "t", "confidence": 0.3, "arguments": {"term": "x", "answer": "a"}},
            Move("t", "lookup", '{"term": "x"}', "a", 0.3),
        ),
        (
            {"action": "lookup", "arguments": {"term": "x"}, "further": 2},
            Move("", "lookup", '{"term": "x"}', further=2),
        ),
        ({"query": "bread"}, None),
    ],
)
def test_objects_are_read(found: dict[str, Any], move: Move | None) -> None:
    """Every usual way to name an action in an object is one; an object that names none is none."""
    assert read("", [found]) == (move or Move())


def test_the_first_acting_object_counts() -> None:
    """Objects that name no action are passed over, and further actions are counted, not taken."""
    lookup, sql = {"action": "lookup", "arguments": "x"}, {"action": "sql", "arguments": "y"}

    assert read("", [{"query": "z"}, {"answer": "a"}, lookup, sql]) == Move("", "lookup", "x", further=1)
    assert read("", [{"answer": "a"}, {"answer": "b"}]) == Move("", "", "", "b")


def test_prose_before_an_object_is_its_thought() -> None:
    """What a model says before it acts is what it thought; a fence is not."""
    assert (
        read('Thought: Bread first.\n```json\n{"action": "lookup"}```', [{"action": "lookup"}]).thought
        == "Bread first."
    )
    assert read('```json\n{"action": "lookup"}', [{"action": "lookup"}]).thought == ""


def test_wrappings_are_opened_a_few_times() -> None:
    """An action wrapped in actions ever deeper is not followed to its end."""
    wrapped: dict[str, Any] = {"name": "lookup"}
    for _ in range(3):
        wrapped = {"action": wrapped}
    assert read("", [wrapped]).action == "lookup"
    assert read("", [{"action": wrapped}]).action != "lookup"


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (0.5, 0.5),
        ("0.5", 0.5),
        ("80%", 0.8),
        (85, 85.0),
        (None, 0.0),
        ("", 0.0),
        ("high", NO_NUMBER),
        (True, NO_NUMBER),
        ([1], NO_NUMBER),
        (math.nan, NO_NUMBER),
        (math.inf, NO_NUMBER),
        (10**400, NO_NUMBER),
    ],
)
def test_a_confidence_is_a_number_or_none(written: object, number: float) -> None:
    """Percent are shares, what is missing is nothing, and what is no number is marked as such."""
    assert read("", [{"answer": "a", "confidence": written}]).confidence == number


def test_no_part_is_longer_than_it_may_be() -> None:
    """Each part is cut; arguments stay one character too long, so that a part never passes for the whole."""
    move = read("", [{"thought": "t" * 9999, "action": "a" * 999, "arguments": "x" * 99_999, "answer": "b" * 9999}])

    assert [len(part) for part in move[:4]] == [
        LONGEST_THOUGHT,
        LONGEST_NAME + 1,
        LONGEST_ARGUMENTS + 1,
        LONGEST_ANSWER,
    ]


def test_characters_that_no_text_has_are_left_out() -> None:
    """Null bytes, control characters and halves of characters go; line ends stay."""
    assert read("", [{"action": "look\x00up", "arguments": "a\ud800\x07b\nc"}]) == Move("", "lookup", "ab\nc")


@pytest.mark.parametrize("written", ["VectorSearch", "vector search", "VECTOR-SEARCH", " vector__search "])
def test_a_name_is_the_same_in_any_case(written: str) -> None:
    """Letter case, spaces and hyphens do not make another tool."""
    assert name_of(written) == "vector_search"


def test_arguments_in_a_string_in_a_string_are_an_object() -> None:
    """An object is found within two strings, not within ever more, and bare text is none."""
    assert as_object(json.dumps(json.dumps(QUERY))) == {"query": "bread"}
    assert as_object(json.dumps(json.dumps(json.dumps(QUERY)))) is None
    assert as_object("[1]") is None
    assert as_object("bread") is None
    assert as_object("[" * 100_000) is None


KEYS = st.sampled_from(
    ["action", "Tool", "tool_calls", "arguments", "answer", "confidence", "thought", "function", "x"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
PIECES = st.sampled_from(["Action:", "Thought:", "Observation:", "lookup[", "(", "]", ")", "a=1", '"', "\n", "{", "x"])


@given(
    st.lists(PIECES | st.text(max_size=5)).map("".join), st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=3)
)
def test_anything_is_read(text: str, objects: list[dict[str, Any]]) -> None:
    """Whatever a model says, it is read as a move within its bounds that can be written down as JSON."""
    move = read(text, objects)

    assert len(move.thought) <= LONGEST_THOUGHT and len(move.action) <= LONGEST_NAME + 1
    assert math.isfinite(move.confidence) and move.further >= 0
    json.dumps(move).encode()
