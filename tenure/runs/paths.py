"""Resolve paths given on the command line, and let this home's worker read them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.document_roots import (
    MANUAL,
    DocumentRoots,
    PathRefused,
    RootsError,
    add_document_roots,
    explain_closed_path,
    load_document_roots,
    make_run_scope,
    remove_document_roots,
)
from tenure.files.file_store import is_shared
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.options import PathName
from tenure.runs.run_ids import check_corpus, make_corpus_name
from tenure.runs.session.server_target import ServerTarget
from tenure.runs.uploads import find_upload, is_upload
from tenure.settings.home import HomeSettings


def resolve_paths(paths: Sequence[PathName]) -> list[Path]:
    """Return the absolute paths in the given order, without duplicates.

    Raises:
        InvalidRequest: a path does not exist, is no text, or is never read.
    """
    absolute = [Path(path).expanduser().absolute() for path in paths]
    for name, path in zip(map(str, paths), absolute, strict=True):
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise InvalidRequest(f"{name!r} is not valid UTF-8: rename it, or name the folder above it")
        if not path.exists():
            raise InvalidRequest(f"{name} does not exist")
        if why := explain_closed_path(path.resolve()):
            raise InvalidRequest(f"{name} {why} and is not read: name the files and folders that are needed")
    return list(dict.fromkeys(path.resolve() for path in absolute))


def require_absolute(paths: Sequence[PathName]) -> None:
    """Refuse paths that depend on the folder in which a server was started.

    Raises:
        InvalidRequest: a path is relative.
    """
    for path in paths:
        if not Path(path).expanduser().is_absolute():
            raise InvalidRequest(f"{str(path)!r} is not an absolute path: begin it with / or ~")


def plan_ingestion(paths: Sequence[PathName], corpus: str | None = None, *, include_secrets: bool) -> IngestRequest:
    """Return the ingestion of paths into a corpus, by default one that is named for them.

    Raises:
        InvalidRequest: a path does not exist, or the name of the corpus is invalid.
    """
    resolved = resolve_paths(paths)
    return IngestRequest(
        corpus=check_corpus(corpus or make_corpus_name(resolved, include_secrets=include_secrets)),
        paths=tuple(map(str, resolved)),
        include_secrets=include_secrets,
    )


def find_manual() -> Path:
    """Return the repository's `docs/` folder, the default corpus.

    Raises:
        InvalidRequest: this installation has no manual.
    """
    if not MANUAL.is_dir():
        raise InvalidRequest(f"name documents: the default corpus {MANUAL} is missing", "docs")
    return MANUAL


def check_shared_paths(settings: HomeSettings, paths: Sequence[PathName]) -> None:
    """Refuse paths outside the document roots of the settings, whether they exist or not.

    Raises:
        InvalidRequest: a path is outside of them.
        TenureError: the list of document roots cannot be read.
    """
    roots = DocumentRoots(settings.document_roots, settings.home, settings.owner)
    for path in paths:
        try:
            roots.resolve([str(Path(path))], "")
        except PathRefused as error:
            raise InvalidRequest(f"{str(path)!r} is not open on this server: upload the files instead") from error
        except RootsError as error:
            raise TenureError(str(error)) from error


def allow_reading(
    place: ServerTarget, requests: Iterable[IngestRequest], runs: Iterable[str] = (), paths: Iterable[str] = ()
) -> None:
    """Allow the worker of this home the paths of ingestions for their corpora, and other paths for runs.

    Of a shared home only uploads become open: for the rest, the document roots of the worker decide.

    Raises:
        TenureError: the list of document roots cannot be written.
    """
    settings = place.settings
    try:
        for request in requests:
            documents = [path for path in map(Path, request.paths) if path != MANUAL]
            if place.is_shared:
                documents = [path for path in documents if is_upload(settings, path)]
            add_document_roots(settings.home, [request.corpus], documents, settings.owner)
        local_files = [Path(path) for path in paths if not (place.is_shared or is_shared(path))]
        add_document_roots(settings.home, map(make_run_scope, runs), local_files, settings.owner)
    except RootsError as error:
        raise TenureError(str(error)) from error


def list_document_paths(settings: HomeSettings, corpus: str) -> tuple[str, ...]:
    """Return the files and folders that this home has opened to a corpus, and its uploaded documents.

    Raises:
        TenureError: the list of document roots cannot be read.
    """
    uploads = find_upload(settings, corpus)
    listed = list_opened_paths(settings).get(corpus, ())
    return tuple(dict.fromkeys((*map(str, listed), *([str(uploads)] if uploads else []))))


def list_opened_paths(settings: HomeSettings) -> dict[str, tuple[Path, ...]]:
    """Return the files and folders that this home has opened, by corpus or scope of a run.

    Raises:
        TenureError: the list of document roots cannot be read.
    """
    try:
        return load_document_roots(settings.home, settings.owner)
    except RootsError as error:
        raise TenureError(str(error)) from error


def end_reading(settings: HomeSettings, scope: str) -> None:
    """Close the paths that this home has opened to a corpus or to the scope of a run.

    Raises:
        TenureError: the list of document roots cannot be written.
    """
    try:
        remove_document_roots(settings.home, scope, settings.owner)
    except RootsError as error:
        raise TenureError(str(error)) from error
