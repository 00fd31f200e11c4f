"""Run short forms of the drills: a failing model server, and a server that answers nonsense."""

from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.run.run import RunLimits
from tests.model_server import ModelServer, RandomFaults
from tests.support.tiers import RUN_ALL, exhaustive, slow
from tests.support.weather import BUDGET, case_of, run_in_weather, within

RUNS = 200 if RUN_ALL else 4

pytestmark = pytest.mark.timeout(1200)


@slow
async def test_runs_end_with_their_report_in_any_weather(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """With a third of the answers faulty every run ends with a report, and counts to the token what was billed."""
    with ModelServer(random_faults=RandomFaults(5, 0.3, run_of=case_of)) as model:
        ended = await run_in_weather(server.client, model, tmp_path, RUNS, 5000, RunLimits(min_relevance=0.0))
    assert all(one.result.title and (one.result.sections or one.result.abstract) for one in ended)
    assert [one.used for one in ended] == [one.billed for one in ended]


@exhaustive
async def test_runs_against_nonsense_end_within_their_budget(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Answers that fit every schema and mean nothing keep no run going beyond its budget."""
    with ModelServer(nonsense=7) as model:
        ended = await run_in_weather(server.client, model, tmp_path, RUNS, 7000, BUDGET)
    assert all(one.result.decisions or one.result.notes for one in ended)
    assert all(within(one.result, BUDGET) for one in ended)
    assert [one.used for one in ended] == [one.billed for one in ended]
