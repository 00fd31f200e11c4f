"""Tests of the discovery of files."""

from pathlib import Path

import pytest

from tenure.sources.parsers.discover import discover_files


def _tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")


def _found(root: Path, *paths: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in discover_files(paths or (root,))]


def test_files_are_found_in_name_order(tmp_path: Path) -> None:
    """Files are found in the order of their names, depth first, whatever their format."""
    _tree(tmp_path, "b.md", "a/z.txt", "a/b/c.py", "c.png", "B.md")

    assert _found(tmp_path) == ["B.md", "a/b/c.py", "a/z.txt", "b.md", "c.png"]


def test_generated_folders_are_skipped(tmp_path: Path) -> None:
    """Version control, environments, installed packages, caches and hidden files are skipped."""
    _tree(
        tmp_path,
        "keep.md",
        ".git/config",
        ".hidden.md",
        "node_modules/a/readme.md",
        "__pycache__/a.pyc",
        "env/pyvenv.cfg",
        "env/lib/a.py",
        "cache/CACHEDIR.TAG",
        "cache/b.txt",
        "pkg.egg-info/top.txt",
    )

    assert _found(tmp_path) == ["keep.md"]


def test_gitignore_is_obeyed_as_git_does(tmp_path: Path) -> None:
    """Patterns of every level apply, the innermost last, and negation includes a file again."""
    _tree(tmp_path, "a.log", "keep.log", "build/x.md", "sub/b.log", "sub/c.tmp", "sub/build.md", "deep/only/here.md")
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\nbuild/\n*.tmp\n/only\n", encoding="utf-8")
    (tmp_path / "sub" / ".gitignore").write_text("!c.tmp\n", encoding="utf-8")

    assert _found(tmp_path) == ["deep/only/here.md", "keep.log", "sub/build.md", "sub/c.tmp"]


def test_circular_links_end(tmp_path: Path) -> None:
    """A link to a parent folder is not followed, and a file with two names is found once."""
    _tree(tmp_path, "a/file.md")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "z.md").symlink_to(tmp_path / "a" / "file.md")

    assert _found(tmp_path) == ["a/file.md"]


def test_overlapping_paths_give_each_file_once(tmp_path: Path) -> None:
    """Files are in the order of the paths."""
    _tree(tmp_path, "a/1.md", "a/2.md", "b.md")

    assert _found(tmp_path, tmp_path / "a" / "2.md", tmp_path, tmp_path / "a") == ["a/2.md", "a/1.md", "b.md"]


def test_an_explicitly_named_file_is_included(tmp_path: Path) -> None:
    """A hidden file is included if its path is named."""
    _tree(tmp_path, ".hidden.md")

    assert _found(tmp_path, tmp_path / ".hidden.md") == [".hidden.md"]


def test_a_missing_path_is_an_immediate_error(tmp_path: Path) -> None:
    """The error names the path, and is raised before the first file."""
    missing = tmp_path / "missing"

    with pytest.raises(FileNotFoundError) as caught:
        discover_files([tmp_path, missing])

    assert str(missing) in str(caught.value)


def test_a_dangling_link_is_included(tmp_path: Path) -> None:
    """The parser reports a dangling link."""
    (tmp_path / "link.md").symlink_to(tmp_path / "nowhere")

    assert _found(tmp_path) == ["link.md"]
