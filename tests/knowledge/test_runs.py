"""Test the table of archived runs."""

import threading
from pathlib import Path
from typing import get_args

import pytest

from tenure.contracts.knowledge.archive import RunDescription
from tenure.contracts.knowledge.maintenance import MaintenanceStep, UpkeepProgress
from tenure.knowledge import maintenance
from tenure.knowledge.maintenance import Maintenance
from tenure.knowledge.runs import ArchivedRun, ArchivedRuns
from tenure.knowledge.store.schema import RUNS
from tenure.knowledge.store.store import Store
from tenure.settings.knowledge import KnowledgeSettings

DESCRIPTION = RunDescription(
    execution="e1",
    id="it's a run",
    type="AgentWorkflow",
    status="done",
    phase="done",
    mode="RESEARCH",
    owner="o'neil",
    started_at="2026-01-01T00:00:00.000000+00:00",
    closed_at="2026-01-01T00:01:00.000000+00:00",
    question=b"\xff",
)


def run(number: int = 1, **fields: str) -> ArchivedRun:
    """Return a run that started at a minute of its own."""
    changes = {"execution": f"e{number}", "started_at": f"2026-01-01T00:{number:02}:00.000000+00:00", **fields}
    return ArchivedRun(DESCRIPTION.model_copy(update=changes), 1, b"\x00" * 1000)


def test_runs_are_found_by_id_type_owner_and_status(tmp_path: Path) -> None:
    """The latest run of an id is found, lists begin with the latest run, and a deleted run is gone."""
    runs = ArchivedRuns(Store(str(tmp_path)))
    for one in (run(1), run(3), run(2), run(4, id="other", owner="", status="failed"), run(5, id="it's a run/ask")):
        runs.save_run(one)

    assert runs.find_run("it's a run") == run(3)
    assert runs.load_run("e2") == run(2) and runs.load_run("e9") is None and runs.find_run("no run") is None
    assert [one.execution for one in runs.describe_runs("it's a run")] == ["e3", "e2", "e1"]
    assert [one.execution for one in runs.describe_related_runs("it's a run")] == ["e5", "e3", "e2", "e1"]
    assert [one.execution for one in runs.list_runs("AgentWorkflow", "o'neil", "done")] == ["e5", "e3", "e2", "e1"]
    assert [one.id for one in runs.list_runs("AgentWorkflow", status="failed")] == ["other"]
    runs.delete_runs(["e3", "e2"])
    assert runs.find_executions([f"e{n}" for n in range(9)]) == {"e1", "e4", "e5"}
    assert runs.find_executions([]) == frozenset()


def test_a_knowledge_base_without_an_archive_is_not_changed(tmp_path: Path) -> None:
    """Opening an archive that does not exist creates nothing."""
    Store(str(tmp_path / "there"))

    assert ArchivedRuns.open(str(tmp_path / "missing")) is None
    assert ArchivedRuns.open(str(tmp_path / "there")) is None
    assert not (tmp_path / "missing").exists() and not list((tmp_path / "there").iterdir())


def test_concurrent_writers_of_a_run_leave_one_row(tmp_path: Path) -> None:
    """Of workers that archive the same run at the same time, each succeeds, and one row remains."""
    ArchivedRuns(Store(str(tmp_path))).save_run(run(9))
    failures: list[Exception] = []

    def save() -> None:
        try:
            ArchivedRuns(Store(str(tmp_path))).save_run(run(1))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=save) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert Store(str(tmp_path)).count_rows(RUNS) == 2


def test_maintenance_copies_the_archive_rarely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are compacted only when there are many files, since every compaction copies all of them."""
    store = Store(str(tmp_path))
    runs = ArchivedRuns(store)

    def report(progress: UpkeepProgress) -> None: ...

    for number in range(6):
        runs.save_run(run(number))
    few = [Maintenance(store, KnowledgeSettings()).run_step(step, report) for step in get_args(MaintenanceStep)]
    files = store.describe_table(RUNS).files
    monkeypatch.setattr(maintenance, "MIN_ARCHIVE_FILES", 5)
    many = Maintenance(store, KnowledgeSettings()).run_step("compact", report)

    assert [one.failed_tables for one in few] == [(), (), ()] and sum(one.changed for one in few) == 0
    assert files == 6 and many.changed == 5 and store.describe_table(RUNS).files == 1
    assert len(runs.find_executions([f"e{n}" for n in range(9)])) == 6
