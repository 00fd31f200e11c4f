"""Test the promise of the MCP server with real processes: a client, its server, Temporal and a worker.

A client starts a run as a task and is killed together with its server. Another client answers the run by the same
handle and reads the report.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult
from pydantic import SecretStr

from tenure.settings import Settings
from tests.cli.conftest import ROOT
from tests.mcp_server.conftest import on_stdio, over_http
from tests.mcp_server.task_client import call_as_task, get_task, update_task, wait_for_status, wait_for_task
from tests.mcp_server.test_tools import get_text
from tests.support.homes import home
from tests.support.tiers import slow

DOCUMENT = """\
# Lighthouse lamps

A lighthouse guides ships with a beam of light that sailors see from twenty miles away.
The oldest lighthouse lamps burned wood and coal. Oil lamps replaced them in the eighteenth century.
"""
QUESTION = "How do lighthouses guide ships?"

CLIENT = """\
import asyncio, json, os, sys
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from tests.mcp_server.task_client import Tasks, call_as_task

async def main():
    server = StdioServerParameters(command=sys.executable, args=[sys.argv[1], "mcp"], env=dict(os.environ))
    async with Client(server, extensions=[Tasks()]) as client:
        created = await call_as_task(client, "research", json.loads(sys.argv[2]))
        print(created.task_id, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""
"""Program of a client that starts a task and then waits until it is killed."""


@slow
async def test_a_task_survives_its_client_and_its_server(tmp_path: Path) -> None:
    """Both are killed while the plan waits; a new client approves it by the same task and reads the report.

    The stack that the first call of a client has started stays when the client leaves.
    """
    (tmp_path / "lamps.md").write_text(DOCUMENT, encoding="utf-8")
    arguments = {"question": QUESTION, "docs": [str(tmp_path / "lamps.md")], "approve_plan": True, "max_sections": 1}
    with home(tmp_path) as made:
        async with on_stdio(made) as client:
            listed = await client.call_tool("status")
        stack = made.run("status")
        command = [sys.executable, "-c", CLIENT, str(ROOT / "client.py"), json.dumps(arguments)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=made.environment({"PYTHONPATH": str(ROOT)})
        ) as process:
            assert process.stdout is not None
            task_id = process.stdout.readline().strip()
            family = psutil.Process(process.pid).children(recursive=True)
            servers = [one for one in family if one.cmdline()[-1:] == ["mcp"]]
            for one in (psutil.Process(process.pid), *servers):
                one.kill()
        async with on_stdio(made) as client:
            waiting = await wait_for_status(client.session, task_id, "input_required")
            ((key, request),) = (waiting.input_requests or {}).items()
            await update_task(client.session, task_id, {key: ElicitResult(action="accept")})
            ended = await wait_for_task(client.session, task_id)
            report = await client.read_resource(f"tenure://runs/{task_id}/report")
            found = await client.call_tool("search", {"words": "oil lamps"})

    assert (get_text(listed), stack.returncode) == ("There is no such run.", 0)
    assert len(servers) == 1
    assert request.params is not None
    assert "Is this the right outline?" in request.params.model_dump()["message"]
    assert ended.status == "completed"
    assert ended.result is not None
    assert "lighthouse" in get_text(ended.result)
    assert report.contents[0].model_dump()["text"] == get_text(ended.result)
    assert "burned wood and coal" in get_text(found)


@slow
async def test_owners_are_served_their_own_runs(tmp_path: Path) -> None:
    """The server acts as the owner of its settings: the run of another owner can be neither read nor steered."""
    (tmp_path / "lamps.md").write_text(DOCUMENT, encoding="utf-8")
    tokens = {"ann": "a" * 32, "bob": "b" * 32}
    start = {"question": QUESTION, "docs": [str(tmp_path / "lamps.md")], "id": "lamps", "approve_plan": True}
    with home(tmp_path, TENURE_OWNERS=json.dumps(tokens)) as made:
        assert made.run("up").returncode == 0
        # Clients know their own token only.
        address = {"TEMPORAL_ADDRESS": f"127.0.0.1:{made.settings.temporal_port}", "TENURE_OWNERS": ""}
        with patch.dict(os.environ, made.environment(address), clear=True):

            def of(owner: str) -> Settings:
                return Settings(owner=owner, owner_token=SecretStr(tokens[owner]), _env_file=None)

            async with over_http(of("ann")) as ann, over_http(of("bob")) as bob:
                created = await call_as_task(ann, "research", start)
                with pytest.raises(MCPError) as error:
                    await get_task(bob.session, created.task_id)
                steered = await bob.call_tool("steer", {"run": "lamps", "command": "finish"})
                searched = await bob.call_tool("search", {"words": "oil lamps"})
                hers = await ann.call_tool("steer", {"run": "lamps", "command": "finish"})
                ended = await wait_for_task(ann.session, "lamps")

    assert created.task_id == "lamps"
    assert "no run lamps" in str(error.value)
    assert steered.is_error
    assert get_text(searched) == "No passage was found."
    assert not hers.is_error
    assert ended.status == "completed"
