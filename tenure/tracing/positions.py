"""Compute positions in traces, without OpenTelemetry: workflows compute them, and a replay computes the same ones."""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

SpanAttributes = Mapping[str, str | int | float | bool]
"""Attributes of a span: names, ids and numbers, and no text of people or documents."""


class WorkflowSpan(NamedTuple):
    """Span of a workflow execution, whose ids are computed rather than drawn."""

    name: str
    """Type of the workflow."""
    traceparent: str
    """Position of the span."""
    parent: str
    """Position of its parent; empty for the root."""
    start: float
    """Start in seconds since the epoch."""
    end: float
    """End in seconds since the epoch."""
    attributes: SpanAttributes
    error: str
    """Type of the error with which it ended; empty for none."""


def compute_trace_id(execution: str) -> str:
    """Return the trace id of a run from the id of its first execution."""
    return hashlib.sha256(f"trace:{execution}".encode()).hexdigest()[:32]


def compute_span_id(execution: str) -> str:
    """Return the span id of a workflow execution from its id."""
    return hashlib.sha256(f"span:{execution}".encode()).hexdigest()[:16]


def format_traceparent(trace_id: str, span_id: str, *, sampled: bool) -> str:
    """Return a position in the format of the W3C recommendation Trace Context."""
    return f"00-{trace_id}-{span_id}-{int(sampled):02x}"


def get_trace_id(traceparent: str) -> str:
    """Return the trace id of a position; empty for an empty position."""
    return traceparent[3:35]
