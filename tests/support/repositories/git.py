"""Make real repositories with the Git of this machine, and workspaces without a knowledge base."""

import os
import subprocess
from pathlib import Path

from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import Workspace
from tenure.files.file_store import FileStore
from tenure.repositories.copies import CopiedCommit, Copies
from tenure.repositories.workspaces import PatchStore, Workspaces

_PERSON = {
    **{"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada"},
    **{"GIT_COMMITTER_EMAIL": "ada@example.org", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    **{"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"},
}

CLOCK: dict[str, str | bytes] = {
    "clock/__init__.py": "",
    "clock/durations.py": (
        '"""Durations in words."""\n\n\n'
        "def parse_minutes(text):\n"
        '    """Return the minutes of a text such as `1:30`."""\n'
        '    hours, _, minutes = text.partition(":")\n'
        "    return int(hours) * 60 + int(minutes)\n\n\n"
        "def format_minutes(minutes):\n"
        '    """Return minutes as a text such as `1:30`."""\n'
        '    return f"{minutes // 60}:{minutes % 60}"\n'
    ),
    "tests/test_durations.py": (
        "from clock.durations import format_minutes, parse_minutes\n\n\n"
        "def test_parse():\n"
        '    assert parse_minutes("1:30") == 90\n\n\n'
        "def test_format():\n"
        '    assert format_minutes(90) == "1:30"\n'
    ),
    "README.md": "# Clock\n\nDurations in words.\n",
}
"""Files of a small project with a fault that no test shows: `format_minutes(65)` is `1:5` in place of `1:05`."""


def run_git(folder: Path, *command: str, data: bytes = b"") -> str:
    """Run the Git of a person in a folder."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **_PERSON}
    done = subprocess.run(["git", *command], cwd=folder, env=environment, input=data, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def make_repository(folder: Path, files: dict[str, str | bytes] | None = None, *, object_format: str = "sha1") -> Path:
    """Create a repository with one commit of some files; with none, it has no commit."""
    folder.mkdir(parents=True, exist_ok=True)
    run_git(folder, "init", "-q", "-b", "main", f"--object-format={object_format}")
    if files is not None:
        commit_files(folder, files)
    return folder


def commit_files(folder: Path, files: dict[str, str | bytes], message: str = "Add files") -> str:
    """Write files, commit everything in the folder, and return the commit."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return run_git(folder, "rev-parse", "HEAD")


class MemoryPatches:
    """Patches in memory."""

    def __init__(self) -> None:
        self.patches: dict[tuple[str, str], bytes] = {}

    def save_patch(self, run: str, digest: str, patch: bytes) -> None:
        self.patches[run, digest] = patch

    def load_patch(self, run: str, digest: str) -> bytes | None:
        return self.patches.get((run, digest))


def make_workspaces(home: Path, patches: PatchStore | None = None, store: FileStore | None = None) -> Workspaces:
    """Return the workspaces of a home."""
    return Workspaces(home, patches or MemoryPatches(), Copies(home / "repositories", store))


async def copy_repository(workspaces: Workspaces, path: Path, revision: str = "HEAD") -> CopiedCommit:
    """Copy a commit of a repository that may lead anywhere."""
    return await workspaces.copies.copy_local(path, revision, lambda _: None)


async def start_work(workspaces: Workspaces, path: Path, revision: str = "HEAD", run: str = "run-1") -> Workspace:
    """Return the first state of the work on a commit."""
    copied = await copy_repository(workspaces, path, revision)
    return Workspace(run=RunId(run), repository=copied.key, commit=copied.commit)


def read_tree(folder: Path) -> dict[str, bytes | str]:
    """Return the files of a folder with their contents, and its links with their targets."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
