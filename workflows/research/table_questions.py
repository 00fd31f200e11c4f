"""Answer a question from the tables of a run: by SQL first, then by a program for what SQL cannot compute.

The SQL writer says what is left to compute, so that a run without such a rest pays for no program. A program reads only
results of queries and runs only in the sandbox; its output becomes a source, stored with the code. A program that fails
is shown to its writer for another attempt; if none works, the report says why.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from temporalio import workflow

from workflows.runtime.clients import ActivityClients

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.algorithms.coding import programs
    from tenure.contracts.base import RunId
    from tenure.contracts.evidence.computing import (
        MAX_INPUT_BYTES,
        ComputationRequest,
        FailedProgram,
        ProgramInput,
        TableFileReply,
        TableFileRequest,
    )
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.evidence.tables import FailedQuery, QueryRequest, TableInfo, TablesRequest
    from tenure.contracts.research.trace import TracedProgram
    from tenure.contracts.result.programs import ProgramRequest
    from tenure.contracts.run.run import RunRequest
    from tenure.contracts.sandbox import Artifact, InputFile, Program, SandboxOutcome
    from tenure.roles.coding import analyst
    from tenure.roles.coding.analyst import AnalystInput, AnalystOutput
    from tenure.roles.retrieval import sql_writer
    from tenure.roles.retrieval.sql_writer import SqlWriterInput, WrittenQuery

MAX_ATTEMPTS = 3
"""Times that queries or a program are written until they work."""

SANDBOX_WAIT_SECONDS = 15.0
"""Time to wait for a worker with a sandbox, which a report can do without."""

MAX_PRINTED_LENGTH = 12_000
"""Characters of a program's output that are stored."""

_PROGRAM = "analysis.py"

_NO_SANDBOX = "no worker runs programs"


@dataclass(frozen=True)
class Computation:
    """Result of a program."""

    passages: tuple[PassageRef, ...] = ()
    """Passages of its output."""
    artifacts: tuple[Artifact, ...] = ()
    """Files that it wrote."""
    notes: tuple[str, ...] = ()
    """Notes for readers: why nothing was computed."""


