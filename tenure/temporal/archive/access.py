"""Find, list, export, import and delete archived runs of a home; no server and no worker is needed."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tenure.contracts.knowledge.archive import RunDescription
from tenure.contracts.result.ask import get_change_corpus
from tenure.knowledge.answers import delete_answers
from tenure.knowledge.patches import delete_patches
from tenure.knowledge.runs import ArchivedRun, ArchivedRuns, delete_label, open_store, read_labels, save_label
from tenure.knowledge.store.catalogue import delete_results
from tenure.knowledge.store.errors import KnowledgeError
from tenure.knowledge.store.store import Store
from tenure.private_files import PRIVATE_UMASK
from tenure.settings.home import HomeSettings
from tenure.temporal.archive.container import (
    VERSION,
    ArchivedDocument,
    ArchiveError,
    decode_run,
    encode_run,
    iterate_runs,
)


class ArchiveUnreadable(Exception):
    """The archive of a home, or a file, cannot be read or written; the message is one line that says what to do."""


def find_archived_run(settings: HomeSettings, run_id: str) -> ArchivedDocument | None:
    """Return the latest archived run with a workflow id, or None if there is none.

    Raises:
        ArchiveUnreadable: the archive cannot be read.
    """
    with _explain_errors(f"run {run_id} cannot be read: its archive"):
        runs = ArchivedRuns.open(settings.knowledge_uri)
        record = runs.find_run(run_id) if runs else None
        return _decode(record) if record else None


def list_archived_runs(settings: HomeSettings, type: str, owner: str = "", status: str = "") -> list[RunDescription]:
    """Return the archived runs of a workflow type, latest first; with an owner or status only theirs.

    Raises:
        ArchiveUnreadable: the archive cannot be read.
    """
    with _explain_errors("archived runs cannot be listed: the archive"):
        runs = ArchivedRuns.open(settings.knowledge_uri)
        return runs.list_runs(type, owner, status) if runs else []


def export_runs(settings: HomeSettings, run_id: str) -> bytes | None:
    """Return the archives of a run, of its earlier executions and of the follow-up questions to it; None without any.

    The archives of a batch include those of its runs.

    Raises:
        ArchiveUnreadable: the archive cannot be read.
    """
    with _explain_errors(f"run {run_id} cannot be exported: its archive"):
        runs = ArchivedRuns.open(settings.knowledge_uri)
        described = _list_related(runs, run_id) if runs else []
        loaded = [runs.load_run(run.execution) for run in described] if runs else []
        return b"".join(run.archive for run in loaded if run) or None


def import_runs(settings: HomeSettings, path: Path, check_id: Callable[[str], object]) -> tuple[RunDescription, ...]:
    """Store the runs of a file in the archive, all or none; runs that it has already are written again.

    `check_id` raises an error for an id that commands do not accept.

    Raises:
        ArchiveUnreadable: the file is no archive, or contains a run whose id is in use.
    """
    with _explain_errors(f"{path} cannot be imported: the archive"), _write_privately():
        described = tuple(document.description for document in _read_file(path))
        for run in described:
            check_id(run.id)
        runs = ArchivedRuns(Store(settings.knowledge_uri))
        for run in described:
            imported = {other.execution for other in described}
            others = {stored.execution for stored in runs.describe_runs(run.id)} - imported
            if others and run.type == "AgentWorkflow":
                raise ArchiveUnreadable(f"{path} cannot be imported: there is another run {run.id} in this home")
        for document in _read_file(path):
            archive = encode_run(document)
            runs.save_run(ArchivedRun(description=document.description, version=VERSION, archive=archive))
    return described


def delete_archived_runs(settings: HomeSettings, run_id: str) -> tuple[str, ...]:
    """Delete a run and the follow-up questions to it from the archive, and return their workflow ids.

    The cached answers of models, the patches and the texts on the changes of these runs are deleted as well.

    Raises:
        ArchiveUnreadable: the archive cannot be written.
    """
    with _explain_errors(f"run {run_id} cannot be deleted: its archive"):
        if store := open_store(settings.knowledge_uri):
            delete_label(store, run_id)
        runs = ArchivedRuns.open(settings.knowledge_uri)
        described = runs.describe_related_runs(run_id) if runs else []
        if runs and store:
            runs.delete_runs([run.execution for run in described])
            delete_answers(store, run_id)
            delete_patches(store, run_id)
            delete_results(store, get_change_corpus(run_id))
        return tuple(dict.fromkeys(run.id for run in described))


def list_labels(settings: HomeSettings) -> dict[str, bytes]:
    """Return the encoded titles and tags of runs by run id.

    Raises:
        ArchiveUnreadable: the knowledge base cannot be read.
    """
    with _explain_errors("titles of runs cannot be read: the knowledge base"):
        store = open_store(settings.knowledge_uri)
        return read_labels(store) if store else {}


def write_label(settings: HomeSettings, run_id: str, label: bytes) -> None:
    """Store the encoded title and tags of a run.

    Raises:
        ArchiveUnreadable: the knowledge base cannot be written.
    """
    with _explain_errors(f"run {run_id} cannot be renamed: the knowledge base"), _write_privately():
        save_label(Store(settings.knowledge_uri), run_id, label)


def _list_related(runs: ArchivedRuns, run_id: str) -> Sequence[RunDescription]:
    """Return a run, the follow-up questions to it, and for a batch the same of its runs."""
    related = runs.describe_related_runs(run_id)
    batches = [runs.load_run(run.execution) for run in related if run.type == "BatchWorkflow"]
    members = dict.fromkeys(name for batch in batches if batch for name in _decode(batch).runs)
    return [*related, *(run for name in members for run in runs.describe_related_runs(name))]


def _decode(run: ArchivedRun) -> ArchivedDocument:
    if run.version > VERSION:
        raise ArchiveError("was made by a newer version of Tenure: update Tenure first")
    document = decode_run(run.archive)
    if document.description != run.description:
        raise ArchiveError("is that of another run")
    return document


def _read_file(path: Path) -> Iterator[ArchivedDocument]:
    """Yield the runs of a file.

    Raises:
        ArchiveError: it is malformed.
        ArchiveUnreadable: it is no file.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise ArchiveUnreadable(f"{path} is not a file")
    with path.open("rb") as file:
        yield from iterate_runs(file)


@contextmanager
def _write_privately() -> Iterator[None]:
    """Create files that only this user can read."""
    before = os.umask(PRIVATE_UMASK)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def _explain_errors(subject: str) -> Iterator[None]:
    try:
        yield
    except ArchiveError as error:
        raise ArchiveUnreadable(f"{subject} {error}") from error
    except KnowledgeError as error:
        raise ArchiveUnreadable(" ".join(str(error).split())) from error
    except OSError as error:
        raise ArchiveUnreadable(f"{error.filename}: {error.strerror}") from error
