"""Commands `trace` and `diff`: show how a run reached its report, and compare two reports."""

from pathlib import Path

from tenure.cli.output import Output
from tenure.cli.terminal import WritablePath, print_markdown, print_note, print_text, write_file
from tenure.report.diff.markdown import render_diff
from tenure.report.trace.html import render_trace_page
from tenure.report.trace.markdown import render_trace
from tenure.runs.messages import RunPair
from tenure.runs.run_ids import RunName
from tenure.runs.service import Service


async def trace(service: Service, run: RunName, html: bool, file: WritablePath, output: Output) -> None:
    """Print the trace of a run, with or without a worker or server."""
    record = await service.read_trace(run)
    as_page = html or (file is not None and file.suffix.lower() in (".html", ".htm"))
    if file is not None:
        write_file(file, (render_trace_page(record) if as_page else render_trace(record)).encode())
        print_note(f"trace written to {file}")
    if output.print_json(record) or file is not None:
        return
    if as_page:
        print_text(render_trace_page(record))
    else:
        print_markdown(render_trace(record))


async def diff(service: Service, a: RunName, b: RunName, file: WritablePath, output: Output) -> None:
    """Print the difference of two reports."""
    comparison = await service.compare(RunPair(a=a, b=b))
    if file is not None:
        write_file(file, render_diff(comparison, Path.cwd()).encode())
        print_note(f"difference written to {file}")
    if not output.print_json(comparison) and file is None:
        print_markdown(render_diff(comparison, Path.cwd()))
