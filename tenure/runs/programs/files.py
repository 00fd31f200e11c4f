"""Read the files and tests of a coding task once, so that later changes affect no run; save what programs created."""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from tenure.contracts.result.programs import parse_cases
from tenure.contracts.result.result import Result
from tenure.contracts.sandbox import Artifact, InputFile
from tenure.files.discovery import INCLUDE_SECRETS_HINT, DiscoveryFailed, discover_files
from tenure.files.file_store import FileStore, FileStoreUnreachable, SharedFileRefused, is_shared
from tenure.files.opening import FileRefused, open_file
from tenure.files.secret_files import SNIFFED_BYTES, describe_secret_content
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest, TenureError, Unreachable
from tenure.runs.options import PathName
from tenure.runs.paths import resolve_paths
from tenure.runs.session.connection import AGENT_WORKFLOW, Session
from tenure.runs.session.run_records import open_run
from tenure.settings.home import HomeSettings

MAX_INLINE_FILE_BYTES = 64 * 1024
"""Maximum size of a file that is sent with the request; larger files are copied from their path when needed."""

MAX_INLINE_BYTES = 160 * 1024
"""Maximum size of all files of a request."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
"""Characters of a name that are replaced: the escape sequence and the spaces of `a\x1b[31m b.png`."""
_MAX_NAME_LENGTH = 80


def read_files(
    paths: Sequence[PathName], note: Callable[[str], None], *, include_secrets: bool = False
) -> tuple[InputFile, ...]:
    """Return the files of a program; a folder adds all its files under their relative names.

    A folder that is a Python package keeps its own name as a prefix, since it is imported by it. Links, hidden files
    and caches in a folder are left out, and files that contain secrets as well, unless they are included.

    Raises:
        InvalidRequest: a path does not exist or cannot be read, or two files would have the same name.
    """
    remaining = MAX_INLINE_BYTES
    inputs: list[InputFile] = []
    for name, path, text in _iterate_named_files(resolve_paths(paths), note, include_secrets):
        size = len(text.encode()) if text is not None else 0
        travels = text is not None and size <= min(remaining, MAX_INLINE_FILE_BYTES)
        remaining -= size if travels else 0
        origin = str(path)
        file = InputFile(name=name, text=text, origin=origin) if travels else InputFile(name=name, path=origin)
        inputs.append(file)
    return _apart(inputs)


def upload_files(files: Sequence[InputFile], settings: HomeSettings) -> tuple[InputFile, ...]:
    """Store the files that do not travel with a request in the object store of the settings, if there is one.

    Raises:
        InvalidRequest: a file cannot be read, or changes while it is read.
        Unreachable: the object store does not answer.
    """
    if not settings.files_uri:
        return tuple(files)
    store = FileStore(settings.files_uri, settings.owner)
    return tuple(file if file.path is None else _upload_file(file, store) for file in files)


def _upload_file(file: InputFile, store: FileStore) -> InputFile:
    """Store a file in an object store; return it with its location."""
    path = Path(file.path or "")
    try:
        with open_file(path) as opened:
            return file.model_copy(update={"path": store.upload(opened.file)})
    except FileRefused as error:
        raise InvalidRequest(f"{path} {error.reason}") from error
    except SharedFileRefused as error:
        raise InvalidRequest(f"{path} changes while it is read: start the run again") from error
    except FileStoreUnreachable as error:
        raise Unreachable(f"{error}: check TENURE_FILES_URI and the AWS_… variables") from error
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}") from error


def read_tests(
    paths: Sequence[PathName], note: Callable[[str], None], *, include_secrets: bool = False
) -> tuple[InputFile, ...]:
    """Return tests: pytest files with the files they read, or cases as JSON.

    Raises:
        InvalidRequest: a path does not exist or contains no tests.
    """
    named_texts = [(name, text) for name, _, text in _iterate_named_files(resolve_paths(paths), note, include_secrets)]
    python = [name for name, _ in named_texts if name.endswith(".py")]
    for name, text in named_texts:
        if text is None or len(text.encode()) > MAX_INLINE_FILE_BYTES:
            raise InvalidRequest(
                f"{name} is not a text of at most {MAX_INLINE_FILE_BYTES // 1024} KiB, so it cannot be a test file"
            )
        if not python:
            _check_cases(name, text)
    return _apart([InputFile(name=name, text=text) for name, text in named_texts])


def _check_cases(name: str, text: str) -> None:
    try:
        cases = parse_cases(text) if name.endswith(".json") else ()
    except ValidationError as error:
        raise InvalidRequest(f"{name} is not a list of cases with `function`, `args` and `expected`") from error
    if not cases:
        raise InvalidRequest(f"{name} contains no tests: give pytest files, or cases as JSON")


def _iterate_named_files(
    paths: Sequence[Path], note: Callable[[str], None], include_secrets: bool
) -> Iterator[tuple[str, Path, str | None]]:
    """Yield files with their names and texts; `note` receives a line for each file that is left out."""
    for path in paths:
        try:
            discovered = discover_files([path], include_secrets=include_secrets, all_visible=True)
        except (DiscoveryFailed, FileNotFoundError) as error:
            raise InvalidRequest(str(error)) from error
        for skipped in discovered.skipped:
            note(f"skipped {skipped.path}: {skipped.reason}")
        if discovered.skipped_total > len(discovered.skipped):
            note(f"and {discovered.skipped_total - len(discovered.skipped)} more")
        above = path.parent if path.is_file() or (path / "__init__.py").is_file() else path
        for file in discovered.files:
            inner = Path(file.path)
            text, reason = _read_text(inner)
            if reason and not include_secrets:
                note(f"skipped {inner}: {reason}: {INCLUDE_SECRETS_HINT}")
            else:
                yield inner.relative_to(above).as_posix(), inner, text


def _read_text(path: Path) -> tuple[str | None, str]:
    """Return a file's text, or None if it is too large to send or not text, and the reason if it contains secrets."""
    try:
        with open_file(path) as opened:
            data = opened.read(max(MAX_INLINE_FILE_BYTES + 1, SNIFFED_BYTES))
    except FileRefused as error:
        raise InvalidRequest(f"{path} {error.reason}") from error
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}") from error
    reason = describe_secret_content(data)
    try:
        is_text = len(data) <= MAX_INLINE_FILE_BYTES and b"\0" not in data
        return data.decode("utf-8-sig") if is_text else None, reason
    except UnicodeDecodeError:
        return None, reason


