"""Parsing of model answers: JSON in every wrapping that models use."""

import json
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from tenure.models.answer_parsing import InvalidAnswer, parse_answer


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    mode: Literal["RESEARCH", "CODE"]
    why: str = Field(min_length=1)
    passages: tuple[int, ...] = ()


GOOD = {"mode": "CODE", "why": "it says so", "passages": [1]}
RAW = json.dumps(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        RAW,
        f"  \ufeff{RAW}\n",
        f"```json\n{RAW}\n```",
        f"```\n{RAW}\n```\nI hope this helps.",
        f"Sure! Here's the verdict you asked for: {RAW} Let me know.",
        f'An example is {{"mode": "CODE"}}, and the schema {{a, b}}. My answer:\n\n{RAW}',
        f'First I thought {{"mode": "RESEARCH", "why": "no"}}. Then: {RAW}',
        f"<think>Perhaps {{'mode': 'RESEARCH', 'why': 'no'}}?</think>\n{RAW}",
        f"<think>Only thoughts, cut off: {RAW}",
        json.dumps({"name": "judge", "arguments": GOOD}),
        json.dumps({"name": "judge", "arguments": RAW}),
        json.dumps({"name": "judge", "parameters": GOOD}),
        f"<tool_call>\n{json.dumps({'name': 'judge', 'arguments': GOOD})}\n</tool_call>",
        json.dumps({"Verdict": GOOD}),
        json.dumps({"answer": RAW}),
        '{"mode": "CODE", "why": "it says so", "passages": [1],}',
        "{'mode': 'CODE', 'why': 'it says so', 'passages': [1]}",
        '{mode: "CODE", why: "it says so", passages: [1]}',
        '{"mode": "CODE", // the mode\n "why": "it says so", "passages": ["1"]}',
        '{"mode": "CODE" "why": "it says so" "passages": [1]}',
    ],
)
def test_common_wrappings_are_parsed(text: str) -> None:
    """Raw, fenced, embedded, wrapped and malformed JSON, reasoning and tool calls all give the same decision."""
    assert parse_answer(text, Verdict) == Verdict.model_validate(GOOD)


def test_braces_within_strings_are_text() -> None:
    """A string may contain braces, quotes and fences without ending the object."""
    why = 'use {"a": 1} or `}` with "quotes" \\ and ```json {}```'
    assert parse_answer(f"So: {json.dumps({**GOOD, 'why': why})} done", Verdict).why == why


def test_a_field_named_like_an_envelope_is_kept() -> None:
    """A schema with a field called `input` keeps it."""

    class Call(BaseModel):
        input: dict[str, int]

    assert parse_answer('{"input": {"a": 1}}', Call).input == {"a": 1}


def test_an_empty_object_may_be_an_answer() -> None:
    """If every field has a default, the empty object is valid."""

    class Critiques(BaseModel):
        critiques: tuple[str, ...] = ()

    assert parse_answer("{}", Critiques) == Critiques()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON object"),
        ("I cannot say.", "no JSON object"),
        ('["CODE"]', "no JSON object"),
        ('{"mode": "CODE", "why": "it says so", "passages": [1', "not closed"),
        ('{"mode": "CODE", "why": "it says so"', "not closed"),
        ('{"mode": "CODE"}', "- why: Field required"),
        (json.dumps({**GOOD, "extra": 1}), "- extra: Extra inputs are not permitted"),
        ('{"mode": "CODE", "why": "\\ud800"}', "- why: "),
    ],
)
def test_errors_are_listed_by_field(text: str, said: str) -> None:
    """An invalid answer is rejected with its errors by field."""
    with pytest.raises(InvalidAnswer, match=said):
        parse_answer(text, Verdict)


@pytest.mark.parametrize(
    "shape", ["{", '{"a":', "{}", '{"', '"', "[{", "{'a': [", "{[}]", '{"mode": "CODE", "why": {"']
)
def test_hostile_shapes_are_rejected(shape: str) -> None:
    """Endless nesting, objects and quotes raise an exception and do not crash."""
    with pytest.raises(InvalidAnswer):
        parse_answer(shape * 20_000, Verdict)


def test_the_list_of_errors_is_limited() -> None:
    """An answer with many errors lists only a few of them."""
    with pytest.raises(InvalidAnswer) as problem:
        parse_answer(json.dumps({**GOOD, "passages": ["x"] * 100}), Verdict)
    assert str(problem.value).count("\n- ") == 8


@settings(deadline=None, max_examples=60)
@given(st.text(), st.fixed_dictionaries({"mode": st.just("CODE"), "why": st.text(min_size=1)}))
def test_any_valid_object_survives_its_wrapping(prose: str, made: dict[str, Any]) -> None:
    """A valid object is parsed unchanged between any text without braces."""
    clean = prose.replace("{", "").replace("}", "").replace("<", "")
    expected = Verdict.model_validate(made)
    assert parse_answer(f"{clean}\n{json.dumps(made)}\n{clean}", Verdict) == expected
