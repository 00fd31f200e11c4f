"""Test the live view: its order, its commands, and that it fits windows of all sizes."""

from dataclasses import replace

import pytest

from tenure.contracts.evidence.corpora import IngestProgress
from tenure.contracts.run.control import InputRequest
from tenure.contracts.run.run import RunProgress, StepProgress, TopicProgress, Usage
from tenure.installation import PROGRAM
from tenure.runs.session.snapshot import PendingFailure, RunSnapshot, StreamedAnswer
from tests.cli.progress.samples import WRITING, draw

ASKED = InputRequest(
    reporter="r/research",
    number=1,
    kind="clarification",
    text="Which of the many periods that the documents name is meant? " * 3,
    assumption="the longest one",
    deadline="2026-01-01T00:00:00",
)

CROWDED = RunSnapshot(
    WRITING.model_copy(
        update={
            "phase": "research",
            "status": "waiting",
            "cycle": 12,
            "topics": tuple(
                TopicProgress(
                    topic=f"Topic {n} with a heading that is far too long for a narrow window of a terminal",
                    phase="done" if n < 10 else "no_evidence",
                    claims=100 + n,
                    sources=20,
                    coverage=n / 20,
                )
                for n in range(20)
            ),
            "steps": tuple(StepProgress(id=f"s{n}", query="a query " * 12) for n in range(8)),
            "usage": Usage(
                calls=1234, critical_path=321, tokens_in=12_345_678, tokens_out=1_234_567, searches=432, cost_usd=12.5
            ),
            "budget": ("13,580,245 of 20,000,000 tokens", "12.5000 of 20 USD", "1,234 of 2,000 model calls"),
            "input_request": ASKED,
        }
    ),
    IngestProgress(stage="reading", files_done=3, files_total=12, chunks=40, last_file="/a/" + "b" * 90 + ".md"),
    seconds=4321,
    pending_failures=tuple(PendingFailure(f"retrying role_{n}: " + "busy " * 40, 5, 30.0) for n in range(6)),
    streamed_answers=tuple(StreamedAnswer(f"writing “{'Section ' * 8}{n}”", 1000) for n in range(5)),
    chunks_to_embed=3_800,
    speed="1.5 files/s, 0:06 left",
)
"""A run with something to show in every part of the view."""


def test_live_table_shows_topics_and_figures() -> None:
    """The table has a row for each topic with its state, claims, sources and coverage."""
    text = draw(RunSnapshot(WRITING, seconds=75))

    row = next(line for line in text.splitlines() if "Causes" in line)
    assert "writing sections (revision 1)" in text
    assert "1:15" in text
    assert row.split()[1:4] == ["done", "7", "3"]
    assert "75%" in row
    assert "1,500 + 250 tokens · 12 calls · 4 searches" in text


def test_markup_in_a_topic_is_text() -> None:
    """A heading from a document cannot style the terminal."""
    assert "[bold]Effects" in draw(RunSnapshot(WRITING))


def test_the_critical_path_is_shown() -> None:
    """The number of calls has the longest chain of model answers with it."""
    usage = Usage(calls=12, critical_path=5, tokens_in=1500, tokens_out=250)

    assert "12 calls (5 in a row)" in draw(RunSnapshot(WRITING.model_copy(update={"usage": usage})))


def test_run_without_a_model_is_called_offline() -> None:
    """Without tokens the table says "offline" instead of zero."""
    assert "offline · 0 calls" in draw(RunSnapshot(WRITING.model_copy(update={"usage": Usage()})))


def test_a_program_is_not_called_a_report() -> None:
    """The same phase has other words where a program is written."""
    text = draw(RunSnapshot(WRITING.model_copy(update={"phase": "refine", "mode": "CODE", "tests": 3})))

    assert "writing the next version, 0 of 3 tests passed (generation 1)" in text


def test_ingestion_has_a_bar() -> None:
    """Reading documents shows how many of them are done, also before the run answers."""
    text = draw(
        RunSnapshot(None, IngestProgress(stage="reading", files_done=3, files_total=12, chunks=40, last_file="/a/b.md"))
    )

    assert "reading the documents" in text
    assert "reading: 3 of 12 files, 40 chunks, b.md" in text


def test_pending_failures_are_shown_in_the_table() -> None:
    """Failures that block the run are in the panel, with the time of the next attempt."""
    busy = PendingFailure("retrying report_writer: busy", attempt=3, wait=4.2)

    text = draw(RunSnapshot(WRITING, pending_failures=(busy,)))
    assert "retrying report_writer: busy (attempt 3, next try in 4 s)" in text
    assert "blocked by failures" in draw(RunSnapshot(None, pending_failures=(busy,)))


