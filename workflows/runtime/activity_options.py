"""Define the task queue, timeouts and retries of every activity in one table, and execute activities with them.

Every activity has a limit for one attempt and one for all attempts, so that nothing is retried for ever.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar, overload

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.workflow import ActivityCancellationType, ActivityConfig

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
    from activities.graph import GraphActivities
    from activities.knowledge import KnowledgeActivities
    from activities.maintenance import MaintenanceActivities
    from activities.mcp import McpActivities
    from activities.memory import MemoryActivities
    from activities.notifications import NotificationActivities
    from activities.report import ReportActivities
    from activities.sandbox import SandboxActivities
    from activities.tables import TableActivities
    from activities.tools import ToolActivities
    from activities.web import BrowserActivities, WebActivities
    from tenure.algorithms.control import budget
    from tenure.contracts.run.role_calls import DEFAULT_HEARTBEAT_SECONDS, MAX_MODEL_TIMEOUT_SECONDS

I = TypeVar("I")  # noqa: E741 - I in, O out
O = TypeVar("O")  # noqa: E741

RETRY_UNTIL_TIMEOUT = RetryPolicy(maximum_interval=timedelta(minutes=1))
"""Unlimited retries until the schedule-to-close timeout: outages of servers are waited out."""

RETRY_BRIEFLY = RetryPolicy(maximum_attempts=3)
"""Few retries, for a person who waits for the result."""

RETRY_UPKEEP = RetryPolicy(maximum_attempts=5, maximum_interval=timedelta(minutes=10))
"""Few retries with long intervals, for scheduled work that runs again anyway."""

NO_RETRY = RetryPolicy(maximum_attempts=1)
"""No retries, for calls with unknown side effects."""

HEARTBEAT_TIMEOUT = timedelta(seconds=DEFAULT_HEARTBEAT_SECONDS)
"""Time without a heartbeat after which a worker counts as dead and another attempt starts, unless the settings of the
worker say otherwise (`workflows/runtime/heartbeat_timeout.py`).
"""

SCHEDULE_TO_CLOSE_TIMEOUT = timedelta(hours=12)
"""Time for all attempts of one activity of a run."""

SCHEDULE_TO_START_TIMEOUT = timedelta(minutes=1)
"""Time after which a task queue counts as served by no worker."""

MODEL_CALL_TIMEOUT = timedelta(seconds=(budget.MAX_ANSWERS_PER_CALL + 1) * MAX_MODEL_TIMEOUT_SECONDS)
"""Time for one attempt of a model call: every answer may take the longest time that can be configured, and the call
may wait as long for its turn. A dead worker is noticed earlier, by its missing heartbeats."""


def _config(task_queue: str, start_to_close: timedelta, schedule_to_close: timedelta, **others: Any) -> ActivityConfig:
    """Return options with a heartbeat timeout and unlimited retries unless `others` says otherwise."""
    defaults = {"heartbeat_timeout": HEARTBEAT_TIMEOUT, "retry_policy": RETRY_UNTIL_TIMEOUT}
    timeouts = {"start_to_close_timeout": start_to_close, "schedule_to_close_timeout": schedule_to_close}
    return ActivityConfig(task_queue=task_queue, **{**timeouts, **defaults, **others})  # type: ignore[typeddict-item]


MODEL_CALL = _config(MODEL_QUEUE, MODEL_CALL_TIMEOUT, SCHEDULE_TO_CLOSE_TIMEOUT)
"""Options of every role."""

_LOOKUP = _config(SEARCH_QUEUE, timedelta(minutes=5), timedelta(hours=1))
_UPKEEP = _config(EMBED_QUEUE, timedelta(hours=6), timedelta(hours=12), retry_policy=RETRY_UPKEEP)
_WEB = _config(WEB_QUEUE, timedelta(minutes=15), SCHEDULE_TO_CLOSE_TIMEOUT)
_SANDBOX = _config(SANDBOX_QUEUE, timedelta(minutes=10), SCHEDULE_TO_CLOSE_TIMEOUT)
_MCP = _config(
    WEB_QUEUE, timedelta(hours=1), SCHEDULE_TO_CLOSE_TIMEOUT, schedule_to_start_timeout=SCHEDULE_TO_START_TIMEOUT
)

_TABLE: tuple[tuple[ActivityConfig, tuple[Callable[..., Any], ...]], ...] = (
    (
        _LOOKUP,
        (
            KnowledgeActivities.search_passages,
            KnowledgeActivities.analyze_candidates,
            KnowledgeActivities.compare_sources,
            KnowledgeActivities.group_passages,
            KnowledgeActivities.recall_findings,
            GraphActivities.find_relations,
            TableActivities.store_computation,
            ToolActivities.calculate,
            ToolActivities.cite_claim,
            ToolActivities.find_term,
            ToolActivities.build_excerpts,
            MemoryActivities.recall_experience,
            MemoryActivities.search_memories,
            MemoryActivities.store_memories,
        ),
    ),
    (_config(SEARCH_QUEUE, timedelta(minutes=30), timedelta(hours=2)), (TableActivities.query_tables,)),
    (_config(SEARCH_QUEUE, timedelta(minutes=15), SCHEDULE_TO_CLOSE_TIMEOUT), (KnowledgeActivities.read_pages,)),
    (
        _config(
            SEARCH_QUEUE,
            timedelta(minutes=2),
            timedelta(hours=1),
            heartbeat_timeout=None,
            retry_policy=RETRY_BRIEFLY,
        ),
        (KnowledgeActivities.manage_corpora,),
    ),
    (
        _config(SEARCH_QUEUE, timedelta(minutes=30), timedelta(hours=2), retry_policy=RETRY_BRIEFLY),
        (MemoryActivities.forget_memories, MemoryActivities.list_memories, MemoryActivities.write_memory),
    ),
    (_config(INGEST_QUEUE, timedelta(minutes=30), timedelta(hours=2)), (TableActivities.export_query,)),
    (_config(INGEST_QUEUE, timedelta(hours=1), timedelta(hours=2)), (TableActivities.find_tables,)),
    (_config(INGEST_QUEUE, timedelta(hours=24), timedelta(days=3)), (KnowledgeActivities.ingest_corpus,)),
    (_config(INGEST_QUEUE, timedelta(hours=1), SCHEDULE_TO_CLOSE_TIMEOUT), (KnowledgeActivities.fork_corpus,)),
    (
        _config(
            EMBED_QUEUE,
            timedelta(days=7),
            timedelta(days=14),
            cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            priority=Priority(priority_key=5),  # upkeep goes first
        ),
        (KnowledgeActivities.embed_corpus,),
    ),
    (
        _config(EMBED_QUEUE, timedelta(hours=1), SCHEDULE_TO_CLOSE_TIMEOUT),
        (GraphActivities.list_unread_passages, GraphActivities.refresh_relations),
    ),
    (
        _UPKEEP,
        (
            MaintenanceActivities.compact_tables,
            MaintenanceActivities.refresh_indexes,
            MaintenanceActivities.remove_old_versions,
            MemoryActivities.consolidate_memories,
        ),
    ),
    (_WEB, (WebActivities.search_web, WebActivities.fetch_pages)),
    (
        _config(
            BROWSER_QUEUE,
            timedelta(minutes=15),
            SCHEDULE_TO_CLOSE_TIMEOUT,
            schedule_to_start_timeout=SCHEDULE_TO_START_TIMEOUT,
        ),
        (BrowserActivities.render_pages,),
    ),
    (_MCP, (McpActivities.list_mcp_tools, McpActivities.read_mcp_resource)),
    (ActivityConfig(**{**_MCP, "retry_policy": NO_RETRY}), (McpActivities.call_mcp_tool,)),
    (
        _SANDBOX,
        (
            SandboxActivities.check_sandbox,
            SandboxActivities.run_tests,
            SandboxActivities.run_program,
            SandboxActivities.repair_program,
        ),
    ),
    (
        _config(TENURE_QUEUE, timedelta(minutes=5), timedelta(hours=1)),
        (ReportActivities.assemble_report, ReportActivities.check_quotes),
    ),
    (_config(TENURE_QUEUE, timedelta(minutes=15), timedelta(hours=24)), (ArchiveActivities.archive_run,)),
    (
        _config(TENURE_QUEUE, timedelta(hours=6), timedelta(hours=12), retry_policy=RETRY_UPKEEP),
        (ArchiveActivities.archive_missing_runs,),
    ),
    (
        _config(
            TENURE_QUEUE,
            timedelta(seconds=30),
            timedelta(hours=24),
            heartbeat_timeout=None,
            retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=10)),
        ),
        (NotificationActivities.post_notification,),
    ),
    (
        _config(
            TENURE_QUEUE,
            timedelta(seconds=90),
            timedelta(hours=24),
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


@overload
async def execute_activity(
    method: Callable[[Any, I], Awaitable[O]], request: I, *, summary: str, **overrides: Any
) -> O: ...
@overload
async def execute_activity(method: Callable[[Any, I], O], request: I, *, summary: str, **overrides: Any) -> O: ...
@overload
async def execute_activity(method: Callable[[Any], Awaitable[O]], *, summary: str, **overrides: Any) -> O: ...
@overload
async def execute_activity(method: Callable[[Any], O], *, summary: str, **overrides: Any) -> O: ...
async def execute_activity(method: Callable[..., Any], *request: Any, summary: str, **overrides: Any) -> Any:
    """Execute an activity with the options of the table.

    Args:
        method: the activity, as a method of its class.
        request: its argument, if it takes one.
        summary: description for the web UI; cut to the 200 bytes or so that the server stores.
        overrides: options that replace those of the table.
    """
    options: Any = {**ACTIVITY_OPTIONS[method.__name__], **overrides}
    return await workflow.execute_activity_method(method, args=request, summary=summary[:200], **options)
