"""Tests of the figures on runs with a model, and of the server that answers them."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from benchmarks.model_cost import (
    MIN_CACHED_CHARACTERS,
    Prompt,
    find_chain,
    measure_cached_characters,
    measure_repeated_share,
    summarize,
)
from benchmarks.support.scripted_model import TOPICS, ScriptedModel
from tenure.models.openai.json_schema import build_strict_schema
from tests.roles.cases import CASES, EVIDENCE

ROLES = list(CASES)


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    """A server that answers without latency."""
    with ScriptedModel(0.0) as server:
        server.begin("How is bread made?", "moderate")
        yield server


@pytest.mark.parametrize("name", ROLES)
def test_every_answer_fits_its_role(model: ScriptedModel, name: str) -> None:
    """A run reaches all its phases, since no answer has to be corrected."""
    role, input = CASES[name].role, CASES[name].input
    asked: dict[str, Any] = {"model": "m", "messages": [one.model_dump() for one in role.prompt(input, EVIDENCE)]}
    if role.schema:
        schema = {"name": name, "schema": build_strict_schema(role.schema)}
        asked["response_format"] = {"type": "json_schema", "json_schema": schema}

    reply = httpx.post(f"{model.base_url}/chat/completions", json=asked).raise_for_status().json()

    (role.parse_text or role.output.model_validate_json)(reply["choices"][0]["message"]["content"])


def test_an_outline_grows_with_the_effort() -> None:
    """A simple question has one topic, and a complex one the most."""
    assert list(TOPICS) == ["simple", "moderate", "complex"]
    assert list(TOPICS.values()) == sorted(TOPICS.values()) and TOPICS["simple"] == 1


def test_the_chain_leaves_out_concurrent_calls() -> None:
    """Of calls at the same time one belongs to the chain."""
    spans = [("a", 0.0, 1.0), ("b", 0.1, 1.2), ("c", 1.3, 2.0), ("d", 1.9, 2.5)]

    assert find_chain([Prompt(role, "", sent, answered) for role, sent, answered in spans]) == ["a", "c"]
    assert find_chain([]) == []


def test_a_repeated_beginning_counts_wherever_it_was() -> None:
    """The longest beginning that any earlier prompt has counts, not only that of the prompt before."""
    assert measure_repeated_share(["abcd", "xyz", "abcf"]) == 3 / 11
    assert measure_repeated_share([]) == 0.0


def test_only_long_beginnings_of_answered_prompts_are_cached() -> None:
    """A prompt that was sent at the same time, and a short common beginning, save nothing."""
    long, short = "a" * MIN_CACHED_CHARACTERS, "b" * 100
    prompts = [
        Prompt("writer", long, 0.0, 1.0),
        Prompt("writer", long + "x", 0.5, 1.5),
        Prompt("reviewer", long + "yz", 1.0, 2.0),
        Prompt("checker", short, 2.0, 3.0),
        Prompt("checker", short + "c", 3.0, 4.0),
    ]

    assert measure_cached_characters(prompts) == {"writer": 0, "reviewer": MIN_CACHED_CHARACTERS, "checker": 0}
    assert measure_cached_characters(prompts, by_role=True).total() == 0


def test_runs_are_summarized_by_role() -> None:
    """A role that a run did not ask counts with zero calls."""
    figures = {"prompt_tokens": 10, "answer_tokens": 2, "critical_path": 3, "repeated_share": 0.5, "fallbacks": []}
    figures |= {"cached_share": 0.25, "cached_share_by_role": 0.125}
    runs: list[dict[str, Any]] = [
        {**figures, "calls": 1, "by_role": {"router": [1, 10, 0]}},
        {**figures, "calls": 3, "by_role": {"router": [1, 4, 0], "planner": [2, 6, 4]}},
    ]

    summary = summarize(runs)

    assert summary["calls"] == {"mean": 2, "most": 3}
    assert summary["by_role"]["planner"] == {"calls": 1, "prompt_tokens": 3, "cached_tokens": 2}
