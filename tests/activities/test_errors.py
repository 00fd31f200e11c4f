"""Translation of the model layer's errors for Temporal."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.errors import MODEL_REJECTED, MODEL_UNAVAILABLE, raise_model_error, translate_errors
from activities.roles import RoleActivities
from tenure.models.errors import (
    ContextOverflow,
    EmbeddingError,
    ModelError,
    RequestRejected,
    TransportError,
    UnexpectedVectors,
    UnusableAnswer,
    WeightsMissing,
)
from tenure.models.openai.chat import OpenAIChat
from tenure.models.openai.embeddings import OpenAIEmbeddings
from tenure.roles.research import router
from tenure.roles.research.router import RouterInput
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes
from tests.support.worlds import MemoryKnowledge


@pytest.mark.parametrize(("seconds", "delay"), [(7.5, timedelta(seconds=7.5)), (0.0, timedelta(0)), (None, None)])
def test_transport_error_is_retried_after_the_requested_delay(seconds: float | None, delay: timedelta | None) -> None:
    """The call is retried, after the server's delay if it requests one."""
    with pytest.raises(ApplicationError, match="busy") as caught:
        raise_model_error(TransportError("busy", status=429, retry_after=seconds))

    assert (caught.value.type, caught.value.non_retryable) == (MODEL_UNAVAILABLE, False)
    assert delay == caught.value.next_retry_delay


@pytest.mark.parametrize(
    ("attempt", "seconds", "delay"),
    [(5, 0.02, timedelta(seconds=0.02)), (6, 0.02, None), (6, 0.0, None), (6, 30.0, timedelta(seconds=30))],
)
def test_repeated_immediate_retries_are_delayed(attempt: int, seconds: float, delay: timedelta | None) -> None:
    """After some immediate retries Temporal's growing delay applies; a longer delay of the server still does."""
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=attempt)
    with pytest.raises(ApplicationError) as caught:
        environment.run(raise_model_error, TransportError("busy", status=429, retry_after=seconds))

    assert delay == caught.value.next_retry_delay


@pytest.mark.parametrize("error", [RequestRejected("no such model"), ContextOverflow("long"), UnusableAnswer("blank")])
def test_other_errors_are_not_retried(error: ModelError) -> None:
    """An error that a retry cannot fix fails with a line for the person."""
    with pytest.raises(ApplicationError, match=str(error)) as caught:
        raise_model_error(error)

    assert (caught.value.type, caught.value.non_retryable) == (MODEL_REJECTED, True)


@pytest.mark.parametrize(("attempt", "lasting"), [(1, False), (4, False), (5, True)])
def test_a_web_page_instead_of_an_answer_is_permanent_only_after_some_attempts(attempt: int, lasting: bool) -> None:
    """A gateway shows a page while its server restarts; a wrong URL leads to one at every attempt."""
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=attempt)
    with pytest.raises(ApplicationError, match="check the URL") as caught:
        environment.run(raise_model_error, RequestRejected("check the URL", status=200))

    assert (caught.value.type, caught.value.non_retryable) == (MODEL_REJECTED, lasting)


def test_causes_are_not_written_to_the_history() -> None:
    """An error of the client library may quote an API key, so it is not chained."""
    with pytest.raises(ApplicationError) as caught:
        raise_model_error(TransportError("busy"))

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
    """Errors of an embedding server fail or are retried as those of a chat server."""
    with ModelServer() as server, pytest.raises(ApplicationError) as caught:
        server.fail(fault)
        with translate_errors():
            OpenAIEmbeddings("m", api_key="sk-verysecret123", base_url=server.base_url, timeout=10).embed(["a"])

    error = caught.value
    assert (error.type, error.non_retryable, error.next_retry_delay) == (kind, lasting, delay)
    assert "\n" not in error.message and "sk-" not in error.message


@pytest.mark.parametrize("error", [WeightsMissing("weights"), UnexpectedVectors("m", (2, 3), (1, 3))])
def test_permanent_embedding_errors_fail_the_call(error: EmbeddingError) -> None:
    """A missing package or a server with another model needs a person."""
    with pytest.raises(ApplicationError) as caught, translate_errors():
        raise error

    assert (caught.value.type, caught.value.message, caught.value.non_retryable) == (MODEL_REJECTED, str(error), True)


KEY = "sk-verysecret123"


async def asked(fault: Fault) -> ApplicationError:
    """Execute a role's activity against a server that returns a fault, and return the error that Temporal receives."""
    with ModelServer() as server:
        server.fail(fault)
        chat = OpenAIChat(routes("m"), api_key=KEY, base_url=server.base_url, timeout=10)
        roles = RoleActivities(chat, MemoryKnowledge({}))  # type: ignore[arg-type]
        with pytest.raises(ApplicationError) as caught:
            await ActivityEnvironment().run(
                roles.build(router.ROLE), router.ROLE.request_type(input=RouterInput(question="Why?"))
            )
        await chat.aclose()
    assert len(server.requests) == 1
    return caught.value


def in_a_minute() -> str:
    """Return a time in the form of an HTTP header."""
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
async def test_transient_faults_are_retried(fault: Fault, delay: float | None) -> None:
    """Lost connections, 408, 409, 429 and every 5xx are retried, after the delay of any header."""
    error = await asked(fault)

    assert (error.type, error.non_retryable) == (MODEL_UNAVAILABLE, False)
    assert error.next_retry_delay == (None if delay is None else timedelta(seconds=delay))
    assert "\n" not in error.message


async def test_retry_after_accepts_a_date() -> None:
    """A `retry-after` header with a date becomes a delay from now."""
    error = await asked(Fault(429, {"retry-after": in_a_minute()}))

    assert error.next_retry_delay is not None
    assert timedelta(0) < error.next_retry_delay <= timedelta(minutes=1)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "refused the request to m with 400"),
        (401, "OPENAI_API_KEY is not accepted"),
        (403, "the key may not use m"),
        (404, "model m not found; check TENURE_FAST_MODEL"),
        (422, "refused the request to m with 422"),
    ],
)
async def test_permanent_faults_fail_with_advice(status: int, advice: str) -> None:
    """Other client errors are not retried; the line gives advice and contains no API key."""
    error = await asked(Fault(status, body={"error": {"message": f"no good: {KEY}\nfor you", "code": None}}))

    assert (error.type, error.non_retryable, error.next_retry_delay) == (MODEL_REJECTED, True, None)
    assert advice in error.message
    assert "\n" not in error.message and KEY not in error.message
    assert error.__cause__ is None
