"""Reading: numbered lines and lists of files, bounded, without what Git ignores."""

from pathlib import Path

import pytest

from tenure.contracts.coding.repositories import MAX_OBSERVATION_CHARS
from tenure.repositories.git import Git, initialize
from tenure.repositories.reading import list_files, show_lines
from tenure.repositories.source_text import ActionRefused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "files"
    place.mkdir()
    return place


@pytest.fixture
def git(folder: Path) -> Git:
    return initialize(folder.parent / "git").bind(index=folder.parent / "index", work_tree=folder)


def test_lines_have_their_numbers(folder: Path) -> None:
    """The head says which lines are shown of how many."""
    (folder / "a.py").write_bytes(b"one\r\n\ttwo\r\nthree")
    shown = show_lines(folder, "a.py", 2, 9)
    assert shown.text == "a.py, lines 2–3 of 3\n2|\ttwo\n3|three"
    assert shown.summary == "read a.py:2–3"


def test_what_does_not_fit_is_named(folder: Path) -> None:
    """Long files are cut at a line, long lines at a column, and the head says so."""
    (folder / "long.py").write_text("x = 1\n" * 10_000)
    (folder / "wide.js").write_text("x" * 50_000 + "\nend\n")
    shown = show_lines(folder, "long.py", 100, None)
    assert len(shown.text) <= 24_000
    assert "lines 2083–10000 did not fit" in shown.text.splitlines()[0]
    assert "(50,000 characters)" in show_lines(folder, "wide.js", 1, None).text


def test_control_characters_are_shown_as_escapes(folder: Path) -> None:
    """A file cannot move the cursor of a terminal or reverse its text."""
    (folder / "a").write_text("red\x1b[31m \u202eabc\n")
    assert show_lines(folder, "a", 1, None).text.endswith("|red\\x1b[31m \\x202eabc")


def test_lines_that_do_not_exist_are_a_failure(folder: Path) -> None:
    """The message has the number of lines."""
    (folder / "a").write_text("one\n")
    (folder / "empty").write_text("")
    assert show_lines(folder, "a", 5, None).failed
    assert "has 1 lines" in show_lines(folder, "a", 5, None).text
    assert show_lines(folder, "empty", 1, None).text == "empty is empty"


def test_files_that_are_not_read(folder: Path) -> None:
    """Links, pipes, binary and missing files are refused; a file of the same name elsewhere is named."""
    (folder / "bin").write_bytes(b"a\0")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("")
    for name, reason in (
        ("bin", "binary"),
        ("link", "symbolic link"),
        ("src", "is a folder"),
        ("a.py", "there is src/a.py"),
        (".git/config", "belongs to Git"),
    ):
        with pytest.raises(ActionRefused, match=reason):
            show_lines(folder, name, 1, None)


def test_files_are_listed_by_folder_and_by_pattern(git: Git, folder: Path) -> None:
    """Folders have the number of their files; ignored files are left out; a pattern without a slash matches names."""
    for name in ("src/a.py", "src/pkg/b.py", "src/pkg/c.txt", "README", "build/x.py", "odd\nname"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / ".gitignore").write_text("build/\n")
    assert list_files(git, "").text.splitlines()[1:] == ["src/ (3 files)", ".gitignore", "README", "odd\\x0aname"]
    assert list_files(git, "src/").text.splitlines()[1:] == ["src/pkg/ (2 files)", "src/a.py"]
    assert list_files(git, "src/a.py").text.splitlines()[1:] == ["src/a.py"]
    assert list_files(git, "*.py").text.splitlines()[1:] == ["src/a.py", "src/pkg/b.py"]
    assert list_files(git, "src/**/*.py").text.splitlines()[1:] == ["src/a.py", "src/pkg/b.py"]
    assert list_files(git, "src/*.py").text.splitlines()[1:] == ["src/a.py"]
    assert list_files(git, "nowhere").failed
    assert list_files(git, "*.none").failed


def test_a_long_list_says_what_is_left_out(git: Git, folder: Path) -> None:
    """The number of files that did not fit is named."""
    for number in range(1_000):
        (folder / f"a_long_name_of_a_file_{number}").touch()
    shown = list_files(git, "")
    assert len(shown.text) <= MAX_OBSERVATION_CHARS
    assert "more: name a folder" in shown.text
