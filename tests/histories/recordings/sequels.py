"""Record what follows from a question: forks, follow-up questions, batches, schedules and notifications."""

from temporalio.client import Schedule, ScheduleActionStartWorkflow, ScheduleSpec, ScheduleState

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.research.fork import ForkRunRequest
from tenure.contracts.result.ask import AskRequest, Exchange, ResultText, Thread
from tenure.contracts.result.batch import BatchItem, BatchRequest
from tenure.contracts.run.run import Feedback
from tenure.notifications import Notifier
from tenure.runs.fork import read_origin
from tenure.runs.session.run_records import open_on_server
from tests.histories.recorder import (
    QUESTION,
    SHORT,
    Handle,
    Recorder,
    limit,
    tell,
    wait_for_question,
)
from tests.histories.recordings.reports import refuse
from tests.support.schedules import wait_for_action
from tests.support.waiting import wait_until
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    ROUTE,
    Held,
    MemoryKnowledge,
    Reply,
    Reticent,
    ScriptedChat,
    in_turn,
    plans,
    says,
    search,
    story,
)
from tests.test_notifications import Receiver
from tests.workflows.run.test_ask import GERMAN, GermanKnowledge
from tests.workflows.runtime.test_web_client import PAGES, SCOPE, Outside
from workflows.run.agent import AgentWorkflow
from workflows.run.ask import AskWorkflow
from workflows.run.batch import BatchWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

ASK = AskRequest(run=RunId("run"), topic=QUESTION, question="And how long?", corpora=("kitchen",), limits=SHORT.limits)
UNANSWERED = "Quantum chromodynamics?"


async def fork(recorder: Recorder) -> None:
    """Record a run of two cycles, and a fork that continues after the first with feedback and a search of the web."""
    asked = ("What is bread made of?", "How does cheese ripen?", "Which sourdough is in rye bread?")
    planner = in_turn(*(plans(search(query)) for query in asked), FINISH)
    chat = ScriptedChat(story(planner=planner))
    request = limit(SHORT, effort="complex", max_cycles=2).model_copy(update={"ingest": ()})
    outside = Outside()
    knowledge = Reticent(dict(KITCHEN), pages=dict(PAGES), whole=QUESTION)
    async with recorder.serve(chat, knowledge, web=[outside.search_web, outside.fetch_pages]):
        run = await recorder.start(AgentWorkflow.run, request)
        await run.result()
        record = await open_on_server(recorder.client, run.id)
        first, origin = await record.read_run_request(), await read_origin(record, 1)
        checkpoint = origin.checkpoint.model_copy(update={"feedback": (Feedback(text="Mind the oven."),)})
        limits = first.limits.model_copy(update={"web": SCOPE})
        forked = ForkRunRequest(
            **dict(first.model_copy(update={"limits": limits})),
            origin=origin.model_copy(update={"checkpoint": checkpoint}),
        )
        await recorder.start(AgentWorkflow.run, forked, suffix="-fork")
        await recorder.wait_for_end()


async def ask(recorder: Recorder) -> None:
    """Record a follow-up question with a thread, a second search, and a text on the result of the run."""
    chat = ScriptedChat(
        story(
            question_rewriter=says({"question": "How long does the dough of the bread rise?"}),
            query_refiner=says({"complete": False, "query": "sourdough of rye bread"}),
            answerer=says("The dough rises for two hours [1]."),
        )
    )
    exchange = Exchange(question="What is bread?", standalone_question="What is bread?", answer="It is baked.")
    thread = Thread(exchanges=(exchange,), sources=(SourceId("bread"),))
    texts = (ResultText(title="The task", text="Bake a bread."),)
    request = ASK.model_copy(update={"search": True, "thread": thread, "texts": texts})
    async with recorder.serve(chat, MemoryKnowledge(dict(KITCHEN))):
        await recorder.start(AskWorkflow.run, request)
        await recorder.wait_for_end()


async def ask_complete(recorder: Recorder) -> None:
    """Record a follow-up question whose first search finds everything."""
    async with recorder.serve(ScriptedChat(story()), MemoryKnowledge(dict(KITCHEN))):
        await recorder.start(AskWorkflow.run, ASK.model_copy(update={"search": True}))
        await recorder.wait_for_end()


async def ask_translated(recorder: Recorder) -> None:
    """Record a follow-up question in another language than the documents."""
    said = {"translations": [{"query": 1, "language": "de", "text": "Wie lange ruht der Teig?"}]}
    request = ASK.model_copy(update={"limits": ASK.limits.model_copy(update={"has_model": True})})
    async with recorder.serve(ScriptedChat(story(query_translator=says(said))), GermanKnowledge(GERMAN)):
        await recorder.start(AskWorkflow.run, request)
        await recorder.wait_for_end()


async def ask_web(recorder: Recorder) -> None:
    """Record a follow-up question whose answer is in a web page, within a budget of calls."""
    outside = Outside()
    limits = SHORT.limits.model_copy(
        update={"web": SCOPE.model_copy(update={"run": RunId("run/ask")}), "max_calls": 1, "max_call_output": 256}
    )
    request = ASK.model_copy(update={"limits": limits, "question": "How is bread baked?", "search": True})
    async with recorder.serve(
        ScriptedChat(story()),
        MemoryKnowledge({}, pages=dict(PAGES)),
        web=[outside.search_web, outside.fetch_pages],
    ):
        await recorder.start(AskWorkflow.run, request)
        await recorder.wait_for_end()


