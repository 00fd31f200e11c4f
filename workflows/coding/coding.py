"""CodingWorkflow: specify → generate → test → reflect → refine until E = ∅ or R_n ≥ R_max (document 000, code path).

The order of the nodes is `algorithms/transitions.py`'s. Programs run in the sandbox only, and what passes is
judged there. Every attempt is remembered with what was learned from it, no program is tried twice, and where the
coder has nothing new to offer a search for a small edit has its turn. Finishing, cancelling and a budget that is
used up all end in the best program there is, together with the tests it fails.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.runtime.budget import by_signal
from workflows.runtime.calls import MODEL_BUDGETS, Calls
from workflows.runtime.control import Steered
from workflows.runtime.failures import cause
from workflows.runtime.progress import report

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.coding import programs
    from tenure.algorithms.control.budget import named
    from tenure.algorithms.control.reflexion import most_made
    from tenure.algorithms.control.transitions import AgentState, Node, next_node
    from tenure.algorithms.text.questions import heading
    from tenure.contracts.research.report import ProgressUpdate, ReportDraft
    from tenure.contracts.result.programs import (
        Attempt,
        Author,
        CodeDraft,
        CodingRequest,
        Failure,
        Lesson,
        ProgramRequest,
        Proof,
        RepairRequest,
        SourceFile,
        TrialRequest,
    )
    from tenure.contracts.result.result import ResultStatus
    from tenure.contracts.run.run import Handled, Phase
    from tenure.contracts.sandbox import Case, GivenFile, Program, SelfTest, Trial
    from tenure.roles.coding.code_reflector import CodeReflectorInput
    from tenure.roles.coding.coder import CoderInput, CoderOutput
    from tenure.roles.coding.test_writer import TestWriterInput, TestWriterOutput

PASSAGES = 12
"""Passages of documents that the roles see."""


@workflow.defn
class CodingWorkflow(Steered):
    """Writes a program and repairs it until its tests pass."""

    @workflow.init
    def __init__(self, request: CodingRequest) -> None:
        """Start from a routed request, the given files and the documents found for it."""
        super().__init__(request.stance)
        self.request = request
        self.calls = Calls(self, request.limits, by_signal(self, request.run))
        self.cancelled = False
        self.main: asyncio.Task[None] | None = None
        self.host = SelfTest(usable=False, message="")
        self.specified = TestWriterOutput(specification="", task="program", tests=())
        self.tests: tuple[GivenFile, ...] = request.tests
        self.generation = 0
        self.attempts: list[Attempt] = []
        self.pending: list[Attempt] = []
        self.runs: dict[int, CoderOutput] = {}
        self.tried: set[str] = set()
        self.tried_files: dict[str, None] = {}
        self.searched: set[str] = set()
        self.wishes = list(request.feedback)
        self.heard_in: dict[int, int] = {}
        self.exhausted = False
        self.notes: list[str] = []
        self.failure = ""

    @workflow.run
    async def run(self, request: CodingRequest) -> ReportDraft:
        """Write programs until one passes, the attempts are used up, or a person says stop."""
        self.main = asyncio.create_task(self._code())
        if self.cancelled:
            self.main.cancel()
        try:
            await self.main
        except (asyncio.CancelledError, ActivityError) as error:
            # A cancelled activity that was waited for directly ends in an error of its own kind.
            if not (self.cancelled and is_cancelled_exception(error)):
                await self._give_up(error)
        await self._tell("compose", "the program is delivered", ended=True)
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._draft()

    @workflow.signal(description="Stop at once and deliver the best program there is.")
    async def cancel(self, *beside: Any) -> None:
        """Stop at once: what is being written or tested is given up, what was tested is delivered."""
        self.cancelled = True
        self.stand(paused=False, finishing=True)
        if self.main is not None:
            self.main.cancel()

    async def _give_up(self, error: BaseException) -> None:
        """Go on to deliver what there is when a call has failed for good.

        Raises:
            BaseException: the error itself, where there is no program yet or somebody cancels from outside.
        """
        if is_cancelled_exception(error) or not self.attempts:
            await self._tell(None, ended=True)
            raise error
        self.failure = cause(error)

    async def _code(self) -> None:
        """Go through the nodes: generate, test, and again with what was learned."""
        found = await self.calls.look_at_sandbox()
        if found is None or not found.usable:
            self.notes.append(f"{found.message if found else _NOBODY}")
            return
        self.host = found
        await self._specify()
        node: Node = next_node("route", AgentState(mode="CODE"), 0)
        while node != "end":
            if node == "generate_code":
                if not await self._generate():
                    return
            else:
                await self._test()
            state = AgentState("CODE", error=self._error(), revisions=self.generation)
            node = next_node(node, state, self._r_max())

    def _error(self) -> str | None:
        """Return E of the best program: what it fails, or what a person asked for since."""
        kept = programs.best(self.attempts)
        if kept is None or kept.error is not None:
            return kept.error if kept else "nothing was tried"
        unheard = self.wishes[self.heard_in.get(kept.generation, 0) :]
        return f"asked for: {unheard[0].text}" if unheard else None

    def _r_max(self) -> int:
        """Return R_max; a program is written once even where the model's budget ends the run."""
        finishing = self.finishing and (self.stance.spent not in MODEL_BUDGETS or bool(self.attempts))
        unheard = len(self.wishes) > self.heard_in.get(self.generation, 0)
        return most_made(self.request.limits.max_attempts, self.generation, asked=unheard, finishing=finishing)

    async def _specify(self) -> None:
        """Have the specification and the tests written, where the person gave none."""
        if self.tests:
            return
        await self._tell("specify")
        self.specified = await self.calls.role(
            RoleActivities.test_writer,
            TestWriterInput(**self._workshop().model_dump()),
            self.request.evidence[:PASSAGES],
            summary="specification and tests",
        )
        files = [SourceFile(path=file.path, text=file.content) for file in self.specified.tests]
        if self.specified.task == "program" and (why := programs.unfit(files)):
            self.notes.append(f"The tests that were written cannot be used: {why}.")
        elif self.specified.task == "program":
            self.tests = tuple(GivenFile(name=file.path, text=file.text, read_only=True) for file in files)
        if not self.tests and self.specified.task == "program":
            self.notes.append("There are no tests: a program counts as good when it runs to its end.")

    async def _generate(self) -> bool:
        """Make the programs of the next generation; tell whether there is one that was not tried before."""
        kept = programs.best(self.attempts)
        if kept and kept.failures:
            await self._reflect(kept)
        self.generation += 1
        self.heard_in[self.generation] = len(self.wishes)
        await self._tell("generate" if self.generation == 1 else "refine")
        wanted = self.request.limits.candidates
        written = await asyncio.gather(*(self._written(n, wanted) for n in range(1, wanted + 1)))
        self.pending = self._new(written)
        if not self.pending and any(answer.files for answer in written):
            self.pending = self._new([await self._written(1, wanted, repeated=True)])
        if not self.pending:
            await self._search(kept)
        if not self.pending:
            self.generation -= 1
            self.exhausted = True
        return bool(self.pending)

    async def _written(self, candidate: int, candidates: int, *, repeated: bool = False) -> CoderOutput:
        kept = programs.best(self.attempts)
        what = f"generation {self.generation}" + (f", candidate {candidate}" if candidates > 1 else "")
        return await self.calls.role(
            RoleActivities.coder,
            CoderInput(
                **self._workshop().model_dump(),
                specification=self.specified.specification,
                task=self.specified.task,
                candidate=candidate,
                candidates=candidates,
                attempts=programs.remembered(self.attempts),
                best=kept.n if kept else None,
                tried=tuple(self.tried_files),
                repeated=repeated,
            ),
            self.request.evidence[:PASSAGES],
            summary=f"{what}: {kept.error}" if kept and kept.error else what,
        )

    def _workshop(self) -> TestWriterInput:
        return TestWriterInput(
            question=self.request.question,
            given=programs.shown(self.request.files),
            tests=programs.shown(self.tests),
            installed=self.host.packages,
            languages=self.host.languages,
            wishes=tuple(wish.text for wish in self.wishes),
        )

    def _new(self, written: Sequence[CoderOutput]) -> list[Attempt]:
        """Number the programs that were not tried before, and remember that they are."""
        new: list[Attempt] = []
        for answer in written:
            files = tuple(SourceFile(path=file.path, text=file.content) for file in answer.files)
            mark = programs.digest(files, (answer.entry, *answer.args, answer.stdin))
            if not files or mark in self.tried:
                continue
            new.append(self._attempt(len(self.attempts) + len(new) + 1, files, answer))
            self.tried.add(mark)
        return new

    def _attempt(self, n: int, files: tuple[SourceFile, ...], answer: CoderOutput) -> Attempt:
        self.runs[n] = answer
        return Attempt(n=n, generation=self.generation, approach=answer.approach, files=files, entry=answer.entry)

    async def _search(self, kept: Attempt | None) -> None:
        """Search for a small edit that makes the tests of the best program pass."""
        limits = self.request.limits
        mended = tuple(file.path for file in kept.files if file.path.endswith(".py")) if kept else ()
        mark = programs.digest(kept.files) if kept else ""
        provable = kept is not None and kept.total > 0 and self.specified.task == "program" and self.tests
        if not (kept and mended and provable) or mark in self.searched or self.finishing or not limits.repair_seconds:
            return
        if programs.unfinished(kept):
            self.notes.append("No small edit was searched for: the tests import what is not there.")
            return
        self.searched.add(mark)
        await self._tell(None, f"searching for a small edit near what attempt {kept.n} fails")
        tests, cases = self._provers(self.tests)
        reply = await self.calls.repair(
            RepairRequest(
                files=programs.together(self.request.files, kept.files),
                mended=mended,
                tests=tests,
                cases=cases,
                limits=programs.bounds(self.request.limits),
                seconds=limits.repair_seconds,
                tried=tuple(sorted(self.tried_files)),
            ),
            summary=f"attempt {kept.n}: {kept.error}",
        )
        if not reply.files:
            ended = "no other was left" if reply.exhausted else f"the {limits.repair_seconds:g} s were over"
            self.notes.append(
                f"A search for a small edit of attempt {kept.n} found none that passes all tests: "
                f"{reply.tried} were tried, then {ended}. It changes one or two places and writes nothing new."
            )
            return
        files = tuple({**{f.path: f for f in kept.files}, **{f.path: f for f in reply.files}}.values())
        approach = f"A small edit of attempt {kept.n}, found among {reply.tried}: {'; '.join(reply.changes)}."
        answer = self.runs[kept.n].model_copy(update={"approach": approach})
        made = self._attempt(len(self.attempts) + 1, files, answer)
        self.tried.add(programs.digest(files, (answer.entry, *answer.args, answer.stdin)))
        self.pending = [made.model_copy(update={"maker": "repair"})]

    async def _test(self) -> None:
        """Test the programs of this generation side by side."""
        await self._tell("test")
        tested = await asyncio.gather(*(self._tested(attempt) for attempt in self.pending))
        self.pending = []
        for attempt in tested:
            self.attempts.append(attempt)
            if attempt.failures:
                self.tried_files |= {programs.file_digest(file.path, file.text): None for file in attempt.files}
            await self._tell(None, _outcome(attempt), attempt=attempt)

    async def _tested(self, attempt: Attempt) -> Attempt:
        """Return an attempt with what the sandbox found: its tests first, then its own run."""
        own = self.specified.task == "tests"
        tests = tuple(GivenFile(name=f.path, text=f.text) for f in attempt.files if own and programs.is_test(f.path))
        kept = () if own else tuple(file.name for file in self.tests)
        if why := programs.objection(attempt.files, kept, self.host.languages):
            return attempt.model_copy(update={"failures": (Failure(test="", error=why),)})
        if own or self.tests:
            attempt = await self._proven(attempt, tests if own else self.tests)
        if not attempt.failures and (attempt.entry or not attempt.total):
            attempt = await self._run(attempt)
        return attempt

    async def _proven(self, attempt: Attempt, proof: tuple[GivenFile, ...]) -> Attempt:
        """Return an attempt after its tests."""
        names = {file.name for file in proof}
        files = tuple(f for f in programs.together(self.request.files, attempt.files) if f.name not in names)
        tests, cases = self._provers(proof)
        trial = Trial(files=files, tests=tests, cases=cases, limits=programs.bounds(self.request.limits))
        outcome = await self.calls.run_tests(
            TrialRequest(run=self.request.run, attempt=attempt.n, trial=trial),
            summary=f"attempt {attempt.n}, generation {attempt.generation}",
        )
        return attempt.model_copy(
            update={
                "passed": outcome.tests_passed,
                "total": len(outcome.tests),
                "failures": programs.failures(outcome),
                "stdout": programs.shortened(outcome.stdout),
                "stderr": programs.shortened(outcome.stderr),
                "seconds": round(outcome.seconds, 3),
                "artifacts": programs.stored(outcome),
            }
        )

    async def _run(self, attempt: Attempt) -> Attempt:
        """Return an attempt after its own run, which has to end well, too."""
        entry = attempt.entry or programs.entry(attempt.files)
        answer = self.runs[attempt.n]
        program = Program(
            files=programs.together(self.request.files, attempt.files),
            entry=entry,
            language=programs.language_of(entry) or "python",
            args=answer.args,
            stdin=answer.stdin,
            limits=programs.bounds(self.request.limits),
        )
        outcome = await self.calls.run_program(
            ProgramRequest(run=self.request.run, attempt=attempt.n, program=program), summary=f"run {entry}"
        )
        return attempt.model_copy(
            update={
                "entry": entry,
                "failures": programs.failures(outcome),
                "stdout": programs.shortened(outcome.stdout),
                "stderr": programs.shortened(outcome.stderr),
                "seconds": round(attempt.seconds + outcome.seconds, 3),
                "artifacts": programs.stored(outcome) or attempt.artifacts,
            }
        )

    def _provers(self, tests: tuple[GivenFile, ...]) -> tuple[tuple[GivenFile, ...], tuple[Case, ...]]:
        """Return tests as the sandbox takes them: files of pytest, or cases where there are none."""
        cases = programs.cases_of(tests)
        return ((), cases) if cases else (tests, ())

    async def _reflect(self, attempt: Attempt) -> None:
        """Have the best failing program looked at, once."""
        if attempt.reflection:
            return
        await self._tell("reflect")
        seen = await self.calls.role(
            RoleActivities.code_reflector,
            CodeReflectorInput(
                **self._workshop().model_dump(),
                specification=self.specified.specification,
                attempt=attempt,
                earlier=tuple(one for one in programs.remembered(self.attempts) if one.n < attempt.n),
            ),
            summary=f"attempt {attempt.n}: {attempt.error}",
        )
        learned = Lesson(failed=seen.failed, cause=seen.cause, change=seen.change)
        place = self.attempts.index(attempt)
        self.attempts[place] = attempt.model_copy(update={"reflection": learned})
        await self._tell(None, f"learned: {learned.change}", attempt=self.attempts[place])

    def _draft(self) -> ReportDraft:
        """Return what is delivered: the best program, and everything that was tried."""
        kept = programs.best(self.attempts)
        attempts = programs.slimmed(self.attempts)
        own = self.specified.task == "tests"
        code = CodeDraft(
            specification=self.specified.specification,
            task=self.specified.task,
            files=programs.changed(self.request.files, kept.files) if kept else (),
            entry=kept.entry if kept else "",
            tests=programs.shown(self.tests),
            proof=Proof(by=self._author(), passed=kept.passed, total=kept.total, failing=kept.failures)
            if kept
            else Proof(by=self._author()),
            attempts=attempts,
            delivered=kept.n if kept else None,
            artifacts=kept.artifacts if kept else (),
        )
        return ReportDraft(
            id=self.request.run,
            mode="CODE",
            question=self.request.question,
            title=heading(self.request.question),
            code=code.model_copy(update={"tests": ()}) if own else code,
            decisions=(self._why_ended(kept),),
            feedback=self._handled(kept),
            degraded=tuple(self.calls.degraded),
            notes=tuple(dict.fromkeys(self.notes)),
            status=self._status(kept),
        )

    def _author(self) -> Author:
        if self.specified.task == "tests":
            return "coder"
        if self.request.tests:
            return "person"
        return "test_writer" if self.tests else "nobody"

    def _handled(self, kept: Attempt | None) -> tuple[Handled, ...]:
        heard = self.heard_in.get(kept.generation, 0) if kept else 0
        return tuple(
            Handled(
                text=wish.text,
                topic=wish.topic,
                at="",
                outcome=f"Attempt {kept.n} was written with it." if kept and n < heard else "No program heeds it.",
            )
            for n, wish in enumerate(self.wishes)
        )

    def _status(self, kept: Attempt | None) -> ResultStatus:
        if not self.host.usable and not self.cancelled:
            return "unsupported"
        if self.cancelled:
            return "cancelled"
        if kept is None:
            return "finished_early" if self.finishing else "no_evidence"
        if self.failure:
            return "failed"
        return "failing_tests" if kept.failures else "done"

    def _why_ended(self, kept: Attempt | None) -> str:
        if self.cancelled:
            return "Ended because a person cancelled the run."
        if self.failure:
            return f"Ended because a step failed for good: {self.failure}"
        if kept and not kept.failures:
            return f"Ended because attempt {kept.n} was accepted."
        return self._why_without()

    def _why_without(self) -> str:
        """Say why the run ended without a program that was accepted."""
        if self.stance.spent:
            return f"Ended because {named(self.bounds(self.request.limits), self.stance.spent)} was used up."
        if self.finishing:
            return "Ended because a person asked to finish."
        if self.exhausted:
            return "Ended because there was no program left to try."
        if not self.host.usable:
            return "Ended because there is no sandbox to run a program in."
        return f"Ended after {self.generation} of {self.request.limits.max_attempts} generations."

    async def _tell(
        self, phase: Phase | None, last: str = "", *, attempt: Attempt | None = None, ended: bool = False
    ) -> None:
        """Report to the run how far the program is."""
        await report(
            self.request.run,
            ProgressUpdate(
                reporter=workflow.info().workflow_id,
                phase=phase,
                revision=self.generation,
                attempt=attempt,
                usage=self.calls.usage,
                last=last,
                ended=ended,
            ),
        )


_NOBODY = (
    "No worker runs programs: none of those that run has a sandbox. "
    "The worker's log says why its self-test failed; `python client.py doctor` says it, too."
)


def _outcome(attempt: Attempt) -> str:
    """Say in one line how an attempt did."""
    tests = f"{attempt.passed} of {attempt.total} tests passed" if attempt.total else "it ran"
    return f"attempt {attempt.n}: {tests}" + (f"; {attempt.error}" if attempt.error else "")
