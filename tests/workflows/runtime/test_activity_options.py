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
        *("compact_tables", "refresh_indexes", "remove_old_versions", "consolidate_memories", "archive_missing_runs"),
        *("manage_corpora", "forget_memories", "list_memories", "write_memory"),
    }
    assert "schedule_to_close_timeout" not in MODEL_CALL


ROWS = {
    "roles": ("role",),
    "searches, analysis, memories": ("search_passages", "analyze_candidates", "recall_experience", "store_memories"),
    "SQL queries": ("query_tables",),
    "ingestion": ("ingest_corpus",),
    "vectors that a question needs": ("embed_for_question",),
    "background embedding": ("embed_corpus",),
    "web search, pages, storing of answers of MCP tools": ("search_web", "fetch_pages", "store_mcp_answer"),
    "pages with scripts": ("render_pages",),
    "programs and tests": ("run_program", "run_tests"),
    "calls of MCP tools": ("call_mcp_tool",),
    "assembly of the report": ("assemble_report", "compare_reports"),
    "maintenance, consolidation": ("compact_tables",),
    "corpora and memories that a person manages": ("manage_corpora", "list_memories"),
    "archive of a run": ("archive_run",),
    "archive of all ended runs": ("archive_missing_runs",),
    "notifications by POST": ("post_notification",),
}
"""Activities of each row of the table in the manual."""


def describe_duration(duration: timedelta) -> str:
    """Return a duration as the manual writes it."""
    seconds = round(duration.total_seconds())
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size and seconds % size == 0 and (unit != "days" or seconds > size):
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def describe_options(options: ActivityConfig) -> tuple[str, str, str]:
    """Return one attempt, the number of attempts and the time in total as the manual writes them."""
    attempt, policy = options["start_to_close_timeout"], options["retry_policy"]
    assert attempt is not None and policy is not None
    total, start = options.get("schedule_to_close_timeout"), options.get("schedule_to_start_timeout")
    waiting = f"{describe_duration(start)} for a worker" if start else "unlimited"
    return describe_duration(attempt), f"{policy.maximum_attempts}", describe_duration(total) if total else waiting


def test_the_table_of_the_manual_is_true() -> None:
    """Each row of the table states the options of its activities."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    stated = {row[0]: tuple(row[1:4]) for row in rows if row[0] in ROWS}
    options = {**ACTIVITY_OPTIONS, "role": MODEL_CALL}

    assert stated == {row: describe_options(options[names[0]]) for row, names in ROWS.items()}


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
