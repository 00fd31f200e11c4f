"""How progress looks, on a terminal and off it."""

import io
import itertools

from rich.console import Console

from tenure.cli.display import LiveDisplay, PlainDisplay, Snapshot, Trouble, Writing, changes, display_for, render
from tenure.contracts.base import RunId
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.contracts.run.control import Question
from tenure.contracts.run.run import Handled, Progress, TopicProgress, Usage

WRITING = Progress(
    id=RunId("r"),
    question="Why?",
    phase="write",
    revision=1,
    topics=(
        TopicProgress(topic="Causes", phase="done", claims=7, sources=3, coverage=0.75),
        TopicProgress(topic="[bold]Effects", phase="drafting"),
    ),
    usage=Usage(calls=12, tokens_in=1500, tokens_out=250, searches=4),
    last="found a passage about causes",
)


def drawn(snapshot: Snapshot, width: int = 100) -> str:
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(render(snapshot))
    return console.export_text()


def test_live_table_shows_topics_and_figures() -> None:
    """The table has a row for each topic with its state, claims, sources and coverage."""
    text = drawn(Snapshot(WRITING, seconds=75))

    row = next(line for line in text.splitlines() if "Causes" in line)
    assert "writing sections (revision 1)" in text
    assert "1:15" in text
    assert row.split()[1:4] == ["done", "7", "3"]
    assert "75%" in row
    assert "1,500 + 250 tokens · 12 calls · 4 searches" in text
    assert "found a passage about causes" in text


def test_markup_in_a_topic_is_text() -> None:
    """A heading from a document cannot style the terminal."""
    assert "[bold]Effects" in drawn(Snapshot(WRITING))


def test_run_without_a_model_is_called_offline() -> None:
    """Where no token was used the table says so instead of a zero."""
    assert "offline · 0 calls" in drawn(Snapshot(WRITING.model_copy(update={"usage": Usage()})))


def test_a_program_is_not_called_a_report() -> None:
    """The same phase has other words where a program is written."""
    text = drawn(Snapshot(WRITING.model_copy(update={"phase": "refine", "mode": "CODE", "tests": 3})))

    assert "writing the next version, 0 of 3 tests passed (generation 1)" in text


def test_ingestion_has_a_bar() -> None:
    """Reading documents shows how many of them are done, also before the run answers."""
    text = drawn(
        Snapshot(None, IngestProgress(stage="reading", files_done=3, files_total=12, chunks=40, last="/a/b.md"))
    )

    assert "reading the documents" in text
    assert "reading: 3 of 12 files, 40 chunks, b.md" in text


def test_embedding_has_a_bar_of_its_own() -> None:
    """While vectors are made, they are what is counted, in ten lines at the most."""
    steps = [Snapshot(None, IngestProgress(stage="embedding", embedded=n, to_embed=1000)) for n in range(0, 1001, 10)]
    lines = [line for before, now in itertools.pairwise([Snapshot(), *steps]) for line in changes(before, now)]

    assert "embedding: 250 of 1,000 chunks" in drawn(steps[25])
    assert lines[0] == "embedding: 0 of 1,000 chunks"
    assert len(lines) == 11


def test_looking_for_documents_counts_nothing_yet() -> None:
    """Before the documents are counted no figures are shown, and an empty folder is called empty once."""
    none = [Snapshot(None, IngestProgress(stage=stage)) for stage in ("scanning", "reading", "indexing", "done")]
    full = IngestProgress(stage="done", files_done=1, files_total=1, chunks=1, last="/a/b.md")

    lines = [line for before, now in itertools.pairwise([Snapshot(), *none]) for line in changes(before, now)]
    assert lines == ["looking for documents", "found no documents"]
    assert list(changes(none[0], Snapshot(None, full))) == ["read 1 file, 1 chunk"]


