"""Index the files of a workspace, search them, and draw a map of them.

An action that is refused is a result, so that the model reads the reason.
"""

import asyncio
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

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
from tenure.repositories.locks import run_to_end
from tenure.repositories.workspaces import Workspaces

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase

T = TypeVar("T")

# A query that is nothing but one string: "def test_.*x" or 'a b'
_QUOTED: Final = re.compile(r"""(["'])(.+)\1""")


class _OpenState(NamedTuple):
    """Files and index of a state, for one action."""

    folder: Path
    snapshot: CodeSnapshot


class CodeIndexActivities:
    """Activities on the indexes of the repositories whose workspaces are in one home."""

    def __init__(self, workspaces: Workspaces, knowledge: "KnowledgeBase") -> None:
        """Index files of `workspaces` in `knowledge`."""
        self._workspaces, self._knowledge = workspaces, knowledge

    @activity.defn
    async def index_repository(self, workspace: Workspace) -> IndexReport:
        """Index the files of a state that are not indexed yet.

        It reads a copy of them: the first index of a large repository takes long, and other actions do not wait for it.
        """
        with translate_repository_errors():
            async with send_heartbeats(), self._workspaces.copy(workspace) as folder:
                async with self._workspaces.open(workspace, read_only=True):
                    git = await self._workspaces.open_git(workspace)
                    files = await run_to_end(lambda: _list_files(git))
                _, report = await _run_stoppable(partial(self._update, workspace, files, folder))
                return report

    @activity.defn
    async def search_code(self, request: CodeSearchRequest) -> ActionResult:
        """Search the files of a state by meaning, text or regular expression, or for a symbol."""
        if request.kind in ("symbol", "meaning"):
            return await self._act(request.workspace, lambda state: self._search(request, state))
        with translate_repository_errors():
            async with send_heartbeats(), self._workspaces.open(request.workspace, read_only=True):
                git = await self._workspaces.open_git(request.workspace)
                return await run_to_end(
                    lambda: _run_search(
                        request, lambda: (path for path, _ in list_state(git)), lambda: _search_lines(request, git)
                    )
                )

    @activity.defn
    async def map_repository(self, request: MapRequest) -> ActionResult:
        """Return a map of a state within a budget of tokens, with the files that concern the task first."""
        code, key = self._knowledge.code, request.workspace.repository
        return await self._act(
            request.workspace, lambda state: draw_map(code, key, state.snapshot, request.task, request.max_tokens)
        )

    async def _act(self, workspace: Workspace, act: Callable[[_OpenState], T]) -> T:
        """Act on the files of a state, after those are indexed that are not."""

        def work(folder: Path, git: Git, is_stopped: Callable[[], bool]) -> T:
            snapshot, _ = self._update(workspace, _list_files(git), folder, is_stopped)
            return act(_OpenState(folder, snapshot))

        with translate_repository_errors():
            async with send_heartbeats(), self._workspaces.open(workspace, read_only=True) as folder:
                git = await self._workspaces.open_git(workspace)
                return await _run_stoppable(partial(work, folder, git))

    def _update(
        self, workspace: Workspace, files: Sequence[StateFile], folder: Path, is_stopped: Callable[[], bool]
    ) -> tuple[CodeSnapshot, IndexReport]:
        return self._knowledge.code.update(workspace.repository, files, folder, is_stopped)

    def _search(self, request: CodeSearchRequest, state: _OpenState) -> ActionResult:
        code, key = self._knowledge.code, request.workspace.repository

        def search() -> ActionResult:
            if request.kind == "symbol":
                return search_symbol(state.snapshot, state.folder, request.query, request.pattern)
            return search_meaning(code, key, state.snapshot, state.folder, request.query, request.pattern)

        return _run_search(request, lambda: state.snapshot.by_path, search)


async def _run_stoppable(work: Callable[[Callable[[], bool]], T]) -> T:
    """Run work in a thread; if the caller is cancelled, stop it and wait until nothing reads its files."""
    stopped = threading.Event()
    working = asyncio.ensure_future(asyncio.to_thread(work, stopped.is_set))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        stopped.set()
        await asyncio.wait((working,))
        raise


def _list_files(git: Git) -> list[StateFile]:
    return [StateFile(path, blob) for path, blob in list_state(git)]


def _run_search(
    request: CodeSearchRequest, list_paths: Callable[[], Iterable[str]], search: Callable[[], ActionResult]
) -> ActionResult:
    """Return the result of a search among files, or the reason why it is refused."""
    try:
        if request.pattern and not any(map(make_filter(request.pattern), list_paths())):
            raise LineSearchRefused(f"no file matches {request.pattern}")
        return search()
    except (LineSearchRefused, FileRefused) as error:
        text = f"search {request.kind}: {error}"
        return ActionResult(text=text, summary=f"search {request.kind}: refused", failed=True)


def _search_lines(request: CodeSearchRequest, git: Git) -> ActionResult:
    """Return the lines with a text or an expression; those of tests come last.

    Quotes around all of it, as a shell has them (`"def test_.*x"`), are left out if no line has them.
    """
    chosen = make_filter(request.pattern)

    def choose(paths: Sequence[str]) -> list[str]:
        return sorted(filter(chosen, paths), key=lambda path: (is_test_path(path), path))

    search = partial(search_lines, git, regex=request.kind == "regex", choose=choose)
    query, found = request.query, search(request.query)
    if not found and (quoted := _QUOTED.fullmatch(query)):
        query, found = quoted[2], search(quoted[2])
    entries: list[str] = []
    for path, file_total, lines in found:
        if lines:
            cut = f" ({len(lines)} of its {file_total} lines)" if len(lines) < file_total else ""
            entries += [f"{escape_control_characters(path)}{cut}", *(render_numbered(*line) for line in lines)]
    total, shown = sum(one.total for one in found), sum(len(one.lines) for one in found)
    cut_note = f"{shown} lines are shown; for others add `in FILE`, or use a narrower expression"
    return build_hits(
        f'search {request.kind} "{query[:80]}"',
        f"{total} lines in {len(found)} files" if found else "",
        entries,
        cut_note if shown < total else "",
        "Case counts; try a search by meaning, or a part of the text.",
    )
