"""Configure logging: structlog renders our own messages and those of libraries in the same format, as text or JSON.

Lines of a run name it, and those of an activity the activity and its attempt. Library messages below a warning are
dropped for some libraries.
"""

import logging
import re
import sys
from collections.abc import Mapping
from typing import Any, Literal

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from tenure.algorithms.text.printable import escape_control_characters

QUIET_LIBRARIES = (
    "httpx",
    "httpx2",
    "httpcore",
    "openai",
    "lancedb",
    "urllib3",
    "trafilatura",
    "pypdf",
    "docutils",
    "asyncio",
)
"""Libraries of which only warnings are logged."""

LogFormat = Literal["text", "json"]
"""Format of a line: for people, or one JSON object."""

_CYCLE = re.compile(r"/spiral/(\d+)-")
"""Part of a workflow id that names the research cycle."""

_SDK_FIELDS = {
    "workflow": "workflow_id",
    "workflow_run": "run_id",
    "activity": "activity_type",
    "activity_id": "activity_id",
    "attempt": "attempt",
}
"""Fields of a line, and their names in the SDK's details of a workflow or activity."""


def configure_logging(level: str, line_format: LogFormat = "text") -> None:
    """Write messages from `level` upwards to standard error, one line per event, with times in UTC."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _add_sdk_ids,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared[:3],
            shared[-1],
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *((structlog.processors.format_exc_info, _render_json) if line_format == "json" else (_render_safely,)),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    # Warnings of Python are lines of the log as well; otherwise they would be text between JSON objects.
    logging.captureWarnings(line_format == "json")


def _render_safely(logger: WrappedLogger, name: str, event: EventDict) -> str:
    """Render an event without control characters, since logs are read on a terminal."""
    # Rich tracebacks import modules on demand, which the workflow sandbox forbids: the error would be lost.
    renderer = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    return escape_control_characters(str(renderer(logger, name, event)))


def _render_json(logger: WrappedLogger, name: str, event: EventDict) -> str:
    """Render an event as one JSON object in ASCII, so that it contains no control characters."""
    return str(_JSON(logger, name, event))


_JSON = structlog.processors.JSONRenderer(default=str)


def _add_sdk_ids(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Replace the details of a workflow or activity that the SDK adds by the ids of the run, cycle and activity."""
    event.pop("temporal_log", None)
    for source in ("temporal_workflow", "temporal_activity"):
        details: Mapping[str, Any] | None = event.pop(source, None)
        if details is None:
            continue
        for field, key in _SDK_FIELDS.items():
            if details.get(key) is not None and not (field == "attempt" and source == "temporal_workflow"):
                event.setdefault(field, details[key])
        workflow = str(details.get("workflow_id") or "")
        event.setdefault("run", workflow.partition("/")[0])
        if match := _CYCLE.search(workflow):
            event.setdefault("cycle", int(match[1]))
    return event
