"""Run the tests of a project in a copy of a state that is thrown away, and read their reports outside of the sandbox.

The code under test runs in the same sandbox as what reports about it, and in Python in the same process. So a report is
evidence and no proof: it must carry the secret of the run, end once, and agree with the exit code; the level of proof
and the limits are part of the result.
"""

import asyncio
import hashlib
import json
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from tenure.algorithms.coding.code_files import is_test_path
from tenure.algorithms.coding.test_commands import OUTPUT_NAME, TestPlan, build_pytest_variables, plan_tests
from tenure.algorithms.coding.test_reports import (
    ParsedReport,
    make_test,
    merge_tests,
    parse_cargo_report,
    parse_go_report,
    parse_jest_report,
    parse_mocha_report,
    parse_output,
    parse_plugin_report,
    parse_tap_report,
)
from tenure.contracts.coding.repositories import (
    ActionResult,
    CheckReport,
    CheckRequest,
    ProjectCheck,
    ProjectTest,
    ProjectTestReport,
    ProjectTestRequest,
    TestOutcome,
    Workspace,
)
from tenure.contracts.sandbox import ProofLevel
from tenure.repositories.environments import Environments
from tenure.repositories.junit import parse_junit_report
from tenure.repositories.locks import run_to_end
from tenure.repositories.observations import NETWORK_ERROR, bound_text, show_end, show_outcome
from tenure.repositories.workspaces import Workspaces
from tenure.sandbox.base import CommandOutcome, FolderCommand, FolderSandbox
from tenure.sandbox.folders import delete_file, place_file, read_file

MAX_FAILED: Final = 100
"""Failed tests of a report."""
MAX_OTHER: Final = 100
"""Other tests of a report."""
MAX_LOST: Final = 50
"""Lost tests of a report."""
MAX_COMPLAINTS: Final = 500
"""Lines of a linter or type checker."""
_MAX_PACKAGE_BYTES: Final = 1 << 20
_MAX_TEST_FILE_BYTES: Final = 32 << 20
_USAGE_ERROR: Final = 4
"""Exit code of pytest for a wrong command line, such as an option of a plugin that is not installed."""
_NO_TESTS: Final = 5
"""Exit code of pytest if no test was selected."""
# Exit codes of the shell for a program that cannot be executed, or is not found
_NOT_FOUND: Final = (126, 127)
_OWN_RUNNERS: Final = ("pytest", "unittest")
"""Runners whose tests are reported by plugins of the sandbox, so that no other report of them counts."""
_OUTCOMES: Final[tuple[TestOutcome, ...]] = ("passed", "failed", "error", "skipped")
# `src/a.py:12:5: E501 Line too long`, `a.py:3: error: …`, `a.ts(3,4): error`
_POSITION: Final = re.compile(r"(?<=[\w)])[:(]\d+(?:[:,]\d+)?\)?(?=:)")


