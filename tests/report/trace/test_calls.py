"""Test the list of calls of a trace."""

from datetime import datetime

from tenure.contracts.research.trace import RecordedEvent, RecordedHistory
from tenure.report.trace.calls import list_calls, split_search_batches
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


def test_each_search_of_a_batch_is_a_call() -> None:
    """A batch has the bars of its searches, and a failed search has its reason."""
    found = {"passages": [], "embedded_share": 1.0, "lacks_links": False}
    event = RecordedEvent(
        kind="call",
        name="search_passages",
        at="2026-01-01T10:00:00+00:00",
        ended_at="2026-01-01T10:00:01+00:00",
        input={"searches": [{"query": "bread"}, {"query": "rye"}]},
        result={"replies": [found, {"type": "KnowledgeRefused", "message": "rye is refused"}]},
    )
    running = event.model_copy(update={"result": None, "ended_at": ""})
    history = RecordedHistory(
        workflow="r", type="SpiralWorkflow", started_at="", input=None, recorded_events=(event, running)
    )
    split = split_search_batches(history)

    assert [one.input["query"] for one in split.recorded_events] == ["bread", "rye"] * 2
    assert [one.result for one in split.recorded_events] == [found, None, None, None]
    calls = list_calls([split])
    assert [(call.kind, call.failure) for call in calls] == [
        ("search", ""),
        ("search", "rye is refused"),
        ("search", ""),
        ("search", ""),
    ]
