"""Test `batch start`: file formats, and continuing an existing batch."""

import io
import json
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.common import Priority

from tenure.cli.commands.batches import follow_batch
from tenure.cli.output import Output
from tenure.contracts.result.batch import BatchItem
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.runs.automation.batches import PlannedBatch, make_batch_id, read_batch, read_batch_report, start_or_continue
from tenure.runs.errors import InvalidRequest
from tenure.runs.service import Service
from tenure.runs.session.run_records import open_run
from tenure.runs.session.server_target import ServerTarget
from tenure.runs.start import PlannedRun
from tenure.settings import Settings
from tenure.temporal.archive.access import export_runs
from tenure.temporal.archive.container import iterate_runs
from tests.conftest import Serving
from tests.support.histories import delete_histories, wait_until_archived
from tests.support.tiers import exhaustive, slow
from tests.support.worlds import KITCHEN, MemoryKnowledge


def written(folder: Path, name: str, text: str) -> Path:
    """Write a file of questions."""
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_question_a_line(tmp_path: Path) -> None:
    """Blank lines are left out, and the keys are the numbers of the lines."""
    items = read_batch(written(tmp_path, "q.txt", "How is bread made?\n\n  And cheese? \n"))

    assert [(item.key, item.question) for item in items] == [("001", "How is bread made?"), ("003", "And cheese?")]


def test_json_lines_carry_budgets(tmp_path: Path) -> None:
    """A line is a question or an object with a question, an id and limits of its own."""
    lines = '"Bread?"\n{"question": "Cheese?", "id": "cheese", "max_cost": 0.5, "deadline": "2m", "max_tokens": 900}\n'
    plain, own = read_batch(written(tmp_path, "q.jsonl", lines))

    assert plain == BatchItem(key="001", question="Bread?")
    assert own == BatchItem(key="cheese", question="Cheese?", max_cost_usd=0.5, max_seconds=120.0, max_tokens=900)


