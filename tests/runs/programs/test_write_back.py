"""The files of a program reach the person's files whole, or not at all."""

import os
import subprocess
from pathlib import Path

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.research.report import ReportDraft
from tenure.contracts.result.programs import (
    Attempt,
    AttemptFailure,
    CodeDraft,
    OriginalFile,
    ProgramVerification,
    SourceFile,
)
from tenure.contracts.result.result import Result
from tenure.files.replacing import replace_file
from tenure.report.assemble import assemble_result
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.programs import write_back
from tenure.runs.programs.write_back import check_accepted, commit_to_branch, write_files, write_message

BEFORE, AFTER = "def f():\n    return 1\n", "def f():\n    return 2\n"
FAILS = AttemptFailure(test="test_f", error="assert 1 == 2")


def build_result(*originals: OriginalFile, failures: tuple[AttemptFailure, ...] = (), **files: str) -> Result:
    """Return the result of a run that wrote files, by the stems of their names."""
    sources = tuple(SourceFile(path=f"{name}.py", text=text) for name, text in files.items())
    code = CodeDraft(
        files=sources,
        originals=originals,
        verification=ProgramVerification(test_author="person", passed=1, total=1, failures=failures),
        attempts=(Attempt(n=1, generation=1, approach="Returns two.", files=sources, failures=failures),),
    )
    draft = ReportDraft(id=RunId("code-1"), mode="CODE", question="Let f give 2", title="f", code=code)
    return assemble_result(draft, {})


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    """A file that a run has read."""
    path = tmp_path / "project" / "solution.py"
    path.parent.mkdir()
    path.write_text(BEFORE)
    return path


def read(path: Path) -> OriginalFile:
    """Return a file as the run has read it."""
    return OriginalFile(path=path.name, text=path.read_text(encoding="utf-8-sig"), origin=str(path))


def test_changed_and_new_files_are_written_to_their_places(solution: Path) -> None:
    """A given file is replaced with its permissions, a new one is put next to it, and a second time changes nothing."""
    solution.chmod(0o750)
    result = build_result(read(solution), solution=AFTER, helper="A = 1\n")

    assert set(write_files(result)) == {solution, solution.parent / "helper.py"}
    assert solution.read_text() == AFTER and solution.stat().st_mode & 0o777 == 0o750
    assert write_files(result) == ()


def test_a_byte_order_mark_stays(solution: Path) -> None:
    """The mark, which the run does not see, is kept."""
    solution.write_bytes(b"\xef\xbb\xbf" + BEFORE.encode())
    write_files(build_result(read(solution), solution=AFTER))

    assert solution.read_bytes() == b"\xef\xbb\xbf" + AFTER.encode()


def test_a_file_that_has_changed_is_left_alone(solution: Path) -> None:
    """Nothing is written if one file is not as the run has read it, or a new one exists; the message names both."""
    other = solution.parent / "helper.py"
    result = build_result(read(solution), solution=AFTER, helper="A = 1\n", third="B = 1\n")
    solution.write_text("# mine\n")
    other.write_text("# mine as well\n")

    with pytest.raises(TenureError, match=r"solution\.py, .*helper\.py not as the run has read it.* --patch FILE"):
        write_files(result)
    assert solution.read_text() == "# mine\n" and not (solution.parent / "third.py").exists()


