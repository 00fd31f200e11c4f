"""AgentWorkflow from question to result, with a scripted model over two documents about food."""

import asyncio
import uuid
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHandle, WorkflowHistory
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.filters import Filter
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Feedback, RunLimits, RunProgress, RunRequest
from tenure.models.errors import RequestRejected, TransportError
from tests.conftest import Serving
from tests.histories.recorder import wait_for_signal
from tests.support.tiers import exhaustive, slow
from tests.support.waiting import wait_until
from tests.support.worlds import (
    KITCHEN,
    ROUTE,
    Held,
    MemoryKnowledge,
    ScriptedChat,
    Source,
    review_if_asked,
    says,
    story,
    writes,
)
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

QUESTION = "How are bread and cheese made?"
LIMITS = RunLimits(min_relevance=0.05, max_report_revisions=2, has_model=True)
REQUEST = RunRequest(question=QUESTION, corpora=("kitchen",), limits=LIMITS)
OFFLINE = REQUEST.model_copy(update={"limits": LIMITS.model_copy(update={"has_model": False})})
"""The request of a client without a model."""
PATIENCE = 100


async def until(handle: WorkflowHandle[Any, Result], true: Any) -> RunProgress:
    """Query the progress until it satisfies a condition."""
    return await wait_until("the progress", lambda: handle.query(AgentWorkflow.progress), true)


@slow
async def test_run_without_critique_writes_the_report_once(serving: Serving) -> None:
    """A run without critique writes and reviews the report once, with verbatim citations."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert result.status == "done"
    assert [section.topic for section in result.sections] == ["Bread", "Cheese"]
    assert result.title == "Bread and cheese"
    assert "Bread is what this section tells of." in result.sections[0].markdown
    assert chat.count("report_writer") == 1 and chat.count("report_reviewer") == 1
    quotes = [(c, s) for s in result.sections for claim in s.claims for c in claim.citations]
    by_number = {source.n: KITCHEN[source.id].text for source in result.sources}
    assert quotes and all(by_number[c.source][c.start : c.end] == c.quote for c, _ in quotes)


@slow
async def test_usage_counts_every_finished_call(serving: Serving) -> None:
    """The usage of the report equals the requests to the model, in calls and in tokens."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert result.usage.model_calls == len(chat.asked)
    assert result.usage.tokens_in == 100 * len(chat.asked)
    assert result.usage.by_role["report_writer"].calls == 1
    assert result.usage.by_role["router"].models == ("scripted-fast",)


async def test_fallbacks_write_the_report_from_the_documents(serving: Serving) -> None:
    """Without a model a report is a brief: excerpts of documents, none repeated, without abstract and synthesis."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(OFFLINE)).result()

    claims = [claim for section in result.sections for claim in section.claims if claim.part]
    assert result.status == "done" and claims and not result.abstract_claims and result.synthesis is None
    assert all(claim.status == "supported" and claim.confidence == 1.0 for claim in claims)
    everything = [claim.text for claim in claims]
    assert len(everything) == len(set(everything))
    assert {role for role in result.usage.by_role if result.usage.by_role[role].models == ("offline",)} >= {
        "router",
        "outliner",
        "report_writer",
    }


async def test_question_without_relevant_passages_ends_without_evidence(serving: Serving) -> None:
    """Without a relevant passage the result says so and invents nothing."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(OFFLINE.model_copy(update={"question": "Quantum chromodynamics?"}))).result()

    assert result.status == "no_evidence"
    assert result.sections == () and result.sources == ()


async def test_empty_knowledge_base_ends_without_evidence(serving: Serving) -> None:
    """A corpus without documents ends without evidence as well."""
    request = OFFLINE.model_copy(update={"ingest": (IngestRequest(corpus="kitchen", paths=("/nowhere",)),)})
    async with serving(None, MemoryKnowledge({})) as stage:
        result = await (await stage.start(request)).result()

    assert result.status == "no_evidence"
    assert "Files of corpus “kitchen”: 0." in result.notes


