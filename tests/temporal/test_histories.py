"""Requests, ends and checkpoints of runs, read from a real server."""

import asyncio
from pathlib import Path

import pytest

from tenure.contracts.research.fork import CycleCheckpoint
from tenure.contracts.research.spiral import ResearchRequest
from tenure.contracts.research.trace import Trace
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.histories import (
    CHECKPOINT_SIGNAL,
    RESEARCH_WORKFLOW,
    STORY_QUERY,
    ServerRun,
    UnknownHistory,
)
from tests.cli.conftest import no_stack
from tests.conftest import Serving
from tests.report.traces import trace_run
from tests.support.tiers import exhaustive
from tests.support.worlds import KITCHEN, MemoryKnowledge
from workflows.research.research import ResearchWorkflow
from workflows.run.agent import AgentWorkflow

LIMITS = RunLimits(min_relevance=0.05, max_report_revisions=0, max_cycles=1)
REQUEST = RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=LIMITS)


def test_names_are_those_of_the_workflows() -> None:
    """Commands read histories without an import of the workflows."""
    names = (AgentWorkflow.record_cycle.__name__, ResearchWorkflow.__name__, AgentWorkflow.story.__name__)

    assert names == (CHECKPOINT_SIGNAL, RESEARCH_WORKFLOW, STORY_QUERY)


async def test_request_end_and_checkpoints_are_in_the_history(serving: Serving) -> None:
    """The history of a run has its request, its result, the request of its research and each cycle."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST)
        result = await run.result()
        source = ServerRun(stage.client, run.id)
        request, end, kept = await source.fetch_request(), await source.fetch_end(), await source.fetch_checkpoints()
        with pytest.raises(UnknownHistory):
            await ServerRun(stage.client, "nowhere").fetch_request()
    assert end.result and kept.research
    values = [request, end.result, kept.research, *kept.cycles]
    decoded = await DATA_CONVERTER.decode(
        values, [RunRequest, type(result), ResearchRequest, *[CycleCheckpoint] * len(kept.cycles)]
    )

    assert end.status == "completed" and decoded[:2] == [REQUEST, result]
    assert [checkpoint.state.cycle for checkpoint in decoded[3:]] == [1]


@exhaustive
async def test_a_finished_run_is_traced_when_no_worker_runs(serving: Serving, tmp_path: Path) -> None:
    """Without workers the command still prints a finished run's trace, as Markdown and as one JSON document."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        result = await handle.result()
        expected = await trace_run(stage.client, handle.id)
    address = {"TEMPORAL_ADDRESS": stage.client.service_client.config.target_host}
    line = no_stack(tmp_path / "home")

    told = await asyncio.to_thread(line, "trace", handle.id, "--json", extra=address)
    read_by_a_person = await asyncio.to_thread(line, "trace", handle.id, extra=address)

    trace = Trace.model_validate_json(told.stdout)
    assert (told.returncode, trace.status, trace.decisions) == (0, "done", result.decisions)
    assert trace.cycles[0].plans[0].tasks[0].queries[0].found > 0
    assert {section.topic for section in trace.sections} == {section.topic for section in result.sections}
    assert read_by_a_person.stdout.startswith(f"# Trace of {handle.id}\n")
    assert trace == expected