def test_an_answer_that_comes_in_is_shown() -> None:
    """Every answer under way has a line in the table with its tokens, below the topics."""
    text = draw(
        RunSnapshot(
            WRITING,
            streamed_answers=(StreamedAnswer("writing “[bold]Effects”", 1312), StreamedAnswer("writing “B”", 1)),
        )
    )

    assert "writing “[bold]Effects”: 1,312 tokens" in text
    assert "writing “B”: 1 token" in text
    assert text.index("1,500 + 250 tokens") < text.index("Causes") < text.index("writing “[bold]Effects”")


@pytest.mark.parametrize("height", [12, 16, 40])
def test_the_end_of_a_draft_fills_the_room(height: int) -> None:
    """The last lines of a report that is being written are below its tokens, wrapped, and precede the events."""
    text = "# Title [1]\n\n" + " ".join(f"word{n}" for n in range(60)) + " [2].\n\n## Causes\n\nThe end [3]"
    snapshot = RunSnapshot(WRITING, streamed_answers=(StreamedAnswer("writing the report", 312, text),))
    lines = [line.rstrip() for line in draw(snapshot, 60, height, ("an event",)).splitlines()]
    events = int(height == 40)
    drawn = lines[lines.index("writing the report: 312 tokens") + 1 : len(lines) - events]

    assert drawn[-5:] == ["word58 word59 [2].", "", "Causes", "", "The end [3]"] or height == 12
    assert drawn[-1] == "The end [3]"
    assert ("Title [1]" in drawn) == (lines[-1] == "an event") == bool(events)
    assert len(lines) == height - 2 or events


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 50), (40, 12), (20, 3)])
def test_the_view_fits_the_window(width: int, height: int) -> None:
    """No line is longer than the window, and the view leaves room below it, however much there is to say."""
    written = (StreamedAnswer("writing the report", 1000, "a word " * 500 + "\n" * 99),)
    for snapshot in (CROWDED, replace(CROWDED, streamed_answers=written)):
        lines = draw(snapshot, width, height, tuple(f"event {n} " * 20 for n in range(30))).splitlines()

        assert max(map(len, lines)) <= width
        assert len(lines) <= max(height - 2, 1)


def test_what_matters_comes_first_in_a_small_window() -> None:
    """In 80 × 24 the phase, the question with its command, the coverage and the limits precede all details."""
    lines = draw(CROWDED, 80, 24).splitlines()
    text = "\n".join(lines)

    assert "47% covered" in lines[0] and "1:12:01" in lines[0]
    assert f'{PROGRAM} answer r "TEXT"' in text
    assert "default at 2026-01-01 00:00 UTC: the longest one" in text
    assert "25% · 1.5 files/s, 0:06 left · reading: 3 of 12 files" in text
    assert "13,580,245 of 20,000,000 tokens · 12.5000 of 20 USD" in text
    assert text.index("answer r") < text.index("12.5000 of 20 USD") < text.index("topic ")
    assert f"{PROGRAM} doctor" in text


def test_topics_have_all_columns_in_a_small_window() -> None:
    """A long heading is shortened, and the figures of its topic stay."""
    row = next(line for line in draw(CROWDED, 80, 40).splitlines() if line.startswith("Topic 19"))

    assert "…" in row
    assert row.split()[-5:-3] == ["no", "evidence"] or "no evidence" in row
    assert "119" in row and row.rstrip().endswith("95%")


def test_unfinished_topics_have_precedence() -> None:
    """If there is no room for all topics, the finished ones are only counted."""
    progress = CROWDED.progress
    assert progress is not None
    text = draw(RunSnapshot(progress.model_copy(update={"input_request": None, "status": "running"})), 80, 18)

    assert "Topic 10 " in text and "Topic 0 " not in text
    assert "… and 10 more" in text


def test_events_use_the_room_that_is_left() -> None:
    """A tall window has the latest events below everything else, and a low one the newest that fit."""
    events = tuple(f"0:0{n} event {n}" for n in range(9))
    low, tall = (draw(RunSnapshot(WRITING), 80, height, events) for height in (10, 50))

    assert [line.rstrip() for line in tall.splitlines()[-9:]] == list(events)
    assert low.splitlines()[-1].rstrip() == events[-1]
    assert events[0] not in low


@pytest.mark.parametrize(
    ("changes", "command"),
    [
        ({"status": "paused"}, f"{PROGRAM} resume r"),
        ({"input_request": ASKED}, f'{PROGRAM} answer r "TEXT"'),
        ({"input_request": ASKED.model_copy(update={"kind": "plan"})}, f"{PROGRAM} approve r"),
        ({"input_request": ASKED.model_copy(update={"kind": "plan"})}, f"{PROGRAM} outline r --set FILE"),
    ],
)
def test_a_waiting_run_names_the_command_that_continues_it(changes: dict[str, object], command: str) -> None:
    """Whatever a run waits for, the exact command is in a line of its own."""
    progress: RunProgress = WRITING.model_copy(update=changes)

    assert f"  {command}" in [line.rstrip() for line in draw(RunSnapshot(progress), 80, 24).splitlines()]
