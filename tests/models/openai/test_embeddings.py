"""Tests of embeddings over real HTTP, from a server on loopback."""

import json
import pickle
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from tenure.knowledge.embeddings.background import BackgroundModel
from tenure.models.embedding import embed_passages
from tenure.models.errors import ModelError, RequestRejected, TransportError, UnexpectedVectors
from tenure.models.openai.embeddings import OpenAIEmbeddings
from tenure.settings.models import RetrievalModelSettings
from tests.model_server import Fault, ModelServer

KEY = "sk-verysecret123"

Answer = Callable[[list[str]], tuple[int, dict[str, Any]]]


def _item(index: int, vector: list[float]) -> dict[str, Any]:
    return {"object": "embedding", "index": index, "embedding": vector}


def _shuffled(texts: list[str]) -> tuple[int, dict[str, Any]]:
    items = [_item(n, [float(len(text)), 1.0, 0.0]) for n, text in enumerate(texts)]
    return 200, {"object": "list", "model": "m", "data": items[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


class Server:
    """A server with configured answers that records its requests."""

    def __init__(self) -> None:
        """Listen on a free port."""
        self.answer: Answer = _shuffled
        self.requests: list[list[str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body["input"])
                status, reply = outer.answer(body["input"])
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Keep the test's output clean."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def model(self) -> OpenAIEmbeddings:
        """Return a model of this server."""
        return OpenAIEmbeddings("m", api_key="k", base_url=f"http://127.0.0.1:{self.http.server_port}/v1", timeout=10)


@pytest.fixture
def server() -> Iterator[Server]:
    """A running server."""
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()


def test_rows_are_in_the_order_of_the_texts(server: Server) -> None:
    """Vectors are sorted by their index and scaled to unit length."""
    rows = server.model().embed(["a", "bbb"])

    assert np.allclose([[1 / 2**0.5, 1 / 2**0.5, 0], [3 / 10**0.5, 1 / 10**0.5, 0]], rows)


@pytest.mark.parametrize(
    ("model", "set_up", "query", "passage"),
    [
        ("text-embedding-3-small", {}, "", ""),
        ("bge-m3", {}, "", ""),
        ("intfloat/multilingual-e5-large", {}, "query: ", "passage: "),
        ("multilingual-e5-large-instruct", {}, "", ""),
        ("nomic-embed-text:v1.5", {}, "search_query: ", "search_document: "),
        ("e5-small", {"embedding_query_prefix": "question: "}, "question: ", "passage: "),
    ],
)
def test_questions_and_passages_have_the_prefixes_of_the_model(
    server: Server, model: str, set_up: dict[str, Any], query: str, passage: str
) -> None:
    """Families that were trained with prefixes get them, settings come first, and the name contains them."""
    url = f"http://127.0.0.1:{server.http.server_port}/v1"
    made = OpenAIEmbeddings.from_settings(
        RetrievalModelSettings(embedding_model=model, openai_base_url=url, openai_api_key=SecretStr("k"), **set_up)
    )
    made.embed(["Why?"])
    embed_passages(BackgroundModel(made), ["Because."])

    assert server.requests == [[f"{query}Why?"], [f"{passage}Because."]]
    assert made.name == (f"openai:{model}:{query}:{passage}" if query else f"openai:{model}")


def test_many_texts_travel_in_batches(server: Server) -> None:
    """A long list is split into several requests whose vectors are joined in order."""
    rows = server.model().embed(["x" * (n % 7 + 1) for n in range(300)])

    assert [len(texts) for texts in server.requests] == [128, 128, 44]
    assert np.allclose(rows[130], server.model().embed(["x" * (130 % 7 + 1)])[0])


def test_dimensions_are_read_once_and_pickled(server: Server) -> None:
    """The size of a vector costs one request, and a pickled copy needs none."""
    model = server.model()

    assert model.dimensions == 3
    assert pickle.loads(pickle.dumps(model)).dimensions == 3
    assert len(server.requests) == 1
    assert model.embed([]).shape == (0, 3)


@pytest.fixture
def keyed() -> Iterator[ModelServer]:
    """A server that requires a key."""
    with ModelServer(key=KEY) as running:
        yield running


def failure(server: ModelServer, key: str = KEY) -> ModelError:
    with pytest.raises(ModelError) as caught:
        OpenAIEmbeddings("m", api_key=key, base_url=server.base_url, timeout=10).embed(["a"])
    assert caught.value.__cause__ is None
    return caught.value


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_rate_limit_carries_the_delay(keyed: ModelServer, status: int) -> None:
    """A 429 is not retried here but reported with the server's delay."""
    keyed.fail(Fault(status, {"retry-after": "7"}))

    error = failure(keyed)

    assert isinstance(error, TransportError)
    assert (error.status, error.retry_after) == (status, 7.0)
    assert len(keyed.requests) == 1


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "refused the request to m with 400: scripted 400"),
        (403, "check its permissions or TENURE_EMBEDDING_MODEL"),
        (404, "check TENURE_EMBEDDING_MODEL and OPENAI_BASE_URL"),
    ],
)
def test_a_permanent_error_names_the_setting(keyed: ModelServer, status: int, advice: str) -> None:
    """A permanent error is reported with the setting to check."""
    keyed.fail(Fault(status))

    error = failure(keyed)

    assert isinstance(error, RequestRejected)
    assert error.status == status
    assert advice in str(error)


