"""Write a program and repair it until its tests pass.

The phases are specify, generate, test, reflect and refine; their order is defined in
`tenure/algorithms/control/transitions.py`. Programs run only in the sandbox. Every attempt is best with the lesson
learned from it and no program is tried twice; when the coder has no new program, a search for a small edit follows.
Finishing, cancelling and an exhausted budget all end with the best program so far and the tests that it fails.
"""

import asyncio
from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows.coding.program_tester import ProgramTester, split_tests
from workflows.runtime.clients import ActivityClients
from workflows.runtime.model_client import MODEL_BUDGETS
from workflows.runtime.partial_result import PartialResultWorkflow
from workflows.runtime.progress import UNHEARD

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.coding import programs
    from tenure.algorithms.control.budget import describe_limit
    from tenure.algorithms.control.transitions import AgentState, Node, choose_next_node, compute_max_revisions
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.result.programs import (
        Attempt,
        CodeDraft,
        CodingRequest,
        Lesson,
        ProgramVerification,
        RepairRequest,
        SourceFile,
        TestAuthor,
    )
    from tenure.contracts.result.result import ResultStatus
    from tenure.contracts.run.run import FeedbackRecord, RunPhase
    from tenure.contracts.sandbox import InputFile, SandboxSelfTest
    from tenure.roles.coding import code_reflector, coder, test_writer
    from tenure.roles.coding.code_reflector import CodeReflectorInput
    from tenure.roles.coding.coder import CoderInput, CoderOutput
    from tenure.roles.coding.test_writer import TestWriterInput, TestWriterOutput

MAX_PASSAGES = 12
"""Passages of documents that the roles receive."""


