"""Make spans and send them by OpenTelemetry; this is the only module that imports its SDK.

A span contains names, ids, durations and types of errors; it contains no prompt, no text of documents and no message of
an error, which could quote either. The interceptor of the SDK records messages of errors, so it is not used. The
provider is not registered globally: libraries with spans of their own would describe what they read and call.
"""

import re
import threading
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Final, Literal

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

from tenure.tracing.positions import SpanAttributes, WorkflowSpan, format_traceparent

SpanKind = Literal["server", "client"]
"""Side of a request that a span describes."""

SERVICE: Final = "tenure"
"""Name of the service unless a variable sets another one, and of the instrumentation."""

SHUTDOWN_TIMEOUT_SECONDS: Final = 3.0
"""Time for the last spans to arrive when the worker stops."""

# Version 00 of https://www.w3.org/TR/trace-context/: "00-" with the ids of trace and span, and flags.
_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_KINDS: Final = {"server": trace.SpanKind.SERVER, "client": trace.SpanKind.CLIENT}


class Span:
    """A span that has not ended."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._has_error = False

    @property
    def trace_id(self) -> str:
        """Id of the trace in hexadecimal digits."""
        return f"{self._span.get_span_context().trace_id:032x}"

    @property
    def has_error(self) -> bool:
        """Whether the span is marked as failed."""
        return self._has_error

    def set_attribute(self, name: str, value: str | int) -> None:
        """Set an attribute."""
        self._span.set_attribute(name, value)

    def set_error(self, kind: str) -> None:
        """Mark the span as failed by a type of error."""
        self._has_error = True
        self._span.set_status(StatusCode.ERROR)
        self._span.set_attribute("error.type", kind)

    def inject(self, headers: MutableMapping[str, str]) -> None:
        """Add the position of the span to the headers of an HTTP request."""
        context = self._span.get_span_context()
        headers["traceparent"] = format_traceparent(
            f"{context.trace_id:032x}", f"{context.span_id:016x}", sampled=context.trace_flags.sampled
        )


class Tracer:
    """Maker of spans, which are sent in the background."""

    def __init__(self, provider: TracerProvider, processor: BatchSpanProcessor) -> None:
        """Make spans with `provider`, and send those of workflows through `processor`."""
        self._provider, self._processor = provider, processor
        self._tracer = provider.get_tracer(SERVICE)

    @contextmanager
    def start_span(
        self, name: str, kind: SpanKind, attributes: SpanAttributes, parent: str | None = None
    ) -> Iterator[Span]:
        """Make a span of a block, as a child of `parent`, or of the current span if it is None.

        An error that leaves the block marks the span, without its message.
        """
        context = None
        if parent is not None:
            position = parse_traceparent(parent)
            context = trace.set_span_in_context(
                trace.INVALID_SPAN if position is None else trace.NonRecordingSpan(position)
            )
        with self._tracer.start_as_current_span(
            name,
            context,
            kind=_KINDS[kind],
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as current:
            span = Span(current)
            try:
                yield span
            except BaseException as error:
                if not span.has_error:
                    span.set_error(type(error).__name__)
                raise

    def is_sampled(self, trace_id: str) -> bool:
        """Return whether the spans of a trace are sent; the answer depends on its id only."""
        result = self._provider.sampler.should_sample(None, int(trace_id, 16), SERVICE)
        return result.decision == Decision.RECORD_AND_SAMPLE

    def record_workflow(self, span: WorkflowSpan) -> None:
        """Send the span of a workflow execution that has ended; called inside the workflow sandbox."""
        context = parse_traceparent(span.traceparent)
        if context is None or not context.trace_flags.sampled:
            return
        self._processor.on_end(
            ReadableSpan(
                span.name,
                context,
                parse_traceparent(span.parent),
                self._provider.resource,
                {**span.attributes, **({"error.type": span.error} if span.error else {})},
                kind=trace.SpanKind.INTERNAL,
                status=Status(StatusCode.ERROR if span.error else StatusCode.UNSET),
                start_time=round(span.start * 1e9),
                end_time=round(span.end * 1e9),
                instrumentation_scope=InstrumentationScope(SERVICE),
            )
        )

    def close(self) -> None:
        """Send the spans that wait, for a bounded time: the collector may be gone."""
        thread = threading.Thread(target=self._provider.shutdown, name="traces", daemon=True)
        thread.start()
        thread.join(SHUTDOWN_TIMEOUT_SECONDS)


def create_tracer(environment: Mapping[str, str]) -> Tracer:
    """Return a tracer that sends to the configured endpoint; the SDK reads the other variables itself."""
    has_name = "OTEL_SERVICE_NAME" in environment or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({} if has_name else {"service.name": SERVICE})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    processor = BatchSpanProcessor(OTLPSpanExporter())
    provider.add_span_processor(processor)
    return Tracer(provider, processor)


def parse_traceparent(text: str) -> SpanContext | None:
    """Return the position that a text describes, or None if it describes none."""
    match = _TRACEPARENT.fullmatch(text)
    if match is None:
        return None
    trace_id, span_id, flags = (int(part, 16) for part in match.groups())
    context = SpanContext(trace_id, span_id, True, TraceFlags(flags))
    return context if context.is_valid else None
