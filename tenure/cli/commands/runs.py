"""Commands `watch`, `list`, `state`, `report` and `ask`: inspect runs, also finished ones, and ask about them."""

from pathlib import Path

from tenure.cli.commands.batches import follow_batch, print_summary
from tenure.cli.commands.start import announce_run
from tenure.cli.delivery import UNPROVED, Delivery
from tenure.cli.follow import follow_workflow
from tenure.cli.output import Output, print_rows
from tenure.cli.remembered import forget_output, recall_output
from tenure.cli.terminal import print_line, print_markdown, print_note
from tenure.contracts.result.ask import AskReply
from tenure.contracts.result.batch import BatchReport
from tenure.contracts.result.result import Result
from tenure.installation import PROGRAM
from tenure.report.render.steps import render_steps
from tenure.runs.ask import start_answer
from tenure.runs.automation.batches import get_batch, read_batch_report
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.formatting import truncate_line
from tenure.runs.messages import AskBody, RunFilter, RunLabel
from tenure.runs.run_ids import RunName
from tenure.runs.service import Service
from tenure.runs.session.connection import BATCH_WORKFLOW
from tenure.runs.session.progress_lines import iterate_changes
from tenure.runs.session.run_records import open_run
from tenure.runs.session.snapshot import RunSnapshot


async def watch(service: Service, run: RunName, delivery: Delivery) -> int:
    """Follow a run to its end and deliver its report, also into the file that its start has named."""

    def deliver(result: Result) -> int:
        code = recall_output(service.settings.home, run, delivery).deliver(result)
        forget_output(service.settings.home, run)
        return code

    record = await open_run(service, run)
    is_batch = record.workflow_type == BATCH_WORKFLOW
    if record.is_archived:
        print_note(f"run {run} is archived")
        if is_batch:
            return print_summary(run, await record.read_result(BatchReport), delivery)
        return deliver(await record.read_result(Result))
    announce_run(service, run, delivery, detach=False, kind="batch" if is_batch else "run")
    client = await service.connect()
    if is_batch:
        return await follow_batch(service, get_batch(client, run), delivery)
    handle = client.get_workflow_handle(run, result_type=Result)
    return deliver(await follow_workflow(service, handle, delivery.verbosity, query=True))


async def report(service: Service, run: RunName, opens: bool, delivery: Delivery) -> None:
    """Deliver the report of a finished run; the exit code is that of the query, not of the run."""
    if opens:
        delivery.check_opening()
    record = await open_run(service, run)
    if record.workflow_type == BATCH_WORKFLOW:
        if opens:
            raise InvalidRequest(
                f"a batch has no page: open the report of one of its runs, which `{PROGRAM} list` shows"
            )
        print_summary(run, await read_batch_report(service, record), delivery)
        return
    if record.is_running:
        raise TenureError(
            f"run {run} is still running: `{PROGRAM} watch {run}` follows it, "
            f"`{PROGRAM} finish {run}` finishes it with what it has"
        )
    result = await record.read_result(Result)
    if opens:
        delivery.open_report(result, service.settings.home)
    else:
        delivery.deliver(result)


async def show_state(service: Service, run: RunName, output: Output) -> None:
    """Print the state of a run."""
    state = await service.read_state(run)
    if output.print_json(state):
        return
    progress = state.progress
    print_line(f"{progress.id}: {truncate_line(progress.question, 160)}")
    corpora = f", corpora {', '.join(state.corpora)}" if state.corpora else ""
    print_line(f"status {progress.status}, phase {progress.phase}, mode {progress.mode}{corpora}")
    for line in iterate_changes(RunSnapshot(), RunSnapshot(progress)):
        print_line(f"  {line}")
    for task in state.tasks:
        print_line(f"\n“{truncate_line(task.queries[0].query, 160)}”, step by step")
        for line in render_steps(task.steps, task.answer):
            print_line(line)
    # The layout of reports loads NumPy, which a program has and most commands do without.
    from tenure.report.layout.program import set_attempts
    from tenure.report.render.markdown import write_markdown

    for block in set_attempts(state.attempts):
        print_line(f"\n{write_markdown([block])}")
    if progress.error:
        print_line(f"error: {truncate_line(progress.error, 300)}")


async def list_runs(service: Service, chosen: RunFilter, output: Output) -> None:
    """Print the latest runs; owners and archived runs are marked if there are any."""
    runs = await service.list_runs(chosen)
    rows = runs.runs
    for note in runs.notes:
        print_note(note)
    urls = ["" if row.archived else service.place.build_run_link(row.id) for row in rows]
    if output.print_json([row.model_dump() | {"url": url} for row, url in zip(rows, urls, strict=True)]):
        return
    if not rows:
        chosen_some = f"no run matches: `{PROGRAM} list` shows all runs"
        none = f'there are no runs yet: `{PROGRAM} start "QUESTION"` starts one'
        print_note(chosen_some if chosen.owner or chosen.status or chosen.words else none)
        return
    optional = [name for name in ("owner", "archived") if any(getattr(row, name) for row in rows)]
    optional += ["tags"] if any(row.label.tags for row in rows) else []
    headings = ("id", "status", "phase", "mode", *optional, "started", "question")
    cells = (
        row.model_dump()
        | {"archived": "yes" if row.archived else "", "tags": " ".join(f"#{tag}" for tag in row.label.tags)}
        | {"question": row.label.title or row.question}
        for row in rows
    )
    print_rows(headings, ([truncate_line(row[name], 200) for name in headings] for row in cells), cut="question")


async def label(service: Service, run: RunName, label: RunLabel, output: Output) -> None:
    """Set the title and the tags of a run, or print those it has."""
    stored = await service.label(run, label)
    tags = " ".join(f"#{tag}" for tag in stored.tags) or "no tags"
    output.print_note({"id": run, **stored.model_dump(mode="json")}, f"run {run}: {stored.title or 'no title'}, {tags}")


async def ask(service: Service, run: RunName, body: AskBody, output: Output) -> int:
    """Ask a follow-up question about a run and print the answer."""
    answer = await follow_workflow(service, await start_answer(service, run, body), output.verbosity)
    if not output.print_json(answer):
        _print_answer(answer, run, body)
    return 0 if answer.status == "answered" else UNPROVED


def _print_answer(answer: AskReply, run: str, body: AskBody) -> None:
    if answer.standalone_question != answer.question:
        print_note(f"understood as: {answer.standalone_question}")
    if answer.status == "answered":
        from tenure.report.render.markdown import render_answer

        print_markdown(render_answer(answer, Path.cwd()))
    elif not answer.has_documents:
        print_note(f"the change of run {run} does not answer this question: use the words of its report or its files")
    else:
        again = "" if body.search_again else ", or search again with --search-again"
        advice = f"use the words of the documents{again}"
        print_note(f"no passage was found in the documents of run {run} that answers this question: {advice}")
    for call in answer.fallbacks:
        print_note(f"{call.role} was answered without the model: {call.reason}")
