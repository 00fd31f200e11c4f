"""Configure logging: structlog renders our own messages and those of libraries in the same format.

Library messages below a warning are dropped for some libraries.
"""

import logging
import sys

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


def configure_logging(level: str) -> None:
    """Write messages from `level` upwards to standard error, one line per event, with times in UTC."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared[:3],
            shared[4],
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
                _render_safely,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)


def _render_safely(logger: WrappedLogger, name: str, event: EventDict) -> str:
    """Render an event without control characters, since logs are read on a terminal."""
    # Rich tracebacks import modules on demand, which the workflow sandbox forbids: the error would be lost.
    renderer = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    return escape_control_characters(str(renderer(logger, name, event)))
