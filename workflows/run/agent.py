"""Run a question from the request to the result document.

The phases are ingest, retrieve, route, then research or code in a child workflow, and assemble. This is the workflow
that people see: its id names the run, its queries answer at any time, its signals reach all child workflows, and its
details in the web UI are the live status page.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError, is_cancelled_exception

from workflows.research.table_questions import Computation, TableQuestions
from workflows.run.clarification import clarify_question
from workflows.run.coding_requests import build_coding_part
from workflows.run.feedback_log import FeedbackLog
from workflows.run.interactive import InteractiveRun
from workflows.run.part_records import PartRecords
from workflows.run.question_tools import QuestionTools, build_question_task
from workflows.run.run_budget import RunBudget
from workflows.run.run_memory import RunMemory
from workflows.run.run_request import resolve_request
from workflows.run.scheduled_question import add_changes
from workflows.run.status_publisher import StatusPublisher
from workflows.run.task_page import find_task_url, read_task
from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import send_signal
from workflows.runtime.failures import describe_failure
from workflows.runtime.model_client import MODEL_BUDGETS
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step
from workflows.upkeep.archive import start_archiving
from workflows.upkeep.embed import embed_for_question, embed_in_background

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from activities.report import ReportActivities
    from tenure.algorithms.calculator.questions import is_pure_calculation
    from tenure.algorithms.control import note_messages
    from tenure.algorithms.control.budget import describe_limit, describe_usage, list_limits
    from tenure.algorithms.control.run_notes import describe_ingestion, describe_shortcomings, format_line
    from tenure.algorithms.control.steering import RunSituation, apply_bounds
    from tenure.algorithms.control.transitions import AgentState, choose_next_node
    from tenure.algorithms.control.usage import add_transcription, limit_transcription, sum_run_usage
    from tenure.algorithms.research.research_state import build_topic_progress
    from tenure.algorithms.retrieval.query_type import choose_query_type
    from tenure.algorithms.writing.manuscript import add_new_passages
    from tenure.contracts.base import RunId
    from tenure.contracts.choices import Complexity
    from tenure.contracts.evidence.corpora import IngestReport, SkippedFile
    from tenure.contracts.evidence.passages import PassageRef, SearchRequest
    from tenure.contracts.research.fork import (
        CycleCheckpoint,
        ForkOrigin,
        ForkRequest,
        ForkRunRequest,
        RepositoryForkRequest,
    )
    from tenure.contracts.research.learning import Experience
    from tenure.contracts.research.progress import ProgressUpdate
    from tenure.contracts.research.report import ReportDraft, RunState
    from tenure.contracts.research.spiral import ResearchRequest, SpiralState
    from tenure.contracts.research.trace import RecordedResult, Story
    from tenure.contracts.result.result import Result, ResultStatus
    from tenure.contracts.run.budget import BudgetRequest
    from tenure.contracts.run.control import BudgetBounds
    from tenure.contracts.run.limits import MAX_RETRIEVED_PASSAGES
    from tenure.contracts.run.run import (
        Feedback,
        PartRequest,
        QueryType,
        RunProgress,
        RunRequest,
        TaskMode,
        Usage,
        WorkflowUsage,
    )
    from tenure.roles.research import router
    from tenure.roles.research.router import RouterInput, RouterOutput
    from workflows.research.research import ResearchWorkflow

D = TypeVar("D")
T = TypeVar("T")

_DISCARDED = "Cancelled by a person, who wanted nothing of it to be delivered."


@workflow.defn
class AgentWorkflow(InteractiveRun):
    """Workflow of one run, which answers one question."""

    @workflow.init
    def __init__(self, request: RunRequest | ForkRunRequest | RepositoryForkRequest) -> None:
        """Start from the request; a fork starts from the state of an earlier run as well."""
        super().__init__()
        self.origin = origin = request.origin if isinstance(request, ForkRunRequest) else None
        if origin:
            self.change_control(outline=origin.checkpoint.outline)
        self.request = request = resolve_request(request, origin)
        self.id = RunId(workflow.info().workflow_id)
        self.started = workflow.now()
        self.main: asyncio.Task[ReportDraft] | None = None
        self.notes: list[str] = []
        self.parts = PartRecords(self.log)
        self.run_budget = RunBudget(
            self,
            request.limits,
            lambda text: self.notes.append(f"{format_line(text)} in phase {self.status.progress.phase}."),
        )
        self.clients = ActivityClients(self, request.limits, self.run_budget.grant, request.question)
        self.tables = TableQuestions(self.clients, request, lambda: self.is_finishing)
        self.run_memory = RunMemory(self.clients, request)
        self.status = StatusPublisher(RunProgress(id=self.id, question=request.question), request.notifications)
        self.feedback_items = list(request.earlier_feedback)
        self.feedback_log = FeedbackLog(self.feedback_items)
        self.complexity: Complexity | None = None
        self.query_type: QueryType | None = None
        self.calculation = ""
        self.tool_resources: tuple[str, ...] = ()
        self.query_results: tuple[PassageRef, ...] = ()
        self.evidence: tuple[PassageRef, ...] = ()
        self.cycles = 0
        self.skipped: list[SkippedFile] = []
        self.draft: ReportDraft | None = None

    @workflow.run
    async def run(self, request: RunRequest | ForkRunRequest | RepositoryForkRequest) -> Result:
        """Answer the question; end in a result document unless the run fails or is cancelled from outside."""
        self._publish(status=self.current_status, phase="ingest")
        self.main = asyncio.create_task(self._write_draft())
        clock = asyncio.create_task(self.run_budget.run_clock())
        if self.cancelled:
            self.main.cancel()
        try:
            self.draft = self._complete(await self._wait_for_draft(self.main))
            result = await self._assemble(self.draft)
        except (Exception, asyncio.CancelledError) as error:
            self._publish_failure(error)
            await self.status.notifications.wait_until_started(workflow.logger.warning)
            await start_archiving(workflow.logger.warning, error)
            raise
        finally:
            clock.cancel()
        reason, late = result.decisions[-1] if result.status == "failed" else None, list[str]()
        self._publish(phase="done", status=result.status, error=reason, last=f"ended: {result.status}")
        await self.status.notifications.wait_until_started(late.append)
        await start_archiving(late.append)
        await workflow.wait_condition(workflow.all_handlers_finished)
        notes = (*result.notes, *late, *self.refusals, *self.signal_queue.describe_dropped())
        # The result itself has the attempts, the feedback and the notes.
        story = self.story().model_copy(update={"attempts": (), "feedback": (), "notes": ()})
        return RecordedResult(**{**dict(result), "notes": notes}, story=story)

    async def _write_draft(self) -> ReportDraft:
        """Execute the phases up to the draft of the report."""
        if self.origin is not None:
            return await self._continue_origin(self.origin)
        # The router reads only the question, so its answer need not wait for the documents.
        _, routed = await asyncio.gather(self._read(), self._ask_router())
        mode = self._route(routed)
        if mode == "RESEARCH":
            await self.run_budget.limit_by_effort(self.complexity, self._list_usages())
            await self._clarify()
            if answered := await self._use_tools():
                return answered
            await self._compute()
            await self.run_memory.recall()
            self.evidence = add_new_passages(self.run_memory.statements, self.evidence)
            if not self.evidence:
                return self._end_early("no_evidence", "No passage was found that is relevant enough to the question.")
        await self.wait_while_paused()
        if self.is_finishing and self.control.exhausted not in MODEL_BUDGETS:
            used_up = self.control.exhausted and describe_limit(self.run_budget.limits, self.control.exhausted)
            reason = format_line(f"{used_up} was used up") if used_up else "A person asked to finish"
            return self._end_early("finished_early", f"{reason} before anything was written.")
        return await (self._code() if mode == "CODE" else self._research())

    async def _read(self) -> None:
        """Read the documents of the request, search them for the question, and start to recall earlier runs."""
        if url := find_task_url(self.request):
            self._publish(last=f"reading the task from {url}")
            self._replace_request(await read_task(self.clients, self.request, self.id, url, self.notes.append))
        await self._ingest()
        if router.is_certain_research(self.request.question, self.request.mode):
            self.run_memory.start_recall()
        await self._retrieve()

    async def _ingest(self) -> None:
        """Read the documents of the request, and wait for vectors of their passages."""
        reports: list[IngestReport] = []
        for ingest in self.request.ingest:
            self._publish(phase="ingest", last=f"reading {', '.join(ingest.paths)}")
            limited = limit_transcription(ingest, self.run_budget.limits, self.clients.record.usage)
            report = await self.clients.execute_activity(
                KnowledgeActivities.ingest_corpus, limited, summary=f"read corpus {ingest.corpus}"
            )
            self.skipped.extend(report.skipped)
            self.notes += describe_ingestion(report)
            self.clients.record.usage = add_transcription(self.clients.record.usage, report)
            reports.append(report)
        if not self.is_finishing:
            await embed_for_question(
                reports, self.request.question, lambda line: self._publish(last=line), self.notes.append
            )

    async def _retrieve(self) -> None:
        """Search corpora and tables for the question as a whole."""
        self.notes += [note_messages.FILTERED.format(condition=entry) for entry in self.request.limits.filters]
        if self.request.limits.search_mode:
            self.notes.append(note_messages.SEARCH_MODE.format(mode=self.request.limits.search_mode))
        self._publish(phase="retrieve")
        if self.clients.web:
            await self.clients.web.open(reads_named=True)
        if self.corpora:
            await self._search()

    async def _search(self) -> None:
        question, limits = self.request.question, self.request.limits
        request = SearchRequest(
            query=question, corpora=self.corpora, k=MAX_RETRIEVED_PASSAGES, max_per_source=limits.max_per_source
        )
        searching = self.clients.knowledge.search(request)
        querying = self._try(self.tables.query(), (), "The tables could not be queried")
        self.query_results, passages = await asyncio.gather(querying, searching)
        self.notes += [note_messages.QUERY.format(**vars(query)) for query in self.tables.completed_queries]
        if self.tables.unexpressed:
            self.notes.append(note_messages.UNEXPRESSED.format(part=self.tables.unexpressed))
        if self.clients.record.usage.embedded_share < 1:
            await embed_in_background(self.corpora)
        self.evidence = add_new_passages(self.query_results, passages)

    async def _ask_router(self) -> RouterOutput | None:
        """Ask for the path and the complexity of the question; None for a requested program."""
        question, mode = self.request.question, self.request.mode
        if mode == "code":
            return None
        # For a direct answer, a model would decide nothing else, and its reader would wait for it.
        by_rule = self.request.limits.effort == "simple" and router.is_certain_research(question, mode)
        return await self.clients.models.ask(
            router.ROLE, RouterInput(question=question), summary=question, by_rule=by_rule
        )

    def _route(self, routed: RouterOutput | None) -> TaskMode:
        """Choose between research and code."""
        findings = f"{len(self.evidence)} passages found on the question"
        mode: TaskMode = "CODE"
        if routed is not None:
            self.complexity = routed.complexity
            self.query_type = choose_query_type(self.request.question, routed.query_type)
            self.calculation = routed.calculation.strip()
            mode = "RESEARCH" if self.request.mode == "research" else routed.mode
        self._publish(phase="route", mode=mode, last=findings if self.corpora else "there are no documents to read")
        return "CODE" if choose_next_node("route", AgentState(mode=mode), 0) == "generate_code" else "RESEARCH"

    def _list_usages(self) -> dict[str, WorkflowUsage]:
        return {self.id: self.clients.record.usage, **self.parts.usages}

    async def _clarify(self) -> None:
        """In interactive runs, let a person clarify the question, and search again if it has another meaning."""
        if not self.request.limits.interactive:
            return
        original = self.request.question
        clarifying = clarify_question(self, self.clients, original, self.evidence)
        question = await self._try(clarifying, original, "It was not checked whether the question is clear")
        if question == original:
            return
        self._replace_request(self.request.model_copy(update={"question": question}))
        self._publish(phase="retrieve", last=f"the question is read as: {question}")
        if self.corpora:
            await self._search()
        self._publish(phase="route")

    def _replace_request(self, request: RunRequest) -> None:
        """Continue with another question."""
        self.request = request
        self.tables = TableQuestions(self.clients, request, lambda: self.is_finishing)
        self.run_memory = RunMemory(self.clients, request)
        self._publish(question=request.question)

    async def _use_tools(self) -> ReportDraft | None:
        """Use the tools that the question calls for; return the report if the question is nothing but a calculation."""
        if not self.corpora:
            return None
        request = self.request
        task = build_question_task(request.question, self.id, self.corpora, request.databases, request.limits)
        tools = QuestionTools(self.clients, task, lambda: self.is_finishing)
        used = await self._try(tools.use(self.evidence, calculation=self.calculation), None, "Tools could not be used")
        self.tool_resources = tools.list_resources(self.tables.tables)
        if used is None:
            return None
        self.notes += used.notes
        self.parts.artifacts += used.artifacts
        self.query_results = (*used.results, *self.query_results)
        self.evidence = add_new_passages(used.results, self.evidence)
        is_complete = used.calculation and is_pure_calculation(request.question)
        return await tools.report_calculation(used) if is_complete else None

    async def _compute(self) -> None:
        """Compute from the tables what SQL cannot."""
        if not self.tables.open_computation:
            return
        self._publish(last=f"computing: {self.tables.open_computation}")
        failure = f"Not computed: {self.tables.open_computation.rstrip('.')}. The reason"
        computed = await self._try(self.tables.compute(self.id, self.query_results), Computation(), failure)
        self.parts.artifacts += computed.artifacts
        self.notes += computed.notes
        self.query_results = (*self.query_results, *computed.passages)
        self.evidence = (*computed.passages, *self.evidence)

    async def _try(self, step: Awaitable[T], default: D, failure: str) -> T | D:
        """Return the result of a step before the draft, or a default after a note if it fails."""
        return await run_optional_step(step, default, failure, self.notes.append, MODEL_STEP_LIMIT)

    async def _continue_origin(self, origin: ForkOrigin) -> ReportDraft:
        """Continue the research of another run without repeating any of its calls."""
        cycle, research = origin.checkpoint.state.cycle, origin.research
        self._publish(
            phase="retrieve",
            mode="RESEARCH",
            cycle=cycle,
            topics=tuple(build_topic_progress(topic) for topic in origin.checkpoint.state.topics),
            last=f"taking over what {origin.run} knew after cycle {cycle}",
        )
        if self.clients.web:
            await self.clients.web.open()
        forked = await self.clients.execute_activity(
            KnowledgeActivities.fork_corpus,
            ForkRequest(
                origin=origin.run,
                run=self.id,
                state=origin.checkpoint.state,
                evidence=research.evidence,
                web=self.clients.web is not None,
            ),
            summary=f"the knowledge of {origin.run} after cycle {cycle}",
        )
        self.notes.append(note_messages.FORKED.format(cycle=cycle, run=origin.run))
        self.complexity, self.query_type = research.complexity, research.query_type
        await self.run_budget.limit_by_effort(self.complexity, self._list_usages())
        self.evidence, self.query_results = forked.evidence, research.query_results
        self.tool_resources = research.tool_resources
        await self.wait_while_paused()
        return await self._research(forked.state)

    async def _research(self, state: SpiralState | None = None) -> ReportDraft:
        """Research and write the report in a child workflow."""
        if self.origin is not None:
            origin = self.origin.research.experience
            self.run_memory.experience = Experience(preferences=origin.preferences, personal=origin.personal)
        else:
            self._publish(phase="outline")  # the child's first step, which would cost a message
        request = ResearchRequest(
            run=self.id,
            question=self.request.question,
            corpora=self.corpora,
            databases=self.request.databases,
            limits=self.request.limits,
            complexity=self.complexity or "moderate",
            query_type=self.query_type,
            evidence=self.evidence,
            query_results=self.query_results,
            tool_resources=self.tool_resources,
            experience=self.run_memory.experience,
            feedback=tuple(self.feedback_items),
            control=self.control,
            state=state,
        )
        return await self._execute_child("research", ResearchWorkflow.run, request)

    async def _code(self) -> ReportDraft:
        """Write a program, or change a repository, in a child workflow."""
        self._publish(last="looking at what can be run here")
        if self.control.outline:
            self.notes.append("The outline that a person has set was not followed: a program has none.")
        memory, feedback = self.run_memory, self.feedback_items
        part = await build_coding_part(self.id, self.request, memory, self.evidence, feedback, self.control)
        return await self._execute_child(*part)

    async def _execute_child(self, name: str, run: Any, request: PartRequest) -> ReportDraft:
        self.is_delegated = True
        child_id, known = f"{self.id}/{name}", len(self.feedback_items)
        async with self.run_child(run, request, child_id, request.question, known) as child:
            if self.cancelled:
                await send_signal(child, "cancel")
            draft: ReportDraft = await child
            await self._take_progress(draft.progress)
            return draft.model_copy(update={"progress": None})

    async def _assemble(self, draft: ReportDraft) -> Result:
        """Build the result document, check its links, remember the run, and compare it with the previous one."""
        self._publish(phase="assemble", last="checking every quote")
        result = await self.clients.execute_activity(
            ReportActivities.assemble_report, draft, summary="number the sources, check every quote"
        )
        # The report exists, so nothing from here on may fail the run.
        if not self.discarded:
            result = await self.run_memory.store(result, draft)
        return await add_changes(result) if self.request.scheduled else result

    # Draft of the report

    async def _wait_for_draft(self, main: "asyncio.Task[ReportDraft]") -> ReportDraft:
        """Wait for the draft; a run cancelled by signal before there was one still ends in a report."""
        try:
            draft = await main
            return self._end_early("cancelled", _DISCARDED) if self.discarded else draft
        except (asyncio.CancelledError, ActivityError, ChildWorkflowError) as error:
            # A cancelled activity that was waited for directly ends in an error of its own kind.
            if not (self.cancelled and is_cancelled_exception(error)):
                raise
            note = _DISCARDED if self.discarded else "Cancelled before anything was written."
            return self._end_early("cancelled", note)

    def _end_early(self, status: ResultStatus, note: str) -> ReportDraft:
        """Return a draft without sections."""
        self.notes.append(note)
        return ReportDraft(id=self.id, mode=self.status.progress.mode, question=self.request.question, status=status)

    def _complete(self, draft: ReportDraft) -> ReportDraft:
        """Add to the draft what only the run knows."""
        seconds = (workflow.now() - self.started).total_seconds()
        usage = self._total_usage().model_copy(update={"seconds": round(seconds, 1)})
        limits = self.run_budget.limits
        fallbacks = (*self.clients.record.fallbacks, *draft.fallbacks)
        return draft.model_copy(
            update={
                "usage": usage,
                "language": limits.language,
                "limits": list_limits(limits),
                "artifacts": self.parts.artifacts,
                "fallbacks": fallbacks,
                "skipped": tuple(self.skipped),
                "web_corpus": limits.web.corpus if limits.web else "",
                "notes": (
                    *self.notes,
                    *self.run_memory.describe_use(usage, fallbacks),
                    *describe_shortcomings(limits.language, usage),
                    *draft.notes,
                ),
                "feedback": self.feedback_log.build_records(
                    draft.feedback, note_messages.FEEDBACK_LATE if self.draft else "received"
                ),
            }
        )

    # Commands of people

    def describe_situation(self) -> RunSituation:
        """Return everything that decides whether a command can be applied."""
        progress = self.status.progress
        return RunSituation(
            phase=progress.phase,
            mode=progress.mode,
            control=self.control,
            limits=self.run_budget.limits,
            topics=tuple(topic.topic for topic in progress.topics),
            usage=self._total_usage(),
            elapsed_seconds=self.run_budget.seconds,
            feedback=tuple(self.feedback_items),
            input_request=self.open_question,
            is_cancelled=self.cancelled,
            is_repository=self.request.repository is not None,
            finish_requested=self.asked_to_finish,
        )

    async def stop(self) -> None:
        """Stop the running work and deliver the text written so far."""
        for child in list(self.children.values()):
            await send_signal(child, "cancel")
        # A child that is being started receives the signal afterwards: cancelled, it would report no usage.
        if self.main is not None and not self.is_delegated:
            self.main.cancel()

    async def change_budget(self, budget: BudgetBounds) -> None:
        """Apply new limits, and resume what the old ones ended unless a person asked to finish."""
        limits = apply_bounds(self.request.limits, budget)
        self.request = self.request.model_copy(update={"limits": limits})
        if await self.run_budget.revise(limits, budget, self._list_usages()):
            self._publish(last="the budget was raised: work that it had stopped continues")

    async def add_feedback(self, feedback: Feedback) -> None:
        """Store feedback, forward it to the children and display it."""
        if feedback in self.feedback_items:
            return
        await super().add_feedback(feedback)
        self.feedback_log.add(feedback)
        self._publish(feedback=self.feedback_log.build_records(), last=f"feedback: {feedback.text}")
        for child in list(self.children.values()):
            await send_signal(child, "feedback", feedback)

    async def add_clarification(self, answer: Feedback) -> None:
        """Store a person's clarification of the question."""
        self.feedback_log.add_clarification(answer)
        self._publish(feedback=self.feedback_log.build_records(), last=f"feedback: {answer.text}")

    def write_note(self, line: str) -> None:
        """Add a line to the notes of the run and display it."""
        if line not in self.refusals:
            self.notes.append(format_line(line))
        self._publish(last=line)

    def handle_control_change(self) -> None:
        """Display a new control state."""
        if self.status.progress.phase != "done":
            self._publish(status=self.current_status)

    @workflow.signal
    async def report_progress(self, update: ProgressUpdate) -> None:
        """Receive the progress of a child workflow; sent by workflows only."""
        await self._take_progress(update)

    @workflow.signal
    async def record_cycle(self, checkpoint: CycleCheckpoint) -> None:
        """Keep the checkpoint of a research cycle in this history, for forks; sent by workflows only."""
        self.cycles = checkpoint.state.cycle if self.is_delegated else 0
        await self._take_progress(checkpoint.progress)

    async def _take_progress(self, update: ProgressUpdate | None) -> None:
        """Record the progress of a child workflow and of the others that it delivers, and display it."""
        if update is None or not self.is_delegated:
            return
        for part in (*update.parts, update):
            self.parts.record(part)
            if part.ended:
                self.run_budget.settle(part.reporter, self.parts.usages[part.reporter])
        self._publish(**self.parts.list_changes(update, self.status.progress.topics))
        for part in (*update.parts, update):
            await self.run_budget.announce(part, self.parts.usages)
        await self.run_budget.check()

    @workflow.signal
    async def request_budget(self, request: BudgetRequest) -> None:
        """Answer the budget request of a child workflow; sent by workflows only."""
        if self.is_delegated:
            grant = await self.run_budget.grant(request)
            await send_signal(workflow.get_external_workflow_handle(request.reporter), "receive_budget_grant", grant)

    @workflow.query(description="Records of the run so far.")
    def story(self) -> Story:
        """Return the story so far."""
        return Story(
            mode=self.status.progress.mode,
            complexity=self.complexity,
            memory=self.run_memory.traced,
            attempts=self.parts.attempts,
            feedback=self.feedback_log.build_records(),
            notes=(*self.notes, *self.run_memory.notes),
            records=self.log.records,
            omitted=self.log.omitted,
        )

    @workflow.query(description="Progress of the run.")
    def progress(self) -> RunProgress:
        """Return the progress."""
        return self.status.progress

    @workflow.query(description="Complete state of the run, drafts included.")
    def state(self) -> RunState:
        """Return the complete state."""
        return RunState(
            progress=self.status.progress,
            corpora=self.corpora,
            complexity=self.complexity,
            query_type=self.query_type,
            evidence=len(self.evidence),
            report=self.draft,
            tasks=self.parts.tasks,
            attempts=self.parts.attempts,
            paused=self.is_paused,
            finishing=self.is_finishing,
            cycles=self.cycles,
        )

    @property
    def corpora(self) -> tuple[str, ...]:
        """All corpora that the run reads, including the one of its web pages."""
        return (*self.request.corpora, *([web.corpus] if (web := self.request.limits.web) else []))

    def _total_usage(self) -> Usage:
        """Return the usage of all parts of the run as far as they have reported it."""
        return sum_run_usage([self.clients.record.usage, *self.parts.usages.values()])

    def _publish(self, **changes: Any) -> None:
        """Publish changed fields of the progress; those that are None stay as they are."""
        usage = self._total_usage()
        self.status.update(
            **{name: value for name, value in changes.items() if value is not None},
            usage=usage,
            budget=describe_usage(self.run_budget.limits, usage),
            input_request=self.input_request,
            refused_signals=self.refusals,
        )

    def _publish_failure(self, error: BaseException) -> None:
        """Display why the run ended without a result."""
        self.change_control(finishing=True)  # a question to a person would delay the end
        status = "cancelled" if is_cancelled_exception(error) else "failed"
        reason = describe_failure(error) if status == "failed" else None
        self._publish(status=status, error=reason, last=status)
