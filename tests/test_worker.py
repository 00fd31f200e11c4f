"""The worker: task queues, activities and the command line."""

import argparse
import asyncio
import os
import socket
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.mcp import McpActivities
from tenure.models.factory import create_chat_model
from tenure.settings import Settings
from tenure.sources.mcp.servers import McpServers
from tenure.sources.search.federated import FederatedSearch
from tests.roles.cases import CASES
from tests.support.sandboxes import ScriptedSandbox
from tests.support.tiers import slow
from tests.support.worlds import MemoryKnowledge
from worker import (
    WORKFLOWS,
    build_activities,
    build_browser_activities,
    build_parser,
    build_sandbox_activities,
    build_web_activities,
    choose_max_activities,
    extend_workflow_tasks,
    main,
    parse_queues,
    prepare_home,
    stop_workers,
)
from workflows.runtime.activity_options import ACTIVITY_OPTIONS
from workflows.runtime.task_queues import (
    ALL_QUEUES,
    BROWSER_QUEUE,
    EMBED_QUEUE,
    MODEL_QUEUE,
    SANDBOX_QUEUE,
    TENURE_QUEUE,
    WEB_QUEUE,
)


def served() -> dict[str, set[str]]:
    """Return the names of the activities by queue."""
    methods = build_activities(None, MemoryKnowledge({}))  # type: ignore[arg-type]
    methods[SANDBOX_QUEUE] = build_sandbox_activities(ScriptedSandbox(), Path("artifacts"))
    methods[BROWSER_QUEUE] = build_browser_activities(None)
    engines = FederatedSearch.from_settings(Settings(_env_file=None))
    mcp = McpActivities(McpServers({}, timeout_seconds=1), MemoryKnowledge({}))  # type: ignore[arg-type]
    methods[WEB_QUEUE] = build_web_activities(engines, None, mcp)  # type: ignore[arg-type]
    return {
        queue: {method.__temporal_activity_definition.name for method in found}  # type: ignore[attr-defined]
        for queue, found in methods.items()
    }


def test_every_queue_serves_its_activities() -> None:
    """All roles are on the model queue, and no activity is on two queues."""
    assert served() == {
        TENURE_QUEUE: {"assemble_report", "check_quotes", "post_notification", "run_notification_command"},
        EMBED_QUEUE: {
            *(
                "ingest_corpus",
                "read_pages",
                "fork_corpus",
                "search_passages",
                "group_passages",
                "recall_findings",
                "analyze_candidates",
                "embed_corpus",
                "manage_corpora",
                "inherit_findings",
                "find_tables",
                "query_tables",
                "export_query",
                "store_computation",
                *("build_excerpts", "calculate", "find_term", "cite_claim"),
            ),
            *("compact_tables", "refresh_indexes", "remove_old_versions"),
            *("find_relations", "list_unread_passages", "refresh_relations"),
            *("store_memories", "search_memories", "forget_memories", "list_memories", "consolidate_memories"),
        },
        MODEL_QUEUE: set(CASES),
        WEB_QUEUE: {"search_web", "fetch_pages", "list_mcp_tools", "call_mcp_tool"},
        BROWSER_QUEUE: {"render_pages"},
        SANDBOX_QUEUE: {"check_sandbox", "run_tests", "run_program", "repair_program"},
    }
    assert served().keys() == set(ALL_QUEUES)


def test_the_options_of_an_activity_name_the_queue_that_serves_it() -> None:
    """The table of options holds every activity except the roles, with its task queue."""
    queues = {name: queue for queue, names in served().items() for name in names if queue != MODEL_QUEUE}

    assert {name: options["task_queue"] for name, options in ACTIVITY_OPTIONS.items()} == queues


def test_workflow_names_are_unique() -> None:
    """No workflow is registered twice."""
    names = [workflow.__name__ for workflow in WORKFLOWS]

    assert len(names) == len(set(names)) >= 5


async def test_no_queue_takes_work_while_another_one_finishes_its_own(server: WorkflowEnvironment) -> None:
    """Stopping ends the polling of every queue, also while an activity of one queue still runs."""
    running, released = asyncio.Event(), asyncio.Event()

    @activity.defn
    async def hold() -> None:
        running.set()
        await released.wait()

    @activity.defn
    async def unused() -> None:
        return

    name = f"stop-{uuid4().hex[:8]}"
    options: dict[str, Any] = {"graceful_shutdown_timeout": timedelta(minutes=1)}
    idle = Worker(server.client, task_queue=f"{name}-idle", activities=[unused], **options)
    busy = Worker(server.client, task_queue=name, activities=[hold], **options)
    async with idle, busy:
        await server.client.start_activity(hold, id=name, task_queue=name, start_to_close_timeout=timedelta(minutes=1))
        await running.wait()
        stopping = asyncio.create_task(stop_workers([idle, busy]))
        while idle.is_running:  # noqa: ASYNC110 - the SDK has no event for it
            await asyncio.sleep(0.01)
        assert busy.is_running and not stopping.done()
        released.set()
        await stopping


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
    worker = Worker(server.client, task_queue=queue, workflows=[Busy])
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

    assert [choose_max_activities(settings, queue) for queue in (MODEL_QUEUE, EMBED_QUEUE, TENURE_QUEUE)] == [
        calls,
        8,
        8,
    ]


def test_missing_server_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 4 and the line names the server's address."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        monkeypatch.setenv("TENURE_TEMPORAL_PORT", str(port))
        monkeypatch.delenv("TEMPORAL_ADDRESS", raising=False)
        monkeypatch.setattr("worker.configure_logging", lambda level: None)

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