def test_one_thing_is_singular_and_a_later_round_is_named() -> None:
    """Figures read as English, and the same state in a second round is another line."""
    done = TopicProgress(topic="A", phase="done", claims=1, sources=1, coverage=0.5)
    review = TopicProgress(topic="B", phase="reviewing", round=1)
    now = WRITING.model_copy(update={"topics": (done, review), "last": ""})

    assert list(changes(Snapshot(WRITING), Snapshot(now))) == [
        "A: done (1 claim, 1 source, coverage 50%)",
        "B: reviewing, round 2",
    ]
    assert "1 call · 2 searches" in drawn(Snapshot(WRITING.model_copy(update={"usage": Usage(calls=1, searches=2)})))


def test_trouble_is_shown_in_the_table() -> None:
    """What keeps the run from getting on stands in the panel, with the time of the next attempt."""
    busy = Trouble("retrying section_writer: busy", attempt=3, wait=4.2)

    text = drawn(Snapshot(WRITING, troubles=(busy,)))
    assert "retrying section_writer: busy (attempt 3, next try in 4 s)" in text
    assert "not getting on" in drawn(Snapshot(None, troubles=(busy,)))


def test_trouble_makes_few_lines() -> None:
    """A hundred attempts make a line per doubling, another reason one more, and the end of it one."""
    tries = [Snapshot(troubles=(Trouble("retrying a: busy", attempt),)) for attempt in range(2, 101)]
    other = Snapshot(troubles=(Trouble("retrying a: refused", 101),))
    steps = [Snapshot(), *tries, other, Snapshot(), Snapshot()]
    lines = [line for before, now in itertools.pairwise(steps) for line in changes(before, now)]

    assert [line.split("attempt ")[-1] for line in lines[:-2]] == ["2)", "4)", "8)", "16)", "32)", "64)"]
    assert lines[-2:] == ["retrying a: refused (attempt 101)", "getting on again"]


def test_waiting_is_said() -> None:
    """Before anybody answers, the table says what is waited for; a worker that is on its way is named once."""
    starting = Snapshot(starting=True)

    assert "waiting for a worker" in drawn(Snapshot())
    assert "the worker is starting" in drawn(starting)
    assert list(changes(Snapshot(), starting)) == ["the worker is starting"]
    assert list(changes(starting, starting)) == []


def test_an_answer_that_comes_in_is_shown() -> None:
    """Every answer under way has a line in the table with its tokens, below the topics."""
    text = drawn(Snapshot(WRITING, writings=(Writing("writing “[bold]Effects”", 1312), Writing("writing “B”", 1))))

    assert "writing “[bold]Effects”: 1,312 tokens" in text
    assert "writing “B”: 1 token" in text
    assert text.index("Causes") < text.index("writing “[bold]Effects”") < text.index("1,500 + 250 tokens")


def test_an_answer_that_comes_in_makes_few_lines() -> None:
    """A thousand tokens make a line for their beginning and one for every doubling."""
    steps = [Snapshot(), *(Snapshot(writings=(Writing("writing “B”", tokens),)) for tokens in range(1, 1100))]
    lines = [line for before, now in itertools.pairwise(steps) for line in changes(before, now)]

    assert [line.split(": ")[1] for line in lines] == ["1 token", "256 tokens", "512 tokens", "1,024 tokens"]


def test_narrow_terminal_is_enough() -> None:
    """No line is longer than the terminal."""
    assert max(len(line) for line in drawn(Snapshot(WRITING), width=60).splitlines()) <= 60


def test_plain_lines_come_once_per_change() -> None:
    """The same snapshot twice says nothing the second time; a change says one line."""
    before = Snapshot(WRITING)
    after = Snapshot(
        WRITING.model_copy(
            update={
                "topics": (WRITING.topics[0], WRITING.topics[1].model_copy(update={"phase": "done", "claims": 2})),
                "feedback": (Handled(text="be brief", at="2026-01-01T00:00:00Z"),),
            }
        )
    )

    assert list(changes(before, before)) == []
    assert list(changes(before, after)) == [
        "[bold]Effects: done (2 claims, 0 sources, coverage 0%)",
        "feedback received: be brief",
    ]


