"""Do what the page, the API, the Python interface and the MCP server offer, by the functions of the command line.

Requests become arguments of the command line, so that a default, a check and a message exist only once.
"""

import asyncio
from argparse import Namespace
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from tenure.cli.commands import ask, corpora, diff, fork, memory, runs, start, steer, trace
from tenure.cli.delivery import render_content
from tenure.cli.errors import CommandError, Unreachable, UsageError
from tenure.cli.parser import build_parser
from tenure.cli.paths import allow_reading
from tenure.cli.progress.snapshot import RunSnapshot
from tenure.cli.run_ids import check_run, make_fork_id
from tenure.cli.session.connection import AGENT_WORKFLOW, INGEST_WORKFLOW, explain_refusals, open_session
from tenure.cli.session.follow import RunParts, read_parts, wait_for_result
from tenure.cli.session.monitor import (
    build_progress_query,
    describe_dead_process,
    describe_missing_worker,
    is_starting,
    read_snapshot,
)
from tenure.cli.session.run_records import RunRecord, find_run, open_run
from tenure.cli.session.run_request import read_request
from tenure.cli.session.server_target import ServerTarget, ensure_server
from tenure.contracts.evidence.corpora import CorpusRequest, StoredPassage, TextRange
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.report import RunState
from tenure.contracts.research.trace import Trace
from tenure.contracts.result.ask import AskReply
from tenure.contracts.result.diff import RunDiff
from tenure.contracts.result.result import Result
from tenure.contracts.run.control import RunCommand
from tenure.local_models.errors import LocalModelError
from tenure.prices import PricesError
from tenure.report.diff.comparison import compare_results
from tenure.settings import Settings
from tenure.site.messages import (
    AskBody,
    CitationFormat,
    CorpusList,
    ForgetBody,
    ForkBody,
    IngestBody,
    MemoryEntry,
    MemoryList,
    PassageList,
    RememberBody,
    ReportFormat,
    RunConversation,
    RunDetails,
    RunningIngestion,
    RunRow,
    SearchBody,
    StartReply,
    StartRequest,
)
from tenure.temporal.connection import ServerUnreachable
from tenure.temporal.stack.errors import StackError

POLL_SECONDS = 0.7
"""Pause between two looks at a followed run."""

MAX_LISTED = 200
"""Maximum number of runs in a list; a search looks at these."""

MAX_PASSAGES = 60
"""Maximum number of passages that a page shows."""

_MAX_INGESTIONS = 20


async def open_service(settings: Settings) -> "Service":
    """Return the functions for a home, whose local stack is started if no server is configured.

    Raises:
        CommandError: the stack cannot be started.
    """
    try:
        place = await asyncio.to_thread(ensure_server, settings)
    except (StackError, ServerUnreachable, PricesError, LocalModelError) as error:
        raise Unreachable(str(error)) from error
    return Service(place)