def test_no_message_contains_a_key(keyed: ModelServer) -> None:
    """A rejected key that the server quotes is removed from the message."""
    keyed.fail(Fault(500, body={"error": {"message": f"worker of {KEY} and sk-another1234 died"}}))
    passing, refused = failure(keyed), failure(keyed, key="sk-wrongkey123")

    assert "[key] and [key] died" in str(passing)
    assert str(refused).endswith(": OPENAI_API_KEY is not accepted")


def test_a_dropped_connection_is_retryable(keyed: ModelServer) -> None:
    """A closed connection is a retryable error."""
    keyed.fail(Fault(drop=True))

    assert isinstance(failure(keyed), TransportError)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<html>a portal</html>", RequestRejected),
        ('{"choices": []}', RequestRejected),
        ('{"data": [{"ind', TransportError),
        ('{"error": {"message": "upstream busy", "code": 503}}', TransportError),
        ('{"error": {"message": "no such model", "code": 404}}', RequestRejected),
    ],
)
def test_a_good_status_with_a_bad_body_is_an_error(keyed: ModelServer, body: str, kind: type[ModelError]) -> None:
    """A response with status 200 and another content is rejected or retryable."""
    keyed.fail(Fault(body=body))

    assert isinstance(failure(keyed), kind)


def test_the_token_counter_is_pickled_without_the_key() -> None:
    """The counter that is pickled for the parser processes contains no configuration."""
    model = OpenAIEmbeddings("m", api_key=KEY)

    assert KEY.encode() not in pickle.dumps(model.count_tokens)
    assert pickle.loads(pickle.dumps(model.count_tokens))("12345") == 2


def test_an_invalid_key_is_rejected() -> None:
    """The error is raised when the worker starts and not in the middle of a run."""
    with pytest.raises(ValueError, match="OPENAI_API_KEY"):
        OpenAIEmbeddings("m", api_key="schlüssel")


@pytest.mark.parametrize(
    "items",
    [[_item(0, [1.0, 0.0])], [_item(0, [1.0, 0.0]), _item(1, [1.0])], [_item(0, [1.0]), _item(0, [1.0])]],
    ids=["too few", "ragged", "same index twice"],
)
def test_an_answer_of_another_shape_is_rejected(server: Server, items: list[dict[str, Any]]) -> None:
    """Vectors that do not match the texts raise an error."""
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    server.answer = lambda texts: (200, {"object": "list", "model": "m", "data": items, "usage": usage})

    with pytest.raises(UnexpectedVectors):
        server.model().embed(["a", "b"])


def test_another_vector_size_is_rejected(server: Server) -> None:
    """A server that changes the size of its vectors has changed its model."""
    model = server.model()
    model.embed(["a"])
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    server.answer = lambda texts: (
        200,
        {"object": "list", "model": "m", "data": [_item(0, [1.0, 0.0])], "usage": usage},
    )

    with pytest.raises(UnexpectedVectors):
        model.embed(["a"])


def test_a_redirect_is_refused() -> None:
    """The documents stay with the server of the settings."""
    with ModelServer() as server, ModelServer() as other:
        server.fail(Fault(status=308, headers={"Location": f"{other.base_url}/embeddings"}))
        model = OpenAIEmbeddings("m", api_key=KEY, base_url=server.base_url, timeout=10)
        with pytest.raises(RequestRejected, match=f"it redirects to {other.base_url}/embeddings.*OPENAI_BASE_URL"):
            model.embed(["a document"])
        assert other.requests == []
