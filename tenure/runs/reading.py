"""Read the state, the trace, the result and the report of a run."""

from datetime import datetime
from pathlib import Path

from temporalio.client import WorkflowFailureError

from tenure.algorithms.text.printable import format_json
from tenure.contracts.choices import CitationStyle, ReportProofs
from tenure.contracts.research.report import RunState
from tenure.contracts.research.trace import RecordedResult, RunHead, Story, Trace
from tenure.contracts.result.result import Result
from tenure.installation import PROGRAM
from tenure.report.trace.story import build_trace
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.formatting import describe_failure
from tenure.runs.session.connection import (
    AGENT_WORKFLOW,
    QUERY_TIMEOUT,
    Session,
    explain_ended_query,
    explain_refusals,
)
from tenure.runs.session.run_records import RunRecord, open_run

_NO_STORY = Story(
    notes=("The records of this run were not kept: no worker of its version answered when it was archived.",)
)


async def read_state(session: Session, run_id: str) -> RunState:
    """Return the state of a run as the run itself reports it.

    Raises:
        TenureError: it is archived, or no worker of its version answers.
        MissingRun: there is no such run, which is reported immediately, even without a worker.
    """
    record = await open_run(session, run_id)
    if record.is_archived:
        raise TenureError(
            f"run {run_id} is archived and answers no query: `{PROGRAM} trace {run_id}` shows what happened"
        )
    handle = (await session.connect()).get_workflow_handle(run_id)
    with explain_refusals(run_id), explain_ended_query(run_id, is_running=record.is_running):
        state: RunState = await handle.query("state", result_type=RunState, rpc_timeout=QUERY_TIMEOUT)
    return state


async def read_trace(session: Session, run_id: str) -> Trace:
    """Return the trace of a run.

    Raises:
        TenureError: the run has no result, and no worker of its version answers.
    """
    record = await open_run(session, run_id)
    if record.workflow_type != AGENT_WORKFLOW:
        raise InvalidRequest(f"{run_id} is not a run but a {record.workflow_type}: only runs have a trace")
    return await trace_record(record)


async def trace_record(record: RunRecord) -> Trace:
    """Return the trace of an open run."""
    head = RunHead(
        id=record.id,
        question=(await record.read_run_request()).question,
        started_at=_format_time(record.started),
        ended_at=_format_time(record.ended) if record.ended else "",
        status="running",
    )
    if record.is_completed:
        result = await record.read_result(RecordedResult)
        return build_trace(head.model_copy(update={"status": result.status}), result.story, result)
    with explain_refusals(record.id), explain_ended_query(record.id, is_running=record.is_running):
        payload = await record.source.fetch_story()
        story = _NO_STORY if payload is None else await record.decode(payload, Story)
        if not record.is_running:
            end = await record.source.fetch_end()
            is_failed = end.status == "failed"
            failure = describe_failure(WorkflowFailureError(cause=await record.read_cause(end))) if is_failed else ""
            head = head.model_copy(update={"status": end.status, "failure": failure})
    return build_trace(head, story, None)


def _format_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


async def read_finished(session: Session, run_id: str) -> Result:
    """Return the result of a finished run.

    Raises:
        TenureError: the run is still running, or failed.
    """
    record = await open_run(session, run_id)
    await record.read_run_request()
    if record.is_running:
        raise TenureError(
            f"run {run_id} is still running and has no report to compare: `{PROGRAM} watch {run_id}` follows it"
        )
    return await record.read_result(Result)


def render_content(result: Result, kind: str, style: CitationStyle, proofs: ReportProofs = "full") -> bytes:
    """Render a result; the modules of a format are imported only for it."""
    base = Path.cwd()
    if kind == "json":
        return (format_json(result.model_dump(mode="json")) + "\n").encode()
    if kind == "pdf":
        from tenure.report.render.pdf import render_pdf

        return render_pdf(result, base, style, proofs)
    if kind == "docx":
        from tenure.report.render.docx import render_docx

        return render_docx(result, base, style, proofs)
    return _text(result, kind, base, style, proofs).encode()


def render_short_answer(result: Result) -> str:
    """Return the short answer of a report, or else its abstract, as Markdown; empty if it has neither."""
    from tenure.report.layout.report import compose_report
    from tenure.report.layout.tree import ParagraphNode, PartNode
    from tenure.report.render.markdown import write_markdown

    blocks = compose_report(result, Path.cwd()).blocks
    answers = [block for block in blocks if isinstance(block, ParagraphNode) and block.style == "answer"]
    abstracts = [block for block in blocks if isinstance(block, PartNode) and block.id == "abstract"]
    return write_markdown(answers or abstracts)


def _text(result: Result, kind: str, base: Path, style: CitationStyle, proofs: ReportProofs) -> str:
    if kind == "html":
        from tenure.report.render.html import render_html

        return render_html(result, base, style, proofs)
    if kind in ("bibtex", "csl"):
        from tenure.report.sources.bibliography import render_bibtex, render_csl_json

        return (render_bibtex if kind == "bibtex" else render_csl_json)(result.sources, base)
    from tenure.report.render.markdown import render_markdown

    return render_markdown(result, base, style, proofs)
