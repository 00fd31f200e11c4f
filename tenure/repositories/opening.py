"""Open a repository for the work of a run: copy its commit, describe it, and pack it for other machines."""

from functools import partial
from pathlib import Path

from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import OpenedRepository, RepositorySource, Workspace
from tenure.files.file_store import FileStore
from tenure.repositories.copies import CopiedCommit, pack_commit
from tenure.repositories.locks import run_to_end
from tenure.repositories.sources import find_uncommitted, locate_repository, open_source, resolve_revision
from tenure.repositories.tree import check_tree, list_tree, read_objects, summarize_tree
from tenure.repositories.workspaces import Workspaces

MAX_SUBJECT_CHARS = 200


async def open_commit(workspaces: Workspaces, run: RunId, copied: CopiedCommit, packed: str = "") -> OpenedRepository:
    """Return a copied commit with its first workspace, whose files are built.

    Args:
        workspaces: workspaces of the home.
        run: run that works on the commit.
        copied: private copy.
        packed: location of the packed commit in the object store; empty to store it now, if there is a store.

    Raises:
        RepositoryError: the files cannot be built.
        FileStoreError: the object store cannot take the commit.
    """
    workspace = Workspace(
        run=run,
        repository=copied.key,
        commit=copied.commit,
        packed=packed or await workspaces.copies.upload(copied),
    )
    summary = await run_to_end(partial(summarize_tree, copied.git, copied.commit, copied.entries))
    # Not from the log, which needs the commits before.
    raw = await run_to_end(partial(copied.git.read, "cat-file", "commit", copied.commit))
    subject = raw.partition("\n\n")[2].strip().partition("\n")[0]
    async with workspaces.open(workspace, read_only=True):
        pass
    return OpenedRepository(
        workspace=workspace,
        subject="".join(letter for letter in subject if letter.isprintable())[:MAX_SUBJECT_CHARS],
        files=summary.files,
        bytes=summary.bytes,
        languages=summary.languages,
        notes=(*copied.notes, *summary.notes),
    )


def pack_source(path: Path, revision: str, store: FileStore) -> RepositorySource:
    """Store a commit of a repository of this machine for workers on other machines; the revision becomes its hash.

    Raises:
        RepositoryRefused: there is no repository, no such commit, or a commit that cannot be worked on.
        RepositoryUnavailable: it takes too long.
        FileStoreError: the object store cannot take the commit.
    """
    repository = locate_repository(path)
    with open_source(repository, lambda _: None) as source:
        commit = resolve_revision(source, revision, str(path))
        entries = list_tree(source, commit)
        check_tree(entries, partial(read_objects, source))
        with pack_commit(source, commit, entries) as packed, packed.open("rb") as file:
            location = store.upload(file)
        notes = find_uncommitted(repository, source)
    return RepositorySource(path=str(path.resolve()), revision=commit, packed=location, notes=notes)
