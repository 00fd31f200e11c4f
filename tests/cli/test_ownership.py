"""Test that owner and priority of the command line reach everything that a run starts."""

from argparse import Namespace
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import Priority as SentPriority
from temporalio.common import Priority

from tenure.cli.commands.batches import run_batch
from tenure.cli.commands.schedule import build_schedule
from tenure.cli.errors import UsageError
from tenure.cli.ownership import override_ownership, parse_ownership
from tenure.cli.parser import build_parser
from tenure.cli.session.server_target import ServerTarget
from tenure.contracts.result.batch import BatchItem, BatchRequest
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.settings import Settings
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, MemoryKnowledge
from workflows.runtime.search_attributes import OWNER

ASKED = ["start", "Why?", "--owner", "ann", "--priority", "2"]


def test_an_owner_is_a_fairness_key() -> None:
    """An owner is a fairness key; without arguments the server's defaults apply."""
    assert parse_ownership(build_parser().parse_args(ASKED)) == Priority(priority_key=2, fairness_key="ann")
    assert parse_ownership(build_parser().parse_args(["start", "Why?"])) == Priority()


def test_a_fork_overrides_owner_and_priority() -> None:
    """Arguments of a fork override the owner and priority of its origin; the others are kept."""
    before = Priority(priority_key=2, fairness_key="ann")
    told = build_parser().parse_args(["fork", "r", "--cycle", "1", "--owner", "bob"])

    assert override_ownership(told, before) == Priority(priority_key=2, fairness_key="bob")
    assert override_ownership(build_parser().parse_args(["fork", "r", "--cycle", "1"]), before) == before
    assert override_ownership(told, Priority()) == Priority(fairness_key="bob")


def test_a_name_that_the_server_does_not_take_is_refused() -> None:
    """Sixty-four bytes are the most, and letters may have several."""
    with pytest.raises(UsageError, match="64 bytes"):
        parse_ownership(build_parser().parse_args(["start", "Why?", "--owner", "ä" * 33]))


def test_a_scheduled_question_has_an_owner() -> None:
    """Its runs are started with owner and priority."""
    arguments = build_parser().parse_args(["schedule", "Why?", "--cron", "@daily", *ASKED[2:]])
    wanted = build_schedule(arguments, RunRequest(question="Why?", scheduled=True), "s-1")

    assert getattr(wanted.action, "priority", None) == Priority(priority_key=2, fairness_key="ann")


@slow
async def test_everything_that_a_run_begins_has_its_owner(serving: Serving) -> None:
    """Runs of a batch, their parts and their activities are queued under the owner of the batch."""
    shared = RunRequest(
        question="?",
        corpora=("kitchen",),
        limits=RunLimits(
            min_relevance=0.05, max_sections=1, max_cycles=1, max_report_revisions=0, max_section_revisions=0
        ),
    )
    request = BatchRequest(shared=shared, items=(BatchItem(key="1", question="How is bread made?"),))
    arguments = Namespace(json=True, detach=False, owner="ann", priority=2)
    name = f"test-batch-{uuid4().hex[:8]}"
    place = ServerTarget(Settings(_env_file=None), "", "default", False, "")
    found: list[SentPriority] = []
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        await run_batch(arguments, place, stage.client, request, name)
        for run in (name, f"{name}-1", f"{name}-1/research"):
            history = await stage.client.get_workflow_handle(run).fetch_history()
            found.append(history.events[0].workflow_execution_started_event_attributes.priority)
        described = await stage.client.get_workflow_handle(f"{name}-1").describe()

    assert [(one.priority_key, one.fairness_key) for one in found] == [(2, "ann")] * 3
    assert described.typed_search_attributes[OWNER] == "ann"