class TableQuestions:
    """Client for the tables of one run and one question."""

    def __init__(
        self,
        clients: ActivityClients,
        request: RunRequest,
        is_stopped: Callable[[], bool],
        *,
        earlier_question: str = "",
    ) -> None:
        """Answer the question of a request; the run has made the queries of an earlier question before."""
        self._clients, self._request, self._is_stopped = clients, request, is_stopped
        self._scope: dict[str, Any] = {"corpora": request.corpora, "databases": request.databases}
        self._earlier_question = earlier_question
        self.tables: tuple[TableInfo, ...] = ()
        """Tables that the question may be about, once they were looked for."""
        self._files: dict[str, TableFileReply] = {}
        self.open_computation = ""
        """Rest that a program has to compute, as the SQL writer or a tool call says."""
        self.unexpressed = ""
        """Reason for a part of the question that concerns the tables and has no query; empty for none."""
        self.completed_queries: tuple[WrittenQuery, ...] = ()
        """Queries whose results are evidence."""

    async def find_tables(self) -> tuple[TableInfo, ...]:
        """Find the tables that the question may be about."""
        tables_request = TablesRequest(question=self._request.question, **self._scope)
        self.tables = await self._clients.execute_activity(
            KnowledgeActivities.find_tables, tables_request, summary="which tables there are"
        )
        return self.tables

    async def query(self) -> tuple[PassageRef, ...]:
        """Query the tables, if there are any, by SQL; return the passages of the results."""
        request = self._request
        await self.find_tables()
        passages: list[PassageRef] = []
        failed: tuple[FailedQuery, ...] = ()
        for _ in range(MAX_ATTEMPTS if self.tables else 0):
            output = await self._clients.models.ask(
                sql_writer.ROLE,
                SqlWriterInput(
                    question=request.question,
                    tables=self.tables,
                    earlier_question=self._earlier_question,
                    failed_queries=failed,
                ),
                summary=request.question,
            )
            self.open_computation = output.computation or self.open_computation
            self.unexpressed = output.unexpressed.rstrip(" .")
            failed = ()
            for query in output.queries:
                query_request = QueryRequest(sql=query.sql, title=query.shows, question=request.question, **self._scope)
                reply = await self._clients.knowledge.query(query_request, summary=query.shows)
                passages += reply.passages
                self.completed_queries += (query,) if reply.passages else ()
                failed += (FailedQuery(sql=query.sql, problem=reply.problem),) if reply.problem else ()
            if not failed:
                break
        return tuple(passages)

    async def compute(self, run: RunId, passages: tuple[PassageRef, ...]) -> Computation:
        """Compute the rest that the queries left open, if any, with a program whose files are kept under `run`."""
        if not self.open_computation or self._is_stopped():
            return Computation()
        sandbox = await self._clients.sandbox.check(SANDBOX_WAIT_SECONDS)
        if sandbox is None or not sandbox.usable:
            return self._explain_missing(sandbox.message if sandbox else _NO_SANDBOX)
        return await self._write_and_run(run, passages, sandbox.packages)

    async def run_program(self, run: RunId, program: AnalystOutput) -> Computation:
        """Run a given program once."""
        outcome, problem = await self._execute(run, 1, program)
        if outcome and not problem:
            return await self._store(program, outcome)
        return Computation(notes=(f"the program failed: {problem}",))

    async def _write_and_run(
        self, run: RunId, passages: tuple[PassageRef, ...], packages: tuple[str, ...]
    ) -> Computation:
        """Have programs written and run until one works, the attempts are used up, or a person says stop."""
        failed: tuple[FailedProgram, ...] = ()
        for attempt in range(1, MAX_ATTEMPTS + 1):
            if self._is_stopped():
                break
            program = await self._clients.models.ask(
                analyst.ROLE,
                AnalystInput(
                    question=self._request.question,
                    computation=self.open_computation,
                    tables=self.tables,
                    packages=packages,
                    failed_programs=failed,
                ),
                passages,
                summary=f"{self.open_computation}{f': {failed[-1].problem}' if failed else ''}",
            )
            if not program.code.strip():
                return self._explain_missing(failed[-1].problem if failed else "no program was written for it")
            outcome, problem = await self._execute(run, attempt, program)
            self._clients.log.add(self._describe_program(program, outcome, problem))
            if outcome and not problem:
                return await self._store(program, outcome)
            failed = (*failed, FailedProgram(inputs=program.inputs, code=program.code, problem=problem))
        return self._explain_missing(failed[-1].problem if failed else "the run was to finish")

    async def _execute(self, run: RunId, attempt: int, output: AnalystOutput) -> tuple[SandboxOutcome | None, str]:
        """Run a program on its inputs; return the outcome, and the problem if there is one."""
        if not output.inputs:
            return None, "a program must read at least one input: its figures must come from the tables"
        files = [InputFile(name=_PROGRAM, text=output.code)]
        remaining = MAX_INPUT_BYTES
        for name, sql in _name_inputs(output):
            reply = await self._export(sql, remaining)
            if reply.problem:
                return None, f"{name}: {reply.problem}"
            files.append(InputFile(name=name, text=reply.text))
            remaining -= len(reply.text.encode())
        program = Program(
            files=tuple(files), entry=_PROGRAM, limits=programs.build_sandbox_limits(self._request.limits)
        )
        outcome = await self._clients.sandbox.run_program(
            ProgramRequest(run=run, attempt=attempt, program=program), summary=f"program {attempt}: {output.shows}"
        )
        return outcome, _find_fault(outcome)

    async def _export(self, sql: str, max_bytes: int) -> TableFileReply:
        """Return the result of a query as a file, from the cache if there is one."""
        if sql not in self._files:
            request = TableFileRequest(sql=sql, max_bytes=max_bytes, **self._scope)
            reply = await self._clients.knowledge.export_query(request, summary=sql)
            if reply.problem:
                return reply
            self._files[sql] = reply
        return self._files[sql]

    async def _store(self, program: AnalystOutput, outcome: SandboxOutcome) -> Computation:
        """Store the output of a program as a source, and its files."""
        artifacts = outcome.artifacts
        request = ComputationRequest(
            question=self._request.question,
            title=program.shows.strip() or self.open_computation,
            inputs=tuple(
                ProgramInput(name=name, sql=sql, tables=self._files[sql].tables) for name, sql in _name_inputs(program)
            ),
            code=program.code,
            output=programs.truncate_middle(outcome.stdout, MAX_PRINTED_LENGTH),
            artifacts=tuple(artifact.name for artifact in artifacts),
            **self._scope,
        )
        passages = await self._clients.execute_activity(
            KnowledgeActivities.store_computation, request, summary=request.title
        )
        return Computation(passages, artifacts)

    def _describe_program(self, program: AnalystOutput, outcome: SandboxOutcome | None, problem: str) -> TracedProgram:
        return TracedProgram(
            wanted=self.open_computation,
            shows=program.shows,
            inputs=program.inputs,
            code=program.code,
            output=programs.truncate_middle(outcome.stdout) if outcome else "",
            artifacts=tuple(artifact.name for artifact in outcome.artifacts) if outcome else (),
            problem=problem.split("\n")[0],
        )

    def _explain_missing(self, reason: str) -> Computation:
        return Computation(
            notes=(f"Not computed: {self.open_computation.rstrip('.')}. The reason: {reason.rstrip('.')}.",)
        )


def _name_inputs(program: AnalystOutput) -> list[tuple[str, str]]:
    """Return the file names and queries of the inputs of a program."""
    return [(f"input{n}.csv", sql) for n, sql in enumerate(program.inputs, 1)]


def _find_fault(outcome: SandboxOutcome) -> str:
    """Return the reason that an outcome cannot be stored, or an empty text if it can."""
    failures = programs.collect_failures(outcome)
    if failures:
        return "\n".join(part for part in (failures[0].error, failures[0].trace) if part)
    return "" if outcome.stdout.strip() else "it printed nothing"
