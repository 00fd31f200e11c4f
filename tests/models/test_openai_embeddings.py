"""Embeddings over real HTTP, from a server on the loopback."""

import json
import pickle
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import openai
import pytest

from tenure.models.embedding import UnexpectedVectors
from tenure.models.openai_embeddings import OpenAIEmbeddings

Answer = Callable[[list[str]], tuple[int, dict[str, Any]]]


def _item(index: int, vector: list[float]) -> dict[str, Any]:
    return {"object": "embedding", "index": index, "embedding": vector}


def _shuffled(texts: list[str]) -> tuple[int, dict[str, Any]]:
    items = [_item(n, [float(len(text)), 1.0, 0.0]) for n, text in enumerate(texts)]
    return 200, {"object": "list", "model": "m", "data": items[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


class Server:
    """A server that answers as told and remembers what it was asked."""

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


def test_rows_follow_the_texts_not_the_answer(server: Server) -> None:
    """Vectors are put in order by their index and given unit length."""
    rows = server.model().embed(["a", "bbb"])

    assert np.allclose([[1 / 2**0.5, 1 / 2**0.5, 0], [3 / 10**0.5, 1 / 10**0.5, 0]], rows)


def test_many_texts_travel_in_batches(server: Server) -> None:
    """A long list is split into several requests whose vectors are joined in order."""
    rows = server.model().embed(["x" * (n % 7 + 1) for n in range(300)])

    assert [len(texts) for texts in server.requests] == [128, 128, 44]
    assert np.allclose(rows[130], server.model().embed(["x" * (130 % 7 + 1)])[0])


def test_dimensions_are_learnt_and_travel_along(server: Server) -> None:
    """The size of a vector costs one request, and a pickled copy needs none."""
    model = server.model()

    assert model.dimensions == 3
    assert pickle.loads(pickle.dumps(model)).dimensions == 3
    assert len(server.requests) == 1
    assert model.embed([]).shape == (0, 3)


def test_a_refusal_arrives_as_the_clients_error_after_one_request(server: Server) -> None:
    """A rate limit is not retried here: that is Temporal's part."""
    server.answer = lambda texts: (429, {"error": {"message": "slow down"}})

    with pytest.raises(openai.RateLimitError):
        server.model().embed(["a"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "items",
    [[_item(0, [1.0, 0.0])], [_item(0, [1.0, 0.0]), _item(1, [1.0])], [_item(0, [1.0]), _item(0, [1.0])]],
    ids=["too few", "ragged", "same index twice"],
)
def test_an_answer_of_another_shape_is_refused(server: Server, items: list[dict[str, Any]]) -> None:
    """Vectors that cannot belong to the texts are an error, never a guess."""
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    server.answer = lambda texts: (200, {"object": "list", "model": "m", "data": items, "usage": usage})

    with pytest.raises(UnexpectedVectors):
        server.model().embed(["a", "b"])


def test_another_size_later_is_refused(server: Server) -> None:
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
