"""Run the tests of a repository with and without a change, and judge it by their results."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TypeVar

from temporalio import workflow

from workflows.coding.repository_preparation import Preparation, record_tests
from workflows.runtime.clients import ActivityClients
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.coding.proof import REPETITIONS, TestEvidence, judge_evidence, list_repetitions
    from tenure.contracts.coding.repositories import (
        CheckReport,
        CheckRequest,
        Environment,
        Patch,
        ProjectTestReport,
        ProjectTestRequest,
        Proof,
    )

T = TypeVar("T")

MIN_NEW_TEST_SECONDS = 30.0
NEW_TEST_TIME_FACTOR = 3
"""Time of new tests on the code of the commit: half a minute, and three times that of all its tests. Such a test may
never end there, as one of an endless retry did: three runs of 900 s."""


async def verify_change(clients: ActivityClients, prepared: Preparation, patch: Patch) -> Proof:
    """Return the verdict of the tests of the project on a change."""
    changed_tests = tuple(file.path for file in patch.files if file.is_test)
    place = await prepared.prepare_commands()
    before = await prepared.finish_tests()
    if before is None:
        reason = place.problem or "no command that runs the tests of the project was found"
        notes = prepared.notes if place.environment.test and not place.problem else [f"no test was run: {reason}"]
        return Proof(verdict="unproved", changed_tests=changed_tests, notes=tuple(notes))
    return await _Verification(clients, prepared, patch, place.environment, before).judge(changed_tests)


class _Verification:
    """Verification of one patch.

    All tests run with it. Tests that it adds or changes run on the code of the commit as well: those that show the
    fault fail there. If it changes tests, the ones of the commit run on the new code, so that it cannot pass by making
    them easier. Tests that decide are repeated on both states, since some fail by chance.
    """

    def __init__(
        self,
        clients: ActivityClients,
        prepared: Preparation,
        patch: Patch,
        environment: Environment,
        before: ProjectTestReport,
    ) -> None:
        self._clients, self._prepared, self._patch, self._before = clients, prepared, patch, before
        self._checks = environment.checks
        failing = tuple(test.id for test in before.tests if test.outcome in ("failed", "error"))
        self._with_change = ProjectTestRequest(
            workspace=patch.workspace, environment=environment, baseline=before.passed_digest, reported=failing
        )
        self._without_change = self._with_change.model_copy(update={"workspace": prepared.workspace})
        limits = self._with_change.limits
        seconds = min(limits.wall_seconds, MIN_NEW_TEST_SECONDS + NEW_TEST_TIME_FACTOR * before.seconds)
        limits = limits.model_copy(update={"wall_seconds": seconds})
        self._new_tests = self._with_change.model_copy(update={"original_code": True, "baseline": "", "limits": limits})
        self._old_tests = self._with_change.model_copy(update={"original_tests": True})
        self._notes: list[str] = []

    async def judge(self, changed_tests: tuple[str, ...]) -> Proof:
        """Return the verdict."""
        files = self._patch.files
        added = tuple(file.path for file in files if file.is_test and file.status != "deleted")
        had_tests = any(file.is_test and file.status != "added" for file in files)
        after, reproduced, original, checks = await asyncio.gather(
            self._run(self._with_change, "all tests, with the change"),
            self._run(self._new_tests, "new tests, without the change", added, is_needed=bool(added)),
            self._run(self._old_tests, "tests of the commit, with the change", is_needed=had_tests),
            self._run_checks(),
        )
        evidence = TestEvidence(
            before=(self._before,),
            after=after,
            reproduced=reproduced,
            original=original,
            changed_tests=changed_tests,
            checks_before=self._prepared.checks,
            checks_after=checks,
        )
        if after and (names := list_repetitions(evidence)):
            evidence = await self._repeat(evidence, names)
        proof = judge_evidence(evidence)
        return proof.model_copy(update={"notes": (*proof.notes, *self._notes)})

    async def _repeat(self, evidence: TestEvidence, names: Sequence[str]) -> TestEvidence:
        """Return the evidence with repetitions of the tests that decide."""
        known = {test.id for report in evidence.before for test in report.tests}
        known |= {test.id for report in evidence.after for test in report.lost}
        old, new = [name for name in names if name in known], [name for name in names if name not in known]
        before, after, reproduced = await asyncio.gather(
            self._run(self._without_change, "again, without the change", old, REPETITIONS if old else 0),
            self._run(self._with_change, "again, with the change", names, REPETITIONS),
            self._run(self._new_tests, "new tests again, without the change", new, REPETITIONS if new else 0),
        )
        return replace(
            evidence,
            before=(*evidence.before, *before),
            after=(*evidence.after, *after),
            reproduced=(*evidence.reproduced, *reproduced),
        )

    async def _run(
        self,
        request: ProjectTestRequest,
        summary: str,
        names: Sequence[str] = (),
        times: int = 1,
        *,
        is_needed: bool = True,
    ) -> tuple[ProjectTestReport, ...]:
        """Return the results of tests, or none after a note if they could not be run."""
        # A selection says nothing about the tests that were left out.
        chosen = request.model_copy(update={"ids": tuple(names), "baseline": ""}) if names else request
        reports = []
        for _ in range(times if is_needed else 0):
            running = self._clients.sandbox.run_project_tests(chosen, summary=summary)
            report = await self._try(running, f"The tests could not be run ({summary})")
            if report is not None:
                reports.append(report)
                self._clients.log.add(record_tests(summary, report))
        return tuple(reports)

    async def _run_checks(self) -> CheckReport | None:
        if not self._checks or self._prepared.checks is None:
            return None
        request = CheckRequest(workspace=self._patch.workspace, environment=self._with_change.environment)
        running = self._clients.sandbox.run_project_checks(request, summary="with the change")
        return await self._try(running, "The checks could not be run")

    async def _try(self, step: Awaitable[T], failure: str) -> T | None:
        return await run_optional_step(step, None, failure, self._notes.append, MODEL_STEP_LIMIT)
