"""Patches that the person's Git and other programs take, without the products of commands."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tenure.contracts.coding.repositories import Workspace
from tenure.repositories import changes
from tenure.repositories.errors import RepositoryRefused
from tenure.repositories.workspaces import RecordedState, Workspaces
from tests.support.repositories.git import (
    MemoryPatches,
    commit_files,
    make_repository,
    make_workspaces,
    read_tree,
    run_git,
    start_work,
)


async def _record(workspaces: Workspaces, state: Workspace, files: Mapping[str, bytes | None]) -> RecordedState:
    """Write or delete files, and record the next state."""
    async with workspaces.open(state) as folder:
        for name, content in files.items():
            path = folder / name
            if content is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        return await workspaces.record(state)


async def test_the_persons_git_takes_the_patch(tmp_path: Path) -> None:
    """Changes, new and deleted files, links, modes, binary and oddly encoded contents apply, and lead to the state."""
    path = make_repository(
        tmp_path / "repository",
        {
            "a.py": "a = 1\r\nb = 2\r\n",
            "latin.txt": b"caf\xe9\n",
            "image.png": b"\x89PNG\0one",
            "gone.py": "x\n",
            "run.sh": "#!/bin/sh\n",
            "no newline": "end",
        },
    )
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, path)
    async with workspaces.open(state) as folder:
        (folder / "a.py").write_bytes(b"a = 1\r\nb = 3\r\n")
        (folder / "latin.txt").write_bytes(b"caf\xe9s\n")
        (folder / "image.png").write_bytes(b"\x89PNG\0two")
        (folder / "gone.py").unlink()
        (folder / "run.sh").chmod(0o755)
        (folder / "no newline").write_text("another end")
        (folder / "new").mkdir()
        (folder / "new" / "empty.py").touch()
        (folder / "link").symlink_to("a.py")
        state = (await workspaces.record(state)).workspace
        wanted = read_tree(folder)
    patch, files = await workspaces.read_patch(state)
    await workspaces.close(state)
    async with workspaces.open(state) as folder:
        assert read_tree(folder) == wanted

    assert patch.decode()
    run_git(path, "apply", "--check", "-v", "-", data=patch)
    run_git(path, "apply", "--index", "-", data=patch)
    applied = {name: content for name, content in read_tree(path).items() if not name.startswith(".git/")}
    assert applied == wanted
    assert (path / "run.sh").stat().st_mode & 0o111
    assert {file.path: file.status for file in files} == {
        **dict.fromkeys(("a.py", "latin.txt", "image.png", "run.sh", "no newline"), "changed"),
        **{"gone.py": "deleted", "new/empty.py": "added", "link": "added"},
    }


async def test_the_program_patch_takes_a_patch_of_texts(tmp_path: Path) -> None:
    """Programs that grade patches fall back to `patch -p1`."""
    path = make_repository(tmp_path / "repository", {"src/a.py": "one\ntwo\nthree\n", "gone.py": "x\n"})
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, path)
    changed = {"src/a.py": b"one\n2\nthree\n", "src/new.py": b"new\n", "gone.py": None}
    recorded = await _record(workspaces, state, changed)
    patch, _ = await workspaces.read_patch(recorded.workspace)
    subprocess.run(["patch", "-p1", "--batch"], cwd=path, input=patch, check=True, capture_output=True)
    assert (path / "src" / "a.py").read_text() == "one\n2\nthree\n"
    assert (path / "src" / "new.py").read_text() == "new\n"
    assert not (path / "gone.py").exists()


async def test_a_state_has_one_patch(tmp_path: Path) -> None:
    """The same files give the same patch, whichever way led to them."""
    path = make_repository(tmp_path / "repository", {"a": "1\n", "b": "1\n"})
    workspaces = make_workspaces(tmp_path / "home")
    start = await start_work(workspaces, path)
    direct = await _record(workspaces, start, {"a": b"2\n", "c": b"1\n"})
    detour = await _record(workspaces, start, {"b": None, "c": b"1\n"})
    detour = await _record(workspaces, detour.workspace, {"b": b"1\n", "a": b"2\n"})
    assert detour.workspace == direct.workspace


async def test_products_are_no_part_of_the_patch(tmp_path: Path) -> None:
    """Ignored files, caches of usual commands, and large or binary new files are left out."""
    path = make_repository(tmp_path / "repository", {"kept.bin": b"\0", "tracked.log": "1\n"})
    commit_files(path, {".gitignore": "build/\n*.log\n"})
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, path)
    files = {
        **dict.fromkeys(("build/a.py", "x.log", "pkg/__pycache__/a.cpython-311.pyc", ".pytest_cache/v"), b"text"),
        **{"kept.bin": b"\0\0", "tracked.log": b"2\n", "new.bin": b"\0", "big.txt": b"x" * 1_000_001, "new.py": b"1\n"},
    }
    recorded = await _record(workspaces, state, files)

    assert sorted(file.path for file in recorded.files) == ["kept.bin", "new.py", "tracked.log"]
    assert sorted(recorded.left_out) == ["big.txt: new and large (1,000,001 bytes)", "new.bin: new and binary"]
    async with workspaces.open(recorded.workspace) as folder:
        assert (folder / "new.bin").exists()


async def test_reports_of_commands_leave_room_for_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many new files the smallest are kept, so that a report in hundreds of files does not refuse the command."""
    monkeypatch.setattr(changes, "MAX_NEW_BYTES", 1_000)
    path = make_repository(tmp_path / "repository", {"a": "1\n"})
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, path)
    recorded = await _record(workspaces, state, {"a": b"2\n", "new.py": b"1\n", "report.html": b"x" * 999})
    assert sorted(file.path for file in recorded.files) == ["a", "new.py"]
    assert recorded.left_out == ("report.html: new, and all new files exceed 1,000 bytes",)


async def test_a_patch_is_stored_once(tmp_path: Path) -> None:
    """A repeated record of the same files stores nothing further, and none without a change."""
    patches = MemoryPatches()
    path = make_repository(tmp_path / "repository", {"a": "1\n"})
    workspaces = make_workspaces(tmp_path / "home", patches)
    state = await start_work(workspaces, path)
    await _record(workspaces, state, {"a": b"1\n"})
    assert patches.patches == {}
    first = await _record(workspaces, state, {"a": b"2\n"})
    assert await _record(workspaces, state, {"a": b"2\n"}) == first
    assert len(patches.patches) == 1


async def test_a_huge_change_of_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the commit that a command has blown up is not read."""
    monkeypatch.setattr(changes, "MAX_CHANGED_FILE_BYTES", 10)
    path = make_repository(tmp_path / "repository", {"a": "1\n"})
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, path)
    with pytest.raises(RepositoryRefused, match="a has grown to 11 bytes"):
        await _record(workspaces, state, {"a": b"x" * 11})
