"""Prepare the work in a repository while the model reads already: set-up, index, map, and the tests of the commit.

A step that fails costs a note. The first answer waits briefly for the map, which would later only repeat what the model
has found; other results are news for the model.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from temporalio import workflow

from workflows.coding.repository_actions import CommandPlace
from workflows.runtime.clients import ActivityClients
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step
from workflows.runtime.story_log import format_time

with workflow.unsafe.imports_passed_through():
    from activities.code_index import CodeIndexActivities
    from activities.workspaces import WorkspaceActivities
    from tenure.algorithms.coding.engineer_news import describe_environment, describe_tests
    from tenure.contracts.coding.engineering import RepositoryRequest, RepositoryState
    from tenure.contracts.coding.repositories import (
        ActionResult,
        CheckReport,
        CheckRequest,
        Environment,
        EnvironmentRequest,
        IndexReport,
        ListRequest,
        MapRequest,
        ProjectTestReport,
        ProjectTestRequest,
        SetupReply,
        Workspace,
    )
    from tenure.contracts.research.trace import TracedTestRun
    from tenure.contracts.sandbox import SandboxSelfTest

MAP_TIMEOUT = timedelta(seconds=2)
"""Time that the first answer waits for the map and the set-up: the first action should come within five seconds of the
start of the run."""

MAX_AWAITED_FILES = 1_000
"""Files of a repository whose map is waited for: 5,000 are indexed in ten seconds, so that the time would be lost."""

MAP_TOKENS = 300
"""Size of the map, which every answer sends again: it names the 21 changed files of 19 recorded tasks, as one of 1,000
tokens does, which would cost 47,000 prompt tokens more in them."""

NO_SANDBOX = "no running worker has a sandbox"
NO_NETWORK = "its set-up needs the network, which is not allowed (--allow-setup)"


def record_tests(state: str, report: ProjectTestReport) -> TracedTestRun:
    """Return the record of a test run that ends now; `state` says which tests ran in which files."""
    return TracedTestRun(at=format_time(workflow.now()), state=state, outcome=describe_tests(report).splitlines()[0])


class Preparation:
    """Preparation of one repository, each step once in a run."""

    def __init__(
        self,
        clients: ActivityClients,
        request: RepositoryRequest,
        workspace: Workspace,
        allow_network: Callable[[str], Awaitable[bool]],
        checking: "asyncio.Task[SandboxSelfTest | None] | None",
    ) -> None:
        """Prepare a state without changes.

        `allow_network` asks a person for a set-up command; `checking` is the check of the sandbox, which an earlier
        history has made otherwise.
        """
        self._clients, self._request, self.workspace = clients, request, workspace
        self._allow_network, self._checking = allow_network, checking
        self.environment = Environment()
        self.problem = ""
        """Reason why no command can be run; empty if they can, or if it is not known yet."""
        self.map = ""
        self.baseline: ProjectTestReport | None = None
        """Results of the tests of the commit."""
        self.checks: CheckReport | None = None
        """Results of its linters and type checkers."""
        self.notes: list[str] = []
        self._news: list[str] = []
        self._is_shown = False
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def restore(self, state: RepositoryState) -> None:
        """Apply the results of an earlier history."""
        self.environment, self.problem, self.map = state.environment, state.problem, state.map
        self.baseline, self.checks = state.baseline, state.checks
        self._is_shown = True

    def start(self) -> None:
        """Start all steps, which run concurrently."""
        steps = {"map": self._draw_map(), "commands": self._set_up(), "tests": self._test_commit()}
        self._tasks = {name: asyncio.create_task(step) for name, step in steps.items()}

    @property
    def is_done(self) -> bool:
        """Whether every step has ended."""
        return all(task.done() for task in self._tasks.values())

    @property
    def is_complete(self) -> bool:
        """Whether no step was stopped before its end."""
        return all(task.done() and not task.cancelled() for task in self._tasks.values())

    async def wait_for_beginning(self, files: int) -> None:
        """Wait for what the conversation begins with in a repository of some files, but not long."""
        has_map = files <= MAX_AWAITED_FILES
        started = [self._tasks[name] for name in ("map", "commands")[not has_map :]]
        try:
            await workflow.wait_condition(
                lambda: all(task.done() for task in started),
                timeout=MAP_TIMEOUT,
                timeout_summary="the first answer waits for the map",
            )
        except TimeoutError:
            has_map = False
        if not has_map:
            await self._list_files()
        self._is_shown = True

    def describe_beginning(self) -> str:
        """Return remarks on commands and tests for the first answer."""
        known, self._news = "\n\n".join(self._news), []
        return known

    def read_news(self) -> list[str]:
        """Return the results since the last call."""
        news, self._news = self._news, []
        return news

    async def prepare_commands(self) -> CommandPlace:
        """Wait for the environment of commands."""
        await self._wait_for("commands")
        return CommandPlace(self.environment, self.problem)

    async def finish_tests(self) -> ProjectTestReport | None:
        """Wait for the tests of the commit and return their results, or None if there are none."""
        await self._wait_for("tests")
        return self.baseline

    def stop(self) -> None:
        """End the steps that have not ended."""
        for task in self._tasks.values():
            task.cancel()

    async def _wait_for(self, name: str) -> None:
        """Wait for a step, which an earlier history may have finished."""
        if task := self._tasks.get(name):
            await workflow.wait_condition(task.done)
            task.result()  # which raises what only a fault of this code raises

    async def _try(self, step: Awaitable[Any], failure: str) -> Any:
        """Return the result of a step, or None after a note."""
        return await run_optional_step(step, None, failure, self.notes.append, MODEL_STEP_LIMIT)

    async def _draw_map(self) -> None:
        indexing = self._clients.execute_activity(
            CodeIndexActivities.index_repository, self.workspace, summary="symbols and references"
        )
        report: IndexReport | None = await self._try(indexing, "The code could not be indexed")
        if report is None:
            return
        self.notes += report.notes
        wanted = MapRequest(workspace=self.workspace, task=self._request.question, max_tokens=MAP_TOKENS)
        mapping = self._clients.execute_activity(
            CodeIndexActivities.map_repository, wanted, summary=f"{report.symbols} symbols of {report.files} files"
        )
        drawn: ActionResult | None = await self._try(mapping, "No map of the repository could be drawn")
        if drawn and not self._is_shown:
            self.map = drawn.text
        self._clients.progress.report(last=f"{report.files} files, {report.symbols} symbols")

    async def _list_files(self) -> None:
        """Begin with a list of files if the map is not ready."""
        if self.map:
            return
        listing = self._clients.execute_activity(
            WorkspaceActivities.list_files, ListRequest(workspace=self.workspace), summary="until there is a map"
        )
        listed: ActionResult | None = await self._try(listing, "The files could not be listed")
        if listed and not self.map:
            self.map = listed.text

    async def _set_up(self) -> None:
        """Find or install the environment of commands, with the network if a person allows it."""
        assert self._checking, "the set-up runs in the history that has opened the repository"
        box: SandboxSelfTest | None = await self._try(self._checking, "The sandbox could not be checked")
        if box is None or not box.usable:
            self._refuse_commands(box.message if box else NO_SANDBOX)
            return
        task = self._request.task
        reply = await self._install(allow_network=task.allow_network)
        if reply and reply.needs_network and not task.allow_network:
            if not await self._allow_network(reply.environment.setup):
                self.environment = reply.environment
                self._refuse_commands(NO_NETWORK)
                return
            reply = await self._install(allow_network=True)
        if reply is None:
            self._refuse_commands("its set-up failed")
            return
        self.environment = reply.environment
        if not reply.ready:
            self._refuse_commands(reply.observation.summary)
            self._news.append(f"The set-up failed:\n{reply.observation.text}")
            return
        self._news.append(describe_environment(self.environment))
        self._clients.progress.report(last=reply.observation.summary)

    async def _install(self, *, allow_network: bool) -> SetupReply | None:
        task = self._request.task
        request = EnvironmentRequest(
            workspace=self.workspace, setup=task.setup, test=task.test, allow_network=allow_network
        )
        setting = self._clients.sandbox.set_up_environment(request, summary=task.setup or "found in its files")
        reply: SetupReply | None = await self._try(setting, "The environment could not be set up")
        return reply

    def _refuse_commands(self, problem: str) -> None:
        self.problem = problem.rstrip(".")
        self.notes.append(f"No command of the project was run: {self.problem}.")
        self._news.append(f"Commands cannot be run here: {self.problem}.")
        self._clients.progress.report(last=f"nothing can be run: {self.problem}")

    async def _test_commit(self) -> None:
        """Run the tests before any change, which shows what fails without it."""
        place = await self.prepare_commands()
        if place.problem or not place.environment.test:
            return
        # A worker runs two of these activities at a time, and the model is reading meanwhile.
        await self._wait_for("map")
        request = ProjectTestRequest(workspace=self.workspace, environment=place.environment)
        testing = self._clients.sandbox.run_project_tests(request, summary="before the change")
        self.baseline = await self._try(testing, "The tests of the commit could not be run")
        if self.baseline:
            line = describe_tests(self.baseline)
            self._clients.log.add(record_tests("all tests, before the change", self.baseline))
            self._news.append(f"Tests of the commit, before any change: {line}")
            self._clients.progress.report(last=f"tests before: {line.splitlines()[0]}")
        if place.environment.checks:
            checked = CheckRequest(workspace=self.workspace, environment=place.environment)
            checking = self._clients.sandbox.run_project_checks(checked, summary="before the change")
            self.checks = await self._try(checking, "The checks of the commit could not be run")
            if self.checks and (checks := [one.command for one in self.checks.checks if not one.error]):
                self._news.append(f"Checks of the project: {', '.join(f'`{check}`' for check in checks)}.")
