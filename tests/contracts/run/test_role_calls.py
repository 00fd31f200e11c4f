"""Turns of a conversation, and calls of concrete classes."""

from tenure.contracts.base import RunId
from tenure.contracts.run.role_calls import Turn, role_call, role_reply
from tenure.roles.research.router import RouterInput, RouterOutput


def test_a_turn_follows_a_turn() -> None:
    """Numbers go up by one, the beginning stays, and the tokens are those of the turn that was."""
    first = Turn(run=RunId("r"), number=0)

    assert first.next(70) == Turn(run=RunId("r"), number=1, first=0, tokens=70)
    assert first.next(70).next(90) == Turn(run=RunId("r"), number=2, first=0, tokens=90)


def test_a_conversation_can_begin_anew_with_any_turn() -> None:
    """The turn keeps its number, and nothing was said before it."""
    turn = Turn(run=RunId("r"), number=3, first=1, tokens=70)

    assert turn.anew() == Turn(run=RunId("r"), number=3, first=3, tokens=0)
    assert turn.anew().next(5) == Turn(run=RunId("r"), number=4, first=3, tokens=5)


def test_calls_and_replies_keep_what_they_carry() -> None:
    """A call and its reply come back from JSON with the fields of the role."""
    call = role_call(RouterInput(question="What is bread?"), turn=Turn(run=RunId("r"), number=0))
    output = RouterOutput(mode="RESEARCH", complexity="simple", query_type="factual", reason="asked so")
    reply = role_reply(output, "offline", tokens_in=3)

    assert type(call).model_validate_json(call.model_dump_json()) == call
    assert type(reply).model_validate_json(reply.model_dump_json()) == reply
    assert (reply.output, reply.tokens_in) == (output, 3)
