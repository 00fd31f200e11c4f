"""Calls from workflows to activities: their timeouts."""

import pytest
from pydantic import ValidationError

from tenure.contracts.run.role_calls import LONGEST_ANSWER
from tenure.models.structured import RE_ASKS
from tenure.settings import Settings
from workflows.runtime.calls import EXCHANGE


def test_no_setting_lets_answers_outlast_their_call() -> None:
    """A question and all of its re-asks, each as slow as can be set, fit into one attempt; more cannot be set."""
    slowest = Settings(model_timeout=LONGEST_ANSWER, _env_file=None)

    assert (RE_ASKS + 1) * slowest.model_timeout < EXCHANGE.total_seconds()
    with pytest.raises(ValidationError, match="model_timeout"):
        Settings(model_timeout=LONGEST_ANSWER + 1, _env_file=None)
