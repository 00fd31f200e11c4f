"""Logging: one structlog renderer for our own lines and for those of every library.

Libraries log through the standard library and are rendered the same way; their chatter below a
warning stays out.
"""

import logging
import sys

import structlog
from structlog.typing import Processor

QUIET = ("httpx", "httpx2", "httpcore", "openai", "lancedb", "urllib3", "trafilatura", "pypdf", "docutils", "asyncio")
"""Libraries of which only warnings are worth a line."""


def configure(level: str) -> None:
    """Send everything from `level` up to standard error, one readable line an event, times in UTC."""
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
                # Rich tracebacks import on demand, which the workflow sandbox forbids: the error would be lost.
                structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
