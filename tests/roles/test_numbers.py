"""Tests that the limits in a prompt are the limits of the schema of its answer."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tenure.algorithms.claims.citations import MAX_CITATIONS
from tenure.roles.report_edits import MAX_CONSIDERATIONS
from tenure.roles.report_markdown import MAX_SHORT_ANSWER_CHARACTERS, MAX_TITLE_CHARACTERS
from tests.roles.cases import CASES

WORDS = dict(zip("one two three four five six seven eight nine ten eleven twelve".split(), range(1, 13), strict=True))
CHARACTERS_PER_WORD = 10
"""Characters of a long word with its space."""
NUMBER = rf"(\d+|{'|'.join(WORDS)})"
LIMIT = re.compile(
    rf"\b(?:at most|up to|no more than|maximum of|{NUMBER} to)\s+{NUMBER}\b(?!\s+(?:sentences?|words|characters))",
    re.IGNORECASE,
)
"""A limit on the number of items; the lengths of texts are limited in characters."""
PENDING = frozenset(
    """analyst answerer decomposer outliner planner query_refiner react reasoner report_reviewer report_writer
    test_writer""".split()
)
"""Roles whose system messages are not compared."""


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


@pytest.mark.parametrize(
    ("role", "pattern", "limit"),
    [
        ("report_writer", r"passages that a sentence rests on, all that it needs, at most (\w+)\.", MAX_CITATIONS),
        ("report_reviewer", r"at most (\w+) entries", MAX_CONSIDERATIONS),
    ],
)
def test_a_number_in_a_prompt_is_the_limit_of_its_parser(role: str, pattern: str, limit: int) -> None:
    """Code keeps as much of an answer in text as its instructions allow, since there is no schema."""
    (named,) = re.findall(pattern, CASES[role].prompt)

    assert (WORDS.get(named) or int(named)) == limit


def test_titles_and_short_answers_have_room_for_their_words() -> None:
    """The parser keeps a title and a short answer of as many long words as the prompt allows."""
    (title,) = re.findall(r"Title of at most (\w+) words", CASES["report_writer"].prompt)
    (answer,) = re.findall(r"answer in at most (\w+) words", CASES["report_writer"].prompt)

    assert (title, WORDS[answer]) == ("fourteen", 12)
    assert 14 * CHARACTERS_PER_WORD <= MAX_TITLE_CHARACTERS and 12 * CHARACTERS_PER_WORD <= MAX_SHORT_ANSWER_CHARACTERS
