"""What errors of the model layer mean to Temporal."""

from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError

from activities.errors import MODEL_REJECTED, MODEL_UNAVAILABLE, raise_for_model
from tenure.models.chat import ContextOverflow, ModelError, RequestRejected, TransportError, UnusableAnswer


@pytest.mark.parametrize(("seconds", "delay"), [(7.5, timedelta(seconds=7.5)), (0.0, timedelta(0)), (None, None)])
def test_a_transport_error_is_retried_when_the_server_said(seconds: float | None, delay: timedelta | None) -> None:
    """The call is made again, after the server's own delay where it named one."""
    with pytest.raises(ApplicationError, match="busy") as caught:
        raise_for_model(TransportError("busy", status=429, retry_after=seconds))

    assert (caught.value.type, caught.value.non_retryable) == (MODEL_UNAVAILABLE, False)
    assert delay == caught.value.next_retry_delay


@pytest.mark.parametrize("error", [RequestRejected("no such model"), ContextOverflow("long"), UnusableAnswer("blank")])
def test_any_other_error_fails_with_its_line(error: ModelError) -> None:
    """What asking again cannot change is not asked again, and the person reads why."""
    with pytest.raises(ApplicationError, match=str(error)) as caught:
        raise_for_model(error)

    assert (caught.value.type, caught.value.non_retryable) == (MODEL_REJECTED, True)


def test_no_cause_travels_into_the_history() -> None:
    """An error of the client library may quote a key, so nothing is chained."""
    with pytest.raises(ApplicationError) as caught:
        raise_for_model(TransportError("busy"))

    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