class ProjectTests:
    """Runner of the tests, linters and type checkers of projects.

    Args:
        sandbox: sandbox of commands.
        workspaces: files of states.
        environments: environments of projects.
    """

    def __init__(self, sandbox: FolderSandbox, workspaces: Workspaces, environments: Environments) -> None:
        self._sandbox, self._workspaces, self._environments = sandbox, workspaces, environments

    async def run(self, request: ProjectTestRequest) -> ProjectTestReport:
        """Run tests and return their results.

        Raises:
            SandboxError: the sandbox could not be set up.
            RepositoryError: the files of the state are not available.
            EnvironmentLost: the environment cannot be installed again.
        """
        if not request.environment.test:
            return _report_error("", "no test command is known: give one")
        base = request.workspace.model_copy(update={"patch": ""}) if request.original_code else request.workspace
        async with self._workspaces.copy(base) as folder:
            if request.original_code:
                await self._copy_tests(request.workspace, request.workspace, folder)
            elif request.original_tests:
                await self._copy_tests(request.workspace, request.workspace.model_copy(update={"patch": ""}), folder)
            for path, content in request.hidden:
                await run_to_end(partial(place_file, folder, path, content.encode()))
            scripts = await run_to_end(partial(read_scripts, folder))
            files = {name for name in request.ids if (folder / name).is_file()}
            plan = plan_tests(request.environment.test, request.ids, scripts)
            async with self._environments.use(request.workspace, request.environment, folder) as environment:
                secret = secrets.token_hex(16)
                run = partial(self._run, request, folder, environment, secret)
                outcome = await run(plan, plan.variables)
                note = ""
                if _lacks_plugin(plan, outcome):
                    # The project's own options need a plugin that is not installed.
                    note = f"run without the options of its configuration: {_find_usage_error(outcome)}"
                    outcome = await run(plan, {**plan.variables, **build_pytest_variables("-o addopts=")})
        parsed = _add_exit_code(request, plan, outcome, await asyncio.to_thread(_parse, plan, outcome, secret))
        tests = parsed.tests if plan.selects else _select(parsed.tests, request.ids, files)
        return await self._describe(request, plan, outcome, parsed, tests, note)

    async def check(self, request: CheckRequest) -> CheckReport:
        """Run linters and type checkers.

        Raises:
            SandboxError: the sandbox could not be set up.
            RepositoryError: the files of the state are not available.
            EnvironmentLost: the environment cannot be installed again.
        """
        checks = []
        for command in request.environment.checks:
            async with (
                self._workspaces.copy(request.workspace) as folder,
                self._environments.use(request.workspace, request.environment, folder) as environment,
            ):
                variables = dict(request.environment.variables)
                outcome = await self._sandbox.run_command(
                    FolderCommand(command, folder, environment, variables=variables, limits=request.limits)
                )
            checks.append(describe_check(command, outcome))
        return CheckReport(checks=tuple(checks))

    async def _run(
        self,
        request: ProjectTestRequest,
        folder: Path,
        environment: Path | None,
        secret: str,
        plan: TestPlan,
        variables: Mapping[str, str],
    ) -> CommandOutcome:
        return await self._sandbox.run_command(
            FolderCommand(
                plan.command,
                folder,
                environment,
                variables=_merge_variables(plan, dict(request.environment.variables), variables),
                stdin=secret + "\n",
                has_report=True,
                limits=request.limits,
            )
        )

    async def _copy_tests(self, workspace: Workspace, source: Workspace, folder: Path) -> None:
        """Make the files of tests that a patch changes those of another state."""
        _, changed = await self._workspaces.read_patch(workspace)
        paths = [file.path for file in changed if is_test_path(file.path)]
        if not paths:
            return
        async with self._workspaces.copy(source) as source_folder:
            await run_to_end(partial(_copy_files, source_folder, folder, paths))

    async def _describe(
        self,
        request: ProjectTestRequest,
        plan: TestPlan,
        outcome: CommandOutcome,
        parsed: ParsedReport,
        tests: Sequence[ProjectTest],
        note: str,
    ) -> ProjectTestReport:
        passed = sorted(test.id for test in tests if test.outcome == "passed")
        failed = [test for test in tests if test.outcome in ("failed", "error")]
        others = sorted(
            (test for test in tests if test.outcome not in ("failed", "error")),
            key=lambda test: test.id not in request.reported,
        )
        error = parsed.error or _find_error(plan, outcome, parsed.tests, tests, request.ids)
        lost, still_passing = await self._compare(request, tests)
        counted = [test for test in tests if test.id != _name_exit_code(request)]
        counts = Counter(test.outcome for test in counted)
        notes = [*([note] if note else []), *parsed.notes, *_list_notes(plan, outcome, failed)]
        if tests and not counted:
            notes.append(f"exit code only: no test of `{request.environment.test}` was counted")
        summary = _summarize(counts, error, outcome)
        return ProjectTestReport(
            command=request.environment.test,
            tests=(*failed[:MAX_FAILED], *others[:MAX_OTHER]),
            counts=dict(counts),
            exit_code=outcome.exit_code,
            seconds=outcome.seconds,
            proof=_find_proof(plan, parsed, error),
            error=error,
            passed_digest=await self._save(request, passed) if passed else "",
            lost=tuple(lost[:MAX_LOST]),
            lost_count=len(lost),
            kept=still_passing,
            notes=tuple(notes),
            observation=ActionResult(
                text=_show_tests(summary, failed, outcome, error, notes),
                summary=f"tests: {summary}",
                failed=bool(error or failed),
            ),
        )

    async def _save(self, request: ProjectTestRequest, passed: Sequence[str]) -> str:
        content = "\n".join(passed).encode()
        digest = hashlib.sha256(content).hexdigest()
        await run_to_end(partial(self._workspaces.patches.save_patch, request.workspace.run, digest, content))
        return digest

    async def _compare(
        self, request: ProjectTestRequest, tests: Sequence[ProjectTest]
    ) -> tuple[list[ProjectTest], int]:
        """Return the tests of the baseline that did not pass now, and the number of those that did."""
        if not request.baseline:
            return [], 0
        content = await asyncio.to_thread(self._workspaces.patches.load_patch, request.workspace.run, request.baseline)
        earlier = [] if content is None else content.decode().split("\n")
        by_id = {test.id: test for test in tests}
        if request.ids:
            earlier = [name for name in earlier if name in by_id]
        missing = "it passed before, and was not run now"
        lost = [by_id.get(name) or ProjectTest(id=name, outcome="error", message=missing) for name in earlier]
        lost = [test for test in lost if test.outcome in ("failed", "error")]
        still_passing = sum(1 for name in earlier if name in by_id and by_id[name].outcome == "passed")
        return lost, still_passing


