"""Keep private copies of the commits of repositories.

A copy is a folder of Git that Tenure has created, with all objects of some commits and none of their history. Names of
objects are computed again from their contents when they are copied, so that a forged object is missing afterwards.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from tenure.files.file_store import FileStore
from tenure.repositories.errors import RepositoryRefused, StateLost
from tenure.repositories.git import Git, GitFailed, initialize
from tenure.repositories.locks import lock_file, run_to_end
from tenure.repositories.remote import fetch_commit, parse_repository_url, resolve_server
from tenure.repositories.sources import FolderCheck, find_uncommitted, locate_repository, open_source, resolve_revision
from tenure.repositories.tree import TreeEntry, check_tree, list_tree, read_objects
from tenure.sources.fetch.address_guard import AddressGuard

MAX_PACKED_BYTES: Final = 1 << 30
"""Maximum size of a packed commit; compression makes it smaller than its files, which are limited as well."""
MAX_COPY_AGE_SECONDS: Final = 90 * 86_400
"""Time without use after which a copy is removed: longer than a run waits for a person."""
MIN_COPY_AGE_SECONDS: Final = 7 * 86_400
"""Time without use before which no copy is removed."""
MAX_COPIES_BYTES: Final = 20_000_000_000
"""Size of all copies from which the ones that were not used for longest are removed."""
# `446a5355e89a11633f9d996c`, as `make_key` returns it
_KEY: Final = re.compile(r"[0-9a-f]{24}")


class CopiedCommit(NamedTuple):
    """A commit in a private copy."""

    key: str
    commit: str
    git: Git
    entries: Sequence[TreeEntry]
    notes: tuple[str, ...] = ()


def make_key(origin: str, object_format: str) -> str:
    """Return the key of the private copy of a repository, by its path or URL."""
    return hashlib.sha256(f"{origin}\0{object_format}".encode("utf-8", "surrogateescape")).hexdigest()[:24]


class Copies:
    """Private copies of one home.

    Args:
        folder: folder of the copies.
        store: object store with the packed commits of other machines; None for none.
    """

    def __init__(self, folder: Path, store: FileStore | None = None) -> None:
        self._folder, self._store = folder, store

    @property
    def has_store(self) -> bool:
        """Whether commits are packed for other machines."""
        return self._store is not None

    async def copy_local(self, path: Path, revision: str, check: FolderCheck) -> CopiedCommit:
        """Copy a commit of a repository on this machine.

        Args:
            path: top folder of the repository, whose links are resolved.
            revision: branch, tag or commit.
            check: function that refuses a folder outside of it.

        Raises:
            RepositoryRefused: there is no repository, no such commit, or a commit that cannot be worked on.
            RepositoryUnavailable: it takes too long.
        """
        repository = await run_to_end(partial(locate_repository, path))
        key = make_key(str(repository.top), repository.object_format)

        def copy(locks: tuple[int, ...]) -> CopiedCommit:
            with open_source(repository, check) as source:
                commit = resolve_revision(source, revision, str(path))
                git = self._create(key, repository.object_format, locks)
                entries = list_tree(source, commit)
                check_tree(entries, partial(read_objects, source))
                if not _has_commit(git, commit):
                    with pack_commit(source, commit, entries) as packed:
                        _unpack(git, packed, commit)
                return CopiedCommit(key, commit, git, entries, find_uncommitted(repository, source))

        async with lock_file(self._folder / f"{key}.lock") as lock:
            return await run_to_end(partial(copy, (lock,)))

    async def copy_remote(self, address: str, revision: str, guard: AddressGuard) -> CopiedCommit:
        """Copy a commit of a repository on a server.

        Raises:
            RepositoryRefused: the address is not allowed, or there is no such commit, or it cannot be worked on.
            RepositoryUnavailable: the server does not answer.
        """
        url = parse_repository_url(address)
        addresses = await resolve_server(guard, url)
        key = make_key(str(url), "sha1")

        def fetch(locks: tuple[int, ...]) -> CopiedCommit:
            git = self._create(key, "sha1", locks)
            commit = fetch_commit(git, url, addresses, revision)
            return self._complete(key, commit, git)

        async with lock_file(self._folder / f"{key}.lock") as lock:
            return await run_to_end(partial(fetch, (lock,)))

    async def copy_packed(self, origin: str, commit: str, packed: str) -> CopiedCommit:
        """Copy a commit that the client of another machine has packed.

        Args:
            origin: path or URL of the repository, which may not exist on this machine.
            commit: full hash of the commit.
            packed: its location in the object store.

        Raises:
            RepositoryRefused: the commit cannot be worked on.
            StateLost: this machine has no object store.
            FileStoreError: it cannot be read from the store.
        """
        key = make_key(origin, _get_format(commit))
        git = await self.restore(key, commit, packed)
        return await run_to_end(partial(self._complete, key, commit, git))

    async def restore(self, key: str, commit: str, packed: str) -> Git:
        """Return the private copy with a commit; fetch the commit from the object store if it is not here.

        Raises:
            StateLost: it is not here, and there is no object store with it.
            FileStoreError: it cannot be read from the store.
        """
        folder = self._locate(key)
        git = Git(folder)
        if await run_to_end(partial(_has_commit, git, commit)):
            with suppress(OSError):
                os.utime(folder)
            (folder / "refs").mkdir(exist_ok=True)  # a backup has no empty folders, and Git needs this one
            return git
        if not packed or self._store is None:
            raise StateLost(
                f"commit {commit[:12]} is not on this machine: workers on several machines need TENURE_FILES_URI"
            )
        store = self._store

        def fetch(locks: tuple[int, ...]) -> Git:
            created = self._create(key, _get_format(commit), locks)
            if not _has_commit(created, commit):
                with TemporaryDirectory(prefix="packed-", dir=self._folder) as place:
                    file = Path(place) / "pack"
                    store.download(packed, file, MAX_PACKED_BYTES)
                    _unpack(created, file, commit)
            return created

        async with lock_file(self._folder / f"{key}.lock") as lock:
            return await run_to_end(partial(fetch, (lock,)))

    async def upload(self, copied: CopiedCommit) -> str:
        """Store a packed commit for other machines; return its location, or an empty text without an object store."""
        if self._store is None:
            return ""
        store = self._store

        def pack() -> str:
            with pack_commit(copied.git, copied.commit, copied.entries) as packed, packed.open("rb") as file:
                return store.upload(file)

        return await run_to_end(pack)

    def remove_stale(self) -> None:
        """Remove copies that no run has used for a long time, and the oldest of the others until they are small enough.

        A copy that was used lately stays, since a run may wait with it.
        """
        ages = {folder: time.time() - folder.stat().st_mtime for folder in self._folder.glob("*.git")}
        size = 0
        for folder, age in sorted(ages.items(), key=lambda pair: pair[1]):
            size += sum(pack.stat().st_size for pack in folder.glob("objects/pack/*"))
            if age > MAX_COPY_AGE_SECONDS or (size > MAX_COPIES_BYTES and age > MIN_COPY_AGE_SECONDS):
                shutil.rmtree(folder, ignore_errors=True)

    def _complete(self, key: str, commit: str, git: Git) -> CopiedCommit:
        """Return a commit whose objects are in a private copy, after its checks."""
        entries = list_tree(git, commit)
        check_tree(entries, partial(read_objects, git))
        _note_commit(git, commit)
        return CopiedCommit(key, commit, git, entries)

    def _locate(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise RepositoryRefused(f"{key!r} is not the key of a repository")
        return self._folder / f"{key}.git"

    def _create(self, key: str, object_format: str, locks: tuple[int, ...]) -> Git:
        folder = self._locate(key)
        if not (folder / "HEAD").exists():
            initialize(folder, object_format)
        os.utime(folder)
        return Git(folder, locks=locks)


def _get_format(commit: str) -> str:
    """Return the hash function that has made the hash of a commit."""
    return "sha256" if len(commit) == 64 else "sha1"


def _has_commit(git: Git, commit: str) -> bool:
    """Return whether a copy is complete for a commit, which is noted after all of its objects."""
    return (git.folder / "commits" / commit).exists()


@contextmanager
def pack_commit(source: Git, commit: str, entries: Sequence[TreeEntry]) -> Iterator[Path]:
    """Yield a file with all objects of a commit, without its history."""
    tree = source.read("rev-parse", f"{commit}^{{tree}}")
    ids = dict.fromkeys((commit, tree, *(entry.id for entry in entries)))
    with TemporaryDirectory(prefix="tenure-pack-") as folder:
        try:
            name = source.run(
                # Without a search for further deltas: those of the repository are taken as they are.
                *("pack-objects", "-q", "--window=0", f"{folder}/pack"),
                data="".join(f"{object_id}\n" for object_id in ids).encode(),
                max_file_bytes=MAX_PACKED_BYTES,
            )
        except GitFailed as error:
            raise RepositoryRefused(f"commit {commit[:12]} cannot be copied: {error.complaint}") from error
        yield Path(folder) / f"pack-{name.decode().strip()}.pack"


def _unpack(git: Git, packed: Path, commit: str) -> None:
    """Add a packed commit to a copy."""
    try:
        with packed.open("rb") as file:
            git.run("index-pack", "--stdin", data=file)
    except GitFailed as error:
        raise RepositoryRefused(f"commit {commit[:12]} cannot be copied: {error.complaint}") from error
    list_tree(git, commit)  # which fails if an object is missing
    _note_commit(git, commit)


def _note_commit(git: Git, commit: str) -> None:
    """Note that a copy is complete for a commit, after Git's own check of its paths."""
    index = git.folder / f"check-{commit}"
    try:
        git.bind(index=index).run("read-tree", commit)
    except GitFailed as error:
        raise RepositoryRefused(f"commit {commit[:12]} has a path that Git refuses: {error.complaint}") from error
    finally:
        index.unlink(missing_ok=True)
    (git.folder / "commits").mkdir(exist_ok=True)
    (git.folder / "commits" / commit).touch()
