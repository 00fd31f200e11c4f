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
def test_every_activity_has_finite_work(name: str, options: ActivityConfig) -> None:
    """One attempt and the number of attempts are limited."""
    attempt, policy = options.get("start_to_close_timeout"), options.get("retry_policy")

    assert attempt is not None and timedelta() < attempt <= timedelta(days=7)
    assert policy is not None and 0 < policy.maximum_attempts <= 720


def test_no_step_of_a_run_ends_because_no_worker_was_there() -> None:
    """The total time of activities is limited only for upkeep, which runs again, and for a person who waits."""
    limited = {name for name, options in ACTIVITY_OPTIONS.items() if "schedule_to_close_timeout" in options}

    assert limited == {
        *("maintain_tables", "consolidate_memories", "archive_missing_runs"),
        *("manage_corpora", "forget_memories", "list_memories", "write_memory"),
    }
    assert "schedule_to_close_timeout" not in MODEL_CALL


def test_activities_are_scheduled_by_the_table_only() -> None:
    """No workflow schedules an activity past the table, and no override removes a timeout."""
    scheduling = re.compile(r"workflow\.(?:execute|start)_(?:local_)?activity\w*\(")
    files = {path: path.read_text(encoding="utf-8") for path in (ROOT / "workflows").rglob("*.py")}

    assert {path.name for path, text in files.items() if scheduling.search(text)} == {
        "activity_options.py",
        "embed.py",
        "model_client.py",
    }
    assert not [path.name for path, text in files.items() if re.search(r"_to_close_timeout=None", text)]
