"""Test the programs of a coding run in the sandbox."""

from temporalio import workflow

from workflows.runtime.clients import ActivityClients

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.coding import programs
    from tenure.contracts.result.programs import Attempt, AttemptFailure, CodingRequest, ProgramRequest, TestRunRequest
    from tenure.contracts.sandbox import CallCase, InputFile, Language, Program, TestRun
    from tenure.roles.coding.coder import CoderOutput


class ProgramTester:
    """Tester of one coding run."""

    def __init__(self, clients: ActivityClients, request: CodingRequest) -> None:
        """Test programs against the files and limits of a request."""
        self._clients, self._request = clients, request

    async def test(
        self,
        attempt: Attempt,
        output: CoderOutput,
        given_tests: tuple[InputFile, ...],
        languages: tuple[Language, ...],
        *,
        writes_tests: bool,
    ) -> Attempt:
        """Return an attempt with the results of its tests and then of its own run.

        Its tests are those that are given or, if the task is to write tests, its own.
        """
        tests = tuple(
            InputFile(name=f.path, text=f.text) for f in attempt.files if writes_tests and programs.is_test_file(f.path)
        )
        protected = () if writes_tests else tuple(file.name for file in given_tests)
        if fault := programs.find_program_fault(attempt.files, protected, languages):
            return attempt.model_copy(update={"failures": (AttemptFailure(test="", error=fault),)})
        if writes_tests or given_tests:
            attempt = await self._run_tests(attempt, tests if writes_tests else given_tests)
        if not attempt.failures and (attempt.entry or not attempt.total):
            attempt = await self._run_program(attempt, output)
        return attempt

    async def _run_tests(self, attempt: Attempt, given_tests: tuple[InputFile, ...]) -> Attempt:
        names = {file.name for file in given_tests}
        files = tuple(f for f in programs.merge_files(self._request.files, attempt.files) if f.name not in names)
        tests, cases = split_tests(given_tests)
        test_run = TestRun(
            files=files, tests=tests, cases=cases, limits=programs.build_sandbox_limits(self._request.limits)
        )
        outcome = await self._clients.sandbox.run_tests(
            TestRunRequest(run=self._request.run, attempt=attempt.n, test_run=test_run),
            summary=f"attempt {attempt.n}, generation {attempt.generation}",
        )
        return attempt.model_copy(
            update={
                "passed": outcome.tests_passed,
                "total": len(outcome.tests),
                "failures": programs.collect_failures(outcome),
                "proof": outcome.proof,
                "notes": outcome.notes,
                "stdout": programs.truncate_middle(outcome.stdout),
                "stderr": programs.truncate_middle(outcome.stderr),
                "seconds": round(outcome.seconds, 3),
                "artifacts": outcome.artifacts,
            }
        )

    async def _run_program(self, attempt: Attempt, output: CoderOutput) -> Attempt:
        """Return an attempt with the result of its own run, which has to succeed as well."""
        entry = attempt.entry or programs.choose_entry_point(attempt.files)
        program = Program(
            files=programs.merge_files(self._request.files, attempt.files),
            entry=entry,
            language=programs.detect_language(entry) or "python",
            args=output.args,
            stdin=output.stdin,
            limits=programs.build_sandbox_limits(self._request.limits),
        )
        outcome = await self._clients.sandbox.run_program(
            ProgramRequest(run=self._request.run, attempt=attempt.n, program=program), summary=f"run {entry}"
        )
        return attempt.model_copy(
            update={
                "entry": entry,
                "command": programs.format_command(entry, output.args),
                "failures": programs.collect_failures(outcome),
                "proof": attempt.proof if attempt.total else outcome.proof,
                "stdout": programs.truncate_middle(outcome.stdout),
                "stderr": programs.truncate_middle(outcome.stderr),
                "seconds": round(attempt.seconds + outcome.seconds, 3),
                "artifacts": outcome.artifacts or attempt.artifacts,
            }
        )


def split_tests(tests: tuple[InputFile, ...]) -> tuple[tuple[InputFile, ...], tuple[CallCase, ...]]:
    """Return tests in the two forms of the sandbox: files for pytest, or cases if there are any."""
    cases = programs.collect_cases(tests)
    return ((), cases) if cases else (tests, ())
