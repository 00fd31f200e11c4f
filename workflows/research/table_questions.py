"""What the tables of a run say: asked in SQL first, then computed by a program where SQL cannot bring it.

Who writes the queries says what is left to compute, so a run that needs no program pays nothing for one. A program
reads the results of queries and nothing else, runs in the sandbox and nowhere else, and what it prints is kept as a
source with its code. One that fails is shown to its writer again; where none works, the report says why.
"""

from collections.abc import Callable
from dataclasses import dataclass

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.runtime.calls import Calls
from workflows.runtime.failures import cause

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.coding import programs
    from tenure.contracts.base import RunId
    from tenure.contracts.evidence.computing import (
        LONGEST_INPUTS,
        ComputationRequest,
        FailedProgram,
        ProgramInput,
        TableFileReply,
        TableFileRequest,
    )
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.evidence.tables import FailedQuery, QueryRequest, TableInfo, TablesRequest
    from tenure.contracts.result.programs import ProgramRequest, StoredArtifact
    from tenure.contracts.run.run import RunRequest
    from tenure.contracts.sandbox import GivenFile, Outcome, Program
    from tenure.roles.coding.analyst import AnalystInput, AnalystOutput
    from tenure.roles.retrieval.sql_writer import SqlWriterInput, WrittenQuery

MENDED = 2
"""How often queries and programs that brought nothing are written anew."""

BRIEFLY = 15.0
"""Seconds for which a sandbox is waited for: the report is worth having without it."""

MOST_PRINTED = 12_000
"""Characters of what a program prints that are kept."""

_PROGRAM = "analysis.py"

_NO_SANDBOX = "no worker runs programs"


@dataclass(frozen=True)
class Computed:
    """What a program has brought."""

    passages: tuple[PassageRef, ...] = ()
    """Its figures."""
    artifacts: tuple[StoredArtifact, ...] = ()
    """Files it made."""
    notes: tuple[str, ...] = ()
    """What a reader has to know of it."""


