"""Test a whole coding run whose answers were recorded: tests, a program with a mistake, its reflection, the repair."""

from collections import Counter
from pathlib import Path

from tenure.contracts.result.result import Result
from tests.model_server import ModelServer, Recording
from tests.support.homes import modelled_home
from tests.support.tiers import slow

pytestmark = slow

RECORDINGS = Path(__file__).resolve().parent / "recordings"
REQUEST = (
    "Write closures.py: a function merge_logs(*texts) that reads log texts in two formats, one range a line "
    '("2026-03-01 08:00 - 09:30", where an end before the start is on the next day, and '
    '"2026-03-01T09:10/PT1H45M"), skips blank lines and comments, and returns the merged, sorted ranges as '
    "(start, end) datetimes; ranges that overlap or touch become one. A malformed line raises ValueError that names "
    "the line number. As a script it takes file names, prints each merged range and the total minutes. Run it on "
    "gate_log.txt and pump_log.txt."
)
LOGS = [str(RECORDINGS / "closure_logs" / name) for name in ("gate_log.txt", "pump_log.txt")]


def test_a_recorded_program_is_tested_repaired_and_run(tmp_path: Path) -> None:
    """The first program fails the test of a range inside another; the second passes all and is run on the files."""
    recording = Recording.load(RECORDINGS / "closure_logs.jsonl")
    with ModelServer(recording=recording) as model, modelled_home(tmp_path, model) as home:
        done = home.run("start", REQUEST, "--files", *LOGS, "--no-memory", "--json")
        assert done.returncode == 0, done.stderr
    result = Result.model_validate_json(done.stdout)

    assert (result.status, result.title) == (
        "done",
        "closures.py: a function merge_logs(*texts) that reads log texts in two formats",
    )
    first, second = result.attempts
    assert [failure.test for failure in first.failures] == [
        "test_closures.py::test_a_range_inside_another_does_not_shorten_it"
    ]
    assert first.reflection and "max(merged[-1][1], end)" in first.reflection.change
    assert (second.passed, second.total, second.error) == (16, 16, None)
    assert second.command == "python closures.py gate_log.txt pump_log.txt"
    assert second.stdout.splitlines()[-1] == "total: 435 minutes"
    assert not Counter(match.kind for match in recording.matches)["none"], recording.matches
