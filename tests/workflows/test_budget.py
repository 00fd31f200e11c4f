"""Test the budget of a run: reserved by all its parts, reported when it runs low, and never exceeded."""

import asyncio
from typing import Any

import pytest

from tenure.algorithms.control.budget import WRITING_RESERVE_CALLS
from tenure.contracts.evidence.passages import SearchReply, SearchRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.budget import BudgetRequest, Price
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.usage import TokenUsage
from tests.conftest import Serving
from tests.support.tiers import exhaustive, slow
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    Held,
    MemoryKnowledge,
    ScriptedChat,
    Source,
    build_report,
    in_turn,
    plans,
    search,
    story,
)
from tests.workflows.test_long_run import Endless

pytestmark = slow

CROISSANT = Source(uri="kitchen/croissant.md", title="Croissant", text="A croissant laminates overnight.")
PRICE = Price(input=1.0, output=10.0)


def asked(**limits: Any) -> RunRequest:
    """Return a request about the kitchen, within limits."""
    return RunRequest(
        question="How are bread and cheese made?",
        corpora=("kitchen",),
        limits=RunLimits(min_relevance=0.0, max_call_output=256, **limits),
    )


def world(chat: ScriptedChat) -> tuple[ScriptedChat, MemoryKnowledge]:
    return chat, MemoryKnowledge(KITCHEN)


async def finished(
    serving: Serving, chat: ScriptedChat, request: RunRequest, knowledge: MemoryKnowledge | None = None
) -> Result:
    async with serving(chat, knowledge or MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(request)
        return await asyncio.wait_for(run.result(), 100)


class OneByOne(Endless):
    """A knowledge base with a single new passage for every query."""

    def search(self, request: SearchRequest) -> SearchReply:
        """Find one passage."""
        return super().search(request.model_copy(update={"k": 1}))


async def research_endlessly(serving: Serving, chat: ScriptedChat, **limits: Any) -> Result:
    """Run a research whose searches always find something new."""
    return await finished(serving, chat, asked(**{**ENDLESS, **limits}), OneByOne(KITCHEN))


def greedy(**lines: Any) -> ScriptedChat:
    """A model that always requests more, each time something else."""
    plan = in_turn(*(plans(search(f"What is flour number{n} word{n} made of?")) for n in range(50)))
    script = story(planner=plan, **lines)
    return ScriptedChat(script, bill=TokenUsage(tokens_in=5000, tokens_out=200))


ENDLESS: dict[str, Any] = {"effort": "complex", "max_cycles": 30, "has_model": True, "max_report_revisions": 10}


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"max_calls": 24}, "24 model calls"),
        pytest.param({"max_tokens": 160_000}, "160,000 tokens", marks=exhaustive),
        ({"max_cost_usd": 0.25, "highest_price": PRICE}, "0.25 USD"),
    ],
)
async def test_budget_ends_a_model_that_always_requests_more(
    serving: Serving, limits: dict[str, Any], name: str
) -> None:
    """With any limit the run ends with a report, gives the reason, and respects the limit."""
    chat = greedy()
    chat.prices = dict.fromkeys(chat.lines, PRICE)
    request = asked(**limits)
    result = await research_endlessly(serving, chat, **limits)
    assert result.status == "finished_early"
    assert result.decisions[-1].startswith(f"Ended because the budget of {name} was used up. Missing: further searches")
    assert result.sections
    assert result.usage.model_calls == len(chat.asked)
    assert result.usage.model_calls <= (request.limits.max_calls or 10**6)
    assert result.usage.tokens_in + result.usage.tokens_out <= (request.limits.max_tokens or 10**9)
    assert (result.usage.cost_usd or 0.0) <= (request.limits.max_cost_usd or 10**3)
    assert any("80 % of the budget" in note or "80% of the budget" in note for note in result.notes)


async def test_writing_reserve_pays_for_the_report(serving: Serving) -> None:
    """When a budget ends the research, the model still writes and reviews the report, and only searches are missing."""
    chat = greedy()
    result = await research_endlessly(serving, chat, max_calls=24)
    assert (chat.count("report_writer"), chat.count("report_reviewer")) == (1, 1)
    assert not {"report_writer", "report_reviewer"} & {call.role for call in result.fallbacks}
    assert result.decisions[-1] == "Ended because the budget of 24 model calls was used up. Missing: further searches."


async def test_a_second_review_may_use_the_reserve(serving: Serving) -> None:
    """The review of what a first one has searched for is paid from the part that is held back for the report."""
    limits = {"effort": "moderate", "has_model": True, "max_report_revisions": 2}

    def build_chat() -> ScriptedChat:
        planner = in_turn(plans(search("How long does the dough rise?")), FINISH)
        return ScriptedChat(story(planner=planner, report_reviewer=in_turn("SEARCH: age of flour", "DONE")))

    complete, chat = build_chat(), build_chat()
    await finished(serving, complete, asked(**limits), OneByOne(KITCHEN))
    before = [role for role, _ in complete.asked].index("report_writer")
    # One call more than the research needs and the reserve: the first review has used it up.
    max_calls = before + 1 + WRITING_RESERVE_CALLS
    result = await finished(serving, chat, asked(**limits, max_calls=max_calls), OneByOne(KITCHEN))

    assert (complete.count("report_reviewer"), chat.count("report_reviewer")) == (2, 2)
    assert "report_reviewer" not in {call.role for call in result.fallbacks}


