"""Tests of the discovery of files."""

import contextlib
import os
import socket
import subprocess
from pathlib import Path

import pytest

from tenure.files.discovery import DiscoveryFailed, DiscoveryLimits, discover_files
from tests.support.tiers import slow


def _tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")


def _found(root: Path, *paths: Path) -> list[str]:
    return [Path(file.path).relative_to(root).as_posix() for file in discover_files(paths or (root,)).files]


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
    """A link to a parent folder is not followed, and a file with two names is found under its own."""
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


def _skipped(root: Path, *paths: Path) -> dict[str, str]:
    """Return the reasons of skipped paths by their names relative to a folder."""
    return {skip.path.removeprefix(f"{root}/"): skip.reason for skip in discover_files(paths or (root,)).skipped}


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("../outside/secret.md", "leads out of the named folders"),
        ("../outside", "leads out of the named folders"),
        ("/", "leads out of the named folders"),
        ("/proc/self/environ", "leads out of the named folders"),
        ("sub/../../outside/secret.md", "leads out of the named folders"),
        (".git/config", "to a hidden file or folder"),
        ("sub/.env", "to a hidden file or folder"),
        (".git", "to a hidden file or folder"),
        ("nowhere.md", "to something that is not read"),
        ("link.md", "to something that is not read"),
        ("node_modules/a.md", "to something that is not read"),
    ],
)
def test_a_link_to_something_that_may_not_be_read_is_reported(tmp_path: Path, target: str, reason: str) -> None:
    """A link out of the folder, to a hidden file, to itself or to nothing is not followed, and has its reason."""
    root = tmp_path / "docs"
    _tree(tmp_path, "outside/secret.md", "docs/a.md", "docs/.git/config", "docs/sub/.env", "docs/node_modules/a.md")
    (root / "link.md").symlink_to(target)

    assert _found(root) == ["a.md"]
    assert list(_skipped(root)) == ["link.md"]
    assert reason in _skipped(root)["link.md"]


def test_a_chain_of_links_is_not_followed(tmp_path: Path) -> None:
    """A link to a link is reported like the link itself, and folders behind links are not entered."""
    root = tmp_path / "docs"
    _tree(tmp_path, "outside/secret.md", "docs/a.md")
    (root / "one").symlink_to("two")
    (root / "two").symlink_to(tmp_path / "outside")
    (root / "via.md").symlink_to("two/secret.md")

    assert _found(root) == ["a.md"]
    assert set(_skipped(root)) == {"one", "two", "via.md"}


def test_a_link_between_named_folders_is_silent(tmp_path: Path) -> None:
    """The target of the link is read under its own name, so nothing is lost."""
    _tree(tmp_path, "a/1.md", "b/2.md")
    (tmp_path / "a" / "2.md").symlink_to("../b/2.md")
    (tmp_path / "a" / "b").symlink_to(tmp_path / "b")

    assert _found(tmp_path, tmp_path / "a", tmp_path / "b") == ["a/1.md", "b/2.md"]
    assert _skipped(tmp_path, tmp_path / "a", tmp_path / "b") == {}


@pytest.mark.parametrize("path", ["link", "link/inner", "link/inner/a.md", "file.md"])
def test_a_named_path_through_a_link_is_refused(tmp_path: Path, path: str) -> None:
    """A named folder that was replaced by a link, as between two readings of a watched corpus, is not read."""
    _tree(tmp_path, "real/inner/a.md")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file.md").symlink_to("real/inner/a.md")

    with pytest.raises(DiscoveryFailed, match="symbolic link") as caught:
        discover_files([tmp_path / path])
    assert caught.value.path == str(tmp_path / path)


