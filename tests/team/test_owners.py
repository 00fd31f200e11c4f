"""Test that two people of a team see and change nothing of each other: each route of page and API, and each MCP tool.

The routes are those of the router, so a new one fails here until it is listed with its request.
"""

import json
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import uuid4

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tenure.mcp_server.tools import TOOLS
from tenure.runs.service import Service
from tenure.runs.session.server_target import locate_server
from tenure.settings import Settings
from tenure.site.server import build_site
from tests.support.tiers import slow
from tests.team.conftest import ANN, BOB, Team

pytestmark = slow

SECRET = "the launch is on friday"
"""Question of ann, which no answer to bob contains."""


class Probe(NamedTuple):
    """Request of bob to a route, with the id of ann's run in the place of RUN."""

    body: dict[str, Any] = {}
    query: str = ""
    shows_own: bool = False
    """Whether the route answers with what is bob's own, instead of refusing."""


OWN = Probe(shows_own=True)
_FORK = {"cycle": 1, "max_cycles": 2}
PROBES = {
    "GET /api/v1/openapi.json": OWN,
    "POST /api/v1/runs": Probe({"question": "mine", "corpora": ["ann-notes"]}),
    "GET /api/v1/runs": OWN,
    "GET /api/v1/runs/{run}/state": Probe(),
    "GET /api/v1/runs/{run}/trace": Probe(),
    "GET /api/v1/runs/{run}/events": Probe(),
    "POST /api/v1/runs/{run}/steer": Probe({"name": "finish"}),
    "GET /api/v1/runs/{run}/report": Probe(),
    "GET /api/v1/runs/{run}/patch": Probe(),
    "GET /api/v1/runs/{run}/sources/{number}": Probe(query="start=0&end=5"),
    "POST /api/v1/runs/{run}/questions": Probe({"question": "and then?"}),
    "GET /api/v1/runs/{run}/questions": Probe(),
    "POST /api/v1/runs/{run}/forks": Probe(_FORK),
    "POST /api/v1/runs/{run}/again": Probe({}),
    "PUT /api/v1/runs/{run}/label": Probe({"title": "taken"}),
    "GET /api/v1/runs/{run}": Probe(),
    "DELETE /api/v1/runs/{run}": Probe(),
    "GET /api/v1/diff": Probe(query="a=RUN&b=RUN"),
    "GET /api/v1/corpora": OWN,
    "POST /api/v1/corpora": Probe({"paths": ["HOME/owner-ann/uploads/ann-notes"]}),
    "POST /api/v1/corpora/search": Probe({"words": "launch", "corpora": ["ann-notes"]}, shows_own=True),
    "GET /api/v1/corpora/{corpus}": Probe(),
    "DELETE /api/v1/corpora/{corpus}": Probe(),
    "POST /api/v1/corpora/{corpus}/files": OWN,
    "GET /api/v1/memories": OWN,
    "POST /api/v1/memories": Probe({"text": "mine"}, shows_own=True),
    "POST /api/v1/memories/forget": Probe({"ids": ["ann-memory"]}),
    "GET /": OWN,
    "GET /static/{name}": Probe(),
    "GET /favicon.ico": OWN,
    "POST /runs": Probe({"question": "mine", "docs": "HOME/owner-ann/uploads/ann-notes"}),
    "GET /runs/{run}/live": Probe(),
    "GET /runs/{run}/found": Probe(),
    "POST /runs/{run}/steer": Probe({"command": "finish"}),
    "GET /runs/{run}/report": Probe(),
    "GET /runs/{run}/sources/{number}": Probe(query="start=0&end=5"),
    "POST /runs/{run}/questions": Probe({"question": "and then?"}),
    "GET /runs/{run}/conversation": Probe(),
    "GET /runs/{run}/fork": Probe(),
    "POST /runs/{run}/fork": Probe(_FORK),
    "POST /runs/{run}/again": Probe(),
    "POST /runs/{run}/apply": Probe(),
    "POST /runs/{run}/label": Probe({"title": "taken"}),
    "POST /runs/{run}/delete": Probe(),
    "GET /runs/{run}": Probe(),
    "GET /diff": Probe(query="a=RUN&b=RUN"),
    "GET /choices": OWN,
    "GET /corpora": OWN,
    "POST /corpora": Probe({"paths": "HOME/owner-ann/uploads/ann-notes"}),
    "GET /corpora/live": OWN,
    "GET /corpora/{corpus}/documents/{source}": Probe(),
    "POST /corpora/{corpus}/read": Probe(),
    # The stub knows a corpus of every name, in bob's namespace.
    "POST /corpora/{corpus}/watch": Probe({"every": "3600"}, shows_own=True),
    "POST /corpora/{corpus}/delete": OWN,
    "GET /corpora/{corpus}": OWN,
    "GET /memories": OWN,
    "POST /memories": Probe({"text": "mine"}, shows_own=True),
    "POST /memories/forget": Probe({"ids": "ann-memory"}),
}
"""Requests of bob by route."""


def list_routes() -> list[str]:
    """Return the routes of page and API."""
    place = replace(locate_server(Settings(_env_file=None)), is_shared=True)
    routes = build_site(Service(place), "").routes
    return [
        f"{method} {path.replace(':path}', '}').replace(':int}', '}')}"
        for route in routes
        for path in [getattr(route, "path", "")]
        for method in sorted(set(getattr(route, "methods", ())) - {"HEAD"})
    ]


