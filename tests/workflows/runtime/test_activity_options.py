"""Options of activities: their timeouts."""

import pytest
from pydantic import ValidationError

from tenure.contracts.run.role_calls import MAX_MODEL_TIMEOUT_SECONDS
from tenure.role_executor import MAX_CORRECTIONS
from tenure.settings import Settings
from workflows.runtime.activity_options import MODEL_CALL_TIMEOUT


def test_no_setting_lets_answers_exceed_the_timeout_of_their_call() -> None:
    """A model call and all of its corrections, each with the longest configurable timeout, fit into one attempt."""
    slowest = Settings(model_timeout=MAX_MODEL_TIMEOUT_SECONDS, _env_file=None)

    assert (MAX_CORRECTIONS + 1) * slowest.model_timeout < MODEL_CALL_TIMEOUT.total_seconds()
    with pytest.raises(ValidationError, match="model_timeout"):
        Settings(model_timeout=MAX_MODEL_TIMEOUT_SECONDS + 1, _env_file=None)
