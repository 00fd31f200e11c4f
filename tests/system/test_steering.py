"""The commands of docs/steering.md, executed as printed, against a run of real processes.

The model server delays a role's answer, so that a signal arrives at a known moment. The real `temporal` command sends
it, and the tests wait only for states.
"""

import json
import re
import shlex
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from tenure.contracts.research.report import RunState
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunProgress
from tests.model_server import ModelServer
from tests.support.homes import Home, modelled_home
from tests.support.report_answers import list_headings
from tests.support.schema_instance import Json
from tests.support.tiers import exhaustive, slow
from tests.support.waiting import WAIT_SECONDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "steering.md").read_text(encoding="utf-8")
TOPICS = ("Costs", "Versions")
DOCUMENT = """\
# Two versions

The first version costs ten coins. The second version costs twelve coins, because its costs include delivery.

The second version of the machine is faster than the first version, and both versions run on water.
"""


def documented(kind: str, name: str, nth: int = 0) -> str:
    """Return the nth command line of the page that sends a signal or a query, without `uv run temporal`."""
    (block,) = re.findall(r"^```sh\n(uv run temporal .*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    lines = [str(line) for line in block.replace("\\\n", " ").splitlines() if re.search(rf"--{kind} {name}\b", line)]
    return lines[nth].removeprefix("uv run temporal ")


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """Model server that plans two topics; an edited section contains its request."""
    with ModelServer() as server:
        server.on("outliner", {"topics": [{"heading": name, "question": f"What of {name}?"} for name in TOPICS]})
        server.on("report_writer", written)
        server.on("report_reviewer", edited)
        yield server


def written(request: Json) -> str:
    """Return a report whose answer and sections have one sentence each."""
    headings = list_headings(request["messages"][-1]["content"])
    sections = (f"## {heading}\n\n{heading}, first version [1]." for heading in headings)
    return "\n\n".join(("# Two versions", "In short, they cost coins [1].", *sections))


def edited(request: Json) -> str:
    """Return a review whose edit of the first section contains the request, and no edit without one."""
    wishes = wishes_in(request)
    return f"REPLACE 2: {TOPICS[0]}, with {wishes.lower()} [1]." if wishes else "DONE"


def wishes_in(request: Json) -> str:
    """Return the feedback texts of the page that a prompt contains."""
    said: str = request["messages"][-1]["content"]
    return " and ".join(wish for wish in ("Say more about costs", "Compare both versions") if wish in said)


@pytest.fixture(scope="module")
def steered(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Home]:
    """A home whose runs are worth every step."""
    with modelled_home(tmp_path_factory.mktemp("steered"), model, TENURE_EFFORT="complex") as made:
        yield made


class Run:
    """A running run, and the page's commands for it."""

    def __init__(self, in_home: Home, run_id: str) -> None:
        self.home, self.id = in_home, run_id

    def signal(self, name: str, nth: int = 0) -> None:
        """Send a signal as the page shows."""
        self._type(documented("name", name, nth))

    def update(self, name: str) -> str:
        """Send an update as the page shows and return the output."""
        return self._type(documented("name", name))

    def query(self, name: str) -> Any:
        """Send a query as the page shows and return the JSON of its reply."""
        printed = self._type(documented("type", name))
        return json.loads(re.sub(r"^\s*QueryResult\s+", "", printed.split("Query result:")[1]).strip())

    def progress(self) -> RunProgress:
        """Return the progress."""
        return RunProgress.model_validate(lists(self.query("progress")))

    def ended(self) -> tuple[int, Result]:
        """Wait for the end; return the exit code of `watch` and the result."""
        watched = self.home.run("watch", self.id, "--json")
        assert watched.stdout, watched.stderr
        return watched.returncode, Result.model_validate_json(watched.stdout)

    def _type(self, command: str) -> str:
        assert "--workflow-id my-run" in command
        return self.home.temporal(shlex.join([self.id if part == "my-run" else part for part in shlex.split(command)]))


def lists(answer: Any) -> Any:
    """Return an answer with the empty lists that the `temporal` command prints as null."""
    if isinstance(answer, dict):
        return {name: lists(value) for name, value in answer.items() if value is not None}
    if isinstance(answer, list):
        return [lists(value) for value in answer]
    return answer


@contextmanager
def run_held_at(role: str, in_home: Home, model: ModelServer, folder: Path) -> Iterator[Run]:
    """Start a run and yield it while a call of a role is in flight; the call is answered after the block."""
    (folder / "versions.md").write_text(DOCUMENT, encoding="utf-8")
    with model.hold(role) as gate:
        started = in_home.json("start", "What do both versions cost?", "--docs", str(folder), "--detach")
        assert gate.arrived.wait(WAIT_SECONDS), f"the run never reached {role}"
        yield Run(in_home, started["id"])


def texts(result: Result) -> dict[str, str]:
    """Return each section's sentences."""
    return {section.topic: " ".join(claim.text for claim in section.claims) for section in result.sections}


async def events(in_home: Home, workflow: str) -> AsyncIterator[HistoryEvent]:
    """Yield a workflow's history, and wait for more events while the workflow runs."""
    client = await Client.connect(f"127.0.0.1:{in_home.settings.temporal_port}")
    async for event in client.get_workflow_handle(workflow).fetch_history_events(wait_new_event=True):
        yield event


async def arrived(signal: str, in_home: Home, workflow: str, times: int = 1) -> None:
    """Wait until a signal was forwarded to a part of the run."""
    async for event in events(in_home, workflow):
        times -= event.workflow_execution_signaled_event_attributes.signal_name == signal
        if not times:
            return


async def rests_after(activity: str, in_home: Home, workflow: str) -> None:
    """Wait until a workflow has processed an activity's result, so that its next commands are in the history."""
    name, done = "", False
    async for event in events(in_home, workflow):
        if event.HasField("activity_task_scheduled_event_attributes"):
            name = event.activity_task_scheduled_event_attributes.activity_type.name
        done = done or (name == activity and event.HasField("activity_task_completed_event_attributes"))
        if done and event.HasField("workflow_task_completed_event_attributes"):
            return


@slow
async def test_feedback_changes_its_section(steered: Home, model: ModelServer, tmp_path: Path) -> None:
    """A plain string and an object both arrive, and the other section stays unchanged."""
    with run_held_at("report_writer", steered, model, tmp_path) as run:
        run.signal("feedback", 0)
        run.signal("feedback", 1)
        await arrived("feedback", steered, f"{run.id}/research", times=2)
        heard = run.progress().feedback
    code, result = run.ended()

    assert [(word.text, word.topic, word.outcome) for word in heard] == [
        ("Say more about costs", None, "received"),
        ("Compare both versions", "Costs", "received"),
    ]
    assert (code, result.status) == (0, "done")
    assert texts(result) == {
        "Costs": "Costs, with say more about costs and compare both versions.",
        "Versions": "Versions, first version.",
    }
    assert [word.outcome for word in result.feedback] == ["Considered in “Costs”."] * 2


@slow
async def test_paused_run_starts_nothing_until_it_is_resumed(steered: Home, model: ModelServer, tmp_path: Path) -> None:
    """Running work ends and is kept, nothing new starts, queries answer; then the run continues to its end."""
    asked = len(model.requests_of("hypothetical_document"))
    with run_held_at("outliner", steered, model, tmp_path) as run:
        run.signal("pause")
        await arrived("update_control", steered, f"{run.id}/research")
        held = run.progress()
    await rests_after("outliner", steered, f"{run.id}/research")
    state = RunState.model_validate(lists(run.query("state")))
    between = len(model.requests_of("hypothetical_document"))
    run.signal("resume")
    code, result = run.ended()

    assert (held.status, held.phase) == ("paused", "outline")
    assert (state.paused, state.progress.status) == (True, "paused")
    assert between == asked
    assert (code, result.status, list(texts(result))) == (0, "done", list(TOPICS))
    assert run.progress().status == "done"


@slow
async def test_finish_delivers_the_report_that_is_being_written(
    steered: Home, model: ModelServer, tmp_path: Path
) -> None:
    """The report is written to its end, and no review follows."""
    asked = len(model.requests_of("report_reviewer"))
    with run_held_at("report_writer", steered, model, tmp_path) as run:
        run.signal("finish")
        await arrived("update_control", steered, f"{run.id}/research")
    code, result = run.ended()

    assert (code, result.status) == (0, "finished_early")
    assert texts(result) == {name: f"{name}, first version." for name in TOPICS}
    assert len(model.requests_of("report_reviewer")) == asked
    assert result.abstract


@exhaustive
def test_finish_ends_a_pause(steered: Home, model: ModelServer, tmp_path: Path) -> None:
    """A paused run that is asked to finish writes its report without a resume."""
    with run_held_at("report_writer", steered, model, tmp_path) as run:
        run.signal("pause")
        run.signal("finish")
    code, result = run.ended()

    assert (code, result.status) == (0, "finished_early")


@exhaustive
def test_cancel_before_anything_is_written_ends_in_a_report(steered: Home, model: ModelServer, tmp_path: Path) -> None:
    """A run cancelled during the routing still delivers a result."""
    with run_held_at("router", steered, model, tmp_path) as run:
        run.signal("cancel")
        code, result = run.ended()

    assert (code, result.status, result.sections) == (1, "cancelled", ())
    assert "Cancelled before anything was written." in result.notes


@slow
def test_cancel_delivers_finished_sections(steered: Home, model: ModelServer, tmp_path: Path) -> None:
    """A run cancelled during its review ends immediately with all that was written and exit code 1."""
    with run_held_at("report_reviewer", steered, model, tmp_path) as run:
        run.signal("cancel")
        code, result = run.ended()

    assert (code, result.status) == (1, "cancelled")
    assert list(texts(result)) == list(TOPICS)
    assert result.abstract.startswith("In short, they cost coins.")
    assert any("cancelled" in decision for decision in result.decisions)


@slow
def test_other_commands_of_the_page_are_applied(steered: Home, model: ModelServer, tmp_path: Path) -> None:
    """Outline and budget are applied, an answer without a question is refused, and the update replies."""
    with run_held_at("router", steered, model, tmp_path) as run:
        for name in ("outline", "budget", "approve", "answer"):
            run.signal(name)
        answer = run.update("steer")
        paused = run.progress()
        run.signal("resume")
    code, result = run.ended()

    assert "No new work starts until it is resumed" in answer
    assert (paused.status, len(paused.refused_signals)) == ("paused", 2)
    assert (code, result.status, list(texts(result))) == (0, "done", ["Costs", "Both versions"])
    assert (result.limits["calls"], result.limits["time"]) == (500, 7200)
    assert set(paused.refused_signals) <= set(result.notes)
