"""Record the actions of people on the server of a team: one JSON object per line, without texts and secrets.

The server binds the person and the face to the context of a request; the functions of a service add the action.
"""

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final

import structlog

from tenure.private_files import open_private
from tenure.runs.session.audit import AuditLog

AUDIT_FILE: Final = "audit.jsonl"
"""File in the home; earlier files have a number behind this name."""

MAX_FILE_BYTES: Final = 10_000_000
"""Some 40,000 actions of 250 bytes."""

MAX_FILES: Final = 10


class _PrivateFile(RotatingFileHandler):
    """File that only its owner reads, which is renamed when it is full."""

    def _open(self) -> Any:  # a text file; the base class names its private type
        return open(self.baseFilename, self.mode, encoding="utf-8", opener=open_private)


@contextmanager
def open_audit_log(home: Path) -> Iterator[AuditLog]:
    """Yield the function that records actions in the file of a home.

    Raises:
        OSError: the file cannot be written.
    """
    logger = logging.Logger("audit", logging.INFO)
    file = _PrivateFile(home / AUDIT_FILE, maxBytes=MAX_FILE_BYTES, backupCount=MAX_FILES - 1)
    logger.addHandler(file)
    log: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        logger,
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            structlog.processors.EventRenamer("action"),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
    )

    def record(action: str, /, **details: str) -> None:
        log.info(action, **details)

    with closing(file):
        yield record
