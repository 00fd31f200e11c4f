"""Recorded histories replay: a change of a workflow that would break running runs is seen here."""

from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from activities.ownership import Owners
from tenure.temporal.converter import DATA_CONVERTER
from tests.histories.record import SLASH
from tests.support.tiers import slow
from worker import WORKFLOWS, create_workflow_runner
from workflows.runtime.owner_proofs import OwnerInterceptor

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))


def test_histories_exist() -> None:
    """The recorded histories exist, so that an empty folder does not count as success."""
    assert len(HISTORIES) >= 20


@slow
@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_history_replays(path: Path) -> None:
    """The workflows of today make the decisions of the recorded run."""
    history = WorkflowHistory.from_json(path.stem.replace(SLASH, "/"), path.read_text())
    replayer = Replayer(
        workflows=WORKFLOWS,
        workflow_runner=create_workflow_runner(),
        data_converter=DATA_CONVERTER,
        interceptors=[OwnerInterceptor(Owners({"ann": "a" * 32}), lambda chunks, sources: ())],
    )

    await replayer.replay_workflow(history)
