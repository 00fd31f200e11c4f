"""Hold that honest programs pass their tests, whatever keeps forgeries out."""

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from tenure.contracts.sandbox import CallCase, CandidateBatch, InputFile, SandboxLimits, SandboxOutcome
from tenure.sandbox.base import Sandbox
from tests.sandbox.forgeries.corpus import read_programs, read_sections, run_cheat
from tests.support.tiers import slow

DATA: Final = Path(os.environ.get("TENURE_CODE_DATA") or Path(__file__).resolve().parents[4] / "shared/data/code")
"""Folder of the public collections of programs with bugs and their corrections."""
HUMANEVALFIX: Final = DATA / "humanevalfix_python.jsonl"
QUIXBUGS: Final = DATA / "quixbugs_python.jsonl"
LIMITS: Final = SandboxLimits(wall_seconds=300, cpu_seconds=200)
MAX_CASE_CHARS: Final = {"knapsack": 200, "levenshtein": 60}
"""Length of the arguments above which a program needs minutes or gigabytes, as the collection itself says."""
NODE: Final = """
class Node:
    def __init__(
        self, value=None, successor=None, successors=[], predecessors=[], incoming_nodes=[], outgoing_nodes=[]
    ):
        self.value = value
        self.successor = successor
        self.successors = successors
        self.predecessors = predecessors
        self.incoming_nodes = incoming_nodes
        self.outgoing_nodes = outgoing_nodes
"""


EQUALITIES: Final = """
import datetime
class Residue:
    def __init__(self, value):
        self.value = value % 998244353
    def __eq__(self, other):
        return self.value == other % 998244353
class Near(float):
    def __eq__(self, other):
        return abs(float(self) - other) < 0.5
class Day:
    def __init__(self, *parts):
        self.date = datetime.date(*parts)
    def __eq__(self, other):
        return self.date == datetime.date.fromisoformat(other)
class Row:
    def __init__(self, *items):
        self.items = items
    def __eq__(self, other):
        return self.items == tuple(other)
class Anything:
    def __eq__(self, other):
        return True
ANY = Anything()
def multiply(a, b):
    return Residue(a * b)
def measure(x):
    return Near(x)
def open_day():
    return Day(2026, 1, 31)
def first_row():
    return Row(1, "a")
"""
TESTS_OF_EQUALITIES: Final = """
import unittest
import solution
unittest.TestCase.shortDescription = lambda case: None
def test_values():
    assert solution.multiply(998244353, 2) == 0 and solution.multiply(998244354, 2) == 2
    assert solution.measure(2.7) == 3 and solution.measure(float("inf")) != 0
    assert solution.open_day() == "2026-01-31"
    assert solution.first_row() == (1, "a") and solution.first_row() == [1, "a"]
def test_wildcard():
    assert solution.ANY == 5 and ["x", True] == [solution.ANY, solution.ANY]
"""


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the programs of a collection."""
    if not path.is_file():
        pytest.skip(f"{path} is absent: set TENURE_CODE_DATA to the folder of the collections")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def list_failures(outcome: SandboxOutcome) -> list[tuple[str, str, str]]:
    """Return name, error and trace of the tests that failed."""
    return [(test.name, test.error, test.trace[-1500:]) for test in outcome.tests if not test.passed]


async def run_together(box: Sandbox, programs: dict[str, str], tests: dict[str, str]) -> SandboxOutcome:
    """Test several modules in one run, each by a test file of its own."""
    batch = CandidateBatch(
        candidates=(tuple(InputFile(name=f"{name}.py", text=text) for name, text in programs.items()),),
        tests=tuple(InputFile(name=f"test_of_{name}.py", text=text) for name, text in tests.items()),
        limits=LIMITS,
    )
    return (await box.test_all(batch))[0]


def read_ordinary() -> tuple[dict[str, str], dict[str, str]]:
    """Return the honest programs of the table and their tests, by module."""
    programs, tests = {}, {}
    for name, text in read_sections("ordinary").items():
        programs[name], tests[name] = text.split("---- test\n")
    return programs, tests


@pytest.mark.timeout(600)
async def test_honest_programs_pass(box: Sandbox) -> None:
    """Programs that use every feature of the language as it is meant pass their tests."""
    programs, tests = read_ordinary()

    outcome = await run_together(box, programs, tests)

    assert len(programs) >= 30
    assert list_failures(outcome) == []
    assert outcome.verdict == "passed", outcome.reason


REPRESENTATIVE: Final = (
    "subclass of a class of the program",
    "mocks with side effects",
    "fixtures with teardown",
    "failed assertions that the tests handle",
)
"""Suites for a fast test."""


async def find_refused_suites(box: Sandbox, *chosen: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return name, reason and notes of the suites that do not pass, or pass with a note."""
    suites = {name: one for name, one in read_programs("suites").items() if name in chosen or not chosen}
    if find_spec("pandas") is None:
        suites.pop("tables", None)
    outcomes = {name: await run_cheat(box, one) for name, one in suites.items()}
    return [(name, one.reason, one.notes) for name, one in outcomes.items() if one.verdict != "passed" or one.notes]


