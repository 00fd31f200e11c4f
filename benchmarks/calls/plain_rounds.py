"""The same calls on Temporal alone: a workflow with one activity that posts a request, and its worker.

Nothing of Tenure is used here. A request is rendered before, as a program without references to passages would do.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
from pydantic import BaseModel
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from benchmarks.calls.answers import read_answer

ACTIVITY = "post_request"
_TIMEOUT = timedelta(minutes=1)


class PlainRounds(BaseModel):
    """Request of the workflow."""

    requests: list[dict[str, Any]]
    """Requests to the model server, in order."""
    activity_queue: str
    """Task queue of the activity."""


@workflow.defn
class PlainRoundsWorkflow:
    """Workflow that posts one request after the other."""

    @workflow.run
    async def run(self, rounds: PlainRounds) -> int:
        """Return the characters of all answers."""
        length = 0
        for request in rounds.requests:
            answer = await workflow.execute_activity(
                ACTIVITY,
                request,
                result_type=str,
                task_queue=rounds.activity_queue,
                start_to_close_timeout=_TIMEOUT,
                retry_policy=RetryPolicy(maximum_attempts=1),
            )
            length += len(answer)
        return length


def build_activity(http: httpx.AsyncClient) -> Callable[[dict[str, Any]], Awaitable[str]]:
    """Return the activity on a client of the model server."""

    @activity.defn(name=ACTIVITY)
    async def post_request(request: dict[str, Any]) -> str:
        response = await http.post("/chat/completions", json=request)
        response.raise_for_status()
        return read_answer(response.text)

    return post_request


async def serve(address: str, base_url: str, queue: str, activity_queue: str) -> None:
    """Execute workflow and activity until the process is ended; the activity has a second queue as well."""
    client = await Client.connect(address, data_converter=pydantic_data_converter)
    async with httpx.AsyncClient(base_url=base_url) as http:
        post = build_activity(http)
        both = Worker(
            client,
            task_queue=queue,
            workflows=[PlainRoundsWorkflow],
            activities=[post],
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        await asyncio.gather(both.run(), Worker(client, task_queue=activity_queue, activities=[post]).run())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls.plain_rounds", description=__doc__)
    parser.add_argument("address", help="address of the Temporal server")
    parser.add_argument("base_url", help="URL of the model server")
    parser.add_argument("queue", help="task queue of the workflow and its activity")
    parser.add_argument("activity_queue", help="second task queue of the activity")
    asyncio.run(serve(**vars(parser.parse_args())))
