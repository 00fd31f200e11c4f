"""Define the task queue, timeouts and retries of every activity in one table, and execute activities with them.

Limits of one attempt and of the number of attempts bound the work of every activity. The time for which it waits for a
worker is no work: a run without a worker over a weekend continues afterwards. Only upkeep, which runs again anyway, and
steps that a person waits for have a limit in total; `optional_step.py` limits steps that a run can do without.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar, overload

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError
from temporalio.workflow import ActivityCancellationType, ActivityConfig

from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.failures import describe_failure
from workflows.runtime.optional_step import limit_by_step
from workflows.runtime.task_queues import (
    BROWSER_QUEUE,
    EMBED_QUEUE,
    INGEST_QUEUE,
    MODEL_QUEUE,
    SANDBOX_QUEUE,
    SEARCH_QUEUE,
    TENURE_QUEUE,
    WEB_QUEUE,
)

with workflow.unsafe.imports_passed_through():
    from activities.archive import ArchiveActivities
    from activities.code_index import CodeIndexActivities
    from activities.commands import CommandActivities
    from activities.knowledge import KnowledgeActivities
    from activities.mcp import McpActivities
    from activities.notifications import NotificationActivities
    from activities.report import ReportActivities
    from activities.sandbox import SandboxActivities
    from activities.tools import ToolActivities
    from activities.web import BrowserActivities, WebActivities
    from activities.workspaces import WorkspaceActivities
    from tenure.algorithms.control import budget
    from tenure.contracts.research.trace import CallKind
    from tenure.contracts.run.role_calls import DEFAULT_HEARTBEAT_SECONDS, MAX_MODEL_TIMEOUT_SECONDS

I = TypeVar("I")  # noqa: E741 - I in, O out
O = TypeVar("O")  # noqa: E741

RETRY_OUTAGES = RetryPolicy(maximum_interval=timedelta(minutes=1), maximum_attempts=720)
"""Retries through an outage of a server: twelve hours of attempts that fail immediately, a minute apart."""

RETRY_BRIEFLY = RetryPolicy(maximum_attempts=3)
"""Few retries, for a person who waits for the result."""

RETRY_UPKEEP = RetryPolicy(maximum_attempts=5, maximum_interval=timedelta(minutes=10))
"""Few retries with long intervals, for scheduled work that runs again anyway."""

NO_RETRY = RetryPolicy(maximum_attempts=1)
"""No retries, for calls with unknown side effects."""

HEARTBEAT_TIMEOUT = timedelta(seconds=DEFAULT_HEARTBEAT_SECONDS)
"""Time without a heartbeat after which a worker counts as dead and another attempt starts, unless the settings of the
worker say otherwise (`workflows/runtime/heartbeat_timeout.py`)."""

SCHEDULE_TO_START_TIMEOUT = timedelta(minutes=10)
"""Time after which a task queue that a deployment may leave out counts as served by no worker, beyond a backlog."""

MODEL_CALL_TIMEOUT = timedelta(seconds=(budget.MAX_ANSWERS_PER_CALL + 1) * MAX_MODEL_TIMEOUT_SECONDS)
"""Time for one attempt of a model call: every answer may take the longest time that can be configured, and the call
may wait as long for its turn. A dead worker is noticed earlier, by its missing heartbeats."""


def _config(task_queue: str, start_to_close: timedelta, **others: Any) -> ActivityConfig:
    """Return options with a heartbeat timeout and retries through outages unless `others` says otherwise."""
    defaults = {"heartbeat_timeout": HEARTBEAT_TIMEOUT, "retry_policy": RETRY_OUTAGES}
    options: Any = {"task_queue": task_queue, "start_to_close_timeout": start_to_close, **defaults, **others}
    configured: ActivityConfig = options
    return configured


MODEL_CALL = _config(MODEL_QUEUE, MODEL_CALL_TIMEOUT)
"""Options of every role."""

_UPKEEP: Any = {"schedule_to_close_timeout": timedelta(hours=12), "retry_policy": RETRY_UPKEEP}
_BRIEF: Any = {"schedule_to_close_timeout": timedelta(hours=2), "retry_policy": RETRY_BRIEFLY}
_MCP: Any = {"schedule_to_start_timeout": SCHEDULE_TO_START_TIMEOUT}

_TABLE: tuple[tuple[ActivityConfig, tuple[Callable[..., Any], ...]], ...] = (
    (
        _config(SEARCH_QUEUE, timedelta(minutes=5)),
        (
            KnowledgeActivities.search_passages,
            KnowledgeActivities.analyze_candidates,
            KnowledgeActivities.compare_sources,
            KnowledgeActivities.find_contradictions,
            KnowledgeActivities.extend_dossier,
            KnowledgeActivities.group_passages,
            KnowledgeActivities.recall_findings,
            KnowledgeActivities.find_relations,
            KnowledgeActivities.store_computation,
            KnowledgeActivities.store_result_texts,
            KnowledgeActivities.find_pictures,
            KnowledgeActivities.store_picture_readings,
            ToolActivities.calculate,
            ToolActivities.cite_claim,
            ToolActivities.find_term,
            ToolActivities.build_excerpts,
            KnowledgeActivities.recall_experience,
            KnowledgeActivities.search_memories,
            KnowledgeActivities.store_memories,
        ),
    ),
    (_config(SEARCH_QUEUE, timedelta(minutes=30)), (KnowledgeActivities.query_tables,)),
    (
        _config(SEARCH_QUEUE, timedelta(minutes=15)),
        (KnowledgeActivities.read_pages, KnowledgeActivities.read_page_text),
    ),
    (
        _config(SEARCH_QUEUE, timedelta(minutes=2), heartbeat_timeout=None, **_BRIEF),
        (KnowledgeActivities.manage_corpora,),
    ),
    (
        _config(SEARCH_QUEUE, timedelta(minutes=30), **_BRIEF),
        (KnowledgeActivities.forget_memories, KnowledgeActivities.list_memories, KnowledgeActivities.write_memory),
    ),
    (
        _config(SEARCH_QUEUE, timedelta(minutes=1), retry_policy=RETRY_BRIEFLY),
        (KnowledgeActivities.embed_for_question,),
    ),
    (_config(INGEST_QUEUE, timedelta(minutes=30)), (KnowledgeActivities.export_query,)),
    (_config(INGEST_QUEUE, timedelta(hours=1)), (KnowledgeActivities.find_tables,)),
    (_config(INGEST_QUEUE, timedelta(hours=24)), (KnowledgeActivities.ingest_corpus,)),
    (_config(INGEST_QUEUE, timedelta(hours=1)), (KnowledgeActivities.fork_corpus,)),
    (
        _config(
            EMBED_QUEUE,
            timedelta(days=7),
            cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            priority=Priority(priority_key=5),  # upkeep goes first
        ),
        (KnowledgeActivities.embed_corpus,),
    ),
    (
        _config(EMBED_QUEUE, timedelta(hours=6), **_UPKEEP),
        (
            KnowledgeActivities.maintain_tables,
            KnowledgeActivities.consolidate_memories,
        ),
    ),
    (
        _config(WEB_QUEUE, timedelta(minutes=15)),
        (WebActivities.search_web, WebActivities.fetch_pages, McpActivities.store_mcp_answer),
    ),
    (
        _config(
            BROWSER_QUEUE,
            timedelta(minutes=15),
            schedule_to_start_timeout=SCHEDULE_TO_START_TIMEOUT,
        ),
        (BrowserActivities.render_pages,),
    ),
    (
        _config(WEB_QUEUE, timedelta(hours=1), **_MCP),
        (McpActivities.list_mcp_tools, McpActivities.read_mcp_resource),
    ),
    (_config(WEB_QUEUE, timedelta(hours=1), retry_policy=NO_RETRY, **_MCP), (McpActivities.call_mcp_tool,)),
    (
        _config(SANDBOX_QUEUE, timedelta(minutes=10)),
        (
            SandboxActivities.check_sandbox,
            SandboxActivities.run_tests,
            SandboxActivities.run_program,
            SandboxActivities.repair_program,
        ),
    ),
    # On the queue of programs: workspaces and commands share the disk of a machine.
    (
        _config(SANDBOX_QUEUE, timedelta(minutes=10)),
        (
            WorkspaceActivities.read_lines,
            WorkspaceActivities.list_files,
            WorkspaceActivities.edit_files,
            WorkspaceActivities.build_patch,
            WorkspaceActivities.close_workspace,
            WorkspaceActivities.copy_state,
            CodeIndexActivities.search_code,
            CodeIndexActivities.map_repository,
        ),
    ),
    (
        _config(SANDBOX_QUEUE, timedelta(hours=1)),
        (
            WorkspaceActivities.open_repository,
            CodeIndexActivities.index_repository,
            CommandActivities.set_up_environment,
            CommandActivities.run_command,
            CommandActivities.run_project_tests,
            CommandActivities.run_project_checks,
            CommandActivities.repair_project,
        ),
    ),
    (
        _config(TENURE_QUEUE, timedelta(minutes=5)),
        (ReportActivities.assemble_report, ReportActivities.compare_reports),
    ),
    (_config(TENURE_QUEUE, timedelta(minutes=15)), (ArchiveActivities.archive_run,)),
    (
        _config(TENURE_QUEUE, timedelta(hours=6), **_UPKEEP),
        (ArchiveActivities.archive_missing_runs,),
    ),
    (
        _config(
            TENURE_QUEUE,
            timedelta(seconds=30),
            heartbeat_timeout=None,
            retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=10), maximum_attempts=150),  # a day
        ),
        (NotificationActivities.post_notification,),
    ),
    (
        _config(
            TENURE_QUEUE,
            timedelta(seconds=90),
            heartbeat_timeout=None,
            retry_policy=RETRY_BRIEFLY,
        ),
        (NotificationActivities.run_notification_command,),
    ),
)

ACTIVITY_OPTIONS: dict[str, ActivityConfig] = {
    method.__name__: options for options, methods in _TABLE for method in methods
}
"""Options of each activity that is not a role, by its name."""

_KINDS: dict[Callable[..., Any], CallKind] = {
    KnowledgeActivities.search_passages: "search",
    KnowledgeActivities.query_tables: "search",
    WebActivities.search_web: "web",
    WebActivities.fetch_pages: "web",
    BrowserActivities.render_pages: "web",
    KnowledgeActivities.read_pages: "web",
    KnowledgeActivities.read_page_text: "web",
    SandboxActivities.run_program: "program",
    SandboxActivities.repair_program: "program",
    SandboxActivities.run_tests: "program",
    CodeIndexActivities.search_code: "search",
    CommandActivities.set_up_environment: "program",
    CommandActivities.run_command: "program",
    CommandActivities.run_project_tests: "program",
    CommandActivities.run_project_checks: "program",
    CommandActivities.repair_project: "program",
}
"""Subjects of activities that are no role, for the trace; every other one is of the kind `other`."""


@overload
async def execute_activity(
    method: Callable[[Any, I], Awaitable[O]], request: I, *, summary: str, **overrides: Any
) -> O: ...
@overload
async def execute_activity(method: Callable[[Any, I], O], request: I, *, summary: str, **overrides: Any) -> O: ...
@overload
async def execute_activity(method: Callable[[Any], Awaitable[O]], *, summary: str, **overrides: Any) -> O: ...
async def execute_activity(
    method: Callable[..., Any], *request: Any, summary: str, count: int = 1, **overrides: Any
) -> Any:
    """Execute an activity with the options of the table, and record the call if the workflow is a part of a run.

    The summary is cut to the 200 bytes or so that the server stores; `count` is the number of searches.
    """
    options: Any = {**ACTIVITY_OPTIONS[method.__name__], **overrides}
    options = limit_by_step(options)
    started = workflow.now()
    try:
        reply = await workflow.execute_activity_method(method, args=request, summary=summary[:200], **options)
    except ActivityError as error:
        _record_call(method, started, count, describe_failure(error))
        raise
    _record_call(method, started, count)
    return reply


def _record_call(method: Callable[..., Any], started: datetime, count: int, failure: str = "") -> None:
    instance = workflow.instance()
    if isinstance(instance, ControllableWorkflow):
        kind = _KINDS.get(method, "other")
        instance.log.add_call(method.__name__, kind, started, count=count, failure=failure)
