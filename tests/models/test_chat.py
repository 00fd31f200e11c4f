"""The errors and answers every chat back-end speaks in."""

import pytest

from tenure.models.chat import (
    Answer,
    ContextOverflow,
    ModelError,
    RequestRejected,
    Spent,
    TransportError,
    UnusableAnswer,
)
from tenure.roles.base import RoleOutput


class Title(RoleOutput):
    title: str


@pytest.mark.parametrize(
    "error",
    [TransportError("busy"), RequestRejected("fix it"), ContextOverflow("too long"), UnusableAnswer("refused")],
)
def test_every_error_is_a_model_error_with_words(error: ModelError) -> None:
    """One base class catches all of them, and each says what happened."""
    with pytest.raises(ModelError) as caught:
        raise error
    assert str(caught.value)


def test_errors_carry_their_numbers() -> None:
    """What a caller decides by is an attribute, not a part of the message."""
    busy = TransportError("busy", status=429, retry_after=2.5)
    cut = UnusableAnswer("cut off", spent=Spent(3, 4), model="m")
    assert (busy.status, busy.retry_after) == (429, 2.5)
    assert (cut.reason, cut.model, cut.spent) == ("cut off", "m", Spent(3, 4))
    assert RequestRejected("set the key", status=401).advice == "set the key"


def test_answers_are_immutable() -> None:
    """An answer is a value: it cannot be changed on its way."""
    answer = Answer(Title(title="T"), "m")
    with pytest.raises(AttributeError):
        answer.model = "other"  # type: ignore[misc]
    assert answer.degraded is None
