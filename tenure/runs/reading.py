"""Read the state, the result and the report of a run."""

from pathlib import Path
from typing import TYPE_CHECKING

from temporalio.client import Client

from tenure.algorithms.text.printable import format_json
from tenure.contracts.research.report import RunState
from tenure.contracts.result.result import Result
from tenure.installation import PROGRAM
from tenure.runs.errors import TenureError
from tenure.runs.session.connection import (
    QUERY_TIMEOUT,
    explain_ended_query,
    explain_refusals,
    open_session,
)
from tenure.runs.session.run_records import open_run
from tenure.runs.session.server_target import ServerTarget

if TYPE_CHECKING:
    from tenure.report.layout.marks import CitationStyle


async def read_state(place: ServerTarget, run_id: str, client: Client | None = None) -> RunState:
    """Return the state of a run as the run itself reports it.

    Raises:
        TenureError: it is archived, or no worker of its version answers.
        MissingRun: there is no such run, which is reported immediately, even without a worker.
    """
    record = await open_run(place, run_id, client)
    if record.is_archived:
        raise TenureError(
            f"run {run_id} is archived and answers no query: `{PROGRAM} trace {run_id}` shows what happened"
        )
    handle = (client or await open_session(place)).get_workflow_handle(run_id)
    with explain_refusals(run_id), explain_ended_query(run_id, is_running=record.is_running):
        found: RunState = await handle.query("state", result_type=RunState, rpc_timeout=QUERY_TIMEOUT)
    return found


async def read_finished(place: ServerTarget, run_id: str, client: Client | None = None) -> Result:
    """Return the result of a finished run.

    Raises:
        TenureError: the run is still running, or failed.
    """
    record = await open_run(place, run_id, client)
    await record.read_run_request()
    if record.is_running:
        raise TenureError(
            f"run {run_id} is still running and has no report to compare: `{PROGRAM} watch {run_id}` follows it"
        )
    return await record.read_result(Result)


def render_content(result: Result, kind: str, style: "CitationStyle") -> bytes:
    """Render a result; the modules of a format are imported only for it."""
    base = Path.cwd()
    if kind == "json":
        return (format_json(result.model_dump(mode="json")) + "\n").encode()
    if kind == "pdf":
        from tenure.report.render.pdf import render_pdf

        return render_pdf(result, base, style)
    if kind == "docx":
        from tenure.report.render.docx import render_docx

        return render_docx(result, base, style)
    return _text(result, kind, base, style).encode()


def _text(result: Result, kind: str, base: Path, style: "CitationStyle") -> str:
    if kind == "html":
        from tenure.report.render.html import render_html

        return render_html(result, base, style)
    if kind in ("bibtex", "csl"):
        from tenure.report.sources.bibliography import render_bibtex, render_csl_json

        return (render_bibtex if kind == "bibtex" else render_csl_json)(result.sources, base)
    from tenure.report.render.markdown import render_markdown

    return render_markdown(result, base, style)
