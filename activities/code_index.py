"""Index the files of a workspace, search them, and draw a map of them.

An action that is refused is a result, so that the model reads the reason.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from temporalio import activity

from activities.heartbeat import send_heartbeats
from activities.workspaces import translate_repository_errors
from tenure.algorithms.coding.code_files import is_test_path
from tenure.algorithms.coding.code_hits import build_hits, render_numbered
from tenure.algorithms.text.printable import escape_control_characters
from tenure.contracts.coding.repositories import ActionResult, CodeSearchRequest, IndexReport, MapRequest, Workspace
from tenure.files.opening import FileRefused
from tenure.knowledge.code.search import draw_map, make_filter, search_meaning, search_symbol
from tenure.knowledge.code.snapshot import CodeSnapshot, StateFile
from tenure.repositories.git import Git
from tenure.repositories.grep import LineSearchRefused, list_state, search_lines
from tenure.repositories.workspaces import Workspaces

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase

T = TypeVar("T")


class _OpenState(NamedTuple):
    """Files and index of a state, for one action."""

    folder: Path
    git: Git
    snapshot: CodeSnapshot
    report: IndexReport


class CodeIndexActivities:
    """Activities on the indexes of the repositories whose workspaces are in one home."""

    def __init__(self, workspaces: Workspaces, knowledge: "KnowledgeBase") -> None:
        """Index files of `workspaces` in `knowledge`."""
        self._workspaces, self._knowledge = workspaces, knowledge

    @activity.defn
    async def index_repository(self, workspace: Workspace) -> IndexReport:
        """Index the files of a state that are not indexed yet."""
        return await self._act(workspace, lambda state: state.report)

    @activity.defn
    async def search_code(self, request: CodeSearchRequest) -> ActionResult:
        """Search the files of a state by meaning, text or regular expression, or for a symbol."""
        return await self._act(request.workspace, lambda state: self._search(request, state))

    @activity.defn
    async def map_repository(self, request: MapRequest) -> ActionResult:
        """Return a map of a state within a budget of tokens, with the files that concern the task first."""
        code, key = self._knowledge.code, request.workspace.repository
        return await self._act(
            request.workspace, lambda state: draw_map(code, key, state.snapshot, request.task, request.max_tokens)
        )

    async def _act(self, workspace: Workspace, act: Callable[[_OpenState], T]) -> T:
        """Act on the files of a state, after those are indexed that are not."""
        stopped = threading.Event()

        def work(folder: Path, git: Git) -> T:
            files = [StateFile(path, blob) for path, blob in list_state(git)]
            index = self._knowledge.code
            snapshot, report = index.update(workspace.repository, files, folder, stopped.is_set)
            return act(_OpenState(folder, git, snapshot, report))

        with translate_repository_errors():
            async with send_heartbeats(), self._workspaces.open(workspace, read_only=True) as folder:
                git = await self._workspaces.open_git(workspace)
                working = asyncio.ensure_future(asyncio.to_thread(work, folder, git))
                try:
                    return await asyncio.shield(working)
                except asyncio.CancelledError:
                    # The files are left only when nothing reads them any more.
                    stopped.set()
                    await asyncio.wait((working,))
                    raise

    def _search(self, request: CodeSearchRequest, state: _OpenState) -> ActionResult:
        code, key = self._knowledge.code, request.workspace.repository
        try:
            chosen = make_filter(request.pattern)
            if request.pattern and not any(chosen(path) for path, _ in list_state(state.git)):
                raise LineSearchRefused(f"no file matches {request.pattern}")
            if request.kind == "symbol":
                return search_symbol(state.snapshot, state.folder, request.query, request.pattern)
            if request.kind == "meaning":
                return search_meaning(code, key, state.snapshot, state.folder, request.query, request.pattern)
            return _search_lines(request, state.git)
        except (LineSearchRefused, FileRefused) as error:
            text = f"search {request.kind}: {error}"
            return ActionResult(text=text, summary=f"search {request.kind}: refused", failed=True)


def _search_lines(request: CodeSearchRequest, git: Git) -> ActionResult:
    """Return the lines with a text or an expression; those of tests come last."""
    chosen = make_filter(request.pattern)

    def choose(paths: Sequence[str]) -> list[str]:
        return sorted(filter(chosen, paths), key=lambda path: (is_test_path(path), path))

    found = search_lines(git, request.query, regex=request.kind == "regex", choose=choose)
    entries: list[str] = []
    for path, file_total, lines in found:
        if lines:
            cut = f" ({len(lines)} of its {file_total} lines)" if len(lines) < file_total else ""
            entries += [f"{escape_control_characters(path)}{cut}", *(render_numbered(*line) for line in lines)]
    total, shown = sum(one.total for one in found), sum(len(one.lines) for one in found)
    cut_note = f"{shown} lines are shown; for others add `in FILE`, or use a narrower expression"
    return build_hits(
        f'search {request.kind} "{request.query[:80]}"',
        f"{total} lines in {len(found)} files" if found else "",
        entries,
        cut_note if shown < total else "",
        "Case counts; try a search by meaning, or a part of the text.",
    )
