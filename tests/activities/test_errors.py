"""What errors of the model layer mean to Temporal."""

from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError

from activities.errors import MODEL_REJECTED, MODEL_UNAVAILABLE, raise_for_model, translated
from tenure.models.chat import ContextOverflow, ModelError, RequestRejected, TransportError, UnusableAnswer
from tenure.models.embedding import EmbeddingError, UnexpectedVectors, WeightsMissing
from tenure.models.openai_embeddings import OpenAIEmbeddings
from tests.model_server import Fault, ModelServer


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
