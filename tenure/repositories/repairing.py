"""Repair a project by search: try small edits of the functions that failing tests execute until they pass.

The failing tests run first with a line trace, then as many other tests as there is time for, so that the search starts
at the most suspicious lines (spectrum-based fault localization). Candidates are screened, many per start of the
sandbox, by the failing tests and by tests that passed and execute the edited line. All tests of the project then run
with a promising one, and only they count.
"""

import ast
import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from tenure.algorithms.coding.code_files import is_test_path
from tenure.algorithms.coding.repair import LineCoverage, ProgramCandidate, compute_ochiai, generate_candidates
from tenure.algorithms.coding.test_commands import TestPlan, build_pytest_variables, plan_tests
from tenure.algorithms.text.code_blocks import parse_python
from tenure.contracts.base import Contract
from tenure.contracts.coding.repositories import (
    ActionResult,
    ProjectRepairReply,
    ProjectRepairRequest,
    ProjectTestRequest,
)
from tenure.contracts.result.programs import RepairProgress
from tenure.repositories.environments import Environments
from tenure.repositories.locks import run_to_end
from tenure.repositories.project_tests import ProjectTests, read_scripts
from tenure.repositories.workspaces import RecordedState, Workspaces
from tenure.sandbox.base import WORKSPACE, CommandOutcome, FolderCommand, FolderSandbox
from tenure.sandbox.folders import place_file, read_file
from tenure.sandbox.repairing import ScreeningResult, read_screening, search_candidates

TRACE_SHARE: Final = 0.25
"""Share of the time that is spent on tracing tests that pass: a trace makes a test about five times slower."""
MAX_TRACE_SECONDS: Final = 15.0
"""Time of these tests: within it, a trace of a suite of 3 s ends."""
MAX_FAILING: Final = 12
"""Failing tests that screen a candidate."""
MAX_PASSING: Final = 40
"""Passing tests that screen a candidate: the shortest that execute the edited line."""
MAX_PASSING_SECONDS: Final = 2.0
"""Time of these tests together, traced."""
START_SECONDS: Final = 1.0
"""Processor seconds of a candidate's process besides its tests."""
MAX_SECONDS_EACH: Final = 20.0
"""Processor seconds of a candidate."""
RETRY_TIME_FACTOR: Final = 2
"""Factor by which a slow candidate gets more time; the time of its tests is known."""
MAX_PLACES: Final = 5
_COLLECTION_SECONDS: Final = 60
"""Time of pytest to import the tests, on a busy machine."""
_MAX_FILE_BYTES: Final = 1 << 20
_USAGE_ERROR: Final = 4
"""Exit code of pytest for a wrong command line, such as an option of a plugin that is not installed."""


class TracedTest(Contract):
    """Lines that a test has executed."""

    __test__ = False  # not a pytest class

    id: str = ""
    passed: bool = False
    seconds: float = 0.0
    lines: dict[str, frozenset[int]] = {}
    """Lines by file."""


class ProjectTrace(Contract):
    """Lines that the tests of a project have executed."""

    imported: TracedTest = TracedTest()
    """Lines that every test executes by importing the project."""
    tests: tuple[TracedTest, ...] = ()


