"""What the world's errors mean to Temporal: retry, retry later, or fail with one line (TEMPORAL.md, "Retries").

Types are stable strings: histories and callers depend on them.
"""

from datetime import timedelta
from typing import NoReturn

from temporalio.exceptions import ApplicationError

from tenure.models.chat import ModelError, TransportError

MODEL_UNAVAILABLE = "ModelUnavailable"
"""The model's server cannot answer now; the call is made again."""
MODEL_REJECTED = "ModelRejected"
"""The model's server refuses the call as it is; a person has to change something."""
KNOWLEDGE_REFUSED = "KnowledgeRefused"
"""The knowledge base refuses the request as it is."""
PATH_MISSING = "PathMissing"
"""A path that was to be read does not exist on the worker's machine."""


def raise_for_model(error: ModelError) -> NoReturn:
    """Translate an error of the model layer.

    Raises:
        ApplicationError: always; retryable, after the server's own delay, for a transport error.
    """
    if isinstance(error, TransportError):
        delay = timedelta(seconds=error.retry_after) if error.retry_after is not None else None
        raise ApplicationError(str(error), type=MODEL_UNAVAILABLE, next_retry_delay=delay) from None
    raise ApplicationError(str(error), type=MODEL_REJECTED, non_retryable=True) from None
