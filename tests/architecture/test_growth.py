"""The functions that workflows call read texts of every shape in time that is proportional to their length.

A workflow task that computes for seconds blocks all runs of its worker. `python -m tests.support.text_functions` times
all other functions of texts as well.
"""

import ast
import importlib.util
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tenure.roles.registry import load_roles
from tests.support.text_functions import SHAPES, TextFunction, build_text, takes_text
from tests.support.tiers import exhaustive

LENGTH = 20_000
"""Characters of the longest question."""
MAX_SECONDS = 1.0
"""Processor time of a call; a workflow task has eight seconds."""
COMMON_SHAPES = ("1", "1,", "a ", " ", "(", "#", "'", "that ")
"""Shapes that found most of the slow functions."""
ANSWER_SHAPES = (
    *("# a\n", "#\n", "- a [1]\n", "> ", "[1] ", "[1, ", "[3-", "a. [1] ", "**a.** ", "`", "```\n", "(search: "),
    *("| a | b |\n|---|---|\n| c | d |\n", "REPLACE 1: a\n", "SECTION a: ", "WRONG 1, ", "BLOCK 1:\n"),
)
"""Shapes of Markdown and of edits."""


def list_called_by_workflows() -> list[TextFunction]:
    """Return the functions of texts that modules of `workflows/` import from the algorithms and roles."""
    names: set[tuple[str, str]] = set()
    for path in sorted(Path("workflows").rglob("*.py")):
        names.update(_list_imports(ast.parse(path.read_text())))
    found = (getattr(importlib.import_module(module), name, None) for module, name in sorted(names))
    functions = (getattr(function, "__wrapped__", function) for function in found)
    return [TextFunction(function) for function in functions if inspect.isfunction(function) and takes_text(function)]


def _list_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import, and of each attribute of an imported module."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("tenure.algorithms", "tenure.roles")):
            for name in node.names:
                yield str(node.module), name.name
                modules[name.asname or name.name] = f"{node.module}.{name.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            module = modules[node.value.id]
            if importlib.util.find_spec(module.rpartition(".")[0]) and _is_module(module):
                yield module, node.attr


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the name of a class or of a constant
        return False


def find_slow(shapes: tuple[str, ...], functions: Sequence[TextFunction]) -> list[str]:
    """Return a line for each function and shape whose call takes too long, the slowest first."""
    found = [
        (seconds, f"{function.name} takes {seconds:.1f} s for {shape!r} up to {LENGTH:,} characters")
        for function in functions
        for shape in shapes
        if (seconds := function.measure(build_text(shape, LENGTH), 3 * MAX_SECONDS)) > MAX_SECONDS
    ]
    return [line for _, line in sorted(found, reverse=True)]


def test_functions_of_workflows_are_found() -> None:
    """The test sees functions that are imported by name and those that are called through their module."""
    names = {function.name for function in list_called_by_workflows()}

    assert {"algorithms.calculator.questions.is_pure_calculation", "roles.research.router.is_certain_research"} <= names
    assert len(names) > 100


def test_a_slow_function_is_found() -> None:
    """A function that compares every character with every other one exceeds the limit."""

    def count_pairs(text: str) -> int:
        return sum(one == other for one in text for other in text)

    assert TextFunction(count_pairs).measure(build_text("a", LENGTH), MAX_SECONDS) >= MAX_SECONDS


def test_workflows_call_no_slow_function() -> None:
    """No function that a workflow calls takes a second for a text of the length of the longest question."""
    assert find_slow(COMMON_SHAPES, list_called_by_workflows()) == []


def test_answers_in_text_are_parsed_by_no_slow_function() -> None:
    """A report, a review and a plan of every shape are read in time, since a heartbeat waits for them."""
    parsers = [TextFunction(role.parse_text) for role in load_roles().values() if role.parse_text]

    assert {parser.name for parser in parsers} == {
        "roles.report_markdown.parse_report",
        "roles.report_edits.parse_review",
        "roles.plan_entries.parse_plan",
    }
    assert find_slow((*COMMON_SHAPES, *ANSWER_SHAPES), parsers) == []


@exhaustive
@pytest.mark.timeout(1800)
def test_workflows_call_no_slow_function_for_any_shape() -> None:
    """The same for all shapes."""
    assert find_slow(SHAPES, list_called_by_workflows()) == []