async def start_run(team: Team, name: str) -> tuple[httpx.AsyncClient, str]:
    """Return a browser of ann, and her run, which waits for a person."""
    client = await team.sign_in(ANN)
    started = await client.post("/api/v1/runs", json={"question": f"wait here: {SECRET}", "id": name})
    assert started.status_code == 201, started.text
    return client, started.json()["id"]


def test_each_route_is_probed() -> None:
    """A new route needs a line above."""
    assert sorted(PROBES) == sorted(list_routes())


async def test_no_route_shows_or_changes_what_is_anothers(team: Team) -> None:
    """Bob gets no word of ann's run by any route, in none of the three faces, and it continues as before."""
    ann, run = await start_run(team, f"ann-{uuid4().hex[:8]}")
    bob = await team.sign_in(BOB)
    home = str(team.settings.home)
    (team.settings.home / "owner-ann" / "uploads" / "ann-notes").mkdir(parents=True)
    (team.settings.home / "owner-ann" / "uploads" / "ann-notes" / "note.md").write_text(SECRET, encoding="utf-8")
    wrong: list[str] = []
    for route, probe in PROBES.items():
        method, path = route.split(" ")
        for word, value in {
            "{run}": run,
            "{corpus}": "ann-notes",
            "{number}": "1",
            "{name}": "access.key",
            "{source}": "s-ann",
        }.items():
            path = path.replace(word, value)
        body = json.loads(json.dumps(probe.body).replace("HOME", home))
        query = probe.query.replace("RUN", run)
        sent: dict[str, Any] = {} if method == "GET" else {"json" if path.startswith("/api/") else "data": body}
        if path.endswith("/files"):
            sent = {"files": {"files": ("mine.md", b"mine")}}
        answer = await bob.request(method, f"{path}?{query}", **sent)
        leaks = [word for word in (SECRET, *((run,) if "RUN" not in probe.query else ())) if word in answer.text]
        refused = answer.status_code >= 400 or answer.headers.get("location") == f"/runs/{run}"
        if refused == probe.shows_own or (leaks and not (answer.status_code == 404 and leaks == [run])):
            wrong.append(f"{route}: {answer.status_code} {leaks} {answer.text[-100:]!r}")

    state = (await ann.get(f"/api/v1/runs/{run}")).json()
    assert not wrong, "\n".join(wrong)
    assert (state["is_running"], state["failure"]) == (True, "")
    assert (team.settings.home / "owner-ann" / "uploads" / "ann-notes" / "note.md").exists()
    assert (await ann.post(f"/api/v1/runs/{run}/steer", json={"name": "cancel"})).status_code == 200


@pytest.mark.parametrize("path", ["/etc/hostname", "HOME/access.key", "HOME/owner-bob", "relative.md", "~/.ssh"])
async def test_no_request_names_a_file_of_the_server(team: Team, path: str) -> None:
    """Documents, files and repositories outside the document roots are refused, in words that say what to do."""
    client = await team.sign_in(BOB)
    named = path.replace("HOME", str(team.settings.home))
    for field in ("docs", "files", "tests", "repo"):
        value: Any = named if field == "repo" else [named]
        answer = await client.post("/api/v1/runs", json={"question": "what?", field: value})
        assert answer.status_code == 422, (field, answer.text)
        assert "not open on this server" in answer.json()["error"] or "absolute path" in answer.json()["error"]


async def test_no_tool_shows_or_changes_what_is_anothers(team: Team) -> None:
    """The tools and resources of MCP act for the person of the token."""
    ann, run = await start_run(team, f"ann-{uuid4().hex[:8]}")
    token = await team.create_token(BOB)
    own = httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60)
    calls: dict[str, dict[str, Any]] = {
        "research": {"question": "mine", "corpora": ["ann-notes"], "wait_seconds": 0},
        "code": {"question": "mine", "files": [str(team.settings.home / "access.key")], "wait_seconds": 0},
        "ask": {"run": run, "question": "and then?", "wait_seconds": 0},
        "status": {"run": run},
        "steer": {"run": run, "command": "cancel"},
        "search": {"words": "launch", "corpora": ["ann-notes"]},
        "label": {"run": run, "title": "taken"},
    }
    assert calls.keys() == TOOLS.keys()
    async with own, Client(streamable_http_client(f"{team.origin}/mcp", http_client=own)) as client:
        results = {name: await client.call_tool(name, values) for name, values in calls.items()}
        listed = await client.call_tool("status", {})
        resources = await client.list_resources()

    assert {name for name, result in results.items() if not result.is_error} <= {"search"}
    assert SECRET not in str((results, listed, resources))
    assert run not in str((listed, resources))
    assert (await ann.get(f"/api/v1/runs/{run}")).json()["is_running"]
    assert (await ann.post(f"/api/v1/runs/{run}/steer", json={"name": "cancel"})).status_code == 200


async def test_the_audit_log_says_who_did_what(team: Team) -> None:
    """Starts, commands and refused attempts have person, owner, face and run, and no text of a question."""
    ann, run = await start_run(team, f"ann-{uuid4().hex[:8]}")
    bob = await team.sign_in(BOB)
    await bob.get(f"/runs/{run}/report")
    await ann.post(f"/api/v1/runs/{run}/steer", json={"name": "cancel"})
    lines = [json.loads(line) for line in team.read_audit().splitlines()]
    about = [
        (line["person"], line["owner"], line["face"], line["action"], line["outcome"])
        for line in lines
        if line.get("subject") == run
    ]

    assert (ANN, "ann", "api", "start run", "done") in about
    assert (ANN, "ann", "api", "steer run", "done") in about
    assert (BOB, "bob", "page", "read result", "MissingRun") in about
    assert SECRET not in team.read_audit()
