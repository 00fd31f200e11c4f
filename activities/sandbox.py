"""Run and test programs in the sandbox, search for repairs, and check the sandbox itself.

Asynchronous, on the worker's event loop: the kernel ties the life of sandboxed processes to the thread that started
them, and this thread lives as long as the worker. A program that fails is a result, never an error.
"""

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.errors import PATH_REFUSED
from activities.heartbeat import send_heartbeats
from tenure.contracts.base import RunId
from tenure.contracts.result.programs import ProgramRequest, RepairProgress, RepairReply, RepairRequest, TestRunRequest
from tenure.contracts.sandbox import Artifact, InputFile, Program, SandboxOutcome, SandboxSelfTest
from tenure.document_roots import DocumentRoots, PathRefused, RootsError, make_run_scope
from tenure.files.file_store import FileStore, FileStoreUnreachable, SharedFileRefused, is_shared
from tenure.sandbox.base import NoSandbox, SandboxError
from tenure.sandbox.engine import MAX_INPUT_BYTES
from tenure.sandbox.folders import make_folder_name
from tenure.sandbox.repairing import search_repair

if TYPE_CHECKING:
    from tenure.sandbox.base import Sandbox

SANDBOX_MISSING = "SandboxMissing"
"""There is no sandbox on the worker's machine; a person has to install one."""
SANDBOX_FAILED = "SandboxFailed"
"""The sandbox could not be set up; the activity is retried."""
STORE_UNREACHABLE = "FileStoreUnreachable"
"""The object store of files does not answer; the activity is retried."""

_EMPTY_PROGRAM = Program(files=(InputFile(name="empty.py", text=""),), entry="empty.py")

# Temporary folders of `_fetch_files`
_INPUT_PREFIX = "input-"
_MAX_INPUT_SECONDS = 24 * 3600
"""Age from which a copy of input files belongs to no program: longer than any program runs."""


class SandboxActivities:
    """Activities on one sandbox."""

    def __init__(
        self, sandbox: "Sandbox", keep: Path, store: FileStore | None = None, roots: DocumentRoots | None = None
    ) -> None:
        """Use `sandbox`; store the artifacts of programs below `keep`, or in `store`, which all machines reach.

        Without `store`, input files inside `roots` are read from this machine.
        """
        self._sandbox = sandbox
        self._keep = keep
        self._store, self._roots = store, roots or DocumentRoots()

    @activity.defn
    async def check_sandbox(self) -> SandboxSelfTest:
        """Return the languages and packages of the sandbox and how it isolates programs."""
        with translate_sandbox_errors():
            async with send_heartbeats():
                # The first program creates the environment of all programs; from then on its packages are known.
                await self._sandbox.run(_EMPTY_PROGRAM, self._keep / "empty")
                return await self._sandbox.check()

    @activity.defn
    async def run_tests(self, request: TestRunRequest) -> SandboxOutcome:
        """Test a program."""
        trial, folder = request.test_run, self._folder(request.run, request.attempt, "tests")
        with translate_sandbox_errors():
            async with (
                send_heartbeats(),
                self._fetch_files(trial.files) as files,
                self._fetch_files(trial.tests) as tests,
            ):
                fetched = trial.model_copy(update={"files": files, "tests": tests})
                outcome = await self._sandbox.test(fetched, folder)
                return await self._share_artifacts(outcome)

    @activity.defn
    async def run_program(self, request: ProgramRequest) -> SandboxOutcome:
        """Run a program and store its artifacts."""
        program, folder = request.program, self._folder(request.run, request.attempt, "run")
        with translate_sandbox_errors():
            async with send_heartbeats(), self._fetch_files(program.files) as files:
                outcome = await self._sandbox.run(program.model_copy(update={"files": files}), folder)
                return await self._share_artifacts(outcome)

    @activity.defn
    async def repair_program(self, request: RepairRequest) -> RepairReply:
        """Search for a small edit that makes the tests pass; the heartbeat's details are a `RepairProgress`."""
        with translate_sandbox_errors():
            async with (
                continue_repair() as (progress, update),
                self._fetch_files(request.files) as files,
                self._fetch_files(request.tests) as tests,
            ):
                fetched = request.model_copy(update={"files": files, "tests": tests})
                return await search_repair(self._sandbox, fetched, progress, update, self._keep / "screened")

    @asynccontextmanager
    async def _fetch_files(self, files: Sequence[InputFile]) -> AsyncIterator[tuple[InputFile, ...]]:
        """Give input files on this machine: those in the object store are copied for the time of the program.

        Raises:
            PathRefused: a file of this machine is outside the document roots.
            RootsError: the list of document roots cannot be trusted.
            SharedFileRefused: a file is not in the store, or not of the owner of the run.
            FileStoreUnreachable: the object store does not answer.
        """
        if all(file.path is None for file in files):
            yield tuple(files)
            return
        if self._store is None:
            yield tuple([file if file.path is None else self._resolve(file) for file in files])
            return
        self._keep.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(_remove_stale_inputs, self._keep)
        # Input files are read without following links, also of folders.
        with tempfile.TemporaryDirectory(prefix=_INPUT_PREFIX, dir=self._keep.resolve()) as folder:
            yield await self._fetch(self._store, files, Path(folder))

    def _resolve(self, file: InputFile) -> InputFile:
        """Return a file of this machine with its real path, if the run may have it read."""
        path = file.path or ""
        if is_shared(path):
            raise SharedFileRefused(f"{path} is in an object store: set TENURE_FILES_URI for the worker of programs")
        (real,) = self._roots.resolve([path], make_run_scope(activity.info().workflow_id or ""))
        return file.model_copy(update={"path": str(real)})

    async def _fetch(self, store: FileStore, files: Sequence[InputFile], folder: Path) -> tuple[InputFile, ...]:
        """Copy input files from the object store; return them with the paths of the copies."""
        remaining, fetched = MAX_INPUT_BYTES, []
        for number, file in enumerate(files):
            if file.path is not None:
                # A worker that shares its work with other machines reads no file of its own for the client of another.
                target = folder / str(number)
                remaining -= await asyncio.to_thread(store.download, file.path, target, remaining)
                file = file.model_copy(update={"path": str(target)})
            fetched.append(file)
        return tuple(fetched)

    async def _share_artifacts(self, outcome: SandboxOutcome) -> SandboxOutcome:
        """Move the artifacts of a program into the object store, if there is one.

        Raises:
            FileStoreUnreachable: the object store does not answer.
        """
        if self._store is None or not outcome.artifacts:
            return outcome
        shared = [await asyncio.to_thread(_move, self._store, artifact) for artifact in outcome.artifacts]
        return outcome.model_copy(update={"artifacts": tuple(shared)})

    def _folder(self, run: RunId, attempt: int, what: str) -> Path:
        """Return the folder of an attempt; retries of the activity use the same one."""
        return self._keep / make_folder_name(run) / f"attempt-{attempt}" / what


