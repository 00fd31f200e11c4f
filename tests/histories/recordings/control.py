"""Record what people and budgets decide: input requests, approvals, limits that are reached, raised and lowered."""

from tenure.contracts.run.budget import Price
from tenure.contracts.run.control import BudgetBounds, OutlineTopic
from tenure.models.usage import TokenUsage
from tests.histories.recorder import (
    REQUEST,
    SHORT,
    Handle,
    Recorder,
    limit,
    tell,
    wait_for_question,
    wait_for_signal,
)
from tests.histories.recordings.reports import WRITTEN
from tests.support.worlds import (
    FINISH,
    ROUTE,
    Held,
    ScriptedChat,
    in_turn,
    plans,
    says,
    search,
    story,
)
from workflows.run.agent import AgentWorkflow

PRICE = Price(input=1.0, output=10.0)
WHICH = {"question": "What does ‘it’ stand for?", "assumption": "bread"}
GREEDY = {"effort": "complex", "has_model": True, "max_report_revisions": 10, "max_call_output": 256}


def greedy() -> ScriptedChat:
    """Return a model whose planner always requests more, each time something else."""
    plan = in_turn(*(plans(search(f"What is flour number{n} word{n} made of?")) for n in range(50)))
    chat = ScriptedChat(story(planner=plan), bill=TokenUsage(tokens_in=2000, tokens_out=200))
    chat.prices = dict.fromkeys(chat.lines, PRICE)
    return chat


async def budget_calls(recorder: Recorder) -> None:
    """Record a run that a limit of model calls ends."""
    await recorder.run(greedy(), limit(REQUEST, max_calls=6, **GREEDY))


async def budget_tokens(recorder: Recorder) -> None:
    """Record a run that a limit of tokens ends."""
    await recorder.run(greedy(), limit(REQUEST, max_tokens=20_000, **GREEDY))


async def budget_too_small(recorder: Recorder) -> None:
    """Record a run whose limit of tokens covers no call, so that fallbacks write the report."""
    await recorder.run(ScriptedChat(story()), limit(REQUEST, max_tokens=1_000))


async def budget_cost(recorder: Recorder) -> None:
    """Record a run that a limit of money ends."""
    await recorder.run(greedy(), limit(REQUEST, max_cost_usd=0.04, highest_price=PRICE, **GREEDY))


async def budget_searches(recorder: Recorder) -> None:
    """Record a run that a limit of searches ends."""
    await recorder.run(ScriptedChat(story()), limit(REQUEST, max_searches=3))


async def budget_time(recorder: Recorder) -> None:
    """Record a run whose time ends during a model call, which is cancelled and replaced by a fallback."""
    held = Held(WRITTEN)
    await recorder.run(ScriptedChat(story(report_writer=held)), limit(SHORT, max_seconds=8.0, grace_seconds=1.0))
    held.released.set()


async def budget_raised(recorder: Recorder) -> None:
    """Record a run that continues its research because its exhausted budget is raised, by update and by signal."""
    held = Held({"topics": [{"heading": "Bread", "question": "How is bread made?"}]})

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await tell(handle, "budget", budget=BudgetBounds(max_searches=200))
        await handle.signal(AgentWorkflow.budget, {"max_calls": 60, "max_seconds": 6_000})
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/research"), "update_control")
        held.released.set()

    await recorder.run(ScriptedChat(story(outliner=held)), limit(REQUEST, max_searches=1, max_call_output=256), act)


async def budget_lowered(recorder: Recorder) -> None:
    """Record a run without limits that receives one while its report is written."""
    held = Held(WRITTEN)

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        used = (await handle.query(AgentWorkflow.progress)).usage.model_calls
        await tell(handle, "budget", budget=BudgetBounds(max_calls=used + 4))
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/research"), "update_control")
        held.released.set()

    await recorder.run(ScriptedChat(story(report_writer=held)), limit(REQUEST, max_call_output=256), act)


async def clarified(recorder: Recorder) -> None:
    """Record an ambiguous question that a person makes clear; it is searched for again."""

    async def act(handle: Handle) -> None:
        await wait_for_question(handle)
        await tell(handle, "answer", text="bread")

    request = limit(SHORT, interactive=True).model_copy(update={"question": "How is it made?"})
    await recorder.run(ScriptedChat(story(clarifier=says(WHICH))), request, act)


async def assumed(recorder: Recorder) -> None:
    """Record an ambiguous question that no person makes clear: after a reminder the assumption holds."""
    request = limit(SHORT, interactive=True, answer_seconds=1.0).model_copy(update={"question": "How is it made?"})
    await recorder.run(ScriptedChat(story(clarifier=says(WHICH))), request)


async def planner_asks(recorder: Recorder) -> None:
    """Record a question of the planner, which a person answers by signal; the cycle is planned with the answer."""
    question = {"action": "ASK_HUMAN", "query": "Which cheese?", "expected_output": "any cheese"}
    planner = in_turn(plans(question, search("Which cheese is blue?", "Cheese")), FINISH)

    async def act(handle: Handle) -> None:
        await wait_for_question(handle)
        await handle.signal(AgentWorkflow.answer, "Blue cheese.")

    await recorder.run(ScriptedChat(story(planner=planner)), limit(REQUEST, interactive=True), act)


async def clarified_late(recorder: Recorder) -> None:
    """Record a run that is asked to finish while it waits for a clarification."""

    async def act(handle: Handle) -> None:
        await wait_for_question(handle)
        await tell(handle, "finish")

    request = limit(SHORT, interactive=True).model_copy(update={"question": "How is it made?"})
    await recorder.run(ScriptedChat(story(clarifier=says(WHICH))), request, act)


async def clarified_outline(recorder: Recorder) -> None:
    """Record an interactive run whose outline is set before it could ask, and whose planner is not answered."""
    route = Held(ROUTE)
    question = {"action": "ASK_HUMAN", "query": "Which cheese?", "expected_output": "any cheese"}

    async def act(handle: Handle) -> None:
        await route.reached.wait()
        await handle.signal(AgentWorkflow.outline, ["Cheese"])
        await wait_for_signal(handle, "outline")
        route.released.set()

    chat = ScriptedChat(story(router=route, planner=in_turn(plans(question), FINISH)))
    await recorder.run(chat, limit(SHORT, interactive=True, answer_seconds=1.0), act)


async def approved(recorder: Recorder) -> None:
    """Record an outline that is changed and then approved, by a run that is paused while it waits."""

    async def act(handle: Handle) -> None:
        await wait_for_question(handle)
        await tell(handle, "outline", outline=(OutlineTopic(heading="Cheese"),))
        await tell(handle, "pause")
        await tell(handle, "resume")
        await handle.signal(AgentWorkflow.approve)

    await recorder.run(ScriptedChat(story()), limit(REQUEST, approve_plan=True), act)


async def unapproved(recorder: Recorder) -> None:
    """Record an outline that no person approves: the run reminds once and follows it."""
    await recorder.run(ScriptedChat(story()), limit(SHORT, approve_plan=True, answer_seconds=1.0))
