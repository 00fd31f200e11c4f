"""Patches are compared with what Git makes of them."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.coding.patches import build_patch, split_patch

LINES = st.lists(
    st.text("ab\r\x0b\u2028é ", max_size=3).flatmap(lambda line: st.sampled_from([line, f"{line}\n"])), max_size=12
)
TEXTS = LINES.map("".join)
NAMES = st.sampled_from(["a.py", "pkg/b.py", "with space.txt", "é.py", 'say "hi".txt', "back\\slash"])
FILES = st.dictionaries(NAMES, TEXTS, max_size=4)


def apply_patch(before: dict[str, str], patch: str) -> dict[str, str]:
    """Return files after `git apply`."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in before.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(text.encode())
        if patch:
            subprocess.run(["git", "apply", "-"], cwd=folder, input=patch.encode(), check=True)
        found = [path for path in folder.rglob("*") if path.is_file()]
        return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in found}


@settings(max_examples=60, deadline=None)
@given(FILES, FILES)
def test_git_carries_out_every_patch(before: dict[str, str], after: dict[str, str]) -> None:
    """New, deleted, empty and changed files, with any line ends and names, become what they should be."""
    assert apply_patch(before, build_patch(before, after)) == after


def test_equal_files_have_no_patch() -> None:
    """Nothing is said of files that stay as they are."""
    assert build_patch({"a.py": "A = 1\n"}, {"a.py": "A = 1\n"}) == ""


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ({"a.py": "A = 1\n"}, {"a.py": "A = 2\n"}, "+++ b/a.py"),
        ({}, {"my notes.txt": "A\n"}, "+++ b/my notes.txt\t"),
        ({}, {"é.py": "A\n"}, '+++ "b/\\303\\251.py"'),
    ],
)
def test_names_are_written_as_git_writes_them(before: dict[str, str], after: dict[str, str], line: str) -> None:
    """The name after the change is in the line that programs read."""
    assert line in build_patch(before, after).split("\n")


def test_a_patch_is_split_by_its_files() -> None:
    """Each part has the path of its file; lines that look like the head of one belong to their file."""
    after = {"a.py": "diff --git a/x b/x\n", "my notes.txt": "A\n", "é.py": "A\n"}
    patch = build_patch({}, after)
    parts = list(split_patch(patch))

    assert [path for path, _ in parts] == ["a.py", "my notes.txt", "\\303\\251.py"]
    assert "".join(part for _, part in parts) == patch and list(split_patch("")) == []
