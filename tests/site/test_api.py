"""Test the API and the forms of the page over real HTTP, against a real Temporal server and a stub worker."""

import json
from pathlib import Path
from typing import Any

import httpx

from tenure.temporal.connection import connect
from tests.cli.stub_worker import DRAFT
from tests.site.conftest import Site
from tests.support.tiers import slow


async def read_events(client: httpx.AsyncClient, run: str) -> list[tuple[str, Any]]:
    """Return the events of a run until the stream ends."""
    events: list[tuple[str, Any]] = []
    name = ""
    async with client.stream("GET", f"/api/v1/runs/{run}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        async for line in stream.aiter_lines():
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                events.append((name, json.loads(value)))
    return events


@slow
async def test_a_run_is_started_followed_steered_and_read(site: Site) -> None:
    """A run waits, takes feedback, finishes on command, and its report is read in every text format."""
    async with site.client() as client:
        started = await client.post("/api/v1/runs", json={"question": "wait for me", "id": "site-1"})
        again = await client.post("/api/v1/runs", json={"question": "other", "id": "site-1"})
        early = await client.get("/api/v1/runs/site-1/report")
        waiting = await client.get("/api/v1/runs/site-1")
        told = await client.post(
            "/api/v1/runs/site-1/steer", json={"name": "feedback", "text": "more", "topic": "Only topic"}
        )
        refused = await client.post("/api/v1/runs/site-1/steer", json={"name": "feedback", "text": "nonsense"})
        finished = await client.post("/api/v1/runs/site-1/steer", json={"name": "finish"})
        events = await read_events(client, "site-1")
        reports = {
            kind: await client.get(f"/api/v1/runs/site-1/report?format={kind}") for kind in ("json", "md", "html")
        }
        late = await client.post("/api/v1/runs/site-1/steer", json={"name": "pause"})

    assert (started.status_code, started.json()["id"]) == (201, "site-1")
    assert again.status_code == 422
    assert "is in use" in again.json()["error"]
    assert early.status_code == 409
    assert waiting.json()["progress"]["topics"][0]["topic"] == "Only topic"
    assert told.json() == {"effect": "The stub heard feedback."}
    assert (refused.status_code, "no nonsense" in refused.json()["error"]) == (409, True)
    assert finished.status_code == 200
    assert [name for name, _ in events][-2:] == ["state", "end"]
    assert events[-2][1]["status"] == "finished_early"
    assert reports["json"].json()["feedback"][0]["text"] == "more"
    assert reports["md"].text.startswith("# A stub report")
    assert reports["html"].headers["content-disposition"] == 'attachment; filename="wait-for-me.html"'
    assert late.status_code == 409


@slow
async def test_a_report_is_read_while_it_is_written(site: Site) -> None:
    """The text of a report is in the state, in the events and on the page of its run, until the run ends."""
    async with site.client() as client:
        await client.post("/api/v1/runs", json={"question": "scribble please", "id": "site-scribble"})
        drafts = []
        async with client.stream("GET", "/api/v1/runs/site-scribble/events") as stream:
            async for line in stream.aiter_lines():
                drafts += [json.loads(line.removeprefix("data: "))["draft"]] if line.startswith("data: ") else []
                if drafts and drafts[-1]:
                    break
        page = (await client.get("/runs/site-scribble/live")).text
        handle = (await connect(site.place.settings)).get_workflow_handle("site-scribble")
        await handle.terminate()
        ended = (await client.get("/api/v1/runs/site-scribble")).json()
        later = (await client.get("/runs/site-scribble/live")).text

    assert drafts[-1] == DRAFT
    assert '<h3 dir="auto">Rye rises for two hours [1]</h3>' in page
    assert (ended["draft"], "Draft" in later) == ("", False)


@slow
async def test_runs_are_listed_asked_and_compared(site: Site) -> None:
    """A finished run is found by words of its question, answers questions, and is compared with another."""
    async with site.client() as client:
        for name in ("site-2", "site-3"):
            await client.post("/api/v1/runs", json={"question": f"cycles of {name}", "id": name})
            assert (await read_events(client, name))[-1][0] == "end"
        listed = (await client.get("/api/v1/runs", params={"words": "CYCLES site-2"})).json()["runs"]
        asked = await client.post("/api/v1/runs/site-2/questions", json={"question": "And then?"})
        state = (await client.get("/api/v1/runs/site-2/state")).json()
        compared = (await client.get("/api/v1/diff", params={"a": "site-2", "b": "site-3"})).json()
        forked = await client.post("/api/v1/runs/site-2/forks", json={"cycle": 1, "feedback": "deeper", "id": "site-4"})
        absent = await client.post("/api/v1/runs/site-2/forks", json={"cycle": 9})
        await read_events(client, "site-4")
        report = (await client.get("/api/v1/runs/site-4/report")).json()

    assert [run["id"] for run in listed] == ["site-2"]
    assert asked.json()["id"] == "site-2/ask"
    assert state["progress"]["id"] == "site-2"
    assert (compared["a"]["id"], compared["b"]["id"]) == ("site-2", "site-3")
    assert forked.status_code == 201
    assert report["decisions"] == ["from site-2, cycle 1, told deeper"]
    assert (absent.status_code, "has no cycle 9" in absent.json()["error"]) == (422, True)


@slow
async def test_a_run_is_named_found_repeated_and_deleted(site: Site) -> None:
    """A run is found by its title and its tags, asked again with changes, and is gone after its deletion."""
    headers = {"origin": site.origin}
    async with site.client() as client:
        await client.post("/api/v1/runs", json={"question": "What is named?", "id": "site-named", "max_sections": 3})
        await read_events(client, "site-named")
        label = {"title": "On <names>", "tags": ["letters"]}
        named = (await client.put("/api/v1/runs/site-named/label", json=label)).json()
        wrong = await client.put("/api/v1/runs/site-named/label", json={"tags": ["two words"]})
        absent = await client.put("/api/v1/runs/none/label", json=label)
        found = [
            (await client.get("/api/v1/runs", params={"words": words})).json()["runs"]
            for words in ("#letters <names>", "#lett", "#names")
        ]
        page = (await client.get("/", params={"q": "#letters"})).text
        form = {"title": "", "tags": "#letters more"}
        saved = await client.post("/runs/site-named/label", data=form, headers=headers)
        again = await client.post("/api/v1/runs/site-named/again", json={"question": "What else?", "effort": "simple"})
        copied = again.json()["id"]
        await read_events(client, copied)
        result = (await client.get(f"/api/v1/runs/{copied}/report")).json()
        renamed = (await client.get("/api/v1/runs", params={"words": "site-named"})).json()["runs"]
        gone = await client.delete("/api/v1/runs/site-named")
        after = [await client.get(path) for path in ("/api/v1/runs/site-named", "/runs/site-named/report")]
        left = (await client.get("/api/v1/runs", params={"words": "#letters"})).json()["runs"]

    assert (named, wrong.status_code, absent.status_code) == (label, 422, 404)
    assert [[run["id"] for run in runs] for runs in found] == [["site-named"], ["site-named"], []]
    assert "On &lt;names&gt;" in page and 'href="/?q=%23letters"' in page
    assert (saved.status_code, renamed[0]["label"]) == (303, {"title": "", "tags": ["letters", "more"]})
    assert (result["question"], "sections: 3" in result["notes"]) == ("What else?", True)
    assert gone.json() == {"workflows": ["site-named"]}
    assert [answer.status_code for answer in after] == [404, 404] and left == []


@slow
async def test_wrong_requests_are_explained(site: Site) -> None:
    """Unknown runs are 404, and what does not fit is 422 with the field and the reason."""
    async with site.client() as client:
        unknown = [
            await client.get(f"/api/v1/runs/none{path}") for path in ("", "/state", "/trace", "/events", "/report")
        ]
        bad: list[tuple[dict[str, Any], str]] = [
            ({}, "question"),
            ({"question": " "}, "question"),
            ({"question": "Why?", "max_sections": 13}, "max_sections"),
            ({"question": "Why?", "colour": "red"}, "colour"),
            ({"question": "Why?", "docs": ["notes.txt"]}, "absolute path"),
            ({"question": "Why?", "docs": ["/no/such/file"]}, "does not exist"),
            ({"question": "Why?", "corpora": ["absent"]}, "absent"),
        ]
        refused = [(await client.post("/api/v1/runs", json=body), words) for body, words in bad]
        page = await client.get("/runs/none")

    assert {answer.status_code for answer in unknown} == {404}
    for answer, words in refused:
        assert answer.status_code == 422
        assert words in answer.json()["error"]
    assert page.status_code == 404
    assert "there is no run none" in page.text


@slow
async def test_forms_start_and_steer_runs(site: Site) -> None:
    """The forms of the page do what the API does, and pages escape what people write."""
    headers = {"origin": site.origin}
    async with site.client() as client:
        started = await client.post("/runs", data={"question": "wait <script>x</script>"}, headers=headers)
        path = started.headers["location"]
        shown = await client.get(path)
        steered = await client.post(f"{path}/steer", data={"command": "finish"}, headers=headers)
        refused = await client.post(f"{path}/steer", data={"command": "explode"}, headers=headers)
        pages = [await client.get(one) for one in ("/", "/corpora", "/memories", "/diff", f"{path}/fork")]

    assert started.status_code == 303
    assert "<script>x" not in shown.text
    assert "&lt;script&gt;x" in shown.text
    assert (steered.status_code, "effect=" in steered.headers["location"]) == (303, True)
    assert refused.status_code == 422
    assert {page.status_code for page in pages} == {200}


@slow
async def test_corpora_are_searched(site: Site) -> None:
    """A search returns passages with their sources, and explains wrong limits."""
    async with site.client() as client:
        found = await client.post("/api/v1/corpora/search", json={"words": "rye", "search_mode": "dense", "limit": 2})
        wrong = await client.post("/api/v1/corpora/search", json={"words": "rye", "limit": 99})

    assert found.json()["passages"][0]["text"] == "rye in shelf, dense, at most 2"
    assert (wrong.status_code, "limit" in wrong.json()["error"]) == (422, True)


@slow
async def test_programs_are_started_with_files_and_tests(site: Site, tmp_path: Path) -> None:
    """A request may name files and tests of a program, and the state of the run has its times."""
    for name in ("median.py", "test_median.py"):
        (tmp_path / name).write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    body = {
        "question": "Repair median.py",
        "id": "site-code",
        "files": [str(tmp_path / "median.py")],
        "tests": [str(tmp_path / "test_median.py")],
    }
    async with site.client() as client:
        started = await client.post("/api/v1/runs", json=body)
        missing = await client.post("/api/v1/runs", json=body | {"files": ["/no/such/file.py"]})
        await read_events(client, "site-code")
        details = (await client.get("/api/v1/runs/site-code")).json()

    assert started.status_code == 201
    assert (missing.status_code, "/no/such/file.py" in missing.json()["error"]) == (422, True)
    assert details["started"] < details["ended"] <= details["seen"]