class ProjectRepair:
    """Search for repairs of projects.

    Args:
        sandbox: sandbox of commands.
        workspaces: files of states.
        environments: environments of projects.
        tests: runner of all tests.
    """

    def __init__(
        self, sandbox: FolderSandbox, workspaces: Workspaces, environments: Environments, tests: ProjectTests
    ) -> None:
        self._sandbox, self._workspaces, self._environments, self._tests = sandbox, workspaces, environments, tests

    async def search(
        self,
        request: ProjectRepairRequest,
        progress: RepairProgress,
        report_progress: Callable[[RepairProgress], None],
    ) -> ProjectRepairReply:
        """Search for a small edit that makes failing tests pass, after an earlier search for it.

        Raises:
            SandboxError: the sandbox could not be set up.
            RepositoryError: the files of the state are not available.
            EnvironmentLost: the environment cannot be installed again.
        """
        began = time.monotonic()
        project = _Project(self._sandbox, self._workspaces, self._environments, request)
        trace, progress = await self._trace(project, request, progress)
        sources = await project.read_sources(trace)
        suspicion = await asyncio.to_thread(compute_suspicion, trace, request, sources)
        progress = progress.model_copy(update={"seconds": progress.seconds + time.monotonic() - began})
        report_progress(progress)
        tester = _ProjectTester(project, request, trace, self._tests, self._workspaces)
        candidates = generate_candidates(sources, suspicion)
        end = await search_candidates(candidates, tester, request.seconds, progress, report_progress)
        places = await asyncio.to_thread(list_places, sources, suspicion)
        if end.candidate is None or tester.accepted is None:
            return ProjectRepairReply(
                workspace=request.workspace,
                observation=ActionResult(
                    text="", summary=f"{end.progress.tried} edits tried, none passes", failed=True
                ),
                places=places,
                tried=end.progress.tried,
                exhausted=end.exhausted,
            )
        changes, state = end.candidate.changes, tester.accepted
        summary = f"{end.candidate.path} {'; '.join(changes)}"
        return ProjectRepairReply(
            workspace=state.workspace,
            observation=ActionResult(text=summary, summary=summary),
            change=state.change,
            changes=changes,
            places=places,
            tried=end.progress.tried,
        )

    async def _trace(
        self, project: "_Project", request: ProjectRepairRequest, progress: RepairProgress
    ) -> tuple[ProjectTrace, RepairProgress]:
        """Return the lines that tests execute; a repetition of the search needs the same ones for the same order."""
        patches, run = self._workspaces.patches, request.workspace.run
        stored = await asyncio.to_thread(patches.load_patch, run, progress.trace) if progress.trace else None
        if stored is not None:
            return ProjectTrace.model_validate_json(stored), progress
        trace = await project.trace()
        content = trace.model_dump_json().encode()
        digest = hashlib.sha256(content).hexdigest()
        await run_to_end(partial(patches.save_patch, run, digest, content))
        return trace, RepairProgress(seconds=progress.seconds, trace=digest)


class _Project:
    """Commands of the plugin `tenure_pytest_repair` in copies of a state."""

    def __init__(
        self,
        sandbox: FolderSandbox,
        workspaces: Workspaces,
        environments: Environments,
        request: ProjectRepairRequest,
    ) -> None:
        self._sandbox, self._workspaces, self._environments = sandbox, workspaces, environments
        self._request = request
        self._options = ""

    async def trace(self) -> ProjectTrace:
        """Run the tests and record the lines that each executes."""
        request = self._request
        seconds = min(request.seconds * TRACE_SHARE, MAX_TRACE_SECONDS)
        job = {"mode": "trace", "failing": request.failing, "seconds": seconds}
        return await asyncio.to_thread(_read_trace, await self.run(job, (), request.limits.wall_seconds))

    async def run(self, job: Mapping[str, Any], ids: Sequence[str], wall_seconds: float) -> bytes:
        """Run the test command with a job of the plugin, and return its report."""
        outcome = await self._run(job, ids, wall_seconds)
        if outcome.exit_code == _USAGE_ERROR and not outcome.report and not self._options:
            # The project's own options need a plugin that is not installed.
            self._options = "-o addopts="
            outcome = await self._run(job, ids, wall_seconds)
        return outcome.report

    async def _run(self, job: Mapping[str, Any], ids: Sequence[str], wall_seconds: float) -> CommandOutcome:
        request = self._request
        async with self._workspaces.copy(request.workspace) as folder:
            plan: TestPlan = plan_tests(request.environment.test, ids, await run_to_end(partial(read_scripts, folder)))
            variables = {
                **dict(request.environment.variables),
                **plan.variables,
                **build_pytest_variables(self._options, plugin="tenure_pytest_repair"),
                "PYTHONDONTWRITEBYTECODE": "1",
            }
            limits = request.limits.model_copy(
                update={"wall_seconds": min(wall_seconds, request.limits.wall_seconds), "artifacts": 0}
            )
            async with self._environments.use(request.workspace, request.environment, folder) as environment:
                return await self._sandbox.run_command(
                    FolderCommand(
                        plan.command,
                        folder,
                        environment,
                        variables=variables,
                        stdin=json.dumps({"folder": WORKSPACE, **job}),
                        has_report=True,
                        limits=limits,
                    )
                )

    async def read_sources(self, trace: ProjectTrace) -> dict[str, str]:
        """Return the files of the project that failing tests execute, by their paths; tests are not among them."""
        failing = [test for test in trace.tests if test.id in self._request.failing]
        paths = sorted({path for test in failing for path in test.lines if path.endswith(".py")})
        async with self._workspaces.copy(self._request.workspace) as folder:
            return await run_to_end(lambda: _read_sources(folder, [path for path in paths if not is_test_path(path)]))


