"""Options of activities: their timeouts."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError
from temporalio.workflow import ActivityConfig

from tenure.contracts.run.role_calls import MAX_MODEL_TIMEOUT_SECONDS
from tenure.role_executor import MAX_CORRECTIONS
from tenure.settings import Settings
from workflows.runtime.activity_options import ACTIVITY_OPTIONS, MODEL_CALL, MODEL_CALL_TIMEOUT

ROOT = Path(__file__).parents[3]


def test_no_setting_lets_answers_exceed_the_timeout_of_their_call() -> None:
    """A model call and all of its corrections, each with the longest configurable timeout, fit into one attempt."""
    slowest = Settings(model_timeout=MAX_MODEL_TIMEOUT_SECONDS, _env_file=None)

    assert (MAX_CORRECTIONS + 1) * slowest.model_timeout < MODEL_CALL_TIMEOUT.total_seconds()
    with pytest.raises(ValidationError, match="model_timeout"):
        Settings(model_timeout=MAX_MODEL_TIMEOUT_SECONDS + 1, _env_file=None)


@pytest.mark.parametrize(("name", "options"), [*ACTIVITY_OPTIONS.items(), ("role", MODEL_CALL)])
def test_every_activity_ends_in_finite_time(name: str, options: ActivityConfig) -> None:
    """Each activity has a limit for one attempt and a longer one for all attempts, of at most two weeks."""
    attempt, total = options.get("start_to_close_timeout"), options.get("schedule_to_close_timeout")

    assert attempt is not None and total is not None
    assert timedelta() < attempt < total <= timedelta(days=14)


def test_activities_are_scheduled_by_the_table_only() -> None:
    """No workflow schedules an activity past the table, and no override removes a timeout."""
    scheduling = re.compile(r"workflow\.(?:execute|start)_(?:local_)?activity\w*\(")
    files = {path: path.read_text(encoding="utf-8") for path in (ROOT / "workflows").rglob("*.py")}

    assert {path.name for path, text in files.items() if scheduling.search(text)} == {
        "activity_options.py",
        "embed.py",
        "model_client.py",
        "owner_proofs.py",
    }
    assert not [path.name for path, text in files.items() if re.search(r"_to_close_timeout=None", text)]
