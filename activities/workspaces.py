"""Open repositories, and read and change files of their workspaces.

Asynchronous: Git and files are handled in threads, and a lock of each workspace is waited for without one. An action
that is refused is a result, so that the model reads the reason.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.errors import PATH_REFUSED, translate_errors
from activities.heartbeat import send_heartbeats
from activities.sandbox import STORE_UNREACHABLE
from tenure.contracts.coding.repositories import (
    MAX_OBSERVATION_CHARS,
    ActionResult,
    CopyStateRequest,
    EditRequest,
    ListRequest,
    OpenedRepository,
    OpenRequest,
    Patch,
    ReadRequest,
    StepReply,
    Workspace,
)
from tenure.document_roots import DocumentRoots, PathRefused, RootsError, make_run_scope
from tenure.files.file_store import FileStoreUnreachable, SharedFileRefused
from tenure.repositories.copies import CopiedCommit
from tenure.repositories.editing import EditsRefused, find_syntax_errors, plan_edits, write_edits
from tenure.repositories.errors import RepositoryRefused, RepositoryUnavailable, StateLost
from tenure.repositories.git import GitFailed
from tenure.repositories.locks import run_to_end
from tenure.repositories.opening import open_commit
from tenure.repositories.reading import list_files, show_lines
from tenure.repositories.remote import is_url
from tenure.repositories.source_text import ActionRefused
from tenure.repositories.workspaces import Workspaces
from tenure.sources.fetch.address_guard import AddressGuard

REPOSITORY_REFUSED = "RepositoryRefused"
"""The repository cannot be worked with; a person has to change something."""
REPOSITORY_UNAVAILABLE = "RepositoryUnavailable"
"""A server or the disk does not respond in time; the activity is retried."""
STATE_LOST = "StateLost"
"""Commit or patch of a state are not stored anywhere that this worker reaches."""

_MAX_SUMMARY_CHARS = 200


class WorkspaceActivities:
    """Activities on the workspaces of one home."""

    def __init__(
        self, workspaces: Workspaces, roots: DocumentRoots | None = None, guard: AddressGuard | None = None
    ) -> None:
        """Copy repositories inside `roots`, and those of servers that `guard` allows."""
        self._workspaces = workspaces
        self._roots, self._guard = roots or DocumentRoots(), guard or AddressGuard()

    @activity.defn
    async def open_repository(self, request: OpenRequest) -> OpenedRepository:
        """Copy a commit of a repository to a private place."""
        with translate_repository_errors():
            async with send_heartbeats():
                await run_to_end(self._workspaces.remove_stale)
                copied = await self._copy(request)
                return await open_commit(self._workspaces, request.run, copied, request.source.packed)

    @activity.defn
    async def read_lines(self, request: ReadRequest) -> ActionResult:
        """Return lines of a file with their numbers."""
        with translate_repository_errors():
            async with send_heartbeats(), self._workspaces.open(request.workspace, read_only=True) as folder:
                try:
                    return await run_to_end(lambda: show_lines(folder, request.path, request.first, request.last))
                except ActionRefused as error:
                    return ActionResult(text=str(error), summary=f"read {request.path}: refused", failed=True)

    @activity.defn
    async def list_files(self, request: ListRequest) -> ActionResult:
        """Return the files of a folder, or those that a pattern matches."""
        with translate_repository_errors():
            async with send_heartbeats(), self._workspaces.open(request.workspace, read_only=True):
                git = await self._workspaces.open_git(request.workspace)
                return await run_to_end(lambda: list_files(git, request.pattern))

    @activity.defn
    async def edit_files(self, request: EditRequest) -> StepReply:
        """Change files, all of them or none, and return the next state."""
        with translate_repository_errors():
            async with send_heartbeats():
                try:
                    return await self._edit(request)
                except (ActionRefused, RepositoryRefused) as error:
                    summary = f"refused: {str(error).splitlines()[0]}"[:_MAX_SUMMARY_CHARS]
                    refused = ActionResult(text=_bound(str(error)), summary=summary, failed=True)
                    problems = error.problems if isinstance(error, EditsRefused) else {}
                edits = tuple(_bound(problems[n]) if n in problems else "" for n in range(len(request.edits)))
                return StepReply(workspace=request.workspace, observation=refused, edits=edits)

    async def _edit(self, request: EditRequest) -> StepReply:
        workspaces = self._workspaces
        async with workspaces.open(request.workspace, read_only=True) as folder:
            git = await workspaces.open_git(request.workspace)
            planned = await run_to_end(lambda: plan_edits(git, folder, request.edits))
            workspaces.expect_changes(request.workspace)
            await run_to_end(lambda: write_edits(folder, planned))
            recorded = await workspaces.record(request.workspace)
            errors = await run_to_end(lambda: find_syntax_errors(folder, (*planned.changed, *planned.created)))
        outcomes = tuple(
            "; ".join((line, *(f"syntax error in {one}" for one in errors if one.startswith(f"{edit.path}, line "))))
            for edit, line in zip(request.edits, planned.outcomes, strict=True)
        )
        summary = planned.summary[:_MAX_SUMMARY_CHARS] + (f"; {len(errors)} with a syntax error" if errors else "")
        observation = ActionResult(text=planned.summary, summary=summary)
        return StepReply(workspace=recorded.workspace, observation=observation, edits=outcomes, change=recorded.change)

    async def _copy(self, request: OpenRequest) -> CopiedCommit:
        """Copy the commit of a request from the object store, a server or this machine."""
        source, copies = request.source, self._workspaces.copies
        if source.packed:
            copied = await copies.copy_packed(source.path, source.revision, source.packed)
            return copied._replace(notes=source.notes)
        if is_url(source.path):
            if not request.web:
                raise RepositoryRefused("a repository is fetched from a server only if the run may read the web: --web")
            return await copies.copy_remote(source.path, source.revision, self._guard)
        if copies.has_store:
            # A worker that shares its work with other machines reads no file of its own for the client of another.
            raise RepositoryRefused(f"{source.path} is not in the object store: set TENURE_FILES_URI for the client")
        scope = make_run_scope(activity.info().workflow_id or "")
        (path,) = self._roots.resolve([source.path], scope)

        def check(folder: Path) -> None:
            if self._roots.resolve([str(folder)], scope) != (folder,):
                raise RepositoryRefused(f"{folder} is a link")

        return await copies.copy_local(path, source.revision, check)

    @activity.defn
    async def build_patch(self, workspace: Workspace) -> Patch:
        """Return the changes of a state against its commit."""
        with translate_repository_errors():
            async with send_heartbeats():
                patch, files = await self._workspaces.read_patch(workspace)
                return Patch(workspace=workspace, text=patch.decode(), files=files)

    @activity.defn
    async def copy_state(self, request: CopyStateRequest) -> Workspace:
        """Return a state of another run as one of a run, whose actions change only its own files."""
        with translate_repository_errors():
            async with send_heartbeats():
                return await self._workspaces.copy_state(request.workspace, request.run)

    @activity.defn
    async def close_workspace(self, workspace: Workspace) -> None:
        """Remove the files of a workspace; its state stays stored."""
        with translate_repository_errors():
            async with send_heartbeats():
                await self._workspaces.close(workspace)


def _bound(text: str) -> str:
    if len(text) <= MAX_OBSERVATION_CHARS:
        return text
    note = "\n… the rest is left out"
    return text[: MAX_OBSERVATION_CHARS - len(note)] + note


@contextmanager
def translate_repository_errors() -> Iterator[None]:
    """Translate errors of repositories, of their storage and of the knowledge base.

    Raises:
        ApplicationError: for every such error; non-retryable if a repetition would fail as well.
    """
    with translate_errors():
        try:
            yield
        except RepositoryRefused as error:
            raise ApplicationError(str(error), type=REPOSITORY_REFUSED, non_retryable=True) from error
        except StateLost as error:
            raise ApplicationError(str(error), type=STATE_LOST, non_retryable=True) from error
        except (PathRefused, RootsError, SharedFileRefused) as error:
            raise ApplicationError(str(error), type=PATH_REFUSED, non_retryable=True) from error
        except FileStoreUnreachable as error:
            raise ApplicationError(str(error), type=STORE_UNREACHABLE) from error
        except (RepositoryUnavailable, GitFailed, OSError) as error:
            raise ApplicationError(str(error), type=REPOSITORY_UNAVAILABLE) from error
