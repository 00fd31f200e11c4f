"""Run research against a model server of which a share of the answers is faulty, and read the server's accounts."""

import asyncio
import json
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client
from temporalio.worker import Worker

from activities.heartbeat import LOCAL_HEARTBEAT_THROTTLE
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.openai.chat import OpenAIChat
from tenure.settings import Settings
from tests.model_server import ModelServer
from tests.support.schema_instance import Json
from tests.support.worlds import KITCHEN, MemoryKnowledge
from worker import build_activities
from workflows.plugin import WORKFLOWS, create_workflow_runner
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import MODEL_QUEUE, TENURE_QUEUE

AT_ONCE = 10
"""Runs under way at the same time."""

TIMEOUT = 10.0
"""Seconds after which a call to a server that hangs is given up."""

BUDGET = RunLimits(min_relevance=0.0, max_calls=60, max_tokens=150_000, max_report_revisions=10)
"""Limits of a run against a server that answers nonsense."""

_CASE = re.compile(r"kitchen number (\d+)")


@dataclass(frozen=True)
class Ended:
    """Finished run, compared with the server's accounts."""

    case: str
    """Name of the run."""
    result: Result
    """Its report."""
    billed: tuple[int, int, int]
    """Answers that arrived, their prompt tokens and their answer tokens, as the server has them."""
    repeated: tuple[str, ...]
    """Roles that were asked the very same question again although its answer had arrived."""

    @property
    def used(self) -> tuple[int, int, int]:
        """The same as the run counted them."""
        usage = self.result.usage
        return usage.model_calls, usage.tokens_in, usage.tokens_out


def case_of(request: Json) -> str:
    """Return the run to which a request belongs: every prompt contains the run's question."""
    found = _CASE.search(json.dumps(request.get("messages", "")))
    return found[1] if found else ""


async def run_in_weather(
    client: Client, model: ModelServer, home: Path, runs: int, first: int, limits: RunLimits
) -> list[Ended]:
    """Run the given number of researches, some concurrently; return them in the order of their ends."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> tuple[str, Result]:
        async with gate:
            question = f"How are bread and cheese made in kitchen number {number}?"
            request = RunRequest(question=question, corpora=("kitchen",), limits=limits)
            name = f"drill-{number}-{uuid.uuid4().hex[:8]}"
            result = await client.execute_workflow(AgentWorkflow.run, request, id=name, task_queue=TENURE_QUEUE)
            return str(number), result

    async with serving(client, model, home):
        ended = await asyncio.gather(*(one(first + number) for number in range(runs)))
    return [Ended(case, result, *_books(model, case)) for case, result in ended]


def _books(model: ModelServer, case: str) -> tuple[tuple[int, int, int], tuple[str, ...]]:
    """Return the tokens that the server billed for delivered answers of a run, and the roles with repeated calls."""
    arrived = [entry for entry in model.billed if entry.delivered and case_of(entry.request.json) == case]
    asked = Counter((entry.schema_name, json.dumps(entry.request.json, sort_keys=True)) for entry in arrived)
    sums = len(arrived), sum(entry.tokens_in for entry in arrived), sum(entry.tokens_out for entry in arrived)
    return sums, tuple(role for (role, _), count in asked.items() for _ in range(count - 1))


@asynccontextmanager
async def serving(client: Client, model: ModelServer, home: Path) -> AsyncIterator[None]:
    """Serve all queues with the real workflows and activities, over a kitchen in memory."""
    settings = Settings(openai_base_url=model.base_url, model="m", model_timeout=TIMEOUT, home=home)
    chat = OpenAIChat.from_settings(settings)
    methods = build_activities(chat, MemoryKnowledge(KITCHEN))  # type: ignore[arg-type]
    with ThreadPoolExecutor(16) as threads:
        async with AsyncExitStack() as running:
            running.push_async_callback(chat.aclose)
            for queue in methods:
                worker = Worker(
                    client,
                    task_queue=queue,
                    workflows=WORKFLOWS if queue == TENURE_QUEUE else [],
                    activities=methods[queue],
                    activity_executor=threads,
                    max_concurrent_activities=settings.model_concurrency if queue == MODEL_QUEUE else 16,
                    workflow_runner=create_workflow_runner(),
                    max_heartbeat_throttle_interval=LOCAL_HEARTBEAT_THROTTLE,
                )
                await running.enter_async_context(worker)
            yield


def within(result: Result, limits: RunLimits) -> bool:
    """Return whether a run kept its budget."""
    tokens = result.usage.tokens_in + result.usage.tokens_out
    kept = limits.max_tokens is None or tokens <= limits.max_tokens
    return kept and (limits.max_calls is None or result.usage.model_calls <= limits.max_calls)
