"""The compose root: settings → clients → activity objects → one Worker per task queue. Nothing else.

Start it as `python worker.py`, with `--queues` to serve some of the task queues only.
"""

import argparse
import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog
from pydantic import ValidationError
from pydantic_settings import SettingsError
from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.graph import GraphActivities
from activities.heartbeat import PACE
from activities.knowledge import KnowledgeActivities
from activities.maintenance import MaintenanceActivities
from activities.mcp import McpActivities
from activities.memory import MemoryActivities
from activities.notices import NoticeActivities
from activities.report import ReportActivities
from activities.roles import RoleActivities
from activities.sandbox import SandboxActivities
from activities.tables import TableActivities
from activities.tools import ToolActivities
from activities.web import BrowserActivities, WebActivities
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.pages.fetching import PageFetching
from tenure.knowledge.store.errors import StoreUnreachable
from tenure.knowledge.store.metrics import Meter
from tenure.logs import configure
from tenure.models.chat import ChatModel
from tenure.models.embedding import embedding_model
from tenure.models.factory import chat_model
from tenure.models.reranking import rerank_model
from tenure.notifications import Notifier
from tenure.sandbox.base import Sandbox, SandboxError
from tenure.sandbox.choice import sandbox
from tenure.settings import Settings, fault
from tenure.sources.fetch.browser import Browser, browser
from tenure.sources.fetch.fetcher import Fetcher, fetcher
from tenure.sources.mcp.servers import McpServers
from tenure.sources.search.ask import WebSearch
from tenure.sources.tables.sql_engine import Limits
from tenure.temporal.codec_server import codec_server
from tenure.temporal.connection import CannotReach, connect
from tenure.temporal.schedules import schedule_upkeep
from workflows.coding.coding import CodingWorkflow
from workflows.research.research import ResearchWorkflow
from workflows.research.section import SectionWorkflow
from workflows.research.spiral import SpiralWorkflow
from workflows.research.subagent import SubagentWorkflow
from workflows.run.agent import AgentWorkflow
from workflows.run.ask import AskWorkflow
from workflows.run.batch import BatchWorkflow
from workflows.runtime.task_queues import (
    ALL_QUEUES,
    BROWSER_QUEUE,
    EMBED_QUEUE,
    MODEL_QUEUE,
    SANDBOX_QUEUE,
    TENURE_QUEUE,
    WEB_QUEUE,
)
from workflows.upkeep.consolidation import ConsolidationWorkflow
from workflows.upkeep.corpus import CorpusWorkflow
from workflows.upkeep.embed import EmbedWorkflow
from workflows.upkeep.graph import GraphWorkflow
from workflows.upkeep.ingest import IngestWorkflow
from workflows.upkeep.maintenance import MaintenanceWorkflow
from workflows.upkeep.memory import MemoryWorkflow
from workflows.upkeep.notify import NotifyWorkflow
from workflows.upkeep.relate import RelateWorkflow
from workflows.upkeep.sql import SqlWorkflow

WORKFLOWS = [
    AgentWorkflow,
    BatchWorkflow,
    ResearchWorkflow,
    SpiralWorkflow,
    SubagentWorkflow,
    SectionWorkflow,
    CodingWorkflow,
    AskWorkflow,
    IngestWorkflow,
    EmbedWorkflow,
    RelateWorkflow,
    GraphWorkflow,
    CorpusWorkflow,
    SqlWorkflow,
    MaintenanceWorkflow,
    MemoryWorkflow,
    ConsolidationWorkflow,
    NotifyWorkflow,
]
"""Every workflow; they run on the queue of workflows and cheap activities."""

PASSED_THROUGH = ("tenure", "activities", "numpy", "sentencex", "Stemmer", "idna", "pydantic")
"""Modules that runs share: they hold no state of a run, and loading them anew for each would cost seconds."""

GRACE = timedelta(seconds=10)
"""How long activities may still run when the worker is asked to stop."""

UNREACHABLE = 4
"""Exit code where the Temporal server or the knowledge base does not answer."""

_THREADS = 8

_SERVERS = 32
"""Activities of the web at the same time: they wait for servers, and need no thread for that."""

_SHOWS = 1
"""Requests to show pages at the same time; each may show several."""

_PROGRAMS = max(1, min(4, os.cpu_count() or 1))
"""Programs that run at the same time: they compute."""


def runner() -> SandboxedWorkflowRunner:
    """Return the workflow sandbox every worker, replayer and test uses."""
    # It loads the workflow files anew for every run; without byte code they would be compiled each time.
    sys.dont_write_bytecode = False
    return SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_modules(*PASSED_THROUGH))


