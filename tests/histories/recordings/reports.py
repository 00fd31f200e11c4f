"""Record research runs: outline, cycles, sections, revisions, and the commands of people to them."""

import asyncio

from benchmarks.durability.signals import SHORT_FEEDBACK_LENGTH, flood
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions
from tenure.contracts.research.pictures import PictureRef
from tenure.contracts.run.control import OutlineTopic
from tenure.contracts.run.run import Feedback
from tenure.models.errors import RequestRejected
from tests.histories.recorder import REQUEST, SHORT, Handle, Recorder, limit, tell, wait_for_signal
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    ROUTE,
    Held,
    Line,
    MemoryKnowledge,
    Reply,
    ScriptedChat,
    Source,
    build_report,
    in_turn,
    plans,
    says,
    search,
    story,
)
from tests.workflows.test_long_run import Endless
from workflows.run.agent import AgentWorkflow
from workflows.run.signal_queue import MAX_QUEUED_SIGNALS, MAX_SIGNALS_PER_TASK

WRITTEN = build_report({"Bread": "This is all about bread [1].", "Cheese": "This is all about cheese [2]."})
COMPLEX = {**ROUTE, "complexity": "complex"}


async def offline(recorder: Recorder) -> None:
    """Record a run without a model."""
    await recorder.run(None)


async def revised(recorder: Recorder) -> None:
    """Record a report whose review asks for a search, after which it is reviewed again."""
    review = in_turn(
        "SECTION Cheese: SEARCH – No mould.\nSEARCH: Penicillium roqueforti",
        "REPLACE 2: Bread is made from flour [1].",
    )
    mould = Source(uri="mould.md", title="Mould", text="Penicillium roqueforti grows in caves.")
    knowledge = MemoryKnowledge(KITCHEN | {"mould": mould})
    await recorder.run(ScriptedChat(story(report_reviewer=review)), limit(REQUEST, has_model=True), knowledge=knowledge)


async def pictures(recorder: Recorder) -> None:
    """Record a report with pictures: the first is read, the second is not seen."""
    seen = {"check": "1000", "kind": "plot", "description": "Dough doubles in two hours.", "values": []}
    known = tuple(PictureRef(source=SourceId("bread"), number=n, title="Bread", label=f"Figure {n}") for n in range(2))
    chat = ScriptedChat(story(picture_reader=in_turn(seen, {"kind": "unseen"})))
    knowledge = MemoryKnowledge(dict(KITCHEN), known_pictures=known)
    await recorder.run(chat, limit(SHORT, has_model=True), knowledge=knowledge)


async def no_evidence(recorder: Recorder) -> None:
    """Record a question on which the documents contain nothing."""
    await recorder.run(None, REQUEST.model_copy(update={"question": "Quantum chromodynamics?"}))


async def fallback(recorder: Recorder) -> None:
    """Record a run in which the answers of one role do not fit its schema."""
    await recorder.run(ScriptedChat(story(outliner=says("no"))))


async def cycles(recorder: Recorder) -> None:
    """Record a research of two cycles; feedback during the first plan reaches the second one."""
    added = {"action": "ADD_TO_OUTLINE", "query": "How is wine made?", "target_outline_topic": "Wine"}
    first = plans(
        search("How long does the dough rise?", id="a"),
        search("How long does dough rise?", id="b"),
        search("Which milk curdles?", "Cheese", id="c", depends_on=["a"]),
        added,
    )
    second = plans(
        search("How long does dough rise?"),
        search("What does the mould of blue cheese need?", "Cheese", id="d"),
        {"action": "DROP_TOPIC", "target_outline_topic": "Wine"},
    )
    held = Held(first)
    judged = says({**second, "critique": "Mould is missing.", "missing": ["Cheese: open – mould"]})
    chat = ScriptedChat(story(planner=_in_lines([held, judged, says(FINISH)])))

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(AgentWorkflow.feedback, Feedback(text="More on mould", topic="Cheese"))
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/spiral"), "feedback")
        held.released.set()

    await recorder.run(chat, act=act)


async def feedback(recorder: Recorder) -> None:
    """Record feedback to a report that is being written."""
    held = Held(WRITTEN)

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(AgentWorkflow.feedback, Feedback(text="More on mould", topic="Cheese"))
        await wait_for_signal(handle, "feedback")
        held.released.set()

    await recorder.run(ScriptedChat(story(report_writer=held)), limit(REQUEST, has_model=True), act)