def test_a_failure_in_between_changes_no_file(solution: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the second file cannot be written, the first one is as it was."""
    result = build_result(read(solution), solution=AFTER, helper="A = 1\n")

    def fail_for_helper(target: Path, content: bytes) -> None:
        if target.name == "helper.py":
            raise OSError(28, "No space left on device", str(target))
        replace_file(target, content)

    monkeypatch.setattr(write_back, "replace_file", fail_for_helper)
    with pytest.raises(TenureError, match=r"helper\.py cannot be written \(No space left on device\)"):
        write_files(result)
    assert solution.read_text() == BEFORE


def test_a_new_program_needs_a_folder(tmp_path: Path) -> None:
    """Without given files the person names the folder, out of which no name leads."""
    result = build_result(solution=AFTER)
    with pytest.raises(InvalidRequest, match="--to DIR"):
        write_files(result)

    assert write_files(result, tmp_path / "new") == (tmp_path / "new" / "solution.py",)
    outside = result.model_copy(update={"files": (SourceFile(path="../out.py", text=AFTER),)})
    with pytest.raises(InvalidRequest, match="leads out of"):
        write_files(outside, tmp_path / "new")


def test_hidden_files_need_a_folder(solution: Path, tmp_path: Path) -> None:
    """A result names no file that programs read at their start, unless the person names its folder."""
    file = SourceFile(path=".config/autostart/x.desktop", text="[Desktop Entry]\n")
    result = build_result(read(solution), solution=AFTER)
    result = result.model_copy(update={"files": (*result.files, file)})

    elsewhere = solution.rename(solution.parent / ".profile")
    disguised = OriginalFile(path="solution.py", text=BEFORE, origin=str(elsewhere))

    for one in (result, build_result(disguised, solution=AFTER)):
        with pytest.raises(InvalidRequest, match="is hidden"):
            write_files(one)
    assert elsewhere.read_text() == BEFORE
    assert tmp_path / "new" / file.path in write_files(result.model_copy(update={"originals": ()}), tmp_path / "new")


def test_no_link_is_followed(solution: Path, tmp_path: Path) -> None:
    """A file that has become a link is not written through."""
    result = build_result(read(solution), solution=AFTER)
    target = tmp_path / "elsewhere.py"
    solution.rename(target)
    solution.symlink_to(target)

    with pytest.raises(TenureError, match="is a symbolic link"):
        write_files(result)
    assert target.read_text() == BEFORE


def test_a_program_that_fails_is_not_accepted() -> None:
    """A run without a program and a program whose tests fail are refused, with what to do."""
    with pytest.raises(TenureError, match=r"not accepted \(test_f\).*--failing"):
        check_accepted(build_result(solution=AFTER, failures=(FAILS,)))
    with pytest.raises(InvalidRequest, match="has no program"):
        check_accepted(build_result())
    check_accepted(build_result(solution=AFTER))


def git(folder: Path, *arguments: str) -> str:
    """Return the output of a command of Git."""
    person = {"GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(folder)}
    for role in ("AUTHOR", "COMMITTER"):
        person |= {f"GIT_{role}_NAME": "A person", f"GIT_{role}_EMAIL": "person@example.org"}
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, check=True, env=os.environ | person).stdout.decode()


@pytest.fixture
def repository(solution: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose folder below the top has a file that a run has read."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A person")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "person@example.org")
    top = solution.parent.parent
    git(top, "init", "--quiet")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "--message", "first")
    return top


def test_a_branch_has_the_changes_and_nothing_else_does(repository: Path, solution: Path) -> None:
    """The commit follows the one that is checked out; files, index and hooks are not touched."""
    hook = repository / ".git" / "hooks" / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {repository}/hook-ran\n")
    hook.chmod(0o755)
    result = build_result(read(solution), solution=AFTER, helper="A = 1\n")

    commit = commit_to_branch(result, "tenure/f")

    assert git(repository, "show", "tenure/f:project/solution.py") == AFTER
    assert git(repository, "show", "tenure/f:project/helper.py") == "A = 1\n"
    assert git(repository, "log", "--format=%H %s", "tenure/f").splitlines()[0] == f"{commit} Let f give 2"
    assert git(repository, "status", "--porcelain") == "" and solution.read_text() == BEFORE
    assert not (repository / "hook-ran").exists()


def test_a_branch_is_never_overwritten(repository: Path, solution: Path) -> None:
    """An existing branch, a commit without what the run has read, and a folder without repository are refused."""
    result = build_result(read(solution), solution=AFTER)
    commit_to_branch(result, "mine")
    with pytest.raises(TenureError, match="already exists"):
        commit_to_branch(result, "mine")

    solution.write_text("# other\n")
    git(repository, "commit", "--quiet", "--all", "--message", "second")
    with pytest.raises(TenureError, match=r"solution\.py: patch does not apply"):
        commit_to_branch(result, "other")


def test_a_folder_without_repository_is_refused(solution: Path) -> None:
    """The message has the words of Git."""
    with pytest.raises(TenureError, match=r"nothing is written: .*not a git repository"):
        commit_to_branch(build_result(read(solution), solution=AFTER), "branch")


def test_the_message_tells_what_how_and_by_what_proof() -> None:
    """A long request is cut in the first line and complete below it."""
    result = build_result(solution=AFTER).model_copy(update={"question": f"Let f give 2 {'very ' * 20}soon"})
    subject, asked, approach, proof, run = write_message(result).strip().split("\n\n")

    assert len(subject) <= 72 and subject.endswith("…") and asked.endswith("soon")
    assert (approach, proof, run) == ("Returns two.", "1 of 1 tests passed in the sandbox.", "Tenure-Run: code-1")
