"""Rerank scores over real HTTP, from a server on the loopback."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from tenure.models.chat import ModelError, RequestRejected, TransportError
from tenure.models.openai.reranking import RerankEndpoint
from tenure.models.reranking import rerank_model
from tenure.settings import Settings
from tests.model_server import Fault, ModelServer
from tests.schema_instance import Json

KEY = "sk-verysecret123"
DOCUMENTS = ["Bees dance.", "A starter ferments for a week.", "The starter of bread is flour and water."]
QUERY = "starter of bread"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that wants a key."""
    with ModelServer(key=KEY) as running:
        yield running


def endpoint(server: ModelServer, key: str = KEY) -> RerankEndpoint:
    return RerankEndpoint("ranker", server.base_url, api_key=key, timeout=10)


def failure(server: ModelServer, key: str = KEY) -> ModelError:
    with pytest.raises(ModelError) as caught:
        endpoint(server, key).scores(QUERY, DOCUMENTS)
    assert caught.value.__cause__ is None
    return caught.value


def test_scores_follow_the_documents_not_the_answer(server: ModelServer) -> None:
    """A server lists its results from the best on; scores come back in the order of the documents."""
    assert endpoint(server).scores(QUERY, DOCUMENTS) == pytest.approx([0, 1 / 3, 1])


def test_the_request_is_what_rerank_servers_take(server: ModelServer) -> None:
    """One POST asks for a score for each document; the key goes along as everywhere."""
    endpoint(server).scores(QUERY, DOCUMENTS)

    (request,) = server.requests
    assert request.path == "/v1/rerank"
    assert request.json == {"model": "ranker", "query": QUERY, "documents": DOCUMENTS, "top_n": 3}
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_nothing_to_score_asks_nobody(server: ModelServer) -> None:
    """No document, no request."""
    assert endpoint(server).scores(QUERY, []) == []
    assert server.requests == []


def test_any_scale_of_scores_is_taken(server: ModelServer) -> None:
    """Some servers give probabilities, others raw outputs below zero, and text beside them."""

    def raw(reply: Json) -> None:
        results = [{"index": n, "relevance_score": -7.5 + n, "document": {"text": "…"}} for n in range(3)]
        reply.update(id="1", usage={"total_tokens": 9}, results=results)

    server.fail(Fault(change=raw))

    assert endpoint(server).scores(QUERY, DOCUMENTS) == [-7.5, -6.5, -5.5]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_passing_refusal_says_when_to_come_back(server: ModelServer, status: int) -> None:
    """It is not retried here, since that is Temporal's part, but told with the server's own delay."""
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
def test_a_lasting_refusal_says_what_to_check(server: ModelServer, status: int, advice: str) -> None:
    """Asking again would change nothing, and one line names the settings of this server and no other's."""
    server.fail(Fault(status))

    error = failure(server)

    assert isinstance(error, RequestRejected)
    assert error.status == status
    assert advice in str(error)


def test_no_message_holds_a_key(server: ModelServer) -> None:
    """Servers quote the key they refuse; what they say of it goes no further."""
    server.fail(Fault(500, body={"error": {"message": f"worker of {KEY} died"}}))
    passing, refused = failure(server), failure(server, key="sk-wrongkey123")

    assert "[key] died" in str(passing)
    assert "wrongkey" not in str(refused)


@pytest.mark.parametrize("fault", [Fault(drop=True), Fault(reset=True), Fault(body='{"results": [{"ind')])
def test_a_broken_connection_may_pass(server: ModelServer, fault: Fault) -> None:
    """A server that hangs up, or stops in the middle, is asked again later."""
    server.fail(fault)

    assert isinstance(failure(server), TransportError)


def _lost(reply: Json) -> None:
    reply["results"].pop()


def _twice(reply: Json) -> None:
    reply["results"][0]["index"] = reply["results"][1]["index"]


@pytest.mark.parametrize("change", [_lost, _twice])
def test_a_server_that_leaves_a_passage_out_is_named(server: ModelServer, change: Callable[[Json], None]) -> None:
    """Without a score for each passage there is no order; guessing one would hide it."""
    server.fail(Fault(change=change))

    error = failure(server)

    assert isinstance(error, RequestRejected)
    assert "ranker scored" in str(error)


@pytest.mark.parametrize("body", ["<html>a portal</html>", {"choices": []}, {"results": [{"index": 0}]}])
def test_what_is_no_rerank_server_is_named(server: ModelServer, body: str | Json) -> None:
    """An answer of another protocol says which address to check."""
    server.fail(Fault(body=body))

    error = failure(server)

    assert isinstance(error, RequestRejected)
    assert "does not speak Rerank; check TENURE_RERANK_BASE_URL" in str(error)


def test_the_settings_make_the_model(tmp_path: Path, server: ModelServer) -> None:
    """Without a model there is none; with one its server's address is needed, and the chat model's key stays home."""
    chat = {"openai_api_key": SecretStr("sk-ofthechatmodel"), "openai_base_url": server.base_url}
    model = rerank_model(Settings(home=tmp_path, rerank_model="m", rerank_base_url=server.base_url, **chat))  # type: ignore[arg-type]

    assert rerank_model(Settings(home=tmp_path, **chat)) is None  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="set TENURE_RERANK_BASE_URL"):
        rerank_model(Settings(home=tmp_path, rerank_model="m", **chat))  # type: ignore[arg-type]
    assert model is not None
    with pytest.raises(RequestRejected, match="a key is needed: set TENURE_RERANK_API_KEY"):
        model.scores(QUERY, DOCUMENTS)


@pytest.mark.parametrize(("address", "key"), [("ranker.example", "k"), ("http://127.0.0.1:9/v1", "k\nx")])
def test_settings_that_cannot_work_are_refused(address: str, key: str) -> None:
    """An address without a scheme and a key with a line break are named by their settings."""
    with pytest.raises(ValueError, match="TENURE_RERANK_"):
        RerankEndpoint("m", address, api_key=key)
