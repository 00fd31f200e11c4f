"""Test how the change of a repository reaches a person's files, a patch, or a branch."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import ChangedFile, ProjectTest, Proof, RepositoryChange
from tenure.contracts.repository_task import RepositorySource
from tenure.contracts.research.report import ReportDraft
from tenure.contracts.result.result import Result
from tenure.report.assemble import assemble_result
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.programs import write_back
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


def test_git_is_asked_for_the_filters_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing a change, and committing it to a branch, list the filters of the configuration once each."""
    folder = make_repository(tmp_path, CLOCK)
    result, start = make_result(folder), write_back._start_git
    commands: list[str] = []

    def note(folder: Path, arguments: Sequence[str], *others: Any) -> subprocess.CompletedProcess[bytes]:
        commands.extend({"config", "apply", "branch"}.intersection(arguments))
        return start(folder, arguments, *others)

    monkeypatch.setattr(write_back, "_start_git", note)
    write_files(result)
    commit_to_branch(result, "fix/pad")

    assert commands == ["config", "apply", "apply", "config", "apply", "branch"]


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


def test_no_command_of_a_repository_is_executed(tmp_path: Path) -> None:
    """Hooks, filters and drivers that its configuration names have no effect on applying a change."""
    folder, mark = make_repository(tmp_path / "clock", CLOCK), tmp_path / "executed"
    result = make_result(folder)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    (folder / ".git" / "info" / "attributes").write_text("*.py filter=evil diff=evil merge=evil\n")
    for name in ("clean", "smudge", "process"):
        run_git(folder, "config", f"filter.evil.{name}", str(program))
    for name in ("core.fsmonitor", "core.pager", "core.editor", "diff.external", "diff.evil.textconv", "gpg.program"):
        run_git(folder, "config", name, str(program))
    run_git(folder, "config", "filter.evil.required", "true")
    for name in ("post-index-change", "reference-transaction", "pre-commit"):
        (folder / ".git" / "hooks").mkdir(exist_ok=True)
        (folder / ".git" / "hooks" / name).symlink_to(program)
    # Git compares contents of files with other times only.
    (folder / "clock" / "durations.py").touch()
    commit_to_branch(result, "fix/pad")
    write_files(result)

    assert ":02" in (folder / "clock" / "durations.py").read_text()
    assert not mark.exists()


def test_files_stay_in_the_repository(tmp_path: Path) -> None:
    """A configuration that places the files of a repository elsewhere is refused."""
    folder = make_repository(tmp_path / "clock", CLOCK)
    result = make_result(folder)
    (tmp_path / "home" / "clock").mkdir(parents=True)
    (tmp_path / "home" / "clock" / "durations.py").write_bytes((folder / "clock" / "durations.py").read_bytes())
    run_git(folder, "config", "core.worktree", str(tmp_path / "home"))
    with pytest.raises(TenureError, match=r"places its files in .*/home \(core\.worktree\)"):
        write_files(result)

    assert [path.name for path in (tmp_path / "home").rglob("*")] == ["clock", "durations.py"]


def test_a_bare_repository_takes_a_branch(tmp_path: Path) -> None:
    """It has no files to write, which the message says."""
    folder = make_repository(tmp_path / "clock", CLOCK)
    result = make_result(folder)
    run_git(folder, "clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    with pytest.raises(InvalidRequest, match="no working copy: --branch NAME commits the change there"):
        write_files(result, tmp_path / "bare")

    assert commit_to_branch(result, "fix/pad", tmp_path / "bare")