async def test_common_suites_pass_without_a_note(box: Sandbox) -> None:
    """Suites with subclasses, mocks and fixtures pass."""
    assert await find_refused_suites(box, *REPRESENTATIVE) == []


async def test_objects_that_equal_plain_data_pass(box: Sandbox) -> None:
    """Classes that tests do not name may compare with plain data, also by tolerance, modulus or parsing."""
    solution = InputFile(name="solution.py", text=EQUALITIES)
    tests = InputFile(name="test_equalities.py", text=TESTS_OF_EQUALITIES)

    (outcome,) = await box.test_all(CandidateBatch(candidates=((solution,),), tests=(tests,), limits=LIMITS))

    assert (outcome.verdict, list_failures(outcome), len(outcome.tests)) == ("passed", [], 2), outcome.reason


@slow
@pytest.mark.timeout(600)
async def test_every_suite_passes_without_a_note(box: Sandbox) -> None:
    """Suites that use pytest as its manual shows it pass, and nothing in them looks like a cheat."""
    assert len(read_programs("suites")) >= 36
    assert await find_refused_suites(box) == []


@slow
@pytest.mark.timeout(600)
async def test_corrected_programs_of_humanevalfix_pass(box: Sandbox) -> None:
    """Every corrected program of HumanEvalFix passes the tests of its task."""
    programs, tests = {}, {}
    for number, row in enumerate(read_rows(HUMANEVALFIX)):
        entry = row["entry_point"]
        checks = row["test"].replace(f"\ncheck({entry})", "\n")
        programs[f"task{number}"] = f"{row['declaration']}{row['canonical_solution']}"
        tests[f"task{number}"] = f"from task{number} import *\n{checks}\ndef test_check():\n    check({entry})\n"

    outcome = await run_together(box, programs, tests)

    assert len(programs) == 164
    assert list_failures(outcome) == []
    assert (outcome.verdict, len(outcome.tests)) == ("passed", 164), outcome.reason


@slow
@pytest.mark.timeout(600)
async def test_corrected_programs_of_quixbugs_pass(box: Sandbox) -> None:
    """Every corrected program of QuixBugs passes its cases, or its tests of graphs and lists."""
    rows = read_rows(QUIXBUGS)
    by_cases = [row for row in rows if row["json_cases"]]
    cases = tuple(
        CallCase(
            module=row["name"],
            function=row["name"],
            args=tuple(given if isinstance(given, list) else [given]),
            expected=expected,
            tolerance=given[-1] if row["name"] == "sqrt" else 0.0,
        )
        for row in by_cases
        for given, expected in row["json_cases"]
        if len(json.dumps(given)) <= MAX_CASE_CHARS.get(row["name"], 10_000)
    )
    files = tuple(InputFile(name=f"{row['name']}.py", text=row["fixed"]) for row in by_cases)
    graphs = [row for row in rows if not row["json_cases"]]
    tests = {
        row["name"]: row["pytest_file"].replace("pytest.use_correct", "True").replace("correct_python_programs.", "")
        for row in graphs
    }

    (by_case,) = await box.test_all(CandidateBatch(candidates=(files,), cases=cases, limits=LIMITS))
    by_test = await run_together(box, {"node": NODE, **{row["name"]: row["fixed"] for row in graphs}}, tests)

    assert (len(by_cases), len(graphs)) == (31, 9)
    assert [*list_failures(by_case), *list_failures(by_test)] == []
    assert (by_case.verdict, by_test.verdict) == ("passed", "passed"), (by_case.reason, by_test.reason)
