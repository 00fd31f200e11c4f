"""What errors of the model layer mean to Temporal."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.errors import MODEL_REJECTED, MODEL_UNAVAILABLE, raise_for_model, translated
from activities.roles import RoleActivities
from tenure.contracts.run.role_calls import role_call
from tenure.models.chat import ContextOverflow, ModelError, RequestRejected, TransportError, UnusableAnswer
from tenure.models.embedding import EmbeddingError, UnexpectedVectors, WeightsMissing
from tenure.models.openai.chat import OpenAIChat
from tenure.models.openai.embeddings import OpenAIEmbeddings
from tenure.roles.research.router import RouterInput
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes
from tests.worlds import MemoryKnowledge


@pytest.mark.parametrize(("seconds", "delay"), [(7.5, timedelta(seconds=7.5)), (0.0, timedelta(0)), (None, None)])
def test_a_transport_error_is_retried_when_the_server_said(seconds: float | None, delay: timedelta | None) -> None:
    """The call is made again, after the server's own delay where it named one."""
    with pytest.raises(ApplicationError, match="busy") as caught:
        raise_for_model(TransportError("busy", status=429, retry_after=seconds))

    assert (caught.value.type, caught.value.non_retryable) == (MODEL_UNAVAILABLE, False)
    assert delay == caught.value.next_retry_delay


@pytest.mark.parametrize(
    ("attempt", "seconds", "delay"),
    [(5, 0.02, timedelta(seconds=0.02)), (6, 0.02, None), (6, 0.0, None), (6, 30.0, timedelta(seconds=30))],
)
def test_a_server_that_always_says_at_once_is_not_believed(
    attempt: int, seconds: float, delay: timedelta | None
) -> None:
    """After some attempts without a pause Temporal's growing one counts, and a longer one of the server still does."""
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=attempt)
    with pytest.raises(ApplicationError) as caught:
        environment.run(raise_for_model, TransportError("busy", status=429, retry_after=seconds))

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


@pytest.mark.parametrize(
    ("fault", "kind", "lasting", "delay"),
    [
        (Fault(401), MODEL_REJECTED, True, None),
        (Fault(404), MODEL_REJECTED, True, None),
        (Fault(429, {"retry-after": "3"}), MODEL_UNAVAILABLE, False, timedelta(seconds=3)),
        (Fault(drop=True), MODEL_UNAVAILABLE, False, None),
    ],
)
def test_refusals_of_an_embedding_server_are_translated(
    fault: Fault, kind: str, lasting: bool, delay: timedelta | None
) -> None:
    """What an embedding server refuses fails at once or is retried, just as with a chat server."""
    with ModelServer() as server, pytest.raises(ApplicationError) as caught:
        server.fail(fault)
        with translated():
            OpenAIEmbeddings("m", api_key="sk-verysecret123", base_url=server.base_url, timeout=10).embed(["a"])

    error = caught.value
    assert (error.type, error.non_retryable, error.next_retry_delay) == (kind, lasting, delay)
    assert "\n" not in error.message and "sk-" not in error.message


@pytest.mark.parametrize("error", [WeightsMissing("weights"), UnexpectedVectors("m", (2, 3), (1, 3))])
def test_vectors_that_cannot_be_had_fail_the_call(error: EmbeddingError) -> None:
    """A missing package or a server that changed its model needs a person."""
    with pytest.raises(ApplicationError) as caught, translated():
        raise error

    assert (caught.value.type, caught.value.message, caught.value.non_retryable) == (MODEL_REJECTED, str(error), True)


KEY = "sk-verysecret123"


async def asked(fault: Fault) -> ApplicationError:
    """Ask a role through its activity of a server that answers with a fault; return what Temporal is told."""
    with ModelServer() as server:
        server.fail(fault)
        chat = OpenAIChat(routes("m"), api_key=KEY, base_url=server.base_url, timeout=10)
        roles = RoleActivities(chat, MemoryKnowledge({}))  # type: ignore[arg-type]
        with pytest.raises(ApplicationError) as caught:
            await ActivityEnvironment().run(roles.router, role_call(RouterInput(question="Why?")))
        await chat.aclose()
    assert len(server.requests) == 1
    return caught.value


def in_a_minute() -> str:
    """Return a time as an HTTP header says it."""
    return format_datetime(datetime.now(UTC) + timedelta(minutes=1), usegmt=True)


@pytest.mark.parametrize(
    ("fault", "delay"),
    [
        (Fault(drop=True), None),
        (Fault(408), None),
        (Fault(409), None),
        (Fault(429), None),
        (Fault(500), None),
        (Fault(503, {"retry-after": "7"}), 7.0),
        (Fault(503, {"x-ratelimit-reset-requests": "9s"}), None),
        (Fault(429, {"retry-after": "3"}), 3.0),
        (Fault(429, {"retry-after-ms": "250"}), 0.25),
        (Fault(429, {"retry-after-ms": "250", "retry-after": "3"}), 0.25),
        (Fault(429, {"x-ratelimit-reset-requests": "1m30s"}), 90.0),
        (Fault(429, {"x-ratelimit-reset-tokens": "6s", "x-ratelimit-reset-requests": "120ms"}), 6.0),
    ],
)
async def test_what_may_pass_is_retried_when_the_server_says(fault: Fault, delay: float | None) -> None:
    """Lost connections, 408, 409, 429 and every 5xx are Temporal's to retry, after the time any header names."""
    error = await asked(fault)

    assert (error.type, error.non_retryable) == (MODEL_UNAVAILABLE, False)
    assert error.next_retry_delay == (None if delay is None else timedelta(seconds=delay))
    assert "\n" not in error.message


async def test_a_date_says_when_to_come_back() -> None:
    """A `retry-after` in the form of a date becomes the time from now."""
    error = await asked(Fault(429, {"retry-after": in_a_minute()}))

    assert error.next_retry_delay is not None
    assert timedelta(0) < error.next_retry_delay <= timedelta(minutes=1)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "refused the request to m with 400"),
        (401, "OPENAI_API_KEY is not accepted"),
        (403, "the key may not use m"),
        (404, "no model m there; check TENURE_FAST_MODEL"),
        (422, "refused the request to m with 422"),
    ],
)
async def test_what_lasts_fails_at_once_with_advice(status: int, advice: str) -> None:
    """Other client errors are not asked again; the one line says what to fix and repeats no key."""
    error = await asked(Fault(status, body={"error": {"message": f"no good: {KEY}\nfor you", "code": None}}))

    assert (error.type, error.non_retryable, error.next_retry_delay) == (MODEL_REJECTED, True, None)
    assert advice in error.message
    assert "\n" not in error.message and KEY not in error.message
    assert error.__cause__ is None
