"""Command `files`: list the files that a run's programs created, and save them from wherever they are kept."""

import asyncio
import hashlib
import os
import re
import shutil
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from rich.table import Table

from tenure.cli.terminal import print_json, print_note, print_table
from tenure.contracts.result.result import Result
from tenure.contracts.sandbox import Artifact
from tenure.files.file_store import FileStore, FileStoreUnreachable, SharedFileRefused, is_shared
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest, TenureError, Unreachable
from tenure.runs.formatting import truncate_line
from tenure.runs.run_ids import check_run
from tenure.runs.session.connection import AGENT_WORKFLOW
from tenure.runs.session.run_records import open_run
from tenure.runs.session.server_target import ServerTarget, locate_server
from tenure.settings import ClientSettings
from tenure.settings.home import HomeSettings

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_NAME_LENGTH = 80


def list_files(arguments: Namespace, settings: ClientSettings) -> int:
    """Run the command."""
    check_run(arguments.id)
    artifacts = asyncio.run(_load_artifacts(arguments.id, locate_server(settings)))
    if arguments.output is None:
        locations = [artifact.path for artifact in artifacts]
    else:
        locations = [str(path) for path in save_files(artifacts, arguments.output, settings)]
    if arguments.json:
        print_json(
            [
                artifact.model_dump(mode="json") | {"path": path}
                for artifact, path in zip(artifacts, locations, strict=True)
            ]
        )
    elif artifacts:
        print_table(_build_table(artifacts, locations))
    else:
        print_note(f"the programs of {arguments.id} created no file")
    return 0


async def _load_artifacts(run_id: str, place: ServerTarget) -> tuple[Artifact, ...]:
    """Return the files that the programs of a finished run created.

    Raises:
        TenureError: the run is still running, or did not end with a result.
    """
    record = await open_run(place, run_id)
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
            raise InvalidRequest(f"{target} exists already: choose another folder with -o") from None
        except SharedFileRefused as error:
            raise TenureError(str(error)) from error
        except FileStoreUnreachable as error:
            raise Unreachable(f"{error}: check TENURE_FILES_URI and the AWS_… variables") from error
        except OSError as error:
            raise TenureError(
                f"{target} cannot be written ({error.strerror}): choose another folder with -o"
            ) from error
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
    taken: set[str] = set()
    for number, artifact in enumerate(artifacts, 1):
        inner = PurePosixPath(artifact.name).parts
        cleaned = (_UNSAFE.sub("_", part).lstrip(".")[-_MAX_NAME_LENGTH:] for part in inner)
        parts = [part for part in cleaned if part.strip("_")] or [f"file-{number}"]
        name = "/".join(parts)
        if any(name == other or name.startswith(f"{other}/") or other.startswith(f"{name}/") for other in taken):
            name = f"file-{number}-{parts[-1]}"
        taken.add(name)
        yield Path(name)


def _build_table(artifacts: Sequence[Artifact], locations: Sequence[str]) -> Table:
    """Return files as a table."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("name", overflow="fold")
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_column("location", overflow="fold")
    for artifact, location in zip(artifacts, locations, strict=True):
        table.add_row(truncate_line(artifact.name, 200), f"{artifact.bytes:,}", truncate_line(location, 400))
    return table
