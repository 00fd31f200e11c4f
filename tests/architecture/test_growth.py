"""Functions read texts of every shape in time that is proportional to their length.

A workflow task that computes for seconds blocks all runs of its worker, and a page of a stranger that takes minutes
blocks the ingestion.
"""

import csv
from pathlib import Path

import pytest

from tests.architecture.text_functions import (
    EXCLUDED_FUNCTIONS,
    LENGTH,
    SHAPES,
    UNBUILT_TYPES,
    TextFunction,
    Unbuildable,
    build_arguments,
    list_functions,
    list_unbuilt,
)
from tests.support.tiers import exhaustive, slow

COMMON_SHAPES = (" ", "[")
"""Shapes that found most of the slow functions."""
SHORT_LENGTH, MAX_SHORT_SECONDS = LENGTH // 4, 0.1
"""Characters and processor time of the test of these shapes; quadratic time is 16 times as long for the full length."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that create a folder of the given name do so in that of the test."""
    monkeypatch.chdir(tmp_path)


def list_public_functions() -> list[TextFunction]:
    """Return the functions and methods without an underscore, which call the others."""
    return [function for function in list_functions() if "._" not in f".{function.name}"]


def test_functions_of_texts_are_found() -> None:
    """The test sees functions behind caches, methods, functions of models with texts, and those of answers."""
    names = {function.name for function in list_functions()}

    assert {
        "algorithms.coding.programs.hash_file",
        "algorithms.control.steering.find_refusal",
        "algorithms.calculator.questions.is_pure_calculation",
        "contracts.evidence.passages.Draft.text",
        "models.answer_parsing.strip_reasoning",
        "report.assemble.assemble_result",
        "report.render.html.render_html",
        "roles.plan_entries.parse_plan",
        "roles.report_edits.parse_review",
        "roles.report_markdown.parse_report",
        "roles.research.router.is_certain_research",
        "sandbox.code_scan.find_suspicious_code",
    } <= names
    assert len(names) > 1_900
    assert not names & EXCLUDED_FUNCTIONS.keys()


def test_functions_that_are_not_called_have_a_known_reason() -> None:
    """A function whose arguments cannot be built is known by the type of one; a new type needs a reason or a value."""
    known = tuple(name for names in UNBUILT_TYPES.values() for name in names)
    unbuilt = list_unbuilt()

    assert {name: type_name for name, type_name in unbuilt.items() if not type_name.startswith(known)} == {}
    assert [name for name in known if not any(type_name.startswith(name) for type_name in unbuilt.values())] == []


def test_an_argument_that_cannot_be_built_is_named() -> None:
    """The builder names the type that it does not know instead of leaving the function out."""

    def read(reader: csv.Dialect, text: str) -> str:
        return text

    with pytest.raises(Unbuildable, match=r"^csv\.Dialect$"):
        build_arguments(read, "a")


def test_a_slow_function_is_found() -> None:
    """A function that compares every character with every other one is slow, and reading each once is not."""

    def count_pairs(text: str) -> int:
        return sum(one == other for one in text[::10] for other in text[::10])

    def count_letters(text: str) -> int:
        return sum(character == "a" for character in text)

    assert TextFunction(count_pairs).is_slow("a", max_seconds=0.02)
    assert not TextFunction(count_letters).is_slow("a", max_seconds=0.02)


@slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("shape", COMMON_SHAPES)
def test_no_public_function_is_slow(shape: str) -> None:
    """No public function takes more than 0.1 s for 5,000 characters unless its time is proportional to their number."""
    slow = [one.name for one in list_public_functions() if one.is_slow(shape, SHORT_LENGTH, MAX_SHORT_SECONDS)]

    assert slow == []


@exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shape", [pytest.param(shape, id=ascii(shape)) for shape in SHAPES])
def test_no_function_is_slow_for_any_shape(shape: str) -> None:
    """No function takes more than a second for 20,000 characters unless its time is proportional to their number."""
    assert [function.name for function in list_functions() if function.is_slow(shape)] == []