def activity_methods(
    chat: ChatModel | None, knowledge: KnowledgeBase, notifier: Notifier | None = None
) -> dict[str, list[Callable[..., Any]]]:
    """Return every activity that needs neither sandbox nor web, by the queue that serves it."""
    roles = RoleActivities(chat, knowledge)
    reading, tables = KnowledgeActivities(knowledge), TableActivities(knowledge)
    reports = ReportActivities(knowledge)
    telling = NoticeActivities(notifier or Notifier())
    upkeep, graph = MaintenanceActivities(knowledge), GraphActivities(knowledge)
    tools = ToolActivities(knowledge)
    memory = MemoryActivities(knowledge)
    return {
        TENURE_QUEUE: [
            reports.assemble,
            reports.look_whether_words_stand,
            telling.post_notice,
            telling.run_notice_command,
        ],
        EMBED_QUEUE: [
            *(reading.ingest, reading.embed, reading.read_pages, reading.fork, reading.search, reading.analyze),
            *(reading.group, reading.recall, reading.inherit, reading.corpora),
            *(tables.tables, tables.query, tables.table_file, tables.keep_computation),
            *(graph.related, graph.unread, graph.refresh_relations),
            *(tools.show_passages, tools.calculate, tools.lookup_term, tools.cite_claim),
            *(memory.remember, memory.recollect, memory.list_memories, memory.forget, memory.consolidate_memories),
            *(upkeep.compact_tables, upkeep.refresh_indexes, upkeep.remove_old_versions),
        ],
        MODEL_QUEUE: [
            roles.router,
            roles.clarifier,
            roles.decomposer,
            roles.question_rewriter,
            roles.sql_writer,
            roles.analyst,
            roles.outliner,
            roles.hypothetical_document,
            roles.planner,
            roles.query_refiner,
            roles.react,
            roles.stance_judge,
            roles.reranker,
            roles.relation_extractor,
            roles.topic_namer,
            roles.synthesizer,
            roles.synthesis_reflector,
            roles.decider,
            roles.reasoner,
            roles.thought_proposer,
            roles.thought_evaluator,
            roles.hop_reasoner,
            roles.section_writer,
            roles.section_reviewer,
            roles.section_rewriter,
            roles.claim_checker,
            roles.claim_rewriter,
            roles.contradiction_finder,
            roles.fact_extractor,
            roles.document_comparer,
            roles.self_evaluator,
            roles.report_reflector,
            roles.title_writer,
            roles.abstract_writer,
            roles.answerer,
            roles.test_writer,
            roles.coder,
            roles.code_reflector,
        ],
    }


def sandbox_methods(box: Sandbox, keep: Path) -> list[Callable[..., Any]]:
    """Return the activities that run programs; what these make is kept below a folder."""
    running = SandboxActivities(box, keep)
    return [running.look_at_sandbox, running.run_tests, running.run_program, running.repair]


def web_methods(engines: WebSearch, pages: PageFetching, mcp: McpActivities) -> list[Callable[..., Any]]:
    """Return the activities that reach out into the web, and those that ask other programs."""
    web = WebActivities(engines, pages)
    return [web.search_web, web.fetch_pages, mcp.list_mcp_tools, mcp.call_mcp_tool]


def browser_methods(pages: PageFetching | None) -> list[Callable[..., Any]]:
    """Return the activity that has a browser show pages; without `pages` it says that there is none."""
    return [BrowserActivities(pages).show_pages]


async def usable_sandbox(settings: Settings) -> Sandbox | None:
    """Return the sandbox of this machine; None where its self-test fails, which one line of the log says."""
    try:
        box = sandbox(settings)
        found = await box.check()
    except SandboxError as error:
        structlog.get_logger().warning("this worker runs no programs", why=str(error))
        return None
    if not found.usable:
        structlog.get_logger().warning("this worker runs no programs", why=found.message)
        return None
    structlog.get_logger().info("programs run in a sandbox", sandbox=found.message)
    return box


def sandbox_worker(client: Client, settings: Settings, box: Sandbox, **options: Any) -> Worker:
    """Return the worker of the queue of programs."""
    return Worker(
        client,
        task_queue=SANDBOX_QUEUE,
        activities=sandbox_methods(box, settings.home.absolute() / "artifacts"),
        max_concurrent_activities=_PROGRAMS,
        graceful_shutdown_timeout=GRACE,
        max_heartbeat_throttle_interval=PACE,
        **options,
    )


