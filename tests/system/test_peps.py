"""A real corpus: Python's enhancement proposals, read with the real embedding model by the real processes.

Fifteen proposals by default; all of them, which takes minutes, with TENURE_SLOW_TESTS=1.
"""

from pathlib import Path

import pytest
from temporalio.client import Client

from tenure.contracts.evidence.corpora import IngestReport
from tenure.contracts.result.result import Result
from tenure.temporal.converter import DATA_CONVERTER
from tests.support.homes import Home, home
from tests.support.tiers import RUN_ALL

PEPS = Path(__file__).resolve().parents[3] / "shared" / "data" / "peps"
QUESTION = "What is proposed for the syntax of f-strings, for build requirements and for TLS?"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not PEPS.is_dir(), reason="the proposals are not on this machine"),
]


def fifteen() -> list[Path]:
    """Return fifteen proposals from 2015 to 2017."""
    return [path for path in sorted(PEPS.glob("pep-*.rst")) if path.name >= "pep-0500"][:15]


@pytest.mark.parametrize(
    "whole",
    [
        pytest.param(False, id="fifteen"),
        pytest.param(
            True,
            id="all",
            marks=pytest.mark.skipif(not RUN_ALL, reason="takes minutes; TENURE_SLOW_TESTS=1 runs it"),
        ),
    ],
)
async def test_proposals_become_a_report_of_many_sources(whole: bool, tmp_path: Path) -> None:
    """The report cites several proposals, and a second run reads nothing again."""
    paths = [PEPS] if whole else fifteen()
    named = [part for path in paths for part in ("--docs", str(path))]
    with home(tmp_path) as fresh:
        first = fresh.run("start", QUESTION, *named, "--id", "first", "--json")
        second = fresh.run("start", QUESTION, *named, "--id", "second", "--json")
        read, again = await ingested(fresh, "first"), await ingested(fresh, "second")
    result = Result.model_validate_json(first.stdout)

    print(f"{read.chunks} chunks of {read.files} files: {read.chunks / read.seconds:.1f} chunks per second")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert (read.files, read.skipped) == (len(list(PEPS.glob("*.*"))) if whole else 15, ())
    assert result.status == "done"
    assert len(result.sources) >= 3
    assert (again.unchanged, again.chunks) == (read.files, 0)


async def ingested(in_home: Home, run: str) -> IngestReport:
    """Return the report of a run's ingestion from the run's history."""
    address = f"127.0.0.1:{in_home.settings.temporal_port}"
    client = await Client.connect(address, data_converter=DATA_CONVERTER)
    scheduled: set[int] = set()
    async for event in client.get_workflow_handle(run).fetch_history_events():
        if event.activity_task_scheduled_event_attributes.activity_type.name == "ingest_corpus":
            scheduled.add(event.event_id)
        completed = event.activity_task_completed_event_attributes
        if completed.scheduled_event_id in scheduled:
            (report,) = await client.data_converter.decode(completed.result.payloads, [IngestReport])
            assert isinstance(report, IngestReport)
            return report
    raise AssertionError(f"run {run} has read nothing")
