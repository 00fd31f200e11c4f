"""The search for a repair of a project, in the real sandbox."""

from pathlib import Path

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import Environment, ProjectRepairReply, ProjectRepairRequest, Workspace
from tenure.contracts.result.programs import RepairProgress
from tenure.repositories.repairing import ProjectRepair, ProjectTrace, TracedTest, compute_suspicion, list_places
from tests.repositories.projects import Project, open_project
from tests.repositories.test_project_tests import run
from tests.support.tiers import slow

CLOCK = """LIMIT = 12


class Clock:
    def __init__(self, hour):
        self.hour = hour

    def add(self, hours):
        \"\"\"Return a later clock.\"\"\"
        total = self.hour + hours
        if total > LIMIT:
            total -= LIMIT
        return Clock(total)

    def show(self):
        return f"{self.hour} h"
"""
TESTS = """from clock.face import Clock


def test_add():
    assert Clock(3).add(4).hour == 7


def test_add_over_noon():
    assert Clock(10).add(4).hour == 2
    assert Clock(8).add(4).hour == 12


def test_show():
    assert Clock(3).show() == "3 h"
"""


def make_files(change: tuple[str, str] | None = None) -> dict[str, str]:
    """Return a project in whose module one text is replaced by another."""
    source = CLOCK.replace(*change) if change else CLOCK
    assert (source != CLOCK) == bool(change)
    return {"clock/__init__.py": "", "clock/face.py": source, "tests/test_face.py": TESTS}


def make_request(**others: object) -> ProjectRepairRequest:
    """Return the request of a search."""
    workspace = Workspace(run=RunId("run"), repository="key", commit="a" * 40)
    fields = {"workspace": workspace, "environment": Environment(), "baseline": "", "seconds": 60, **others}
    return ProjectRepairRequest.model_validate(fields)


async def search(
    project: Project,
    *targets: str,
    progress: RepairProgress | None = None,
    seen: list[RepairProgress] | None = None,
    seconds: float = 60,
) -> ProjectRepairReply:
    """Search for a repair of the tests that fail."""
    report = await run(project)
    failing = tuple(test.id for test in report.tests if test.outcome != "passed")
    request = make_request(
        workspace=project.workspace,
        environment=Environment(test="python -m pytest -q"),
        failing=failing,
        targets=targets,
        baseline=report.passed_digest,
        seconds=seconds,
    )
    repair = ProjectRepair(project.box, project.workspaces, project.environments, project.tests)
    kept = seen if seen is not None else []
    return await repair.search(request, progress or RepairProgress(), kept.append)


@pytest.mark.parametrize(
    ("change", "repaired"),
    [
        pytest.param(
            *(("self.hour + hours", "self.hour - hours"), "self.hour - hours` became `self.hour + hours"),
            marks=slow,
            id="method",
        ),
        pytest.param(
            *(("total > LIMIT", "total >= LIMIT"), "total >= LIMIT` became `total > LIMIT"),
            id="boundary",
        ),
        pytest.param(*(("LIMIT = 12", "LIMIT = 11"), "`11` became `12`"), marks=slow, id="constant of the module"),
    ],
)
async def test_a_fault_is_repaired(tmp_path: Path, change: tuple[str, str], repaired: str) -> None:
    """The edit passes all tests and is the next state, whose only change it is."""
    project = await open_project(tmp_path, make_files(change))
    found = await search(project)

    assert repaired in "; ".join(found.changes)
    assert found.change and [(file.path, file.added, file.removed) for file in found.change.files] == [
        ("clock/face.py", 1, 1)
    ]
    async with project.workspaces.open(found.workspace, read_only=True) as folder:
        assert (folder / "clock/face.py").read_text() == CLOCK
    assert found.places and found.places[0].startswith("clock/face.py:")


@slow
async def test_a_search_continues_where_it_was(tmp_path: Path) -> None:
    """A repetition with the progress of a killed search traces nothing again and tries no candidate twice."""
    project = await open_project(tmp_path, make_files(("total > LIMIT", "total >= LIMIT")))
    seen: list[RepairProgress] = []
    first = await search(project, seen=seen)
    again: list[RepairProgress] = []
    continued = await search(project, progress=seen[-1], seconds=seen[-1].seconds + 1, seen=again)

    assert seen[0].trace and seen[0].tried == 0 and seen[-1].tried == first.tried > 0
    assert continued.tried > first.tried or continued.exhausted
    assert continued.changes != first.changes
    # Another trace would have other times of its tests, and so another digest.
    assert {progress.trace for progress in again} == {seen[0].trace}


@slow
async def test_tests_that_the_task_names_decide(tmp_path: Path) -> None:
    """A test that fails for another reason does not prevent the repair of a named one."""
    # Of few lines: the search tries all edits, since none passes both tests.
    files = {
        "clock.py": "def add(hour, hours):\n    return hour - hours\n",
        "tests/test_clock.py": "from clock import add\n\n\ndef test_add():\n    assert add(3, 2) == 5\n"
        "\n\ndef test_other():\n    assert add(3, 1) == 5\n",
    }
    project = await open_project(tmp_path, files)
    found = await search(project, "tests/test_clock.py::test_add")

    assert "`hour - hours` became `hour + hours`" in "; ".join(found.changes)


@slow
async def test_a_test_that_fails_elsewhere_delays_no_repair(tmp_path: Path) -> None:
    """The search ends at the first edit with which the failing tests that execute its line pass."""
    files = make_files(("self.hour + hours", "self.hour - hours"))
    files["tests/test_face.py"] += "\n\ndef test_other():\n    assert Clock(3).show() == 'three'\n"
    project = await open_project(tmp_path, files)
    seen: list[RepairProgress] = []
    found = await search(project, "tests/test_face.py::test_add", seen=seen)

    assert "became `self.hour + hours`" in "; ".join(found.changes)
    assert not found.exhausted and seen[-1].partial == ()


async def test_nothing_is_found_where_nothing_can_be_changed(tmp_path: Path) -> None:
    """A test that executes no line of the project ends the search immediately."""
    project = await open_project(tmp_path, {"tests/test_a.py": "def test_a():\n    assert 1 == 2\n"})
    found = await search(project)

    assert (found.changes, found.places, found.tried, found.exhausted) == ((), (), 0, True)
    assert found.workspace == project.workspace


def test_lines_of_targets_are_suspicious() -> None:
    """Lines that a target does not execute are left out, and lines of the import are executed by every test."""
    tests = (
        TracedTest(id="a", lines={"m.py": frozenset({2, 3})}),
        TracedTest(id="b", lines={"m.py": frozenset({3, 4})}),
        TracedTest(id="c", passed=True, lines={"m.py": frozenset({4})}),
        TracedTest(id="skipped", lines={"m.py": frozenset({3})}),
    )
    trace = ProjectTrace(imported=TracedTest(lines={"m.py": frozenset({1})}), tests=tests)
    request = make_request(failing=("a", "b"), targets=("a",))
    suspicion = compute_suspicion(trace, request, {"m.py": "", "n.py": ""})

    assert suspicion.keys() == {"m.py"} and suspicion["m.py"].keys() == {1, 2, 3}
    assert suspicion["m.py"][3] == 1.0 > suspicion["m.py"][1] > suspicion["m.py"][2] - 0.2


def test_places_are_functions() -> None:
    """Each function is named once, with its most suspicious line."""
    source = "def f():\n    a = 1\n    return a\n\n\ndef g():\n    return 2\n"

    assert list_places({"m.py": source}, {"m.py": {2: 0.5, 3: 0.9, 7: 0.7}}) == ("m.py:3 f", "m.py:7 g")