@slow
async def test_request_for_a_program_takes_the_coding_path(serving: Serving) -> None:
    """A question routed to CODE is not researched; without a sandbox worker the run ends and says so."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        asked = {
            "question": "Write a function that bakes bread in Python",
            "limits": RunLimits(sandbox_wait_seconds=0.3),
        }
        request = OFFLINE.model_copy(update=asked)
        result = await (await stage.start(request)).result()

    assert result.status == "unsupported" and result.mode == "CODE"
    assert any("No worker runs programs" in note for note in result.notes)


@slow
async def test_filters_apply_to_every_search(serving: Serving) -> None:
    """Filters apply to the first search, to tasks and to sections, and the report names them."""
    only = Filter(field="published", min="2020")
    limits = LIMITS.model_copy(update={"filters": (only,)})
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(ScriptedChat(story()), knowledge) as stage:
        result = await (await stage.start(REQUEST.model_copy(update={"limits": limits}))).result()

    assert {request.filters for request in knowledge.searches} == {(only,)}
    assert "Only passages were read whose published >= 2020." in result.notes


@exhaustive
async def test_report_is_in_the_requested_language(serving: Serving) -> None:
    """A model writes the texts in that language; without a model the report says that nothing was translated."""
    asked = REQUEST.model_copy(update={"limits": LIMITS.model_copy(update={"language": "German"})})
    offline = asked.model_copy(update={"limits": asked.limits.model_copy(update={"has_model": False})})
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        written = await (await stage.start(asked)).result()
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        quoted = await (await stage.start(offline)).result()

    told = {role for role, system in chat.told.items() if "Write in German" in system}
    assert told >= {"outliner", "report_writer", "report_reviewer"} and "router" not in told
    assert [any("translated into German" in note for note in one.notes) for one in (written, quoted)] == [False, True]


@slow
async def test_requested_mode_overrides_the_router(serving: Serving) -> None:
    """The requested mode takes precedence over the decision of the router."""
    route = {"mode": "CODE", "complexity": "simple", "query_type": "factual", "reason": "wrongly"}
    async with serving(ScriptedChat(story(router=says(route))), MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST.model_copy(update={"mode": "research"}))).result()

    assert result.mode == "RESEARCH" and result.status == "done"


@slow
async def test_search_of_a_review_adds_evidence_for_the_next(serving: Serving) -> None:
    """The query of a review is executed, and the next review edits the report with what was found."""

    async def review(prompt: str) -> Any:
        return await review_if_asked(prompt) if "Searches made" in prompt else "SEARCH: butter churned from cream"

    butter = Source(uri="kitchen/butter.md", title="Butter", text="Butter is churned from cream.")
    chat = ScriptedChat(story(report_reviewer=review))
    knowledge = MemoryKnowledge({**KITCHEN, "butter": butter})
    async with serving(chat, knowledge) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert "butter churned from cream" in [search.query for search in knowledge.searches]
    assert chat.count("report_reviewer") == 2
    assert "says it better" in result.sections[0].markdown


@slow
async def test_edits_that_lose_the_sources_are_reverted(serving: Serving) -> None:
    """A review that deletes cited sentences without a verdict is not followed, and the report says so."""
    chat = ScriptedChat(story(report_reviewer=says("DELETE 1, 2, 3, 4, 5")))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert chat.count("report_reviewer") == 1
    assert all("tells of" in section.markdown for section in result.sections)
    assert "The report keeps an earlier draft, since the edits of a review made it worse." in result.notes


@slow
async def test_condemned_sentences_are_removed_with_a_note(serving: Serving) -> None:
    """A sentence that a review refutes and deletes is gone, and no other call judges the report."""
    chat = ScriptedChat(story(report_reviewer=says("WRONG 3 refuted 0.9\nWRONG 5 refuted 0.9\nDELETE 3, 5")))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert not any("second thought" in section.markdown for section in result.sections)
    assert sum("a claim was removed, its source contradicts it" in line for line in result.decisions) == 2
    assert not any("second thought" in prompt for role, prompt in chat.asked if role == "claim_checker")


@slow
async def test_writer_and_reviewer_read_the_same_beginning(serving: Serving) -> None:
    """The prompt of a review begins as that of the writer does: rules, question, outline and passages."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        await (await stage.start(REQUEST)).result()

    prompts = {role: prompt for role, prompt in chat.asked if role in ("report_writer", "report_reviewer")}
    beginning = prompts["report_writer"].partition("<task ")[0]
    assert "<passage n=" in beginning and prompts["report_reviewer"].startswith(beginning)
    assert chat.told["report_reviewer"] == chat.told["report_writer"]


