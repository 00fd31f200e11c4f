"""The worker: task queues, activities and the command line."""

import argparse
import os
import socket
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.testing import WorkflowEnvironment

import worker
from activities.archive import ArchiveActivities
from activities.code_index import CodeIndexActivities
from activities.commands import CommandActivities
from activities.mcp import McpActivities
from activities.sandbox import SandboxActivities
from activities.web import BrowserActivities, WebActivities
from activities.workspaces import WorkspaceActivities
from tenure.models.factory import create_chat_model
from tenure.settings import Settings
from tenure.sources.mcp.servers import McpServers
from tenure.sources.search.federated import FederatedSearch
from tenure.temporal.deployment import VersioningRefused
from tenure.temporal.stack.source import get_build_id
from tests.roles.cases import CASES
from tests.support.sandboxes import ScriptedSandbox
from tests.support.tiers import slow
from tests.support.workers import PatientWorker
from tests.support.worlds import MemoryKnowledge
from worker import (
    build_activities,
    build_parser,
    choose_max_activities,
    choose_shutdown_timeout,
    collect_activities,
    extend_workflow_tasks,
    main,
    parse_queues,
    prepare_home,
)
from workflows.plugin import WORKFLOWS
from workflows.runtime.activity_options import ACTIVITY_OPTIONS
from workflows.runtime.task_queues import (
    ALL_QUEUES,
    BROWSER_QUEUE,
    EMBED_QUEUE,
    INGEST_QUEUE,
    MODEL_QUEUE,
    SANDBOX_QUEUE,
    SEARCH_QUEUE,
    TENURE_QUEUE,
    WEB_QUEUE,
)

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def unchanged_logging(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the command from configuring the logs of this process, which other tests read."""
    monkeypatch.setattr("worker.configure_logging", lambda level, line_format: None)
    monkeypatch.setattr("worker.configure_sdk_loggers", lambda: None)


def served() -> dict[str, set[str]]:
    """Return the names of the activities by queue."""
    methods = build_activities(None, MemoryKnowledge({}))  # type: ignore[arg-type]
    methods[SANDBOX_QUEUE] = collect_activities(
        SandboxActivities(ScriptedSandbox(), Path("artifacts")),
        WorkspaceActivities(None),  # type: ignore[arg-type]
        CodeIndexActivities(None, None),  # type: ignore[arg-type]
        CommandActivities(None, None, None, None),  # type: ignore[arg-type]
    )
    methods[BROWSER_QUEUE] = collect_activities(BrowserActivities(None))
    engines = FederatedSearch.from_settings(Settings(_env_file=None))
    mcp = McpActivities(McpServers({}, timeout_seconds=1), MemoryKnowledge({}))  # type: ignore[arg-type]
    methods[TENURE_QUEUE] += collect_activities(ArchiveActivities(None))  # type: ignore[arg-type]
    methods[WEB_QUEUE] = collect_activities(WebActivities(engines, None), mcp)  # type: ignore[arg-type]
    return {
        queue: {method.__temporal_activity_definition.name for method in found}  # type: ignore[attr-defined]
        for queue, found in methods.items()
    }


def test_every_queue_serves_its_activities() -> None:
    """All roles are on the model queue, and no activity is on two queues."""
    assert served() == {
        TENURE_QUEUE: {
            *("assemble_report", "compare_reports", "post_notification", "run_notification_command"),
            *("archive_run", "archive_missing_runs"),
        },
        SEARCH_QUEUE: {
            *("search_passages", "group_passages", "recall_findings", "analyze_candidates"),
            *("read_pages", "read_page_text", "manage_corpora", "query_tables", "store_computation", "find_relations"),
            "store_result_texts",
            "find_pictures",
            "store_picture_readings",
            *("build_excerpts", "calculate", "find_term", "cite_claim", "compare_sources", "extend_dossier"),
            *("store_memories", "search_memories", "forget_memories", "list_memories", "write_memory"),
            *("recall_experience", "embed_for_question", "find_contradictions"),
        },
        INGEST_QUEUE: {"ingest_corpus", "fork_corpus", "find_tables", "export_query"},
        EMBED_QUEUE: {
            *("embed_corpus", "maintain_tables", "consolidate_memories"),
        },
        MODEL_QUEUE: set(CASES),
        WEB_QUEUE: {
            "search_web",
            "fetch_pages",
            "list_mcp_tools",
            "call_mcp_tool",
            "store_mcp_answer",
            "read_mcp_resource",
        },
        BROWSER_QUEUE: {"render_pages"},
        SANDBOX_QUEUE: {
            *("check_sandbox", "run_tests", "run_program", "repair_program"),
            *("open_repository", "read_lines", "list_files", "edit_files", "build_patch", "close_workspace"),
            "copy_state",
            *("index_repository", "map_repository", "search_code"),
            *("set_up_environment", "run_command", "run_project_tests", "run_project_checks"),
            "repair_project",
        },
    }
    assert served().keys() == set(ALL_QUEUES)


def test_the_options_of_an_activity_name_the_queue_that_serves_it() -> None:
    """The table of options holds every activity except the roles, with its task queue."""
    queues = {name: queue for queue, names in served().items() for name in names if queue != MODEL_QUEUE}

    assert {name: options["task_queue"] for name, options in ACTIVITY_OPTIONS.items()} == queues


@slow
def test_the_worker_polls_before_it_loads_the_knowledge_base() -> None:
    """Nothing that the worker imports before it serves loads the database, parsers, DuckDB or a client of models."""
    program = (
        "import sys, worker\n"
        "slow = 'lancedb lance_namespace pyarrow duckdb openai lxml pypdfium2 tokenizers'\n"
        "print([name for name in slow.split() if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_workflow_names_are_unique() -> None:
    """No workflow is registered twice."""
    names = [workflow.__name__ for workflow in WORKFLOWS]

    assert len(names) == len(set(names)) >= 5


@pytest.mark.parametrize(
    ("queue", "seconds"), [(MODEL_QUEUE, 45), (WEB_QUEUE, 45), (SEARCH_QUEUE, 10), (SANDBOX_QUEUE, 10)]
)
def test_paid_calls_may_finish_when_a_worker_stops(queue: str, seconds: float) -> None:
    """Calls of models and MCP servers have the time of the settings, other activities ten seconds."""
    settings = Settings(shutdown_seconds=45, _env_file=None)

    assert choose_shutdown_timeout(settings, queue) == timedelta(seconds=seconds)
    assert choose_shutdown_timeout(Settings(shutdown_seconds=2, _env_file=None), queue) == timedelta(seconds=2)


@workflow.defn(sandboxed=False)
class Busy:
    """Workflow whose only task keeps its thread for longer than the SDK allows."""

    @workflow.run
    async def run(self) -> str:
        """Do not yield for three seconds."""
        time.sleep(3)  # noqa: ASYNC251 - this is the deadlock
        return "done"


@slow
async def test_a_long_workflow_task_is_no_deadlock(server: WorkflowEnvironment) -> None:
    """A workflow task that needs three seconds, as on a busy machine, is not repeated for ever."""
    queue = f"busy-{uuid4().hex[:8]}"
    worker = PatientWorker(server.client, task_queue=queue, workflows=[Busy])
    extend_workflow_tasks(worker)
    async with worker:
        handle = await server.client.start_workflow(Busy.run, id=queue, task_queue=queue)
        result = await handle.result()
        events = [event async for event in handle.fetch_history_events()]

    assert result == "done"
    assert not any(event.HasField("workflow_task_failed_event_attributes") for event in events)


def test_some_or_all_queues_can_be_served() -> None:
    """Names are separated by commas, blanks are ignored, and the default is all queues."""
    assert parse_queues(f" {MODEL_QUEUE}, {TENURE_QUEUE},") == [MODEL_QUEUE, TENURE_QUEUE]
    assert build_parser().parse_args([]).queues == list(ALL_QUEUES)
    assert build_parser().parse_args(["--queues", EMBED_QUEUE]).queues == [EMBED_QUEUE]


def test_duplicate_queue_is_served_once() -> None:
    """Two workers of one process on the same queue would only share its slots."""
    assert parse_queues(f"{TENURE_QUEUE},{MODEL_QUEUE},{TENURE_QUEUE}") == [TENURE_QUEUE, MODEL_QUEUE]


@pytest.mark.parametrize(("value", "named"), [("tenure,gold", "'gold'"), ("", "''"), (" , ", "' , '")])
def test_unknown_queue_is_rejected_with_the_known_ones(value: str, named: str) -> None:
    """A worker without a queue does not start."""
    with pytest.raises(argparse.ArgumentTypeError, match=f"no queue {named}; there are {', '.join(ALL_QUEUES)}"):
        parse_queues(value)


def test_missing_model_settings_create_no_chat_model() -> None:
    """Without a key or a base URL there is no chat model."""
    assert create_chat_model(Settings(openai_api_key=None, openai_base_url=None)) is None


def test_configured_model_is_created() -> None:
    """A key or a base URL creates the OpenAI-compatible client."""
    chat = create_chat_model(Settings(openai_base_url="http://127.0.0.1:9/v1"))

    assert chat is not None
    assert chat.name == "openai"


@pytest.mark.parametrize(("address", "calls"), [(None, 8), ("http://127.0.0.1:9/v1", 40)])
def test_model_calls_have_as_many_slots_as_requests(address: str | None, calls: int) -> None:
    """With a model the slots equal the allowed requests; activities that need the CPU have one thread each."""
    settings = Settings(openai_api_key=None, openai_base_url=address, model_concurrency=40)
    queues = (MODEL_QUEUE, SEARCH_QUEUE, INGEST_QUEUE, EMBED_QUEUE, TENURE_QUEUE)

    assert [choose_max_activities(settings, queue) for queue in queues] == [calls, 8, 4, 2, 8]


def test_missing_server_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 4 and the line names the server's address."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        monkeypatch.setenv("TENURE_TEMPORAL_PORT", str(port))
        monkeypatch.delenv("TEMPORAL_ADDRESS", raising=False)

        assert main([]) == 4

    assert f"127.0.0.1:{port}" in capsys.readouterr().err


def test_wrong_setting_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 2 and the line names the setting."""
    monkeypatch.setenv("TENURE_UI_PORT", "none")

    assert main([]) == 2
    assert "ui_port" in capsys.readouterr().err.lower()


def test_an_open_home_is_corrected_when_a_worker_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other users lose their permissions, one line says so, and new files are private."""
    tmp_path.chmod(0o755)
    (tmp_path / "searches.db").write_text("")
    (tmp_path / "searches.db").chmod(0o644)
    before = os.umask(0o022)
    try:
        prepare_home(tmp_path)
        prepare_home(tmp_path)
        (tmp_path / "new").write_text("")
    finally:
        os.umask(before)
    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert capsys.readouterr().out.count("the home was open to other users") == 1


def test_metrics_that_cannot_be_served_are_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2 and the line names address and reason."""
    monkeypatch.setenv("TENURE_METRICS_PORT", "9464")
    monkeypatch.setenv("TENURE_METRICS_ADDRESS", "192.0.2.1")

    assert main([]) == 2
    assert "metrics cannot be served at 192.0.2.1, port 9464" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "setting", "expected"),
    [
        ([], "on", ("", False)),
        (["--versioned"], "on", (get_build_id(), False)),
        (["--make-current"], "on", (get_build_id(), True)),
        (["--make-current"], "off", ("", False)),
    ],
)
def test_a_worker_takes_part_in_versioning_only_if_asked(
    options: list[str], setting: str, expected: tuple[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker without an option has no version, and the setting overrides the options."""
    served: list[tuple[str, bool]] = []

    async def serve(settings: Settings, queues: list[str], build_id: str, *, becomes_current: bool) -> None:
        served.append((build_id, becomes_current))

    monkeypatch.setattr(worker, "serve", serve)
    monkeypatch.setenv("TENURE_WORKER_VERSIONING", setting)

    assert main(options) == 0
    assert served == [expected]


def test_a_refused_version_ends_the_worker_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server without Worker Versioning ends a versioned worker, which would get no work."""

    async def refuse(*arguments: Any, **options: Any) -> None:
        raise VersioningRefused("it is disabled")

    monkeypatch.setattr(worker, "serve", refuse)

    assert main(["--versioned"]) == 4
    assert "set TENURE_WORKER_VERSIONING=off" in capsys.readouterr().err