def _merge_variables(plan: TestPlan, own: dict[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a command; a `go test` that it starts names its tests."""
    flags = {"GOFLAGS": f"{own.get('GOFLAGS', '')} -v".strip()} if plan.runner == "other" else {}
    return {**own, **flags, **variables}


def read_scripts(folder: Path) -> dict[str, str]:
    """Return the scripts of package.json."""
    try:
        package = json.loads(read_file(folder, "package.json", _MAX_PACKAGE_BYTES) or b"{}")
        scripts = package.get("scripts", {})
        return {str(name): str(script) for name, script in scripts.items()}
    except (ValueError, AttributeError, RecursionError):
        return {}


def _copy_files(source: Path, folder: Path, paths: Sequence[str]) -> None:
    for path in paths:
        content = read_file(source, path, _MAX_TEST_FILE_BYTES)
        if content is None:
            delete_file(folder, path)
        else:
            place_file(folder, path, content, mode=(source / path).stat(follow_symlinks=False).st_mode & 0o777)


def _parse(plan: TestPlan, outcome: CommandOutcome, secret: str) -> ParsedReport:
    """Return the tests of all reports of a run."""
    is_other = plan.runner == "other"
    reports = []
    if outcome.report or plan.runner in _OWN_RUNNERS:
        reports.append(parse_plugin_report(outcome.report, secret, None if is_other else outcome.exit_code))
        if not is_other:
            return reports[0]
    reports += [parse_junit_report(content) for name, content in outcome.files.items() if name.endswith(".xml")]
    parsers = {"go": parse_go_report, "cargo": parse_cargo_report, "tap": parse_tap_report, "other": parse_output}
    if plan.runner in parsers:
        text = outcome.files.get(OUTPUT_NAME, b"").decode(errors="replace")
        reports.append(parsers[plan.runner](text))
    json_parsers = {
        "jest.json": parse_jest_report,
        "vitest.json": parse_jest_report,
        "mocha.json": parse_mocha_report,
    }
    reports += [
        parse(outcome.files[name].decode(errors="replace"))
        for name, parse in json_parsers.items()
        if name in outcome.files
    ]
    error = next((report.error for report in reports if report.error), "")
    tests = merge_tests(test for report in reports for test in report.tests)
    return ParsedReport(tests, error, tuple(note for report in reports for note in report.notes))


def _name_exit_code(request: ProjectTestRequest) -> str:
    return f"exit code of {request.environment.test}"


def _add_exit_code(
    request: ProjectTestRequest, plan: TestPlan, outcome: CommandOutcome, parsed: ParsedReport
) -> ParsedReport:
    """Return the tests of a command that is no runner, with one for its exit code: other tests may not be counted."""
    is_none = outcome.exit_code == _NO_TESTS and not parsed.tests
    is_run = outcome.exit_code is not None and outcome.exit_code not in _NOT_FOUND
    if plan.runner != "other" or parsed.error or is_none or not is_run:
        return parsed
    message = "" if outcome.exit_code == 0 else f"{show_outcome(outcome)}: {outcome.stdout.strip()[-400:]}"
    test = make_test(_name_exit_code(request), "failed" if outcome.exit_code else "passed", message)
    return replace(parsed, tests=(test, *parsed.tests))


def _select(tests: Sequence[ProjectTest], ids: Sequence[str], files: Set[str]) -> tuple[ProjectTest, ...]:
    """Return the requested tests, by their ids or `files`, of a run of all; all, if their report names no such file.

    TAP names no files, and Cargo only those of test binaries.
    """
    if not ids or files - {test.path for test in tests}:
        return tuple(tests)
    requested = set(ids)
    return tuple(test for test in tests if test.id in requested or test.path in requested)


def _lacks_plugin(plan: TestPlan, outcome: CommandOutcome) -> bool:
    return plan.runner == "pytest" and outcome.exit_code == _USAGE_ERROR and bool(_find_usage_error(outcome))


def _find_usage_error(outcome: CommandOutcome) -> str:
    lines = [line.strip() for line in f"{outcome.stderr}\n{outcome.stdout}".splitlines()]
    return next((line for line in lines if "unrecognized arguments" in line), "")[:300]


def _find_error(
    plan: TestPlan,
    outcome: CommandOutcome,
    all_tests: Sequence[ProjectTest],
    tests: Sequence[ProjectTest],
    ids: Sequence[str],
) -> str:
    """Return the reason for which tests could not be run or counted; empty if they were."""
    limits = [limit for limit in outcome.limits_hit if limit != "artifacts"]
    if limits:
        return f"{show_outcome(outcome)} after {len(all_tests)} tests"
    if outcome.exit_code is None:
        return f"the tests were {show_outcome(outcome)}"
    if outcome.exit_code in _NOT_FOUND:
        return f"the test command cannot be run: {show_end(outcome.stderr)[-300:]}"
    if all_tests:
        return "" if tests or not ids else "none of the requested tests was run"
    if outcome.exit_code == _NO_TESTS:
        return "no test was found"
    if outcome.exit_code != 0:
        return f"the tests failed without a report ({show_outcome(outcome)})"
    # Of other runners only the exit code may be known: 0 is a success of unknown extent.
    return "the tests ended without a report" if plan.runner in _OWN_RUNNERS else ""


def _list_notes(plan: TestPlan, outcome: CommandOutcome, failed: Sequence[ProjectTest]) -> list[str]:
    notes = []
    if network := [test for test in failed if NETWORK_ERROR.search(test.message)]:
        notes.append(f"{len(network)} tests look for a network, which tests do not have; the first is {network[0].id}")
    elif NETWORK_ERROR.search(outcome.stderr + outcome.stdout) and failed:
        notes.append("the tests look for a network, which they do not have")
    if failed and outcome.exit_code == 0 and plan.runner != "other":
        notes.append("tests failed, and their command ended with exit code 0")
    if outcome.exit_code and not failed and not outcome.limits_hit:
        notes.append(f"no test failed, and their command ended with {show_outcome(outcome)}")
    if not outcome.report and plan.runner != "other":
        notes.append("the report was written by a process of the project")
    return notes


def _find_proof(plan: TestPlan, parsed: ParsedReport, error: str) -> ProofLevel:
    if error:
        return "none"
    return "tests_in_same_process" if plan.runner in _OWN_RUNNERS and parsed.tests else "exit_code"


def _summarize(counts: Mapping[TestOutcome, int], error: str, outcome: CommandOutcome) -> str:
    parts = [f"{counts[kind]:,} {kind}" for kind in _OUTCOMES if counts.get(kind)]
    text = ", ".join(parts) or show_outcome(outcome)
    return f"{text}; {error}" if error else text


def _show_tests(
    summary: str, failed: Sequence[ProjectTest], outcome: CommandOutcome, error: str, notes: Sequence[str]
) -> str:
    lines = [f"{summary} ({outcome.seconds:.1f} s)", *(f"note: {note}" for note in notes)]
    lines += [f"{test.outcome.upper()} {test.id}\n    {test.message}".rstrip() for test in failed[:30]]
    if len(failed) > 30:
        lines.append(f"and {len(failed) - 30:,} more")
    if error or failed:
        lines += ["end of the output:", show_end(f"{outcome.stderr}\n{outcome.stdout}")]
    return bound_text("\n".join(lines))


def _report_error(command: str, error: str) -> ProjectTestReport:
    observation = ActionResult(text=error, summary=f"tests: {error}", failed=True)
    return ProjectTestReport(command=command, error=error, observation=observation)


def describe_check(command: str, outcome: CommandOutcome) -> ProjectCheck:
    """Return the complaints of a linter or type checker, without numbers of lines, which every change moves."""
    if outcome.exit_code in _NOT_FOUND or outcome.exit_code is None or outcome.limits_hit:
        return ProjectCheck(command=command, exit_code=outcome.exit_code, error=_describe_failed_check(outcome))
    text = f"{outcome.stdout}\n{outcome.stderr}"
    if "No module named" in text and outcome.exit_code == 1 and not outcome.stdout.strip():
        return ProjectCheck(command=command, exit_code=outcome.exit_code, error=show_end(text)[-200:])
    lines = [_POSITION.sub("", line.strip()) for line in text.splitlines()]
    return ProjectCheck(
        command=command,
        exit_code=outcome.exit_code,
        complaints=tuple(line[:300] for line in lines if line)[:MAX_COMPLAINTS] if outcome.exit_code else (),
    )


def _describe_failed_check(outcome: CommandOutcome) -> str:
    return f"{show_outcome(outcome)} {show_end(outcome.stderr)[-200:]}".strip()