class _ProjectTester:
    """Tests of the candidates of a project."""

    def __init__(
        self,
        project: _Project,
        request: ProjectRepairRequest,
        trace: ProjectTrace,
        tests: ProjectTests,
        workspaces: Workspaces,
    ) -> None:
        self._project, self._request, self._tests, self._workspaces = project, request, tests, workspaces
        self._import_seconds = trace.imported.seconds
        traced = sorted(trace.tests, key=lambda test: (test.id not in request.targets, test.seconds))
        self._failing = [test for test in traced if test.id in request.failing][:MAX_FAILING]
        self._passing = [test for test in traced if test.passed and test.id not in request.failing]
        self.accepted: RecordedState | None = None
        """State with the candidate that all tests accept."""

    async def screen(self, waiting: list[ProgramCandidate], seconds: float) -> ScreeningResult:
        """Run failing tests, and some others, on candidates that are tried in the same way."""
        fresh = self._is_fresh(waiting[0])
        batch: list[ProgramCandidate] = []
        for candidate in waiting:
            if self._is_fresh(candidate) != fresh:
                break
            batch.append(candidate)
        names: dict[str, int] = {}
        listed = [self._describe(candidate, names, fresh=fresh) for candidate in batch]
        job = {
            **{"mode": "screen", "fresh": fresh, "seconds": seconds, "retry_factor": RETRY_TIME_FACTOR},
            **{"targets": [test.id for test in self._failing if test.id in self._request.targets]},
            **{"candidates": listed, "tests": list(names)},
        }
        files = tuple(dict.fromkeys(name.split("::")[0] for name in names))
        report = await self._project.run(job, files, 2 * seconds + _COLLECTION_SECONDS)
        lines = [_read_object(line) for line in report.splitlines()]
        return read_screening(
            [(str(line.get("kind")), line["number"]) for line in lines if isinstance(line.get("number"), int)],
            len(batch),
        )

    async def verify(self, promising: list[ProgramCandidate], seconds: float) -> ProgramCandidate | None:
        """Run all tests of the project with each candidate, and return the first with which nothing else fails."""
        request = self._request
        for candidate in promising:
            state = await self._record(candidate)
            report = await self._tests.run(
                ProjectTestRequest(
                    workspace=state.workspace,
                    environment=request.environment,
                    baseline=request.baseline,
                    limits=request.limits,
                )
            )
            failed = {test.id for test in report.tests if test.outcome in ("failed", "error")}
            still = failed.intersection(request.targets or request.failing)
            is_fixed = not still if request.targets else len(still) < len(request.failing)
            if not report.error and not report.lost_count and is_fixed:
                self.accepted = state
                return candidate
        return None

    async def _record(self, candidate: ProgramCandidate) -> RecordedState:
        async with self._workspaces.open(self._request.workspace) as folder:
            mode = (folder / candidate.path).stat(follow_symlinks=False).st_mode & 0o777
            content = candidate.source.encode()
            await run_to_end(partial(place_file, folder, candidate.path, content, mode=mode))
            return await self._workspaces.record(self._request.workspace)

    def _is_fresh(self, candidate: ProgramCandidate) -> bool:
        """Return whether an edit takes effect only when the project is imported: no failing test executes the line."""
        return not all(
            any(edit.line in test.lines.get(candidate.path, ()) for test in self._failing) for edit in candidate.edits
        )

    def _describe(self, candidate: ProgramCandidate, names: dict[str, int], *, fresh: bool) -> dict[str, Any]:
        """Return a candidate with the tests that screen it, which `names` numbers.

        A failing test that does not execute the edited line fails for another reason, such as a program that is not
        installed: the edit cannot repair it.
        """

        def is_concerned(test: TracedTest) -> bool:
            lines = test.lines.get(candidate.path, frozenset())
            return bool(lines) and (fresh or any(edit.line in lines for edit in candidate.edits))

        failing = [test for test in self._failing if fresh or is_concerned(test)]
        chosen: list[TracedTest] = []
        left = MAX_PASSING_SECONDS
        for test in filter(is_concerned, self._passing):
            left -= test.seconds
            if left < 0 or len(chosen) == MAX_PASSING:
                break
            chosen.append(test)
        tests = sum(test.seconds for test in (*failing, *chosen))
        seconds = START_SECONDS + tests + (self._import_seconds if fresh else 0.0)
        return {
            "path": candidate.path,
            "edits": [(edit.start, edit.end, edit.text) for edit in candidate.edits],
            "failing": [names.setdefault(test.id, len(names)) for test in failing],
            "kept": [names.setdefault(test.id, len(names)) for test in chosen],
            "seconds": min(seconds, MAX_SECONDS_EACH),
        }