def _apart(files: list[InputFile]) -> tuple[InputFile, ...]:
    names = [file.name for file in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise InvalidRequest(f"two files have the name {twice}: give the folder above them, or rename one")
    return tuple(files)


async def list_artifacts(session: Session, run_id: str) -> tuple[Artifact, ...]:
    """Return the files that the programs of a finished run created.

    Raises:
        TenureError: the run is still running, or did not end with a result.
    """
    record = await open_run(session, run_id)
    if record.workflow_type != AGENT_WORKFLOW:
        raise InvalidRequest(f"{run_id} is not a run: `{PROGRAM} list` shows all runs")
    if record.is_running:
        raise TenureError(f"run {run_id} is still running: `{PROGRAM} watch {run_id}` follows it")
    return (await record.read_result(Result)).artifacts


def save_files(artifacts: Sequence[Artifact], folder: Path, settings: HomeSettings) -> list[Path]:
    """Save files into a folder, each with its hash checked; return their paths.

    Raises:
        TenureError: a file exists already, cannot be written, or is not the one that the program created.
    """
    store = FileStore(settings.files_uri, settings.owner) if settings.files_uri else None
    saved = []
    for artifact, name in zip(artifacts, choose_names(artifacts), strict=True):
        target = folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _save_file(artifact, target, store)
        except FileExistsError:
            raise InvalidRequest(f"{target} exists already: choose another folder") from None
        except SharedFileRefused as error:
            raise TenureError(str(error)) from error
        except FileStoreUnreachable as error:
            raise Unreachable(f"{error}: check TENURE_FILES_URI and the AWS_… variables") from error
        except OSError as error:
            raise TenureError(f"{target} cannot be written ({error.strerror}): choose another folder") from error
        saved.append(target)
    return saved


def _save_file(artifact: Artifact, target: Path, store: FileStore | None) -> None:
    """Save one file under a new name.

    Raises:
        SharedFileRefused: its content is not what the program created.
        FileStoreUnreachable: the object store does not answer.
        TenureError: the file cannot be read.
        OSError: the new file cannot be written.
    """
    if is_shared(artifact.path):
        if store is None:
            raise TenureError(f"{artifact.path} is in an object store: set TENURE_FILES_URI as its worker does")
        store.download(artifact.path, target, artifact.bytes)
        return
    with ExitStack() as opened:
        try:
            source = opened.enter_context(Path(artifact.path).open("rb"))
        except OSError as error:
            raise TenureError(
                f"{artifact.path} cannot be read here ({error.strerror}): it is on the machine of the worker that ran "
                "the program; with TENURE_FILES_URI its files reach every machine"
            ) from error
        if hashlib.file_digest(source, "sha256").hexdigest() != artifact.sha256:
            raise SharedFileRefused(f"{artifact.path} was changed: it is not the file that the program created")
        source.seek(0)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(source, file)


def choose_names(artifacts: Sequence[Artifact]) -> Iterator[Path]:
    """Yield a unique relative path for each file; the program chose their names, so no part of one is trusted."""
    used: set[str] = set()
    for number, artifact in enumerate(artifacts, 1):
        inner = PurePosixPath(artifact.name).parts
        cleaned = (_UNSAFE.sub("_", part).lstrip(".")[-_MAX_NAME_LENGTH:] for part in inner)
        parts = [part for part in cleaned if part.strip("_")] or [f"file-{number}"]
        name = "/".join(parts)
        if any(name == other or name.startswith(f"{other}/") or other.startswith(f"{name}/") for other in used):
            name = f"file-{number}-{parts[-1]}"
        used.add(name)
        yield Path(name)
