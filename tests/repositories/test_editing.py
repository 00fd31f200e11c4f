"""Edits: exact, unique, all or none, with messages that lead to the right one."""

from pathlib import Path

import pytest

from tenure.contracts.coding.repositories import FileEdit, Replacement
from tenure.repositories.editing import PlannedEdits, find_syntax_errors, plan_edits, write_edits
from tenure.repositories.git import Git, initialize
from tenure.repositories.source_text import ActionRefused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "files"
    place.mkdir()
    return place


@pytest.fixture
def git(folder: Path) -> Git:
    return initialize(folder.parent / "git").bind(index=folder.parent / "index", work_tree=folder)


def edit(path: str, *pairs: tuple[str, str]) -> FileEdit:
    """Return an edit by replacements."""
    return FileEdit(path=path, replacements=tuple(Replacement(search=old, replace=new) for old, new in pairs))


def apply(git: Git, folder: Path, *edits: FileEdit) -> PlannedEdits:
    """Plan and write edits."""
    planned = plan_edits(git, folder, edits)
    write_edits(folder, planned)
    return planned


def refuse(git: Git, folder: Path, *edits: FileEdit) -> str:
    """Return the message of edits that do not fit, and check that they change nothing."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(ActionRefused) as raised:
        plan_edits(git, folder, edits)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return str(raised.value)


def test_several_changes_are_made_together(git: Git, folder: Path) -> None:
    """Replacements in order, whole contents, new and deleted files; an empty folder goes with its last file."""
    (folder / "a.py").write_text("one\ntwo\nthree\n")
    (folder / "old").mkdir()
    (folder / "old" / "b.py").write_text("b\n")
    (folder / "c.py").write_text("c\n")
    planned = apply(
        git,
        folder,
        edit("a.py", ("two\n", "2\n"), ("2\nthree", "2\n3")),
        FileEdit(path="new/pkg/d.py", content="d\n"),
        FileEdit(path="old/b.py", delete=True),
        FileEdit(path="c.py", content="whole"),
    )
    assert (folder / "a.py").read_text() == "one\n2\n3\n"
    assert (folder / "new" / "pkg" / "d.py").read_text() == "d\n"
    assert not (folder / "old").exists()
    assert (folder / "c.py").read_text() == "whole\n"
    assert planned.summary == "edited a.py, c.py; created new/pkg/d.py; deleted old/b.py"
    assert planned.outcomes == [
        "lines 2, 2-3, +2 -2",
        "new file, +1 -0",
        "deleted",
        "replaced as a whole, +1 -1",
    ]


def test_edits_of_one_file_follow_each_other(git: Git, folder: Path) -> None:
    """Each has its own outcome; a file that is written and deleted again leaves nothing behind."""
    (folder / "a.py").write_text("one\ntwo\nthree\n")
    planned = apply(
        git,
        folder,
        edit("a.py", ("one\n", "1\n1b\n")),
        edit("a.py", ("three\n", "3\n")),
        FileEdit(path="new/b.py", content="b\n"),
        edit("new/b.py", ("b", "c")),
        FileEdit(path="c.py", content="c\n"),
        FileEdit(path="c.py", delete=True),
    )
    assert planned.outcomes[:4] == ["lines 1-2, +2 -1", "line 4, +1 -1", "new file, +1 -0", "line 1, +1 -1"]
    assert (folder / "a.py").read_text() == "1\n1b\ntwo\n3\n"
    assert (folder / "new" / "b.py").read_text() == "c\n" and not (folder / "c.py").exists()
    assert planned.summary == "edited a.py; created new/b.py"


def test_one_edit_that_does_not_fit_refuses_all(git: Git, folder: Path) -> None:
    """All problems of a request are named, and no file is changed."""
    (folder / "a.py").write_text("one\n")
    message = refuse(
        git,
        folder,
        edit("a.py", ("one", "1")),
        edit("b.py", ("x", "y")),
        FileEdit(path="c.py", content="c", delete=True),
        FileEdit(path="d.py"),
    )
    assert "there is no file b.py" in message and "one" not in message
    assert "c.py: give either" in message
    assert "d.py: give either" in message


def test_lines_that_occur_often_are_refused_with_their_places(git: Git, folder: Path) -> None:
    """The message has the number and the lines; overlapping occurrences count."""
    (folder / "a.py").write_text("x = 1\ny = 2\nx = 1\n")
    assert "occur 2 times, in line 1, 3" in refuse(git, folder, edit("a.py", ("x = 1", "x = 2")))
    (folder / "b.py").write_text("aaa\n")
    assert "occur 2 times" in refuse(git, folder, edit("b.py", ("aa", "b")))


def test_lines_with_other_white_space_are_shown(git: Git, folder: Path) -> None:
    """Tabs, indentation and trailing blanks are the usual reasons; the lines of the file are shown with numbers."""
    (folder / "a.py").write_text("def f():\n\tif x:\n\t\treturn 1\n")
    message = refuse(git, folder, edit("a.py", ("    if x:\n        return 1", "pass")))
    assert "differ in white space" in message
    assert "2|\tif x:\n3|\t\treturn 1" in message


def test_similar_lines_are_shown(git: Git, folder: Path) -> None:
    """For lines that do not occur at all, the most similar ones are shown."""
    (folder / "a.py").write_text("".join(f"value_{number} = {number}\n" for number in range(50)) + "def total(a, b):\n")
    message = refuse(git, folder, edit("a.py", ("def total(a, c):", "")))
    assert "most similar" in message
    assert "51|def total(a, b):" in message
    assert refuse(git, folder, edit("a.py", ("~~~~", ""))) == "a.py: the lines to replace do not occur"


def test_a_part_of_a_line_is_completed(git: Git, folder: Path) -> None:
    """A line that is incomplete before the last one is answered with the whole one."""
    (folder / "a.py").write_text("import a\ndef total(a, b):\n    return a + b  # sum\n")
    message = refuse(git, folder, edit("a.py", ("def total(a\n    return a + b\n", "pass\n")))
    assert message == (
        "a.py: the lines to replace are incomplete; give whole lines, which are:\n"
        "2|def total(a, b):\n3|    return a + b  # sum"
    )


def test_the_beginning_of_the_last_line_is_enough(git: Git, folder: Path) -> None:
    """The rest of a long line stays behind the new text, unless a word would be cut or nothing is put in its place."""
    (folder / "a.md").write_text("# News\n\n- A long entry, with a link ([12]).\n- total_price\n")
    apply(git, folder, edit("a.md", ("# News\n\n- A long entry,\n", "# News\n\n- New.\n- A long entry,\n")))

    assert (folder / "a.md").read_text() == "# News\n\n- New.\n- A long entry, with a link ([12]).\n- total_price\n"
    assert "incomplete" in refuse(git, folder, edit("a.md", ("- total\n", "- sum\n")))
    assert "incomplete" in refuse(git, folder, edit("a.md", ("- A long entry,\n", "")))


def test_a_block_without_a_change_is_left_out(git: Git, folder: Path) -> None:
    """Other blocks of the edit are made; alone it is refused."""
    (folder / "a.py").write_text("one\ntwo\n")
    apply(git, folder, edit("a.py", ("one\n", "one\n"), ("two\n", "2\n")))

    assert (folder / "a.py").read_text() == "one\n2\n"
    assert "changes nothing" in refuse(git, folder, edit("a.py", ("one\n", "one\n")))


def test_line_numbers_in_the_search_are_recognised(git: Git, folder: Path) -> None:
    """Numbers that were copied from the display of a file are no part of it."""
    (folder / "a.py").write_text("one\ntwo\n")
    assert "line numbers" in refuse(git, folder, edit("a.py", ("1|one\n2|two", "x")))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\ntwo\r\n", b"one\r\n2\r\nII\r\n"),
        (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\n2\nII\n"),
        (b"one\r\ntwo\nlast\r\n", b"one\r\n2\nII\nlast\r\n"),
        (b"one\ntwo", b"one\n2\nII"),
        (b"caf\xe9\ntwo\n", b"caf\xe9\n2\nII\n"),
        (b"a\rb\ntwo\n", b"a\rb\n2\nII\n"),
        (b"form\x0cfeed\xc2\x85\ntwo\n", b"form\x0cfeed\xc2\x85\n2\nII\n"),
    ],
)
def test_the_form_of_a_file_is_kept(git: Git, folder: Path, before: bytes, after: bytes) -> None:
    """Line ends, byte order mark, encoding and a missing last line end stay as they are, also in mixed files."""
    (folder / "a").write_bytes(before)
    search, new = ("two\n", "2\nII\n") if before.endswith(b"\n") else ("two", "2\nII")
    apply(git, folder, edit("a", (search, new)))
    assert (folder / "a").read_bytes() == after


def test_a_whole_content_takes_the_form_of_the_file(git: Git, folder: Path) -> None:
    """A model writes line feeds; a file with other line ends and a mark keeps them. A new file is as it is given."""
    (folder / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (folder / "run.sh").write_text("old\n")
    (folder / "run.sh").chmod(0o755)
    apply(
        git,
        folder,
        FileEdit(path="a.txt", content="1\n2"),
        FileEdit(path="b.bat", content="1\r\n2"),
        FileEdit(path="run.sh", content="new\n"),
    )
    assert (folder / "a.txt").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n"
    assert (folder / "b.bat").read_bytes() == b"1\r\n2"
    assert (folder / "run.sh").stat().st_mode & 0o777 == 0o755


def test_files_that_are_not_edited(git: Git, folder: Path) -> None:
    """Links, files behind links, Git's own, folders, binary, large and ignored files are refused with the reason."""
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "a").write_text("one\n")
    (folder / "link").symlink_to(outside / "a")
    (folder / "inner").symlink_to(outside)
    (folder / "dir").mkdir()
    (folder / "dir" / "file").write_text("")
    (folder / "bin").write_bytes(b"\0one")
    (folder / "large").write_bytes(b"x" * 1_000_001)
    (folder / ".gitignore").write_text("build/\n")
    new = "new\n"
    for change, reason in (
        (edit("link", ("one", "1")), "symbolic link"),
        (FileEdit(path="link", content=new), "symbolic link"),
        (FileEdit(path="link", delete=True), "symbolic link"),
        (FileEdit(path="inner/a", content=new), "reached through a symbolic link"),
        (FileEdit(path="inner/b", content=new), "reached through a symbolic link"),
        (FileEdit(path=".git/config", content=new), "belongs to Git"),
        (FileEdit(path="dir/.GIT/config", content=new), "belongs to Git"),
        (FileEdit(path="dir", content=new), "is a folder"),
        (FileEdit(path="dir/file/below", content=new), "dir/file is a file"),
        (edit("bin", ("one", "1")), "binary"),
        (edit("large", ("x", "1")), "at most 1,000,000 are read"),
        (FileEdit(path="build/a.py", content=new), "left out of patches"),
        (FileEdit(path="nul", content="\0"), "NUL"),
        (FileEdit(path="half", content="\ud800"), "surrogate"),
        (FileEdit(path="big", content="x" * 1_000_001), "at most 1,000,000 are written"),
        (edit("dir/file", ("", "x")), "are empty"),
        (edit("missing", ("a", "b")), "needs its whole content"),
    ):
        assert reason in refuse(git, folder, change), change
    (folder / "latin").write_bytes(b"caf\xe9\n")
    assert "not UTF-8 and lacks" in refuse(git, folder, edit("latin", ("caf", "日")))
    assert (outside / "a").read_text() == "one\n"


def test_syntax_errors_are_found_without_executing(folder: Path) -> None:
    """Errors of Python files are named with their lines; nothing is executed, and hostile nesting ends nothing."""
    (folder / "good.py").write_text("raise SystemExit('executed')\n")
    (folder / "bad.py").write_text("def f(:\n    pass\n")
    (folder / "-c.py").write_text("x = (\n")
    (folder / "deep.py").write_text("(" * 100_000)
    (folder / "text.txt").write_text("def f(:\n")
    (folder / "nul.py").write_bytes(b"x = 1\0\n")
    names = ("good.py", "bad.py", "-c.py", "text.txt", "missing.py")
    errors = find_syntax_errors(folder, names)
    assert [error.partition(":")[0] for error in errors] == ["bad.py, line 1", "-c.py, line 1"]
    assert len(find_syntax_errors(folder, ("deep.py", "nul.py"))) == 2
