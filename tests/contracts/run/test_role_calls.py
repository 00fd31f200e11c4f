"""Tests of role requests and replies."""

from tenure.roles.research.router import ROLE, RouterInput, RouterOutput


def test_requests_and_replies_survive_json() -> None:
    """A request and its reply are read from JSON with the fields of the role."""
    call = ROLE.request_type(input=RouterInput(question="What is bread?"), language="French")
    output = RouterOutput(mode="RESEARCH", complexity="simple", query_type="factual", reason="asked so")
    reply = ROLE.reply_type(output=output, model="offline", tokens_in=3)

    assert type(call).model_validate_json(call.model_dump_json()) == call
    assert type(reply).model_validate_json(reply.model_dump_json()) == reply
    assert (reply.output, reply.tokens_in) == (output, 3)
