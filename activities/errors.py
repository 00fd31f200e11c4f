"""Translate errors of models and of the knowledge base for Temporal: retry, retry later, or fail with one line.

Error types are stable strings: histories and callers depend on them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http import HTTPStatus
from typing import NoReturn

from temporalio import activity
from temporalio.exceptions import ApplicationError, CancelledError

from tenure.knowledge.store.errors import (
    CommitConflict,
    CorruptTable,
    ForeignTable,
    KnowledgeError,
    ReaderFailed,
    StoreUnreachable,
    WorkCancelled,
)
from tenure.models.errors import EmbeddingError, ModelError, RequestRejected, TransportError

MODEL_UNAVAILABLE = "ModelUnavailable"
"""The model server is temporarily unavailable; the call is retried."""
MODEL_REJECTED = "ModelRejected"
"""The model server rejects the call; a person has to change something."""
KNOWLEDGE_REFUSED = "KnowledgeRefused"
"""The knowledge base rejects the request."""
PATH_MISSING = "PathMissing"
"""A path to read does not exist on the worker's machine."""
PATH_REFUSED = "PathRefused"
"""A path to read is outside the document roots of the worker."""
PAGE_REFUSED = "PageRefused"
"""A page that a run needs cannot be read."""

MIN_RETRY_DELAY_SECONDS = 1.0
"""Shorter delays requested by a server count as none."""
MAX_IMMEDIATE_RETRIES = 5
"""Attempts of a call that may follow each other without delay if the server requests it."""
MAX_PAGE_ATTEMPTS = 5
"""Attempts of a call after which a web page instead of an answer counts as a permanent error."""

TRANSIENT_ERRORS = (CommitConflict, CorruptTable, StoreUnreachable, ReaderFailed)
"""Errors that may not occur again: concurrent writers, half-written tables, lack of memory."""


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate the errors of models and of the knowledge base that leave the block.

    Raises:
        ApplicationError: for every such error.
        CancelledError: for work that stopped on request; if the worker is stopping, another worker takes over.
    """
    try:
        yield
    except ModelError as error:
        raise_model_error(error)
    except EmbeddingError as error:
        raise ApplicationError(str(error), type=MODEL_REJECTED, non_retryable=True) from error
    except WorkCancelled as error:
        raise CancelledError(str(error)) from error
    except KnowledgeError as error:
        passing = isinstance(error, TRANSIENT_ERRORS) and not isinstance(error, ForeignTable)
        raise ApplicationError(str(error), type=KNOWLEDGE_REFUSED, non_retryable=not passing) from error


def is_last_attempt() -> bool:
    """Return whether an activity is not tried again if it fails now."""
    info = activity.info()
    return info.retry_policy is not None and 0 < info.retry_policy.maximum_attempts <= info.attempt


def raise_model_error(error: ModelError) -> NoReturn:
    """Raise the translation of an error of the model layer.

    Raises:
        ApplicationError: always; retryable for a transport error, with the server's delay, and for the first pages that
            come instead of an answer.
    """
    if isinstance(error, TransportError):
        raise ApplicationError(
            str(error), type=MODEL_UNAVAILABLE, next_retry_delay=_choose_retry_delay(error)
        ) from None
    # A gateway shows a page while its server restarts; a wrong URL leads to one at every attempt.
    is_page = isinstance(error, RequestRejected) and error.status == HTTPStatus.OK
    may_pass = is_page and activity.in_activity() and activity.info().attempt < MAX_PAGE_ATTEMPTS
    raise ApplicationError(str(error), type=MODEL_REJECTED, non_retryable=not may_pass) from None


def _choose_retry_delay(error: TransportError) -> timedelta | None:
    """Return the delay that the server requests, or None for Temporal's growing delay.

    Immediate retries are granted only a few times, since an outage would otherwise become a storm of requests.
    """
    wait = error.retry_after
    if wait is None or (
        wait < MIN_RETRY_DELAY_SECONDS and activity.in_activity() and activity.info().attempt > MAX_IMMEDIATE_RETRIES
    ):
        return None
    return timedelta(seconds=wait)
