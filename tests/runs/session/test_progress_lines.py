"""Test the lines that describe progress."""

import itertools
from dataclasses import replace

from tenure.contracts.base import RunId
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.contracts.run.control import InputRequest
from tenure.contracts.run.run import FeedbackRecord, RunProgress, StepProgress, TopicProgress, Usage
from tenure.installation import PROGRAM
from tenure.runs.session.progress_lines import iterate_changes
from tenure.runs.session.snapshot import PendingFailure, RunningSetup, RunSnapshot, StreamedAnswer
from tests.cli.progress.samples import WRITING, draw


def test_embedding_has_a_bar_of_its_own() -> None:
    """While embeddings are computed their number is shown, in at most ten lines of a log."""
    steps = [
        RunSnapshot(None, IngestProgress(stage="embedding", embedded=n, to_embed=1000)) for n in range(0, 1001, 10)
    ]
    lines = [
        line for before, now in itertools.pairwise([RunSnapshot(), *steps]) for line in iterate_changes(before, now)
    ]

    assert "embedding: 250 of 1,000 chunks" in draw(steps[25])
    assert lines[0] == "embedding: 0 of 1,000 chunks"
    assert len(lines) == 11


def test_embedding_in_the_background_is_one_line() -> None:
    """The live view has the present number of chunks, a log the first one, and a verbose log every one."""
    steps = [RunSnapshot(WRITING, chunks_to_embed=left) for left in (3_800, 1, 0)]
    before = RunSnapshot(WRITING)
    lines, verbose = (
        [line for old, now in itertools.pairwise([before, *steps]) for line in iterate_changes(old, now, verbose=all)]
        for all in (False, True)
    )

    assert lines == ["embedding in the background: 3,800 chunks left, found by words only"]
    assert verbose == [*lines, "embedding in the background: 1 chunk left, found by words only"]
    assert [line.strip() for line in draw(steps[0]).splitlines()[1:2]] == lines
    assert "embedding" not in draw(steps[2])


def test_looking_for_documents_counts_nothing_yet() -> None:
    """Before the documents are counted no figures are shown, and an empty folder is called empty once."""
    none = [RunSnapshot(None, IngestProgress(stage=stage)) for stage in ("scanning", "reading", "indexing", "done")]
    full = IngestProgress(stage="done", files_done=1, files_total=1, chunks=1, last_file="/a/b.md")

    lines = [
        line for before, now in itertools.pairwise([RunSnapshot(), *none]) for line in iterate_changes(before, now)
    ]
    assert lines == ["looking for documents", "found no documents"]
    assert list(iterate_changes(none[0], RunSnapshot(None, full))) == ["read 1 file, 1 chunk"]


def test_one_thing_is_singular_and_a_later_round_is_named() -> None:
    """Figures read as English, and the same state in a second round is another line."""
    done = TopicProgress(topic="A", phase="done", claims=1, sources=1, coverage=0.5)
    review = TopicProgress(topic="B", phase="reviewing", round=1)
    now = WRITING.model_copy(update={"topics": (done, review), "last": ""})

    assert list(iterate_changes(RunSnapshot(WRITING), RunSnapshot(now))) == [
        "A: done (1 claim, 1 source, coverage 50%)",
        "B: reviewing, round 2",
    ]
    assert "1 call · 2 searches" in draw(RunSnapshot(WRITING.model_copy(update={"usage": Usage(calls=1, searches=2)})))


def test_trouble_makes_few_lines() -> None:
    """A hundred attempts make a line per doubling, another reason one more, and the end of it one."""
    tries = [RunSnapshot(pending_failures=(PendingFailure("retrying a: busy", attempt),)) for attempt in range(2, 101)]
    other = RunSnapshot(pending_failures=(PendingFailure("retrying a: refused", 101),))
    steps = [RunSnapshot(), *tries, other, RunSnapshot(), RunSnapshot()]
    lines = [line for before, now in itertools.pairwise(steps) for line in iterate_changes(before, now)]

    assert [line.split("attempt ")[-1] for line in lines[:-2]] == ["2)", "4)", "8)", "16)", "32)", "64)"]
    assert lines[-2:] == ["retrying a: refused (attempt 101)", "recovered"]


