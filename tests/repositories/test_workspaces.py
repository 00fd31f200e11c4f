"""Workspaces: the files of a state, however the process before has ended."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import Workspace
from tenure.files.file_store import FileStore
from tenure.repositories import copies
from tenure.repositories.errors import RepositoryRefused, StateLost
from tenure.repositories.patches import SharedPatches
from tenure.repositories.workspaces import MAX_WORKSPACE_AGE_SECONDS, Workspaces
from tests.support.repositories.git import (
    MemoryPatches,
    copy_repository,
    make_repository,
    make_workspaces,
    read_tree,
    run_git,
    start_work,
)
from tests.support.servers.object_store import object_store

FILES: dict[str, str | bytes] = {"a.py": "a = 1\n", "pkg/b.py": "b = 1\n", "data.bin": b"\0\1", ".gitignore": "*.o\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", FILES)


async def test_a_state_is_a_commit_and_a_patch(tmp_path: Path, repository: Path) -> None:
    """Every recorded state can be built again, in any order, and the person's files stay as they were."""
    workspaces = make_workspaces(tmp_path / "home")
    first = await start_work(workspaces, repository)
    async with workspaces.open(first) as folder:
        assert read_tree(folder) == {
            name: content.encode() if isinstance(content, str) else content for name, content in FILES.items()
        }
        (folder / "a.py").write_text("a = 2\n")
        (folder / "pkg" / "new.py").write_text("new = 1\n")
        recorded = await workspaces.record(first)
    second = recorded.workspace
    async with workspaces.open(second) as folder:
        (folder / "pkg" / "b.py").unlink()
        third = (await workspaces.record(second)).workspace
        latest = read_tree(folder)
    async with workspaces.open(first, read_only=True) as folder:
        assert (folder / "a.py").read_text() == "a = 1\n"
        assert (folder / "pkg" / "b.py").exists()
        assert not (folder / "pkg" / "new.py").exists()
    async with workspaces.open(third, read_only=True) as folder:
        assert read_tree(folder) == latest

    assert {(file.path, file.status, file.added, file.removed) for file in recorded.files} == {
        ("a.py", "changed", 1, 1),
        ("pkg/new.py", "added", 1, 0),
    }
    assert (recorded.change.added, recorded.change.removed, recorded.change.is_cut) == (2, 1, False)
    assert recorded.change.diff == recorded.patch.decode()
    assert len({first.patch, second.patch, third.patch}) == 3
    assert run_git(repository, "status", "--porcelain") == ""


async def test_the_commit_itself_has_no_patch(tmp_path: Path, repository: Path) -> None:
    """A change that is taken back leads to the first state again."""
    workspaces = make_workspaces(tmp_path / "home")
    first = await start_work(workspaces, repository)
    async with workspaces.open(first) as folder:
        (folder / "a.py").write_text("a = 2\n")
        second = (await workspaces.record(first)).workspace
        (folder / "a.py").write_text("a = 1\n")

        assert (await workspaces.record(second)).workspace == first


async def test_changes_without_a_record_are_lost(tmp_path: Path, repository: Path) -> None:
    """An action that fails before its record leaves nothing to the next one, ignored products included."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    with pytest.raises(KeyError):
        async with workspaces.open(state) as folder:
            (folder / "a.py").write_text("half\n")
            (folder / "new.o").write_text("product\n")
            raise KeyError
    async with workspaces.open(state) as folder:
        assert (folder / "a.py").read_text() == "a = 1\n"
        assert not (folder / "new.o").exists()


async def test_products_stay_while_the_folder_does(tmp_path: Path, repository: Path) -> None:
    """Files that Git ignores are no part of the state, and there for the next command."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    async with workspaces.open(state) as folder:
        (folder / "new.o").write_text("product\n")
        assert (await workspaces.record(state)).workspace == state
    async with workspaces.open(state) as folder:
        assert (folder / "new.o").exists()
    async with workspaces.copy(state) as folder:
        assert not (folder / "new.o").exists()
    assert not folder.exists()


