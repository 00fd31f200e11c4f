"""What the world's errors mean to Temporal: retry, retry later, or fail with one line (TEMPORAL.md, "Retries").

Types are stable strings: histories and callers depend on them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NoReturn

from temporalio import activity
from temporalio.exceptions import ApplicationError, CancelledError

from tenure.knowledge.store.errors import (
    CommitConflict,
    ConsolidationCancelled,
    CorruptTable,
    EmbeddingCancelled,
    IngestCancelled,
    KnowledgeError,
    MaintenanceCancelled,
    ReaderFailed,
    StoreUnreachable,
)
from tenure.models.chat import ModelError, TransportError
from tenure.models.embedding import EmbeddingError

MODEL_UNAVAILABLE = "ModelUnavailable"
"""The model's server cannot answer now; the call is made again."""
MODEL_REJECTED = "ModelRejected"
"""The model's server refuses the call as it is; a person has to change something."""
KNOWLEDGE_REFUSED = "KnowledgeRefused"
"""The knowledge base refuses the request as it is."""
PATH_MISSING = "PathMissing"
"""A path that was to be read does not exist on the worker's machine."""

SHORT = 1.0
"""Seconds below which a delay is as good as none."""
BELIEVED = 5
"""Attempts of a call that may follow each other at once, where the server says so."""

PASSING = (CommitConflict, CorruptTable, StoreUnreachable, ReaderFailed)
"""What may be over a moment later: other writers, half-written tables, a machine without memory for a process."""


@contextmanager
def translated() -> Iterator[None]:
    """Translate the errors of models and knowledge base that leave the block.

    Raises:
        ApplicationError: for every such error.
        CancelledError: for work that stopped because it was told to; on a stopping worker another takes it over.
    """
    try:
        yield
    except ModelError as error:
        raise_for_model(error)
    except EmbeddingError as error:
        raise ApplicationError(str(error), type=MODEL_REJECTED, non_retryable=True) from error
    except (IngestCancelled, EmbeddingCancelled, MaintenanceCancelled, ConsolidationCancelled) as error:
        raise CancelledError(str(error)) from error
    except KnowledgeError as error:
        passing = isinstance(error, PASSING)
        raise ApplicationError(str(error), type=KNOWLEDGE_REFUSED, non_retryable=not passing) from error


def raise_for_model(error: ModelError) -> NoReturn:
    """Translate an error of the model layer.

    Raises:
        ApplicationError: always; retryable, after the server's own delay, for a transport error.
    """
    if isinstance(error, TransportError):
        raise ApplicationError(str(error), type=MODEL_UNAVAILABLE, next_retry_delay=_delay(error)) from None
    raise ApplicationError(str(error), type=MODEL_REJECTED, non_retryable=True) from None


def _delay(error: TransportError) -> timedelta | None:
    """Return the server's own delay; None for Temporal's, which grows from attempt to attempt.

    A server that says "at once" time after time is not believed for ever, or an outage becomes a storm.
    """
    wait = error.retry_after
    if wait is None or (wait < SHORT and activity.in_activity() and activity.info().attempt > BELIEVED):
        return None
    return timedelta(seconds=wait)