async def pause(recorder: Recorder) -> None:
    """Record a run that is paused and resumed while its report is written."""
    held = Held(WRITTEN)

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(AgentWorkflow.pause)
        held.released.set()
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/research"), "update_control")
        await handle.signal(AgentWorkflow.resume)

    await recorder.run(ScriptedChat(story(report_writer=held)), act=act)


async def finish(recorder: Recorder) -> None:
    """Record a run that is asked to finish while its report is written."""
    await _signal_writers(recorder, "finish")


async def cancel(recorder: Recorder) -> None:
    """Record a run that is cancelled by signal while its report is written."""
    await _signal_writers(recorder, "cancel")


async def _signal_writers(recorder: Recorder, name: str) -> None:
    held = Held(WRITTEN)

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(name)
        await wait_for_signal(handle, name)
        await asyncio.sleep(0.5)  # the children receive it as well
        held.released.set()

    await recorder.run(ScriptedChat(story(report_writer=held)), act=act)


async def discarded(recorder: Recorder) -> None:
    """Record a run whose results are discarded while its report is reviewed."""
    held = Held("DONE")

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await tell(handle, "cancel", discard=True)

    await recorder.run(ScriptedChat(story(report_reviewer=held)), limit(SHORT, has_model=True), act)
    held.released.set()


async def cancelled_outside(recorder: Recorder) -> None:
    """Record a run that is cancelled by Temporal's own command while its report is written."""
    held = Held(WRITTEN)

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.cancel()

    await recorder.run(ScriptedChat(story(report_writer=held)), act=act)
    held.released.set()


async def cancelled_early(recorder: Recorder) -> None:
    """Record a run that is cancelled before it has a child workflow."""
    held = Held({"mode": "RESEARCH", "complexity": "moderate", "query_type": "factual", "reason": "asked so"})

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(AgentWorkflow.cancel)

    await recorder.run(ScriptedChat(story(router=held)), act=act)
    held.released.set()


async def finished_early(recorder: Recorder) -> None:
    """Record a run that is asked to finish before it has a child workflow."""
    held = Held({"mode": "RESEARCH", "complexity": "moderate", "query_type": "factual", "reason": "asked so"})

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(AgentWorkflow.pause)
        await tell(handle, "finish")
        held.released.set()

    await recorder.run(ScriptedChat(story(router=held)), act=act)


async def failed(recorder: Recorder) -> None:
    """Record a run that fails because the model server refuses its key."""
    await recorder.run(ScriptedChat(story(router=refuse)))


async def failed_late(recorder: Recorder) -> None:
    """Record a run whose key expires after its report is written: it is delivered."""
    await recorder.run(ScriptedChat(story(report_reviewer=refuse, claim_checker=refuse)), limit(SHORT, has_model=True))


async def failed_writer(recorder: Recorder) -> None:
    """Record a run whose model refuses to write, so that a fallback writes the report."""
    await recorder.run(ScriptedChat(story(report_writer=refuse)), SHORT)


async def failed_planner(recorder: Recorder) -> None:
    """Record a research that fails before it has found anything."""
    await recorder.run(ScriptedChat(story(planner=refuse)), SHORT)


async def unchecked(recorder: Recorder) -> None:
    """Record claims that cannot be checked."""
    await recorder.run(ScriptedChat(story(claim_checker=refuse)), limit(SHORT, has_model=True))


async def sub_questions(recorder: Recorder) -> None:
    """Record a question with parts, of which the last needs the answers to the others."""
    parts = ["Which bread is sour?", "Which cheese is blue?", "What do that bread and that cheese need?"]
    decomposed = {"sub_questions": parts, "dependencies": [{"question": 3, "needs": [1, 2]}]}
    rewritten = {"question": "What do rye bread and blue cheese need?"}
    chat = ScriptedChat(story(decomposer=says(decomposed), question_rewriter=says(rewritten)))
    await recorder.run(chat, SHORT)