async def ask_without_evidence(recorder: Recorder) -> None:
    """Record a follow-up question that the documents do not answer."""
    request = ASK.model_copy(
        update={"question": UNANSWERED, "limits": SHORT.limits.model_copy(update={"min_relevance": 0.9})}
    )
    async with recorder.serve(ScriptedChat(story()), MemoryKnowledge(dict(KITCHEN))):
        await recorder.start(AskWorkflow.run, request)
        await recorder.wait_for_end()


async def batch(recorder: Recorder) -> None:
    """Record a batch that reads documents, answers two questions concurrently, and has another question that fails."""
    line = story()

    async def route(prompt: str) -> Reply:
        return await refuse(prompt) if "chromodynamics" in prompt else await line["router"](prompt)

    items = tuple(
        BatchItem(key=f"{n}", question=question, max_searches=50)
        for n, question in enumerate((f"{UNANSWERED} And bread?", "How is bread made?", "How is cheese made?"), 1)
    )
    request = BatchRequest(shared=SHORT, items=items, max_parallel=2)
    async with recorder.serve(ScriptedChat(line | {"router": route}), MemoryKnowledge(dict(KITCHEN))):
        await recorder.start(BatchWorkflow.run, request)
        await recorder.wait_for_end()


async def batch_cancelled(recorder: Recorder) -> None:
    """Record a batch that is cancelled while two of its runs are active."""
    held = Held(ROUTE)
    items = tuple(BatchItem(key=f"{n}", question=QUESTION) for n in range(1, 4))
    chat = ScriptedChat(story(router=held))
    async with recorder.serve(chat, MemoryKnowledge(dict(KITCHEN))):
        handle = await recorder.start(BatchWorkflow.run, BatchRequest(shared=SHORT, items=items, max_parallel=2))
        await wait_until("two calls", lambda: chat.count("router"), lambda count: count >= 2)
        await handle.signal(BatchWorkflow.cancel)
        held.released.set()
        await recorder.wait_for_end()


async def batch_cancelled_outside(recorder: Recorder) -> None:
    """Record a batch that is cancelled by Temporal's own command; its run continues."""
    held = Held(ROUTE)
    request = BatchRequest(shared=SHORT, items=(BatchItem(key="1", question=QUESTION),))
    async with recorder.serve(ScriptedChat(story(router=held)), MemoryKnowledge(dict(KITCHEN))):
        handle = await recorder.start(BatchWorkflow.run, request)
        await held.reached.wait()
        await handle.cancel()
        held.released.set()
        await recorder.wait_for_end()


async def batch_continued(recorder: Recorder) -> None:
    """Record a batch that is continued as new, since the server suggests that after twenty events."""
    items = tuple(BatchItem(key=f"{n}", question=UNANSWERED) for n in range(1, 7))
    request = BatchRequest(shared=SHORT, items=items, max_parallel=2)
    async with recorder.serve(None, MemoryKnowledge(dict(KITCHEN))):
        await recorder.start(BatchWorkflow.run, request)
        await recorder.wait_for_end()


async def scheduled(recorder: Recorder) -> None:
    """Record two runs of a scheduled question, of which the second lists the changes since the first."""
    request = SHORT.model_copy(update={"scheduled": True})
    action = ScheduleActionStartWorkflow(AgentWorkflow.run, request, id=recorder.id, task_queue=TENURE_QUEUE)
    wanted = Schedule(action, spec=ScheduleSpec(cron_expressions=["0 8 * * 1"]), state=ScheduleState(paused=True))
    knowledge = MemoryKnowledge(dict(KITCHEN))
    async with recorder.serve(None, knowledge):
        handle = await recorder.client.create_schedule(recorder.id, wanted)
        for number in (1, 2):
            await handle.trigger()
            run = recorder.client.get_workflow_handle(await wait_for_action(handle, number))
            await recorder.adopt(run).result()
            knowledge.documents["bread"] = KITCHEN["cheese"]
        await handle.delete()


async def notifications(recorder: Recorder) -> None:
    """Record the notifications of a run that waits for an approval and ends; the first one is sent twice."""

    async def act(handle: Handle) -> None:
        await wait_for_question(handle)
        for name in ("pause", "resume", "approve"):
            await tell(handle, name)

    with Receiver() as receiver:
        receiver.answers = [503, 204]
        request = limit(SHORT, approve_plan=True).model_copy(update={"notifications": ""})
        await recorder.run(ScriptedChat(story()), request, act, notifier=Notifier(receiver.url))


async def notifications_failed(recorder: Recorder) -> None:
    """Record the notification of a failed run, which its receiver rejects."""
    with Receiver() as receiver:
        receiver.answers = [404] * 20
        request = SHORT.model_copy(update={"notifications": ""})
        await recorder.run(ScriptedChat(story(router=refuse)), request, notifier=Notifier(receiver.url))


async def notifications_of_a_batch(recorder: Recorder) -> None:
    """Record the notification of a batch."""
    shared = SHORT.model_copy(update={"notifications": "", "ingest": ()})
    request = BatchRequest(shared=shared, items=(BatchItem(key="1", question=UNANSWERED),))
    with Receiver() as receiver:
        async with recorder.serve(None, MemoryKnowledge(dict(KITCHEN)), notifier=Notifier(receiver.url)):
            await recorder.start(BatchWorkflow.run, request)
            await recorder.wait_for_end()