async def test_a_budget_that_ends_after_the_work_ends_nothing_early(serving: Serving) -> None:
    """If the budget is used up when report and review are written, nothing is missing and the run is done."""
    complete, chat = (
        ScriptedChat(
            story(
                planner=in_turn(plans(search("How long does the dough rise?")), FINISH),
                report_reviewer=in_turn("SEARCH: How long does a croissant laminate?", "DONE"),
            )
        )
        for _ in range(2)
    )
    knowledge = MemoryKnowledge({**KITCHEN, "croissant": CROISSANT})
    request = asked(effort="complex", has_model=True)
    limits = request.limits.model_copy(update={"min_relevance": 0.05})
    await finished(serving, complete, request.model_copy(update={"limits": limits}), knowledge)
    roles = [role for role, _ in complete.asked]
    calls = len(roles) - roles[::-1].index("report_reviewer")
    limited = limits.model_copy(update={"max_calls": calls})
    result = await finished(serving, chat, request.model_copy(update={"limits": limited}), knowledge)

    assert (result.status, chat.count("report_reviewer")) == ("done", 2)
    assert not any("used up" in line for line in result.decisions)


async def test_budget_below_one_call_leaves_the_fallbacks(serving: Serving) -> None:
    """If the budget does not cover one call, fallbacks write the report, which says that the budget was exhausted."""
    chat = ScriptedChat(story())
    result = await finished(serving, chat, asked(max_tokens=1_000))
    assert (chat.asked, result.usage.model_calls) == ([], 0)
    assert result.sections
    assert {call.reason for call in result.fallbacks} == {"the budget was used up"}
    assert result.decisions[-1].startswith("Ended because the budget of 1,000 tokens was used up. Missing: further")


async def test_cost_limit_needs_a_price(serving: Serving) -> None:
    """If money is limited, a model without a known price is not asked."""
    async with serving(*world(ScriptedChat(story()))) as stage:
        run = await stage.start(asked(max_cost_usd=1.0, highest_price=PRICE))
        with pytest.raises(Exception, match="Workflow execution failed"):
            await asyncio.wait_for(run.result(), 100)
        progress = await run.query("progress")
    assert "the price of the model of router is not known" in progress["error"]


async def test_search_limit_ends_the_research(serving: Serving) -> None:
    """After the last search no other is made, and the report says so."""
    result = await finished(serving, ScriptedChat(story()), asked(max_searches=3))
    assert result.usage.searches == 3
    assert "the budget of 3 searches was used up" in " ".join((*result.decisions, *result.notes))


@exhaustive
async def test_reviewer_is_informed_of_a_low_budget(serving: Serving) -> None:
    """When most of a budget is used, the reviewer is asked only for what would mislead a reader."""
    chats = [greedy() for _ in range(2)]
    limits = {"max_cycles": 4, "max_report_revisions": 1}
    await research_endlessly(serving, chats[0], **limits)
    before = [role for role, _ in chats[0].asked].index("report_writer")
    await research_endlessly(serving, chats[1], max_calls=before + WRITING_RESERVE_CALLS, **limits)

    told = [["Most of the budget" in prompt for role, prompt in c.asked if role == "report_reviewer"] for c in chats]
    assert told == [[False], [True]]


async def test_run_without_limits_requests_no_budget(serving: Serving) -> None:
    """A run without limits sends no budget request."""
    async with serving(*world(ScriptedChat(story()))) as stage:
        run = await stage.start(asked())
        await asyncio.wait_for(run.result(), 100)
        names = [
            event.workflow_execution_signaled_event_attributes.signal_name
            async for event in run.fetch_history_events()
            if event.HasField("workflow_execution_signaled_event_attributes")
        ]
    assert names
    assert "request_budget" not in names


async def test_requests_are_numbered_across_continue_as_new(serving: Serving) -> None:
    """A research that continues as new numbers its further budget requests on: no late grant answers a new request."""
    limits = {**ENDLESS, "max_cycles": 6, "max_calls": 60, "max_history_events": 1}
    async with serving(greedy(), OneByOne(KITCHEN)) as stage:
        run = await stage.start(asked(**limits))
        await asyncio.wait_for(run.result(), 45)
        signals = [
            event.workflow_execution_signaled_event_attributes
            async for event in run.fetch_history_events()
            if event.HasField("workflow_execution_signaled_event_attributes")
        ]
        payloads = [signal.input.payloads for signal in signals if signal.signal_name == "request_budget"]
        requests = [(await stage.client.data_converter.decode(list(one), [BudgetRequest]))[0] for one in payloads]

    numbers = [request.number for request in requests if request.reporter == f"{run.id}/spiral"]
    assert len(numbers) > 1
    assert numbers == sorted(set(numbers))


async def test_deadline_ends_a_hanging_call(serving: Serving) -> None:
    """After the deadline a hanging call is cancelled, and fallbacks write the report."""
    held = Held(build_report({"Bread": "Bread is made from flour [1]."}))
    chat = ScriptedChat(story(report_writer=held))
    result = await finished(serving, chat, asked(max_seconds=2.0, grace_seconds=0.5))
    held.released.set()
    assert result.status == "finished_early"
    assert result.decisions[-1].startswith("Ended because the time of 2 s was used up.")
    assert result.sections
    assert "report_writer" in {call.role for call in result.fallbacks}