def compute_suspicion(
    trace: ProjectTrace, request: ProjectRepairRequest, sources: Mapping[str, str]
) -> dict[str, dict[int, float]]:
    """Return the suspicion of the lines of each file that every target executes, or any failing test without targets.

    Lines that are executed by the import of the project count as executed by every test.
    """
    suspicion = {}
    tests = [test for test in trace.tests if test.passed or test.id in request.failing]
    targets = [test for test in tests if test.id in request.targets]
    for path in sources:
        imported = trace.imported.lines.get(path, frozenset())
        coverage = [
            LineCoverage(test.lines.get(path, frozenset()) | imported, test.id not in request.failing) for test in tests
        ]
        lines = compute_ochiai(coverage)
        common = [test.lines.get(path, frozenset()) | imported for test in targets]
        suspicion[path] = {line: one for line, one in lines.items() if all(line in other for other in common)}
    return {path: lines for path, lines in suspicion.items() if lines}


def list_places(sources: Mapping[str, str], suspicion: Mapping[str, Mapping[int, float]]) -> tuple[str, ...]:
    """Return the functions with the most suspicious lines, as `path:line function`."""
    ranked = sorted(
        ((one, path, line) for path, lines in suspicion.items() for line, one in lines.items()),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    places: dict[tuple[str, str], str] = {}
    functions = {path: _list_functions(source) for path, source in sources.items()}
    for _, path, line in ranked:
        around = [node.name for node in functions[path] if node.lineno <= line <= (node.end_lineno or node.lineno)]
        if around:
            places.setdefault((path, around[-1]), f"{path}:{line} {around[-1]}")
        if len(places) == MAX_PLACES:
            break
    return tuple(places.values())


def _list_functions(source: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions of a file, outer ones before those in them."""
    tree = parse_python(source)
    nodes = ast.walk(tree) if tree else ()
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _read_trace(report: bytes) -> ProjectTrace:
    """Read the lines of a report, without those that cannot be read."""
    imported, tests = TracedTest(), []
    for line in report.splitlines():
        facts = _read_object(line)
        kind = facts.pop("kind", "")
        try:
            test = TracedTest.model_validate(facts)
        except ValidationError:
            continue
        if kind == "import":
            imported = test
        elif kind == "test":
            tests.append(test)
    return ProjectTrace(imported=imported, tests=tuple(tests))


def _read_object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_sources(folder: Path, paths: Sequence[str]) -> dict[str, str]:
    sources = {}
    for path in paths:
        try:
            content = read_file(folder, path, _MAX_FILE_BYTES)
            sources[path] = (content or b"").decode()
        except (ValueError, OSError):  # no text, or a path that the report has invented
            continue
    return {path: source for path, source in sources.items() if source}
