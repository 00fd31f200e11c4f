"""Tests of conversation turns and of role requests and replies."""

from tenure.contracts.base import RunId
from tenure.contracts.run.role_calls import ConversationTurn
from tenure.roles.research.router import ROLE, RouterInput, RouterOutput


def test_advancing_a_turn() -> None:
    """The number increases by one, the first turn stays, and the tokens are those of the finished turn."""
    first = ConversationTurn(run=RunId("r"), number=0)

    assert first.advance(70) == ConversationTurn(run=RunId("r"), number=1, first=0, tokens=70)
    assert first.advance(70).advance(90) == ConversationTurn(run=RunId("r"), number=2, first=0, tokens=90)


def test_a_conversation_can_restart_at_any_turn() -> None:
    """The turn keeps its number and has no earlier tokens."""
    turn = ConversationTurn(run=RunId("r"), number=3, first=1, tokens=70)

    assert turn.restart() == ConversationTurn(run=RunId("r"), number=3, first=3, tokens=0)
    assert turn.restart().advance(5) == ConversationTurn(run=RunId("r"), number=4, first=3, tokens=5)


def test_requests_and_replies_survive_json() -> None:
    """A request and its reply are read from JSON with the fields of the role."""
    call = ROLE.request_type(
        input=RouterInput(question="What is bread?"), turn=ConversationTurn(run=RunId("r"), number=0)
    )
    output = RouterOutput(mode="RESEARCH", complexity="simple", query_type="factual", reason="asked so")
    reply = ROLE.reply_type(output=output, model="offline", tokens_in=3)

    assert type(call).model_validate_json(call.model_dump_json()) == call
    assert type(reply).model_validate_json(reply.model_dump_json()) == reply
    assert (reply.output, reply.tokens_in) == (output, 3)