async def replanned(recorder: Recorder) -> None:
    """Record cycles that are planned twice: steps wait for each other, most steps find nothing, no step is valid."""
    circle = plans(
        search("How long does the dough rise?", id="a", depends_on=["b"]),
        search("Which milk curdles?", "Cheese", id="b", depends_on=["a"]),
    )
    nothing = plans(
        *(search(f"Who rules number{n} planet{n}?", id=f"n{n}", strategy="direct") for n in range(3)),
    )
    more = plans(search("Which sourdough is in rye bread?", id="c"))
    chat = ScriptedChat(story(planner=in_turn(circle, more, nothing, plans(), FINISH)))
    await recorder.run(chat, limit(REQUEST, min_relevance=0.2, effort="complex", max_cycles=3))


async def cancelled_before(recorder: Recorder) -> None:
    """Record a run that is cancelled before a worker serves it."""
    handle = await recorder.start(AgentWorkflow.run, SHORT)
    await handle.signal(AgentWorkflow.cancel)
    async with recorder.serve(None, MemoryKnowledge(dict(KITCHEN))):
        await recorder.wait_for_end()


async def flooded(recorder: Recorder) -> None:
    """Record a run whose first workflow task receives more signals than it queues."""
    handle = await recorder.start(AgentWorkflow.run, SHORT)
    count = MAX_SIGNALS_PER_TASK + MAX_QUEUED_SIGNALS + 20
    await asyncio.gather(*(handle.signal("feedback", []) for _ in range(count)))
    async with recorder.serve(None, MemoryKnowledge(dict(KITCHEN))):
        await recorder.wait_for_end()


async def failed_search(recorder: Recorder) -> None:
    """Record a task whose search fails, after which the cycle is planned again."""
    broken = search("How long does the dough rise?", id="a", strategy="multi_hop")
    planner = in_turn(plans(broken), plans(search("Which milk curdles?", "Cheese", id="b")), FINISH)
    await recorder.run(ScriptedChat(story(planner=planner, query_refiner=refuse)))


async def failed_research(recorder: Recorder) -> None:
    """Record a research that ends with what it has, since a step of its second cycle fails."""
    planner: list[Line] = [says(plans(search("How long does the dough rise?"))), refuse]
    chat = ScriptedChat(story(planner=_in_lines(planner)))
    await recorder.run(chat)


async def worse_edits(recorder: Recorder) -> None:
    """Record edits of a review that are undone, and claims that are corrected and removed."""

    async def check(prompt: str) -> Reply:
        count = prompt.count("(cites ")
        corrections = [{"claim": 1, "problem": "all", "text": "Bread is made from flour.", "passages": [1]}]
        verdicts = [{"claim": n, "verdict": "refuted", "confidence": 0.9} for n in range(1, count + 1)]
        return {"verdicts": verdicts, "corrections": corrections}

    chat = ScriptedChat(story(report_reviewer=says("DELETE 1, 2, 3"), claim_checker=check))
    await recorder.run(chat, limit(REQUEST, max_sections=1, has_model=True))


async def low_score(recorder: Recorder) -> None:
    """Record a report that is revised once because a review finds a part of the question unanswered."""
    bad = "ANSWERED no: How is bread made?\nISSUE: It is vague."
    await recorder.run(
        ScriptedChat(story(router=says(COMPLEX), report_reviewer=says(bad))),
        limit(SHORT, max_report_revisions=2, has_model=True),
    )


async def direct_answer(recorder: Recorder) -> None:
    """Record a run of simple effort with a model, which is written from one search."""
    await recorder.run(ScriptedChat(story()), limit(REQUEST, effort="simple", has_model=True))


async def effort_by_worth(recorder: Recorder) -> None:
    """Record a run of complex effort with a model: rules plan the first cycle, the model the others."""
    planner = in_turn(plans(search("How long does the dough rise?")), FINISH)
    chat = ScriptedChat(story(planner=planner))
    await recorder.run(chat, limit(REQUEST, effort="complex", has_model=True))


async def outline_set(recorder: Recorder) -> None:
    """Record an outline that is set before the research, and an outline that replaces it between two cycles."""
    route = Held({"mode": "RESEARCH", "complexity": "moderate", "query_type": "factual", "reason": "asked so"})
    decision = Held(FINISH)
    planner = _in_lines([says(plans(search("How long does the dough rise?"))), decision, says(FINISH)])

    async def act(handle: Handle) -> None:
        await route.reached.wait()
        await handle.signal(AgentWorkflow.outline, ["Bread | How is bread made?", "Cheese"])
        await wait_for_signal(handle, "outline")
        route.released.set()
        await decision.reached.wait()
        await tell(handle, "outline", outline=_topics("Bread => Loaves", "Wine"))
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/spiral"), "update_control")
        decision.released.set()

    await recorder.run(ScriptedChat(story(router=route, planner=planner)), act=act)