@workflow.defn
class CodingWorkflow(PartialResultWorkflow):
    """Workflow that writes a program and repairs it until its tests pass."""

    @workflow.init
    def __init__(self, request: CodingRequest) -> None:
        """Start from the request with its files and the passages found for it."""
        super().__init__(request.control, part="program")
        self.request = request
        self.clients = ActivityClients(self, request.limits, question=request.question, run=request.run)
        self.tester = ProgramTester(self.clients, request)
        self.sandbox = SandboxSelfTest(usable=False, message="")
        self.specification = TestWriterOutput(specification="", task="program", tests=())
        self.tests: tuple[InputFile, ...] = request.tests
        self.generation = 0
        self.attempts: list[Attempt] = []
        self.candidates: list[Attempt] = []
        self.outputs: dict[int, CoderOutput] = {}
        self.tried_programs: set[str] = set()
        self.tried_files: dict[str, None] = {}
        self.repaired_programs: set[str] = set()
        self.feedback_items = list(request.feedback)
        self.feedback_counts: dict[int, int] = {}
        self.has_no_candidates = False
        self.notes: list[str] = []

    @workflow.run
    async def run(self, request: CodingRequest) -> ReportDraft:
        """Write programs until one passes, the attempts are used up, or a person stops the run."""
        try:
            await self.run_phases(self._execute_phases())
        except (asyncio.CancelledError, ActivityError):
            await self.clients.progress.fail(revision=self.generation)
            raise
        progress = await self.clients.progress.finish(
            phase="compose", revision=self.generation, last="the program is delivered"
        )
        if not self.clients.progress.is_received:
            self.notes.append(UNHEARD)
        return self._build_draft().model_copy(update={"progress": progress})

    @property
    def has_result(self) -> bool:
        """Whether a program was tested."""
        return bool(self.attempts)

    async def _execute_phases(self) -> None:
        """Specify, then generate and test until the program is accepted or nothing is left to try."""
        sandbox = await self.clients.sandbox.check()
        if sandbox is None or not sandbox.usable:
            self.notes.append(sandbox.message if sandbox else _NO_SANDBOX)
            return
        self.sandbox = sandbox
        await self._specify()
        node: Node = choose_next_node("route", AgentState(mode="CODE"), 0)
        while node != "end":
            if node == "generate_code":
                if not await self._generate():
                    return
            else:
                await self._test()
            state = AgentState("CODE", error=self._find_error(), revisions=self.generation)
            node = choose_next_node(node, state, self._max_generations())

    def _find_error(self) -> str | None:
        """Return the error of the best program, or the feedback that it was written without; None if it is accepted."""
        best = programs.select_best_attempt(self.attempts)
        if best is None or best.error is not None:
            return best.error if best else "nothing was tried"
        pending = self.feedback_items[self.feedback_counts.get(best.generation, 0) :]
        return f"asked for: {pending[0].text}" if pending else None

    def _max_generations(self) -> int:
        """Return the limit of generations; one program is written even if the model's budget is exhausted."""
        finishing = self.is_finishing and (self.control.exhausted not in MODEL_BUDGETS or bool(self.attempts))
        has_new_feedback = len(self.feedback_items) > self.feedback_counts.get(self.generation, 0)
        return compute_max_revisions(
            self.request.limits.max_code_attempts,
            self.generation,
            has_new_feedback=has_new_feedback,
            is_finishing=finishing,
        )

    async def _specify(self) -> None:
        """Write the specification and the tests, if the person gave no tests."""
        if self.tests:
            return
        self._report_progress("specify")
        self.specification = await self.clients.models.ask(
            test_writer.ROLE,
            TestWriterInput(**self._build_context().model_dump()),
            self.request.evidence[:MAX_PASSAGES],
            summary="specification and tests",
        )
        files = [SourceFile(path=file.path, text=file.content) for file in self.specification.tests]
        if self.specification.task == "program" and (fault := programs.find_tests_fault(files)):
            self.notes.append(f"The tests that were written cannot be used: {fault}.")
        elif self.specification.task == "program":
            self.tests = tuple(InputFile(name=file.path, text=file.text) for file in files)
        if not self.tests and self.specification.task == "program":
            self.notes.append("There are no tests: a program counts as good when it runs to its end.")

    async def _generate(self) -> bool:
        """Write the programs of the next generation; return whether one of them was not tried before."""
        best = programs.select_best_attempt(self.attempts)
        if best and best.failures:
            await self._reflect(best)
        self.generation += 1
        self.feedback_counts[self.generation] = len(self.feedback_items)
        self._report_progress("generate" if self.generation == 1 else "refine")
        wanted = self.request.limits.candidates
        written = await asyncio.gather(*(self._write_program(n, wanted) for n in range(1, wanted + 1)))
        self.candidates = self._build_new_attempts(written)
        if not self.candidates and any(answer.files for answer in written):
            self.candidates = self._build_new_attempts([await self._write_program(1, wanted, repeated=True)])
        if not self.candidates:
            await self._search_repair(best)
        if not self.candidates:
            self.generation -= 1
            self.has_no_candidates = True
        return bool(self.candidates)

    async def _write_program(self, candidate: int, candidates: int, *, repeated: bool = False) -> CoderOutput:
        best = programs.select_best_attempt(self.attempts)
        what = f"generation {self.generation}" + (f", candidate {candidate}" if candidates > 1 else "")
        return await self.clients.models.ask(
            coder.ROLE,
            CoderInput(
                **self._build_context().model_dump(),
                specification=self.specification.specification,
                task=self.specification.task,
                candidate=candidate,
                candidates=candidates,
                attempts=programs.summarize_attempts(self.attempts),
                best_attempt=best.n if best else None,
                failed_digests=tuple(self.tried_files),
                is_repeated=repeated,
            ),
            self.request.evidence[:MAX_PASSAGES],
            summary=f"{what}: {best.error}" if best and best.error else what,
        )

    def _build_context(self) -> TestWriterInput:
        return TestWriterInput(
            question=self.request.question,
            given_files=programs.convert_given_files(self.request.files),
            tests=programs.convert_given_files(self.tests),
            packages=self.sandbox.packages,
            languages=self.sandbox.languages,
            feedback=tuple(feedback.text for feedback in self.feedback_items),
            lessons=self.request.lessons,
            preferences=self.request.preferences,
        )

    def _build_new_attempts(self, written: Sequence[CoderOutput]) -> list[Attempt]:
        """Return attempts for the programs that were not tried before."""
        new: list[Attempt] = []
        for answer in written:
            files = tuple(SourceFile(path=file.path, text=file.content) for file in answer.files)
            digest = programs.hash_program(files, (answer.entry, *answer.args, answer.stdin))
            if not files or digest in self.tried_programs:
                continue
            new.append(self._build_attempt(len(self.attempts) + len(new) + 1, files, answer))
            self.tried_programs.add(digest)
        return new

    def _build_attempt(self, n: int, files: tuple[SourceFile, ...], answer: CoderOutput) -> Attempt:
        self.outputs[n] = answer
        return Attempt(n=n, generation=self.generation, approach=answer.approach, files=files, entry=answer.entry)

    async def _search_repair(self, best: Attempt | None) -> None:
        """Search for a small edit that makes the tests of the best program pass."""
        limits = self.request.limits
        editable = tuple(file.path for file in best.files if file.path.endswith(".py")) if best else ()
        digest = programs.hash_program(best.files) if best else ""
        is_testable = best is not None and best.total > 0 and self.specification.task == "program" and self.tests
        if not (best and editable and is_testable) or digest in self.repaired_programs:
            return
        if self.is_finishing or not limits.repair_seconds:
            return
        if programs.has_only_import_errors(best):
            self.notes.append("No small edit was searched for: the tests import what is not there.")
            return
        self.repaired_programs.add(digest)
        self._report_progress(None, f"searching for a small edit near what attempt {best.n} fails")
        tests, cases = split_tests(self.tests)
        reply = await self.clients.sandbox.repair_program(
            RepairRequest(
                files=programs.merge_files(self.request.files, best.files),
                editable=editable,
                tests=tests,
                cases=cases,
                limits=programs.build_sandbox_limits(self.request.limits),
                seconds=limits.repair_seconds,
                tried_digests=tuple(sorted(self.tried_files)),
            ),
            summary=f"attempt {best.n}: {best.error}",
        )
        if not reply.files:
            ended = "no other was left" if reply.exhausted else f"the {limits.repair_seconds:g} s were over"
            self.notes.append(
                f"A search for a small edit of attempt {best.n} found none that passes all tests: "
                f"{reply.tried} were tried, then {ended}. It changes one or two places and writes nothing new."
            )
            return
        files = tuple({**{f.path: f for f in best.files}, **{f.path: f for f in reply.files}}.values())
        approach = f"A small edit of attempt {best.n}, found among {reply.tried}: {'; '.join(reply.changes)}."
        answer = self.outputs[best.n].model_copy(update={"approach": approach})
        repaired = self._build_attempt(len(self.attempts) + 1, files, answer)
        self.tried_programs.add(programs.hash_program(files, (answer.entry, *answer.args, answer.stdin)))
        self.candidates = [repaired.model_copy(update={"maker": "repair"})]

    async def _test(self) -> None:
        """Test the programs of this generation concurrently."""
        self._report_progress("test")
        tests = (
            self.tester.test(
                attempt,
                self.outputs[attempt.n],
                self.tests,
                self.sandbox.languages,
                writes_tests=self.specification.task == "tests",
            )
            for attempt in self.candidates
        )
        tested = await asyncio.gather(*tests)
        self.candidates = []
        for attempt in tested:
            self.attempts.append(attempt)
            if attempt.failures:
                self.tried_files |= {programs.hash_file(file.path, file.text): None for file in attempt.files}
            outcome = f"{attempt.passed} of {attempt.total} tests passed" if attempt.total else "it ran"
            outcome += f"; {attempt.error}" if attempt.error else ""
            self._report_progress(None, f"attempt {attempt.n}: {outcome}", attempt=attempt)

    async def _reflect(self, attempt: Attempt) -> None:
        """Draw a lesson from the best failing program, once."""
        if attempt.reflection:
            return
        self._report_progress("reflect")
        output = await self.clients.models.ask(
            code_reflector.ROLE,
            CodeReflectorInput(
                **self._build_context().model_dump(),
                specification=self.specification.specification,
                attempt=attempt,
                earlier=tuple(one for one in programs.summarize_attempts(self.attempts) if one.n < attempt.n),
            ),
            summary=f"attempt {attempt.n}: {attempt.error}",
        )
        if not output.change:  # no model has answered
            return
        lesson = Lesson(failed=output.failed, cause=output.cause, change=output.change)
        position = self.attempts.index(attempt)
        self.attempts[position] = attempt.model_copy(update={"reflection": lesson})
        self._report_progress(None, f"learned: {lesson.change}", attempt=self.attempts[position])

    def _build_draft(self) -> ReportDraft:
        """Return the draft with the best program and the history of attempts."""
        best = programs.select_best_attempt(self.attempts)
        attempts = programs.trim_history(self.attempts)
        writes_tests = self.specification.task == "tests"
        files = programs.select_changed_files(self.request.files, best.files) if best else ()
        code = CodeDraft(
            specification=self.specification.specification,
            task=self.specification.task,
            files=files,
            originals=programs.select_originals(self.request.files, files),
            entry=best.entry if best else "",
            tests=programs.convert_given_files(self.tests),
            verification=ProgramVerification(
                test_author=self._test_author(),
                passed=best.passed,
                total=best.total,
                failures=best.failures,
                proof=best.proof,
                notes=best.notes,
            )
            if best
            else ProgramVerification(test_author=self._test_author()),
            attempts=attempts,
            artifacts=best.artifacts if best else (),
        )
        return ReportDraft(
            id=self.request.run,
            mode="CODE",
            question=self.request.question,
            title=programs.format_title(self.request.question),
            code=code.model_copy(update={"tests": ()}) if writes_tests else code,
            decisions=(self._stop_reason(best),),
            feedback=self._build_feedback_records(best),
            fallbacks=tuple(self.clients.record.fallbacks),
            notes=tuple(dict.fromkeys(self.notes)),
            status=self._final_status(best),
        )

    def _test_author(self) -> TestAuthor:
        if self.specification.task == "tests":
            return "coder"
        if self.request.tests:
            return "person"
        return "test_writer" if self.tests else "none"

    def _build_feedback_records(self, best: Attempt | None) -> tuple[FeedbackRecord, ...]:
        count = self.feedback_counts.get(best.generation, 0) if best else 0
        return tuple(
            FeedbackRecord(
                text=feedback.text,
                topic=feedback.topic,
                at="",
                outcome=f"Attempt {best.n} was written with it."
                if best and n < count
                else "No program was written with it.",
            )
            for n, feedback in enumerate(self.feedback_items)
        )

    def _final_status(self, best: Attempt | None) -> ResultStatus:
        if not self.sandbox.usable and not self.cancelled:
            return "unsupported"
        if self.cancelled:
            return "cancelled"
        if best is None:
            return "finished_early" if self.is_finishing else "no_evidence"
        if self.failure:
            return "failed"
        return "failing_tests" if best.failures else "done"

    def _stop_reason(self, best: Attempt | None) -> str:
        if self.cancelled:
            return "Ended because a person cancelled the run."
        if self.failure:
            return f"Ended because a step failed permanently: {self.failure}"
        if best and not best.failures:
            return f"Ended because attempt {best.n} was accepted."
        return self._stop_reason_without_program()

    def _stop_reason_without_program(self) -> str:
        """Return the reason why the run ended without an accepted program."""
        if self.control.exhausted:
            limits = self.apply_budget_revision(self.request.limits)
            return f"Ended because {describe_limit(limits, self.control.exhausted)} was used up."
        if self.is_finishing:
            return "Ended because a person asked to finish."
        if self.has_no_candidates:
            return "Ended because there was no program left to try."
        if not self.sandbox.usable:
            return "Ended because there is no sandbox to run a program in."
        return f"Ended after {self.generation} of {self.request.limits.max_code_attempts} generations."

    def _report_progress(self, phase: RunPhase | None, last: str = "", *, attempt: Attempt | None = None) -> None:
        attempts = (attempt,) if attempt else ()
        self.clients.progress.report(phase=phase, revision=self.generation, attempts=attempts, last=last)


_NO_SANDBOX = (
    "No worker runs programs: no running worker has a sandbox. "
    "The worker's log and the command `doctor` say why its self-test failed."
)
