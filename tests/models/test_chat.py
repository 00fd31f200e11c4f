"""Tests of the exceptions and answers of chat back-ends."""

import pytest

from tenure.models.errors import ContextOverflow, ModelError, RequestRejected, TransportError, UnusableAnswer
from tenure.models.usage import TokenUsage
from tenure.role_executor import RoleAnswer
from tenure.roles.base import RoleOutput


class Title(RoleOutput):
    title: str


@pytest.mark.parametrize(
    "error",
    [TransportError("busy"), RequestRejected("fix it"), ContextOverflow("too long"), UnusableAnswer("refused")],
)
def test_every_error_is_a_model_error_with_a_message(error: ModelError) -> None:
    """One base class catches all of them, and each has a message."""
    with pytest.raises(ModelError) as caught:
        raise error
    assert str(caught.value)


def test_errors_have_attributes() -> None:
    """Values that a caller needs are attributes, not only parts of the message."""
    busy = TransportError("busy", status=429, retry_after=2.5)
    cut = UnusableAnswer("cut off", usage=TokenUsage(3, 4), model="m")
    assert (busy.status, busy.retry_after) == (429, 2.5)
    assert (cut.reason, cut.model, cut.usage) == ("cut off", "m", TokenUsage(3, 4))
    assert RequestRejected("set the key", status=401).advice == "set the key"


def test_answers_are_immutable() -> None:
    """An answer cannot be changed."""
    answer = RoleAnswer(Title(title="T"), "m")
    with pytest.raises(AttributeError):
        answer.model = "other"  # type: ignore[misc]
    assert answer.fallback_reason is None
