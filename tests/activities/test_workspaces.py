"""Workspace activities: paths that may be opened, results of actions, and errors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.errors import PATH_REFUSED
from activities.sandbox import STORE_UNREACHABLE
from activities.workspaces import REPOSITORY_REFUSED, STATE_LOST, WorkspaceActivities
from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import (
    EditRequest,
    FileEdit,
    ListRequest,
    OpenedRepository,
    OpenRequest,
    ReadRequest,
    Replacement,
    RepositorySource,
    StepReply,
    Workspace,
)
from tenure.document_roots import DocumentRoots, add_document_roots, make_run_scope
from tenure.files.file_store import FileStore
from tenure.repositories.opening import pack_source
from tenure.repositories.patches import SharedPatches
from tests.support.repositories.git import commit_files, make_repository, make_workspaces, run_git
from tests.support.servers.object_store import object_store
from tests.support.tiers import slow

RUN = RunId("test")
FILES: dict[str, str | bytes] = {
    "src/a.py": "def add(a, b):\n    return a - b\n",
    "logo.png": b"\x89PNG\0",
    "b.js": "x\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", FILES)


@pytest.fixture
def activities(tmp_path: Path) -> WorkspaceActivities:
    return WorkspaceActivities(make_workspaces(tmp_path / "home"), DocumentRoots((tmp_path,)))


async def open_path(activities: WorkspaceActivities, path: Path | str, **others: Any) -> OpenedRepository:
    """Open a repository."""
    source = RepositorySource(path=str(path), **others)
    return await ActivityEnvironment().run(activities.open_repository, OpenRequest(run=RUN, source=source))


async def edit(activities: WorkspaceActivities, workspace: Workspace, *edits: FileEdit) -> StepReply:
    """Edit files."""
    return await ActivityEnvironment().run(activities.edit_files, EditRequest(workspace=workspace, edits=edits))


def replace(path: str, search: str, new: str) -> FileEdit:
    """Return an edit with one replacement."""
    return FileEdit(path=path, replacements=(Replacement(search=search, replace=new),))


async def test_a_repository_is_described_when_it_is_opened(activities: WorkspaceActivities, repository: Path) -> None:
    """Subject, size, languages, and what cannot be read or is not committed; the files are built."""
    (repository / "link").symlink_to("/etc/passwd")
    commit_files(repository, {}, "Add a link\n\nBody")
    (repository / "b.js").write_text("dirty\n")
    opened = await open_path(activities, repository)
    assert (opened.subject, opened.files, opened.languages) == ("Add a link", 4, ("Python", "JavaScript"))
    assert opened.bytes == sum(len(content) for content in FILES.values()) + len("/etc/passwd")
    assert opened.notes == (
        "changes that are not committed are not part of the work: b.js",
        "binary files, not read: logo.png",
        "symbolic links, kept and not followed: link",
    )
    assert opened.workspace.commit == run_git(repository, "rev-parse", "HEAD")


async def test_a_fix_becomes_a_patch(activities: WorkspaceActivities, repository: Path) -> None:
    """Read, list, edit and patch: each action takes the state that the one before has returned."""
    environment = ActivityEnvironment()
    first = (await open_path(activities, repository)).workspace
    listed = await environment.run(activities.list_files, ListRequest(workspace=first, pattern="*.py"))
    assert listed.text.splitlines()[1:] == ["src/a.py"]
    reply = await edit(
        activities, first, replace("src/a.py", "a - b", "a + b"), FileEdit(path="tests/test_a.py", content="1\n")
    )
    assert reply.edits == ("line 2, +1 -1", "new file, +1 -0")
    change = reply.change
    assert change and (change.added, change.removed) == (2, 1)
    assert [file.path for file in change.files] == ["src/a.py", "tests/test_a.py"]
    assert reply.observation.summary == "edited src/a.py; created tests/test_a.py"
    for workspace, line in ((first, "a - b"), (reply.workspace, "a + b")):
        shown = await environment.run(activities.read_lines, ReadRequest(workspace=workspace, path="src/a.py"))
        assert shown.text.endswith(f"return {line}")
    patch = await environment.run(activities.build_patch, reply.workspace)
    run_git(repository, "apply", "--check", "-", data=patch.text.encode())
    assert [(file.path, file.is_test) for file in patch.files] == [("src/a.py", False), ("tests/test_a.py", True)]
    await environment.run(activities.close_workspace, reply.workspace)
    assert (await environment.run(activities.build_patch, reply.workspace)) == patch


async def test_a_repeated_edit_has_the_same_result(activities: WorkspaceActivities, repository: Path) -> None:
    """An activity that is executed again after a lost reply starts from the state of its request."""
    first = (await open_path(activities, repository)).workspace
    change = replace("src/a.py", "a - b", "a + b")
    assert await edit(activities, first, change) == await edit(activities, first, change)


async def test_a_refused_edit_is_a_result(activities: WorkspaceActivities, repository: Path) -> None:
    """The state stays as it was, with its changes; nothing is built again."""
    first = (await open_path(activities, repository)).workspace
    second = (await edit(activities, first, FileEdit(path="new.py", content="1\n"))).workspace
    reply = await edit(activities, second, replace("src/a.py", "missing", ""), FileEdit(path="c.py", content=""))
    assert reply.observation.failed
    assert reply.edits == ("src/a.py: the lines to replace do not occur", "")
    assert (reply.workspace, reply.change) == (second, None)
    assert reply.observation.summary == "refused: src/a.py: the lines to replace do not occur"
    big = await edit(activities, second, *(FileEdit(path=f"{n}.txt", content="x\n" * 240_000) for n in range(2)))
    assert not big.observation.failed
    assert big.change and [file.path for file in big.change.files] == ["0.txt", "new.py"]
    assert big.change.is_cut and 29_000 < len(big.change.diff) <= 30_000 and big.change.diff.endswith("x\n")


async def test_a_syntax_error_is_part_of_the_result(activities: WorkspaceActivities, repository: Path) -> None:
    """The edit stays, since the next one may complete it."""
    first = (await open_path(activities, repository)).workspace
    reply = await edit(activities, first, replace("src/a.py", "(a, b):", "(a, b"))
    assert not reply.observation.failed and reply.observation.summary.endswith("1 with a syntax error")
    assert reply.edits[0].startswith("line 1, +1 -1; syntax error in src/a.py, line 1: '(' was never closed")


async def test_refused_reads_are_results(activities: WorkspaceActivities, repository: Path) -> None:
    """The model reads the reason."""
    workspace = (await open_path(activities, repository)).workspace
    for path in ("logo.png", "missing.py"):
        shown = await ActivityEnvironment().run(activities.read_lines, ReadRequest(workspace=workspace, path=path))
        assert shown.failed
        assert path in shown.text


async def test_document_roots_apply_to_repositories(tmp_path: Path, repository: Path) -> None:
    """Only the roots of the run are opened, and not folders that a repository in them leads to."""
    home = tmp_path / "home"
    home.mkdir()
    activities = WorkspaceActivities(make_workspaces(home), DocumentRoots((), home))
    with pytest.raises(ApplicationError, match="outside the document roots") as raised:
        await open_path(activities, repository)
    assert (raised.value.type, raised.value.non_retryable) == (PATH_REFUSED, True)
    run_git(tmp_path, "clone", "-q", "--shared", str(repository), "borrower")
    scope = make_run_scope(ActivityEnvironment().info.workflow_id or "")
    add_document_roots(home, [scope], [tmp_path / "borrower"])
    with pytest.raises(ApplicationError, match="outside the document roots"):
        await open_path(activities, tmp_path / "borrower")
    add_document_roots(home, [scope], [repository])
    assert (await open_path(activities, repository)).files == 3
    with pytest.raises(ApplicationError, match="outside the document roots"):
        await open_path(activities, tmp_path / "borrower")
    add_document_roots(home, [scope], [repository / ".git" / "objects"])
    assert (await open_path(activities, tmp_path / "borrower")).files == 3


async def test_errors_have_stable_types(activities: WorkspaceActivities, tmp_path: Path, repository: Path) -> None:
    """A refused repository, a server without permission for the web, and a lost state are not tried again."""
    (tmp_path / "plain").mkdir()
    with pytest.raises(ApplicationError) as raised:
        await open_path(activities, tmp_path / "plain")
    assert (raised.value.type, raised.value.non_retryable) == (REPOSITORY_REFUSED, True)
    with pytest.raises(ApplicationError, match="--web"):
        await open_path(activities, "https://example.org/x")
    workspace = (await open_path(activities, repository)).workspace
    with pytest.raises(ApplicationError) as raised:
        await ActivityEnvironment().run(activities.build_patch, workspace.model_copy(update={"patch": "0" * 64}))
    assert (raised.value.type, raised.value.non_retryable) == (STATE_LOST, True)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileStore]:
    with object_store("bucket") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield FileStore("s3://bucket/files")


async def test_a_client_packs_a_repository_for_workers_elsewhere(
    tmp_path: Path, repository: Path, store: FileStore
) -> None:
    """With an object store, workers take the packed commit and no path of their own machine."""
    activities = WorkspaceActivities(
        make_workspaces(tmp_path / "home", SharedPatches(store), store), DocumentRoots((tmp_path,))
    )
    with pytest.raises(ApplicationError, match="TENURE_FILES_URI for the client"):
        await open_path(activities, repository)
    source = pack_source(repository, "main", store)
    assert source.revision == run_git(repository, "rev-parse", "HEAD")
    repository.rename(tmp_path / "gone")
    opened = await ActivityEnvironment().run(activities.open_repository, OpenRequest(run=RUN, source=source))
    assert (opened.files, opened.workspace.packed) == (3, source.packed)
    reply = await edit(activities, opened.workspace, replace("src/a.py", "a - b", "a + b"))
    other = WorkspaceActivities(make_workspaces(tmp_path / "other", SharedPatches(store), store))
    patch = await ActivityEnvironment().run(other.build_patch, reply.workspace)
    assert "+    return a + b" in patch.text


@slow
async def test_an_object_store_that_is_away_is_tried_again(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The activity is repeated until the store answers."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    store = FileStore("s3://bucket/files")
    activities = WorkspaceActivities(make_workspaces(tmp_path / "home", SharedPatches(store), store))
    with pytest.raises(ApplicationError) as raised:
        await open_path(activities, repository, revision="0" * 40, packed=store.locate("0" * 64))
    assert (raised.value.type, raised.value.non_retryable) == (STORE_UNREACHABLE, False)
