"""Tests of searches in the files of a workspace."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tenure.repositories import grep
from tenure.repositories.git import Git, initialize
from tenure.repositories.grep import FoundLines, LineSearchRefused, list_state, search_lines


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Git with three files in its index."""
    files = tmp_path / "files"
    (files / "a b").mkdir(parents=True)
    (files / "a b" / "x:1.py").write_text("def run():\n    return 'a.c'\n")
    (files / "y.py").write_text("run()\nabc\nrun()\n")
    (files / "z.bin").write_bytes(b"run\0")
    (files / "link.py").symlink_to("/etc/passwd")
    git = initialize(tmp_path / "git").bind(index=tmp_path / "index", work_tree=files)
    git.run("add", "--all")
    return git


def keep(paths: Sequence[str]) -> Sequence[str]:
    """Keep all paths in order."""
    return sorted(paths)


def test_state_has_regular_files_with_their_hashes(git: Git) -> None:
    """Links are no files; an edited file has the hash of its new content."""
    before = dict(list_state(git))
    (git.work_tree or Path()).joinpath("y.py").write_text("changed\n")
    git.run("add", "--all")
    after = dict(list_state(git))

    assert before.keys() == {"a b/x:1.py", "y.py", "z.bin"}
    assert [name for name in before if before[name] != after[name]] == ["y.py"]


def test_text_is_found_with_its_lines(git: Git) -> None:
    """A text is literal, and names with colons and spaces are intact."""
    found = search_lines(git, "a.c", regex=False, choose=keep)

    assert found == (FoundLines("a b/x:1.py", 1, ((2, "    return 'a.c'"),)),)
    assert len(search_lines(git, "run()", regex=False, choose=keep)) == 2


def test_expression_is_found_in_chosen_files(git: Git) -> None:
    """Files that are not chosen are counted neither as shown nor as found."""
    found = search_lines(git, "^(run|abc)", regex=True, choose=lambda paths: [path for path in paths if path == "y.py"])

    assert [(one.path, one.total, [line for line, _ in one.lines]) for one in found] == [("y.py", 3, [1, 2, 3])]


def test_every_file_has_a_share_of_the_lines(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with few lines leave their room to others; the numbers of all lines and files are known."""
    monkeypatch.setattr(grep, "MAX_SHOWN_LINES", 3)
    shared = search_lines(git, "run", regex=False, choose=keep)
    monkeypatch.setattr(grep, "MAX_SHOWN_FILES", 1)
    first = search_lines(git, "run", regex=False, choose=keep)
    monkeypatch.setattr(grep, "MAX_SHOWN_LINES", 1)
    cut = search_lines(git, "run", regex=False, choose=lambda paths: ["y.py"])

    assert [(one.total, len(one.lines)) for one in shared] == [(1, 1), (2, 2)]
    assert [(one.total, len(one.lines)) for one in first] == [(1, 1), (2, 0)]
    assert [(one.total, len(one.lines)) for one in cut] == [(2, 1)]


def test_expressions_are_those_of_perl(git: Git) -> None:
    """Models write options, classes and groups as in Python."""
    found = search_lines(git, r"(?i)\bRUN\(\)$|\d{4}", regex=True, choose=keep)

    assert [(one.path, [line for line, _ in one.lines]) for one in found] == [("y.py", [1, 3])]


def test_an_expression_without_end_is_refused(git: Git) -> None:
    """An expression that tries exponentially many ways ends with a reason."""
    (git.work_tree or Path()).joinpath("y.py").write_text(f"{'a' * 40}!\n")
    with pytest.raises(LineSearchRefused):
        search_lines(git, r"^(a|aa|aaa)+$", regex=True, choose=keep)


def test_nothing_found_is_no_error(git: Git) -> None:
    """A search without a match returns nothing."""
    assert search_lines(git, "absent", regex=True, choose=keep) == ()


@pytest.mark.parametrize("query", ["(", "a\nb", "[z-a]"])
def test_invalid_expression_is_refused(git: Git, query: str) -> None:
    """The reason is one for the model to read."""
    with pytest.raises(LineSearchRefused):
        search_lines(git, query, regex=True, choose=keep)


def test_option_as_a_query_is_text(git: Git) -> None:
    """A query that looks like an option of Git is searched for."""
    assert search_lines(git, "--open-files-in-pager=touch x", regex=False, choose=keep) == ()


def test_slow_expression_is_ended(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that takes too long is refused with advice."""
    monkeypatch.setattr(grep, "MAX_SECONDS", 0.0)

    with pytest.raises(LineSearchRefused, match="simpler"):
        search_lines(git, "(a|b)*c", regex=True, choose=keep)