def test_long_ingestion_makes_ten_lines() -> None:
    """A thousand files do not make a thousand lines in a log."""
    steps = [Snapshot(None, IngestProgress(stage="reading", files_done=n, files_total=1000)) for n in range(1000)]
    lines = [line for before, now in itertools.pairwise(steps) for line in changes(before, now)]

    assert len(lines) == 9


def test_paused_and_ended_runs_are_named() -> None:
    """A status other than running is what the headline says."""
    paused = WRITING.model_copy(update={"status": "paused"})
    early = WRITING.model_copy(update={"status": "finished_early", "revision": 0})

    assert "paused while writing sections (revision 1)" in list(changes(Snapshot(), Snapshot(paused)))
    assert "finished early" in list(changes(Snapshot(), Snapshot(early)))


def test_display_follows_the_stream() -> None:
    """A terminal gets the live table, anything else plain lines with the time."""
    file = io.StringIO()
    with display_for(Console(file=file, width=100)) as display:
        display.show(Snapshot(WRITING, seconds=5))

    assert isinstance(display, PlainDisplay)
    assert isinstance(display_for(Console(file=io.StringIO(), force_terminal=True)), LiveDisplay)
    assert file.getvalue().splitlines()[0] == "[0:05] writing sections (revision 1)"


def test_live_display_prints_words_above_the_table() -> None:
    """What is said stays on the screen, and the table goes at the end."""
    file = io.StringIO()
    with LiveDisplay(Console(file=file, width=100, force_terminal=True)) as display:
        display.show(Snapshot(WRITING))
        display.say("no worker polls")

    assert "no worker polls" in file.getvalue()


RESEARCHING = Progress(
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

    assert list(changes(Snapshot(), Snapshot(RESEARCHING))) == [
        "researching, cycle 1",
        "covered: Causes 0% · Effects 0%",
        "planning what to look for",
    ]
    assert list(changes(Snapshot(RESEARCHING), Snapshot(found))) == [
        "covered: Causes 50% · Effects 50%",
        "cycle 1 brought 4 new passages",
    ]
    assert list(changes(Snapshot(found), Snapshot(second))) == ["researching, cycle 2", "planning what to look for"]
    assert "researching, cycle 1" in drawn(Snapshot(found))
    assert "50%" in drawn(Snapshot(found))


def test_a_topic_that_waits_for_its_turn_is_no_news() -> None:
    """Between research and writing the topics wait, which needs no line."""
    waiting = (TopicProgress(topic="Causes"), TopicProgress(topic="Effects"))
    writing = RESEARCHING.model_copy(update={"phase": "write", "revision": 1, "topics": waiting, "last": ""})

    assert list(changes(Snapshot(RESEARCHING), Snapshot(writing))) == ["writing sections (revision 1)"]


def test_what_a_run_waits_for_is_shown_once() -> None:
    """The question stands in the table and in one line of a log, with the command that answers it."""
    question = Question(
        reporter="r/research",
        number=1,
        kind="plan",
        text="Is this right?",
        assumed="it is",
        until="2026-01-01T00:00:00",
    )
    waiting = WRITING.model_copy(update={"status": "waiting", "waiting": question})
    asked = Snapshot(waiting.model_copy(update={"waiting": question.model_copy(update={"kind": "clarification"})}))
    line = "Is this right? (`approve` it; assumed at 2026-01-01 00:00 UTC unless somebody does: it is)"

    outlined = waiting.model_copy(update={"topics": (TopicProgress(topic="Causes"), TopicProgress(topic="Effects"))})

    assert line in list(changes(Snapshot(), Snapshot(waiting)))
    assert line not in list(changes(Snapshot(waiting), Snapshot(waiting)))
    assert ["outline: Causes · Effects", line] == list(changes(Snapshot(waiting), Snapshot(outlined)))[-2:]
    assert "Is this right? (`answer` it" in drawn(asked, 200)