def workers(
    client: Client,
    settings: Settings,
    queues: Sequence[str],
    threads: ThreadPoolExecutor,
    engines: WebSearch,
    visitor: Fetcher,
    chromium: Browser | None,
    **options: Any,
) -> list[Worker]:
    """Return one worker per queue but that of programs, on shared clients."""
    knowledge = KnowledgeBase(
        settings.knowledge_uri,
        embedding_model(settings),
        settings.chunk_tokens,
        vector_index=settings.vector_index,
        meter=Meter(settings.home.absolute() / "searches.db"),
        sql=Limits(settings.sql_seconds, settings.sql_rows, settings.sql_memory_mb),
        databases={name: address.get_secret_value() for name, address in settings.databases.items()},
        rerank=rerank_model(settings),
        cold_start=settings.cold_start_chunks,
        page_bytes=settings.page_cache_megabytes * 1_000_000,
        authority=settings.domain_authority,
        memory=settings.memory_policy,
    )
    methods = activity_methods(chat_model(settings), knowledge, Notifier.from_settings(settings))
    lasts = timedelta(hours=settings.page_ttl_hours)
    mcp = McpActivities(McpServers(settings.mcp_servers, seconds=settings.mcp_seconds), knowledge)
    methods[WEB_QUEUE] = web_methods(engines, PageFetching(knowledge.pages, visitor, lasts), mcp)
    methods[BROWSER_QUEUE] = browser_methods(
        None if chromium is None else PageFetching(knowledge.pages, chromium, lasts, anew=True)
    )
    rate = {MODEL_QUEUE: settings.model_calls_per_second} if settings.uses_model else {}
    return [
        Worker(
            client,
            task_queue=queue,
            workflows=WORKFLOWS if queue == TENURE_QUEUE else [],
            activities=methods[queue],
            activity_executor=threads,
            max_concurrent_activities=slots(settings, queue),
            max_task_queue_activities_per_second=rate.get(queue),
            workflow_runner=runner(),
            graceful_shutdown_timeout=GRACE,
            max_heartbeat_throttle_interval=PACE,
            **options,
        )
        for queue in queues
        if queue != SANDBOX_QUEUE
    ]


def slots(settings: Settings, queue: str) -> int:
    """Return how many activities of a queue run here at the same time.

    A model call waits for the network: as many as may be with the model's server, so that few hold a slot only
    to wait for it. So does the web. Everything else computes: as many as there are threads.
    """
    if queue == WEB_QUEUE:
        return _SERVERS
    if queue == BROWSER_QUEUE:
        return _SHOWS
    return settings.model_concurrency if queue == MODEL_QUEUE and settings.uses_model else _THREADS


async def serve(settings: Settings, queues: Sequence[str]) -> None:
    """Serve the queues until the process is asked to stop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    client = await connect(settings)
    # Threads are made when they are needed; calls of models need none.
    most = sum(slots(settings, queue) for queue in queues)
    with ThreadPoolExecutor(max_workers=most, thread_name_prefix="activity") as threads:
        async with AsyncExitStack() as running:
            if (deciphering := codec_server(settings)) is not None:
                running.enter_context(deciphering)
            engines, visitor, chromium = WebSearch.from_settings(settings), fetcher(settings), browser(settings)
            running.push_async_callback(engines.aclose)
            running.push_async_callback(visitor.aclose)
            if chromium is not None:
                running.push_async_callback(chromium.aclose)
            # What is imported stays for good: no collection in the middle of a workflow task has to go through it.
            gc.freeze()
            for worker in workers(client, settings, queues, threads, engines, visitor, chromium):
                await running.enter_async_context(worker)
            if SANDBOX_QUEUE in queues and (box := await usable_sandbox(settings)):
                await running.enter_async_context(sandbox_worker(client, settings, box))
            if TENURE_QUEUE in queues:
                await schedule_upkeep(client, settings)
            structlog.get_logger().info("worker is serving", queues=list(queues), home=str(settings.home.absolute()))
            await stop.wait()
            structlog.get_logger().info("worker is stopping")


def parse_queues(value: str) -> list[str]:
    """Return the named queues, each once.

    Raises:
        argparse.ArgumentTypeError: for a name that is none of them.
    """
    names = list(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    unknown = [name for name in names if name not in ALL_QUEUES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"no queue {', '.join(unknown) or value!r}; there are {', '.join(ALL_QUEUES)}")
    return names


def build_parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser(prog="worker.py", description="Serve Tenure's task queues.")
    parser.add_argument("--queues", type=parse_queues, default=list(ALL_QUEUES), metavar="NAME[,NAME…]")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the worker; return the process's exit code."""
    chosen = build_parser().parse_args(argv)
    try:
        settings = Settings()
        configure(settings.log_level)
        asyncio.run(serve(settings, chosen.queues))
    except (CannotReach, StoreUnreachable) as error:
        print(f"error: {error}", file=sys.stderr)
        return UNREACHABLE
    except (ValidationError, SettingsError) as error:
        print(f"error: {fault(error)}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"error: the settings are not valid: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    if code == UNREACHABLE:
        # Without the interpreter's shutdown: after a failed connection the SDK's threads can bring it down.
        os._exit(code)
    sys.exit(code)