def test_pipes_sockets_and_devices_are_reported(tmp_path: Path) -> None:
    """Nothing that is neither file nor folder is opened."""
    _tree(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(tmp_path):
        listening.bind("socket.md")

    assert _found(tmp_path) == ["a.md"]
    assert _skipped(tmp_path) == dict.fromkeys(("pipe.md", "socket.md"), "is not a regular file")
    assert _skipped(tmp_path, tmp_path / "pipe.md") == {"pipe.md": "is not a regular file"}


def test_deep_folders_are_reported(tmp_path: Path) -> None:
    """A thousand folders in each other are walked without recursion, and the first one too deep is named."""
    _tree(tmp_path, "a.md", "z.md")
    with contextlib.chdir(tmp_path):
        for _ in range(1_200):
            Path("d").mkdir()
            os.chdir("d")
        Path("deep.md").write_text("x", encoding="utf-8")

    assert _found(tmp_path) == ["a.md", "z.md"]
    [(path, reason)] = _skipped(tmp_path).items()
    assert (path.count("d"), reason) == (65, "is more than 64 folders deep")
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


@pytest.mark.parametrize(
    ("name", "shown", "reason"),
    [
        (b"a\xff.md", "a\\xff.md", "is not valid UTF-8"),
        (b"a\nb.md", "a\\u000ab.md", "control characters"),
        (b"\x1b]52;c;aGk=\x07.md", "\\u001b]52;c;aGk=\\u0007.md", "control characters"),
        ("a\u202egnp.md".encode(), "a\\u202egnp.md", "control characters"),
    ],
)
def test_a_deceptive_name_is_reported(tmp_path: Path, name: bytes, shown: str, reason: str) -> None:
    """Such a file and such a folder are not read, and their names are shown with escapes."""
    _tree(tmp_path, "a.md")
    (tmp_path / os.fsdecode(name)).write_text("x", encoding="utf-8")

    assert _found(tmp_path) == ["a.md"]
    assert list(_skipped(tmp_path)) == [shown]
    assert reason in _skipped(tmp_path)[shown]


def test_ordinary_names_of_all_scripts_are_found(tmp_path: Path) -> None:
    """Letters, emoji and joiners are no fault of a name."""
    names = sorted(["näme.md", "文書.md", "می\u200cخواهم.md", "👩\u200d💻.md", "a b.md", "x" * 250 + ".md"])
    _tree(tmp_path, *names)

    assert _found(tmp_path) == names


def test_a_path_that_is_too_long_is_reported(tmp_path: Path) -> None:
    """A path beyond the limit of the system is reported and not opened."""
    _tree(tmp_path, "a.md", f"{'d' * 100}/{'e' * 100}.md")
    limits = DiscoveryLimits(name_bytes=len(str(tmp_path)) + 150)
    found = discover_files([tmp_path], limits=limits)

    assert [Path(file.path).name for file in found.files] == ["a.md"]
    assert [skip.reason.split(" of ")[0] for skip in found.skipped] == ["has a path"]


@pytest.mark.parametrize(
    "limits",
    [DiscoveryLimits(entries=20), DiscoveryLimits(path_bytes=500), DiscoveryLimits(seconds=0.0)],
    ids=["entries", "paths", "time"],
)
def test_too_many_files_are_an_error_that_names_the_folder(tmp_path: Path, limits: DiscoveryLimits) -> None:
    """A part of a folder is never taken for all of it."""
    _tree(tmp_path, *(f"{number // 10}/{number}.md" for number in range(300)))

    with pytest.raises(DiscoveryFailed, match="maximum of one search") as caught:
        discover_files([tmp_path], limits=limits)
    assert caught.value.path.startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"#" * 1_100_000, "larger than 1 MB"),
        (b"*.log\n" * 5_001, "more than 5,000 patterns"),
        (b"*a" * 3_000 + b"\n", "line of more than 4,096 characters"),
    ],
)
def test_a_folder_with_a_hostile_gitignore_is_skipped(tmp_path: Path, content: bytes, reason: str) -> None:
    """Its exclusions are unknown, so nothing of its folder is read; other folders are."""
    _tree(tmp_path, "a.md", "sub/b.md", "sub/deeper/c.md")
    (tmp_path / "sub" / ".gitignore").write_bytes(content)

    assert _found(tmp_path) == ["a.md"]
    assert reason in _skipped(tmp_path)["sub"]


def test_a_gitignore_that_is_no_file_skips_its_folder(tmp_path: Path) -> None:
    """A link, which git does not follow either, and a pipe are not opened."""
    _tree(tmp_path, "a.md", "link/b.md", "pipe/c.md", "rules", "folder/.gitignore/d.md", "folder/e.md")
    (tmp_path / "link" / ".gitignore").symlink_to(tmp_path / "rules")
    os.mkfifo(tmp_path / "pipe" / ".gitignore")

    assert _found(tmp_path) == ["a.md", "folder/e.md", "rules"]
    assert _skipped(tmp_path) == {
        "link": "has a .gitignore that is a symbolic link",
        "pipe": "has a .gitignore that is not a regular file",
    }


def test_files_named_for_secrets_are_reported(tmp_path: Path) -> None:
    """They are found only if secrets are included, even if they are named."""
    _tree(tmp_path, "a.md", "id_rsa", "prod.env", "Server.PEM")
    found = discover_files([tmp_path], include_secrets=True)

    assert _found(tmp_path) == ["a.md"]
    assert set(_skipped(tmp_path)) == {"id_rsa", "prod.env", "Server.PEM"}
    assert all("--include-secrets" in reason for reason in _skipped(tmp_path).values())
    assert set(_skipped(tmp_path, tmp_path / "id_rsa")) == {"id_rsa"}
    assert len(found.files) == 4


def test_skipped_folders_are_recognised_in_any_case(tmp_path: Path) -> None:
    """A file system without case shows the same folder under other names."""
    _tree(tmp_path, "a.md", "Node_Modules/b.md", "VENV/c.md", "X.Dist-Info/d.md")

    assert _found(tmp_path) == ["a.md"]


def test_many_skips_are_counted(tmp_path: Path) -> None:
    """The list is bounded, the count is complete."""
    for number in range(250):
        (tmp_path / f"{number}.md").symlink_to("/etc/passwd")
    found = discover_files([tmp_path])

    assert (len(found.skipped), found.skipped_total) == (200, 250)


@slow
def test_a_hundred_thousand_files_are_found(tmp_path: Path) -> None:
    """A large folder with rules is listed completely."""
    for number in range(100):
        (tmp_path / str(number)).mkdir()
        for inner in range(1_000):
            (tmp_path / str(number) / f"{inner}.md").touch()
    (tmp_path / ".gitignore").write_text("*7*.md\n/9*/\n", encoding="utf-8")

    assert len(discover_files([tmp_path]).files) == 89 * 729
