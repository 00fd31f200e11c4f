"""Test how the change of a repository reaches a person's files, a patch, or a branch."""

from pathlib import Path

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import ChangedFile, ProjectTest, Proof, RepositoryChange
from tenure.contracts.repository_task import RepositorySource
from tenure.contracts.research.report import ReportDraft
from tenure.contracts.result.result import Result
from tenure.report.assemble import assemble_result
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.programs.write_back import check_accepted, commit_to_branch, write_files
from tests.support.repositories.git import CLOCK, make_repository, run_git

NEW = "def test_pads():\n    assert True\n"


def make_result(folder: Path, **changed: object) -> Result:
    """Return the result of a run that has changed a file of a repository and added another."""
    path = folder / "clock" / "durations.py"
    before = path.read_text()
    path.write_text(before.replace("{minutes % 60}", "{minutes % 60:02}"))
    (folder / "tests" / "test_pads.py").write_text(NEW)
    run_git(folder, "add", "--intent-to-add", "--all")
    patch = run_git(folder, "diff") + "\n"
    run_git(folder, "reset", "--quiet", "--hard")
    change = RepositoryChange(
        source=RepositorySource(path=str(folder)),
        commit=run_git(folder, "rev-parse", "HEAD"),
        cause="clock/durations.py:12 does not pad.",
        change="It pads.",
        message="durations: pad minutes",
        patch=patch,
        files=(
            ChangedFile(path="clock/durations.py", status="changed", added=1, removed=1),
            ChangedFile(path="tests/test_pads.py", status="added", added=2, is_test=True),
        ),
        proof=Proof(verdict="proved", fixed=(ProjectTest(id="tests/test_pads.py::test_pads", outcome="passed"),)),
    ).model_copy(update=changed)
    draft = ReportDraft(id=RunId("fix-1"), mode="CODE", question="Pad it", title="Pad it", repository=change)
    return assemble_result(draft, {})


def test_a_patch_is_applied_to_the_files(tmp_path: Path) -> None:
    """Files of the commit change, other work of the person stays, and nothing is staged."""
    folder = make_repository(tmp_path, CLOCK)
    result = make_result(folder)
    (folder / "README.md").write_text("changed by its author\n")
    changed = write_files(result)

    assert changed == (folder / "clock" / "durations.py", folder / "tests" / "test_pads.py")
    assert ":02" in (folder / "clock" / "durations.py").read_text() and (folder / "tests" / "test_pads.py").exists()
    assert (folder / "README.md").read_text() == "changed by its author\n"
    assert not run_git(folder, "diff", "--cached", "--name-only")


@pytest.mark.parametrize("name", ["clock/durations.py", "tests/test_pads.py"])
def test_a_file_that_has_changed_is_refused(tmp_path: Path, name: str) -> None:
    """A touched file that is not as at the commit, or a new one that exists, stops all of it."""
    folder = make_repository(tmp_path, CLOCK)
    result = make_result(folder)
    (folder / name).write_text("mine\n")
    with pytest.raises(TenureError):
        write_files(result)

    assert (folder / name).read_text() == "mine\n"
    assert run_git(folder, "diff", "--name-only").split() == ([name] if name.startswith("clock") else [])


def test_a_branch_starts_at_the_commit_of_the_run(tmp_path: Path) -> None:
    """Later commits, files and index stay; the message is the draft of the model with the run."""
    folder = make_repository(tmp_path, CLOCK)
    result = make_result(folder)
    base = run_git(folder, "rev-parse", "HEAD")
    run_git(folder, "commit", "--quiet", "--allow-empty", "--message", "later")
    commit = commit_to_branch(result, "fix/pad")

    assert run_git(folder, "rev-parse", "fix/pad", "fix/pad^").split() == [commit, base]
    assert run_git(folder, "log", "-1", "--format=%B", "fix/pad") == "durations: pad minutes\n\nTenure-Run: fix-1"
    assert not run_git(folder, "status", "--porcelain")


def test_a_hidden_file_needs_a_folder(tmp_path: Path) -> None:
    """Results of others can be imported, and programs read hidden files at their start."""
    folder = make_repository(tmp_path, CLOCK)
    hidden = ChangedFile(path=".envrc", status="added", added=1)
    with pytest.raises(InvalidRequest, match=r"\.envrc is hidden"):
        write_files(make_result(folder, files=(hidden,)))


def test_a_change_that_fails_is_not_accepted(tmp_path: Path) -> None:
    """The first failing test is named; without a change there is nothing to write."""
    folder = make_repository(tmp_path, CLOCK)
    broken = Proof(verdict="regressed", broken=(ProjectTest(id="tests/a.py::test_a", outcome="failed"),))
    with pytest.raises(TenureError, match=r"tests fail with the change of run fix-1 \(tests/a.py::test_a\)"):
        check_accepted(make_result(folder, proof=broken))
    with pytest.raises(InvalidRequest, match="has changed nothing"):
        check_accepted(make_result(folder, patch="", files=()))