def _remove_stale_inputs(keep: Path) -> None:
    """Remove copies of input files that killed workers of this home have left."""
    for folder in keep.glob(f"{_INPUT_PREFIX}*"):
        with suppress(FileNotFoundError):  # its worker, or another one, has just removed it
            if time.time() - folder.stat().st_mtime > _MAX_INPUT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _move(store: FileStore, artifact: Artifact) -> Artifact:
    """Move an artifact into the object store; return it with its new location."""
    path = Path(artifact.path)
    with path.open("rb") as file:
        location = store.upload(file)
    path.unlink()
    return artifact.model_copy(update={"path": location})


@asynccontextmanager
async def continue_repair() -> AsyncIterator[tuple[RepairProgress, Callable[[RepairProgress], None]]]:
    """Return the progress of an earlier attempt of a repair, and a function that sends a later one in heartbeats."""
    details = activity.info().heartbeat_details
    progress = RepairProgress.model_validate(details[0]) if details else RepairProgress()

    def update(current: RepairProgress) -> None:
        nonlocal progress
        progress = current

    async with send_heartbeats(lambda: (progress,)):
        yield progress, update


@contextmanager
def translate_sandbox_errors() -> Iterator[None]:
    """Translate errors of the sandbox itself and of input files.

    Raises:
        ApplicationError: for every such error; non-retryable if there is no sandbox, or if a file is refused.
    """
    try:
        yield
    except NoSandbox as error:
        raise ApplicationError(str(error), type=SANDBOX_MISSING, non_retryable=True) from error
    except SandboxError as error:
        raise ApplicationError(str(error), type=SANDBOX_FAILED) from error
    except (PathRefused, RootsError, SharedFileRefused) as error:
        raise ApplicationError(str(error), type=PATH_REFUSED, non_retryable=True) from error
    except FileStoreUnreachable as error:
        raise ApplicationError(str(error), type=STORE_UNREACHABLE) from error
