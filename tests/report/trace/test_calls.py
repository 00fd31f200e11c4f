"""Test the list of calls of a trace."""

from datetime import datetime

from tenure.report.trace.calls import list_calls
from tests.histories.recorded import told


async def test_calls_have_their_part_times_and_tokens() -> None:
    """Calls of all parts are in order; the tokens are those of the result."""
    histories = await told("cycles")
    calls = list_calls(histories)
    usage = histories[0].result["usage"]

    assert {call.part for call in calls} >= {"run", "report", "research"}
    assert any(call.part.startswith("task: ") and call.kind == "search" for call in calls)
    assert sum(call.tokens for call in calls) == usage["tokens_in"] + usage["tokens_out"]
    assert sum(call.model_calls for call in calls) == usage["model_calls"]
    starts = [datetime.fromisoformat(call.at) for call in calls]
    assert starts == sorted(starts)
    assert all(start <= datetime.fromisoformat(call.ended_at) for start, call in zip(starts, calls, strict=True))


async def test_the_answer_of_a_fallback_tells_its_reason() -> None:
    """A role without a model has a reason, and no tokens."""
    calls = list_calls(await told("offline"))
    roles = [call for call in calls if call.kind == "model"]

    assert roles and not any(call.tokens or call.model_calls for call in roles)


async def test_programs_have_a_kind_of_their_own() -> None:
    """Runs of the sandbox are distinguished from roles and searches."""
    calls = list_calls(await told("code_specified"))

    assert {call.part for call in calls} == {"run", "program"}
    assert {"model", "program"} <= {call.kind for call in calls}
