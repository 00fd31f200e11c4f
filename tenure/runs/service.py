"""The operations on one home, which all faces share."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from tenure.contracts.base import SourceId
from tenure.contracts.choices import CitationStyle, ReportFormat, ReportProofs
from tenure.contracts.coding.repositories import ChangeSoFar
from tenure.contracts.evidence.corpora import CorpusRequest, DocumentChoice, StoredPassage, TextRange
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.knowledge.memory import ForgetReply, MemoriesReply, Memory
from tenure.contracts.research.report import RunState
from tenure.contracts.research.trace import Trace
from tenure.contracts.result.ask import AskReply
from tenure.contracts.result.diff import RunDiff
from tenure.contracts.result.result import Result
from tenure.contracts.run.control import RunCommand
from tenure.local_models.errors import LocalModelError
from tenure.prices import PricesError
from tenure.report.diff.comparison import compare_results
from tenure.runs.ask import make_thread_id, read_thread, start_answer
from tenure.runs.corpora import (
    ask_corpora,
    check_interval,
    describe_corpus,
    drop_corpus,
    make_ingestion_id,
    plan_rereading,
    run_corpus_workflow,
    search_passages,
    start_ingestion,
    unwatch_corpus,
    watch_corpus,
)
from tenure.runs.errors import InvalidRequest, TenureError, Unreachable, add_field
from tenure.runs.fork import launch_fork, repeat_run
from tenure.runs.listing import list_runs
from tenure.runs.memories import forget_memories, list_memories, search_memories, write_memory
from tenure.runs.messages import (
    AskBody,
    CorpusDetails,
    CorpusList,
    DeletedRun,
    DocumentFilter,
    DropReply,
    ForgetBody,
    ForkBody,
    IngestBody,
    MemoryFilter,
    PassageList,
    RememberBody,
    RepeatBody,
    RunConversation,
    RunDetails,
    RunFilter,
    RunLabel,
    RunList,
    RunningIngestion,
    RunPair,
    SearchBody,
    SourceRange,
    StartReply,
    StartRequest,
    SteerReply,
    UploadReply,
)
from tenure.runs.options import PathName
from tenure.runs.paths import check_shared_paths, list_opened_paths, plan_ingestion, require_absolute
from tenure.runs.programs.repository import is_server_url
from tenure.runs.programs.write_back import check_accepted, write_files
from tenure.runs.reading import read_finished, read_state, read_trace, render_content
from tenure.runs.run_ids import check_corpus, check_run
from tenure.runs.session.audit import AuditLog, record_action
from tenure.runs.session.connection import AGENT_WORKFLOW, INGEST_WORKFLOW, Session, explain_refusals
from tenure.runs.session.labels import label_run, read_labels
from tenure.runs.session.monitor import (
    build_progress_query,
    describe_dead_process,
    describe_missing_worker,
    is_starting,
    read_snapshot,
)
from tenure.runs.session.quotas import B, Quota
from tenure.runs.session.run_query import RunQuery
from tenure.runs.session.run_records import RunRecord, find_run, open_run
from tenure.runs.session.server_target import ServerTarget, ensure_server
from tenure.runs.session.snapshot import RunSnapshot
from tenure.runs.session.waiting import RunParts, read_parts, wait_for_result
from tenure.runs.start import launch_run, plan_run
from tenure.runs.steer import send_command
from tenure.runs.uploads import Upload, is_upload, list_uploads
from tenure.settings import Settings
from tenure.temporal.connection import ServerUnreachable
from tenure.temporal.stack.errors import StackError

POLL_SECONDS = 0.7
"""Pause between two looks at a followed run."""

MAX_PASSAGES = 60
"""Maximum number of passages that a page shows."""

PAGE_ROWS = 50
"""Documents, corpora or memories on one page of a list."""

_MAX_INGESTIONS = 20


async def open_service(settings: Settings) -> "Service":
    """Return the functions for a home, whose local stack is started if no server is configured.

    Raises:
        TenureError: the stack cannot be started.
    """
    try:
        server = await asyncio.to_thread(ensure_server, settings)
    except (StackError, ServerUnreachable, PricesError, LocalModelError) as error:
        raise Unreachable(str(error)) from error
    return Service(server)


class Service(Session):
    """Functions behind the faces; without an open connection, one is opened at the first use."""

    def __init__(
        self,
        server: ServerTarget,
        client: Client | None = None,
        *,
        audit: AuditLog | None = None,
        quota: Quota | None = None,
    ) -> None:
        super().__init__(server, client)
        self.audit, self._quota = audit, quota
        self._progress = build_progress_query()
        self._changes = RunQuery("change", ChangeSoFar)

    @record_action("start run")
    async def start(self, request: StartRequest, *, digest: str = "") -> StartReply:
        """Start a run; by the `digest` of a client's call, its repetition is recognized.

        Raises:
            UsedRunId: the id of the request belongs to another run.
        """
        repositories = [request.repo] if request.repo and not is_server_url(str(request.repo)) else []
        paths_by_field = {"docs": request.docs, "files": (*request.files, *request.tests), "repo": repositories}
        for field, paths in paths_by_field.items():
            with add_field(field):
                self._check_paths(paths)
        async with self._admit(request) as admitted:
            planned = plan_run(admitted, self.settings)
            if (task := planned.request.repository) and not is_server_url(task.source.path):
                self._check_paths([task.source.path])  # the top folder may be above the one that was named
            handle, notes = await launch_run(self, planned, digest=digest)
            return self._record_start(handle.id, (*planned.notes, *notes))

    async def list_runs(self, chosen: RunFilter) -> RunList:
        """Return the latest runs of a choice."""
        return await list_runs(self, chosen)

    async def describe(self, run: str) -> RunDetails:
        """Return the present state of a run."""
        name = check_run(run)
        record = await open_run(self, name)
        if record.workflow_type != AGENT_WORKFLOW:
            raise InvalidRequest(f"{name} is not a run but a {record.workflow_type}")
        return await self._describe(record)

    async def follow(self, run: str) -> AsyncGenerator[RunDetails, None]:
        """Yield the state of a run now, after each change, and at its end."""
        last: RunDetails | None = None
        while True:
            details = await self.describe(run)
            if last is None or _ignore_clock(details) != _ignore_clock(last):
                yield details
            if not details.is_running:
                return
            last = details
            await asyncio.sleep(POLL_SECONDS)

    async def wait(self, run: str, report: Callable[[str], None]) -> Result:
        """Wait for the end of a run, also across an outage of the server, and return its result document.

        `report` receives a line if the server does not answer.
        """
        name = check_run(run)
        record = await open_run(self, name)
        if record.workflow_type == AGENT_WORKFLOW and record.is_running:
            handle = (await self.connect()).get_workflow_handle(name, result_type=Result)
            with explain_refusals(name):
                return await wait_for_result(handle, report)
        return await self.read_result(name)

    @record_action("read run")
    async def read_state(self, run: str) -> RunState:
        """Return the state of a run as the run itself reports it."""
        return await read_state(self, check_run(run))

    @record_action("read trace")
    async def read_trace(self, run: str) -> Trace:
        """Return the trace of a run."""
        return await read_trace(self, check_run(run))

    @record_action("read result")
    async def read_result(self, run: str) -> Result:
        """Return the result document of a finished run."""
        return await read_finished(self, check_run(run))

    async def read_patch(self, run: str) -> str:
        """Return the patch of a finished run, which `git apply` takes.

        Raises:
            InvalidRequest: the run has changed no files.
        """
        result = await self.read_result(run)
        if not result.patch:
            raise InvalidRequest(f"run {run} has changed no files, so it has no patch")
        return result.patch

    @record_action("apply change")
    async def apply(self, run: str) -> tuple[Path, ...]:
        """Write the accepted changes of a finished run to where its files are, and return the changed paths.

        Raises:
            TenureError: its tests fail, or a file is not as the run has read it; none is changed.
        """
        result = await self.read_result(run)
        if self.place.is_shared:
            raise InvalidRequest("this server changes no files: save the patch or the files of the run instead")
        check_accepted(result)
        return await asyncio.to_thread(write_files, result)

    async def render_report(
        self, run: str, kind: ReportFormat, style: CitationStyle, proofs: ReportProofs = "full"
    ) -> bytes:
        """Return the report of a finished run in a format."""
        result = await self.read_result(run)
        return await asyncio.to_thread(render_content, result, kind, style, proofs)

    async def read_passages(self, refs: Sequence[PassageRef]) -> tuple[StoredPassage, ...]:
        """Return stored passages, each once."""
        chosen = tuple({ref.chunk: ref for ref in refs}.values())[:MAX_PASSAGES]
        request = CorpusRequest(action="read", passages=chosen)
        return (await run_corpus_workflow(self, request)).passages if chosen else ()

    @record_action("read source")
    async def read_source(
        self, run: str, number: int, part: SourceRange, *, with_picture: bool = False
    ) -> StoredPassage:
        """Return a part of a source of a report, with the text around it and, if requested, a picture of its page.

        Raises:
            InvalidRequest: the report has no such source, or the part is not stored.
        """
        result = await self.read_result(run)
        source = next((entry for entry in result.sources if entry.n == number), None)
        if source is None or part.start >= part.end:
            raise InvalidRequest(f"the report has no source {number} with the characters {part.start} to {part.end}")
        text_range = TextRange(source=source.id, start=part.start, end=part.end, with_picture=with_picture)
        passages = (await run_corpus_workflow(self, CorpusRequest(action="read", range=text_range))).passages
        if not passages:
            raise InvalidRequest(f"source {number} is no longer stored, or has changed since the report was written")
        return passages[0]

    @record_action("steer run")
    async def steer(self, run: str, command: RunCommand) -> SteerReply:
        """Send a command to a run and return its effect."""
        if self._quota:
            await self._quota.check_budget(self, command.budget)
        effect = await send_command(self, check_run(run), command)
        self._progress.forget(run)
        return SteerReply(effect=effect)

    @record_action("ask question")
    async def ask(self, run: str, body: AskBody) -> StartReply:
        """Ask a follow-up question."""
        async with self._admit(body) as admitted:
            handle = await start_answer(self, check_run(run), admitted)
            return self._record_start(handle.id)

    async def read_conversation(self, run: str) -> RunConversation:
        """Return the conversation about a run."""
        name = check_run(run)
        request = await (await open_run(self, name)).read_run_request()
        has_documents = bool(request.corpora or request.limits.web)
        thread = make_thread_id(name)
        record = await find_run(self, thread)
        if record is None:
            return RunConversation(has_documents=has_documents)
        exchanges = (await read_thread(record)).exchanges
        if record.is_running:
            return RunConversation(is_running=True, exchanges=exchanges, has_documents=has_documents)
        try:
            latest = await record.read_result(AskReply)
            return RunConversation(exchanges=exchanges, latest=latest, has_documents=has_documents)
        except TenureError as error:
            return RunConversation(exchanges=exchanges, failure=str(error), has_documents=has_documents)

    async def follow_conversation(self, run: str) -> AsyncGenerator[RunConversation, None]:
        """Yield the conversation about a run until no question is being answered."""
        while (conversation := await self.read_conversation(run)).is_running:
            yield conversation
            await asyncio.sleep(POLL_SECONDS)
        yield conversation

    @record_action("fork run")
    async def fork(self, run: str, body: ForkBody) -> StartReply:
        """Start a new run from a cycle or an answer of a run."""
        async with self._admit(body) as admitted:
            handle, notes = await launch_fork(self, check_run(run), admitted)
            return self._record_start(handle.id, notes)

    @record_action("repeat run")
    async def repeat(self, run: str, body: RepeatBody) -> StartReply:
        """Ask the question of a run again in a new run, with changes."""
        async with self._admit(body) as admitted:
            handle, notes = await repeat_run(self, check_run(run), admitted)
            return self._record_start(handle.id, notes)

    @record_action("label run")
    async def label(self, run: str, label: RunLabel) -> RunLabel:
        """Store the title or the tags of a run, and return both."""
        given = {name: getattr(label, name) for name in label.model_fields_set}
        kept = await self.read_label(run)
        return await label_run(self, check_run(run), kept.model_copy(update=given)) if given else kept

    async def read_label(self, run: str) -> RunLabel:
        """Return the title and the tags of a run."""
        return (await read_labels(self.settings)).get(check_run(run), RunLabel())

    @record_action("delete run")
    async def delete(self, run: str) -> DeletedRun:
        """Delete a finished run and the follow-up questions to it."""
        # Imported when needed: the database takes a second.
        from tenure.runs.archives import delete_run

        if self._quota:
            await self._quota.record_costs(self)
        return DeletedRun(workflows=tuple(await delete_run(self, check_run(run))))

    async def compare(self, runs: RunPair) -> RunDiff:
        """Compare the reports of two finished runs."""
        return compare_results(await self.read_result(runs.a), await self.read_result(runs.b))

    @record_action("search corpora")
    async def search(self, body: SearchBody) -> PassageList:
        """Return the passages of corpora that match words."""
        return PassageList(passages=await search_passages(self, body))

    async def list_corpora(self) -> CorpusList:
        """Return the corpora and the running ingestions."""
        reply = await ask_corpora(self, "list")
        known = {stats.corpus for stats in reply.corpora}
        unread = tuple(name for name in list_uploads(self.settings) if name not in known)
        return CorpusList(corpora=reply.corpora, running=await self.list_ingestions(), unread=unread)

    @record_action("read corpus")
    async def describe_corpus(self, corpus: str, chosen: DocumentFilter) -> CorpusDetails:
        """Return the state of a corpus with a page of its documents."""
        page = DocumentChoice(words=chosen.words, offset=(chosen.page - 1) * PAGE_ROWS, limit=PAGE_ROWS)
        return await describe_corpus(self, corpus, page)

    def list_folders(self, corpora: Sequence[str]) -> list[str]:
        """Return the folders that corpora were read from, in the order of the corpora, without uploads."""
        opened = list_opened_paths(self.settings)
        folders = dict.fromkeys(path for corpus in corpora for path in opened.get(corpus, ()))
        return [str(path) for path in folders if path.is_dir() and not is_upload(self.settings, path)]

    @record_action("delete corpus")
    async def drop_corpus(self, corpus: str) -> DropReply:
        """Delete a corpus, with its uploaded documents."""
        return DropReply(corpus=corpus, notes=(await drop_corpus(self, check_corpus(corpus, is_existing=True))).notes)

    @record_action("read corpus again")
    async def read_again(self, corpus: str, *, include_secrets: bool = False) -> StartReply:
        """Start reading the files and folders of a corpus again."""
        request = plan_rereading(self.settings, corpus, include_secrets=include_secrets)
        return self._describe_start((await start_ingestion(self, request)).id)

    @record_action("watch corpus")
    async def watch_corpus(self, corpus: str, every: float | None) -> None:
        """Read the files and folders of a corpus again at an interval in seconds, or no more if there is none."""
        if every is None:
            await unwatch_corpus(self, corpus)
        else:
            await watch_corpus(self, plan_rereading(self.settings, corpus), check_interval(every))

    @record_action("upload documents")
    async def upload(self, upload: Upload, corpus: str = "") -> UploadReply:
        """Add uploaded documents to a corpus and start reading them."""
        name = await asyncio.to_thread(upload.publish, corpus)
        reply = await self.read_again(name)
        return UploadReply(corpus=name, files=tuple(upload.files), left_out=tuple(upload.left_out), id=reply.id)

    @record_action("read document")
    async def read_document(self, source: str, part: SourceRange) -> StoredPassage:
        """Return a part of a document, with the text around it.

        Raises:
            InvalidRequest: the document is not stored, or ends before the end of the part.
        """
        text_range = TextRange(source=SourceId(source), start=part.start, end=part.end)
        passages = (await run_corpus_workflow(self, CorpusRequest(action="read", range=text_range))).passages
        if not passages:
            raise InvalidRequest("there is no such document, or it has changed: open it from the list of its corpus")
        return passages[0]

    async def list_ingestions(self) -> tuple[RunningIngestion, ...]:
        """Return the running ingestions."""
        client = await self.connect()
        query = f"WorkflowType = '{INGEST_WORKFLOW}' AND ExecutionStatus = 'Running'"
        running: list[RunningIngestion] = []
        with explain_refusals("ingestions"):
            async for execution in client.list_workflows(query, limit=_MAX_INGESTIONS):
                handle = client.get_workflow_handle(execution.id)
                snapshot = await read_snapshot(client, handle)
                name = execution.id.removeprefix(make_ingestion_id(""))
                running.append(RunningIngestion(corpus=name, progress=snapshot.ingest))
        return tuple(running)

    @record_action("ingest documents")
    async def ingest(self, body: IngestBody) -> StartReply:
        """Start reading documents into a corpus."""
        self._check_paths(body.paths)
        request = plan_ingestion(body.paths, body.corpus, include_secrets=body.include_secrets)
        handle = await start_ingestion(self, request)
        return self._describe_start(handle.id)

    @record_action("read memories")
    async def list_memories(self, chosen: MemoryFilter) -> MemoriesReply:
        """Return the memories of a choice: those that match its words, or the latest ones."""
        if not chosen.words.strip():
            return await list_memories(self, chosen)
        memories = tuple(scored.memory for scored in (await search_memories(self, chosen)).memories)
        return MemoriesReply(memories=memories, total=len(memories))

    @record_action("store memory")
    async def remember(self, body: RememberBody) -> Memory:
        """Store a memory."""
        return await write_memory(self, body)

    @record_action("forget memories")
    async def forget(self, body: ForgetBody) -> ForgetReply:
        """Forget memories."""
        return await forget_memories(self, body)

    @asynccontextmanager
    async def _admit(self, body: B) -> AsyncIterator[B]:
        """Yield a request for a start within the quota of the owner, if there is one."""
        if self._quota is None:
            yield body
        else:
            async with self._quota.open_start(self, body) as admitted:
                yield admitted

    def _check_paths(self, paths: Sequence[PathName]) -> None:
        """Refuse relative paths, and for a shared home those outside its document roots."""
        require_absolute(paths)
        if self.place.is_shared:
            check_shared_paths(self.settings, paths)

    def _record_start(self, workflow_id: str, notes: tuple[str, ...] = ()) -> StartReply:
        """Return the reply to an admitted start, and count it."""
        if self._quota:
            self._quota.record_start(workflow_id)
        return self._describe_start(workflow_id, notes)

    def _describe_start(self, workflow_id: str, notes: tuple[str, ...] = ()) -> StartReply:
        return StartReply(id=workflow_id, url=self.place.build_run_url(workflow_id), notes=notes)

    async def _describe(self, record: RunRecord) -> RunDetails:
        snapshot, note, failure, status = RunSnapshot(), "", "", "running"
        parts, change = RunParts(), None
        if record.is_running:
            client = await self.connect()
            handle: WorkflowHandle[Any, Any] = client.get_workflow_handle(record.id)
            with explain_refusals(record.id):
                snapshot = await read_snapshot(client, handle, self._progress)
                parts = await read_parts(client, self.place, record.id)
                if snapshot.progress and snapshot.progress.repository and snapshot.progress.repository.files:
                    part = client.get_workflow_handle(f"{record.id}/repository")
                    change = await self._changes.read(part, await part.describe())
                note = "" if snapshot.progress else await self._explain_silence(client)
            question = snapshot.progress.question if snapshot.progress else await self._read_question(record)
            status = snapshot.progress.status if snapshot.progress else status
        else:
            question = await self._read_question(record)
            try:
                status = (await record.read_result(Result)).status
            except TenureError as error:
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
            change=change,
            pending_failures=tuple(failure.line for failure in parts.pending_failures),
            streamed_answers=tuple(answer.line for answer in parts.writings),
            setups=tuple(setup.line for setup in parts.setups),
            draft="\n\n".join(answer.text for answer in parts.writings if answer.text),
            note=note,
            failure=failure,
        )

    async def _explain_silence(self, client: Client) -> str:
        """Return the reason why a running run does not answer; empty if only its first step is missing."""
        if problem := await asyncio.to_thread(describe_dead_process, self.place):
            return problem
        if await is_starting(client, self.place):
            return "the worker is starting"
        return await describe_missing_worker(client)

    async def _read_question(self, record: RunRecord) -> str:
        return (await record.read_run_request()).question


def _ignore_clock(details: RunDetails) -> RunDetails:
    """Return a state without what changes by the passing of time alone."""
    progress = details.progress
    if progress is not None:
        usage = progress.usage.model_copy(update={"seconds": 0.0})
        words = tuple(line for line in progress.budget if " s " not in line)
        progress = progress.model_copy(update={"usage": usage, "budget": words})
    return details.model_copy(update={"seconds": 0.0, "seen": "", "progress": progress})
