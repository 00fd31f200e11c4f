"""Tests of the parser for retry delays."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tenure.models.openai.rate_limits import parse_retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": " 3 "}, 3.0),
        ({"retry-after": "1m30s"}, 90.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
        ({"x-ratelimit-reset-requests": "20ms"}, 0.02),
        ({"x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-reset-tokens": "1h2m3.5s", "x-ratelimit-reset-requests": "1s"}, 3723.5),
        (
            {
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-remaining-tokens": "500",
            },
            1.0,
        ),
        ({"retry-after": "2", "x-ratelimit-reset-tokens": "60s"}, 2.0),
        ({"x-ratelimit-reset": "1000000001"}, 0.0),
    ],
)
def test_every_form_is_parsed(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds, durations, dates and limit resets are parsed; anything else is None."""
    assert parse_retry_after(headers) == (None if seconds is None else pytest.approx(seconds))


def test_limit_resets_are_optional() -> None:
    """The resets that come with every response do not delay a retry after another error."""
    assert parse_retry_after({"x-ratelimit-reset-tokens": "6m0s"}, limits=False) is None


def test_points_in_time_are_converted_to_durations() -> None:
    """An HTTP date and an epoch, in seconds or milliseconds, become the duration from now."""
    moment = datetime.now(UTC) + timedelta(hours=1)
    forms = [
        {"retry-after": format_datetime(moment, usegmt=True)},
        {"x-ratelimit-reset": str(int(time.time()) + 3600)},
        {"x-ratelimit-reset": str(int(time.time() * 1000) + 3_600_000)},
    ]
    assert all(3000 < (parse_retry_after(form) or 0) <= 3601 for form in forms)
