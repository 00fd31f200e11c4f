"""Make the files of a state be there, and record what actions have changed in them.

A workspace is a folder with the files of a commit and a patch. A marker next to it names the state that the files are
in. It is removed before an action that may change files, and written after the new state is stored. So a killed process
leaves a folder without a marker, and the next action makes its files those of commit and patch again. Git knows by
size, inode and times of change, which a program cannot set, whether a file is still as Git has written it.
"""

import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, NamedTuple, Protocol

from tenure.contracts.base import Contract, RunId
from tenure.contracts.coding.repositories import MAX_DIFF_CHARS, ChangedFile, ChangeSoFar, Workspace
from tenure.repositories.changes import apply_patch, check_out, list_changes, record_changes
from tenure.repositories.copies import Copies
from tenure.repositories.errors import StateLost
from tenure.repositories.git import Git, GitFailed
from tenure.repositories.locks import lock_file, run_to_end
from tenure.sandbox.folders import make_folder_name, remove_folder

MAX_WORKSPACE_AGE_SECONDS: Final = 7 * 86_400
"""Time without use after which a workspace is removed; it can be built again at any time."""
# Random id that the kernel chooses at each start, see random(4)
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


class PatchStore(Protocol):
    """Patches of all states, by their hash."""

    def save_patch(self, run: str, digest: str, patch: bytes) -> None:
        """Store the patch of a run."""

    def load_patch(self, run: str, digest: str) -> bytes | None:
        """Return a patch of a run, or None if there is none."""


class RecordedState(NamedTuple):
    """State after an action, with its changes against the commit."""

    workspace: Workspace
    files: tuple[ChangedFile, ...]
    left_out: tuple[str, ...]
    """New files that are no part of the patch, with the reason."""
    patch: bytes

    @property
    def change(self) -> ChangeSoFar:
        """The change with the beginning of its patch."""
        text = self.patch.decode()
        shown = text if len(text) <= MAX_DIFF_CHARS else text[: text.rfind("\n", 0, MAX_DIFF_CHARS) + 1]
        return ChangeSoFar(files=self.files, diff=shown, is_cut=len(shown) < len(text))


class _Marker(Contract):
    """State that the files of a workspace are in."""

    commit: str
    patch: str
    tree: str


@dataclass(frozen=True)
class _Folder:
    """Folder of a workspace."""

    path: Path

    @property
    def files(self) -> Path:
        return self.path / "files"

    @property
    def index(self) -> Path:
        return self.path / "index"

    @property
    def objects(self) -> Path:
        return self.path / "objects"

    @property
    def boot(self) -> Path:
        """File with the start of the machine; after a loss of power, files may lack what was written last."""
        return self.path / "boot"

    @property
    def marker(self) -> Path:
        return self.path / "state.json"


