"""Short texts for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ActivityError, ApplicationError, RetryState, TimeoutError, TimeoutType

from tenure.algorithms.text.counts import format_count
from tenure.runs.formatting import SUMMARY_BYTES, describe_failure, format_duration, truncate_bytes, truncate_line


@given(st.text())
def test_summary_fits_whatever_the_script(text: str) -> None:
    """A summary is one line within the server's bytes, and whole characters."""
    summary = truncate_bytes(text * 20)

    assert len(summary.encode("utf-8", "surrogatepass")) <= SUMMARY_BYTES
    assert "\n" not in summary


def test_long_text_is_truncated_with_an_ellipsis() -> None:
    """A truncated text ends with an ellipsis."""
    assert truncate_line("a  b\nc", 10) == "a b c"
    assert truncate_line("x" * 20, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(("seconds", "expected"), [(-1, "0:00"), (59.9, "0:59"), (60, "1:00"), (3725, "1:02:05")])
def test_duration_reads_like_a_clock(seconds: float, expected: str) -> None:
    """Hours appear when there are any; a clock that is ahead gives no negative time."""
    assert format_duration(seconds) == expected


def test_numbers_of_things_read_as_english() -> None:
    """One thing is singular, and large numbers are grouped."""
    assert [format_count(n, "source") for n in (0, 1, 1234)] == ["0 sources", "1 source", "1,234 sources"]
    assert format_count(2, "search", "searches") == "2 searches"


@pytest.mark.parametrize(
    ("cause", "line"),
    [
        (
            ApplicationError("/kitchen does not exist:\nname another path", type="PathMissing"),
            "/kitchen does not exist: name another path",
        ),
        (ApplicationError("'text'", type="KeyError"), "KeyError: 'text'"),
        (ApplicationError("the budget is used up"), "the budget is used up"),
        (
            TimeoutError("activity timed out", type=TimeoutType.HEARTBEAT, last_heartbeat_details=()),
            "activity timed out",
        ),
    ],
)
def test_a_failed_run_gives_the_message_of_its_innermost_cause(cause: Exception, line: str) -> None:
    """The type precedes the message only of an unexpected exception."""
    failed = ActivityError(
        "Activity task failed",
        scheduled_event_id=1,
        started_event_id=2,
        identity="",
        activity_type="ingest_corpus",
        activity_id="1",
        retry_state=RetryState.NON_RETRYABLE_FAILURE,
    )
    failed.__cause__ = cause

    assert describe_failure(WorkflowFailureError(cause=failed)) == line
