"""Test runs as tasks with the official client, against a real Temporal server and a stub worker."""

from datetime import datetime

import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY, ElicitRequest, ElicitResult

from tenure.mcp_server.tasks import EXTENSION
from tests.mcp_server.conftest import Reply
from tests.mcp_server.task_client import (
    Tasks,
    call_as_task,
    cancel_task,
    get_task,
    update_task,
    wait_for_status,
    wait_for_task,
)
from tests.mcp_server.test_tools import get_text


async def test_a_call_becomes_a_task_with_the_id_of_its_run(served: Server) -> None:
    """The task is working, then completed with the result that the call would have had."""
    async with Client(served, extensions=[Tasks()]) as client:
        created = await call_as_task(client, "research", {"question": "wait here", "id": "task-1"})
        working = await get_task(client.session, "task-1")
        await client.call_tool("steer", {"run": "task-1", "command": "finish"})
        ended = await wait_for_task(client.session, "task-1")
        called = await client.call_tool("status", {"run": "task-1"})

    assert (created.task_id, created.status, created.ttl_ms) == ("task-1", "working", None)
    assert (working.status, working.ttl_ms, working.result) == ("working", None, None)
    assert working.poll_interval_ms == created.poll_interval_ms
    assert (ended.status, ended.poll_interval_ms) == ("completed", None)
    assert ended.result == called.model_copy(update={"meta": None})
    times = [
        datetime.fromisoformat(time) for time in (ended.created_at, working.last_updated_at, ended.last_updated_at)
    ]
    assert times == sorted(times)
    assert ended.created_at == created.created_at == working.created_at


async def test_a_client_with_the_extension_needs_no_other_call(served: Server) -> None:
    """The extension of the client polls the task, shows the question of the run and returns the report."""
    reply = Reply("the year 2020")
    async with Client(served, extensions=[Tasks()], elicitation_callback=reply) as client:
        done = await client.call_tool("research", {"question": "clarify this"})

    assert reply.messages == ["Which year is meant?\nWithout an answer by tomorrow: the latest."]
    assert '"text":"the year 2020"' in get_text(done)


@pytest.mark.parametrize(
    ("question", "response", "told"),
    [
        ("clarify", ElicitResult(action="accept", content={"answer": " in 2020 "}), ['"answer","text":"in 2020"']),
        ("clarify", ElicitResult(action="decline"), ['"answer","text":"the latest"']),
        ("approve", ElicitResult(action="accept", content={"outline": ""}), ['"approve"']),
        (
            "approve",
            ElicitResult(action="accept", content={"outline": "Rye\n\nOats"}),
            ['"heading":"Oats"', '"approve"'],
        ),
    ],
    ids=["answer", "assumption", "plan", "outline"],
)
async def test_replies_become_commands(served: Server, question: str, response: ElicitResult, told: list[str]) -> None:
    """A reply to the open input request answers, approves or changes the plan; other replies are ignored."""
    async with Client(served, extensions=[Tasks()], elicitation_callback=Reply("")) as client:
        created = await call_as_task(client, "research", {"question": question})
        waiting = await wait_for_status(client.session, created.task_id, "input_required")
        assert waiting.input_requests is not None
        ((key, request),) = waiting.input_requests.items()
        assert isinstance(request, ElicitRequest)
        await update_task(client.session, created.task_id, {"other": response})
        await update_task(client.session, created.task_id, {key: ElicitResult(action="cancel")})
        still = await get_task(client.session, created.task_id)
        await update_task(client.session, created.task_id, {key: response})
        ended = await wait_for_task(client.session, created.task_id)
        await update_task(client.session, created.task_id, {key: response})

    assert still.status == "input_required"
    assert (request.params.message.split("\n")[0][-1], ended.status) == ("?", "completed")
    assert ended.result is not None
    assert all(words in get_text(ended.result) for words in told)