async def test_actions_on_a_workspace_exclude_each_other(tmp_path: Path, repository: Path) -> None:
    """A second action waits until the first one has recorded its state, and candidates do not wait for each other."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    log: list[str] = []
    inside = asyncio.Event()

    async def act(name: str, candidate: int) -> None:
        async with workspaces.open(state.model_copy(update={"candidate": candidate}), read_only=True):
            log.append(f"{name} begins")
            if name == "first":
                inside.set()
                await other
            log.append(f"{name} ends")

    async def act_on_another_candidate() -> None:
        await inside.wait()
        await act("candidate", 2)

    other = asyncio.ensure_future(act_on_another_candidate())
    first = asyncio.ensure_future(act("first", 1))
    await inside.wait()
    await asyncio.gather(first, act("second", 1))

    assert log == ["first begins", "candidate begins", "candidate ends", "first ends", "second begins", "second ends"]


_KILLED = """
    import asyncio, os, signal, sys
    from pathlib import Path
    from tenure.contracts.coding.repositories import Workspace
    from tests.repositories.test_workspaces import FilePatches, make_workspaces
    import tenure.repositories.workspaces as module

    home, state, point = Path(sys.argv[1]), Workspace.model_validate_json(sys.argv[2]), sys.argv[3]

    def kill(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    async def act():
        workspaces = make_workspaces(home, FilePatches(home))
        if point == "build":
            module.check_out = kill
        async with workspaces.open(state) as folder:
            (folder / "a.py").write_text("a = 3\\n")
            (folder / "other.py").write_text("")
            if point == "edit":
                kill()
            if point == "record":
                module.record_changes = kill
            if point == "store":
                workspaces.patches.save_patch = kill
            if point == "mark":
                module.Workspaces._mark = kill
            await workspaces.record(state)

    asyncio.run(act())
"""


class FilePatches:
    """Patches in files, for several processes."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "patches"

    def save_patch(self, run: str, digest: str, patch: bytes) -> None:
        self._folder.mkdir(exist_ok=True)
        (self._folder / digest).write_bytes(patch)

    def load_patch(self, run: str, digest: str) -> bytes | None:
        return (self._folder / digest).read_bytes()


@pytest.mark.parametrize("point", ["build", "edit", "record", "store", "mark"])
async def test_a_killed_process_leaves_nothing_to_the_next_action(tmp_path: Path, repository: Path, point: str) -> None:
    """Killed while it builds, edits, records, stores or marks, the next action has the files of its state exactly."""
    home = tmp_path / "home"
    workspaces = make_workspaces(home, FilePatches(home))
    first = await start_work(workspaces, repository)
    async with workspaces.open(first) as folder:
        (folder / "a.py").write_text("a = 2\n")
        state = (await workspaces.record(first)).workspace
        wanted = read_tree(folder)
    if point == "build":
        await workspaces.close(state)
    program = [sys.executable, "-c", textwrap.dedent(_KILLED), str(home), state.model_dump_json(), point]
    killed = subprocess.run(program, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()

    async with workspaces.open(state) as folder:
        assert read_tree(folder) == wanted


async def test_a_restart_of_the_machine_builds_the_files_again(tmp_path: Path, repository: Path) -> None:
    """After a loss of power a marker proves nothing, since files may lack what was written last."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    async with workspaces.open(state, read_only=True) as folder:
        (folder.parent / "boot").write_text("another")
        (folder / "a.py").write_text("")
    async with workspaces.open(state, read_only=True) as folder:
        assert (folder / "a.py").read_text() == "a = 1\n"


@pytest.mark.parametrize("damage", ["", "{", "{}"])
async def test_a_damaged_marker_counts_as_none(tmp_path: Path, repository: Path, damage: str) -> None:
    """Whatever the marker says that is no state, the files are built again."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    async with workspaces.open(state, read_only=True) as folder:
        (folder.parent / "state.json").write_text(damage)
        (folder / "a.py").unlink()
    async with workspaces.open(state, read_only=True) as folder:
        assert (folder / "a.py").exists()


async def test_another_machine_builds_the_state_from_the_object_store(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker with another home needs neither the repository nor the folder of the first one."""
    with object_store("bucket") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

        def connect(home: str) -> Workspaces:
            store = FileStore("s3://bucket/files")
            return make_workspaces(tmp_path / home, SharedPatches(store), store)

        here, there = connect("here"), connect("there")
        copied = await copy_repository(here, repository)
        state = Workspace(
            run=RunId("run-1"), repository=copied.key, commit=copied.commit, packed=await here.copies.upload(copied)
        )
        async with here.open(state) as folder:
            (folder / "a.py").write_text("a = 2\n")
            state = (await here.record(state)).workspace
            wanted = read_tree(folder)
        repository.rename(tmp_path / "gone")
        async with there.open(state) as folder:
            assert read_tree(folder) == wanted
            (folder / "a.py").write_text("a = 3\n")
            state = (await there.record(state)).workspace
        async with here.open(state) as folder:
            assert (folder / "a.py").read_text() == "a = 3\n"


async def test_a_state_without_its_commit_or_patch_is_lost(tmp_path: Path, repository: Path) -> None:
    """The error says what is missing, and what several machines need."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    with pytest.raises(StateLost, match="is not stored"):
        async with workspaces.open(state.model_copy(update={"patch": "0" * 64})):
            pass
    with pytest.raises(StateLost, match="TENURE_FILES_URI"):
        async with make_workspaces(tmp_path / "other").open(state):
            pass
    with pytest.raises(RepositoryRefused, match="not the key"):
        async with workspaces.open(state.model_copy(update={"repository": "../x", "candidate": 2})):
            pass


async def test_an_exchanged_patch_is_refused(tmp_path: Path, repository: Path) -> None:
    """A patch that does not fit its hash is not applied."""
    patches = MemoryPatches()
    workspaces = make_workspaces(tmp_path / "home", patches)
    first = await start_work(workspaces, repository)
    async with workspaces.open(first) as folder:
        (folder / "a.py").write_text("a = 2\n")
        second = (await workspaces.record(first)).workspace
    patches.patches[second.run, second.patch] = b"diff --git a/a.py b/a.py\n"
    await workspaces.close(second)
    with pytest.raises(StateLost, match="damaged"):
        async with workspaces.open(second):
            pass


async def test_a_closed_workspace_leaves_no_files(tmp_path: Path, repository: Path) -> None:
    """Closing removes files, index and objects, also folders without permissions."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    async with workspaces.open(state) as folder:
        (folder / "pkg").chmod(0)
    await workspaces.close(state)
    await workspaces.close(state)

    assert [path.name for path in (tmp_path / "home" / "workspaces").rglob("*") if path.suffix != ".lock"] == [
        folder.parent.parent.name
    ]


async def test_unused_workspaces_and_copies_are_removed(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that no run has used for long are removed, and the others stay."""
    workspaces = make_workspaces(tmp_path / "home")
    old, new = await start_work(workspaces, repository, run="old"), await start_work(workspaces, repository, run="new")
    places = []
    for state in (old, new):
        async with workspaces.open(state, read_only=True) as folder:
            places.append(folder.parent)
    for path in (*places[0].parent.iterdir(), places[0].parent):
        os.utime(path, (0, path.stat().st_mtime - MAX_WORKSPACE_AGE_SECONDS - 10))
    workspaces.remove_stale()
    assert [place.exists() for place in places] == [False, True]
    copy = tmp_path / "home" / "repositories" / f"{new.repository}.git"
    monkeypatch.setattr(copies, "MAX_COPIES_BYTES", 1)
    workspaces.remove_stale()
    assert copy.exists()
    os.utime(copy, (0, time.time() - copies.MIN_COPY_AGE_SECONDS - 10))
    workspaces.remove_stale()
    assert not copy.exists()


async def test_refused_changes_leave_the_state(tmp_path: Path, repository: Path) -> None:
    """A patch that is too large is not stored, and the next action has the files as they were."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    with pytest.raises(RepositoryRefused, match="patch of 2 MB"):
        async with workspaces.open(state) as folder:
            (folder / "a.py").write_text("x = 1\n" * 300_000)
            await workspaces.record(state)
    async with workspaces.open(state) as folder:
        assert (folder / "a.py").read_text() == "a = 1\n"


async def test_files_that_a_program_disguises_are_built_again(tmp_path: Path, repository: Path) -> None:
    """A changed file with its old size and time, a removed permission and an ignored file do not survive."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    async with workspaces.open(state) as folder:
        before = (folder / "a.py").stat()
        (folder / "a.py").write_text("a = 9\n")
        os.utime(folder / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
        (folder / "pkg" / "b.py").chmod(0)
        (folder / "pkg").chmod(0)
        (folder / "x.o").write_text("")
        (folder / "new").mkdir()
        (folder / "new" / "dir").mkdir(mode=0)
    async with workspaces.open(state) as folder:
        assert read_tree(folder) == {
            name: content if isinstance(content, bytes) else content.encode() for name, content in FILES.items()
        }
        assert [path.name for path in folder.iterdir() if path.is_dir()] == ["pkg"]


async def test_a_lock_of_a_killed_git_does_not_block(tmp_path: Path, repository: Path) -> None:
    """The lock of an index whose process was killed is removed: the lock of the workspace is held."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    async with workspaces.open(state) as folder:
        for name in ("index.lock", "index.new.lock"):
            (folder.parent / name).touch()
        (folder / "a.py").unlink()
    async with workspaces.open(state) as folder:
        assert (folder / "a.py").exists()


async def test_a_restored_backup_is_enough(tmp_path: Path, repository: Path) -> None:
    """A backup has no empty folders and no workspaces; states are built from what it has."""
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, repository)
    async with workspaces.open(state) as folder:
        wanted = read_tree(folder)
        await workspaces.record(state)
    await workspaces.close(state)
    for path in sorted((tmp_path / "home").rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    async with workspaces.open(state) as folder:
        assert read_tree(folder) == wanted