async def outline_changed(recorder: Recorder) -> None:
    """Record an outline that is changed while the report is written: one is dropped, one is added."""
    held = Held(WRITTEN)
    lines: list[Line] = [held, says("## Butter\n\nButter is what it is [2].")]

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await tell(handle, "outline", outline=_topics("Butter | How is cheese made?", "Bread => Loaves"))
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/research"), "update_control")
        held.released.set()

    chat = ScriptedChat(story(report_writer=_in_lines(lines)))
    await recorder.run(chat, limit(REQUEST), act)


async def outline_shortened(recorder: Recorder) -> None:
    """Record an outline from which a section is dropped while the report is written."""
    held = Held(WRITTEN)

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await tell(handle, "outline", outline=_topics("Bread"))
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/research"), "update_control")
        held.released.set()

    await recorder.run(ScriptedChat(story(report_writer=held)), limit(REQUEST), act)


async def continued(recorder: Recorder) -> None:
    """Record a research that is continued as new after each cycle."""
    asked = ("What is bread made of?", "How does cheese ripen?", "Which sourdough is in rye bread?")
    planner = in_turn(*(plans(search(query)) for query in asked), FINISH)
    chat = ScriptedChat(story(planner=planner))
    request = limit(REQUEST, max_history_events=20, effort="complex", max_cycles=3)
    await recorder.run(chat, request)


async def many_tasks(recorder: Recorder) -> None:
    """Record two cycles of many concurrent tasks with ever new passages."""
    numbers = iter(range(100))

    async def planner(prompt: str) -> Reply:
        n = next(numbers)
        return plans(*(search(f"Does dough {n} rise in kitchen {n}-{k}, and why {'x' * k}?") for k in range(4)))

    chat = ScriptedChat(story(planner=planner))
    request = limit(SHORT, effort="complex", max_cycles=2, subagents=4)
    await recorder.run(chat, request, knowledge=Endless(dict(KITCHEN)))


async def burst(recorder: Recorder) -> None:
    """Record more signals than one workflow task applies, some of which are refused."""
    held = Held(WRITTEN)

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await asyncio.gather(*(handle.signal("feedback", f"Say more on mould {n}") for n in range(60)))
        await asyncio.gather(*(handle.signal("feedback", [n]) for n in range(3)))
        await handle.signal("pause")
        await handle.signal("resume")
        await asyncio.sleep(1.0)
        held.released.set()

    await recorder.run(ScriptedChat(story(report_writer=held)), SHORT, act)


async def unheard(recorder: Recorder) -> None:
    """Record a run whose server refuses the signals of its children after a flood, also their budget requests."""
    held = Held(WRITTEN)

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await flood(handle, 60, SHORT_FEEDBACK_LENGTH)
        held.released.set()

    chat = ScriptedChat(story(report_writer=held))
    await recorder.run(chat, limit(SHORT, max_calls=60, max_call_output=256), act)


async def reranked(recorder: Recorder) -> None:
    """Record searches whose passages are ordered by their ages."""
    await recorder.run(ScriptedChat(story()), limit(SHORT, rerank=RerankOptions(recency=RecencyOptions())))


def _topics(*lines: str) -> tuple[OutlineTopic, ...]:
    return tuple(OutlineTopic.model_validate(line) for line in lines)


def _first(held: Held, after: Line) -> Line:
    """Return a line that waits the first time it is asked for, and another one afterwards."""
    return _in_lines([held, after])


def _in_lines(lines: list[Line]) -> Line:
    """Return lines one after the other; the last one stays."""

    async def line(prompt: str) -> Reply:
        return await (lines.pop(0) if len(lines) > 1 else lines[0])(prompt)

    return line


async def refuse(prompt: str) -> Reply:
    """Refuse to answer, as a server does whose key is wrong."""
    raise RequestRejected("the key is not valid")
