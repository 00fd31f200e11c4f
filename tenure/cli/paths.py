"""Resolve paths given on the command line, and let this home's worker read them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tenure.cli.errors import CommandError, UsageError
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.sandbox import InputFile
from tenure.document_roots import (
    MANUAL,
    RootsError,
    add_document_roots,
    explain_closed_path,
    make_run_scope,
    remove_document_roots,
)
from tenure.files.file_store import is_shared
from tenure.settings import Settings


def resolve_paths(paths: Sequence[str]) -> list[Path]:
    """Return the absolute paths in the given order, without duplicates.

    Raises:
        UsageError: a path does not exist, is no text, or is never read.
    """
    found = [Path(path).expanduser().absolute() for path in paths]
    for given, path in zip(paths, found, strict=True):
        if any("\ud800" <= character <= "\udfff" for character in given):
            raise UsageError(f"{given!r} is not valid UTF-8: rename it, or name the folder above it")
        if not path.exists():
            raise UsageError(f"{given} does not exist")
        if why := explain_closed_path(path.resolve()):
            raise UsageError(f"{given} {why} and is not read: name the files and folders that are needed")
    return list(dict.fromkeys(path.resolve() for path in found))


def find_manual() -> Path:
    """Return the repository's `docs/` folder, the default corpus.

    Raises:
        UsageError: this installation has no manual.
    """
    if not MANUAL.is_dir():
        raise UsageError(f"the default corpus {MANUAL} is missing: name documents with --docs PATH")
    return MANUAL


def allow_reading(
    settings: Settings, requests: Iterable[IngestRequest], run_id: str = "", files: Iterable[InputFile] = ()
) -> None:
    """Allow the worker of this home the paths of ingestions for their corpora, and files of programs for a run.

    Raises:
        CommandError: the list of document roots cannot be written.
    """
    try:
        for request in requests:
            documents = [path for path in map(Path, request.paths) if path != MANUAL]
            add_document_roots(settings.home, request.corpus, documents, settings.owner)
        given = [Path(file.path) for file in files if file.path is not None and not is_shared(file.path)]
        add_document_roots(settings.home, make_run_scope(run_id), given, settings.owner)
    except RootsError as error:
        raise CommandError(str(error)) from error


def end_reading(settings: Settings, scope: str) -> None:
    """Close the paths that this home has opened to a corpus or to the scope of a run.

    Raises:
        CommandError: the list of document roots cannot be written.
    """
    try:
        remove_document_roots(settings.home, scope, settings.owner)
    except RootsError as error:
        raise CommandError(str(error)) from error
