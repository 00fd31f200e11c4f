"""Tests that the limits in a prompt are the limits of the schema of its answer."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.roles.cases import CASES

WORDS = dict(zip("one two three four five six seven eight nine ten eleven twelve".split(), range(1, 13), strict=True))
NUMBER = rf"(\d+|{'|'.join(WORDS)})"
LIMIT = re.compile(
    rf"\b(?:at most|up to|no more than|maximum of|{NUMBER} to)\s+{NUMBER}\b(?!\s+(?:sentences?|words|characters))",
    re.IGNORECASE,
)
"""A limit on the number of items; the lengths of texts are limited in characters."""
PENDING = frozenset(
    """analyst answerer decider decomposer outliner planner query_refiner react reasoner section_reviewer section_writer
    synthesis_reflector synthesizer test_writer thought_evaluator""".split()
)
"""Roles whose system messages are not compared; that of the section reviewer is the writer's."""


def find_limits(prompt: str) -> set[int]:
    """Return the numbers of items that a prompt allows at most; one item needs no limit."""
    found = [match.group(2).lower() for match in LIMIT.finditer(prompt)]
    return {WORDS.get(number) or int(number) for number in found} - {1}


def find_maximum_items(node: Any) -> Iterator[int]:
    """Yield the limits of all arrays of a schema."""
    if isinstance(node, dict):
        if "maxItems" in node:
            yield node["maxItems"]
        for value in node.values():
            yield from find_maximum_items(value)
    elif isinstance(node, list):
        for value in node:
            yield from find_maximum_items(value)


def test_limits_are_found_in_words_and_digits() -> None:
    """Ranges give their upper bound, and lengths of texts are left out."""
    text = "Give at most 5 topics, two to six parts, up to three names, and at most two sentences to each."

    assert find_limits(text) == {5, 6, 3}


@pytest.mark.parametrize("name", sorted(CASES.keys() - PENDING))
def test_limits_of_a_prompt_are_limits_of_its_schema(name: str) -> None:
    """Every number of items that the instructions allow at most is the limit of an array of the answer."""
    case = CASES[name]
    allowed = set(find_maximum_items(case.role.output.model_json_schema()))

    assert find_limits(case.role.render(case.input, case.evidence)[0].content) <= allowed


def test_the_instructions_of_a_review_name_the_limits_of_its_schema() -> None:
    """The rules of a review follow the material, outside the system message."""
    case = CASES["section_reviewer"]
    rules = case.role.render(case.input, case.evidence)[1].content.rpartition("</draft>")[2]

    assert find_limits(rules) <= set(find_maximum_items(case.role.output.model_json_schema()))
    assert len(find_limits(rules)) > 1
