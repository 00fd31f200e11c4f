"""Test which errors of activities are permanent, on a real server, and the limit of a stored value."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio import activity
from temporalio.client import ActivityFailureError, Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from tenure.temporal import converter
from tenure.temporal.converter import (
    DATA_CONVERTER,
    INTERNAL_ERROR,
    MAX_PAYLOAD_BYTES,
    PAYLOAD_TOO_LARGE,
    UNREADABLE_ARGUMENTS,
    classify_error,
)
from tenure.temporal.encryption import EncryptionCodec
from tests.support.workers import PatientWorker


def _encrypting(client: Client, name: str) -> Client:
    """Return a client that encrypts with a key of the given name."""
    codec = EncryptionCodec({name: AESGCM.generate_key(256)})
    config = client.config()
    config["data_converter"] = replace(DATA_CONVERTER, payload_codec=codec)
    return Client(**config)


async def _execute(client: Client, worker_client: Client, run: Callable[[str], Any], attempts: int = 3) -> Any:
    """Execute an activity with few and fast attempts."""
    name = uuid4().hex
    pause = timedelta(milliseconds=1)
    policy = RetryPolicy(initial_interval=pause, maximum_interval=pause, maximum_attempts=attempts)
    async with PatientWorker(worker_client, task_queue=name, activities=[run]):
        return await client.execute_activity(
            run, "x", id=name, task_queue=name, start_to_close_timeout=timedelta(minutes=1), retry_policy=policy
        )


def _find_application_error(error: BaseException) -> ApplicationError:
    while not isinstance(error, ApplicationError):
        assert error.__cause__ is not None
        error = error.__cause__
    return error


@pytest.mark.parametrize(
    "error", [KeyError("x"), TypeError("y"), ValueError("z"), NotImplementedError("n"), RecursionError("deep")]
)
async def test_an_error_in_the_program_fails_at_once(server: WorkflowEnvironment, error: Exception) -> None:
    """An error that would occur at every attempt is reported after the first, in one line with its type."""
    attempts: list[int] = []

    @activity.defn
    async def fail(text: str) -> None:
        attempts.append(activity.info().attempt)
        raise error

    with pytest.raises(ActivityFailureError) as failed:
        await _execute(server.client, server.client, fail)
    found = _find_application_error(failed.value)

    assert attempts == [1]
    assert (found.type, found.non_retryable) == (INTERNAL_ERROR, True)
    assert found.message.startswith(f"internal error ({type(error).__name__}: ") and "\n" not in found.message


@pytest.mark.parametrize("error", [OSError("disk"), TimeoutError("late"), MemoryError(), RuntimeError("native")])
async def test_an_error_that_may_pass_is_retried(server: WorkflowEnvironment, error: Exception) -> None:
    """An activity succeeds at the attempt at which its error no longer occurs."""

    @activity.defn
    async def recover(text: str) -> int:
        if activity.info().attempt < 3:
            raise error
        return activity.info().attempt

    assert await _execute(server.client, server.client, recover) == 3


@pytest.mark.parametrize(("message", "attempts"), [("dictionary changed size", 2), ("lance error: LanceError(IO)", 3)])
async def test_an_unknown_runtime_error_is_not_retried_for_hours(
    server: WorkflowEnvironment, message: str, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the program ends after some attempts; an error of LanceDB's storage is repeated as the policy says."""
    monkeypatch.setattr(converter, "MAX_UNKNOWN_ATTEMPTS", 2)
    seen: list[int] = []

    @activity.defn
    async def fail(text: str) -> None:
        seen.append(activity.info().attempt)
        raise RuntimeError(message)

    with pytest.raises(ActivityFailureError):
        await _execute(server.client, server.client, fail)

    assert len(seen) == attempts


async def test_a_value_beyond_the_limit_fails_at_once(server: WorkflowEnvironment) -> None:
    """A result that the server would refuse is reported after one attempt, with its size and the limit."""
    attempts: list[int] = []

    @activity.defn
    async def flood(text: str) -> str:
        attempts.append(activity.info().attempt)
        return text * (MAX_PAYLOAD_BYTES + 1)

    with pytest.raises(ActivityFailureError) as failed:
        await _execute(server.client, server.client, flood)
    found = _find_application_error(failed.value)

    assert attempts == [1]
    assert found.type == PAYLOAD_TOO_LARGE
    assert "a value has 2,000,003 bytes, and at most 2,000,000 can be stored" in found.message


async def test_a_worker_without_the_key_says_so_at_once(server: WorkflowEnvironment) -> None:
    """Arguments that a worker cannot decrypt are reported after one attempt, with the key and the setting."""

    @activity.defn
    async def read(text: str) -> str:
        return text

    sender, other = _encrypting(server.client, "first"), _encrypting(server.client, "second")
    with pytest.raises(ActivityFailureError) as failed:
        await _execute(sender, other, read, attempts=0)
    found = _find_application_error(failed.value)

    assert found.type == UNREADABLE_ARGUMENTS
    assert "the key 'first' is not in TENURE_ENCRYPTION_KEYS" in found.message


def test_errors_of_temporal_are_left_alone() -> None:
    """An error that already says whether it may be retried, and a cancellation, stay what they are."""
    chosen = ApplicationError("later", type="ModelUnavailable")

    assert classify_error(chosen) is chosen
    assert isinstance(classify_error(KeyboardInterrupt()), KeyboardInterrupt)
