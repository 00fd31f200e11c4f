"""A workflow that asks one role of Tenure again and again, and the process that executes it.

Its activities are those of the product: the worker of the home executes them.
"""

import argparse
import asyncio

from pydantic import Field
from temporalio import workflow
from temporalio.worker import Worker

from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.base import Contract
    from tenure.contracts.evidence.passages import Block, Claim, Draft, SearchRequest
    from tenure.contracts.research.report import ReportPart, ReportText, Topic
    from tenure.contracts.run.run import RunLimits
    from tenure.roles.writing import report_reviewer
    from tenure.roles.writing.report_reviewer import ReportReviewerInput
    from tenure.roles.writing.report_writer import PartEvidence
    from tenure.settings import Settings
    from tenure.temporal.connection import connect


class Rounds(Contract):
    """Request of the workflow."""

    question: str
    """The question of all rounds; its passages are looked up once."""
    corpus: str
    """Where to look."""
    first: int = Field(default=0, ge=0)
    """Number of the first round."""
    count: int = Field(ge=1)
    """Rounds."""
    passages: int = Field(default=14, ge=1)
    """Passages the role is given."""


@workflow.defn
class RoundsWorkflow(ControllableWorkflow):
    """Workflow that calls the report reviewer repeatedly."""

    @workflow.run
    async def run(self, rounds: Rounds) -> int:
        """Ask as often as wanted; return how many passages every question rested on."""
        clients = ActivityClients(self, RunLimits())
        request = SearchRequest(query=rounds.question, corpora=(rounds.corpus,), k=rounds.passages)
        evidence = await clients.knowledge.search(request, min_relevance=0.0)
        claims = tuple(Claim(text=f"{rounds.question} It depends ({n}).") for n in range(12))
        for number in range(rounds.first, rounds.first + rounds.count):
            await clients.models.ask(
                report_reviewer.ROLE,
                ReportReviewerInput(
                    question=f"{rounds.question} Round {number}.",
                    parts=(PartEvidence(topic=Topic(heading="Rounds", question=rounds.question)),),
                    text=ReportText(parts=(ReportPart(kind="answer", draft=Draft(blocks=(Block(claims=claims),))),)),
                ),
                evidence,
                summary=f"round {number}",
            )
        return len(evidence)


async def serve(queue: str) -> None:
    """Execute the workflow until the process is ended."""
    from workflows.plugin import choose_workflow_runner

    client = await connect(Settings())
    await Worker(client, task_queue=queue, workflows=[RoundsWorkflow], workflow_runner=choose_workflow_runner()).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls.role_rounds", description=__doc__)
    parser.add_argument("queue", help="task queue")
    asyncio.run(serve(parser.parse_args().queue))
