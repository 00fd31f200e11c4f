"""Test the arithmetic on the ledger of the comparison."""

from typing import Any

from benchmarks.peers.figures import Usage, count_repeated, count_usage
from tests.model_server import BilledRequest, Request


def bill(*texts: str, route: str = "/v1/chat/completions") -> BilledRequest:
    """A bill of a call with these messages."""
    messages = [{"role": "user", "content": text} for text in texts]
    body: dict[str, Any] = {"messages": messages} if "chat" in route else {"input": list(texts)}
    return BilledRequest("", "m", 10, 3, Request(route, {}, body))


def test_embeddings_are_no_calls() -> None:
    """Calls and their tokens count apart from embedded texts."""
    entries = [bill("a"), bill("b"), bill("c", route="/v1/embeddings")]

    assert count_usage(entries) == Usage(calls=2, tokens_in=20, tokens_out=6, embedded_tokens=10)


def test_each_answered_call_is_repeated_at_most_once() -> None:
    """A prompt that was answered once and is sent twice afterwards is one repetition and one new call."""
    before = [bill("a"), bill("b"), bill("c", route="/v1/embeddings")]
    after = [bill("a"), bill("a"), bill("d"), bill("c", route="/v1/embeddings")]

    assert count_repeated(before, after) == (1, 13)


def test_identifiers_and_times_do_not_make_a_prompt_new() -> None:
    """A prompt with the identifier of another process, or a later time, is the same."""
    before = [bill("run 0b1f2c3d-aaaa-bbbb-cccc-1234567890ab at 08:49 UTC")]
    after = [bill("run 9b1f2c3d-dddd-eeee-ffff-1234567890ab at 09:01:33 UTC")]

    assert count_repeated(before, after)[0] == 1
    assert count_repeated(before, [bill("another")]) == (0, 0)
