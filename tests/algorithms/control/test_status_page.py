"""Tests of the status page, with hostile and regular content."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tenure.algorithms.control.status_page import render_status_page
from tenure.contracts.base import RunId
from tenure.contracts.run.control import InputRequest
from tenure.contracts.run.run import FeedbackRecord, RunProgress, StepProgress, TopicProgress, Usage

MARKDOWN = MarkdownIt("commonmark").enable("table")
HOSTILE = st.one_of(st.text(max_size=40), st.text(alphabet="|\n<>a` -#*\r\t", max_size=30))


def progress(**fields: object) -> RunProgress:
    return RunProgress(id=RunId("research/bread"), question="How is bread made?").model_copy(update=fields)


def kinds(page: str) -> list[str]:
    return [token.type for token in MARKDOWN.parse(page)]


def test_page_shows_the_state_of_a_run() -> None:
    """Status, phase, generation, last event, topics, usage and feedback, in this order."""
    page = render_status_page(
        progress(
            phase="write",
            revision=1,
            last="Bread is being written",
            topics=(TopicProgress(topic="Bread", phase="drafting", claims=3, sources=2, coverage=0.5),),
            usage=Usage(calls=4, critical_path=3, tokens_in=1200, tokens_out=34, searches=2),
            feedback=(FeedbackRecord(text="More on rye", at="2026-01-01T00:00:00+00:00", outcome="went to Bread"),),
        )
    )

    assert page.splitlines() == [
        "**running** · write · generation 1",
        "",
        "Bread is being written",
        "",
        "| topic | state | claims | sources | coverage |",
        "|---|---|---:|---:|---:|",
        "| Bread | drafting | 3 | 2 | 50% |",
        "",
        "4 role calls (3 model answers in a row), 2 searches, 1,234 tokens",
        "- More on rye → went to Bread",
    ]


def test_page_of_a_new_run_is_short() -> None:
    """Page of a new run is short."""
    assert render_status_page(progress()).splitlines() == [
        "**running** · ingest · generation 0",
        "",
        "0 role calls, 0 searches, no tokens",
    ]


def test_page_shows_the_research_cycle() -> None:
    """During research the cycle replaces the generation."""
    assert render_status_page(progress(phase="research", cycle=2)).startswith("**running** · research · cycle 2\n")


def test_page_shows_the_error() -> None:
    """Page shows the error."""
    assert "**Failed:** no space left" in render_status_page(progress(status="failed", error="no\nspace left"))


@given(st.lists(HOSTILE, min_size=1, max_size=3))
@example(["a | b\n| c | d |", "</td><script>", "```"])
@settings(deadline=None)
def test_topic_is_escaped(topics: list[str]) -> None:
    """Every topic is one row of five cells without its own markup."""
    page = render_status_page(progress(topics=tuple(TopicProgress(topic=topic) for topic in topics)))

    found = kinds(page)
    assert (found.count("table_open"), found.count("tr_open")) == (1, 1 + len(topics))
    assert found.count("td_open") == 5 * len(topics)
    assert "html_block" not in found and found[-1] == "paragraph_close"
    assert page.count("\n") == 5 + len(topics)


@given(HOSTILE, HOSTILE)
@settings(deadline=None)
def test_feedback_is_escaped(text: str, outcome: str) -> None:
    """Each entry is one line without tags."""
    said = FeedbackRecord(text=text, at="2026-01-01T00:00:00+00:00", outcome=outcome)
    page = render_status_page(progress(feedback=(said,)))

    assert len(page.split("\n")) == 4
    assert "<" not in page


def test_long_texts_are_truncated() -> None:
    """Long texts are truncated."""
    assert len(render_status_page(progress(topics=(TopicProgress(topic="long " * 5000),)))) < 1000


def test_page_shows_the_input_request() -> None:
    """The question, its deadline and the assumption."""
    question = InputRequest(
        reporter="r",
        number=1,
        kind="plan",
        text="Is it | right?",
        assumption="it is",
        deadline="2026-01-01T00:00:00+00:00",
    )
    page = render_status_page(progress(status="waiting", input_request=question))

    assert "**waiting**" in page
    assert (
        "**Asks:** Is it \\| right? Assumed at 2026-01-01T00:00:00+00:00 unless a user answers: it is"
        in page.splitlines()
    )


def test_page_shows_the_steps_of_a_plan() -> None:
    """During the research each step has its kind, dependency, names, alternative, state and reason."""
    first = StepProgress(id="a", query="Who wrote Dune?", status="completed", alternative="Who is the author?")
    second = StepProgress(
        id="b",
        kind="calculate",
        query="How old was he?",
        status="skipped",
        depends_on=("a",),
        inserted=("Frank Herbert (from “Dune”)",),
        note="the results of a suffice",
    )
    page = render_status_page(progress(phase="research", steps=(first, second)))

    assert "- a search “Who wrote Dune?”, alternative “Who is the author?”: completed" in page
    assert (
        "- b calculate “How old was he?”, after a, with Frank Herbert (from “Dune”): "
        "skipped (the results of a suffice)" in page
    )
    assert "Dune" not in render_status_page(progress(phase="write", steps=(first, second)))