class Workspaces:
    """Workspaces of one home, which belongs to one owner; safe to share between processes.

    Args:
        home: folder of the owner.
        patches: patches of all states.
        copies: private copies of the repositories.
    """

    def __init__(self, home: Path, patches: PatchStore, copies: Copies) -> None:
        self._folder, self.patches, self.copies = home.resolve() / "workspaces", patches, copies
        self._locks: dict[Path, int] = {}

    @asynccontextmanager
    async def open(self, workspace: Workspace, *, read_only: bool = False) -> AsyncIterator[Path]:
        """Yield the folder with the files of a state, for one action alone.

        Without `record`, changes of the files are lost: the next action builds the folder again.

        Args:
            workspace: state.
            read_only: whether the action changes no file, so that the folder stays as it is.

        Raises:
            StateLost: commit or patch of the state cannot be found.
            RepositoryUnavailable: Git takes too long.
        """
        folder = self._locate(workspace)
        async with lock_file(folder.path.with_name(f"{folder.path.name}.lock")) as lock:
            self._locks[folder.path] = lock
            try:
                await self._prepare(workspace, folder)
                if not read_only:
                    self.expect_changes(workspace)
                yield folder.files
            finally:
                del self._locks[folder.path]

    def expect_changes(self, workspace: Workspace) -> None:
        """Remove the marker before files change; call it inside of `open` with `read_only`, as `open` without does."""
        self._locate(workspace).marker.unlink(missing_ok=True)

    async def record(self, workspace: Workspace) -> RecordedState:
        """Store the patch of what the files hold now, inside of `open`, and return the next state with its changes.

        Raises:
            RepositoryRefused: a change is too large, or Git cannot store it; the state stays as it was.
        """
        folder = self._locate(workspace)
        git = await self._open_git(workspace, folder)

        def store() -> RecordedState:
            workspace_git = git.bind(index=folder.index, work_tree=folder.files)
            recorded = record_changes(workspace_git, folder.files, workspace.commit)
            digest = hashlib.sha256(recorded.patch).hexdigest() if recorded.patch else ""
            if digest and digest != workspace.patch:
                self.patches.save_patch(workspace.run, digest, recorded.patch)
            state = workspace.model_copy(update={"patch": digest})
            self._mark(folder, state, recorded.tree)
            return RecordedState(state, recorded.files, recorded.left_out, recorded.patch)

        return await run_to_end(store)

    @asynccontextmanager
    async def copy(self, workspace: Workspace) -> AsyncIterator[Path]:
        """Yield a folder with the files of a state that is thrown away afterwards.

        Raises:
            StateLost: commit or patch of the state cannot be found.
            RepositoryUnavailable: Git takes too long.
        """
        folder = self._locate(workspace)
        folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = _Folder(Path(mkdtemp(prefix=f"{folder.path.name}-copy-", dir=folder.path.parent)))
        try:
            git = await self._open_git(workspace, temporary)
            await run_to_end(partial(self._build, workspace, temporary, git))
            yield temporary.files
        finally:
            await run_to_end(partial(remove_folder, temporary.path))

    async def read_patch(self, workspace: Workspace) -> tuple[bytes, tuple[ChangedFile, ...]]:
        """Return the patch of a state and the files that it changes.

        Raises:
            StateLost: commit or patch of the state cannot be found.
        """
        patch = await run_to_end(partial(self._load, workspace))
        if not patch:
            return b"", ()
        async with self.open(workspace, read_only=True):
            folder = self._locate(workspace)
            git = await self._open_git(workspace, folder)
            marker = self._read_marker(folder)
            assert marker is not None, "the files are in this state"
            return patch, await run_to_end(partial(list_changes, git, workspace.commit, marker.tree))

    async def open_git(self, workspace: Workspace) -> Git:
        """Return Git with the objects, index and files of a workspace; use it inside of `open`.

        Raises:
            StateLost: the commit cannot be found.
        """
        folder = self._locate(workspace)
        return (await self._open_git(workspace, folder)).bind(index=folder.index, work_tree=folder.files)

    async def copy_state(self, workspace: Workspace, run: RunId) -> Workspace:
        """Return a state as one of another run, for which its patch is stored.

        Raises:
            StateLost: the patch cannot be found.
        """
        patch = await run_to_end(partial(self._load, workspace))
        if patch:
            await run_to_end(partial(self.patches.save_patch, run, workspace.patch, patch))
        return workspace.model_copy(update={"run": run, "candidate": 1})

    async def close(self, workspace: Workspace) -> None:
        """Remove the files of a workspace; it can be built again."""
        folder = self._locate(workspace)
        async with lock_file(folder.path.with_name(f"{folder.path.name}.lock")):
            if folder.path.exists():
                folder.marker.unlink(missing_ok=True)
                await run_to_end(partial(remove_folder, folder.path))
            # A killed worker has left copies.
            for copy in folder.path.parent.glob(f"{folder.path.name}-copy-*"):
                await run_to_end(partial(remove_folder, copy))

    def remove_stale(self) -> None:
        """Remove workspaces and private copies that no run has used for a long time."""
        for run in self._folder.glob("*"):
            with suppress(OSError):
                newest = max((entry.stat().st_mtime for entry in run.iterdir()), default=0.0)
                if time.time() - max(newest, run.stat().st_mtime) > MAX_WORKSPACE_AGE_SECONDS:
                    remove_folder(run)
        self.copies.remove_stale()

    def _locate(self, workspace: Workspace) -> _Folder:
        return _Folder(self._folder / make_folder_name(workspace.run) / str(workspace.candidate))

    async def _open_git(self, workspace: Workspace, folder: _Folder) -> Git:
        """Return Git with the objects of a commit, which stores new objects in the folder of the workspace."""
        shared = await self.copies.restore(workspace.repository, workspace.commit, workspace.packed)
        folder.objects.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings = ("core.fsync=none",)  # after a loss of power everything is built again
        locks = (self._locks[folder.path],) if folder.path in self._locks else ()
        return Git(shared.folder, folder.objects, (shared.folder / "objects",), configuration=settings, locks=locks)

    async def _prepare(self, workspace: Workspace, folder: _Folder) -> None:
        marker = self._read_marker(folder)
        if marker and (marker.commit, marker.patch) == (workspace.commit, workspace.patch):
            os.utime(folder.path)
            return
        folder.marker.unlink(missing_ok=True)
        git = await self._open_git(workspace, folder)
        await run_to_end(partial(self._build, workspace, folder, git))

    def _build(self, workspace: Workspace, folder: _Folder, git: Git) -> None:
        """Make the files those of a state, whatever they are."""
        if folder.files.exists() and not _is_of_this_start(folder):
            remove_folder(folder.files)
            folder.index.unlink(missing_ok=True)
        folder.boot.write_text(_read_boot())
        folder.files.mkdir(mode=0o700, exist_ok=True)
        patch = self._load(workspace)
        try:
            tree = apply_patch(git, workspace.commit, patch, folder.path / "index.new")
            check_out(git.bind(index=folder.index, work_tree=folder.files), tree)
        except GitFailed as error:
            # The next action builds everything again.
            folder.boot.unlink()
            raise StateLost(f"the files of a state cannot be built: {error}") from error
        self._mark(folder, workspace, tree)

    def _load(self, workspace: Workspace) -> bytes:
        if not workspace.patch:
            return b""
        patch = self.patches.load_patch(workspace.run, workspace.patch)
        if patch is None or hashlib.sha256(patch).hexdigest() != workspace.patch:
            raise StateLost(f"patch {workspace.patch[:12]} of run {workspace.run} is not stored, or damaged")
        return patch

    def _mark(self, folder: _Folder, workspace: Workspace, tree: str) -> None:
        draft = folder.path / "state.new"
        marker = _Marker(commit=workspace.commit, patch=workspace.patch, tree=tree)
        draft.write_text(marker.model_dump_json())
        draft.replace(folder.marker)

    def _read_marker(self, folder: _Folder) -> _Marker | None:
        """Return the state that the files are in, or None if it is not known."""
        try:
            return _Marker.model_validate_json(folder.marker.read_bytes()) if _is_of_this_start(folder) else None
        except (FileNotFoundError, ValueError):
            return None


def _is_of_this_start(folder: _Folder) -> bool:
    """Return whether a folder was built since the start of this machine."""
    return folder.boot.exists() and folder.boot.read_text() == _read_boot()


def _read_boot() -> str:
    """Return the id of the start of this machine; empty if the system has none."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
