"""Ask a follow-up question about a run, in the conversation that belongs to it.

A conversation is a chain of executions under one workflow id: each holds the earlier turns, so a new question
continues from the latest one at any time.
"""

from temporalio.client import WorkflowHandle

from tenure.algorithms.writing.conversation import summarize_report
from tenure.contracts.base import RunId
from tenure.contracts.result.ask import AskReply, AskRequest, ResultText, Thread
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import AskBody
from tenure.runs.reading import trace_record
from tenure.runs.session.connection import ASK_WORKFLOW, Session, start_unique_workflow
from tenure.runs.session.run_records import RunRecord, find_run, open_run
from tenure.runs.start import find_reservation_price
from tenure.settings.models import ChatModelSettings

MAX_PAGES_PER_SEARCH = 3
"""Maximum number of web pages read for one search of a follow-up question."""


async def start_answer(session: Session, run_id: str, body: AskBody) -> WorkflowHandle[object, AskReply]:
    """Start the answering of a question in the conversation of its run.

    Raises:
        InvalidRequest: the run has read and changed nothing that could be asked about, or is still changing it.
        TenureError: another question about the run is being answered.
    """
    record, name = await open_run(session, run_id), make_thread_id(run_id)
    thread = None if body.new else await find_run(session, name)
    request = await _build_request(record, thread, body, session.settings)
    return await start_unique_workflow(
        session,
        ASK_WORKFLOW,
        request,
        AskReply,
        id=name,
        summary=request.question,
        busy=f"a question about {run_id} is being answered: ask again when it is finished",
        priority=record.priority,
    )


def make_thread_id(run_id: str) -> str:
    """Return the workflow id of the conversation about a run."""
    return f"{run_id}/ask"


async def _build_request(
    record: RunRecord, conversation: RunRecord | None, body: AskBody, settings: ChatModelSettings
) -> AskRequest:
    """Return the question with the corpora and the texts that it may read, and the earlier turns."""
    run = await record.read_run_request()
    result = await record.read_result(Result) if record.is_completed else None
    thread = await read_thread(conversation) if conversation else _begin_thread(result)
    limits = _build_limits(record.id, body, run, settings)
    corpora = _list_corpora(record.id, run, web=bool(limits.web) or thread.read_web)
    texts = await _read_texts(record, run, result)
    if not (corpora or texts):
        raise InvalidRequest(f"run {record.id} has read no documents to ask about")
    return AskRequest(
        run=RunId(record.id),
        topic=run.question,
        question=body.question,
        corpora=corpora,
        databases=run.databases,
        texts=texts,
        limits=limits,
        search=body.search_again,
        thread=thread,
    )


async def read_thread(conversation: RunRecord) -> Thread:
    """Return the turns of the latest execution, including the earlier ones it continued."""
    if conversation.is_completed:
        return (await conversation.read_result(AskReply)).thread
    return (await conversation.read_request(AskRequest)).thread


async def _read_texts(record: RunRecord, run: RunRequest, result: Result | None) -> tuple[ResultText, ...]:
    """Return the texts on what a coding run has made; none for research.

    Raises:
        TenureError: its change is not finished, or the run has failed.
    """
    if result is None and run.repository:
        if record.is_running:
            raise InvalidRequest(
                f"run {record.id} has no change to ask about yet: `{PROGRAM} watch {record.id}` shows it"
            )
        await record.read_result(Result)  # which raises the reason of its failure
    if result is None or not (result.repository or result.files):
        return ()
    # Imported when needed: other commands should not wait for the layout of reports.
    from tenure.report.result_texts import write_texts

    return write_texts(result, await trace_record(record))


def _begin_thread(result: Result | None) -> Thread:
    """Return a thread with the answer and the numbered sources of the report; empty without a report."""
    if result is None:
        return Thread()
    return Thread(report=summarize_report(result), sources=tuple(source.id for source in result.sources))


def _list_corpora(run_id: str, run: RunRequest, *, web: bool) -> tuple[str, ...]:
    """Return the corpora to search: those of the run, and the pages read for its follow-up questions."""
    scope = run.limits.web
    if scope is None:
        return run.corpora
    names = [run_id, *([make_thread_id(run_id)] if web else [])]
    return (*run.corpora, *(scope.model_copy(update={"run": RunId(name)}).corpus for name in names))


def _build_limits(run_id: str, body: AskBody, run: RunRequest, settings: ChatModelSettings) -> RunLimits:
    """Return the limits of an answer: those of the run with a budget of its own."""
    scope = run.limits.web if body.search_again else None
    web = scope and scope.model_copy(
        update={"run": RunId(make_thread_id(run_id)), "max_pages": min(MAX_PAGES_PER_SEARCH, scope.max_pages)}
    )
    limited = body.max_cost_usd is not None
    return run.limits.model_copy(
        update={
            "web": web,
            "max_tokens": body.max_tokens,
            "max_cost_usd": body.max_cost_usd,
            "max_calls": body.max_calls,
            "max_searches": None,
            "max_seconds": None,
            "highest_price": find_reservation_price(settings, run.limits.chat_model, limited=True) if limited else None,
            "search_mode": body.search_mode or run.limits.search_mode,
            "fresh": body.fresh,
        }
    )
