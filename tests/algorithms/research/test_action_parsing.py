"""Tests of the parser for ReAct actions."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.research.action_parsing import (
    INVALID_CONFIDENCE,
    MAX_ANSWER_LENGTH,
    MAX_ARGUMENTS_LENGTH,
    MAX_NAME_LENGTH,
    MAX_THOUGHT_LENGTH,
    ParsedAction,
    normalize_tool_name,
    parse_arguments,
    parse_model_output,
)
from tests.support.tiers import slow

QUERY = '{"query": "bread"}'


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("hybrid_search[bread]", ParsedAction("", "hybrid_search", "bread")),
        ("hybrid_search [bread]", ParsedAction("", "hybrid_search", "bread")),
        ("1. `hybrid_search[bread]`", ParsedAction("", "hybrid_search", "bread")),
        ("Bread first.\nhybrid_search[a [b] c]", ParsedAction("Bread first.", "hybrid_search", "a [b] c")),
        ("calculate[(1 + 2", ParsedAction("", "calculate", "(1 + 2")),
        ('lookup("bread")', ParsedAction("", "lookup", "bread")),
        ("vector_search(query='bread', k=5)", ParsedAction("", "vector_search", '{"query": "bread", "k": 5}')),
        ("vector_search(query=bread)", ParsedAction("", "vector_search", QUERY)),
        ("vector_search(query='bread', k=)", ParsedAction("", "vector_search", "query='bread', k=")),
        ("Thought: Go.\nAction: hybrid_search[bread]", ParsedAction("Go.", "hybrid_search", "bread")),
        ("**Thought 2:** Go.\n**Action 2:** hybrid_search[“bread”]", ParsedAction("Go.", "hybrid_search", "“bread”")),
        ('Go.\nAction: hybrid_search\nAction Input: "bread"', ParsedAction("Go.", "hybrid_search", "bread")),
        (f"Action: hybrid_search\nAction_Input: ```json\n{QUERY}\n```", ParsedAction("", "hybrid_search", QUERY)),
        ("Action: I look for bread\nConfidence: 40%", ParsedAction("", "I look for bread", "", "", 0.4)),
        ("Action: lookup[a]\nObservation: b\nAction: lookup[c]", ParsedAction("", "lookup", "a", extra_actions=1)),
        ("lookup[a]\nlookup[b]\nlookup[c]", ParsedAction("", "lookup", "a", extra_actions=2)),
        ("Observation: it is so\nFinal Answer: yes", ParsedAction("Observation: it is so\nFinal Answer: yes", "")),
        ("Thought: Done.\nFinal Answer: Rye [1].", ParsedAction("Done.", "finish", "", "Rye [1].")),
        ("Answer: Rye [1].\nConfidence: 0.95", ParsedAction("", "", "", "Rye [1].", 0.95)),
        ("finish[Rye [1].]", ParsedAction("", "finish", "", "Rye [1].")),
        ("Action: Final Answer[Rye.]", ParsedAction("", "Final Answer[Rye.]", "")),
        ("Thought: I only think.", ParsedAction("I only think.")),
        ("Bread is made of flour [1].", ParsedAction("Bread is made of flour [1].")),
        ("", ParsedAction()),
    ],
)
def test_text_formats_are_parsed(text: str, move: ParsedAction) -> None:
    """Labels, brackets and surrounding prose are recognized; only the first action counts."""
    assert parse_model_output(text) == move


@pytest.mark.parametrize(
    ("found", "move"),
    [
        (
            {"thought": "t", "action": "lookup", "arguments": {"term": "x"}},
            ParsedAction("t", "lookup", '{"term": "x"}'),
        ),
        ({"Action": "lookup", "Action Input": "x"}, ParsedAction("", "lookup", "x")),
        ({"name": "lookup", "arguments": '{"term": "x"}'}, ParsedAction("", "lookup", '{"term": "x"}')),
        (
            {"action": "lookup", "term": "x", "confidence": 1},
            ParsedAction("", "lookup", '{"term": "x"}', confidence=1.0),
        ),
        ({"action": "lookup"}, ParsedAction("", "lookup")),
        ({"action": ["lookup", "sql"]}, ParsedAction("", '["lookup", "sql"]')),
        ({"action": {"name": "lookup", "args": {"term": "x"}}}, ParsedAction("", "lookup", '{"term": "x"}')),
        (
            {"reasoning": "r", "tool_calls": [{"function": {"name": "lookup", "arguments": {}}}, {"name": "sql"}]},
            ParsedAction("r", "lookup", "{}", extra_actions=1),
        ),
        ({"tool_calls": [{"term": "x"}]}, None),
        ({"tool_calls": "lookup", "answer": "a"}, ParsedAction("", "", "", "a")),
        ({"action": "finish", "answer": "a [1]", "confidence": "95 %"}, ParsedAction("", "finish", "", "a [1]", 0.95)),
        ({"action": "Final_Answer", "action_input": "a"}, ParsedAction("", "finish", "", "a")),
        ({"action": "finish", "arguments": {"text": "a"}}, ParsedAction("", "finish", "", "a")),
        ({"action": "finish", "answer": "a", "arguments": {}}, ParsedAction("", "finish", "", "a")),
        (
            {"action": "lookup", "arguments": {"term": "x", "thought": "t", "answer": "a", "confidence": 0.2}},
            ParsedAction("t", "lookup", '{"term": "x"}', "a", 0.2),
        ),
        (
            {"action": "lookup", "thought": "t", "confidence": 0.3, "arguments": {"term": "x", "answer": "a"}},
            ParsedAction("t", "lookup", '{"term": "x"}', "a", 0.3),
        ),
        (
            {"action": "lookup", "arguments": {"term": "x"}, "extra_actions": 2},
            ParsedAction("", "lookup", '{"term": "x"}', extra_actions=2),
        ),
        ({"query": "bread"}, None),
    ],
)
def test_object_formats_are_parsed(found: dict[str, Any], move: ParsedAction | None) -> None:
    """Every usual key of an action is accepted; an object without action or answer is ignored."""
    assert parse_model_output("", [found]) == (move or ParsedAction())


def test_first_object_with_an_action_counts() -> None:
    """Objects without an action are skipped, and further actions are counted."""
    lookup, sql = {"action": "lookup", "arguments": "x"}, {"action": "sql", "arguments": "y"}

    assert parse_model_output("", [{"query": "z"}, {"answer": "a"}, lookup, sql]) == ParsedAction(
        "", "lookup", "x", extra_actions=1
    )
    assert parse_model_output("", [{"answer": "a"}, {"answer": "b"}]) == ParsedAction("", "", "", "b")


def test_prose_before_an_object_is_its_thought() -> None:
    """Prose before an object becomes the thought; a code fence does not."""
    assert (
        parse_model_output('Thought: Bread first.\n```json\n{"action": "lookup"}```', [{"action": "lookup"}]).thought
        == "Bread first."
    )
    assert parse_model_output('```json\n{"action": "lookup"}', [{"action": "lookup"}]).thought == ""


def test_nested_actions_are_limited() -> None:
    """An action nested too deeply is not followed."""
    wrapped: dict[str, Any] = {"name": "lookup"}
    for _ in range(3):
        wrapped = {"action": wrapped}
    assert parse_model_output("", [wrapped]).action == "lookup"
    assert parse_model_output("", [{"action": wrapped}]).action != "lookup"


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (0.5, 0.5),
        ("0.5", 0.5),
        ("80%", 0.8),
        (85, 85.0),
        (None, 0.0),
        ("", 0.0),
        ("high", INVALID_CONFIDENCE),
        (True, INVALID_CONFIDENCE),
        ([1], INVALID_CONFIDENCE),
        (math.nan, INVALID_CONFIDENCE),
        (math.inf, INVALID_CONFIDENCE),
        (10**400, INVALID_CONFIDENCE),
    ],
)
def test_confidence_formats(written: object, number: float) -> None:
    """Percentages become shares, a missing confidence is 0, other texts are invalid."""
    assert parse_model_output("", [{"answer": "a", "confidence": written}]).confidence == number


def test_parts_are_truncated() -> None:
    """Arguments keep one character above the limit, so that validation rejects them."""
    move = parse_model_output(
        "", [{"thought": "t" * 9999, "action": "a" * 999, "arguments": "x" * 99_999, "answer": "b" * 9999}]
    )

    assert [len(part) for part in move[:4]] == [
        MAX_THOUGHT_LENGTH,
        MAX_NAME_LENGTH + 1,
        MAX_ARGUMENTS_LENGTH + 1,
        MAX_ANSWER_LENGTH,
    ]


def test_control_characters_are_removed() -> None:
    """Null bytes, control characters and surrogates are removed; line breaks stay."""
    assert parse_model_output("", [{"action": "look\x00up", "arguments": "a\ud800\x07b\nc"}]) == ParsedAction(
        "", "lookup", "ab\nc"
    )


@pytest.mark.parametrize("written", ["VectorSearch", "vector search", "VECTOR-SEARCH", " vector__search "])
def test_tool_names_are_normalized(written: str) -> None:
    """Letter case, spaces and hyphens do not matter."""
    assert normalize_tool_name(written) == "vector_search"


def test_arguments_encoded_twice_are_parsed() -> None:
    """An object is found inside two strings, not inside more, and bare text is not an object."""
    assert parse_arguments(json.dumps(json.dumps(QUERY))) == {"query": "bread"}
    assert parse_arguments(json.dumps(json.dumps(json.dumps(QUERY)))) is None
    assert parse_arguments("[1]") is None
    assert parse_arguments("bread") is None
    assert parse_arguments("[" * 100_000) is None


KEYS = st.sampled_from(
    ["action", "Tool", "tool_calls", "arguments", "answer", "confidence", "thought", "function", "x"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
PIECES = st.sampled_from(["Action:", "Thought:", "Observation:", "lookup[", "(", "]", ")", "a=1", '"', "\n", "{", "x"])


@slow
@given(
    st.lists(PIECES | st.text(max_size=5)).map("".join), st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=3)
)
def test_any_text_is_parsed_within_limits(text: str, objects: list[dict[str, Any]]) -> None:
    """Any text gives an action within the limits that can be serialized as JSON."""
    move = parse_model_output(text, objects)

    assert len(move.thought) <= MAX_THOUGHT_LENGTH and len(move.action) <= MAX_NAME_LENGTH + 1
    assert math.isfinite(move.confidence) and move.extra_actions >= 0
    json.dumps(move).encode()
