"""Tests of rerank scores over real HTTP, from a server on loopback."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from tenure.models.errors import ModelError, RequestRejected, TransportError
from tenure.models.factory import create_rerank_model
from tenure.models.openai.reranking import OpenAIReranker
from tenure.settings import Settings
from tests.model_server import Fault, ModelServer
from tests.support.schema_instance import Json

KEY = "sk-verysecret123"
DOCUMENTS = ["Bees dance.", "A starter ferments for a week.", "The starter of bread is flour and water."]
QUERY = "starter of bread"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that requires a key."""
    with ModelServer(key=KEY) as running:
        yield running


def endpoint(server: ModelServer, key: str = KEY) -> OpenAIReranker:
    return OpenAIReranker("ranker", server.base_url, api_key=key, timeout=10)


def failure(server: ModelServer, key: str = KEY) -> ModelError:
    with pytest.raises(ModelError) as caught:
        endpoint(server, key).score(QUERY, DOCUMENTS)
    assert caught.value.__cause__ is None
    return caught.value


def test_scores_are_in_the_order_of_the_documents(server: ModelServer) -> None:
    """The server sorts its results by score; the scores are returned in the order of the documents."""
    assert endpoint(server).score(QUERY, DOCUMENTS) == pytest.approx([0, 1 / 3, 1])


def test_the_request_follows_the_protocol(server: ModelServer) -> None:
    """One POST requests a score for each document, with the key in the header."""
    endpoint(server).score(QUERY, DOCUMENTS)

    (request,) = server.requests
    assert request.path == "/v1/rerank"
    assert request.json == {"model": "ranker", "query": QUERY, "documents": DOCUMENTS, "top_n": 3}
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_a_redirect_is_refused(server: ModelServer) -> None:
    """The documents stay with the server of the settings."""
    with ModelServer() as other:
        server.fail(Fault(status=307, headers={"Location": f"{other.base_url}/rerank"}))
        error = failure(server)

        assert isinstance(error, RequestRejected)
        assert f"it redirects to {other.base_url}/rerank" in str(error) and "TENURE_RERANK_BASE_URL" in str(error)
        assert other.requests == []


def test_no_documents_need_no_request(server: ModelServer) -> None:
    """Without documents no request is sent."""
    assert endpoint(server).score(QUERY, []) == []
    assert server.requests == []


def test_any_scale_of_scores_is_accepted(server: ModelServer) -> None:
    """Probabilities, negative raw outputs and additional text are accepted."""

    def raw(reply: Json) -> None:
        results = [{"index": n, "relevance_score": -7.5 + n, "document": {"text": "…"}} for n in range(3)]
        reply.update(id="1", usage={"total_tokens": 9}, results=results)

    server.fail(Fault(change=raw))

    assert endpoint(server).score(QUERY, DOCUMENTS) == [-7.5, -6.5, -5.5]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_rate_limit_carries_the_delay(server: ModelServer, status: int) -> None:
    """A 429 is not retried here but reported with the server's delay."""
    server.fail(Fault(status, {"retry-after": "7"}))

    error = failure(server)

    assert isinstance(error, TransportError)
    assert (error.status, error.retry_after) == (status, 7.0)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "refused the request to ranker with 400: scripted 400"),
        (401, "TENURE_RERANK_API_KEY is not accepted"),
        (403, "check its permissions or TENURE_RERANK_MODEL"),
        (404, "check TENURE_RERANK_MODEL and TENURE_RERANK_BASE_URL"),
    ],
)
def test_a_permanent_error_names_the_setting(server: ModelServer, status: int, advice: str) -> None:
    """The message names the settings of this server and of no other."""
    server.fail(Fault(status))

    error = failure(server)

    assert isinstance(error, RequestRejected)
    assert error.status == status
    assert advice in str(error)


def test_no_message_contains_a_key(server: ModelServer) -> None:
    """A rejected key that the server quotes is removed from the message."""
    server.fail(Fault(500, body={"error": {"message": f"worker of {KEY} died"}}))
    passing, refused = failure(server), failure(server, key="sk-wrongkey123")

    assert "[key] died" in str(passing)
    assert "wrongkey" not in str(refused)


@pytest.mark.parametrize("fault", [Fault(drop=True), Fault(reset=True), Fault(body='{"results": [{"ind')])
def test_a_broken_connection_is_retryable(server: ModelServer, fault: Fault) -> None:
    """A connection that closes before or in the middle of a response is a retryable error."""
    server.fail(fault)

    assert isinstance(failure(server), TransportError)


def _lost(reply: Json) -> None:
    reply["results"].pop()


def _twice(reply: Json) -> None:
    reply["results"][0]["index"] = reply["results"][1]["index"]


@pytest.mark.parametrize("change", [_lost, _twice])
def test_a_missing_score_is_an_error(server: ModelServer, change: Callable[[Json], None]) -> None:
    """Without a score for each passage there is no order."""
    server.fail(Fault(change=change))

    error = failure(server)

    assert isinstance(error, RequestRejected)
    assert "ranker scored" in str(error)


@pytest.mark.parametrize("body", ["<html>a portal</html>", {"choices": []}, {"results": [{"index": 0}]}])
def test_other_services_are_rejected(server: ModelServer, body: str | Json) -> None:
    """A response of another protocol names the URL to check."""
    server.fail(Fault(body=body))

    error = failure(server)

    assert isinstance(error, RequestRejected)
    assert "does not support Rerank; check TENURE_RERANK_BASE_URL" in str(error)


def test_settings_create_the_model(tmp_path: Path, server: ModelServer) -> None:
    """The model needs the URL of its server, and does not use the chat model's key."""
    chat = {"openai_api_key": SecretStr("sk-ofthechatmodel"), "openai_base_url": server.base_url}
    model = create_rerank_model(Settings(home=tmp_path, rerank_model="m", rerank_base_url=server.base_url, **chat))  # type: ignore[arg-type]

    assert create_rerank_model(Settings(home=tmp_path, **chat)) is None  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="set TENURE_RERANK_BASE_URL"):
        create_rerank_model(Settings(home=tmp_path, rerank_model="m", **chat))  # type: ignore[arg-type]
    assert model is not None
    with pytest.raises(RequestRejected, match="a key is needed: set TENURE_RERANK_API_KEY"):
        model.score(QUERY, DOCUMENTS)


@pytest.mark.parametrize(("address", "key"), [("ranker.example", "k"), ("http://127.0.0.1:9/v1", "k\nx")])
def test_invalid_settings_are_rejected(address: str, key: str) -> None:
    """A URL without a scheme and a key with a line break are reported with the names of their settings."""
    with pytest.raises(ValueError, match="TENURE_RERANK_"):
        OpenAIReranker("m", address, api_key=key)