def test_waiting_is_said() -> None:
    """Before anybody answers, the table says what is waited for; a worker that is on its way is named once."""
    starting = RunSnapshot(starting=True)

    assert "waiting for a worker" in draw(RunSnapshot())
    assert "the worker is starting" in draw(starting)
    assert list(iterate_changes(RunSnapshot(), starting)) == ["the worker is starting"]
    assert list(iterate_changes(starting, starting)) == []


def test_an_answer_that_comes_in_makes_few_lines() -> None:
    """A thousand tokens make a line for their beginning and one for every doubling."""
    steps = [
        RunSnapshot(),
        *(RunSnapshot(streamed_answers=(StreamedAnswer("writing “B”", tokens),)) for tokens in range(1, 1100)),
    ]
    lines = [line for before, now in itertools.pairwise(steps) for line in iterate_changes(before, now)]

    assert [line.split(": ")[1] for line in lines] == ["1 token", "256 tokens", "512 tokens", "1,024 tokens"]


def test_a_set_up_that_hangs_makes_few_lines() -> None:
    """Its start is said with the longest time, and every doubling of its minutes."""
    steps = [RunSnapshot(), *(RunSnapshot(setups=(RunningSetup("make all", at, 1800.0),)) for at in range(1, 1800))]
    lines = [line for before, now in itertools.pairwise(steps) for line in iterate_changes(before, now)]

    assert lines[0] == "the set-up runs, 0:01 of at most 30:00: make all"
    assert [line.split()[3] for line in lines] == ["0:01", "1:00", "2:00", "4:00", "8:00", "16:00"]
    assert lines[0] in draw(replace(steps[1], progress=WRITING))


def test_plain_lines_come_once_per_change() -> None:
    """The same snapshot twice says nothing the second time; a change says one line."""
    before = RunSnapshot(WRITING)
    after = RunSnapshot(
        WRITING.model_copy(
            update={
                "topics": (WRITING.topics[0], WRITING.topics[1].model_copy(update={"phase": "done", "claims": 2})),
                "feedback": (FeedbackRecord(text="be brief", at="2026-01-01T00:00:00Z"),),
            }
        )
    )

    assert list(iterate_changes(before, before)) == []
    assert list(iterate_changes(before, after)) == [
        "[bold]Effects: done (2 claims, 0 sources, coverage 0%)",
        "feedback received: be brief",
    ]


def test_long_ingestion_makes_ten_lines() -> None:
    """A thousand files do not make a thousand lines in a log."""
    steps = [RunSnapshot(None, IngestProgress(stage="reading", files_done=n, files_total=1000)) for n in range(1000)]
    lines = [line for before, now in itertools.pairwise(steps) for line in iterate_changes(before, now)]

    assert len(lines) == 9


def test_paused_and_ended_runs_are_named() -> None:
    """A status other than running is what the headline says."""
    paused = WRITING.model_copy(update={"status": "paused"})
    early = WRITING.model_copy(update={"status": "finished_early", "revision": 0})

    assert f"paused while writing sections (revision 1) (`{PROGRAM} resume r` continues it)" in list(
        iterate_changes(RunSnapshot(), RunSnapshot(paused))
    )
    assert "finished early" in list(iterate_changes(RunSnapshot(), RunSnapshot(early)))


RESEARCHING = RunProgress(
    id=RunId("r"),
    question="Why?",
    phase="research",
    cycle=1,
    topics=(TopicProgress(topic="Causes", phase="retrieving"), TopicProgress(topic="Effects", phase="retrieving")),
    last="planning what to look for",
)


def test_research_shows_its_cycle_and_how_far_the_topics_are_covered() -> None:
    """A cycle has one headline, and one line for the coverage of all topics whenever it has changed."""
    covered = tuple(topic.model_copy(update={"coverage": 0.5, "sources": 2}) for topic in RESEARCHING.topics)
    found = RESEARCHING.model_copy(update={"topics": covered, "last": "cycle 1 brought 4 new passages"})
    second = found.model_copy(update={"cycle": 2, "last": "planning what to look for"})

    assert list(iterate_changes(RunSnapshot(), RunSnapshot(RESEARCHING))) == [
        "researching, cycle 1",
        "covered: Causes 0% · Effects 0%",
        "planning what to look for",
    ]
    assert list(iterate_changes(RunSnapshot(RESEARCHING), RunSnapshot(found))) == [
        "covered: Causes 50% · Effects 50%",
        "cycle 1 brought 4 new passages",
    ]
    assert list(iterate_changes(RunSnapshot(found), RunSnapshot(second))) == [
        "researching, cycle 2",
        "planning what to look for",
    ]
    assert "researching, cycle 1" in draw(RunSnapshot(found))
    assert "50%" in draw(RunSnapshot(found))