@slow
async def test_repeated_search_ends_the_reviews(serving: Serving) -> None:
    """A reviewer that asks for the same search again is not asked again."""
    again = says("SECTION Bread: SEARCH – too dull.\nSEARCH: rye bread")
    chat = ScriptedChat(story(report_reviewer=again))
    limits = LIMITS.model_copy(update={"max_cycles": 1, "max_report_revisions": 9})
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        await (await stage.start(REQUEST.model_copy(update={"limits": limits}))).result()

    assert chat.count("report_reviewer") <= 2


@slow
async def test_report_is_revised_until_the_limit(serving: Serving) -> None:
    """A review that asks for another search each time is followed up to the limit of versions."""
    counter = iter(range(100))

    async def never_content(prompt: str) -> str:
        said = next(counter)
        queries = ("blue cheese mould", "rye bread sourdough", "cellar weeks years")
        return f"SEARCH: {queries[said % 3]} {said}\nCONSIDER: Butter may be worth a look."

    chat = ScriptedChat(story(report_reviewer=never_content))
    limits = LIMITS.model_copy(update={"passages_per_section": 1, "max_cycles": 1})
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST.model_copy(update={"limits": limits}))).result()

    assert 1 <= chat.count("report_reviewer") <= 2
    assert result.further_considerations == ("Butter may be worth a look.",)
    assert result.critiques and "tells of" in result.sections[0].markdown


