"""Send requests to model servers as spans of the current trace.

A request names its position in the trace in the header `traceparent`, so that a server with traces of its own continues
the trace. Without tracing, requests are sent unchanged.
"""

from typing import Any

import httpx

from tenure.tracing.configuration import get_tracer


class TracedClient(httpx.AsyncClient):
    """HTTP client whose requests are spans; a span ends with the headers of the response."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request; the span contains neither its path nor its content."""
        tracer = get_tracer()
        if tracer is None:
            return await super().send(request, **options)
        attributes: dict[str, str | int] = {
            "http.request.method": request.method,
            "server.address": request.url.host,
        }
        if request.url.port is not None:
            attributes["server.port"] = request.url.port
        with tracer.start_span(request.method, "client", attributes) as span:
            span.inject(request.headers)
            response = await super().send(request, **options)
            span.set_attribute("http.response.status_code", response.status_code)
            if response.is_error:
                span.set_error(str(response.status_code))
            return response