def test_a_topic_that_waits_for_its_turn_is_no_news() -> None:
    """Between research and writing the topics wait, which needs no line."""
    waiting = (TopicProgress(topic="Causes"), TopicProgress(topic="Effects"))
    writing = RESEARCHING.model_copy(update={"phase": "write", "revision": 1, "topics": waiting, "last": ""})

    assert list(iterate_changes(RunSnapshot(RESEARCHING), RunSnapshot(writing))) == ["writing sections (revision 1)"]


def test_a_question_is_shown_once() -> None:
    """The question is in one line of a log, with the command that answers it."""
    question = InputRequest(
        reporter="r/research",
        number=1,
        kind="plan",
        text="Is this right?",
        assumption="it is",
        deadline="2026-01-01T00:00:00",
    )
    waiting = WRITING.model_copy(update={"status": "waiting", "input_request": question})
    asked = RunSnapshot(
        waiting.model_copy(update={"input_request": question.model_copy(update={"kind": "clarification"})})
    )
    line = f"Is this right? (`{PROGRAM} approve r`; default at 2026-01-01 00:00 UTC: it is)"

    outline_number = waiting.model_copy(
        update={"topics": (TopicProgress(topic="Causes"), TopicProgress(topic="Effects"))}
    )

    assert line in list(iterate_changes(RunSnapshot(), RunSnapshot(waiting)))
    assert line not in list(iterate_changes(RunSnapshot(waiting), RunSnapshot(waiting)))
    assert ["outline: Causes · Effects", line] == list(
        iterate_changes(RunSnapshot(waiting), RunSnapshot(outline_number))
    )[-2:]
    assert f'Is this right? (`{PROGRAM} answer r "TEXT"`' in "".join(iterate_changes(RunSnapshot(), asked))


def test_steps_of_a_plan_are_shown_when_their_state_changes() -> None:
    """A step that starts, ends or is skipped makes a line with its reason; pending and unchanged steps make none."""
    waiting = StepProgress(id="b", query="Where?", depends_on=("a",))
    begun = RESEARCHING.model_copy(
        update={"steps": (StepProgress(id="a", query="Who?", status="in_progress"), waiting)}
    )
    skipped = waiting.model_copy(update={"status": "skipped", "note": "the results of a suffice"})
    ended = begun.model_copy(update={"steps": (StepProgress(id="a", query="Who?", status="completed"), skipped)})

    assert list(iterate_changes(RunSnapshot(RESEARCHING), RunSnapshot(begun))) == ["a search “Who?”: in progress"]
    assert list(iterate_changes(RunSnapshot(begun), RunSnapshot(ended))) == [
        "a search “Who?”: completed",
        "b search “Where?”, after a: skipped (the results of a suffice)",
    ]


def test_verbose_lines_are_complete() -> None:
    """Verbose lines have the usage after each headline, every step of an ingestion, and events of any length."""
    event = "looking for “" + "a long query " * 20 + "”"
    now = RunSnapshot(WRITING.model_copy(update={"last": event}))
    reading = [
        RunSnapshot(None, IngestProgress(stage="reading", files_done=n, files_total=99), speed="2.0 files/s, 0:49 left")
        for n in (0, 1, 2)
    ]

    assert event not in list(iterate_changes(RunSnapshot(), now))
    assert event in list(iterate_changes(RunSnapshot(), now, verbose=True))
    assert list(iterate_changes(RunSnapshot(), now, verbose=True))[1] == "1,500 + 250 tokens · 12 calls · 4 searches"
    assert list(iterate_changes(reading[0], reading[1])) == []
    assert list(iterate_changes(reading[1], reading[2], verbose=True)) == [
        "reading: 2 of 99 files, 0 chunks, 2.0 files/s, 0:49 left"
    ]
