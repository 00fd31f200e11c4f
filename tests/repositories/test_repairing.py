"""The search for a repair of a project, in the real sandbox."""

from pathlib import Path

import pytest

from tenure.contracts.coding.repositories import Environment, ProjectRepairReply, ProjectRepairRequest
from tenure.contracts.result.programs import RepairProgress
from tenure.repositories.repairing import ProjectRepair
from tests.repositories.projects import Project, open_project
from tests.repositories.test_project_tests import run

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


def make_files(*change: str) -> dict[str, str]:
    """Return a project in whose module one text is replaced by another."""
    source = CLOCK.replace(*change) if change else CLOCK
    assert (source != CLOCK) == bool(change)
    return {"clock/__init__.py": "", "clock/face.py": source, "tests/test_face.py": TESTS}


async def search(
    project: Project, *targets: str, progress: RepairProgress | None = None, seen: list[RepairProgress] | None = None
) -> ProjectRepairReply:
    """Search for a repair of the tests that fail."""
    report = await run(project)
    failing = tuple(test.id for test in report.tests if test.outcome != "passed")
    request = ProjectRepairRequest(
        workspace=project.workspace,
        environment=Environment(test="python -m pytest -q"),
        failing=failing,
        targets=targets,
        baseline=report.passed_digest,
        seconds=60,
    )
    repair = ProjectRepair(project.box, project.workspaces, project.environments, project.tests)
    kept = seen if seen is not None else []
    return await repair.search(request, progress or RepairProgress(), kept.append)


@pytest.mark.parametrize(
    ("change", "repaired"),
    [
        (("self.hour + hours", "self.hour - hours"), "self.hour - hours` became `self.hour + hours"),
        (("total > LIMIT", "total >= LIMIT"), "total >= LIMIT` became `total > LIMIT"),
        (("LIMIT = 12", "LIMIT = 11"), "`11` became `12`"),
    ],
    ids=["method", "boundary", "constant of the module"],
)
async def test_a_fault_is_repaired(tmp_path: Path, change: tuple[str, str], repaired: str) -> None:
    """The edit passes all tests and is the next state, whose only change it is."""
    project = await open_project(tmp_path, make_files(*change))
    found = await search(project)

    assert repaired in "; ".join(found.changes)
    assert (found.files, found.added, found.removed) == (("clock/face.py",), 1, 1)
    async with project.workspaces.open(found.workspace, read_only=True) as folder:
        assert (folder / "clock/face.py").read_text() == CLOCK
    assert found.places and found.places[0].startswith("clock/face.py:")
