"""Tests of requests to a model server as spans."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tenure.models.openai.traced_client import TracedClient
from tenure.tracing.configuration import configure_tracing
from tests.support.servers.otlp import Collector


@contextmanager
def echo() -> Iterator[str]:
    """Run a server that answers with the headers of a request; the path is the status."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.dumps(dict(self.headers)).encode()
            self.send_response(int(self.path[1:4]))
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_a_request_continues_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request is a span below the current one and names it; errors are marked by their status."""
    with Collector() as collector, echo() as address:
        for name, text in collector.environment.items():
            monkeypatch.setenv(name, text)
        tracer = configure_tracing()
        assert tracer is not None
        async with TracedClient() as client:
            with tracer.start_span("router", "server", {}, parent=""):
                answered = await client.post(f"{address}/200", content="the prompt")
                await client.post(f"{address}/503", content="the prompt")
                with pytest.raises(httpx.ConnectError):
                    await client.post("http://127.0.0.1:9/200", content="the prompt")
        tracer.close()
        configure_tracing({})

    first, second, third, activity = collector.spans
    sent = {name.lower(): text for name, text in answered.json().items()}
    assert sent["traceparent"] == f"00-{activity.trace}-{first.id}-01"
    assert {span.parent for span in (first, second, third)} == {activity.id}
    assert [span.attributes.get("http.response.status_code") for span in (first, second, third)] == [200, 503, None]
    assert [span.attributes.get("error.type") for span in (first, second, third)] == [None, "503", "ConnectError"]
    assert not any(b"the prompt" in body or b"/200" in body for body in collector.bodies)


async def test_without_a_tracer_requests_are_unchanged() -> None:
    """No header is added if traces are not sent."""
    configure_tracing({})
    with echo() as address:
        async with TracedClient() as client:
            answered = await client.post(f"{address}/200", content="x")

    assert "traceparent" not in {name.lower() for name in answered.json()}