@slow
async def test_repeated_sentences_are_removed(serving: Serving) -> None:
    """A sentence of two sections stays in the first one only."""
    same = writes(("Salt is everywhere.", 1), ("Only once.", 1))
    async with serving(ScriptedChat(story(report_writer=same)), MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert sum("Salt is everywhere." in section.markdown for section in result.sections) == 1


@slow
async def test_invented_passage_numbers_are_rejected(serving: Serving) -> None:
    """A citation of an unknown passage never becomes a source."""
    wrong = writes(("A fact from nowhere.", 99), answer="A fact from nowhere [99].")
    chat = ScriptedChat(story(report_writer=wrong))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert result.sources == ()
    assert all(claim.status == "invalid_source" for section in result.sections for claim in section.claims)


@slow
async def test_unusable_answer_is_replaced_by_the_fallback(serving: Serving) -> None:
    """After three answers that do not fit the schema the fallback decides, and the report names the role."""
    chat = ScriptedChat(story(outliner=says("I would rather not.")))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert [fallbacks.role for fallbacks in result.fallbacks] == ["outliner"]
    assert chat.count("outliner") == 3
    assert result.status == "done"


@slow
async def test_feedback_during_the_writing_changes_the_report(serving: Serving) -> None:
    """Feedback while the report is written leads to a search and an edit by the next review."""
    draft = Held("")

    async def write(prompt: str) -> Any:
        await draft(prompt)
        return await writes(("All about it.", 1))(prompt)

    chat = ScriptedChat(story(report_writer=write))
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(chat, knowledge) as stage:
        handle = await stage.start(REQUEST)
        await draft.reached.wait()
        await handle.signal(AgentWorkflow.feedback, Feedback(text="Say more on mould", topic="cheese"))
        await wait_for_signal(stage.client.get_workflow_handle(f"{handle.id}/research"), "feedback")
        draft.released.set()
        result = await handle.result()

    reviews = [prompt for role, prompt in chat.asked if role == "report_reviewer"]
    assert any("Say more on mould" in prompt for prompt in reviews)
    assert any("says it better" in section.markdown for section in result.sections)
    assert [history.text for history in result.feedback] == ["Say more on mould"]


@slow
async def test_late_feedback_starts_another_revision(serving: Serving) -> None:
    """Feedback during the last review is met by another one, even at the limit of versions."""
    review = Held("DONE")
    chat = ScriptedChat(story(report_reviewer=review))
    request = REQUEST.model_copy(update={"limits": LIMITS.model_copy(update={"max_report_revisions": 1})})
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(request)
        await review.reached.wait()
        await handle.signal("feedback", "More about bread, please")
        await wait_for_signal(stage.client.get_workflow_handle(f"{handle.id}/research"), "feedback")
        review.reply = "REPLACE 2: The edited report says it better [1]."
        review.released.set()
        result = await handle.result()

    assert chat.count("report_reviewer") == 2
    assert "says it better" in result.sections[0].markdown
    assert result.feedback[0].text == "More about bread, please"


@slow
async def test_paused_run_starts_nothing_until_it_is_resumed(serving: Serving) -> None:
    """A paused run asks no further role; after the resume it ends normally."""
    outline = Held({"topics": [{"heading": "Bread", "question": "How is bread made?"}]})
    chat = ScriptedChat(story(outliner=outline))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        await outline.reached.wait()
        await handle.signal(AgentWorkflow.pause)
        await until(handle, lambda p: p.status == "paused")
        research = stage.client.get_workflow_handle(f"{handle.id}/research")
        await wait_for_signal(research, "update_control")
        outline.released.set()
        await until_history(research, "outliner")
        assert chat.count("hypothetical_document") == 0
        await handle.signal(AgentWorkflow.resume)
        result = await handle.result()

    assert result.status == "done" and len(result.sections) == 1


async def until_history(handle: WorkflowHandle[Any, Any], activity: str) -> None:
    """Wait until a workflow has processed the completion of the last activity of a name."""

    def is_processed(history: WorkflowHistory) -> bool:
        events = history.events
        scheduled = {
            e.event_id for e in events if e.activity_task_scheduled_event_attributes.activity_type.name == activity
        }
        done = [
            e.event_id for e in events if e.activity_task_completed_event_attributes.scheduled_event_id in scheduled
        ]
        return bool(done) and any(
            e.event_id > done[0] and e.HasField("workflow_task_completed_event_attributes") for e in events
        )

    await wait_until(f"the completion of {activity}", handle.fetch_history, is_processed)


@slow
async def test_finish_delivers_the_report_that_is_being_written(serving: Serving) -> None:
    """Finish lets the writer end, asks for no review and delivers the report."""
    draft = Held("")

    async def write(prompt: str) -> Any:
        await draft(prompt)
        return await writes(("It is what there is.", 1))(prompt)

    chat = ScriptedChat(story(report_writer=write))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        await draft.reached.wait()
        await handle.signal(AgentWorkflow.finish)
        await wait_for_signal(stage.client.get_workflow_handle(f"{handle.id}/research"), "update_control")
        draft.released.set()
        result = await handle.result()

    assert result.status == "finished_early"
    assert result.sections and chat.count("report_reviewer") == 0


@slow
async def test_cancel_signal_delivers_what_is_written(serving: Serving) -> None:
    """Cancel aborts a review and delivers the report of the writer without another model call."""
    stuck = Held("DONE")
    chat = ScriptedChat(story(report_reviewer=stuck))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        await stuck.reached.wait()
        await handle.signal(AgentWorkflow.cancel)
        result = await handle.result()
        progress = await handle.query(AgentWorkflow.progress)

    assert result.status == "cancelled" and progress.status == "cancelled"
    assert result.usage.calls == progress.usage.calls
    assert [section.topic for section in result.sections] == ["Bread", "Cheese"]
    assert chat.count("claim_checker") == 0


@slow
async def test_temporal_cancellation_ends_as_cancelled(serving: Serving) -> None:
    """A cancellation by the server ends the run and the model call in flight."""
    stuck = Held("Never said.")
    async with serving(ScriptedChat(story(report_writer=stuck)), MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        await stuck.reached.wait()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        progress = await handle.query(AgentWorkflow.progress)

    assert progress.status == "cancelled"


@slow
async def test_queries_answer_during_and_after_the_run(serving: Serving) -> None:
    """Progress and state are correct while the report is written and after the end."""
    draft = Held("")

    async def write(prompt: str) -> Any:
        await draft(prompt)
        return await writes(("Something.", 1), ("It is so.", 2))(prompt)

    async with serving(ScriptedChat(story(report_writer=write)), MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        await draft.reached.wait()
        during = await until(handle, lambda p: p.phase == "write" and any(t.phase == "drafting" for t in p.topics))
        draft.released.set()
        result = await handle.result()
        after = await handle.query(AgentWorkflow.state)

    assert during.status == "running" and {t.topic for t in during.topics} == {"Bread", "Cheese"}
    assert after.progress.status == "done" and after.report is not None
    assert after.report.title == result.title
    assert "done" in {t.phase for t in after.progress.topics}


@slow
async def test_search_attributes_and_status_page_describe_the_run(serving: Serving) -> None:
    """The web UI can filter by mode, phase and status, and each activity has a summary."""
    async with serving(ScriptedChat(story()), MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        await handle.result()
        described = await handle.describe()
        research = await stage.client.get_workflow_handle(f"{handle.id}/research").fetch_history()

    kept = {pair.key.name: pair.value for pair in described.typed_search_attributes}
    assert kept["TenureMode"] == "RESEARCH" and kept["TenurePhase"] == "done" and kept["TenureStatus"] == "done"
    scheduled = [e for e in research.events if e.HasField("activity_task_scheduled_event_attributes")]
    assert scheduled and all(e.user_metadata.summary.data for e in scheduled)


@slow
async def test_feedback_that_no_review_can_meet_is_processed_once(serving: Serving) -> None:
    """Feedback whose review fails causes one more version, not an endless series."""
    calls = iter(range(10))
    first = Held("DONE")

    async def review(prompt: str) -> Any:
        if next(calls):
            raise RequestRejected("the model refuses", status=400)
        return await first(prompt)

    chat = ScriptedChat(story(report_reviewer=review))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        await first.reached.wait()
        await handle.signal("feedback", Feedback(text="More on mould", topic="Cheese"))
        await wait_for_signal(stage.client.get_workflow_handle(f"{handle.id}/research"), "feedback")
        first.released.set()
        result = await handle.result()

    assert chat.count("report_reviewer") == 2
    assert result.feedback[0].outcome == "Searched for in “Cheese”; nothing new was found."


@slow
async def test_pause_before_the_research_delays_it(serving: Serving) -> None:
    """A run paused during the routing asks nothing until it is resumed."""
    route = Held({"mode": "RESEARCH", "complexity": "simple", "query_type": "factual", "reason": "so"})
    chat = ScriptedChat(story(router=route))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        await route.reached.wait()
        await handle.signal(AgentWorkflow.pause)
        await until(handle, lambda p: p.status == "paused")
        route.released.set()
        await until_history(stage.client.get_workflow_handle(handle.id), "router")
        assert chat.count("decomposer") == 0
        await handle.signal(AgentWorkflow.resume)
        result = await handle.result()

    assert result.status == "done"


async def test_finish_before_the_research_ends_the_run(serving: Serving) -> None:
    """Finish during the routing delivers an empty report immediately."""
    route = Held({"mode": "RESEARCH", "complexity": "simple", "query_type": "factual", "reason": "so"})
    chat = ScriptedChat(story(router=route))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        await route.reached.wait()
        await handle.signal(AgentWorkflow.finish)
        await wait_for_signal(stage.client.get_workflow_handle(handle.id), "finish")
        route.released.set()
        result = await handle.result()

    assert (result.status, result.sections, chat.count("decomposer")) == ("finished_early", (), 0)


async def test_cancel_before_the_first_worker_is_applied(server: WorkflowEnvironment, serving: Serving) -> None:
    """A run cancelled while no worker serves it ends as cancelled as soon as a worker does."""
    chat = ScriptedChat(story())
    handle = await server.client.start_workflow(
        AgentWorkflow.run, REQUEST, id=f"test-{uuid.uuid4().hex[:8]}", task_queue=TENURE_QUEUE
    )
    await handle.signal(AgentWorkflow.cancel)
    async with serving(chat, MemoryKnowledge(KITCHEN)):
        result = await handle.result()

    assert (result.status, chat.asked) == ("cancelled", [])


@slow
async def test_report_is_composed_if_the_model_refuses_to_write(serving: Serving) -> None:
    """A rejected call of the writer leaves a report of excerpts, with a note that gives the reason."""

    async def refuse(prompt: str) -> Any:
        raise RequestRejected("the model refuses cheese", status=400)

    async with serving(ScriptedChat(story(report_writer=refuse)), MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert result.status == "done" and result.sections
    assert "The report was composed without the model: the model refuses cheese." in result.notes


async def test_rejected_router_call_fails_the_run(serving: Serving) -> None:
    """A wrong API key fails the run immediately with one line of advice, also in the query."""

    async def refuse(prompt: str) -> Any:
        raise RequestRejected("the key is wrong; set OPENAI_API_KEY", status=401)

    async with serving(ScriptedChat(story(router=refuse)), MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(REQUEST)
        with pytest.raises(WorkflowFailureError):
            await asyncio.wait_for(handle.result(), PATIENCE)
        progress = await handle.query(AgentWorkflow.progress)

    assert progress.status == "failed"
    assert progress.error == "the key is wrong; set OPENAI_API_KEY"


RIVALS = {
    name: Source(uri=f"kitchen/{name}.md", title=name, text=f"The baker lets the dough of the bread rise for {time}.")
    for name, time in {"handbook": "two hours", "guild": "nine hours", "school": "ten hours"}.items()
}
"""Documents that contradict each other."""


@slow
@pytest.mark.parametrize(
    ("role", "note"),
    [
        ("report_reviewer", "The report was not reviewed"),
        ("dispute_judge", "No source was searched for that settles a dispute"),
    ],
)
async def test_no_step_after_the_writing_fails_the_run(serving: Serving, role: str, note: str) -> None:
    """A call that fails permanently after the writing leaves a note with the reason, and the report is delivered."""

    async def refuse(prompt: str) -> Any:
        raise RequestRejected("the key is wrong; set OPENAI_API_KEY", status=401)

    script = story(
        router=says({**ROUTE, "complexity": "complex"}),
        **{"report_reviewer": says("CONFLICT [1, 2] high: the time\nDONE"), role: refuse},
    )
    async with serving(ScriptedChat(script), MemoryKnowledge(KITCHEN | RIVALS)) as stage:
        handle = await stage.start(REQUEST)
        result = await asyncio.wait_for(handle.result(), PATIENCE)
        progress = await handle.query(AgentWorkflow.progress)

    assert (result.status, [section.topic for section in result.sections]) == ("done", ["Bread", "Cheese"])
    assert f"{note}: the key is wrong; set OPENAI_API_KEY." in result.notes
    assert (progress.status, progress.error) == ("done", "")


@slow
async def test_transient_outage_is_retried(serving: Serving) -> None:
    """A transport error is retried after the delay that the server requests, and the run continues."""
    calls = iter(range(10))

    async def twice(prompt: str) -> Any:
        if next(calls) == 0:
            raise TransportError(
                "the server is busy", status=429, retry_after=timedelta(milliseconds=10).total_seconds()
            )
        return await writes(("At last.", 1))(prompt)

    async with serving(ScriptedChat(story(report_writer=twice)), MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert "At last." in result.sections[0].markdown
    assert result.usage.by_role["report_writer"].calls == 1