async def test_a_declined_plan_stops_the_run(served: Server) -> None:
    """The task is then cancelled."""
    async with Client(served, extensions=[Tasks()], elicitation_callback=Reply("")) as client:
        created = await call_as_task(client, "research", {"question": "approve this"})
        waiting = await wait_for_status(client.session, created.task_id, "input_required")
        (key,) = waiting.input_requests or {}
        await update_task(client.session, created.task_id, {key: ElicitResult(action="decline")})
        ended = await wait_for_task(client.session, created.task_id)

    assert ended.status == "cancelled"


async def test_a_client_without_forms_sees_the_question(served: Server) -> None:
    """The task of a client that cannot ask a person stays working, with the question in its message."""
    async with Client(served, extensions=[Tasks()]) as client:
        created = await call_as_task(client, "research", {"question": "clarify this"})
        async with Client(served, extensions=[Tasks()], elicitation_callback=Reply("")) as other:
            await wait_for_status(other.session, created.task_id, "input_required")
        waiting = await get_task(client.session, created.task_id)
        await client.call_tool("steer", {"run": created.task_id, "command": "answer", "text": "2020"})
        ended = await wait_for_task(client.session, created.task_id)

    assert (waiting.status, waiting.input_requests) == ("working", None)
    assert waiting.status_message.startswith("waits for a person: Which year is meant?")
    assert ended.status == "completed"


async def test_a_cancelled_task_delivers_a_report(served: Server) -> None:
    """A cancellation finishes the run, whose report completes the task; a second one is acknowledged as well."""
    async with Client(served, extensions=[Tasks()]) as client:
        created = await call_as_task(client, "code", {"question": "wait for me"})
        await cancel_task(client.session, created.task_id)
        ended = await wait_for_task(client.session, created.task_id)
        again = await cancel_task(client.session, created.task_id)

    assert (ended.status, again.result_type) == ("completed", "complete")
    assert ended.result is not None
    assert ended.result.structured_content["run"]["status"] == "finished_early"


async def test_a_failed_run_is_a_completed_task_with_an_error(served: Server) -> None:
    """The status `failed` is for errors of the protocol; the reason is in the result."""
    async with Client(served, extensions=[Tasks()]) as client:
        created = await call_as_task(client, "research", {"question": "fail now"})
        ended = await wait_for_task(client.session, created.task_id)

    assert ended.status == "completed"
    assert ended.result is not None and ended.result.is_error
    assert "told to fail" in get_text(ended.result)


async def test_calls_that_cannot_start_a_run_create_no_task(served: Server) -> None:
    """A refusal is the result of the call."""
    async with Client(served, extensions=[Tasks()]) as client:
        refused = await client.call_tool("research", {"question": "Why?", "corpora": ["absent"]})

    assert refused.is_error
    assert "absent" in get_text(refused)


async def test_unknown_tasks_are_invalid_parameters(served: Server) -> None:
    """Every method refuses the id of no run with the code of the extension."""
    async with Client(served, extensions=[Tasks()]) as client:
        for request in (
            get_task(client.session, "none"),
            cancel_task(client.session, "none"),
            update_task(client.session, "none", {}),
        ):
            with pytest.raises(MCPError, match="there is no run none") as error:
                await request
            assert error.value.code == INVALID_PARAMS


async def test_tasks_need_the_extension(served: Server) -> None:
    """A client that does not declare it, or has an earlier protocol, has no methods of tasks."""
    async with Client(served) as client:
        with pytest.raises(MCPError) as undeclared:
            await get_task(client.session, "none")
        advertised = client.server_capabilities.extensions
    async with Client(served, extensions=[Tasks()], mode="legacy") as client:
        with pytest.raises(MCPError) as earlier:
            await get_task(client.session, "none")

    assert undeclared.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
    assert EXTENSION in str(undeclared.value.data)
    assert earlier.value.code == METHOD_NOT_FOUND
    assert advertised == {EXTENSION: {}}