def test_csv_is_read_by_its_heading(tmp_path: Path) -> None:
    """Columns may be in any order, an empty field is no limit, and a field may contain commas and line breaks."""
    rows = 'max_calls,question\n3,"Bread, and\ncheese?"\n,Wine?\n'
    first, second = read_batch(written(tmp_path, "q.csv", rows))

    assert (first.question, first.max_calls) == ("Bread, and\ncheese?", 3)
    assert (second.question, second.max_calls) == ("Wine?", None)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("q.txt", "\n\n", "contains no question"),
        ("q.csv", "ask\nBread?\n", "no column `question`"),
        ("q.csv", "question\nBread?,1\n", "line 2: there are more fields than columns"),
        ("q.jsonl", "{oops\n", "line 1: Expecting"),
        ("q.jsonl", "[1]\n", "line 1: expected an object"),
        ("q.jsonl", '{"question": "a", "id": "x"}\n{"question": "b", "id": "x"}\n', "'x' twice"),
        ("q.jsonl", '{"question": "a", "max_token": 1}\n', "line 1: 'max_token' is not one of deadline, id"),
        ("q.jsonl", '{"question": "a", "max_calls": 0}\n', "line 1: max_calls: input should be"),
        ("q.jsonl", '{"question": "a", "id": "a b"}\n', "line 1: id: string should match"),
        ("q.jsonl", '{"question": "a", "deadline": "soon"}\n', "line 1: deadline must be a length of time"),
        ("q.jsonl", '{"id": "a"}\n', "line 1: question: field required"),
        ("q.txt", "why? " * 3000 + "\n" + ("what? " * 3000 + "\n") * 12, "too long for one batch, 13 questions"),
    ],
)
def test_a_file_that_cannot_be_understood_is_refused(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    """Before anything starts, one line says which line is wrong and why."""
    with pytest.raises(InvalidRequest, match="(?s)" + complaint):
        read_batch(written(tmp_path, name, text))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """A missing file and a binary file are usage errors."""
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")

    for name in ("nowhere.txt", "bytes.txt"):
        with pytest.raises(InvalidRequest, match="cannot be read"):
            read_batch(tmp_path / name)


def test_the_same_questions_have_the_same_name(tmp_path: Path) -> None:
    """The name of a batch follows from what is asked, so that the same command finds it again."""
    one = written(tmp_path, "My questions.txt", "Bread?\n")
    first, again = (make_batch_id(one.stem, read_batch(one)) for _ in range(2))
    other = make_batch_id(one.stem, read_batch(written(tmp_path, "My questions.txt", "Cheese?\n")))

    assert first == again != other
    assert first.startswith("batch-my-questions-")


async def run_batch(service: Service, planned: PlannedBatch) -> int:
    """Start or continue a batch, and follow it as the command does."""
    batch, _ = await start_or_continue(service, planned)
    return await follow_batch(service, batch, Output(json=True))


@exhaustive
async def test_a_batch_that_is_over_is_asked_for_what_failed(
    serving: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same command asks again what has no report, and repeats the summary of what has one."""
    chosen = f"test-batch-{uuid4().hex[:8]}"
    items = tuple(BatchItem(key=key, question=f"How is {key} made?") for key in ("bread", "cheese"))
    shared = RunRequest(
        question="?",
        corpora=("kitchen",),
        limits=RunLimits(min_relevance=0.05, max_sections=1, max_cycles=1, max_report_revisions=0),
    )
    wanted = PlannedBatch(PlannedRun(chosen, True, shared, Priority(), ()), items, 2)
    place = ServerTarget(Settings(_env_file=None), "", "default", False, "")
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        service = Service(place, stage.client)
        codes = [await run_batch(service, replace(wanted, items=items[:1]))]
        codes += [await run_batch(service, wanted) for _ in range(2)]

    printed = capsys.readouterr().out
    decoder, documents = json.JSONDecoder(), []
    while printed.strip():
        document, end = decoder.raw_decode(printed.lstrip())
        documents.append(document)
        printed = printed.lstrip()[end:]
    assert codes == [0, 0, 0]
    assert [[one["status"] for one in document["outcomes"]] for document in documents] == [["done"]] + [
        ["done"] * 2
    ] * 2
    assert documents[1] == documents[2]


@slow
async def test_an_archived_batch_is_shown_exported_and_continued(
    serving: Serving, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without its history the summary stays, the file has the runs as well, and only new questions are asked."""
    chosen = f"test-batch-{uuid4().hex[:8]}"
    items = tuple(BatchItem(key=key, question=f"Quantum {key}dynamics?") for key in ("chromo", "flavour"))
    shared = RunRequest(question="?", corpora=("kitchen",), limits=RunLimits(min_relevance=0.05))
    wanted = PlannedBatch(PlannedRun(chosen, True, shared, Priority(), ()), items, 1)
    place = ServerTarget(Settings(_env_file=None, lancedb_uri=str(tmp_path / "archive")), "", "default", False, "")
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        service = Service(place, stage.client)
        await run_batch(service, replace(wanted, items=items[:1]))
        first = json.loads(capsys.readouterr().out)
        await wait_until_archived(stage.client)
        for name in (chosen, f"{chosen}-chromo"):
            await delete_histories(stage.client, name)
        record = await open_run(service, chosen)
        shown = (await read_batch_report(service, record)).model_dump(mode="json")
        exported = export_runs(place.settings, chosen)
        await run_batch(service, wanted)
        second = json.loads(capsys.readouterr().out)
        repeated = [one.id async for one in stage.client.list_workflows(f"WorkflowId STARTS_WITH '{chosen}-'")]

    assert (record.is_archived, {"id": chosen, **shown}) == (True, first)
    assert exported and {run.description.id for run in iterate_runs(io.BytesIO(exported))} == {
        chosen,
        f"{chosen}-chromo",
    }
    assert [one["status"] for one in second["outcomes"]] == ["no_evidence", "no_evidence"]
    assert not [name for name in repeated if name.startswith(f"{chosen}-chromo")]
