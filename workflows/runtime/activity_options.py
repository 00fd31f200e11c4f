"""How long workflows wait for activities: retries without a count, and silence after which a worker is dead."""

from datetime import timedelta

from temporalio.common import RetryPolicy

PATIENCE = RetryPolicy(
    initial_interval=timedelta(seconds=1), backoff_coefficient=2.0, maximum_interval=timedelta(minutes=1)
)
"""Retries without a count: an outage of the model's server is waited out, until the call's total timeout."""

ONCE = RetryPolicy(maximum_attempts=1)
"""No retry: nobody knows what doing it twice would do."""

OUTAGE = timedelta(hours=12)
"""How long a call may be retried in all before the run gives it up."""

SILENCE = timedelta(seconds=10)
"""Time without a heartbeat after which a worker counts as dead and the call is given to another."""
