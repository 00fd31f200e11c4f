"""A repository in memory, at the seam where the workflow leaves for files, index and sandbox.

A test says which words in which files make which tests pass; every request is remembered.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from temporalio import activity

from tenure.contracts.coding.repositories import (
    ActionResult,
    ChangedFile,
    ChangeSoFar,
    CheckReport,
    CheckRequest,
    CodeSearchRequest,
    CommandReply,
    CommandRequest,
    CopyStateRequest,
    EditRequest,
    Environment,
    EnvironmentRequest,
    IndexReport,
    ListRequest,
    MapRequest,
    OpenedRepository,
    OpenRequest,
    Patch,
    ProjectCheck,
    ProjectRepairReply,
    ProjectRepairRequest,
    ProjectTest,
    ProjectTestReport,
    ProjectTestRequest,
    ReadRequest,
    SetupReply,
    StepReply,
    TestOutcome,
    Workspace,
)

COMMIT = "a" * 40
Files = Mapping[str, str]


@dataclass
class MemoryRepository:
    """A repository whose test named for a file passes if the file has the word `right`."""

    files: dict[str, str] = field(default_factory=lambda: {"src/a.py": "def f():\n    return 'wrong'\n"})
    tests: dict[str, str] = field(default_factory=lambda: {"tests/test_a.py::test_f": "src/a.py"})
    """Tests by id, with the file that each reads."""
    setup: SetupReply = field(
        default_factory=lambda: SetupReply(
            environment=Environment(key="k", ecosystem="python", test="pytest -q"),
            ready=True,
            observation=ActionResult(text="ready", summary="ready"),
        )
    )
    command: Callable[[str, Files], tuple[int, str]] = lambda command, files: (0, f"ran {command}\n")
    repair: tuple[str, str] | None = None
    """Text and its replacement that a search for a repair finds."""
    states: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[object] = field(default_factory=list)
    """Requests in order of arrival."""

    def _load(self, workspace: Workspace) -> dict[str, str]:
        return dict(self.states[workspace.patch] if workspace.patch else self.files)

    def _store(self, workspace: Workspace, files: dict[str, str]) -> Workspace:
        if files == self.files:
            return workspace.model_copy(update={"patch": ""})
        key = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
        self.states[key] = files
        return workspace.model_copy(update={"patch": key})

    def _changed(self, files: Files) -> tuple[ChangedFile, ...]:
        names = sorted({*files, *self.files})
        return tuple(
            ChangedFile(
                path=name,
                status="added" if name not in self.files else "deleted" if name not in files else "changed",
                added=1,
                removed=1,
                is_test=name.startswith("tests/"),
            )
            for name in names
            if files.get(name) != self.files.get(name)
        )

    def _diff(self, files: Files) -> str:
        return "".join(
            f"diff --git a/{one.path} b/{one.path}\n+{files.get(one.path, '')}" for one in self._changed(files)
        )

    @activity.defn
    async def open_repository(self, request: OpenRequest) -> OpenedRepository:
        self.asked.append(request)
        workspace = Workspace(run=request.run, repository="key", commit=COMMIT)
        return OpenedRepository(workspace=workspace, subject="a commit", files=len(self.files))

    @activity.defn
    async def read_lines(self, request: ReadRequest) -> ActionResult:
        self.asked.append(request)
        text = self._load(request.workspace).get(request.path)
        if text is None:
            return ActionResult(text=f"there is no file {request.path}", summary="not there", failed=True)
        return ActionResult(text=text, summary=f"{len(text.splitlines())} lines")

    @activity.defn
    async def list_files(self, request: ListRequest) -> ActionResult:
        self.asked.append(request)
        return ActionResult(text="\n".join(self._load(request.workspace)), summary="listed")

    @activity.defn
    async def edit_files(self, request: EditRequest) -> StepReply:
        self.asked.append(request)
        files = self._load(request.workspace)
        for edit in request.edits:
            if edit.content is not None:
                files[edit.path] = edit.content
            for one in edit.replacements:
                if files.get(edit.path, "").count(one.search) != 1:
                    failed = ActionResult(text=f"{edit.path}: not once", summary="no match", failed=True)
                    return StepReply(workspace=request.workspace, observation=failed)
                files[edit.path] = files[edit.path].replace(one.search, one.replace)
            if edit.delete:
                files.pop(edit.path)
        observation = ActionResult(text="edited", summary=f"edited {len(request.edits)} file(s)")
        return StepReply(
            workspace=self._store(request.workspace, files),
            observation=observation,
            edits=tuple(f"edit {n} of {len(request.edits)}" for n in range(1, len(request.edits) + 1)),
            change=ChangeSoFar(files=self._changed(files), diff=self._diff(files)),
        )

    @activity.defn
    async def build_patch(self, workspace: Workspace) -> Patch:
        files = self._load(workspace)
        return Patch(workspace=workspace, text=self._diff(files), files=self._changed(files))

    @activity.defn
    async def copy_state(self, request: CopyStateRequest) -> Workspace:
        self.asked.append(request)
        return request.workspace.model_copy(update={"run": request.run, "candidate": 1})

    @activity.defn
    async def close_workspace(self, workspace: Workspace) -> None:
        self.asked.append(workspace)

    @activity.defn
    async def index_repository(self, workspace: Workspace) -> IndexReport:
        return IndexReport(files=len(self.files), symbols=1)

    @activity.defn
    async def search_code(self, request: CodeSearchRequest) -> ActionResult:
        self.asked.append(request)
        return ActionResult(text="src/a.py:1 f\n    def f():", summary="1 place")

    @activity.defn
    async def map_repository(self, request: MapRequest) -> ActionResult:
        return ActionResult(text="src/a.py\n  f", summary="1 file")

    @activity.defn
    async def set_up_environment(self, request: EnvironmentRequest) -> SetupReply:
        self.asked.append(request)
        if self.setup.needs_network and request.allow_network:
            return self.setup.model_copy(update={"needs_network": False, "ready": True})
        return self.setup

    @activity.defn
    async def run_command(self, request: CommandRequest) -> CommandReply:
        self.asked.append(request)
        code, text = self.command(request.command, self._load(request.workspace))
        observation = ActionResult(text=text, summary=f"exit code {code}")
        return CommandReply(workspace=request.workspace, observation=observation, exit_code=code)

    @activity.defn
    async def run_project_tests(self, request: ProjectTestRequest) -> ProjectTestReport:
        self.asked.append(request)
        files = self._load(request.workspace)
        tests = self.tests | {f"{name}::test_new": "src/a.py" for name in files if name not in self.files}
        if request.original_code:
            files = self.files
        if request.ids:
            tests = {name: path for name, path in tests.items() if name.startswith(request.ids)}
        results = tuple(
            ProjectTest(
                id=name,
                path=name.partition("::")[0],
                outcome="passed" if "right" in files.get(path, "") else "failed",
                message="" if "right" in files.get(path, "") else f"AssertionError in {path}",
            )
            for name, path in tests.items()
        )
        passed = sum(test.outcome == "passed" for test in results)
        counts: dict[TestOutcome, int] = {"passed": passed, "failed": len(results) - passed}
        return ProjectTestReport(command="pytest", tests=results, counts=counts, exit_code=0, seconds=0.1)

    @activity.defn
    async def repair_project(self, request: ProjectRepairRequest) -> ProjectRepairReply:
        self.asked.append(request)
        files = self._load(request.workspace)
        unchanged = ActionResult(text="", summary="7 edits tried, none passes", failed=True)
        if self.repair is None or self.repair[0] not in files["src/a.py"]:
            places = ("src/a.py:2 f",)
            return ProjectRepairReply(workspace=request.workspace, observation=unchanged, tried=7, places=places)
        files["src/a.py"] = files["src/a.py"].replace(*self.repair)
        return ProjectRepairReply(
            workspace=self._store(request.workspace, files),
            observation=ActionResult(text="edited", summary="src/a.py line 2"),
            change=ChangeSoFar(files=self._changed(files), diff=self._diff(files)),
            changes=(f"line 2: `{self.repair[0]}` became `{self.repair[1]}`",),
            tried=7,
        )

    @activity.defn
    async def run_project_checks(self, request: CheckRequest) -> CheckReport:
        return CheckReport(
            checks=tuple(
                ProjectCheck(command=command, error="No module named lint" if "lint" in command else "")
                for command in request.environment.checks
            )
        )
