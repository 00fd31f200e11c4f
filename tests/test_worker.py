"""The compose root: which queue serves what, and what the command line takes."""

import argparse
import socket
from pathlib import Path

import pytest

from activities.mcp import McpActivities
from tenure.models.factory import chat_model
from tenure.settings import Settings
from tenure.sources.mcp.servers import McpServers
from tenure.sources.search.ask import WebSearch
from tests.roles.cases import CASES
from tests.sandboxes import ScriptedSandbox
from tests.worlds import MemoryKnowledge
from worker import (
    WORKFLOWS,
    activity_methods,
    browser_methods,
    build_parser,
    main,
    parse_queues,
    sandbox_methods,
    slots,
    web_methods,
)
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
    methods = activity_methods(None, MemoryKnowledge({}))  # type: ignore[arg-type]
    methods[SANDBOX_QUEUE] = sandbox_methods(ScriptedSandbox(), Path("artifacts"))
    methods[BROWSER_QUEUE] = browser_methods(None)
    engines = WebSearch.from_settings(Settings(_env_file=None))
    mcp = McpActivities(McpServers({}, seconds=1), MemoryKnowledge({}))  # type: ignore[arg-type]
    methods[WEB_QUEUE] = web_methods(engines, None, mcp)  # type: ignore[arg-type]
    return {
        queue: {method.__temporal_activity_definition.name for method in found}  # type: ignore[attr-defined]
        for queue, found in methods.items()
    }


def test_every_queue_serves_its_activities() -> None:
    """All roles are on the model's queue, reading and searching on the other, and none is served twice."""
    assert served() == {
        TENURE_QUEUE: {"assemble", "look_whether_words_stand", "post_notice", "run_notice_command"},
        EMBED_QUEUE: {
            *(
                "ingest",
                "read_pages",
                "fork",
                "search",
                "group",
                "recall",
                "analyze",
                "embed",
                "corpora",
                "inherit",
                "tables",
                "query",
                "table_file",
                "keep_computation",
                *("show_passages", "calculate", "lookup_term", "cite_claim"),
            ),
            *("compact_tables", "refresh_indexes", "remove_old_versions"),
            *("related", "unread", "refresh_relations"),
            *("remember", "recollect", "forget", "list_memories", "consolidate_memories"),
        },
        MODEL_QUEUE: set(CASES),
        WEB_QUEUE: {"search_web", "fetch_pages", "list_mcp_tools", "call_mcp_tool"},
        BROWSER_QUEUE: {"show_pages"},
        SANDBOX_QUEUE: {"look_at_sandbox", "run_tests", "run_program", "repair"},
    }
    assert served().keys() == set(ALL_QUEUES)


def test_workflows_have_names_of_their_own() -> None:
    """No workflow is registered twice."""
    names = [workflow.__name__ for workflow in WORKFLOWS]

    assert len(names) == len(set(names)) >= 5


def test_some_or_all_queues_can_be_served() -> None:
    """Names are separated by commas, blanks around them do no harm, and all is the default."""
    assert parse_queues(f" {MODEL_QUEUE}, {TENURE_QUEUE},") == [MODEL_QUEUE, TENURE_QUEUE]
    assert build_parser().parse_args([]).queues == list(ALL_QUEUES)
    assert build_parser().parse_args(["--queues", EMBED_QUEUE]).queues == [EMBED_QUEUE]


def test_a_queue_named_twice_is_served_once() -> None:
    """Two workers of one process on the same queue would share nothing but its slots."""
    assert parse_queues(f"{TENURE_QUEUE},{MODEL_QUEUE},{TENURE_QUEUE}") == [TENURE_QUEUE, MODEL_QUEUE]


@pytest.mark.parametrize(("value", "named"), [("tenure,gold", "'gold'"), ("", "''"), (" , ", "' , '")])
def test_an_unknown_queue_is_named_with_those_there_are(value: str, named: str) -> None:
    """A worker that would serve nothing does not start."""
    with pytest.raises(argparse.ArgumentTypeError, match=f"no queue {named}; there are {', '.join(ALL_QUEUES)}"):
        parse_queues(value)


def test_without_a_model_the_twins_answer() -> None:
    """Neither key nor address: no chat model."""
    assert chat_model(Settings(openai_api_key=None, openai_base_url=None)) is None


def test_a_configured_model_is_used() -> None:
    """A key or an address makes the OpenAI-compatible back-end."""
    chat = chat_model(Settings(openai_base_url="http://127.0.0.1:9/v1"))

    assert chat is not None
    assert chat.name == "openai"


@pytest.mark.parametrize(("address", "calls"), [(None, 8), ("http://127.0.0.1:9/v1", 40)])
def test_model_calls_have_as_many_slots_as_requests(address: str | None, calls: int) -> None:
    """With a model hardly a call takes a slot only to wait for a request to end; what computes has a thread each."""
    settings = Settings(openai_api_key=None, openai_base_url=address, model_concurrency=40)

    assert [slots(settings, queue) for queue in (MODEL_QUEUE, EMBED_QUEUE, TENURE_QUEUE)] == [calls, 8, 8]


def test_a_worker_without_a_server_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 4 and the line names the address."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        monkeypatch.setenv("TENURE_TEMPORAL_PORT", str(port))
        monkeypatch.delenv("TEMPORAL_ADDRESS", raising=False)
        monkeypatch.setattr("worker.configure", lambda level: None)

        assert main([]) == 4

    assert f"127.0.0.1:{port}" in capsys.readouterr().err


def test_a_worker_with_a_wrong_setting_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2 and the line names the setting."""
    monkeypatch.setenv("TENURE_UI_PORT", "none")

    assert main([]) == 2
    assert "ui_port" in capsys.readouterr().err.lower()