class Tables:
    """The tables of one run."""

    def __init__(self, calls: Calls, request: RunRequest, stopped: Callable[[], bool]) -> None:
        """Ask them for a request; `stopped` tells whether the run is to finish."""
        self._calls, self._request, self._stopped = calls, request, stopped
        self._there: tuple[TableInfo, ...] = ()
        self._files: dict[str, TableFileReply] = {}
        self.wanted = ""
        """What is left to compute, once they were asked."""

    async def look(self) -> tuple[TableInfo, ...]:
        """Look which tables there are."""
        asked = self._request
        wanted = TablesRequest(question=asked.question, corpora=asked.corpora, databases=asked.databases)
        self._there = (await self._calls.tables(wanted)).tables
        return self._there

    async def queried(self) -> tuple[PassageRef, ...]:
        """Ask the tables, if there are any, in SQL; return what the queries brought."""
        asked = self._request
        await self.look()
        found: list[PassageRef] = []
        failed: tuple[FailedQuery, ...] = ()
        for _ in range(1 + MENDED if self._there else 0):
            written = await self._calls.role(
                RoleActivities.sql_writer,
                SqlWriterInput(question=asked.question, tables=self._there, failed=failed),
                summary=asked.question,
            )
            self.wanted = written.computation or self.wanted
            replies = [(one, await self._calls.query(self._query(one), summary=one.shows)) for one in written.queries]
            found += [passage for _, reply in replies for passage in reply.passages]
            failed = tuple(FailedQuery(sql=one.sql, problem=r.problem) for one, r in replies if r.problem)
            if not failed:
                break
        return tuple(found)

    async def computed(self, run: RunId, known: tuple[PassageRef, ...]) -> Computed:
        """Have computed what is left, if anything is, knowing what the queries brought.

        Nothing that goes wrong with it ends the run: what was found without a program is still worth a report.
        """
        if not self.wanted or self._stopped():
            return Computed()
        try:
            found = await self._calls.look_at_sandbox(BRIEFLY)
            if found is None or not found.usable:
                return self._none(found.message if found else _NO_SANDBOX)
            return await self._attempts(run, known, found.packages)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            return self._none(cause(error))

    async def run(self, run: RunId, written: AnalystOutput) -> Computed:
        """Run a program that was written elsewhere."""
        try:
            outcome, problem = await self._ran(run, 1, written)
            if outcome and not problem:
                return await self._kept(written, outcome)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            problem = cause(error)
        return Computed(notes=(f"the program brought nothing: {problem}",))

    async def _attempts(self, run: RunId, known: tuple[PassageRef, ...], packages: tuple[str, ...]) -> Computed:
        """Have programs written until one works, has been mended often enough, or a person says stop."""
        failed: tuple[FailedProgram, ...] = ()
        for attempt in range(1, 2 + MENDED):
            if self._stopped():
                break
            written = await self._calls.role(
                RoleActivities.analyst,
                AnalystInput(
                    question=self._request.question,
                    wanted=self.wanted,
                    tables=self._there,
                    installed=packages,
                    failed=failed,
                ),
                known,
                summary=f"{self.wanted}{f': {failed[-1].problem}' if failed else ''}",
            )
            if not written.code.strip():
                return self._none(failed[-1].problem if failed else "no program was written for it")
            outcome, problem = await self._ran(run, attempt, written)
            if outcome and not problem:
                return await self._kept(written, outcome)
            failed = (*failed, FailedProgram(inputs=written.inputs, code=written.code, problem=problem))
        return self._none(failed[-1].problem if failed else "the run was to finish")

    async def _ran(self, run: RunId, attempt: int, written: AnalystOutput) -> tuple[Outcome | None, str]:
        """Run a program beside its inputs; return what came of it, and what is wrong with that."""
        if not written.inputs:
            return None, "a program has to read at least one input: figures come out of the tables"
        lying = [GivenFile(name=_PROGRAM, text=written.code, read_only=True)]
        left = LONGEST_INPUTS
        for name, sql in _named(written):
            reply = await self._file(sql, left)
            if reply.problem:
                return None, f"{name}: {reply.problem}"
            lying.append(GivenFile(name=name, text=reply.text, read_only=True))
            left -= len(reply.text.encode())
        program = Program(files=tuple(lying), entry=_PROGRAM, limits=programs.bounds(self._request.limits))
        outcome = await self._calls.run_program(
            ProgramRequest(run=run, attempt=attempt, program=program), summary=f"program {attempt}: {written.shows}"
        )
        return outcome, _fault(outcome)

    async def _file(self, sql: str, most: int) -> TableFileReply:
        """Return the file of a query; one that was fetched is not asked for again."""
        if sql not in self._files:
            request = TableFileRequest(
                sql=sql, corpora=self._request.corpora, databases=self._request.databases, most=most
            )
            reply = await self._calls.table_file(request, summary=sql)
            if reply.problem:
                return reply
            self._files[sql] = reply
        return self._files[sql]

    async def _kept(self, written: AnalystOutput, outcome: Outcome) -> Computed:
        """Keep what a program printed and made."""
        made = programs.stored(outcome)
        request = ComputationRequest(
            question=self._request.question,
            title=written.shows.strip() or self.wanted,
            inputs=tuple(ProgramInput(name=name, sql=sql, read=self._files[sql].read) for name, sql in _named(written)),
            code=written.code,
            printed=programs.shortened(outcome.stdout, MOST_PRINTED),
            artifacts=tuple(artifact.name for artifact in made),
            corpora=self._request.corpora,
            databases=self._request.databases,
        )
        reply = await self._calls.keep_computation(request, summary=request.title)
        return Computed(reply.passages, made)

    def _query(self, written: WrittenQuery) -> QueryRequest:
        asked = self._request
        return QueryRequest(
            sql=written.sql,
            corpora=asked.corpora,
            databases=asked.databases,
            title=written.shows,
            question=asked.question,
        )

    def _none(self, why: str) -> Computed:
        return Computed(notes=(f"Not computed: {self.wanted.rstrip('.')}. The reason: {why.rstrip('.')}.",))


def _named(written: AnalystOutput) -> list[tuple[str, str]]:
    """Return the inputs of a program with the names of their files."""
    return [(f"input{n}.csv", sql) for n, sql in enumerate(written.inputs, 1)]


def _fault(outcome: Outcome) -> str:
    """Say why what a program printed cannot be kept; empty where it can."""
    failures = programs.failures(outcome)
    if failures:
        return "\n".join(part for part in (failures[0].error, failures[0].trace) if part)
    return "" if outcome.stdout.strip() else "it printed nothing"