class Service:
    """Functions behind the page, the API, the Python interface and the MCP server.

    Args:
        place: server of the home.
    """

    def __init__(self, place: ServerTarget) -> None:
        self.place, self._settings = place, place.settings
        self._client: Client | None = None
        self._progress = build_progress_query()

    async def connect(self) -> Client:
        """Return the connection to the server, which is opened at the first use and reconnects itself.

        Raises:
            Unreachable: the server does not answer.
        """
        if self._client is None:
            self._client = await open_session(self.place)
        return self._client

    async def start(self, request: StartRequest, *, digest: str = "") -> StartReply:
        """Start a run.

        Args:
            request: the request.
            digest: digest of the call of a client, by which its repetition is recognized; empty for none.

        Raises:
            UsedRunId: the id of the request belongs to another run.
        """
        listed = {"corpora", "databases", "providers", "domains", "filters", "docs", "files", "tests"}
        given = request.model_dump(exclude=listed)
        arguments = self._parse(
            "start",
            "?",
            **given,
            docs=_absolute(request.docs),
            files=_absolute(request.files),
            tests=_absolute(request.tests),
            corpus=list(request.corpora),
            database=list(request.databases),
            provider=list(request.providers),
            domain=list(request.domains),
            filter=list(request.filters),
        )
        asked = start.build_request(arguments, self._settings)
        chosen = check_run(arguments.id) if arguments.id else start.make_id(asked.question, asked.mode, self._settings)
        allow_reading(self._settings, asked.ingest, chosen, asked.files)
        asked = start.add_notifications(asked, self.place)
        handle = await start.launch_run(arguments, self.place, await self.connect(), asked, chosen, digest=digest)
        return self._describe_start(handle.id)

    async def list_runs(self, words: str = "", status: str = "", limit: int = 50) -> tuple[RunRow, ...]:
        """Return the latest runs whose id or question contains all words."""
        arguments = self._parse("list", status=status or None, limit=MAX_LISTED if words else limit)
        rows = [
            RunRow.model_validate(row | {"archived": bool(row["archived"])})
            for row in await runs.collect_runs(arguments, self.place)
        ]
        wanted = words.casefold().split()
        return tuple(row for row in rows if all(word in f"{row.id} {row.question}".casefold() for word in wanted))[
            :limit
        ]

    async def describe(self, run_id: str) -> RunDetails:
        """Return the present state of a run."""
        client, name = await self.connect(), check_run(run_id)
        record = await open_run(self.place, name, client)
        if record.workflow_type != AGENT_WORKFLOW:
            raise UsageError(f"{name} is not a run but a {record.workflow_type}")
        return await self._describe(client, record)

    async def follow(self, run_id: str) -> AsyncGenerator[RunDetails, None]:
        """Yield the state of a run now, after each change, and at its end."""
        last: RunDetails | None = None
        while True:
            details = await self.describe(run_id)
            if last is None or _ignore_clock(details) != _ignore_clock(last):
                yield details
            if not details.is_running:
                return
            last = details
            await asyncio.sleep(POLL_SECONDS)

    async def wait(self, run_id: str, report: Callable[[str], None]) -> Result:
        """Wait for the end of a run, also across an outage of the server, and return its result document.

        Args:
            run_id: id of the run.
            report: receives a line if the server does not answer.
        """
        client, name = await self.connect(), check_run(run_id)
        record = await open_run(self.place, name, client)
        if record.workflow_type == AGENT_WORKFLOW and record.is_running:
            with explain_refusals(name):
                return await wait_for_result(client.get_workflow_handle(name, result_type=Result), report)
        return await self.read_result(name)

    async def read_state(self, run_id: str) -> RunState:
        """Return the state of a run as the run itself reports it."""
        return await runs.read_state(self.place, check_run(run_id), await self.connect())

    async def read_trace(self, run_id: str) -> Trace:
        """Return the trace of a run."""
        return await trace.read_trace(check_run(run_id), self.place, await self.connect())

    async def read_result(self, run_id: str) -> Result:
        """Return the result document of a finished run."""
        return await diff.read_finished(self.place, check_run(run_id), await self.connect())

    async def render_report(self, run_id: str, kind: ReportFormat, style: CitationFormat) -> bytes:
        """Return the report of a finished run in a format."""
        result = await self.read_result(run_id)
        return await asyncio.to_thread(render_content, result, kind, style)

    async def read_passages(self, refs: Sequence[PassageRef]) -> tuple[StoredPassage, ...]:
        """Return stored passages, each once."""
        chosen = tuple({ref.chunk: ref for ref in refs}.values())[:MAX_PASSAGES]
        request = CorpusRequest(action="read", passages=chosen)
        return (await corpora.run_corpus_workflow(await self.connect(), request)).passages if chosen else ()

    async def read_source(self, run_id: str, number: int, start: int, end: int) -> StoredPassage:
        """Return a part of a source of a report, with the text around it.

        Raises:
            UsageError: the report has no such source, or the part is not stored.
        """
        result = await self.read_result(run_id)
        source = next((one for one in result.sources if one.n == number), None)
        if source is None or not 0 <= start < end:
            raise UsageError(f"the report has no source {number} with the characters {start} to {end}")
        request = CorpusRequest(action="read", range=TextRange(source=source.id, start=start, end=end))
        found = (await corpora.run_corpus_workflow(await self.connect(), request)).passages
        if not found:
            raise UsageError(f"source {number} is no longer stored, or has changed since the report was written")
        return found[0]

    async def steer(self, run_id: str, command: RunCommand) -> str:
        """Send a command to a run and return its effect."""
        if command.name in ("feedback", "answer") and not command.text.strip():
            raise UsageError(f"{command.name} needs a text")
        name = check_run(run_id)
        effect = await steer.send_command(self.place, await self.connect(), name, command)
        self._progress.forget(name)
        return effect

    async def ask(self, run_id: str, body: AskBody) -> StartReply:
        """Ask a follow-up question."""
        arguments = self._parse("ask", run_id, "?", **body.model_dump())
        handle = await ask.start_answer(arguments, self.place, await self.connect())
        return self._describe_start(handle.id)

    async def read_conversation(self, run_id: str) -> RunConversation:
        """Return the conversation about a run."""
        client, name = await self.connect(), check_run(run_id)
        await open_run(self.place, name, client)
        thread = ask.make_thread_id(name)
        record = await find_run(self.place, thread, client)
        if record is None:
            return RunConversation()
        with explain_refusals(thread), record.explain_damage():
            exchanges = (await ask.read_thread(record)).exchanges
        if record.is_running:
            return RunConversation(is_running=True, exchanges=exchanges)
        try:
            return RunConversation(exchanges=exchanges, latest=await record.read_result(AskReply))
        except CommandError as error:
            return RunConversation(exchanges=exchanges, failure=str(error))

    async def follow_conversation(self, run_id: str) -> AsyncGenerator[RunConversation, None]:
        """Yield the conversation about a run until no question is being answered."""
        while (conversation := await self.read_conversation(run_id)).is_running:
            yield conversation
            await asyncio.sleep(POLL_SECONDS)
        yield conversation

    async def fork(self, run_id: str, body: ForkBody) -> StartReply:
        """Start a new run from a cycle of a run."""
        given = body.model_dump() | {"feedback": body.feedback or None}
        arguments = self._parse("fork", run_id, options=("--cycle", "1"), **given)
        chosen = check_run(arguments.id) if arguments.id else make_fork_id(arguments.origin, body.cycle)
        handle = await fork.launch_fork(arguments, self.place, await self.connect(), chosen)
        return self._describe_start(handle.id)

    async def compare(self, a: str, b: str) -> RunDiff:
        """Compare the reports of two finished runs."""
        return compare_results(await self.read_result(a), await self.read_result(b))

    async def search(self, body: SearchBody) -> PassageList:
        """Return the passages of corpora that match words."""
        arguments = self._parse(
            "search",
            body.words,
            corpus=list(body.corpora),
            filter=list(body.filters),
            search_mode=body.search_mode,
            limit=body.limit,
        )
        return PassageList(passages=await corpora.search_passages(arguments, self._settings, await self.connect()))

    async def list_corpora(self) -> CorpusList:
        """Return the corpora and the running ingestions."""
        client = await self.connect()
        reply = await corpora.ask_corpora(client, "list")
        return CorpusList(corpora=reply.corpora, running=await self.list_ingestions())

    async def list_ingestions(self) -> tuple[RunningIngestion, ...]:
        """Return the running ingestions."""
        client = await self.connect()
        query = f"WorkflowType = '{INGEST_WORKFLOW}' AND ExecutionStatus = 'Running'"
        found: list[RunningIngestion] = []
        with explain_refusals("ingestions"):
            async for execution in client.list_workflows(query, limit=_MAX_INGESTIONS):
                handle = client.get_workflow_handle(execution.id)
                snapshot = await read_snapshot(client, handle)
                name = execution.id.removeprefix(corpora.make_ingestion_id(""))
                found.append(RunningIngestion(corpus=name, progress=snapshot.ingest))
        return tuple(found)

    async def ingest(self, body: IngestBody) -> StartReply:
        """Start reading documents into a corpus."""
        arguments = self._parse(
            "ingest", "?", paths=_absolute(body.paths), corpus=body.corpus, include_secrets=body.include_secrets
        )
        request = corpora.build_ingestion(arguments, self._settings)
        allow_reading(self._settings, [request])
        handle = await corpora.start_ingestion(await self.connect(), request)
        return self._describe_start(handle.id)

    async def list_memories(self, words: str = "") -> MemoryList:
        """Return the memories of the owner: the latest ones, or those that match words."""
        client = await self.connect()
        if words.strip():
            found = await memory.search_memories(self._parse("memory", "search", words), client)
            listed = tuple(one.memory for one in found.memories)
            total = len(listed)
        else:
            page = await memory.list_memories(self._parse("memory", "list", limit=100), client)
            listed, total = page.memories, page.total
        return MemoryList(
            memories=tuple(
                MemoryEntry(
                    id=one.id,
                    kind=one.kind,
                    text=one.text,
                    since=one.created_at.isoformat(timespec="seconds"),
                    uses=one.use_count,
                    confidence=one.confidence,
                    note=memory.describe_status(one).strip(" ()"),
                )
                for one in listed
            ),
            total=total,
        )

    async def remember(self, body: RememberBody) -> str:
        """Store a memory and return its id."""
        arguments = self._parse("memory", "add", body.text, kind=[body.kind] if body.kind else [])
        return (await memory.write_memory(arguments, await self.connect())).id

    async def forget(self, body: ForgetBody) -> int:
        """Forget memories and return their number."""
        arguments = self._parse("memory", "forget", *body.ids)
        return (await memory.forget_memories(arguments, await self.connect())).forgotten

    def _parse(self, command: str, *positional: str, options: Sequence[str] = (), **given: Any) -> Namespace:
        """Return the arguments of a command with its defaults, and with values that a request has given."""
        arguments = build_parser().parse_args([command, *options, *(("--",) if positional else ()), *positional])
        vars(arguments).update(given)
        return arguments

    def _describe_start(self, workflow_id: str) -> StartReply:
        return StartReply(id=workflow_id, url=self.place.build_run_url(workflow_id))

    async def _describe(self, client: Client, record: RunRecord) -> RunDetails:
        snapshot, note, failure, status = RunSnapshot(), "", "", "running"
        parts = RunParts()
        if record.is_running:
            handle: WorkflowHandle[Any, Any] = client.get_workflow_handle(record.id)
            with explain_refusals(record.id):
                snapshot = await read_snapshot(client, handle, self._progress)
                parts = await read_parts(client, self.place, record.id)
                note = "" if snapshot.progress else await self._explain_silence(client)
            question = snapshot.progress.question if snapshot.progress else await self._read_question(record)
            status = snapshot.progress.status if snapshot.progress else status
        else:
            question = await self._read_question(record)
            try:
                status = (await record.read_result(Result)).status
            except CommandError as error:
                status, failure = "failed", str(error)
        return RunDetails(
            id=record.id,
            started=record.started.isoformat(),
            seen=datetime.now(UTC).isoformat(),
            ended=record.ended.isoformat() if record.ended else "",
            question=question,
            status=status,
            is_running=record.is_running,
            is_completed=record.is_completed,
            is_archived=record.is_archived,
            seconds=snapshot.seconds,
            progress=snapshot.progress,
            ingest=snapshot.ingest,
            pending_failures=tuple(one.line for one in parts.pending_failures),
            streamed_answers=tuple(one.line for one in parts.writings),
            draft="\n\n".join(one.text for one in parts.writings if one.text),
            note=note,
            failure=failure,
        )

    async def _explain_silence(self, client: Client) -> str:
        """Return the reason why a running run does not answer; empty if only its first step is missing."""
        if found := await asyncio.to_thread(describe_dead_process, self.place):
            return found
        if await is_starting(client, self.place):
            return "the worker is starting"
        return await describe_missing_worker(client)

    async def _read_question(self, record: RunRecord) -> str:
        with explain_refusals(record.id), record.explain_damage():
            return (await read_request(record.source, record.id)).question


def _ignore_clock(details: RunDetails) -> RunDetails:
    """Return a state without what changes by the passing of time alone."""
    progress = details.progress
    if progress is not None:
        usage = progress.usage.model_copy(update={"seconds": 0.0})
        words = tuple(line for line in progress.budget if " s " not in line)
        progress = progress.model_copy(update={"usage": usage, "budget": words})
    return details.model_copy(update={"seconds": 0.0, "seen": "", "progress": progress})


def _absolute(paths: tuple[str, ...]) -> list[str]:
    """Return paths that do not depend on the folder in which the server was started.

    Raises:
        UsageError: a path is relative.
    """
    for path in paths:
        if not Path(path).expanduser().is_absolute():
            raise UsageError(f"{path!r} is not an absolute path: begin it with / or ~")
    return list(paths)
