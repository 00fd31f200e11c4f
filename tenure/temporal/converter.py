"""Convert values and errors for Temporal, and decide which errors are permanent.

Values are Pydantic models as JSON. An activity is retried only after errors that may not occur again. All others,
errors in the program above all, fail at the first attempt with one line, instead of being retried for hours.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import PydanticPayloadConverter, pydantic_data_converter
from temporalio.converter import DataConverter, DefaultFailureConverter, PayloadConverter
from temporalio.exceptions import ApplicationError, FailureError

from tenure.settings.home import ConnectionSettings
from tenure.temporal.encryption import ENCODING, DecryptionError, EncryptionCodec

MAX_PAYLOAD_BYTES: Final = 2_000_000
"""Maximum size of one value; the server refuses values above 2 MiB (`limit.blobSize.error`), encryption included."""

RETRYABLE_ERRORS: Final = (OSError, MemoryError, RuntimeError)
"""Errors that may not occur again: files, connections and time limits (`OSError` includes `TimeoutError`), lack of
memory, and failures that native libraries report.
"""
PROGRAMMING_ERRORS: Final = (NotImplementedError, RecursionError)
"""Subclasses of `RuntimeError` that would occur at every attempt."""
STORAGE_MARK: Final = "lance error"
"""Beginning of the messages in which LanceDB reports a full disk or an unreachable object store as `RuntimeError`."""
MAX_UNKNOWN_ATTEMPTS: Final = 10
"""Attempts after which any other `RuntimeError` counts as a fault of the program; with pauses of up to a minute, these
are the first minutes.
"""

INTERNAL_ERROR: Final = "InternalError"
"""Type of the failure for an error in the program."""
UNREADABLE_ARGUMENTS: Final = "UnreadableArguments"
"""Type of the failure for arguments that the worker cannot decrypt or parse."""
PAYLOAD_TOO_LARGE: Final = "PayloadTooLarge"
"""Type of the failure for a value that exceeds the server's limit."""

_DECODING_FAILED: Final = "Failed decoding arguments"
"""Message of the SDK's error for arguments that it cannot decode; the error has no type."""


class BoundedPayloadConverter(PydanticPayloadConverter):
    """Payload converter that refuses values which the server would refuse again and again."""

    def to_payloads(self, values: Sequence[Any]) -> list[Payload]:
        """Return the payloads of values.

        Raises:
            ApplicationError: a worker produced a value that is too large; it cannot be retried.
        """
        payloads = super().to_payloads(values)
        largest = max((len(payload.data) for payload in payloads), default=0)
        if largest > MAX_PAYLOAD_BYTES and (activity.in_activity() or workflow.in_workflow()):
            raise ApplicationError(
                f"a value has {largest:,} bytes, and at most {MAX_PAYLOAD_BYTES:,} can be stored: request less",
                type=PAYLOAD_TOO_LARGE,
                non_retryable=True,
            )
        return payloads

    def from_payloads(self, payloads: Sequence[Payload], type_hints: list[type] | None = None) -> list[Any]:
        """Return the values of payloads.

        Raises:
            DecryptionError: a payload is encrypted, and this program has no keys.
        """
        if any(payload.metadata.get("encoding") == ENCODING for payload in payloads):
            raise DecryptionError(
                "this is encrypted: set TENURE_OWNER and TENURE_OWNER_TOKEN, or TENURE_ENCRYPTION_KEYS"
            )
        return super().from_payloads(payloads, type_hints)


class PermanentFailureConverter(DefaultFailureConverter):
    """Failure converter that marks permanent errors as such."""

    def to_failure(self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure) -> None:
        """Convert an exception into a failure."""
        super().to_failure(classify_error(exception), payload_converter, failure)


class EncodingFailureConverter(PermanentFailureConverter):
    """The same, with messages and stack traces as payloads, so that they can be encrypted."""

    def __init__(self) -> None:
        super().__init__(encode_common_attributes=True)


def classify_error(error: BaseException) -> BaseException:
    """Return an error that is not retried in place of a permanent one, and any other error unchanged."""
    if isinstance(error, ApplicationError) and error.type is None and error.message == _DECODING_FAILED:
        message = (
            f"this worker cannot read its arguments ({error.__cause__}): check that all workers have the same "
            "TENURE_ENCRYPTION_KEYS and the same version"
        )
        return _make_permanent(message, UNREADABLE_ARGUMENTS, error)
    is_retryable = isinstance(error, RETRYABLE_ERRORS) and not _is_programming_error(error)
    if isinstance(error, FailureError) or not isinstance(error, Exception) or is_retryable:
        return error
    message = f"internal error ({type(error).__name__}: {error}): see the worker's log"
    return _make_permanent(message, INTERNAL_ERROR, error)


def _is_programming_error(error: BaseException) -> bool:
    """Return whether a retryable error occurs at every attempt, by its type or by the attempts that it has cost."""
    if not isinstance(error, RuntimeError) or STORAGE_MARK in str(error):
        return False
    attempt = activity.info().attempt if activity.in_activity() else 1
    return isinstance(error, PROGRAMMING_ERRORS) or attempt >= MAX_UNKNOWN_ATTEMPTS


def _make_permanent(message: str, kind: str, error: BaseException) -> ApplicationError:
    permanent = ApplicationError(" ".join(message.split()), type=kind, non_retryable=True)
    permanent.__traceback__, permanent.__cause__ = error.__traceback__, error.__cause__
    return permanent


DATA_CONVERTER: Final = replace(
    pydantic_data_converter,
    payload_converter_class=BoundedPayloadConverter,
    failure_converter_class=PermanentFailureConverter,
)
"""Data converter without encryption."""


def make_data_converter(settings: ConnectionSettings) -> DataConverter:
    """Return the data converter of every program of a home, with encryption if keys are set."""
    codec = EncryptionCodec.from_settings(settings)
    if codec is None:
        return DATA_CONVERTER
    return replace(DATA_CONVERTER, payload_codec=codec, failure_converter_class=EncodingFailureConverter)
